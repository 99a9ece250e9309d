//! Rules about sequence numbers and brackets: turns, steps, what the model says, tools.
//!
//! Not here: the inbox, live events, schedules.

mod numbers;

pub(super) use numbers::{SeqIsContiguous, TurnNumbersFollow, TurnsNeverOverlap};
