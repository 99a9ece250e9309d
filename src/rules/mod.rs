//! The rules: each one checkable sentence, an automaton fed one fact at a time.
//!
//! A rule keeps what it needs of the facts so far, in memory bounded by what is open; what all
//! rules need is folded once, in [`Situation`]. A violation is a value with its witnesses.
//! [`Judge`] is all rules together: `Clone + Eq + Hash`, so it can be part of a model's state.
//!
//! | folder | rules about |
//! | --- | --- |
//! | `bracket` | sequence numbers, turns, steps, the model's events and tools |
//! | `inbox` | splices, claims, what enters |
//! | `live` | live events and the pre-step decision |
//! | `schedule` | what was asked, and when |
//!
//! Not here: reading files, running anything. This layer imports `event` alone.
//!
//! ```
//! use prestep::rules::{Judge, RULES, Verdict};
//! use prestep::rules::example::{numbered, turn_end, turn_start};
//!
//! let mut judge = Judge::default();
//! let mut verdict = Verdict::new(RULES.len());
//! for record in numbered(vec![turn_start(1), turn_end(1, "completed"), turn_start(3)]) {
//!     judge.feed_record(&record, &mut verdict);
//! }
//! let broken: Vec<_> = verdict.violations.iter().map(|found| found.rule.about().name).collect();
//! assert_eq!(broken, ["turn-numbers-follow"]);
//! ```

mod boundary;
mod bracket;
pub mod example;
mod example_live;
mod fact;
mod finding;
mod inbox;
pub mod leniency;
mod live;
mod notices;
mod schedule;
mod situation;

use std::fmt::Debug;
use std::hash::Hash;

use crate::event::{Record, Seq};

pub use boundary::Boundary;
pub use fact::{
    EndKind, Fact, FinishKind, Ids, Kind, Kinds, Oddity, OnSurface, Place, Said, Seen, Spliced,
};
pub use finding::{Mark, Report, RuleId, Verdict, Violation};
pub use notices::{Notice, NoticeKind, Notices, Owing};
pub use situation::{Doing, Life, OpenCall, OpenStep, OpenTurn, Pending, Publication, Situation};

/// What a rule needs to be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A durable log alone, from anywhere.
    Log,
    /// Live events and decision points as well, as a run records them.
    Live,
    /// The schedule as well: what was asked, and when.
    #[default]
    Schedule,
}

/// What there is to say about a rule.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name: what is printed, and what trace files are named after.
    pub name: &'static str,
    /// The sentence that it checks.
    pub sentence: &'static str,
    /// What it needs.
    pub scope: Scope,
    /// Whether it advises only: the contract allows what it reports.
    pub advice: bool,
    /// Whether it has something to say only about logs with inbox events.
    pub needs_inbox: bool,
    /// The facts that it is fed.
    pub reads: Kinds,
    /// A shortest log that it accepts, in which its situation comes up.
    pub accepted: fn() -> Vec<Record>,
    /// A shortest log that it refuses.
    pub refused: fn() -> Vec<Record>,
}

/// One rule.
trait Rule: Clone + Debug + Default + Eq + Hash {
    /// See [`About`].
    const ABOUT: About;

    /// How many events of both examples are an inherited prefix.
    const EXAMPLES_INHERIT: Seq = 0;

    /// Judges a fact. `situation` is as it was before the fact.
    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>);

    /// Judges the end of everything, where the rule has something to say about it.
    fn end(&mut self, _situation: &Situation, _report: &mut Report<'_>) {}
}

/// Makes [`Judge`] and [`RULES`] from one list.
macro_rules! rules {
    ($($field:ident: $rule:ty,)+) => {
        /// All rules together.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Judge {
            /// How much is known of what is judged; rules that need more are left out.
            scope: Scope,
            situation: Situation,
            next: Mark,
            $($field: $rule,)+
        }

        /// Every rule, in the order of the catalogue.
        pub const RULES: &[About] = &[$(<$rule as Rule>::ABOUT,)+];

        /// How many events of each rule's examples are an inherited prefix.
        const INHERITED: &[Seq] = &[$(<$rule as Rule>::EXAMPLES_INHERIT,)+];

        impl Judge {
            /// Judges one fact.
            pub fn feed(&mut self, seen: &Seen<'_>, verdict: &mut Verdict) {
                let kind = seen.fact.kind();
                let mut rule = 0;
                $(
                    let about = <$rule as Rule>::ABOUT;
                    if about.scope <= self.scope && about.reads.contains(kind) {
                        let mut report = Report { rule: RuleId(rule), at: seen.mark, verdict };
                        self.$field.feed(&self.situation, seen, &mut report);
                    }
                    rule += 1;
                )+
                let _ = rule;
                self.situation.follow(seen);
            }

            /// Judges the end of everything. Nothing may be fed afterwards.
            pub fn end(&mut self, verdict: &mut Verdict) {
                let at = self.next;
                let mut rule = 0;
                $(
                    if <$rule as Rule>::ABOUT.scope <= self.scope {
                        let mut report = Report { rule: RuleId(rule), at, verdict };
                        self.$field.end(&self.situation, &mut report);
                    }
                    rule += 1;
                )+
                let _ = rule;
            }
        }
    };
}

rules! {
    seq_is_contiguous: bracket::SeqIsContiguous,
    turns_never_overlap: bracket::TurnsNeverOverlap,
    turn_numbers_follow: bracket::TurnNumbersFollow,
    steps_nest_in_turns: bracket::StepsNestInTurns,
    step_numbers_follow: bracket::StepNumbersFollow,
    step_closes_before_turn: bracket::StepClosesBeforeTurn,
    turn_ends_once: bracket::TurnEndsOnce,
    turn_end_has_a_reason: bracket::TurnEndHasAReason,
    max_tokens_sticks: bracket::MaxTokensSticks,
    answer_owed: bracket::AnswerOwed,
    model_events_inside_their_step: bracket::ModelEventsInsideTheirStep,
    assistant_message_cites_its_chunks: bracket::AssistantMessageCitesItsChunks,
    tool_results_pair: bracket::ToolResultsPair,
    tool_results_in_model_order: bracket::ToolResultsInModelOrder,
    no_dangling_tool_call: bracket::NoDanglingToolCall,
    contexts_after_results: bracket::ContextsAfterResults,
    interrupted_message_only_when_aborted: bracket::InterruptedMessageOnlyWhenAborted,
    interrupted_only_by_repair: bracket::InterruptedOnlyByRepair,
    seed_boundary_once: bracket::SeedBoundaryOnce,
    repair_is_idempotent: bracket::RepairIsIdempotent,
    splice_in_range: inbox::SpliceInRange,
    splice_is_normalised: inbox::SpliceIsNormalised,
    pending_identity_is_unique: inbox::PendingIdentityIsUnique,
    removal_says_canceled: inbox::RemovalSaysCanceled,
    claim_is_a_pure_deletion: inbox::ClaimIsAPureDeletion,
    claim_inside_an_open_turn: inbox::ClaimInsideAnOpenTurn,
    claim_before_its_step: inbox::ClaimBeforeItsStep,
    turn_start_before_claim: inbox::TurnStartBeforeClaim,
    claim_takes_all_of_next_step: inbox::ClaimTakesAllOfNextStep,
    claim_takes_one_next_turn: inbox::ClaimTakesOneNextTurn,
    claim_is_atomic: inbox::ClaimIsAtomic,
    one_claim_per_boundary: inbox::OneClaimPerBoundary,
    claimed_never_returns: inbox::ClaimedNeverReturns,
    entered_after_step_start: inbox::EnteredAfterStepStart,
    fork_starts_empty: inbox::ForkStartsEmpty,
    list_order_is_kept: inbox::ListOrderIsKept,
    consumed_work_accounts: inbox::ConsumedWorkAccounts,
    durable_before_live: live::DurableBeforeLive,
    observer_sees_the_list_before: live::ObserverSeesTheListBefore,
    inserted_once_per_insertion: live::InsertedOncePerInsertion,
    discarded_once_per_removal: live::DiscardedOncePerRemoval,
    discarded_before_inserted: live::DiscardedBeforeInserted,
    claimed_once_per_message: live::ClaimedOncePerMessage,
    live_payloads_are_minimal: live::LivePayloadsAreMinimal,
    blocked_or_empty_opens_no_step: live::BlockedOrEmptyOpensNoStep,
    claimed_enters_or_ends: live::ClaimedEntersOrEnds,
    every_message_has_one_fate: live::EveryMessageHasOneFate,
    one_decision_per_claim: live::OneDecisionPerClaim,
    decision_sees_the_claimed_batch: live::DecisionSeesTheClaimedBatch,
    proposal_names_the_next_step: live::ProposalNamesTheNextStep,
    claimed_is_exclusive: live::ClaimedIsExclusive,
    decision_after_abort_is_ignored: live::DecisionAfterAbortIsIgnored,
    later_empty_entry: live::LaterEmptyEntry,
    waterfall_nests: live::WaterfallNests,
    entered_is_the_final_decision: live::EnteredIsTheFinalDecision,
    no_retired_extension_point: live::NoRetiredExtensionPoint,
    status_alternates: live::StatusAlternates,
    error_before_turn_end: live::ErrorBeforeTurnEnd,
    aborted_is_silent: live::AbortedIsSilent,
    turn_stopping_only_at_rest: live::TurnStoppingOnlyAtRest,
    drains_without_idle: live::DrainsWithoutIdle,
    no_turn_after_a_stop: live::NoTurnAfterAStop,
    nothing_new_after_abort: live::NothingNewAfterAbort,
    tool_pool_respected: live::ToolPoolRespected,
    listener_failure_is_contained: live::ListenerFailureIsContained,
    insert_after_claim_stays_pending: schedule::InsertAfterClaimStaysPending,
    send_goes_to_the_end: schedule::SendGoesToTheEnd,
    wake_opens_a_turn: schedule::WakeOpensATurn,
    late_wake_goes_to_next_turn: schedule::LateWakeGoesToNextTurn,
    classified_before_insertion: schedule::ClassifiedBeforeInsertion,
    reject_leaves_the_batch_removed: schedule::RejectLeavesTheBatchRemoved,
    cancel_closes_balanced: schedule::CancelClosesBalanced,
    cancel_keeps_or_clears: schedule::CancelKeepsOrClears,
    idle_cancel_is_harmless: schedule::IdleCancelIsHarmless,
    wake_is_never_lost_in_convergence: schedule::WakeIsNeverLostInConvergence,
    no_wake_without_asking: schedule::NoWakeWithoutAsking,
    at_most_one_driver: schedule::AtMostOneDriver,
    idle_when_quiet: schedule::IdleWhenQuiet,
    failed_append_changes_nothing: schedule::FailedAppendChangesNothing,
    replay_equals_live: schedule::ReplayEqualsLive,
    resume_equals_never_crashed: schedule::ResumeEqualsNeverCrashed,
    late_subscriber_sees_the_same: schedule::LateSubscriberSeesTheSame,
    stranded_wake: schedule::StrandedWake,
}

impl Judge {
    /// All rules that need no more than that. [`Judge::default`] is all rules there are.
    #[must_use]
    pub fn of(scope: Scope) -> Self {
        Self {
            scope,
            ..Self::default()
        }
    }

    /// Judges one record; records are numbered as they come.
    pub fn feed_record(&mut self, record: &Record, verdict: &mut Verdict) {
        let seq = match record {
            Record::Durable(event) => Some(event.seq),
            _ => None,
        };
        let mark = self.next;
        self.next = Mark(mark.0 + 1);
        self.feed(
            &Seen {
                mark,
                seq,
                fact: Fact::of_record(record),
            },
            verdict,
        );
    }

    /// Tells, before anything is fed, that the first `length` events are an inherited prefix: what
    /// they leave pending is not pending afterwards. Only for logs whose inbox folds from there.
    pub fn inherit_until(&mut self, length: Seq) {
        self.situation.inherited_left = length;
    }

    /// The facts so far, as all rules see them.
    #[must_use]
    pub fn situation(&self) -> &Situation {
        &self.situation
    }
}

impl RuleId {
    /// What there is to say about the rule.
    #[must_use]
    pub fn about(self) -> &'static About {
        &RULES[usize::from(self.0)]
    }

    /// How many events of its two examples are an inherited prefix: 0 but for rules about forks.
    #[must_use]
    pub fn examples_inherit(self) -> Seq {
        INHERITED[usize::from(self.0)]
    }

    /// The rule of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let place = RULES.iter().position(|about| about.name == name)?;
        u8::try_from(place).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::example::{broken, judge_fork};
    use super::*;

    /// Names of the rules that these records break, in the order in which it is found.
    pub(super) fn broken_names(records: Vec<Record>) -> Vec<&'static str> {
        broken(&example::judge_run(records))
    }

    #[test]
    fn every_accepted_example_is_accepted_and_exercises_its_rule() {
        for (place, about) in RULES.iter().enumerate() {
            let verdict = judge_example(about, (about.accepted)());
            // A shortest run leaves out what rules about other things need.
            let mut of_others = broken(&verdict);
            of_others.retain(|name| about.scope == Scope::Log || *name == about.name);
            assert_eq!(of_others, Vec::<&str>::new(), "{}", about.name);
            assert!(
                verdict.exercised[place] > 0,
                "{} was not exercised",
                about.name
            );
        }
    }

    #[test]
    fn every_refused_example_breaks_its_rule() {
        for about in RULES {
            let verdict = judge_example(about, (about.refused)());
            assert!(broken(&verdict).contains(&about.name), "{}", about.name);
        }
    }

    #[test]
    fn no_refused_example_is_excused() {
        for about in RULES.iter().filter(|about| about.scope == Scope::Log) {
            let mut judge = Judge::default();
            let mut verdict = Verdict::new(RULES.len());
            for record in example::numbered((about.refused)()) {
                judge.feed_record(&record, &mut verdict);
            }
            let excused = leniency::Leniency::of(judge.situation())
                .part(&verdict)
                .excused;
            let names = excused.iter().map(|(found, _)| found.rule.about().name);
            assert!(
                !names.into_iter().any(|name| name == about.name),
                "{}",
                about.name
            );
        }
    }

    fn judge_example(about: &About, records: Vec<Record>) -> Verdict {
        let rule = RuleId::named(about.name).unwrap();
        match about.scope {
            Scope::Log => judge_fork(rule.examples_inherit(), records),
            Scope::Live | Scope::Schedule => example::judge_run(records),
        }
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let mut names: Vec<_> = RULES.iter().map(|about| about.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
