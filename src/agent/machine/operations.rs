//! What producers ask of the agent: sends, edits of the inbox, cancel, maintenance, dispose.
//!
//! Every operation is one atomic region, or part of the one in which an observer calls it. Not
//! here: what the driver does once it is started (`turn`).

use thiserror::Error;

use crate::agent::inbox::AlreadyPending;
use crate::event::{
    Body, CancelCause, Failure, InboxSpliced, Live, Message, MessageId, Seq, Status, Target,
};

use super::turn::At;
use super::{Activity, Core, DuringDurable, Host, Life};

/// What a cancel does with what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// Both lists are cleared first, and a latched wake is forgotten.
    Nothing,
    /// Every pending message stays.
    Inbox,
}

/// Disposal is complete: the agent takes no operation any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the agent is disposed")]
pub struct Disposed;

/// An operation on the inbox was refused; nothing was logged and nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum EditError {
    /// It would make an identity pending twice.
    #[error(transparent)]
    AlreadyPending(#[from] AlreadyPending),
    /// The session log refused the event.
    #[error("the log refused: {}", .0.message)]
    Refused(Failure),
    /// The agent is disposed.
    #[error(transparent)]
    Disposed(#[from] Disposed),
}

/// Maintenance could not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum MaintenanceError {
    /// A driver or another job is active.
    #[error("the agent is active already")]
    Busy,
    /// The agent is disposed.
    #[error(transparent)]
    Disposed(#[from] Disposed),
}

impl Core {
    /// Sends a message to the end of a list; with `wake` it may start the driver. A waking send
    /// that comes after the abort of the current activity goes to next-turn whatever its target,
    /// and is run when that activity is over.
    ///
    /// # Errors
    /// When the insertion is refused; then nothing wakes either.
    pub fn send<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        message: Message,
        target: Target,
        wake: bool,
    ) -> Result<(), EditError> {
        self.region(|core| {
            // Settled before the insertion is published: its observers may cancel.
            let late = wake && core.is_aborted();
            let target = if late { Target::NextTurn } else { target };
            core.append(host, target, message)?;
            if wake {
                core.wake(host, late);
            }
            Ok(())
        })
    }

    /// Sends to next-turn, with a wake.
    ///
    /// # Errors
    /// As [`Core::send`].
    pub fn followup<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        message: Message,
    ) -> Result<(), EditError> {
        self.send(host, message, Target::NextTurn, true)
    }

    /// Sends to next-step, with a wake.
    ///
    /// # Errors
    /// As [`Core::send`].
    pub fn steer<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        message: Message,
    ) -> Result<(), EditError> {
        self.send(host, message, Target::NextStep, true)
    }

    /// Sends to next-step, without a wake.
    ///
    /// # Errors
    /// As [`Core::send`].
    pub fn inject<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        message: Message,
    ) -> Result<(), EditError> {
        self.send(host, message, Target::NextStep, false)
    }

    /// Inserts at the end of a list, without a wake.
    ///
    /// # Errors
    /// When the identity is pending already, the log refuses, or the agent is disposed.
    pub fn append<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        target: Target,
        message: Message,
    ) -> Result<(), EditError> {
        self.refuse_disposed()?;
        let splice = self.inbox.plan_append(target, message)?;
        self.mutate(host, splice).map_err(EditError::Refused)?;
        Ok(())
    }

    /// Inserts at the head of a list, without a wake.
    ///
    /// # Errors
    /// As [`Core::append`].
    pub fn prepend<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        target: Target,
        message: Message,
    ) -> Result<(), EditError> {
        self.splice(host, target, 0, 0, vec![message])?;
        Ok(())
    }

    /// Splices a list in the coordinates of a standard array (a negative `start` counts from the
    /// end, everything is clamped) and gives back what it removed. Nothing to remove and nothing
    /// to insert logs nothing.
    ///
    /// # Errors
    /// As [`Core::append`].
    pub fn splice<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        target: Target,
        start: i64,
        delete: i64,
        inserted: Vec<Message>,
    ) -> Result<Vec<Message>, EditError> {
        self.refuse_disposed()?;
        match self.inbox.plan_splice(target, start, delete, inserted)? {
            None => Ok(Vec::new()),
            Some(splice) => self.mutate(host, splice).map_err(EditError::Refused),
        }
    }

    /// Exchanges a pending message for another in its place; answers whether it was pending.
    ///
    /// # Errors
    /// As [`Core::append`].
    pub fn replace<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        id: &MessageId,
        new: Message,
    ) -> Result<bool, EditError> {
        self.refuse_disposed()?;
        let splice = self.inbox.plan_replace(id, new)?;
        self.mutate_if(host, splice)
    }

    /// Removes a pending message; answers whether it was pending.
    ///
    /// # Errors
    /// When the log refuses, or the agent is disposed.
    pub fn remove<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        id: &MessageId,
    ) -> Result<bool, EditError> {
        self.refuse_disposed()?;
        let splice = self.inbox.plan_remove(id);
        self.mutate_if(host, splice)
    }

    /// Empties next-step, then next-turn: two cancellations, none for an empty list.
    ///
    /// # Errors
    /// When the log refuses, or the agent is disposed.
    pub fn clear<H: Host + ?Sized>(&mut self, host: &mut H) -> Result<(), EditError> {
        self.refuse_disposed()?;
        self.clear_lists(host).map_err(EditError::Refused)
    }

    /// Cancels what is going on; the first cause wins. Without [`Keep::Inbox`] both lists are
    /// cleared first. With nothing active and nothing pending it does nothing.
    ///
    /// # Errors
    /// When the agent is disposed, or the log refuses the clearing; the stop takes effect all the
    /// same.
    pub fn cancel<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        cause: CancelCause,
        keep: Keep,
    ) -> Result<(), EditError> {
        self.refuse_disposed()?;
        let cleared = match keep {
            Keep::Inbox => Ok(()),
            Keep::Nothing => self.clear_lists(host),
        };
        self.abort(cause, keep);
        cleared.map_err(EditError::Refused)
    }

    /// Starts maintenance: opens [`super::Point::Maintenance`]. The public status stays idle;
    /// wakes are latched until the job is over.
    ///
    /// # Errors
    /// When something is active, or the agent is disposed.
    pub fn run_maintenance(&mut self) -> Result<(), MaintenanceError> {
        self.refuse_disposed()?;
        if !self.is_quiet() {
            return Err(MaintenanceError::Busy);
        }
        self.at = At::Maintaining;
        Ok(())
    }

    /// Begins disposal: a cancel with cause `disposed` that clears, after which nothing is latched.
    /// It is complete when the outermost region has ended and nothing is active; until then
    /// operations are taken. A second call does nothing more.
    pub fn dispose<H: Host + ?Sized>(&mut self, host: &mut H) {
        if self.life != Life::Alive {
            return;
        }
        self.region(|core| {
            core.life = Life::Clearing;
            if let Err(failure) = core.clear_lists(host) {
                core.report(host, failure);
            }
            core.abort(CancelCause::Disposed, Keep::Nothing);
            core.life = Life::Disposing;
        });
    }

    pub(super) fn cancel_in_publication(
        &mut self,
        cause: CancelCause,
        keep: Keep,
    ) -> Result<(), Disposed> {
        self.refuse_disposed()?;
        self.abort(cause, keep);
        // What the publication itself inserts is not pending yet: with empty lists nothing is owed.
        self.clear_owed |= keep == Keep::Nothing && !self.inbox.is_empty();
        Ok(())
    }

    pub(super) fn dispose_in_publication(&mut self) {
        if self.life == Life::Alive {
            // Only a disposed agent refuses, and this one is alive.
            let cancelled = self.cancel_in_publication(CancelCause::Disposed, Keep::Nothing);
            debug_assert_eq!(cancelled, Ok(()));
            self.life = Life::Disposing;
        }
    }

    /// Runs a region, or a part of the one in which an observer asks for it. Disposal is complete
    /// at the end of the outermost one.
    pub(super) fn region<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        self.depth += 1;
        let result = act(self);
        self.depth -= 1;
        if self.depth == 0 && self.life == Life::Disposing && self.is_quiet() {
            self.life = Life::Disposed;
        }
        result
    }

    fn refuse_disposed(&self) -> Result<(), Disposed> {
        if self.life == Life::Disposed {
            Err(Disposed)
        } else {
            Ok(())
        }
    }

    fn abort(&mut self, cause: CancelCause, keep: Keep) {
        if self.is_quiet() {
            return;
        }
        if keep == Keep::Nothing {
            self.activity.latch = false;
        }
        self.activity.aborted.get_or_insert(cause);
    }

    /// Starts the driver, or latches the wake where the current activity will not see its message.
    pub(super) fn wake<H: Host + ?Sized>(&mut self, host: &mut H, late: bool) {
        if self.is_quiet() {
            self.at = At::Acting;
            self.activity = Activity::default();
            host.live(
                &Live::Status {
                    status: Status::Running,
                },
                self,
            );
            self.open_turn(host);
        } else if self.life == Life::Alive
            && self.activity.aborted != Some(CancelCause::Disposed)
            && (late || self.at == At::Maintaining)
        {
            self.activity.latch = true;
        }
    }

    /// The current activity is over. Idle, and then the latched wake, if its input is still there.
    pub(super) fn rest<H: Host + ?Sized>(&mut self, host: &mut H, announce: bool) {
        let latch = std::mem::take(&mut self.activity).latch;
        self.at = At::Idle;
        self.step = 0;
        self.ended = None;
        if announce {
            host.live(
                &Live::Status {
                    status: Status::Idle,
                },
                self,
            );
        }
        if latch && !self.inbox.is_empty() {
            self.wake(host, false);
        }
    }

    pub(super) fn maintained<H: Host + ?Sized>(&mut self, host: &mut H) {
        self.rest(host, false);
    }

    fn clear_lists<H: Host + ?Sized>(&mut self, host: &mut H) -> Result<(), Failure> {
        for target in [Target::NextStep, Target::NextTurn] {
            if let Some(splice) = self.inbox.plan_clear(target) {
                self.mutate(host, splice)?;
            }
        }
        Ok(())
    }

    fn mutate_if<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        splice: Option<InboxSpliced>,
    ) -> Result<bool, EditError> {
        let Some(splice) = splice else {
            return Ok(false);
        };
        self.mutate(host, splice).map_err(EditError::Refused)?;
        Ok(true)
    }

    /// One ordinary mutation: the event commits, its observers see the lists as they were, the
    /// lists change, then the live events.
    pub(super) fn mutate<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        splice: InboxSpliced,
    ) -> Result<Vec<Message>, Failure> {
        self.region(|core| core.mutate_and_announce(host, splice))
    }

    fn mutate_and_announce<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        splice: InboxSpliced,
    ) -> Result<Vec<Message>, Failure> {
        let inserted = splice.inserted.clone();
        let removed = self.commit_splices(host, vec![splice])?;
        for message in &removed {
            host.live(
                &Live::Discarded {
                    message: message.clone(),
                },
                self,
            );
        }
        for message in inserted {
            host.live(&Live::Inserted { message }, self);
        }
        self.clear_if_owed(host);
        Ok(removed)
    }

    /// Commits splices as one batch, then publishes and applies each; gives what they removed.
    pub(super) fn commit_splices<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        splices: Vec<InboxSpliced>,
    ) -> Result<Vec<Message>, Failure> {
        let bodies: Vec<Body> = splices.into_iter().map(Body::InboxSpliced).collect();
        let first = host.commit(&bodies)?;
        let mut removed = Vec::new();
        for (seq, body) in (first..).zip(&bodies) {
            host.publish(seq, body, DuringDurable(self));
            if let Body::InboxSpliced(splice) = body {
                // Planned against these very lists, so it fits.
                removed.append(&mut self.inbox.apply(splice).unwrap_or_default());
            }
        }
        Ok(removed)
    }

    /// Commits and publishes one event of the loop.
    pub(super) fn log<H: Host + ?Sized>(
        &mut self,
        host: &mut H,
        body: &Body,
    ) -> Result<Seq, Failure> {
        let seq = host.commit(std::slice::from_ref(body))?;
        self.publish(host, seq, body);
        Ok(seq)
    }

    /// Publishes a committed event of the loop.
    pub(super) fn publish<H: Host + ?Sized>(&mut self, host: &mut H, seq: Seq, body: &Body) {
        host.publish(seq, body, DuringDurable(self));
        self.clear_if_owed(host);
    }

    /// The clearing of a broad cancel that came while a durable event was published.
    pub(super) fn clear_if_owed<H: Host + ?Sized>(&mut self, host: &mut H) {
        if std::mem::take(&mut self.clear_owed)
            && let Err(failure) = self.clear_lists(host)
        {
            self.report(host, failure);
        }
    }

    /// Announces a failure at the current coordinates.
    pub(super) fn report<H: Host + ?Sized>(&mut self, host: &mut H, error: Failure) {
        host.live(
            &Live::Error {
                turn: self.last_turn,
                step: self.step,
                error,
            },
            self,
        );
    }
}
