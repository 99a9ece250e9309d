//! A run with the verdict of every rule.
//!
//! Not here: the rules (`rules`), many runs (`campaign`).

use super::chooser::Chooser;
use super::run::{Run, run};
use super::scenario::Scenario;
use crate::rules::{Judge, RULES, RuleId, Verdict};

/// A run that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The run.
    pub run: Run,
    /// What the rules said of it.
    pub verdict: Verdict,
}

impl Judged {
    /// Runs once, as the chooser says, and judges every record.
    pub fn run<C: Chooser>(chooser: C, scenario: &Scenario) -> Self {
        Self::of(run(chooser, scenario))
    }

    /// Judges a run.
    #[must_use]
    pub fn of(run: Run) -> Self {
        let mut verdict = Verdict::new(RULES.len());
        let mut judge = Judge::default();
        for record in &run.records {
            judge.feed_record(record, &mut verdict);
        }
        judge.end(&mut verdict);
        Self { run, verdict }
    }

    /// The first broken rule that is no mere advice.
    #[must_use]
    pub fn broken(&self) -> Option<RuleId> {
        let mut broken = self.verdict.violations.iter().map(|found| found.rule);
        broken.find(|rule| !rule.about().advice)
    }

    /// Whether that rule is broken.
    #[must_use]
    pub fn breaks(&self, rule: RuleId) -> bool {
        self.verdict
            .violations
            .iter()
            .any(|found| found.rule == rule)
    }
}
