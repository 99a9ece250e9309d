//! Rules about what was asked, and when.
//!
//! | file | rules about |
//! | --- | --- |
//! | `send` | where a message goes, and what a claim leaves |
//! | `wake` | what starts the driver |
//! | `stranded` | advice about what nobody will wake |
//! | `cancel` | stops: of a turn, of nothing, with and without clearing |
//! | `rest` | where an agent comes to rest |
//! | `resume` | what outlives the process |
//!
//! Not here: logs alone, the live stream as such.

mod cancel;
mod rest;
mod resume;
mod send;
mod stranded;
mod wake;

pub(super) use cancel::{
    CancelClosesBalanced, CancelKeepsOrClears, IdleCancelIsHarmless, RejectLeavesTheBatchRemoved,
};
pub(super) use rest::{
    AtMostOneDriver, FailedAppendChangesNothing, IdleWhenQuiet, LateSubscriberSeesTheSame,
    ReplayEqualsLive,
};
pub(super) use resume::ResumeEqualsNeverCrashed;
pub(super) use send::{
    ClassifiedBeforeInsertion, InsertAfterClaimStaysPending, LateWakeGoesToNextTurn,
    SendGoesToTheEnd,
};
pub(super) use stranded::StrandedWake;
pub(super) use wake::{NoWakeWithoutAsking, WakeIsNeverLostInConvergence, WakeOpensATurn};
