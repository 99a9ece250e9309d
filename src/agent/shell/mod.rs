//! The async shell: the loop as a program uses it.
//!
//! It awaits plugins, model and tools, and feeds their ends to the machine. It belongs to one
//! thread and to no runtime: whatever polls [`Agent::drive`] runs the agent, and dropping that
//! future loses nothing.
//!
//! Not here: any decision about order; `machine` has them all.
//!
//! ```
//! use std::rc::Rc;
//! use prestep::agent::shell::{Agent, ChunkStream, Model, ModelRequest};
//! use prestep::event::{ChunkKind, Finish, UserMessage};
//!
//! /// A model that says one thing.
//! struct Echo;
//!
//! impl Model for Echo {
//!     fn stream(&self, _: ModelRequest) -> ChunkStream {
//!         let text = ChunkKind::TextDelta { index: 0, text: "hello".into() };
//!         let finish = ChunkKind::Finish { reason: Finish::Stop };
//!         Box::pin(Said([text, finish].map(Into::into).into()))
//!     }
//! }
//!
//! # use std::{collections::VecDeque, pin::Pin, task::{Context, Poll}};
//! # use prestep::event::{Chunk, Failure};
//! # struct Said(VecDeque<Chunk>);
//! # impl futures_core::Stream for Said {
//! #     type Item = Result<Chunk, Failure>;
//! #     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
//! #         Poll::Ready(self.0.pop_front().map(Ok))
//! #     }
//! # }
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let agent = Agent::builder(Rc::new(Echo)).model_name("example", "echo").build();
//! agent.followup(UserMessage::text("m1", "hi"))?;
//! runtime.block_on(async {
//!     tokio::select! {
//!         () = agent.drive() => {}
//!         () = agent.when_idle() => {}
//!     }
//! });
//! let last = agent.read(|events| events.last().map(|event| event.body.kind().to_string()));
//! assert_eq!(last.as_deref(), Some("turn/end"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod driver;
mod host;
mod plugin;
mod scope;
mod signal;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::task::Waker;

use thiserror::Error;

use super::inbox::{AlreadyPending, Inbox};
use super::machine::{Disposed, EditError, End, Keep, Machine, MaintenanceError, Point};
use crate::event::{CancelCause, Event, Failure, Message, MessageId, Status, Target, Turn};

pub use build::Builder;
pub use driver::{Advance, Drive, WhenIdle};
pub use plugin::{
    Assemble, ChunkStream, Clock, DurableObserver, FailedRequest, LiveObserver, LocalFuture, Model,
    ModelRequest, Next, Place, PreStep, Request, RequestError, RouteProposal, StepProposal, Tools,
    TurnStopping,
};
pub use scope::{DurableScope, LiveScope};
pub use signal::{Aborted, Signal};

use driver::Awaited;
use host::{Parts, ShellHost};

/// An agent of this thread. Clones are handles of the same one.
///
/// A handle may be used from anywhere but the inside of a publication; an observer has its scope
/// for that. The inbox's other operations are reached through [`Agent::act`].
#[derive(Clone)]
pub struct Agent(Rc<Inner>);

struct Inner {
    state: RefCell<State>,
    parts: Rc<Parts>,
    running: RefCell<Vec<Awaited>>,
    /// An awaited point that has ended; its region comes next.
    ended: RefCell<Option<End>>,
    /// Kept for its room.
    open_points: RefCell<Vec<Point>>,
    /// The turn that the signal is of.
    signal_turn: Cell<Turn>,
    /// None until somebody needs it.
    signal: RefCell<Option<Signal>>,
    waiting: RefCell<Vec<Waker>>,
}

struct State {
    machine: Machine,
    host: ShellHost,
}

/// An operation was refused; nothing was logged and nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum OperationError {
    /// It would make an identity pending twice.
    #[error(transparent)]
    AlreadyPending(#[from] AlreadyPending),
    /// The session log refused the event.
    #[error("the log refused: {}", .0.message)]
    Refused(Failure),
    /// A driver or a maintenance job is active.
    #[error("the agent is active already")]
    Busy,
    /// The agent is disposed.
    #[error("the agent is disposed")]
    Disposed,
    /// The handle was used by an observer, in the midst of a publication.
    #[error("inside a publication only the observer's own scope may be used")]
    InPublication,
}

impl From<EditError> for OperationError {
    fn from(error: EditError) -> Self {
        match error {
            EditError::AlreadyPending(error) => Self::AlreadyPending(error),
            EditError::Refused(failure) => Self::Refused(failure),
            EditError::Disposed(Disposed) => Self::Disposed,
        }
    }
}

impl From<MaintenanceError> for OperationError {
    fn from(error: MaintenanceError) -> Self {
        match error {
            MaintenanceError::Busy => Self::Busy,
            MaintenanceError::Disposed(Disposed) => Self::Disposed,
        }
    }
}

impl Agent {
    /// Runs operations as one atomic region, with everything that an observer of a live event may
    /// do: nothing comes between them.
    ///
    /// # Errors
    /// When called inside a publication.
    pub fn act<R>(&self, act: impl FnOnce(&mut LiveScope<'_>) -> R) -> Result<R, OperationError> {
        let mut state = self
            .0
            .state
            .try_borrow_mut()
            .map_err(|_| OperationError::InPublication)?;
        let State { machine, host } = &mut *state;
        let result = act(&mut LiveScope {
            core: machine,
            host,
        });
        drop(state);
        self.after_region();
        Ok(result)
    }

    /// Sends to next-turn, with a wake.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn followup(&self, message: Message) -> Result<(), OperationError> {
        self.send(message, Target::NextTurn, true)
    }

    /// Sends to next-step, with a wake.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn steer(&self, message: Message) -> Result<(), OperationError> {
        self.send(message, Target::NextStep, true)
    }

    /// Sends to next-step, without a wake.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn inject(&self, message: Message) -> Result<(), OperationError> {
        self.send(message, Target::NextStep, false)
    }

    /// Sends to the end of a list; with `wake` it may start the driver.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn send(&self, message: Message, target: Target, wake: bool) -> Result<(), OperationError> {
        Ok(self.act(|scope| scope.send(message, target, wake))??)
    }

    /// Exchanges a pending message in its place; answers whether it was pending.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn replace(&self, id: &MessageId, new: Message) -> Result<bool, OperationError> {
        Ok(self.act(|scope| scope.replace(id, new))??)
    }

    /// Removes a pending message; answers whether it was pending.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn remove(&self, id: &MessageId) -> Result<bool, OperationError> {
        Ok(self.act(|scope| scope.remove(id))??)
    }

    /// Cancels what is going on; the first cause wins.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn cancel(&self, cause: CancelCause, keep: Keep) -> Result<(), OperationError> {
        Ok(self.act(|scope| scope.cancel(cause, keep))??)
    }

    /// Starts maintenance; `job` is called at once, its future is awaited by the driver.
    ///
    /// # Errors
    /// See [`OperationError`].
    pub fn run_maintenance<F: Future<Output = ()> + 'static>(
        &self,
        job: impl FnOnce(Signal) -> F,
    ) -> Result<(), OperationError> {
        Ok(self.act(|scope| scope.run_maintenance(job))??)
    }

    /// Begins disposal: a cancel that clears. Disposal is complete when nothing is active any
    /// more; wait for that with [`Agent::when_idle`].
    ///
    /// # Errors
    /// When called inside a publication.
    pub fn dispose(&self) -> Result<(), OperationError> {
        self.act(|scope| scope.dispose())
    }

    /// Resolves when neither a driver nor maintenance is left, a replayed latch included. It
    /// polls nothing itself; inside a listener or a maintenance job it never resolves.
    #[must_use]
    pub fn when_idle(&self) -> WhenIdle {
        WhenIdle(self.clone())
    }

    /// Runs the agent for as long as it is polled; resolves after disposal.
    #[must_use]
    pub fn drive(&self) -> Drive {
        Drive(self.clone())
    }

    /// Whether neither a driver nor maintenance is left. Inside a publication: no.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.0
            .state
            .try_borrow()
            .is_ok_and(|state| state.machine.is_quiet())
    }

    /// Whether disposal is complete. Inside a publication: no.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.0
            .state
            .try_borrow()
            .is_ok_and(|state| state.machine.is_disposed())
    }

    /// What the agent says of itself, its open or last turn, and what is pending.
    ///
    /// # Errors
    /// When called inside a publication.
    pub fn look<R>(
        &self,
        with: impl FnOnce(Status, Turn, &Inbox) -> R,
    ) -> Result<R, OperationError> {
        let state = self
            .0
            .state
            .try_borrow()
            .map_err(|_| OperationError::InPublication)?;
        let machine = &state.machine;
        Ok(with(machine.status(), machine.turn(), machine.inbox()))
    }

    /// Reads the session log. Inside a publication an observer has it in its scope; here it is
    /// empty then.
    pub fn read<R>(&self, with: impl FnOnce(&[Event]) -> R) -> R {
        match self.0.state.try_borrow() {
            Ok(state) => with(state.host.log.events()),
            Err(_) => with(&[]),
        }
    }

    /// Makes everything that was logged durable.
    ///
    /// # Errors
    /// When the storage refuses, or inside a publication.
    pub fn flush(&self) -> Result<(), OperationError> {
        let mut state = self
            .0
            .state
            .try_borrow_mut()
            .map_err(|_| OperationError::InPublication)?;
        let refused = |error| OperationError::Refused(Failure::unknown(format!("{error}")));
        state.host.log.flush().map_err(refused)
    }

    /// After every region: the signals follow the machine, and whoever waits looks again.
    fn after_region(&self) {
        self.signal_abort();
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Each turn and each job has a signal of its own; what is over is not signalled any more.
    fn signal_abort(&self) {
        let mut state = self.0.state.borrow_mut();
        let State { machine, host } = &mut *state;
        let turn = machine.turn();
        if self.0.signal_turn.replace(turn) != turn || machine.is_quiet() {
            *self.0.signal.borrow_mut() = None;
        }
        if !machine.awaits(Point::Maintenance) {
            host.jobs.signal = None;
        }
        let cause = machine.abort_cause().cloned();
        let job = host.jobs.signal.clone();
        drop(state);
        if let Some(cause) = cause {
            job.unwrap_or_else(|| self.signal()).abort(&cause);
        }
    }

    fn wake_on_change(&self, waker: &Waker) {
        signal::remember(&mut self.0.waiting.borrow_mut(), waker);
    }

    fn signal(&self) -> Signal {
        let mut signal = self.0.signal.borrow_mut();
        signal.get_or_insert_with(Signal::default).clone()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.state.try_borrow() {
            Ok(state) => f.debug_tuple("Agent").field(&state.machine).finish(),
            Err(_) => f.write_str("Agent(in publication)"),
        }
    }
}
