//! The queue as a whole, for whoever shows or edits all of it.
//!
//! Not here: sending anything anywhere. A transport sends the mirror's lists, or a baseline and
//! the events after it.

use crate::agent::inbox::{FoldError, Inbox};
use crate::event::{Event, Seq};

/// What is pending at one place of a log. Starting from any other mirror's [`baseline`] gives the
/// same as watching from the start.
///
/// [`baseline`]: Self::baseline
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueMirror {
    next: Seq,
    inbox: Inbox,
}

impl QueueMirror {
    /// An empty queue before the event at `origin`; events before it change nothing. 0 unless the
    /// log inherited a prefix.
    #[must_use]
    pub fn new(origin: Seq) -> Self {
        Self {
            next: origin,
            inbox: Inbox::default(),
        }
    }

    /// Takes an event of the log. One that the mirror has seen already changes nothing, so a
    /// client may be given more than it lacks; the splices alone are enough.
    ///
    /// # Errors
    /// When it is a splice that does not fit: the client missed something and needs a baseline.
    /// Then nothing changes.
    pub fn feed(&mut self, event: &Event) -> Result<(), FoldError> {
        if event.seq >= self.next {
            self.inbox.follow(event)?;
            self.next = event.seq.saturating_add(1);
        }
        Ok(())
    }

    /// The mirror of a whole log, without what was inherited before `origin`.
    ///
    /// # Errors
    /// At the first splice that does not fit.
    pub fn of(events: &[Event], origin: Seq) -> Result<Self, FoldError> {
        let mut mirror = Self::new(origin);
        for event in events {
            mirror.feed(event)?;
        }
        Ok(mirror)
    }

    /// What a client that connects now starts from; the events that follow are fed to it.
    #[must_use]
    pub fn baseline(&self) -> Self {
        self.clone()
    }

    /// Both lists.
    #[must_use]
    pub fn lists(&self) -> &Inbox {
        &self.inbox
    }

    /// Place of the first event that the mirror has not seen.
    #[must_use]
    pub fn next(&self) -> Seq {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sketch::{cancel, claim, insert, log, turn_start};
    use crate::event::Target::{NextStep, NextTurn};

    fn session() -> Vec<Event> {
        log([
            insert(NextTurn, 0, &["a", "b"]),
            insert(NextStep, 0, &["c"]),
            cancel(NextTurn, 1, 1, &["d"]),
            turn_start(1),
            claim(NextStep, 1),
            claim(NextTurn, 1),
        ])
    }

    #[test]
    fn an_empty_log_has_an_empty_queue() {
        assert!(QueueMirror::of(&[], 0).unwrap().lists().is_empty());
    }

    #[test]
    fn a_late_client_sees_what_an_early_one_sees() {
        let session = session();
        let mut early = QueueMirror::default();
        let mut late = early.baseline();
        for (place, event) in session.iter().enumerate() {
            late = if place == 3 { early.baseline() } else { late };
            early.feed(event).unwrap();
            late.feed(event).unwrap();
            assert_eq!(late, early);
        }
    }

    #[test]
    fn what_a_client_is_given_twice_counts_once() {
        let session = session();
        let mut client = QueueMirror::of(&session[..3], 0).unwrap();
        for event in &session {
            client.feed(event).unwrap();
        }
        assert_eq!(client, QueueMirror::of(&session, 0).unwrap());
    }

    #[test]
    fn a_client_that_missed_a_splice_is_told() {
        let session = session();
        let mut client = QueueMirror::of(&session[..1], 0).unwrap();
        let before = client.clone();
        assert!(client.feed(&session[4]).is_err());
        assert_eq!(client, before);
    }

    #[test]
    fn an_inherited_prefix_leaves_nothing_in_the_queue() {
        let queue = QueueMirror::of(&session()[..3], 3).unwrap();
        assert!(queue.lists().is_empty());
    }
}
