//! The one funnel: every decision of a run that is not forced is a choice.
//!
//! A strategy implements [`Chooser`]; recording and checking are wrappers around one. Not here:
//! what the choices mean; whoever asks knows.
//!
//! ```
//! use prestep::sim::chooser::{ChoicePoint, Chooser, Exhaustive};
//!
//! // All ways to order two letters and then to shout or not.
//! let mut all = Vec::new();
//! let mut chooser = Exhaustive::default();
//! loop {
//!     let first = chooser.choose(ChoicePoint::Next, 2);
//!     let shout = chooser.choose(ChoicePoint::Next, 2);
//!     let word = if first == 0 { "ab" } else { "ba" };
//!     all.push(if shout == 1 { word.to_uppercase() } else { word.into() });
//!     if !chooser.next_run() {
//!         break;
//!     }
//! }
//! assert_eq!(all, ["ab", "AB", "ba", "BA"]);
//! ```

mod exhaustive;
mod random;
mod replay;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use exhaustive::Exhaustive;
pub use random::{Random, Seed};
pub use replay::{Divergence, Lenient, Replay};

/// A place where more than one continuation is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoicePoint {
    /// Who acts next. 0 is the agent itself, as long as it can move.
    Next,
    /// How an awaited point ends. 0 is the calm end.
    Outcome,
    /// What a producer asks. 0 is a follow-up.
    Op,
    /// Which message is meant. 0 is a new one, where that makes sense.
    Message,
    /// Which list is meant.
    Target,
    /// A splice coordinate.
    Coordinate,
    /// Why something is cancelled.
    Cause,
    /// A yes or no; 0 is the calm one.
    Flag,
    /// How many of something; 0 is the fewest.
    Count,
    /// Which publication an observer waits for.
    Trigger,
}

impl fmt::Display for ChoicePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Next => "next",
            Self::Outcome => "outcome",
            Self::Op => "op",
            Self::Message => "message",
            Self::Target => "target",
            Self::Coordinate => "coordinate",
            Self::Cause => "cause",
            Self::Flag => "flag",
            Self::Count => "count",
            Self::Trigger => "trigger",
        })
    }
}

/// Answers choice points.
pub trait Chooser {
    /// Picks one of `bound` continuations: a number below `bound`, which is at least 2. With one
    /// continuation nobody is asked.
    fn choose(&mut self, point: ChoicePoint, bound: u32) -> u32;
}

impl<C: Chooser + ?Sized> Chooser for &mut C {
    fn choose(&mut self, point: ChoicePoint, bound: u32) -> u32 {
        (**self).choose(point, bound)
    }
}

/// Asks for one of `bound` continuations; 0 without asking when there are fewer than two.
pub fn pick<C: Chooser + ?Sized>(chooser: &mut C, point: ChoicePoint, bound: usize) -> usize {
    match u32::try_from(bound).unwrap_or(u32::MAX) {
        0 | 1 => 0,
        bound => chooser.choose(point, bound).min(bound - 1) as usize,
    }
}

/// What was picked at a choice point. The choices of a run are its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice {
    /// Where.
    pub point: ChoicePoint,
    /// What, below `bound`.
    pub picked: u32,
    /// Of how many continuations; at least 2.
    pub bound: u32,
}

/// Wraps a chooser and keeps what it picks.
#[derive(Clone, Debug, Default)]
pub struct Recording<C> {
    inner: C,
    choices: Vec<Choice>,
}

impl<C> Recording<C> {
    /// Records the picks of a chooser.
    #[must_use]
    pub fn new(inner: C) -> Self {
        Self {
            inner,
            choices: Vec::new(),
        }
    }

    /// What was picked, in order.
    #[must_use]
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The chooser and what it picked.
    #[must_use]
    pub fn into_parts(self) -> (C, Vec<Choice>) {
        (self.inner, self.choices)
    }
}

impl<C: Chooser> Chooser for Recording<C> {
    fn choose(&mut self, point: ChoicePoint, bound: u32) -> u32 {
        let picked = self.inner.choose(point, bound);
        self.choices.push(Choice {
            point,
            picked,
            bound,
        });
        picked
    }
}

/// Wraps a chooser and counts where it was asked beyond its contract: a bound below 2, or a pick
/// that is not below its bound. For tests of choosers and of whoever asks them.
#[derive(Clone, Debug, Default)]
pub struct Checking<C> {
    inner: C,
    breaches: Vec<Choice>,
}

impl<C> Checking<C> {
    /// Watches a chooser.
    #[must_use]
    pub fn new(inner: C) -> Self {
        Self {
            inner,
            breaches: Vec::new(),
        }
    }

    /// Where the contract was broken; empty is well.
    #[must_use]
    pub fn breaches(&self) -> &[Choice] {
        &self.breaches
    }
}

impl<C: Chooser> Chooser for Checking<C> {
    fn choose(&mut self, point: ChoicePoint, bound: u32) -> u32 {
        let picked = self.inner.choose(point, bound);
        if bound < 2 || picked >= bound {
            self.breaches.push(Choice {
                point,
                picked,
                bound,
            });
        }
        picked
    }
}
