//! What the machine asks of its surroundings, and what observers may do while it speaks.
//!
//! Not here: plugins, files, executors. A host is a few lines in a model and a shell in a program.

use crate::event::{Body, CallId, CancelCause, Failure, Live, MessageId, Seq, Status};

use super::{Core, Disposed, Keep, MaintenanceError};
use crate::agent::inbox::Inbox;

/// The surroundings of one machine.
///
/// Both publications may act on the agent in the midst of the region that publishes; what they may
/// do is what the second argument offers.
pub trait Host {
    /// Commits a batch to the session log, all of it or nothing, and gives the place of its first
    /// event. The batch is never empty.
    ///
    /// # Errors
    /// When the log refuses; then nothing was appended.
    fn commit(&mut self, batch: &[Body]) -> Result<Seq, Failure>;

    /// Shows a committed event to the observers of durable events.
    fn publish(&mut self, seq: Seq, body: &Body, agent: DuringDurable<'_>);

    /// Shows a live event to its observers, who may call every operation of a producer.
    fn live(&mut self, live: &Live, agent: &mut Core);

    /// An identity for a message that the loop makes; never the same twice in one log.
    fn fresh_id(&mut self) -> MessageId;

    /// Whether a call may overlap others. Asked right before each start.
    fn classify(&mut self, call: &CallId, name: &str, arguments: &str) -> Overlap;
}

/// Whether a tool call may run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// It runs alone: everything before it is answered first, nothing starts beside it.
    Exclusive,
    /// It may run beside other calls that may.
    Parallel,
}

/// The agent as an observer of a durable event has it: it can read, and stop what is going on, but
/// has no way to append.
#[derive(Debug)]
pub struct DuringDurable<'a>(pub(super) &'a mut Core);

impl DuringDurable<'_> {
    /// The lists, as they were before the event that is being published.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        self.0.inbox()
    }

    /// What the agent says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Cancels what is going on, at once. Without [`Keep::Inbox`] the lists are cleared right
    /// after the publication.
    ///
    /// # Errors
    /// After disposal.
    pub fn cancel(&mut self, cause: CancelCause, keep: Keep) -> Result<(), Disposed> {
        self.0.cancel_in_publication(cause, keep)
    }

    /// Starts maintenance.
    ///
    /// # Errors
    /// When something is going on already, or after disposal.
    pub fn run_maintenance(&mut self) -> Result<(), MaintenanceError> {
        self.0.run_maintenance()
    }

    /// Begins disposal: a cancel with cause `disposed` that clears.
    pub fn dispose(&mut self) {
        self.0.dispose_in_publication();
    }
}
