//! A step boundary: what was claimed at it, and what was decided.
//!
//! It begins with its turn, or with the end of a step, and lasts until the step that it leads to is
//! over, or the turn. Not here: whether any of it was allowed.

use std::sync::Arc;

use super::fact::Place;
use super::finding::Mark;
use crate::event::{Answer, Target};

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Boundary {
    /// Claimed from next-step, oldest first.
    pub of_next_step: Vec<Arc<str>>,
    /// Claimed from next-turn.
    pub of_next_turn: Vec<Arc<str>>,
    /// The first splice of the claim; an empty claim has none.
    pub claimed: Option<Mark>,
    /// The question for its decision.
    pub asked: Option<(Mark, Place)>,
    /// The decision.
    pub decided: Option<(Mark, Answer)>,
}

impl Boundary {
    /// The claimed batch: what comes from next-step first.
    pub fn batch(&self) -> impl Iterator<Item = &Arc<str>> {
        self.of_next_step.iter().chain(&self.of_next_turn)
    }

    /// Whether that message was claimed at it.
    #[must_use]
    pub fn has_claimed(&self, id: &str) -> bool {
        self.batch().any(|claimed| **claimed == *id)
    }

    /// Whether its decision is still to come, or the step that it opens.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.decided.is_none()
    }

    pub(super) fn claim<'a>(
        &mut self,
        mark: Mark,
        target: Target,
        removed: impl Iterator<Item = &'a Arc<str>>,
    ) {
        self.claimed.get_or_insert(mark);
        match target {
            Target::NextTurn => self.of_next_turn.extend(removed.cloned()),
            Target::NextStep => self.of_next_step.extend(removed.cloned()),
        }
    }
}
