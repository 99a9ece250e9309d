//! Rules about sequence numbers and brackets: turns, steps, what the model says, tools.
//!
//! Not here: the inbox, live events, schedules.

mod ends;
mod model;
mod numbers;
mod seeds;
mod steps;
mod tools;

pub(super) use ends::{AnswerOwed, MaxTokensSticks, TurnEndHasAReason, TurnEndsOnce};
pub(super) use model::{
    AssistantMessageCitesItsChunks, InterruptedMessageOnlyWhenAborted, ModelEventsInsideTheirStep,
};
pub(super) use numbers::{SeqIsContiguous, TurnNumbersFollow, TurnsNeverOverlap};
pub(super) use seeds::{InterruptedOnlyByRepair, RepairIsIdempotent, SeedBoundaryOnce};
pub(super) use steps::{StepClosesBeforeTurn, StepNumbersFollow, StepsNestInTurns};
pub(super) use tools::{
    ContextsAfterResults, NoDanglingToolCall, ToolResultsInModelOrder, ToolResultsPair,
};
