//! Rules about the inbox as the log holds it: splices, claims, what enters and what is lost.
//!
//! Not here: live events and decisions; what was asked for.

mod boundary;
mod fates;
mod places;
mod removals;
mod splices;
mod takes;

pub(super) use boundary::{ClaimIsAtomic, EnteredAfterStepStart, OneClaimPerBoundary};
pub(super) use fates::{ClaimedNeverReturns, ConsumedWorkAccounts, ForkStartsEmpty};
pub(super) use places::{ClaimBeforeItsStep, ClaimInsideAnOpenTurn, TurnStartBeforeClaim};
pub(super) use removals::{ClaimIsAPureDeletion, RemovalSaysCanceled};
pub(super) use splices::{PendingIdentityIsUnique, SpliceInRange, SpliceIsNormalised};
pub(super) use takes::{ClaimTakesAllOfNextStep, ClaimTakesOneNextTurn, ListOrderIsKept};
