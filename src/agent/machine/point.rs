//! The awaited points of the loop, and how each may end.
//!
//! Not here: what follows an end; each region's file says that.

use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use crate::event::{Block, CallId, Chunk, Extra, Failure, Message, RequestContext, Step, Turn};

use super::tools::CallState;
use super::turn::At;
use super::{Core, Host};

/// Something that the loop waits for. Two points of one kind are never open at once, save those
/// that name a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// The loop lets others go first; ends with [`End::Continued`].
    Continue,
    /// The surroundings of a request are put together; ends with [`End::Assembled`].
    Assemble,
    /// The pre-step decision; ends with [`End::Decided`].
    PreStep,
    /// The route of a request; ends with [`End::Requested`].
    Request,
    /// The model's stream; each piece is an [`End::Chunk`] and leaves it open, [`End::Streamed`]
    /// ends it.
    Model,
    /// What to do about a failed request; ends with [`End::Recovered`].
    RequestError,
    /// Preparation of a call, by its place in the model's order; ends with [`End::Prepared`].
    Prepare(usize),
    /// A running call; ends with [`End::Ran`].
    Tool(usize),
    /// The last word of plugins before a turn closes; ends with [`End::Stopped`].
    TurnStopping,
    /// A maintenance job; ends with [`End::Maintained`].
    Maintenance,
}

/// How an awaited point ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Of [`Point::Continue`].
    Continued,
    /// Of [`Point::Assemble`]: the loop's own context, if there is any to enter behind the batch.
    Assembled(Result<Option<Message>, Failure>),
    /// Of [`Point::PreStep`].
    Decided(Result<Decision, Failure>),
    /// Of [`Point::Request`].
    Requested(Result<Route, Failure>),
    /// A piece of the stream at [`Point::Model`].
    Chunk(Chunk),
    /// Of [`Point::Model`].
    Streamed(Result<(), Failure>),
    /// Of [`Point::RequestError`].
    Recovered(Result<Recovery, Failure>),
    /// Of [`Point::Prepare`]; an error is a failure of the scheduling itself.
    Prepared(usize, Result<(), Failure>),
    /// Of [`Point::Tool`].
    Ran(usize, Result<ToolOutput, ToolFailure>),
    /// Of [`Point::TurnStopping`].
    Stopped(Result<(), Failure>),
    /// Of [`Point::Maintenance`], whatever the job's result.
    Maintained,
}

/// The pre-step decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// No step; the turn ends blocked.
    Reject,
    /// These messages enter the step, in order. None at all is the emptied entry.
    Enter(Vec<Message>),
}

/// The route of one request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The model that is asked.
    pub context: RequestContext,
    /// Everything of the request but its history.
    pub header: Arc<Value>,
}

/// What to do about a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// The turn fails.
    Fail,
    /// The same step asks again.
    Retry,
}

/// What a tool gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<Block>,
    /// Messages for the next step, in order.
    pub contexts: Vec<Message>,
    /// Whether the turn has ended for the model with this result.
    pub concludes: bool,
    /// Further members of the result's event.
    pub extra: Extra,
}

/// A tool failed; its result says so and the turn goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolFailure {
    /// For the model.
    pub content: Vec<Block>,
}

impl ToolFailure {
    /// A failure in words.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self {
            content: vec![Block::text(words)],
        }
    }
}

/// A point ended that is not awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the loop does not wait for {0:?}")]
pub struct NotAwaited(pub Point);

/// What a pre-step decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// The claimed batch.
    pub batch: &'a [Message],
    /// The loop's own context, behind the batch in the default decision.
    pub context: Option<&'a Message>,
    /// The open turn.
    pub turn: Turn,
    /// The step that would open.
    pub step: Step,
}

impl Proposal<'_> {
    /// The decision when no plugin has another: the batch enters, the loop's own context behind it.
    #[must_use]
    pub fn default_entry(&self) -> Vec<Message> {
        self.batch.iter().chain(self.context).cloned().collect()
    }
}

/// A call that the model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Identity, as the model gave it.
    pub id: CallId,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Raw text of the arguments.
    pub arguments: Arc<str>,
}

impl End {
    /// The point that this ends.
    #[must_use]
    pub fn point(&self) -> Point {
        match self {
            Self::Continued => Point::Continue,
            Self::Assembled(_) => Point::Assemble,
            Self::Decided(_) => Point::PreStep,
            Self::Requested(_) => Point::Request,
            Self::Chunk(_) | Self::Streamed(_) => Point::Model,
            Self::Recovered(_) => Point::RequestError,
            Self::Prepared(call, _) => Point::Prepare(*call),
            Self::Ran(call, _) => Point::Tool(*call),
            Self::Stopped(_) => Point::TurnStopping,
            Self::Maintained => Point::Maintenance,
        }
    }
}

impl Core {
    /// Calls `each` with every open point, in the order in which they are to be begun.
    pub fn for_each_point(&self, mut each: impl FnMut(Point)) {
        match &self.at {
            At::Idle | At::Acting => {}
            At::Maintaining => each(Point::Maintenance),
            At::Assembling { .. } => each(Point::Assemble),
            At::Deciding { .. } => each(Point::PreStep),
            At::Requesting => each(Point::Request),
            At::Streaming(_) => each(Point::Model),
            At::Recovering(_) => each(Point::RequestError),
            At::Stopping => each(Point::TurnStopping),
            At::Closed(_) => each(Point::Continue),
            At::Tooling(run) => {
                for (index, call) in run.calls.iter().enumerate() {
                    match call.state {
                        CallState::Preparing { .. } => each(Point::Prepare(index)),
                        CallState::Running { .. } => each(Point::Tool(index)),
                        _ => {}
                    }
                }
                if run.goes_on {
                    each(Point::Continue);
                }
            }
        }
    }

    /// Whether that point is open.
    #[must_use]
    pub fn awaits(&self, point: Point) -> bool {
        let mut found = false;
        self.for_each_point(|open| found |= open == point);
        found
    }

    /// What is being decided, while [`Point::PreStep`] is open.
    #[must_use]
    pub fn proposal(&self) -> Option<Proposal<'_>> {
        match &self.at {
            At::Deciding { batch, context } => Some(Proposal {
                batch,
                context: context.as_ref(),
                turn: self.last_turn,
                step: self.step + 1,
            }),
            _ => None,
        }
    }

    /// The route of the request, while [`Point::Model`] is open.
    #[must_use]
    pub fn streaming_route(&self) -> Option<&Route> {
        match &self.at {
            At::Streaming(attempt) => Some(&attempt.route),
            _ => None,
        }
    }

    /// What failed, while [`Point::RequestError`] is open.
    #[must_use]
    pub fn request_failure(&self) -> Option<&Failure> {
        match &self.at {
            At::Recovering(failure) => Some(failure),
            _ => None,
        }
    }

    /// The call at that place of the model's order, while tools are scheduled.
    #[must_use]
    pub fn call(&self, index: usize) -> Option<&Call> {
        match &self.at {
            At::Tooling(run) => run.calls.get(index).map(|scheduled| &scheduled.call),
            _ => None,
        }
    }

    pub(super) fn end<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        end: End,
    ) -> Result<(), NotAwaited> {
        let point = end.point();
        if !self.awaits(point) {
            return Err(NotAwaited(point));
        }
        match (std::mem::replace(&mut self.at, At::Acting), end) {
            (At::Closed(after), End::Continued) => self.after_turn(host, after),
            (At::Tooling(run), End::Continued) => self.schedule(host, run),
            (At::Assembling { batch }, End::Assembled(result)) => {
                self.assembled(host, batch, result);
            }
            (At::Deciding { .. }, End::Decided(result)) => self.decided(host, result),
            (At::Requesting, End::Requested(result)) => self.requested(host, result),
            (At::Streaming(attempt), End::Chunk(chunk)) => self.chunk(host, attempt, chunk),
            (At::Streaming(attempt), End::Streamed(result)) => self.streamed(host, attempt, result),
            (At::Recovering(failure), End::Recovered(result)) => {
                self.recovered(host, failure, result);
            }
            (At::Tooling(run), End::Prepared(index, result)) => {
                self.prepared(host, run, index, result);
            }
            (At::Tooling(run), End::Ran(index, result)) => self.ran(host, run, index, result),
            (At::Stopping, End::Stopped(result)) => self.stopped(host, result),
            (At::Maintaining, End::Maintained) => self.maintained(host),
            // `awaits` has matched the point with the state.
            (at, _) => self.at = at,
        }
        Ok(())
    }
}
