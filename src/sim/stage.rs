//! What the scripted parts of one run share: gates, reactions, waits, and the record.
//!
//! Not here: the agent itself (`world`) and what its scripted parts do (`scripted`).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::perform;
use super::schedule::{Gate, LiveKind, LiveTrigger, Outcome, Reaction, Setting, Trigger};
use crate::agent::inbox::Inbox;
use crate::agent::shell::{DurableObserver, DurableScope, LiveObserver, LiveScope};
use crate::event::{Body, Event, Failure, Lists, Live, MessageId, Op, Record, Resting, Target};

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct Stage {
    records: RefCell<Vec<Record>>,
    held: RefCell<Vec<Held>>,
    next_token: Cell<u64>,
    /// Whether anything was recorded since the last rest.
    stirred: Cell<bool>,
    /// Observers that have not acted yet.
    reactions: RefCell<Vec<Reaction>>,
    /// Publications at which an observer has yet to fail.
    failing: RefCell<Vec<Trigger>>,
    /// How the maintenance job ended, until the agent takes that up.
    job_end: RefCell<Option<Option<Arc<str>>>>,
    /// Waits for idle that are asked and not taken up yet.
    pub(super) idle_waits: Cell<u32>,
    /// Disposals that are asked and not taken up yet.
    pub(super) disposals: Cell<u32>,
}

/// A held gate; with an outcome once it is let go.
#[derive(Debug)]
struct Held {
    token: u64,
    gate: Gate,
    outcome: Option<Outcome>,
}

impl Stage {
    pub(super) fn new(setting: &Setting) -> Rc<Self> {
        Rc::new(Self {
            reactions: RefCell::new(setting.reactions.clone()),
            failing: RefCell::new(setting.failing.clone()),
            ..Self::default()
        })
    }

    pub(super) fn record(&self, record: Record) {
        self.stirred.set(true);
        self.records.borrow_mut().push(record);
    }

    /// Records a rest, unless nothing happened since the last one.
    pub(super) fn record_rest(&self, resting: impl FnOnce() -> Resting) {
        if self.stirred.get() {
            self.record(Record::Rest(resting()));
            self.stirred.set(false);
        }
    }

    /// Records that an extension point is dispatched.
    pub(super) fn dispatch(&self, point: &str) {
        self.record(Record::Dispatched {
            point: point.into(),
        });
    }

    /// The maintenance job is over; the agent takes that up in its next region.
    pub(super) fn end_job(&self, failure: Option<Arc<str>>) {
        *self.job_end.borrow_mut() = Some(failure);
    }

    /// Records the end of a maintenance job, if the agent is about to take one up.
    pub(super) fn record_job_end(&self) {
        if let Some(failure) = self.job_end.take() {
            self.record(Record::Maintenance(failure));
        }
    }

    /// What was recorded since the last call.
    pub(super) fn take_records(&self) -> Vec<Record> {
        std::mem::take(&mut *self.records.borrow_mut())
    }

    /// Holds an awaited point; its future ends when the gate is let go.
    pub(super) fn hold(self: &Rc<Self>, gate: Gate) -> Hold {
        Hold {
            stage: self.clone(),
            gate,
            token: None,
        }
    }

    /// Lets a gate go; answers whether it was held. Of several of one name, the first.
    pub(super) fn release(&self, gate: &Gate, outcome: Outcome) -> bool {
        let mut held = self.held.borrow_mut();
        let found = held
            .iter_mut()
            .find(|held| held.gate == *gate && held.outcome.is_none());
        found.map(|held| held.outcome = Some(outcome)).is_some()
    }

    /// The names of the gates that are held, in the order in which they were.
    pub(super) fn held(&self) -> Vec<Gate> {
        let held = self.held.borrow();
        held.iter()
            .filter(|held| held.outcome.is_none())
            .map(|held| held.gate.clone())
            .collect()
    }

    /// Records that the gate is held, at once.
    pub(super) fn hold_now(self: &Rc<Self>, gate: Gate) -> Hold {
        let token = self.put(gate.clone());
        Hold {
            stage: self.clone(),
            gate,
            token: Some(token),
        }
    }

    fn put(&self, gate: Gate) -> u64 {
        let token = self.next_token.get();
        self.next_token.set(token + 1);
        self.record(Record::Gate { gate: gate.name() });
        self.held.borrow_mut().push(Held {
            token,
            gate,
            outcome: None,
        });
        token
    }

    fn take_outcome(&self, token: u64) -> Option<Outcome> {
        let mut held = self.held.borrow_mut();
        let place = held.iter().position(|held| held.token == token)?;
        held[place]
            .outcome
            .is_some()
            .then(|| held.remove(place).outcome)
            .flatten()
    }

    /// A point that nobody waits for any more does not hold its gate either.
    fn forget(&self, token: u64) {
        self.held.borrow_mut().retain(|held| held.token != token);
    }

    /// The reaction to a publication, if an observer waits for it; it acts once.
    fn take_reaction(&self, matches: impl Fn(&Trigger) -> bool) -> Option<Op> {
        let mut reactions = self.reactions.borrow_mut();
        let place = reactions
            .iter()
            .position(|reaction| matches(&reaction.on))?;
        Some(reactions.remove(place).act)
    }

    /// Whether an observer fails at a publication; it does so once.
    fn take_failure(&self, matches: impl Fn(&Trigger) -> bool) -> bool {
        let mut failing = self.failing.borrow_mut();
        let place = failing.iter().position(matches);
        place.map(|place| failing.remove(place)).is_some()
    }

    fn react(&self, op: Op, perform: impl FnOnce(&Op)) {
        self.record(Record::React(op.clone()));
        perform(&op);
        self.record(Record::ReactEnd(op));
    }
}

/// A held awaited point.
#[derive(Debug)]
pub(super) struct Hold {
    stage: Rc<Stage>,
    gate: Gate,
    token: Option<u64>,
}

impl Future for Hold {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Outcome> {
        let token = match self.token {
            Some(token) => token,
            None => self.stage.put(self.gate.clone()),
        };
        self.token = Some(token);
        match self.stage.take_outcome(token) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            self.stage.forget(token);
        }
    }
}

/// The observer that fails when the setting says so. It stands before the one that records.
#[derive(Debug)]
pub(super) struct Failing(pub(super) Rc<Stage>);

impl Failing {
    fn observe(&self, matches: impl Fn(&Trigger) -> bool) -> Result<(), Failure> {
        if !self.0.take_failure(matches) {
            return Ok(());
        }
        self.0.record(Record::ObserverFailed);
        Err(Failure::unknown("scripted failure"))
    }
}

impl DurableObserver for Failing {
    fn on_durable(&self, event: &Event, _: &mut DurableScope<'_>) -> Result<(), Failure> {
        let kind = event.body.kind();
        self.observe(|on| matches!(on, Trigger::Durable(on) if *on.event == *kind))
    }
}

impl LiveObserver for Failing {
    fn on_live(&self, live: &Live, _: &mut LiveScope<'_>) -> Result<(), Failure> {
        self.observe(|on| matches!(on, Trigger::Live(on) if is_meant(on, live)))
    }
}

/// The observer that records, and then reacts.
#[derive(Debug)]
pub(super) struct Recorder(pub(super) Rc<Stage>);

impl DurableObserver for Recorder {
    fn on_durable(&self, event: &Event, scope: &mut DurableScope<'_>) -> Result<(), Failure> {
        let stage = &self.0;
        stage.record(Record::Durable(event.clone()));
        if matches!(event.body, Body::InboxSpliced(_)) {
            stage.record(Record::Lists(lists(scope.inbox())));
        }
        let kind = event.body.kind();
        let waits = |on: &Trigger| matches!(on, Trigger::Durable(on) if *on.event == *kind);
        if let Some(op) = stage.take_reaction(waits) {
            stage.react(op, |op| perform::in_durable(stage, scope, op));
        }
        Ok(())
    }
}

impl LiveObserver for Recorder {
    fn on_live(&self, live: &Live, scope: &mut LiveScope<'_>) -> Result<(), Failure> {
        let stage = &self.0;
        stage.record(Record::Live(live.clone()));
        let waits = |on: &Trigger| matches!(on, Trigger::Live(on) if is_meant(on, live));
        if let Some(op) = stage.take_reaction(waits) {
            stage.react(op, |op| perform::in_live(stage, scope, op));
        }
        Ok(())
    }
}

fn is_meant(on: &LiveTrigger, live: &Live) -> bool {
    let (kind, id, status) = match live {
        Live::Inserted { message } => (LiveKind::Inserted, Some(&message.id), None),
        Live::Claimed { message, .. } => (LiveKind::Claimed, Some(&message.id), None),
        Live::Discarded { message } => (LiveKind::Discarded, Some(&message.id), None),
        Live::Status { status } => (LiveKind::Status, None, Some(*status)),
        Live::Error { .. } => (LiveKind::Error, None, None),
        Live::SessionStart { .. } | Live::Created | Live::Disposed => return false,
    };
    on.live == kind
        && (on.id.is_none() || on.id.as_ref() == id)
        && (on.status.is_none() || on.status == status)
}

/// Both lists by identity.
pub(super) fn lists(inbox: &Inbox) -> Lists {
    Lists {
        next_turn: ids(inbox, Target::NextTurn),
        next_step: ids(inbox, Target::NextStep),
    }
}

fn ids(inbox: &Inbox, target: Target) -> Vec<MessageId> {
    inbox
        .list(target)
        .iter()
        .map(|message| message.id.clone())
        .collect()
}
