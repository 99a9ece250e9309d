//! What the tests of rules share: judging events, and saying what was found in words.
//!
//! Not here: what ought to be found.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "no test uses all of it, and a helper of a test fails as the test does"
)]

use std::collections::BTreeSet;

use prestep::event::{Event, Record, Seq};
use prestep::rules::{Judge, RULES, RuleId, Scope, Verdict, Violation};

/// What all rules say of a log whose inbox folds from `origin`, and what they know of it.
pub(crate) fn judge_events(origin: Seq, events: &[Event]) -> (Verdict, Judge) {
    let mut verdict = Verdict::new(RULES.len());
    let mut judge = Judge::of(Scope::Log);
    judge.inherit_until(origin);
    for event in events {
        judge.feed_record(&Record::Durable(event.clone()), &mut verdict);
    }
    judge.end(&mut verdict);
    (verdict, judge)
}

/// What all rules say of a run.
pub(crate) fn judge_records(records: &[Record]) -> Verdict {
    let mut verdict = Verdict::new(RULES.len());
    let mut judge = Judge::of(Scope::Log);
    for record in records {
        judge.feed_record(record, &mut verdict);
    }
    judge.end(&mut verdict);
    verdict
}

/// A violation on one line.
pub(crate) fn words(violation: &Violation) -> String {
    let name = violation.rule.about().name;
    let witnesses: Vec<u64> = violation.witnesses.iter().map(|mark| mark.0).collect();
    let at = violation.at.0;
    format!("{name} at {at} {witnesses:?}: {}", violation.words)
}

/// The violations of rules about a log, advice left out, each on one line.
pub(crate) fn broken(verdict: &Verdict) -> Vec<String> {
    let judged = |violation: &&Violation| {
        let about = violation.rule.about();
        about.scope == Scope::Log && !about.advice
    };
    verdict
        .violations
        .iter()
        .filter(judged)
        .map(words)
        .collect()
}

/// Whether the rule of that name is broken.
pub(crate) fn breaks(verdict: &Verdict, name: &str) -> bool {
    let rule = RuleId::named(name).unwrap();
    verdict.violations.iter().any(|found| found.rule == rule)
}

/// How often each rule came up over many logs.
#[derive(Default)]
pub(crate) struct Exercise(Vec<u64>);

impl Exercise {
    pub(crate) fn add(&mut self, verdict: &Verdict) {
        self.0.resize(RULES.len(), 0);
        for (sum, count) in self.0.iter_mut().zip(&verdict.exercised) {
            *sum += count;
        }
    }

    /// The rules about a log that never came up.
    pub(crate) fn idle(&self) -> BTreeSet<&'static str> {
        let counted = RULES.iter().zip(&self.0);
        counted
            .filter(|(about, count)| about.scope == Scope::Log && **count == 0)
            .map(|(about, _)| about.name)
            .collect()
    }
}
