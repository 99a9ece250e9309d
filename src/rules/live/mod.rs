//! Rules about live events and the pre-step decision.
//!
//! | file | rules about |
//! | --- | --- |
//! | `notices` | one live event for every message that a splice moves |
//! | `stream` | the live stream as a whole, and who observes it |
//! | `decision` | what is decided: when it is asked, and of what |
//! | `entry` | what enters by a decision |
//! | `close` | decisions that open no step |
//! | `turn` | errors, stops and tools inside a turn |
//! | `driver` | status, and which turn follows which |
//! | `progress` | a helper: how a turn has ended for the model |
//!
//! Not here: logs alone, what was asked and when.

mod close;
mod decision;
mod driver;
mod entry;
mod notices;
mod progress;
mod stream;
mod turn;

pub(super) use close::{BlockedOrEmptyOpensNoStep, LaterEmptyEntry};
pub(super) use decision::{
    ClaimedIsExclusive, DecisionAfterAbortIsIgnored, DecisionSeesTheClaimedBatch,
    OneDecisionPerClaim, ProposalNamesTheNextStep,
};
pub(super) use driver::{DrainsWithoutIdle, NoTurnAfterAStop, StatusAlternates};
pub(super) use entry::{ClaimedEntersOrEnds, EnteredIsTheFinalDecision, WaterfallNests};
pub(super) use notices::{
    ClaimedOncePerMessage, DiscardedBeforeInserted, DiscardedOncePerRemoval,
    InsertedOncePerInsertion,
};
pub(super) use stream::{
    DurableBeforeLive, EveryMessageHasOneFate, ListenerFailureIsContained, LivePayloadsAreMinimal,
    NoRetiredExtensionPoint, ObserverSeesTheListBefore,
};
pub(super) use turn::{
    AbortedIsSilent, ErrorBeforeTurnEnd, NothingNewAfterAbort, ToolPoolRespected,
    TurnStoppingOnlyAtRest,
};
