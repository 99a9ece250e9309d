//! Resume: from a loaded log to where a machine goes on.
//!
//! The log is repaired, the end of inherited history is marked, and what the loop needs to know is
//! folded out of it. Not here: loading and storing; whoever stores appends [`Resumed::added`].

use std::sync::Arc;

use crate::event::{Body, Event, Extra, Seq, Turn};

use super::inbox::{FoldError, Inbox};
use super::machine::{LoggedRoute, Origin};
use super::repair::{Repair, repair_from};

/// A log that is ready to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The log as loaded, the closers of the repair, and a `session/end-seed` at the end.
    pub log: Vec<Event>,
    /// Where the machine goes on. What is pending starts nothing by itself.
    pub origin: Origin,
    /// What the repair closed and what was lost.
    pub repair: Repair,
    loaded: usize,
}

impl Resumed {
    /// The events that the resume added to the log, to be stored before anything else. Empty when
    /// the log was balanced and ended in `session/end-seed`.
    #[must_use]
    pub fn added(&self) -> &[Event] {
        &self.log[self.loaded..]
    }
}

/// Resumes a log whose inbox folds from `fold_origin`, 0 unless it inherited a prefix. An empty log
/// gets its `session/end-seed`, too.
///
/// # Errors
/// When a splice does not fit what the events before it built; such a log cannot go on.
pub fn resume(mut log: Vec<Event>, fold_origin: Seq) -> Result<Resumed, FoldError> {
    let own = log.iter().filter(|event| event.seq >= fold_origin);
    let inbox = Inbox::fold(own)?;
    let repair = repair_from(fold_origin, &log);
    let loaded = log.len();
    log.extend(repair.closers.iter().cloned());
    mark_end_of_seed(&mut log);
    let origin = Origin {
        inbox,
        last_turn: last_turn(&log),
        route: logged_route(&log),
    };
    Ok(Resumed {
        log,
        origin,
        repair,
        loaded,
    })
}

/// Appends `session/end-seed` unless the log ends in one.
fn mark_end_of_seed(log: &mut Vec<Event>) {
    let last = log.last();
    if matches!(last, Some(event) if matches!(event.body, Body::EndSeed(_))) {
        return;
    }
    let (seq, time) = last.map_or((0, 0), |event| (event.seq.saturating_add(1), event.time));
    log.push(Event {
        seq,
        time,
        body: Body::EndSeed(Extra::NONE),
    });
}

/// Number of the last `turn/start` anywhere, inherited ones included; 0 for none.
fn last_turn(log: &[Event]) -> Turn {
    let started = log.iter().rev().find_map(|event| match &event.body {
        Body::TurnStart(started) => Some(started.turn),
        _ => None,
    });
    started.unwrap_or(0)
}

/// The last header and context that the log holds, of an earlier loop.
fn logged_route(log: &[Event]) -> LoggedRoute {
    let header = log.iter().rev().find_map(|event| match &event.body {
        Body::RequestHeader(logged) => Some(Arc::new(logged.header.clone())),
        _ => None,
    });
    let context = log.iter().rev().find_map(|event| match &event.body {
        Body::RequestContext(context) => Some(context.clone()),
        _ => None,
    });
    LoggedRoute {
        header,
        context,
        own: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::inbox::Misfit;
    use crate::agent::sketch::{
        FIRST_TIME, claim, context, header, insert, log, turn_end, turn_start,
    };
    use crate::event::Target::NextTurn;
    use crate::event::{EndReason, RequestReason};

    fn end_seed() -> Body {
        Body::EndSeed(Extra::NONE)
    }

    fn resumed(bodies: impl IntoIterator<Item = Body>) -> Resumed {
        resume(log(bodies), 0).unwrap()
    }

    fn added(bodies: impl IntoIterator<Item = Body>) -> Vec<Body> {
        let resumed = resumed(bodies);
        resumed
            .added()
            .iter()
            .map(|event| event.body.clone())
            .collect()
    }

    #[test]
    fn a_balanced_log_is_marked_once() {
        assert_eq!(added([]), [end_seed()]);
        let closed = [turn_start(1), turn_end(1, EndReason::Blocked)];
        assert_eq!(added(closed), [end_seed()]);
    }

    #[test]
    fn a_log_that_ends_in_a_mark_is_not_marked_again() {
        assert!(added([end_seed()]).is_empty());
    }

    #[test]
    fn a_log_that_went_on_after_its_mark_is_marked_again() {
        let again = [end_seed(), insert(NextTurn, 0, &["a"])];
        assert_eq!(added(again), [end_seed()]);
    }

    #[test]
    fn closers_stand_before_the_mark() {
        let interrupted = turn_end(1, EndReason::Interrupted);
        assert_eq!(added([turn_start(1)]), [interrupted, end_seed()]);
    }

    #[test]
    fn the_mark_goes_on_with_the_sequence_at_the_last_time() {
        let resumed = resumed([turn_start(1)]);
        let mark = resumed.log.last().unwrap();
        assert_eq!((mark.seq, mark.time), (2, FIRST_TIME));
    }

    #[test]
    fn turn_numbers_go_on_from_the_last_turn_that_started() {
        let closed = [turn_start(7), turn_end(7, EndReason::Completed)];
        assert_eq!(resumed(closed).origin.last_turn, 7);
        assert_eq!(resumed([turn_start(8)]).origin.last_turn, 8);
        assert_eq!(resumed([]).origin.last_turn, 0);
    }

    #[test]
    fn what_is_pending_survives() {
        let origin = resumed([insert(NextTurn, 0, &["a", "b"])]).origin;
        let ids: Vec<_> = origin
            .inbox
            .list(NextTurn)
            .iter()
            .map(|m| m.id.as_str())
            .collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn what_was_claimed_does_not_come_back() {
        let crash = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
        ];
        assert!(resumed(crash).origin.inbox.is_empty());
    }

    #[test]
    fn the_last_route_on_record_is_not_the_loops_own() {
        let route = resumed([
            header("old", RequestReason::Initial),
            Body::RequestContext(context("old")),
            header("new", RequestReason::Change),
            Body::RequestContext(context("new")),
        ])
        .origin
        .route;
        let logged = route.header.unwrap();
        assert_eq!(logged["model"], "new");
        assert_eq!(route.context, Some(context("new")));
        assert!(!route.own);
    }

    #[test]
    fn a_log_without_requests_names_no_route() {
        assert_eq!(
            resumed([turn_start(1)]).origin.route,
            LoggedRoute::default()
        );
    }

    #[test]
    fn resuming_twice_changes_nothing() {
        let once = resumed([turn_start(1)]);
        let twice = resume(once.log.clone(), 0).unwrap();
        assert_eq!(twice.log, once.log);
        assert!(twice.repair.is_empty());
    }

    #[test]
    fn a_splice_that_does_not_fit_is_named() {
        let misfit = Misfit::OutOfRange {
            target: NextTurn,
            start: 0,
            removed: 1,
            length: 0,
        };
        let broken = log([turn_start(1), claim(NextTurn, 1)]);
        let error = resume(broken, 0).unwrap_err();
        assert_eq!(error, FoldError::Misfit { seq: 1, misfit });
    }
}
