//! The driver: turn and step brackets, the claim, the one decision before each step.
//!
//! Not here: what happens inside a step (`step`, `tools`), what producers ask (`operations`).

use crate::event::{
    Body, EndReason, Extra, Failure, Live, Message, Seq, Step, StepMark, Surface, Target,
    TurnEnded, TurnStarted, UserSaid,
};

use super::stream::Attempt;
use super::tools::ToolRun;
use super::{Core, Decision, Host};

/// Where the loop is: at rest, or at the point that it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// Nothing is going on.
    Idle,
    /// A maintenance job runs.
    Maintaining,
    /// In the midst of a region; only observers ever see it.
    Acting,
    /// A batch is claimed, the surroundings of the request are put together.
    Assembling { batch: Vec<Message> },
    /// The decision is asked.
    Deciding {
        batch: Vec<Message>,
        context: Option<Message>,
    },
    /// The route of a request is asked.
    Requesting,
    /// The model speaks.
    Streaming(Attempt),
    /// A request failed; plugins are asked for a way on.
    Recovering(Failure),
    /// Tools run.
    Tooling(ToolRun),
    /// The turn has ended for the model; plugins have the last word.
    Stopping,
    /// The turn is closed, or never opened; the next region is the way on or the way to idle.
    Closed(After),
}

/// How a turn has ended for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ended {
    /// It said what it had to say.
    Completed,
    /// It hit the ceiling of tokens; sticks for the rest of the turn.
    MaxTokens,
}

/// What the driver does after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum After {
    /// It goes on while something is pending.
    GoOn,
    /// It goes idle, whatever is pending.
    Stop,
}

impl Core {
    /// The first region of a turn: closings that are still owed, `turn/start`, the first boundary.
    pub(super) fn open_turn<H: Host + ?Sized>(&mut self, host: &mut H) {
        match self.start_turn(host) {
            Ok(true) => self.boundary(host, Target::NextTurn),
            Ok(false) => self.at = At::Closed(After::Stop),
            Err(failure) => {
                self.report(host, failure);
                self.at = At::Closed(After::Stop);
            }
        }
    }

    /// Appends what is owed, then `turn/start`; `false` when a stop came first.
    fn start_turn<H: Host + ?Sized>(&mut self, host: &mut H) -> Result<bool, Failure> {
        if self.is_aborted() {
            return Ok(false);
        }
        self.step = 0;
        self.ended = None;
        self.settle_owed(host)?;
        // An observer of what was owed may have stopped the driver.
        if self.is_aborted() {
            return Ok(false);
        }
        let none_left = || Failure::coded("no turn number is left", "TURNS_EXHAUSTED");
        let turn = self.last_turn.checked_add(1).ok_or_else(none_left)?;
        let opening = Body::TurnStart(TurnStarted {
            turn,
            extra: Extra::NONE,
        });
        let seq = commit(host, &opening)?;
        self.last_turn = turn;
        self.publish(host, seq, &opening);
        Ok(true)
    }

    /// A step boundary: claims the batch and goes on to its decision.
    fn boundary<H: Host + ?Sized>(&mut self, host: &mut H, target: Target) {
        if self.is_aborted() {
            return self.close_aborted(host);
        }
        match self.claim(host, target) {
            Ok(batch) => self.at = At::Assembling { batch },
            Err(failure) => self.fail(host, failure),
        }
    }

    /// Removes the batch of this boundary from the inbox in one atomic act.
    fn claim<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        target: Target,
    ) -> Result<Vec<Message>, Failure> {
        let splices = self.inbox.plan_claim(target);
        if splices.is_empty() {
            return Ok(Vec::new());
        }
        let batch = self.commit_splices(host, splices)?;
        let turn = self.last_turn;
        for message in &batch {
            host.live(
                &Live::Claimed {
                    message: message.clone(),
                    turn,
                },
                self,
            );
        }
        self.clear_if_owed(host);
        Ok(batch)
    }

    pub(super) fn assembled<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        batch: Vec<Message>,
        result: Result<Option<Message>, Failure>,
    ) {
        match result {
            _ if self.is_aborted() => self.close_aborted(host),
            Ok(context) => self.at = At::Deciding { batch, context },
            Err(failure) => self.fail(host, failure),
        }
    }

    pub(super) fn decided<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        result: Result<Decision, Failure>,
    ) {
        if self.is_aborted() {
            return self.close_aborted(host);
        }
        match result {
            Err(failure) => self.fail(host, failure),
            Ok(Decision::Reject) => self.close(host, EndReason::Blocked, After::Stop),
            Ok(Decision::Enter(messages)) if messages.is_empty() => match self.ended {
                Some(ended) => self.close(host, ended.into(), After::GoOn),
                None if self.step == 0 => self.close(host, EndReason::Completed, After::Stop),
                // Tool results are still to be answered.
                None => self.open_step(host, messages),
            },
            Ok(Decision::Enter(messages)) => self.open_step(host, messages),
        }
    }

    fn open_step<H: Host + ?Sized>(&mut self, host: &mut H, messages: Vec<Message>) {
        let opening = Body::StepStart(self.mark(self.step + 1));
        match commit(host, &opening) {
            Err(failure) => self.fail(host, failure),
            Ok(seq) => {
                self.step += 1;
                self.publish(host, seq, &opening);
                match self.enter(host, messages) {
                    Ok(()) => self.request(host),
                    Err(failure) => self.close_step(host, Err(failure)),
                }
            }
        }
    }

    fn enter<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        messages: Vec<Message>,
    ) -> Result<(), Failure> {
        for message in messages {
            let said = UserSaid {
                message,
                surface: Surface::append(),
            };
            self.log(host, &Body::UserMessage(said))?;
        }
        Ok(())
    }

    /// Closes the step, whatever became of it, and goes on with the turn. `Ok(None)`: tools ran
    /// and their results are to be answered.
    pub(super) fn close_step<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        result: Result<Option<Ended>, Failure>,
    ) {
        let step = (self.last_turn, self.step);
        let closed = self.log(host, &Body::StepEnd(self.mark(self.step)));
        if closed.is_err() {
            self.owed.step = Some(step);
        }
        match closed.and(result) {
            _ if self.is_aborted() => self.close_aborted(host),
            Err(failure) => self.fail(host, failure),
            Ok(ended) => {
                if self.ended != Some(Ended::MaxTokens) {
                    self.ended = ended;
                }
                if self.is_over() {
                    self.at = At::Stopping;
                } else {
                    self.boundary(host, Target::NextStep);
                }
            }
        }
    }

    pub(super) fn stopped<H: Host + ?Sized>(&mut self, host: &mut H, result: Result<(), Failure>) {
        match (result, self.ended) {
            _ if self.is_aborted() => self.close_aborted(host),
            (Err(failure), _) => self.fail(host, failure),
            (Ok(()), Some(ended)) if self.is_over() => {
                self.close(host, ended.into(), After::GoOn);
            }
            (Ok(()), _) => self.boundary(host, Target::NextStep),
        }
    }

    /// Whether the model is done and no steering waits.
    fn is_over(&self) -> bool {
        self.ended.is_some() && self.inbox.list(Target::NextStep).is_empty()
    }

    /// Ends the turn for a failure, or as aborted when a cancel came first.
    fn fail<H: Host + ?Sized>(&mut self, host: &mut H, failure: Failure) {
        if self.is_aborted() {
            return self.close_aborted(host);
        }
        self.report(host, failure.clone());
        self.close(host, EndReason::Error { error: failure }, After::Stop);
    }

    pub(super) fn close_aborted<H: Host + ?Sized>(&mut self, host: &mut H) {
        if let Some(cause) = self.activity.aborted.clone() {
            self.close(host, EndReason::aborted(cause), After::Stop);
        }
    }

    fn close<H: Host + ?Sized>(&mut self, host: &mut H, reason: EndReason, after: After) {
        self.owed.turn = Some((self.last_turn, reason));
        self.at = match self.settle_owed(host) {
            Ok(()) => At::Closed(after),
            Err(failure) => {
                self.report(host, failure);
                At::Closed(After::Stop)
            }
        };
    }

    /// Appends the closings that are owed, the step's before the turn's.
    fn settle_owed<H: Host + ?Sized>(&mut self, host: &mut H) -> Result<(), Failure> {
        if let Some((turn, step)) = self.owed.step {
            let closing = Body::StepEnd(StepMark {
                turn,
                step,
                extra: Extra::NONE,
            });
            let seq = commit(host, &closing)?;
            self.owed.step = None;
            self.publish(host, seq, &closing);
        }
        if let Some((turn, reason)) = self.owed.turn.clone() {
            let closing = Body::TurnEnd(TurnEnded {
                turn,
                reason,
                extra: Extra::NONE,
            });
            let seq = commit(host, &closing)?;
            self.owed.turn = None;
            self.publish(host, seq, &closing);
        }
        Ok(())
    }

    /// The region after a turn: the last look at the queue and the change to idle are one act.
    pub(super) fn after_turn<H: Host + ?Sized>(&mut self, host: &mut H, after: After) {
        if after == After::GoOn && !self.is_aborted() && !self.inbox.is_empty() {
            self.activity = super::Activity::default();
            self.open_turn(host);
        } else {
            self.rest(host, true);
        }
    }

    fn mark(&self, step: Step) -> StepMark {
        StepMark {
            turn: self.last_turn,
            step,
            extra: Extra::NONE,
        }
    }
}

/// Commits one event, to be published when the state says that it happened.
fn commit<H: Host + ?Sized>(host: &mut H, body: &Body) -> Result<Seq, Failure> {
    host.commit(std::slice::from_ref(body))
}

impl From<Ended> for EndReason {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Completed => Self::Completed,
            Ended::MaxTokens => Self::MaxTokens,
        }
    }
}
