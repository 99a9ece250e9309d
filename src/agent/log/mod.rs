//! The session log: every durable event of a session, in order, appended whole or not at all.
//!
//! [`SessionLog`] holds the events and gives them their places; a [`Storage`] keeps them, in a file
//! ([`file::FileLog`]) or not at all ([`Memory`]). Not here: what may follow what, and what a
//! resumed log still needs ([`super::resume`]).

use std::io;

use thiserror::Error;

use crate::event::{Body, Event, Seq, Time};

mod append;
pub mod file;
mod found;
mod frames;
mod lines;

pub use found::{Damage, OpenError, Place, Recovery};

/// Where a session log's events go.
pub trait Storage {
    /// Hands a batch to the operating system: all of it, or, after an error, nothing of it. The
    /// events follow those committed before. Nothing is asked of an empty batch.
    ///
    /// # Errors
    /// When the batch was not kept.
    fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError>;

    /// Makes everything committed so far durable: it survives a loss of power.
    ///
    /// # Errors
    /// When it may not be durable.
    fn flush(&mut self) -> Result<(), StorageError>;
}

impl Storage for Box<dyn Storage> {
    fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError> {
        (**self).commit(batch)
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        (**self).flush()
    }
}

/// Why a storage did not keep what it was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum StorageError {
    /// The operating system refused; what was committed before is unharmed.
    #[error("{words}")]
    Io {
        /// For programs.
        kind: io::ErrorKind,
        /// For people.
        words: String,
    },
    /// The storage itself refused.
    #[error("refused: {reason}")]
    Refused {
        /// For people.
        reason: String,
    },
    /// The event does not follow the last one that is stored.
    #[error("event {found} came where event {expected} belongs")]
    OutOfOrder {
        /// The next free place.
        expected: Seq,
        /// The place that the event has.
        found: Seq,
    },
    /// What is to be written would not be read back: it nests too deep, or it is an event with the
    /// type of another kind of line.
    #[error("{what} would not be read back")]
    Unreadable {
        /// `event` and its place, or `the header`.
        what: String,
    },
    /// An earlier failure left the storage in doubt. It takes nothing any more; what it has
    /// committed is found by opening it again.
    #[error("closed: {reason}")]
    Closed {
        /// The failure.
        reason: String,
    },
}

impl From<&io::Error> for StorageError {
    fn from(error: &io::Error) -> Self {
        Self::Io {
            kind: error.kind(),
            words: error.to_string(),
        }
    }
}

/// A storage that keeps nothing beyond the [`SessionLog`] that it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory(());

impl Storage for Memory {
    fn commit(&mut self, _: &[Event]) -> Result<(), StorageError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        Ok(())
    }
}

/// Events that were loaded are no session log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum LogError {
    /// Places are contiguous from 0.
    #[error("event {found} stands where event {expected} belongs")]
    OutOfOrder {
        /// The place that it should have.
        expected: Seq,
        /// The place that it has.
        found: Seq,
    },
}

/// An append-only list of events whose places are contiguous from 0, and its storage.
#[derive(Debug)]
pub struct SessionLog<S> {
    events: Vec<Event>,
    storage: S,
}

impl<S: Storage> SessionLog<S> {
    /// An empty log over an empty storage.
    pub fn new(storage: S) -> Self {
        Self {
            events: Vec::new(),
            storage,
        }
    }

    /// A log that goes on after `events`, which the storage holds already; none make a new log.
    ///
    /// # Errors
    /// When the events are not contiguous from 0.
    pub fn resume(storage: S, events: Vec<Event>) -> Result<Self, LogError> {
        match misplaced(0, &events) {
            Some((expected, found)) => Err(LogError::OutOfOrder { expected, found }),
            None => Ok(Self { events, storage }),
        }
    }

    /// Every event so far, each at the place that it names.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The place of the next event.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.events.len() as Seq
    }

    /// Makes every event so far durable.
    ///
    /// # Errors
    /// When the storage cannot say that they are. The log itself is as before.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        self.storage.flush()
    }

    /// Appends one batch, all of it or nothing, and returns the place of its first event. An empty
    /// batch changes nothing and gives the next place.
    ///
    /// # Errors
    /// When the storage refused; the log is then as before.
    pub fn commit(&mut self, time: Time, bodies: Vec<Body>) -> Result<Seq, StorageError> {
        let first = self.next_seq();
        if bodies.is_empty() {
            return Ok(first);
        }
        let before = self.events.len();
        let placed = (first..).zip(bodies);
        self.events
            .extend(placed.map(|(seq, body)| Event { seq, time, body }));
        let kept = self.storage.commit(&self.events[before..]);
        if kept.is_err() {
            self.events.truncate(before);
        }
        kept.map(|()| first)
    }
}

/// The first event that is not at its place when the first place is `next`: where it should be, and
/// where it says it is.
fn misplaced(next: Seq, events: &[Event]) -> Option<(Seq, Seq)> {
    let mut places = (next..).zip(events.iter().map(|event| event.seq));
    places.find(|(expected, found)| expected != found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sketch::{FIRST_TIME, insert, log, turn_start};
    use crate::event::Target::NextTurn;

    /// Refuses when told to, and remembers what it kept.
    #[derive(Default)]
    struct Fussy {
        kept: Vec<Vec<Seq>>,
        refuses: bool,
    }

    impl Storage for &mut Fussy {
        fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError> {
            if self.refuses {
                return Err(refused());
            }
            self.kept
                .push(batch.iter().map(|event| event.seq).collect());
            Ok(())
        }

        fn flush(&mut self) -> Result<(), StorageError> {
            Err(refused())
        }
    }

    fn refused() -> StorageError {
        let reason = "no".into();
        StorageError::Refused { reason }
    }

    fn places(log: &SessionLog<&mut Fussy>) -> Vec<Seq> {
        log.events().iter().map(|event| event.seq).collect()
    }

    #[test]
    fn places_are_contiguous_from_zero() {
        let mut storage = Fussy::default();
        let mut log = SessionLog::new(&mut storage);
        assert_eq!(log.commit(7, vec![turn_start(1)]), Ok(0));
        assert_eq!(log.commit(8, vec![turn_start(2), turn_start(3)]), Ok(1));
        assert_eq!(places(&log), [0, 1, 2]);
        assert_eq!(log.next_seq(), 3);
    }

    #[test]
    fn the_events_of_a_batch_bear_one_time() {
        let mut log = SessionLog::new(Memory::default());
        let batch = vec![insert(NextTurn, 0, &["a"]), turn_start(1)];
        log.commit(42, batch).unwrap();
        assert!(log.events().iter().all(|event| event.time == 42));
    }

    #[test]
    fn a_batch_reaches_the_storage_as_one() {
        let mut storage = Fussy::default();
        let mut log = SessionLog::new(&mut storage);
        log.commit(0, vec![turn_start(1)]).unwrap();
        log.commit(0, vec![turn_start(2), turn_start(3)]).unwrap();
        assert_eq!(storage.kept, [vec![0], vec![1, 2]]);
    }

    #[test]
    fn a_refused_batch_changes_nothing() {
        let mut storage = Fussy::default();
        let mut log = SessionLog::new(&mut storage);
        log.commit(0, vec![turn_start(1)]).unwrap();
        log.storage.refuses = true;
        let batch = vec![turn_start(2), turn_start(3)];
        assert_eq!(log.commit(0, batch), Err(refused()));
        assert_eq!(places(&log), [0]);
    }

    #[test]
    fn the_log_goes_on_after_a_refusal() {
        let mut storage = Fussy::default();
        let mut log = SessionLog::new(&mut storage);
        log.storage.refuses = true;
        log.commit(0, vec![turn_start(1)]).unwrap_err();
        log.storage.refuses = false;
        assert_eq!(log.commit(0, vec![turn_start(1)]), Ok(0));
    }

    #[test]
    fn an_empty_batch_is_not_stored() {
        let mut storage = Fussy::default();
        let mut log = SessionLog::new(&mut storage);
        assert_eq!(log.commit(0, vec![]), Ok(0));
        assert!(storage.kept.is_empty());
    }

    #[test]
    fn a_flush_that_fails_is_told() {
        let mut storage = Fussy::default();
        assert_eq!(SessionLog::new(&mut storage).flush(), Err(refused()));
    }

    #[test]
    fn a_resumed_log_goes_on_at_the_next_place() {
        let loaded = log([turn_start(1), turn_start(2)]);
        let mut log = SessionLog::resume(Memory::default(), loaded).unwrap();
        assert_eq!(log.commit(FIRST_TIME, vec![turn_start(3)]), Ok(2));
    }

    #[test]
    fn events_with_a_gap_are_no_log() {
        let mut loaded = log([turn_start(1), turn_start(2)]);
        loaded[1].seq = 5;
        let error = SessionLog::resume(Memory::default(), loaded).unwrap_err();
        let (expected, found) = (1, 5);
        assert_eq!(error, LogError::OutOfOrder { expected, found });
    }
}
