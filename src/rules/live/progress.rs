//! How a turn has ended for the model, as far as its steps tell.
//!
//! Not here: whether the turn then closes; rules say that.

use crate::event::Record;
use crate::rules::{EndKind, Fact, FinishKind, Kind, Kinds};

/// Follows a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Progress {
    ended: Option<Ended>,
    step: Step,
}

/// How a turn has ended for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ended {
    Completed,
    MaxTokens,
}

/// What the open step has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Step {
    answered: bool,
    calls: bool,
    at_ceiling: bool,
    concluded: bool,
}

impl Progress {
    /// The facts that it must be fed.
    pub(super) const READS: Kinds = Kinds::of(&[
        Kind::TurnStart,
        Kind::StepStart,
        Kind::Chunk,
        Kind::AssistantMessage,
        Kind::ToolEnded,
        Kind::StepEnd,
    ]);

    /// How the turn has ended, if it has: the ceiling sticks.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    pub(super) fn follow(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::TurnStart { .. } => *self = Self::default(),
            Fact::StepStart(_) => self.step = Step::default(),
            Fact::Chunk {
                finish: Some(finish),
                ..
            } => self.step.at_ceiling = *finish == FinishKind::MaxTokens,
            Fact::AssistantMessage(said) if !said.interrupted => {
                self.step.answered = true;
                self.step.calls = said.calls.count() > 0;
            }
            Fact::Observed(Record::ToolEnded { concludes, .. }) => {
                self.step.concluded |= concludes;
            }
            Fact::StepEnd(_) if self.ended != Some(Ended::MaxTokens) => {
                self.ended = self.step.ended();
            }
            _ => {}
        }
    }
}

impl Step {
    fn ended(&self) -> Option<Ended> {
        match self {
            Self {
                answered: false, ..
            } => None,
            Self {
                at_ceiling: true, ..
            } => Some(Ended::MaxTokens),
            Self { calls: false, .. }
            | Self {
                concluded: true, ..
            } => Some(Ended::Completed),
            _ => None,
        }
    }
}

impl Ended {
    /// Whether a turn that has ended so may close with that reason.
    pub(super) fn closes_as(self, end: EndKind) -> bool {
        match self {
            Self::Completed => end == EndKind::Completed,
            Self::MaxTokens => end == EndKind::MaxTokens,
        }
    }
}
