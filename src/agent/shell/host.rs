//! The machine's surroundings in a program: session log, observers, tools, clock.
//!
//! Not here: awaiting; `driver` does that.

use std::fmt;
use std::future::Future;
use std::rc::Rc;

use super::plugin::{
    Ask, Assemble, Clock, DurableObserver, FailedRequest, LiveObserver, LocalFuture, Model,
    RouteProposal, StepProposal, Tools, TurnStopping,
};
use super::scope::{DurableScope, LiveScope};
use super::signal::Signal;
use crate::agent::log::{SessionLog, Storage};
use crate::agent::machine::{Call, Core, Decision, DuringDurable, Host, Overlap, Recovery, Route};
use crate::event::{Body, CallId, Failure, Live, MessageId, Seq};

/// Everything that an agent was built with; never changes.
pub(super) struct Parts {
    pub(super) pre_step: Rc<[Rc<Ask<StepProposal, Decision>>]>,
    pub(super) request: Rc<[Rc<Ask<RouteProposal, Route>>]>,
    pub(super) request_error: Rc<[Rc<Ask<FailedRequest, Recovery>>]>,
    pub(super) turn_stopping: Rc<[Rc<dyn TurnStopping>]>,
    pub(super) assemble: Option<Rc<dyn Assemble>>,
    pub(super) durable: Vec<Rc<dyn DurableObserver>>,
    pub(super) live: Vec<Rc<dyn LiveObserver>>,
    pub(super) model: Rc<dyn Model>,
    pub(super) tools: Rc<dyn Tools>,
    pub(super) clock: Rc<dyn Clock>,
    pub(super) route: Option<Route>,
}

/// The maintenance job, from its start until the driver takes it up.
#[derive(Default)]
pub(super) struct Jobs {
    /// Of the job that runs, if one does.
    pub(super) signal: Option<Signal>,
    pub(super) started: Option<LocalFuture<()>>,
}

impl Jobs {
    /// Calls the job, with a fresh signal.
    pub(super) fn start<F: Future<Output = ()> + 'static>(
        &mut self,
        job: impl FnOnce(Signal) -> F,
    ) {
        let signal = Signal::default();
        self.signal = Some(signal.clone());
        self.started = Some(Box::pin(job(signal)));
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("started", &self.started.is_some())
            .finish_non_exhaustive()
    }
}

/// See the file's head.
pub(super) struct ShellHost {
    pub(super) log: SessionLog<Box<dyn Storage>>,
    pub(super) parts: Rc<Parts>,
    pub(super) jobs: Jobs,
}

impl fmt::Debug for ShellHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellHost")
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

impl Host for ShellHost {
    fn commit(&mut self, batch: &[Body]) -> Result<Seq, Failure> {
        let time = self.parts.clock.now();
        self.log
            .commit(time, batch.to_vec())
            .map_err(|error| Failure::unknown(error.to_string()))
    }

    fn publish(&mut self, seq: Seq, _: &Body, agent: DuringDurable<'_>) {
        let place = usize::try_from(seq).unwrap_or(usize::MAX);
        let Some(event) = self.log.events().get(place) else {
            return;
        };
        let mut scope = DurableScope {
            agent,
            jobs: &mut self.jobs,
        };
        for observer in &self.parts.durable {
            // Contained: an observer stops nobody else.
            drop(observer.on_durable(event, &mut scope));
        }
    }

    fn live(&mut self, live: &Live, core: &mut Core) {
        let parts = self.parts.clone();
        for observer in &parts.live {
            let mut scope = LiveScope { core, host: self };
            drop(observer.on_live(live, &mut scope));
        }
    }

    fn fresh_id(&mut self) -> MessageId {
        // The place of the event that will carry it: never the same twice in one log.
        format!("loop-{}", self.log.next_seq()).into()
    }

    fn classify(&mut self, id: &CallId, name: &str, arguments: &str) -> Overlap {
        let call = Call {
            id: id.clone(),
            name: name.into(),
            arguments: arguments.into(),
        };
        self.parts.tools.classify(&call)
    }
}
