//! What a program gives an agent: plugins, a model, tools, a clock.
//!
//! Listeners of an awaited point form a waterfall: the first registered is the outermost, each
//! gets a [`Next`] that it may call once, and the outermost's value is the decision. Observers are
//! synchronous and act in the midst of the region that publishes. Not here: when any of them is
//! asked; the machine decides.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use futures_core::Stream;

use super::scope::{DurableScope, LiveScope};
use super::signal::Signal;
use crate::agent::machine::{Call, Decision, Overlap, Recovery, Route, ToolFailure, ToolOutput};
use crate::event::{Chunk, Event, Failure, Live, Message, Step, Time, Turn};

/// A future of this thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A model's stream: pieces, then its end. An error is the end, too.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<Chunk, Failure>>>>;

/// Where the loop is when it asks, and the signal of the activity.
#[derive(Clone, Debug)]
pub struct Place {
    /// The open turn.
    pub turn: Turn,
    /// The open step; for a pre-step decision, the one that would open.
    pub step: Step,
    /// Says when the activity is cancelled.
    pub signal: Signal,
}

/// What a pre-step decision is about. The batch cannot be edited; a listener answers with another.
#[derive(Debug)]
pub struct StepProposal {
    /// Turn and proposed step.
    pub place: Place,
    /// The claimed batch.
    pub batch: Vec<Message>,
    /// What enters when nobody has another decision.
    pub default_entry: Vec<Message>,
}

/// The rest of a waterfall. Calling it uses it up.
pub struct Next<Q: ?Sized, A> {
    pub(super) question: Rc<Q>,
    pub(super) rest: Rest<Q, A>,
}

pub(super) type Ask<Q, A> = dyn Fn(Rc<Q>, Next<Q, A>) -> LocalFuture<Result<A, Failure>>;

/// The listeners further in.
pub(super) struct Rest<Q: ?Sized, A> {
    pub(super) listeners: Rc<[Rc<Ask<Q, A>>]>,
    pub(super) from: usize,
    /// The answer when nobody has another.
    pub(super) innermost: fn(&Q) -> Result<A, Failure>,
}

impl<Q: ?Sized + 'static, A: 'static> Next<Q, A> {
    /// Asks the listeners further in, or gives the default when there is none.
    #[must_use]
    pub fn run(self) -> LocalFuture<Result<A, Failure>> {
        let Self { question, rest } = self;
        match rest.listeners.get(rest.from) {
            None => Box::pin(ready((rest.innermost)(&question))),
            Some(listener) => {
                let listener = listener.clone();
                let rest = Rest {
                    from: rest.from + 1,
                    ..rest
                };
                listener(question.clone(), Self { question, rest })
            }
        }
    }
}

impl<Q: ?Sized, A> fmt::Debug for Next<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Next({} further in)",
            self.rest.listeners.len() - self.rest.from
        )
    }
}

/// Takes part in the pre-step decision.
///
/// ```
/// # use std::rc::Rc;
/// # use prestep::agent::machine::Decision;
/// # use prestep::agent::shell::{LocalFuture, Next, PreStep, StepProposal};
/// # use prestep::event::Failure;
/// struct Pass;
///
/// impl PreStep for Pass {
///     fn pre_step(
///         self: Rc<Self>,
///         _: Rc<StepProposal>,
///         next: Next<StepProposal, Decision>,
///     ) -> LocalFuture<Result<Decision, Failure>> {
///         Box::pin(async move { next.run().await })
///     }
/// }
/// ```
///
/// `next` is used up by its call: whoever asks the rest a second time does not compile.
///
/// ```compile_fail,E0382
/// # use prestep::agent::machine::Decision;
/// # use prestep::agent::shell::{Next, StepProposal};
/// # use prestep::event::Failure;
/// async fn twice(next: Next<StepProposal, Decision>) -> Result<Decision, Failure> {
///     next.run().await?;
///     next.run().await
/// }
/// ```
///
/// Nor does whoever edits the batch in place.
///
/// ```compile_fail,E0596
/// # use std::rc::Rc;
/// # use prestep::agent::shell::StepProposal;
/// fn edit(proposal: Rc<StepProposal>) {
///     proposal.batch.clear();
/// }
/// ```
pub trait PreStep {
    /// Answers for itself and everything further in.
    fn pre_step(
        self: Rc<Self>,
        proposal: Rc<StepProposal>,
        next: Next<StepProposal, Decision>,
    ) -> LocalFuture<Result<Decision, Failure>>;
}

/// What a choice of route is about.
#[derive(Debug)]
pub struct RouteProposal {
    /// Where.
    pub place: Place,
    /// The route when nobody has another; an agent may have none of its own.
    pub default_route: Option<Route>,
}

/// Takes part in choosing the route of a request.
pub trait Request {
    /// Answers for itself and everything further in.
    fn request(
        self: Rc<Self>,
        proposal: Rc<RouteProposal>,
        next: Next<RouteProposal, Route>,
    ) -> LocalFuture<Result<Route, Failure>>;
}

/// A request that failed.
#[derive(Debug)]
pub struct FailedRequest {
    /// Where.
    pub place: Place,
    /// How.
    pub failure: Failure,
}

/// Takes part in recovering from a failed request.
pub trait RequestError {
    /// Answers for itself and everything further in.
    fn request_error(
        self: Rc<Self>,
        failed: Rc<FailedRequest>,
        next: Next<FailedRequest, Recovery>,
    ) -> LocalFuture<Result<Recovery, Failure>>;
}

/// Is asked before a turn closes; all are asked, one after the other, until one fails.
pub trait TurnStopping {
    /// May steer through its agent handle, so that the turn goes on.
    fn turn_stopping(self: Rc<Self>, place: Place) -> LocalFuture<Result<(), Failure>>;
}

/// Puts together the loop's own context for a step.
pub trait Assemble {
    /// A message to enter behind the batch, if there is one.
    fn assemble(self: Rc<Self>, place: Place) -> LocalFuture<Result<Option<Message>, Failure>>;
}

/// Sees every durable event while it is being published. An error is contained: it stops nobody
/// else and changes nothing.
pub trait DurableObserver {
    /// The event is in the log; what it changes has not changed yet.
    ///
    /// # Errors
    /// Whatever the observer wants; it is dropped.
    fn on_durable(&self, event: &Event, scope: &mut DurableScope<'_>) -> Result<(), Failure>;
}

/// Sees every live event while it is being published. An error is contained as well.
pub trait LiveObserver {
    /// Whatever the event tells of has happened.
    ///
    /// # Errors
    /// Whatever the observer wants; it is dropped.
    fn on_live(&self, live: &Live, scope: &mut LiveScope<'_>) -> Result<(), Failure>;
}

/// A request as a model gets it.
#[derive(Debug)]
pub struct ModelRequest {
    /// Where.
    pub place: Place,
    /// The route that was chosen.
    pub route: Route,
    /// The agent, for its history.
    pub agent: super::Agent,
}

/// Answers requests.
pub trait Model {
    /// Opens the stream of one attempt. It is polled until it ends, after a cancel too; one that
    /// watches the signal ends sooner.
    fn stream(&self, request: ModelRequest) -> ChunkStream;
}

/// Runs tool calls.
pub trait Tools {
    /// Whether the call may overlap others; asked right before each start.
    fn classify(&self, call: &Call) -> Overlap;

    /// What has to happen in the model's order before the body begins: looking the tool up,
    /// asking for permission. An error is a failure of the scheduling itself.
    fn prepare(&self, call: &Call, place: &Place) -> LocalFuture<Result<(), Failure>> {
        let _ = (call, place);
        Box::pin(ready(Ok(())))
    }

    /// Runs the body. It is awaited after a cancel, too.
    fn run(&self, call: &Call, place: &Place) -> LocalFuture<Result<ToolOutput, ToolFailure>>;
}

/// Tells the time that events are stamped with.
pub trait Clock {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Time;
}
