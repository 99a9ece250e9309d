//! Short ways to write records, for the examples beside the rules.
//!
//! Sequence numbers are left out of them: an example is numbered when it is judged, unless
//! [`at_seq`] says otherwise. Not here: the examples; each stands in its rule.

use std::num::NonZeroU32;

use crate::event::{
    Body, CancelCause, EndReason, Event, Extra, Failure, InboxSpliced, Live, Message, Op, Outcome,
    Record, Seq, Status, Step, StepMark, Surface, Target, Turn, TurnEnded, TurnStarted,
    UserMessage, UserSaid,
};

pub use super::example_live::*;

/// Stands for "no place of its own": [`super::numbered`] gives the place.
const UNNUMBERED: Seq = Seq::MAX;

/// A durable event of that body.
#[must_use]
pub fn durable(body: Body) -> Record {
    Record::Durable(Event {
        seq: UNNUMBERED,
        time: 0,
        body,
    })
}

/// The same event at that place.
#[must_use]
pub fn at_seq(seq: Seq, record: Record) -> Record {
    match record {
        Record::Durable(event) => Record::Durable(Event { seq, ..event }),
        other => other,
    }
}

/// Numbers the events that have no place of their own by position.
#[must_use]
pub fn numbered(records: Vec<Record>) -> Vec<Record> {
    let mut next = 0;
    let number = |record| match record {
        Record::Durable(event) => {
            let seq = if event.seq == UNNUMBERED {
                next
            } else {
                event.seq
            };
            next = seq + 1;
            Record::Durable(Event { seq, ..event })
        }
        other => other,
    };
    records.into_iter().map(number).collect()
}

/// `turn/start`.
#[must_use]
pub fn turn_start(turn: Turn) -> Record {
    durable(Body::TurnStart(TurnStarted {
        turn,
        extra: Extra::NONE,
    }))
}

/// `turn/end` of that kind: `completed`, `blocked`, `max-tokens`, `interrupted`, `aborted` (by the
/// user), anything else is an error in that word.
#[must_use]
pub fn turn_end(turn: Turn, kind: &str) -> Record {
    let reason = match kind {
        "completed" => EndReason::Completed,
        "blocked" => EndReason::Blocked,
        "max-tokens" => EndReason::MaxTokens,
        "interrupted" => EndReason::Interrupted,
        "aborted" => EndReason::aborted(CancelCause::User),
        words => EndReason::Error {
            error: Failure::unknown(words),
        },
    };
    durable(Body::TurnEnd(TurnEnded {
        turn,
        reason,
        extra: Extra::NONE,
    }))
}

/// `step/start`.
#[must_use]
pub fn step_start(turn: Turn, step: Step) -> Record {
    durable(Body::StepStart(StepMark {
        turn,
        step,
        extra: Extra::NONE,
    }))
}

/// `step/end`.
#[must_use]
pub fn step_end(turn: Turn, step: Step) -> Record {
    durable(Body::StepEnd(StepMark {
        turn,
        step,
        extra: Extra::NONE,
    }))
}

/// A message of that identity.
#[must_use]
pub fn message(id: &str) -> Message {
    UserMessage::text(id, id)
}

/// A splice: where, how many go, who comes, and whether it says `canceled`.
#[must_use]
pub fn splice(
    target: Target,
    start: u32,
    removed: u32,
    inserted: &[&str],
    canceled: bool,
) -> Record {
    durable(Body::InboxSpliced(InboxSpliced {
        target,
        start,
        removed_count: NonZeroU32::new(removed),
        inserted: inserted.iter().map(|id| message(id)).collect(),
        outcome: canceled.then_some(Outcome::Canceled),
        extra: Extra::NONE,
    }))
}

/// An insertion at that place.
#[must_use]
pub fn insert(target: Target, start: u32, ids: &[&str]) -> Record {
    splice(target, start, 0, ids, false)
}

/// A claim of so many, from the head of a list.
#[must_use]
pub fn claim(target: Target, count: u32) -> Record {
    splice(target, 0, count, &[], false)
}

/// A cancellation of so many, at that place.
#[must_use]
pub fn cancel(target: Target, start: u32, count: u32) -> Record {
    splice(target, start, count, &[], true)
}

/// `user/message`.
#[must_use]
pub fn user_message(id: &str) -> Record {
    durable(Body::UserMessage(UserSaid {
        message: message(id),
        surface: Surface::append(),
    }))
}

/// The live event that a message became pending.
#[must_use]
pub fn inserted(id: &str) -> Record {
    Record::Live(Live::Inserted {
        message: message(id),
    })
}

/// The live event that a message was claimed.
#[must_use]
pub fn claimed(id: &str, turn: Turn) -> Record {
    Record::Live(Live::Claimed {
        message: message(id),
        turn,
    })
}

/// The live event that a message was discarded.
#[must_use]
pub fn discarded(id: &str) -> Record {
    Record::Live(Live::Discarded {
        message: message(id),
    })
}

/// The live event that the status changed.
#[must_use]
pub fn status(status: Status) -> Record {
    Record::Live(Live::Status { status })
}

/// A producer asks.
#[must_use]
pub fn act(op: Op) -> Record {
    Record::Act {
        by: "user".into(),
        op,
    }
}
