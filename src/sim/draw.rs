//! Drawing what a schedule leaves open: operations, outcomes, observers.
//!
//! Every alternative list begins with its calmest member, so that pick 0 is calm. Not here: who
//! acts next (`run`).

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::chooser::{ChoicePoint, Chooser, pick};
use super::scenario::{Producer, Scenario};
use super::schedule::{
    DurableTrigger, FinishKind, Gate, LiveKind, LiveTrigger, Mode, Outcome, Reaction, ScriptedCall,
    Setting, Trigger,
};
use crate::event::{CancelCause, MessageId, Op, Status, Target};

/// Draws from a chooser, and knows the identities that were used so far.
#[derive(Debug)]
pub(super) struct Draw<C> {
    pub(super) chooser: C,
    /// Identities in order of their first use.
    known: Vec<MessageId>,
    next_call: u32,
}

/// The durable events whose publication an observer may wait for.
const DURABLE: [&str; 11] = [
    "agent/inbox/spliced",
    "turn/start",
    "step/start",
    "user/message",
    "request/header",
    "assistant/chunk",
    "assistant/message",
    "tool/call",
    "tool/result",
    "step/end",
    "turn/end",
];

/// The live events that it may wait for.
const LIVE: [(LiveKind, Option<Status>); 6] = [
    (LiveKind::Inserted, None),
    (LiveKind::Claimed, None),
    (LiveKind::Discarded, None),
    (LiveKind::Status, Some(Status::Running)),
    (LiveKind::Status, Some(Status::Idle)),
    (LiveKind::Error, None),
];

impl<C: Chooser> Draw<C> {
    /// A drawer that hands out no identity which the scenario uses.
    pub(super) fn new(chooser: C, scenario: &Scenario) -> Self {
        let known = scenario.ops().filter_map(Op::message).cloned().collect();
        Self {
            chooser,
            known,
            next_call: 0,
        }
    }

    fn pick(&mut self, point: ChoicePoint, bound: usize) -> usize {
        pick(&mut self.chooser, point, bound)
    }

    fn flag(&mut self) -> bool {
        self.pick(ChoicePoint::Flag, 2) == 1
    }

    /// A number from `from` to `to`.
    pub(super) fn count(&mut self, from: usize, to: usize) -> usize {
        from + self.pick(ChoicePoint::Count, to - from + 1)
    }

    /// Who acts next, of so many.
    pub(super) fn next(&mut self, bound: usize) -> usize {
        self.pick(ChoicePoint::Next, bound)
    }

    /// What a world is set up with.
    pub(super) fn setting(&mut self, scenario: &Scenario) -> Setting {
        let listeners = match &scenario.listeners {
            Some(listeners) => listeners.clone(),
            None => ["p", "q", "r"]
                .into_iter()
                .take(self.count(1, 3))
                .map(Arc::from)
                .collect(),
        };
        let parallel_calls_max = match scenario.parallel_calls_max {
            Some(max) => max,
            None => NonZeroUsize::MIN.saturating_add(self.count(1, 3)),
        };
        let reactions = match &scenario.reactions {
            Some(reactions) => reactions.clone(),
            None => (0..self.count(0, 3)).map(|_| self.reaction()).collect(),
        };
        let failing = match (&scenario.failing, &scenario.reactions) {
            (Some(failing), _) => failing.clone(),
            (None, Some(_)) => Vec::new(),
            (None, None) => (0..self.count(0, 2)).map(|_| self.trigger()).collect(),
        };
        Setting {
            listeners,
            parallel_calls_max,
            reactions,
            failing,
        }
    }

    /// Who asks.
    pub(super) fn producers(&mut self, scenario: &Scenario) -> Vec<Producer> {
        match &scenario.producers {
            Some(producers) => producers.clone(),
            None => ["user", "plugin", "timer"]
                .into_iter()
                .map(|name| Producer {
                    name: name.into(),
                    ops: Vec::new(),
                    any: self.count(0, 6),
                })
                .collect(),
        }
    }

    fn reaction(&mut self) -> Reaction {
        Reaction {
            on: self.trigger(),
            act: self.op(),
        }
    }

    fn trigger(&mut self) -> Trigger {
        let place = self.pick(ChoicePoint::Trigger, DURABLE.len() + LIVE.len());
        match DURABLE.get(place) {
            Some(event) => Trigger::Durable(DurableTrigger {
                event: (*event).into(),
            }),
            None => {
                let (live, status) = LIVE[place - DURABLE.len()];
                Trigger::Live(LiveTrigger {
                    live,
                    id: None,
                    status,
                })
            }
        }
    }

    /// An operation of a producer.
    pub(super) fn op(&mut self) -> Op {
        match self.pick(ChoicePoint::Op, 14) {
            0 => Op::Followup {
                id: self.new_message(),
            },
            1 => Op::Steer { id: self.message() },
            2 => Op::Inject { id: self.message() },
            3 => Op::Send {
                id: self.message(),
                target: self.target(),
                wakeup: self.flag(),
            },
            4 => Op::Append {
                target: self.target(),
                id: self.message(),
            },
            5 => Op::Prepend {
                target: self.target(),
                id: self.message(),
            },
            6 => self.splice(),
            7 => Op::Replace {
                id: self.old_message(),
                with: self.message(),
            },
            8 => Op::Remove {
                id: self.old_message(),
            },
            9 => Op::Clear,
            10 => Op::WhenIdle,
            11 => Op::Maintenance,
            12 => Op::Cancel {
                cause: self.cause(),
                keep_inbox: !self.flag(),
            },
            // Rare: whatever follows is refused.
            _ if self.flag() && self.flag() => Op::Dispose,
            _ => Op::Followup { id: self.message() },
        }
    }

    fn splice(&mut self) -> Op {
        let target = self.target();
        let coordinates = [0, 1, -1, 2, -2, 99, -99];
        let start = coordinates[self.pick(ChoicePoint::Coordinate, coordinates.len())];
        let deletes = [0, 1, 2, 99, -1];
        let delete = deletes[self.pick(ChoicePoint::Coordinate, deletes.len())];
        let insert = (0..self.count(0, 2)).map(|_| self.message()).collect();
        Op::Splice {
            target,
            start,
            delete,
            insert,
        }
    }

    fn cause(&mut self) -> CancelCause {
        match self.pick(ChoicePoint::Cause, 3) {
            0 => CancelCause::User,
            1 => CancelCause::Parent,
            _ => CancelCause::Hook {
                reason: "stop".into(),
            },
        }
    }

    fn target(&mut self) -> Target {
        match self.pick(ChoicePoint::Target, 2) {
            0 => Target::NextTurn,
            _ => Target::NextStep,
        }
    }

    fn new_message(&mut self) -> MessageId {
        let mut number = self.known.len() + 1;
        let mut id = MessageId::from(format!("m{number}"));
        while self.known.contains(&id) {
            number += 1;
            id = format!("m{number}").into();
        }
        self.known.push(id.clone());
        id
    }

    /// Mostly a new message; now and then one that was there before.
    fn message(&mut self) -> MessageId {
        match self.pick(ChoicePoint::Message, 8) {
            7 => self.old_message(),
            _ => self.new_message(),
        }
    }

    /// One of the last messages that were used; a new one when there is none.
    fn old_message(&mut self) -> MessageId {
        let recent = self.known.len().min(5);
        if recent == 0 {
            return self.new_message();
        }
        let back = self.pick(ChoicePoint::Message, recent);
        self.known[self.known.len() - 1 - back].clone()
    }

    /// How a held gate ends.
    pub(super) fn outcome(&mut self, gate: &Gate) -> Outcome {
        match gate {
            Gate::In(_) => self.outcome_in(),
            Gate::Out(_) => self.outcome_out(),
            Gate::Model => self.outcome_model(),
            Gate::Tool(_) => self.outcome_tool(),
            Gate::RequestError => match self.pick(ChoicePoint::Outcome, 3) {
                0 => Outcome::Calm,
                1 => Outcome::Retry,
                _ => throw(),
            },
            Gate::TurnStopping | Gate::Maintenance => match self.pick(ChoicePoint::Outcome, 4) {
                3 => throw(),
                _ => Outcome::Calm,
            },
        }
    }

    fn outcome_in(&mut self) -> Outcome {
        match self.pick(ChoicePoint::Outcome, 9) {
            0..=3 => Outcome::Calm,
            4 => Outcome::Wrap,
            5 => Outcome::Reject,
            6 => Outcome::Enter(Vec::new()),
            7 => Outcome::Enter(vec![self.message()]),
            _ => throw(),
        }
    }

    fn outcome_out(&mut self) -> Outcome {
        match self.pick(ChoicePoint::Outcome, 7) {
            0 => Outcome::Calm,
            1 => Outcome::Before(vec![self.message()]),
            2 => Outcome::After(vec![self.message()]),
            3 => Outcome::Enter(Vec::new()),
            4 => Outcome::Enter(vec![self.message()]),
            5 => Outcome::Reject,
            _ => throw(),
        }
    }

    fn outcome_model(&mut self) -> Outcome {
        match self.pick(ChoicePoint::Outcome, 9) {
            0..=2 => Outcome::Calm,
            3 => Outcome::Chunk("words".into()),
            4 | 5 => Outcome::Calls((0..self.count(1, 4)).map(|_| self.call()).collect()),
            6 => Outcome::Finish(FinishKind::MaxTokens),
            7 => match self.pick(ChoicePoint::Outcome, 2) {
                0 => Outcome::Finish(FinishKind::Error),
                _ => Outcome::Finish(FinishKind::Aborted),
            },
            _ => throw(),
        }
    }

    fn call(&mut self) -> ScriptedCall {
        self.next_call += 1;
        let mode = if self.flag() {
            Mode::Exclusive
        } else {
            Mode::Parallel
        };
        ScriptedCall {
            id: format!("c{}", self.next_call).into(),
            mode,
        }
    }

    fn outcome_tool(&mut self) -> Outcome {
        match self.pick(ChoicePoint::Outcome, 6) {
            0 | 1 => Outcome::Calm,
            2 => Outcome::Gives {
                contexts: vec![self.message()],
                concludes: false,
            },
            3 => Outcome::Gives {
                contexts: Vec::new(),
                concludes: true,
            },
            4 => Outcome::Gives {
                contexts: vec![self.message()],
                concludes: true,
            },
            _ => throw(),
        }
    }
}

fn throw() -> Outcome {
    Outcome::Throw("scripted failure".into())
}
