//! What rules report: violations with their witnesses, and how often their situation came up.
//!
//! Not here: when; each rule says that.

use std::hash::{Hash, Hasher};

/// A place in what was judged: the number of the fact, from 0. Kept for reports alone: to equality
/// and hashing all marks are the same, so that a rule's state does not depend on when it was
/// reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark(pub u64);

impl PartialEq for Mark {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Mark {}

impl Hash for Mark {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A rule by its place in [`super::RULES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u8);

/// A broken rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: RuleId,
    /// The fact that breaks it.
    pub at: Mark,
    /// The facts that prove it, in order, `at` left out. May be empty.
    pub witnesses: Vec<Mark>,
    /// What was found, in words.
    pub words: String,
}

/// Everything that rules have reported.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Broken rules in the order in which they were found.
    pub violations: Vec<Violation>,
    /// How often the situation of each rule came up, by [`RuleId`].
    pub exercised: Vec<u64>,
}

impl Verdict {
    /// Nothing reported yet, for so many rules.
    #[must_use]
    pub fn new(rule_count: usize) -> Self {
        Self {
            violations: Vec::new(),
            exercised: vec![0; rule_count],
        }
    }
}

/// Where one rule reports about one fact.
#[derive(Debug)]
pub struct Report<'a> {
    pub(super) rule: RuleId,
    pub(super) at: Mark,
    pub(super) verdict: &'a mut Verdict,
}

impl Report<'_> {
    /// The situation that the rule speaks of came up.
    pub fn exercised(&mut self) {
        if let Some(count) = self.verdict.exercised.get_mut(usize::from(self.rule.0)) {
            *count += 1;
        }
    }

    /// The rule is broken here.
    pub fn violated(&mut self, witnesses: &[Mark], words: impl Into<String>) {
        let Self { rule, at, verdict } = self;
        verdict.violations.push(Violation {
            rule: *rule,
            at: *at,
            witnesses: witnesses.to_vec(),
            words: words.into(),
        });
    }

    /// The situation came up, and the rule holds if `holds`.
    pub fn expect(&mut self, holds: bool, witnesses: &[Mark], words: impl FnOnce() -> String) {
        self.exercised();
        if !holds {
            self.violated(witnesses, words());
        }
    }
}
