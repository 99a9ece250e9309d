//! One agent among scripted parts, moved one act at a time.
//!
//! After each act everything runs until nothing moves. Not here: who acts next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::perform;
use super::schedule::{Action, Gate, Outcome, Setting};
use super::scripted::{Listener, Scripted, Witness};
use super::stage::{Failing, Recorder, Stage, lists};
use crate::agent::log::{Memory, SessionLog, Storage};
use crate::agent::machine::{Limits, Origin};
use crate::agent::shell::{Advance, Agent, Clock};
use crate::event::{Lists, Op, Record, Refused, Resting, Status, Time};

/// See the file's head.
#[derive(Debug)]
pub struct World {
    agent: Agent,
    stage: Rc<Stage>,
    clock: Rc<VirtualClock>,
    /// Waits for idle: how many were asked, and how many are over.
    waits: (u32, u32),
    disposals: u32,
}

/// Where a world stands at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Both lists.
    pub lists: Lists,
    /// What the agent says of itself.
    pub status: Status,
    /// The gates that are held, in the order in which they were.
    pub gates: Vec<Gate>,
}

/// The clock of a run: it stands still unless it is moved.
#[derive(Debug, Default)]
pub struct VirtualClock(Cell<Time>);

impl VirtualClock {
    /// Moves on by so many milliseconds.
    pub fn advance(&self, milliseconds: Time) {
        self.0.set(self.0.get().saturating_add(milliseconds));
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Time {
        self.0.get()
    }
}

impl World {
    /// A world with a new, empty log in memory.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let storage: Box<dyn Storage> = Box::new(Memory::default());
        Self::with_log(setting, SessionLog::new(storage), Origin::default())
    }

    /// A world whose agent goes on with a log.
    #[must_use]
    pub fn with_log(setting: &Setting, log: SessionLog<Box<dyn Storage>>, origin: Origin) -> Self {
        let stage = Stage::new(setting);
        let clock = Rc::new(VirtualClock::default());
        let failing = Rc::new(Failing(stage.clone()));
        let recorder = Rc::new(Recorder(stage.clone()));
        let scripted = Rc::new(Scripted(stage.clone()));
        let mut builder = Agent::builder(scripted.clone())
            .model_name("mock", "mock")
            .tools(scripted.clone())
            .request(scripted.clone())
            .request_error(scripted.clone())
            .turn_stopping(scripted)
            .observe_durable(failing.clone())
            .observe_live(failing)
            .observe_durable(recorder.clone())
            .observe_live(recorder)
            .pre_step(Rc::new(Witness(stage.clone())))
            .clock(clock.clone())
            .limits(Limits {
                parallel_calls_max: setting.parallel_calls_max,
            })
            .log(log, origin);
        for name in &setting.listeners {
            let listener = Listener {
                stage: stage.clone(),
                name: name.clone(),
            };
            builder = builder.pre_step(Rc::new(listener));
        }
        let world = Self {
            agent: builder.build(),
            stage,
            clock,
            waits: (0, 0),
            disposals: 0,
        };
        world.record_opening(setting);
        world
    }

    fn record_opening(&self, setting: &Setting) {
        self.stage.record(Record::Opened {
            listeners: setting.listeners.clone(),
            parallel_calls_max: setting.parallel_calls_max.get(),
        });
        if self.agent.read(|log| log.is_empty()) {
            return;
        }
        let looked = self.agent.look(|_, turn, inbox| (turn, lists(inbox)));
        if let Ok((last_turn, lists)) = looked {
            self.stage.record(Record::Resumed { lists, last_turn });
        }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The clock that its events are stamped with.
    #[must_use]
    pub fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// Performs one act and lets everything run until nothing moves; gives what was observed.
    pub fn act(&mut self, action: &Action) -> Vec<Record> {
        self.follow(action);
        self.take_records()
    }

    /// Makes one act of a script and lets everything run until nothing moves.
    pub fn follow(&mut self, action: &Action) {
        match action {
            Action::Op(op) => self.ask(&"script".into(), op),
            Action::Release { gate, outcome } => self.let_go(gate, outcome.clone()),
        }
        while self.advance() {}
    }

    /// A producer of that name asks; nothing runs but the region of its operation.
    pub fn ask(&mut self, by: &Arc<str>, op: &Op) {
        self.stage.record(Record::Act {
            by: by.clone(),
            op: op.clone(),
        });
        let stage = &self.stage;
        // Nothing is being published here.
        drop(self.agent.act(|scope| perform::in_live(stage, scope, op)));
        stage.record(Record::ActEnd);
        self.end_waits();
    }

    /// Lets a gate go, with the end of its awaited point; nothing runs yet.
    pub fn let_go(&mut self, gate: &Gate, outcome: Outcome) {
        self.stage.record(Record::Release { gate: gate.name() });
        if !self.stage.release(gate, outcome) {
            self.stage
                .record(Record::Refused(Refused::NoGate(gate.name())));
        }
    }

    /// Whether the agent can move by itself.
    pub fn can_move(&mut self) -> bool {
        let moves = self.agent.is_ready(&mut Context::from_waker(Waker::noop()));
        if !moves {
            self.stage.record_rest(|| self.resting());
        }
        moves
    }

    /// Runs the next region of the agent, if it can move.
    pub fn advance(&mut self) -> bool {
        if !self.can_move() {
            return false;
        }
        self.stage.record_job_end();
        let mut cx = Context::from_waker(Waker::noop());
        let moved = self.agent.advance(&mut cx) == Advance::Moved;
        self.end_waits();
        moved
    }

    /// What was recorded since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.stage.take_records()
    }

    /// Waits that were asked end when the agent is at rest.
    fn end_waits(&mut self) {
        self.waits.0 += self.stage.idle_waits.take();
        self.disposals += self.stage.disposals.take();
        if self.agent.is_quiet() {
            for wait in self.waits.1..self.waits.0 {
                self.stage.record(Record::Idle(wait + 1));
            }
            self.waits.1 = self.waits.0;
        }
        if self.agent.is_disposed() {
            for _ in 0..std::mem::take(&mut self.disposals) {
                self.stage.record(Record::Disposed);
            }
        }
    }

    /// The gates that are held, in the order in which they were.
    #[must_use]
    pub fn held(&self) -> Vec<Gate> {
        self.stage.held()
    }

    /// Whether a wait for idle or a disposal was asked for and is not over.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.waits.0 > self.waits.1 || self.disposals > 0
    }

    fn resting(&self) -> Resting {
        let Rest {
            lists,
            status,
            gates,
        } = self.rest();
        Resting {
            lists,
            status,
            quiet: self.agent.is_quiet(),
            held: gates.iter().map(Gate::name).collect(),
        }
    }

    /// Where the world stands.
    #[must_use]
    pub fn rest(&self) -> Rest {
        let looked = self.agent.look(|status, _, inbox| (status, lists(inbox)));
        let (status, lists) = looked.unwrap_or((Status::Running, Lists::default()));
        Rest {
            lists,
            status,
            gates: self.stage.held(),
        }
    }
}
