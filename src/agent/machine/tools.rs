//! The scheduling of a step's tool calls: barriers, the pool, answers in the model's order.
//!
//! Not here: running a tool (the shell does), the calls' origin (`stream`).

use crate::agent::answer::Answer;
use crate::event::{Body, Extra, Failure, Message, Seq, Target, ToolCalled};

use super::turn::{At, Ended};
use super::{Call, Core, EditError, Host, Overlap, ToolFailure, ToolOutput};

/// The calls of one assistant message, on their way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ToolRun {
    pub(super) calls: Vec<Scheduled>,
    /// Whether the scheduler goes on after others had their turn.
    pub(super) goes_on: bool,
    /// Whether an exclusive call is in flight.
    exclusive: bool,
    /// Whether a result has ended the turn for the model.
    concluded: bool,
    /// The first failure of the scheduling itself.
    failure: Option<Failure>,
}

/// A call and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scheduled {
    pub(super) call: Call,
    pub(super) state: CallState,
}

/// How far a call has come. `called` is the place of its `tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallState {
    /// Not logged yet.
    Waiting,
    /// Logged; its body has not begun.
    Preparing { called: Seq },
    /// Its body runs.
    Running { called: Seq },
    /// Over, and waiting for its place in the order.
    Done { called: Seq, outcome: Outcome },
    /// Logged, but no outcome of it will be known.
    Lost { called: Seq },
    /// Its result is logged.
    Answered,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Outcome {
    Gave(ToolOutput),
    Failed(ToolFailure),
    /// The abort came before its body began.
    NotDispatched,
}

/// What the scheduler may do now.
enum Move {
    Answer(usize),
    Start(usize, Overlap),
    Wait,
    Finish,
}

impl ToolRun {
    pub(super) fn new(calls: Vec<Call>) -> Self {
        let waiting = |call| Scheduled {
            call,
            state: CallState::Waiting,
        };
        Self {
            calls: calls.into_iter().map(waiting).collect(),
            goes_on: false,
            exclusive: false,
            concluded: false,
            failure: None,
        }
    }

    /// The first call without a result, if any.
    fn first_unanswered(&self) -> Option<usize> {
        self.calls
            .iter()
            .position(|call| call.state != CallState::Answered)
    }

    fn first_waiting(&self) -> Option<usize> {
        self.calls
            .iter()
            .position(|call| call.state == CallState::Waiting)
    }

    fn is_preparing(&self) -> bool {
        self.calls
            .iter()
            .any(|call| matches!(call.state, CallState::Preparing { .. }))
    }

    fn running_count(&self) -> usize {
        self.calls
            .iter()
            .filter(|call| matches!(call.state, CallState::Running { .. }))
            .count()
    }
}

impl Core {
    /// Does whatever can be done: commits results in order, starts calls, finishes.
    pub(super) fn schedule<H: Host + ?Sized>(&mut self, host: &mut H, mut run: ToolRun) {
        run.goes_on = false;
        loop {
            match self.next_move(host, &run) {
                Move::Answer(index) => self.answer_call(host, &mut run, index),
                Move::Start(index, overlap) => self.start_call(host, &mut run, index, overlap),
                Move::Wait => {
                    self.at = At::Tooling(run);
                    return;
                }
                Move::Finish => return self.finish_tools(host, run),
            }
        }
    }

    fn next_move<H: Host + ?Sized>(&self, host: &mut H, run: &ToolRun) -> Move {
        let Some(first) = run.first_unanswered() else {
            return Move::Finish;
        };
        if run.failure.is_none() && matches!(run.calls[first].state, CallState::Done { .. }) {
            return Move::Answer(first);
        }
        let in_flight = run.is_preparing() || run.running_count() > 0;
        if self.is_aborted() || run.failure.is_some() {
            return if in_flight { Move::Wait } else { Move::Finish };
        }
        match run.first_waiting() {
            Some(next) if !run.is_preparing() && !run.exclusive => {
                let call = &run.calls[next].call;
                let overlap = host.classify(&call.id, &call.name, &call.arguments);
                let free = match overlap {
                    // A barrier: everything before it is answered.
                    Overlap::Exclusive => next == first,
                    Overlap::Parallel => run.running_count() < self.limits.parallel_calls_max.get(),
                };
                if free {
                    Move::Start(next, overlap)
                } else {
                    Move::Wait
                }
            }
            _ => Move::Wait,
        }
    }

    fn start_call<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        run: &mut ToolRun,
        index: usize,
        overlap: Overlap,
    ) {
        match self.log_call(host, &run.calls[index].call) {
            Ok(called) if self.is_aborted() => {
                run.calls[index].state = CallState::Done {
                    called,
                    outcome: Outcome::NotDispatched,
                };
            }
            Ok(called) => {
                run.exclusive = overlap == Overlap::Exclusive;
                run.calls[index].state = CallState::Preparing { called };
            }
            Err(failure) => run.failure = Some(failure),
        }
    }

    pub(super) fn prepared<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        mut run: ToolRun,
        index: usize,
        result: Result<(), Failure>,
    ) {
        let state = &mut run.calls[index].state;
        if let CallState::Preparing { called } = *state {
            *state = match result {
                // A preparation that watches the signal fails because of the stop.
                _ if self.is_aborted() => CallState::Done {
                    called,
                    outcome: Outcome::NotDispatched,
                },
                Ok(()) if run.failure.is_none() => CallState::Running { called },
                Ok(()) => CallState::Lost { called },
                Err(failure) => {
                    run.failure.get_or_insert(failure);
                    CallState::Lost { called }
                }
            };
        }
        if matches!(run.calls[index].state, CallState::Running { .. }) {
            // Its body begins before the next call starts.
            run.goes_on = true;
            self.at = At::Tooling(run);
        } else {
            self.schedule(host, run);
        }
    }

    pub(super) fn ran<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        mut run: ToolRun,
        index: usize,
        result: Result<ToolOutput, ToolFailure>,
    ) {
        if let CallState::Running { called } = run.calls[index].state {
            let outcome = match result {
                Ok(output) => Outcome::Gave(output),
                Err(failure) => Outcome::Failed(failure),
            };
            run.calls[index].state = CallState::Done { called, outcome };
            run.exclusive = false;
        }
        self.schedule(host, run);
    }

    /// Commits the result of a call that is over, then stages its contexts.
    fn answer_call<H: Host + ?Sized>(&mut self, host: &mut H, run: &mut ToolRun, index: usize) {
        let CallState::Done { called, outcome } = run.calls[index].state.clone() else {
            return;
        };
        let call = &run.calls[index].call;
        let (answer, contexts, concludes) = self.judge(outcome);
        match self.log_result(host, call, Some(called), answer) {
            Err(failure) => {
                run.failure.get_or_insert(failure);
            }
            Ok(()) => {
                run.calls[index].state = CallState::Answered;
                run.concluded |= concludes;
                self.stage(host, contexts);
            }
        }
    }

    /// What a call's outcome is worth now: after the abort a success is an error, too.
    fn judge(&self, outcome: Outcome) -> (Answer, Vec<Message>, bool) {
        match outcome {
            Outcome::Gave(output) if self.is_aborted() => {
                (Answer::aborted(), output.contexts, false)
            }
            Outcome::Gave(output) => (
                Answer::given(output.content, output.extra),
                output.contexts,
                output.concludes,
            ),
            Outcome::Failed(failure) => (Answer::failed(failure.content), Vec::new(), false),
            Outcome::NotDispatched => (Answer::not_dispatched(), Vec::new(), false),
        }
    }

    /// Puts a result's contexts at the end of next-step. One that is pending already is refused
    /// and reported; the result stands and the turn goes on.
    fn stage<H: Host + ?Sized>(&mut self, host: &mut H, contexts: Vec<Message>) {
        for message in contexts {
            match self.append(host, Target::NextStep, message) {
                Ok(()) | Err(EditError::Disposed(_)) => {}
                Err(error) if self.is_aborted() => drop(error),
                Err(EditError::Refused(failure)) => self.report(host, failure),
                Err(EditError::AlreadyPending(error)) => {
                    self.report(host, Failure::coded(error.to_string(), "ALREADY_PENDING"));
                }
            }
        }
    }

    /// Nothing runs any more: what is unanswered gets its answer, then the step closes.
    fn finish_tools<H: Host + ?Sized>(&mut self, host: &mut H, mut run: ToolRun) {
        let mut failure = run.failure.take();
        while let Some(index) = run.first_unanswered() {
            if let Err(refusal) = self.answer_unrun(host, &mut run, index, failure.is_some()) {
                failure.get_or_insert(refusal);
                break;
            }
        }
        let ended = run.concluded.then_some(Ended::Completed);
        self.close_step(host, failure.map_or(Ok(ended), Err));
    }

    /// Answers a call that has no outcome: as aborted, or, when the scheduling failed, as repair
    /// would after a crash.
    fn answer_unrun<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        run: &mut ToolRun,
        index: usize,
        failed: bool,
    ) -> Result<(), Failure> {
        let call = run.calls[index].call.clone();
        let (called, answer) = match run.calls[index].state.clone() {
            CallState::Done { called, outcome } => {
                let (answer, contexts, _) = self.judge(outcome);
                self.log_result(host, &call, Some(called), answer)?;
                run.calls[index].state = CallState::Answered;
                self.stage(host, contexts);
                return Ok(());
            }
            CallState::Waiting if failed => (None, Answer::not_started()),
            CallState::Waiting => (Some(self.log_call(host, &call)?), Answer::not_dispatched()),
            CallState::Lost { called }
            | CallState::Preparing { called }
            | CallState::Running { called } => (Some(called), Answer::outcome_unknown()),
            CallState::Answered => return Ok(()),
        };
        self.log_result(host, &call, called, answer)?;
        run.calls[index].state = CallState::Answered;
        Ok(())
    }

    fn log_call<H: Host + ?Sized>(&mut self, host: &mut H, call: &Call) -> Result<Seq, Failure> {
        let called = ToolCalled {
            turn: self.last_turn,
            step: self.step,
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            extra: Extra::NONE,
        };
        self.log(host, &Body::ToolCall(called))
    }

    fn log_result<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        call: &Call,
        called: Option<Seq>,
        answer: Answer,
    ) -> Result<(), Failure> {
        let id = host.fresh_id();
        let body = answer.result(id, (self.last_turn, self.step), &call.id, called);
        self.log(host, &body).map(drop)
    }
}
