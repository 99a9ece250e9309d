//! The agent as an observer has it, in the midst of a publication.
//!
//! An observer of a durable event can read and stop; one of a live event has every operation. Not
//! here: the agent's handle, which is for everybody else and refuses to be used inside a
//! publication.

use std::future::Future;

use super::host::ShellHost;
use crate::agent::inbox::Inbox;
use crate::agent::machine::{Core, Disposed, DuringDurable, EditError, Keep, MaintenanceError};
use crate::event::{CancelCause, Event, Message, MessageId, Status, Target};

use super::host::Jobs;
use super::signal::Signal;

/// What an observer of a durable event may do.
#[derive(Debug)]
pub struct DurableScope<'a> {
    pub(super) agent: DuringDurable<'a>,
    pub(super) jobs: &'a mut Jobs,
}

impl DurableScope<'_> {
    /// The lists, as they were before the event that is being published.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        self.agent.inbox()
    }

    /// What the agent says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        self.agent.status()
    }

    /// Cancels what is going on, at once; a clearing follows the publication.
    ///
    /// # Errors
    /// After disposal.
    pub fn cancel(&mut self, cause: CancelCause, keep: Keep) -> Result<(), Disposed> {
        self.agent.cancel(cause, keep)
    }

    /// Starts maintenance; `job` is called at once, its future is awaited by the driver.
    ///
    /// # Errors
    /// When something is active, or after disposal.
    pub fn run_maintenance<F: Future<Output = ()> + 'static>(
        &mut self,
        job: impl FnOnce(Signal) -> F,
    ) -> Result<(), MaintenanceError> {
        self.agent.run_maintenance()?;
        self.jobs.start(job);
        Ok(())
    }

    /// Begins disposal.
    pub fn dispose(&mut self) {
        self.agent.dispose();
    }
}

/// Every operation of a producer: what an observer of a live event may do, and what
/// [`super::Agent::act`] runs as one region.
#[derive(Debug)]
pub struct LiveScope<'a> {
    pub(super) core: &'a mut Core,
    pub(super) host: &'a mut ShellHost,
}

impl LiveScope<'_> {
    /// The lists as they are.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        self.core.inbox()
    }

    /// What the agent says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.status()
    }

    /// The session log so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.host.log.events()
    }

    /// See [`Core::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, message: Message, target: Target, wake: bool) -> Result<(), EditError> {
        self.core.send(self.host, message, target, wake)
    }

    /// See [`Core::append`].
    ///
    /// # Errors
    /// As there.
    pub fn append(&mut self, target: Target, message: Message) -> Result<(), EditError> {
        self.core.append(self.host, target, message)
    }

    /// See [`Core::prepend`].
    ///
    /// # Errors
    /// As there.
    pub fn prepend(&mut self, target: Target, message: Message) -> Result<(), EditError> {
        self.core.prepend(self.host, target, message)
    }

    /// See [`Core::splice`].
    ///
    /// # Errors
    /// As there.
    pub fn splice(
        &mut self,
        target: Target,
        start: i64,
        delete: i64,
        inserted: Vec<Message>,
    ) -> Result<Vec<Message>, EditError> {
        self.core.splice(self.host, target, start, delete, inserted)
    }

    /// See [`Core::replace`].
    ///
    /// # Errors
    /// As there.
    pub fn replace(&mut self, id: &MessageId, new: Message) -> Result<bool, EditError> {
        self.core.replace(self.host, id, new)
    }

    /// See [`Core::remove`].
    ///
    /// # Errors
    /// As there.
    pub fn remove(&mut self, id: &MessageId) -> Result<bool, EditError> {
        self.core.remove(self.host, id)
    }

    /// See [`Core::clear`].
    ///
    /// # Errors
    /// As there.
    pub fn clear(&mut self) -> Result<(), EditError> {
        self.core.clear(self.host)
    }

    /// See [`Core::cancel`].
    ///
    /// # Errors
    /// As there.
    pub fn cancel(&mut self, cause: CancelCause, keep: Keep) -> Result<(), EditError> {
        self.core.cancel(self.host, cause, keep)
    }

    /// Starts maintenance; `job` is called at once, its future is awaited by the driver.
    ///
    /// # Errors
    /// When something is active, or after disposal.
    pub fn run_maintenance<F: Future<Output = ()> + 'static>(
        &mut self,
        job: impl FnOnce(Signal) -> F,
    ) -> Result<(), MaintenanceError> {
        self.core.run_maintenance()?;
        self.host.jobs.start(job);
        Ok(())
    }

    /// See [`Core::dispose`].
    pub fn dispose(&mut self) {
        self.core.dispose(self.host);
    }
}
