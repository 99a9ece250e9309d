//! Which violations count against the loop that wrote the end of a log, and which are excused.
//!
//! A rule about the loop binds what that loop wrote: what it inherited is another's, and a log from
//! before the inbox is judged on its brackets alone. Not here: the rules, which excuse nothing.

use std::fmt;

use super::finding::{Mark, Verdict, Violation};
use super::situation::Situation;

/// What is known of a log that may excuse a violation.
#[derive(Clone, Copy, Debug)]
pub struct Leniency {
    /// The last `session/end-seed`, if there is one: what stands before it is inherited.
    pub end_seed: Option<Mark>,
    /// Whether any inbox event was seen.
    pub has_inbox: bool,
}

/// Why a violation does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excuse {
    /// It stands before the last `session/end-seed`.
    Inherited,
    /// The rule speaks of the inbox, and the log has no inbox event.
    NoInbox,
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherited => "it stands in what the session inherited",
            Self::NoInbox => "the log has no inbox events",
        })
    }
}

/// The violations of a log, parted. Both lists keep the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Parted<'a> {
    /// Those that count, advice among them.
    pub broken: Vec<&'a Violation>,
    /// Those that do not, each with its reason.
    pub excused: Vec<(&'a Violation, Excuse)>,
}

impl Leniency {
    /// What the facts of a whole log tell.
    #[must_use]
    pub fn of(situation: &Situation) -> Self {
        Self {
            end_seed: situation.end_seed,
            has_inbox: situation.has_inbox,
        }
    }

    /// Parts the violations of that log.
    #[must_use]
    pub fn part<'a>(&self, verdict: &'a Verdict) -> Parted<'a> {
        let mut parted = Parted::default();
        for violation in &verdict.violations {
            match self.excuse(violation) {
                Some(excuse) => parted.excused.push((violation, excuse)),
                None => parted.broken.push(violation),
            }
        }
        parted
    }

    fn excuse(&self, violation: &Violation) -> Option<Excuse> {
        let inherited = self.end_seed.is_some_and(|end| violation.at.0 < end.0);
        if inherited {
            Some(Excuse::Inherited)
        } else if violation.rule.about().needs_inbox && !self.has_inbox {
            Some(Excuse::NoInbox)
        } else {
            None
        }
    }
}
