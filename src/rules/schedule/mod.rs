//! Rules about what was asked, and when.
//!
//! | file | rules about |
//! | --- | --- |
//! | `send` | where a message goes |
//! | `later` | what a claim leaves where it is |
//! | `wake` | what starts the driver |
//! | `stranded` | advice about what nobody will wake |
//! | `cancel` | stops: of a turn, of nothing, by a reject |
//! | `clearing` | what a cancel does with what is pending |
//! | `rest` | where an agent comes to rest |
//! | `resume` | what outlives the process |
//!
//! Not here: logs alone, the live stream as such.

mod cancel;
mod clearing;
mod later;
mod rest;
mod resume;
mod send;
mod stranded;
mod wake;

pub(super) use cancel::{CancelClosesBalanced, IdleCancelIsHarmless, RejectLeavesTheBatchRemoved};
pub(super) use clearing::CancelKeepsOrClears;
pub(super) use later::InsertAfterClaimStaysPending;
pub(super) use rest::{
    AtMostOneDriver, FailedAppendChangesNothing, IdleWhenQuiet, LateSubscriberSeesTheSame,
    ReplayEqualsLive,
};
pub(super) use resume::ResumeEqualsNeverCrashed;
pub(super) use send::{ClassifiedBeforeInsertion, LateWakeGoesToNextTurn, SendGoesToTheEnd};
pub(super) use stranded::StrandedWake;
pub(super) use wake::{NoWakeWithoutAsking, WakeIsNeverLostInConvergence, WakeOpensATurn};
