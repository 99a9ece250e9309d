//! Fork: a child session that begins with a prefix of its parent's log.
//!
//! The child inherits history, turn numbers and route, and none of what is pending. It goes on by
//! [`resume`](super::resume::resume), which marks the end of the prefix. Not here: identities and
//! files of sessions.

use thiserror::Error;

use crate::event::{Body, Event, Header, Seq, Turn};

/// A session that begins with a prefix of another's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The child's header: the parent's, with the length of the prefix, and without identity and
    /// time of creation, which are the caller's to give.
    pub header: Header,
    /// The inherited prefix.
    pub log: Vec<Event>,
}

/// A session cannot be forked there.
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
    /// The log is of a version that marks what was inherited in another way.
    #[error("cannot fork a log of version {version}: only 0 and 1 are written")]
    Version {
        /// The parent's version.
        version: u64,
    },
}

/// Forks a session after the first `length` events of its log; 0 inherits nothing.
///
/// # Errors
/// When the log is shorter, a turn is open there, or its version is not 0 or 1.
pub fn fork(parent: &Header, log: &[Event], length: usize) -> Result<Fork, ForkError> {
    if let Some(version @ 2..) = parent.version {
        return Err(ForkError::Version { version });
    }
    let Some(prefix) = log.get(..length) else {
        let available = log.len();
        return Err(ForkError::BeyondEnd { length, available });
    };
    if let Some((_, turn)) = open_turn(prefix) {
        return Err(ForkError::InsideTurn { length, turn });
    }
    let header = Header {
        version: parent.version,
        parent_session: parent.id.clone(),
        seed_length: Some(length as Seq),
        extra: parent.extra.clone(),
        ..Header::default()
    };
    Ok(Fork {
        header,
        log: prefix.to_vec(),
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

/// Where the fold of a session's inbox starts: after the inherited prefix in versions 0 and 1,
/// whose header names its length; at the first event in later ones, whose forks cancel on the log
/// what they do not take over. A header without version is read as version 0.
#[must_use]
pub fn fold_origin(header: &Header) -> Seq {
    match header.version {
        None | Some(0 | 1) => header.seed_length.unwrap_or(0),
        Some(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::resume::resume;
    use crate::agent::sketch::{insert, log, step_start, stopped, turn_end, turn_start};
    use crate::event::EndReason;
    use crate::event::Target::NextTurn;

    fn header() -> Header {
        Header {
            version: Some(1),
            id: Some("parent".into()),
            created_at: Some(5),
            ..Header::default()
        }
    }

    /// A header that names a prefix of 42 events.
    fn inheriting(version: Option<u64>) -> Header {
        Header {
            version,
            seed_length: Some(42),
            ..Header::default()
        }
    }

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
        let child = fork(&header(), &[], 0).unwrap();
        assert_eq!(child.header.seed_length, Some(0));
        assert!(child.log.is_empty());
    }

    #[test]
    fn a_child_begins_with_the_prefix() {
        let child = fork(&header(), &parent(), 3).unwrap();
        assert_eq!(child.log, parent()[..3]);
    }

    #[test]
    fn a_childs_header_names_its_parent_and_the_prefix() {
        let child = fork(&header(), &parent(), 3).unwrap().header;
        let named = Header {
            version: Some(1),
            parent_session: Some("parent".into()),
            seed_length: Some(3),
            ..Header::default()
        };
        assert_eq!(child, named);
    }

    #[test]
    fn later_versions_are_not_forked() {
        let refused = fork(&inheriting(Some(2)), &[], 0);
        assert_eq!(refused, Err(ForkError::Version { version: 2 }));
    }

    #[test]
    fn a_turn_that_ended_in_any_way_is_a_boundary() {
        for reason in [EndReason::Blocked, EndReason::Interrupted, stopped()] {
            let log = log([turn_start(1), turn_end(1, reason)]);
            assert!(fork(&header(), &log, 2).is_ok());
        }
    }

    #[test]
    fn an_open_turn_is_no_boundary() {
        let inside = |length| ForkError::InsideTurn { length, turn: 2 };
        assert_eq!(fork(&header(), &parent(), 4), Err(inside(4)));
        assert_eq!(fork(&header(), &parent(), 5), Err(inside(5)));
    }

    #[test]
    fn nothing_beyond_the_end_is_a_boundary() {
        let (length, available) = (6, 5);
        let beyond = ForkError::BeyondEnd { length, available };
        assert_eq!(fork(&header(), &parent(), 6), Err(beyond));
    }

    #[test]
    fn the_latest_boundary_includes_what_stands_between_turns() {
        assert_eq!(latest_boundary(&parent()), 3);
        assert_eq!(latest_boundary(&parent()[..3]), 3);
        assert_eq!(latest_boundary(&[]), 0);
    }

    #[test]
    fn a_child_starts_with_nothing_pending_and_goes_on_counting_turns() {
        let child = fork(&header(), &parent(), 3).unwrap();
        let resumed = resume(child.log, fold_origin(&child.header)).unwrap();
        assert!(resumed.origin.inbox.is_empty());
        assert_eq!(resumed.origin.last_turn, 1);
    }

    #[test]
    fn versions_0_and_1_fold_from_the_end_of_the_prefix() {
        assert_eq!(fold_origin(&inheriting(Some(0))), 42);
        assert_eq!(fold_origin(&inheriting(Some(1))), 42);
        assert_eq!(fold_origin(&inheriting(None)), 42);
    }

    #[test]
    fn a_session_that_inherited_nothing_folds_from_the_start() {
        assert_eq!(fold_origin(&header()), 0);
    }

    #[test]
    fn later_versions_fold_from_the_start() {
        assert_eq!(fold_origin(&inheriting(Some(2))), 0);
    }
}
