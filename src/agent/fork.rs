//! Fork: a child session that begins with a prefix of its parent's log.
//!
//! The child inherits history, turn numbers and route, and none of what is pending. It goes on by
//! [`resume`](super::resume::resume), which marks the end of the prefix. Not here: identities and
//! files of sessions.

use thiserror::Error;

use crate::event::{Body, Event, Seq, Turn};

/// A log that begins with another's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The inherited prefix.
    pub log: Vec<Event>,
    /// Its length, for the child's header.
    pub seed_length: Seq,
}

/// A log cannot be forked there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ForkError {
    /// The log is shorter.
    #[error("cannot fork after {length} events of a log of {available}")]
    BeyondEnd {
        /// How many events were to be inherited.
        length: usize,
        /// How many there are.
        available: usize,
    },
    /// A turn is open there.
    #[error("cannot fork after {length} events: turn {turn} is open there")]
    InsideTurn {
        /// How many events were to be inherited.
        length: usize,
        /// The open turn.
        turn: Turn,
    },
}

/// Forks a log after its first `length` events; 0 inherits nothing.
///
/// # Errors
/// When the log is shorter, or a turn is open there.
pub fn fork(parent: &[Event], length: usize) -> Result<Fork, ForkError> {
    let Some(prefix) = parent.get(..length) else {
        let available = parent.len();
        return Err(ForkError::BeyondEnd { length, available });
    };
    if let Some((_, turn)) = open_turn(prefix) {
        return Err(ForkError::InsideTurn { length, turn });
    }
    Ok(Fork {
        log: prefix.to_vec(),
        seed_length: length as Seq,
    })
}

/// The longest prefix after which a log can be forked: all of it, or what stands before its open
/// turn.
#[must_use]
pub fn latest_boundary(log: &[Event]) -> usize {
    open_turn(log).map_or(log.len(), |(place, _)| place)
}

/// The turn that a log leaves open, and where it started.
fn open_turn(log: &[Event]) -> Option<(usize, Turn)> {
    let last = log.iter().enumerate().rev().find_map(|(place, event)| {
        let opened = match &event.body {
            Body::TurnStart(started) => Some((place, started.turn)),
            Body::TurnEnd(_) => None,
            _ => return None,
        };
        Some(opened)
    });
    last.flatten()
}

/// Where the fold of a log's inbox starts: after the inherited prefix in versions 0 and 1, which
/// name its length in their header; at the first event in later ones, whose forks cancel on the
/// log what they do not take over.
#[must_use]
pub fn fold_origin(version: u32, seed_length: Option<Seq>) -> Seq {
    match version {
        0 | 1 => seed_length.unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::resume::resume;
    use crate::agent::sketch::{insert, log, step_start, stopped, turn_end, turn_start};
    use crate::event::EndReason;
    use crate::event::Target::NextTurn;

    fn parent() -> Vec<Event> {
        log([
            turn_start(1),
            turn_end(1, EndReason::Completed),
            insert(NextTurn, 0, &["between turns"]),
            turn_start(2),
            step_start(2, 1),
        ])
    }

    #[test]
    fn an_empty_log_can_be_forked() {
        let child = fork(&[], 0).unwrap();
        assert_eq!(child.seed_length, 0);
        assert!(child.log.is_empty());
    }

    #[test]
    fn a_child_begins_with_the_prefix() {
        let child = fork(&parent(), 3).unwrap();
        assert_eq!(child.log, parent()[..3]);
        assert_eq!(child.seed_length, 3);
    }

    #[test]
    fn a_turn_that_ended_in_any_way_is_a_boundary() {
        for reason in [EndReason::Blocked, EndReason::Interrupted, stopped()] {
            let log = log([turn_start(1), turn_end(1, reason)]);
            assert!(fork(&log, 2).is_ok());
        }
    }

    #[test]
    fn an_open_turn_is_no_boundary() {
        let inside = |length| ForkError::InsideTurn { length, turn: 2 };
        assert_eq!(fork(&parent(), 4), Err(inside(4)));
        assert_eq!(fork(&parent(), 5), Err(inside(5)));
    }

    #[test]
    fn nothing_beyond_the_end_is_a_boundary() {
        let (length, available) = (6, 5);
        let beyond = ForkError::BeyondEnd { length, available };
        assert_eq!(fork(&parent(), 6), Err(beyond));
    }

    #[test]
    fn the_latest_boundary_includes_what_stands_between_turns() {
        assert_eq!(latest_boundary(&parent()), 3);
        assert_eq!(latest_boundary(&parent()[..3]), 3);
        assert_eq!(latest_boundary(&[]), 0);
    }

    #[test]
    fn a_child_starts_with_nothing_pending_and_goes_on_counting_turns() {
        let child = fork(&parent(), 3).unwrap();
        let origin = fold_origin(1, Some(child.seed_length));
        let resumed = resume(child.log, origin).unwrap();
        assert!(resumed.origin.inbox.is_empty());
        assert_eq!(resumed.origin.last_turn, 1);
    }

    #[test]
    fn versions_0_and_1_fold_from_the_end_of_the_prefix() {
        assert_eq!(fold_origin(0, Some(42)), 42);
        assert_eq!(fold_origin(1, Some(42)), 42);
        assert_eq!(fold_origin(1, None), 0);
    }

    #[test]
    fn later_versions_fold_from_the_start() {
        assert_eq!(fold_origin(2, Some(42)), 0);
    }
}
