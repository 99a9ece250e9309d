//! Decisions that open no step: a reject, and an entry of nothing.

use crate::event::{Answer, Record};
use crate::rules::example::{
    asked, asks, begun, calling, ended, entering, first_decision, first_step, rejecting, result_of,
    step_end, step_start, turn_end,
};
use crate::rules::{About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

use super::progress::{Ended, Progress};

/// Whether a turn may end so because it was stopped.
fn is_stopped(situation: &Situation, end: EndKind) -> bool {
    situation.aborted.is_some() && matches!(end, EndKind::Aborted { .. })
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct BlockedOrEmptyOpensNoStep {
    closing: Option<(Mark, Closing)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Closing {
    Rejected,
    Emptied,
}

impl Rule for BlockedOrEmptyOpensNoStep {
    const ABOUT: About = About {
        name: "blocked-or-empty-opens-no-step",
        sentence: "A turn whose first decision rejects, or enters nothing, holds no step event at \
                   all; a later reject ends the turn `blocked` without a further step.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Decided,
            Kind::StepStart,
            Kind::StepEnd,
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Crashed,
        ]),
        accepted: || {
            let end = vec![rejecting(), turn_end(1, "blocked")];
            [first_decision("a"), end].concat()
        },
        refused: || [first_decision("a"), vec![entering(&[]), step_start(1, 1)]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::Decided(answer)) if situation.aborted.is_none() => {
                let is_first = situation
                    .turn
                    .as_ref()
                    .is_none_or(|turn| turn.last_step == 0);
                let closing = match answer {
                    Answer::Reject => Some(Closing::Rejected),
                    Answer::Enter(ids) if ids.is_empty() && is_first => Some(Closing::Emptied),
                    _ => None,
                };
                self.closing = closing.map(|closing| (seen.mark, closing));
            }
            Fact::StepStart(_) | Fact::StepEnd(_) => {
                if let Some((decision, closing)) = self.closing.take() {
                    let words = format!("a step where the decision was {closing:?}");
                    report.violated(&[decision], words.to_lowercase());
                }
            }
            Fact::TurnEnd { end, .. } => {
                if let Some((decision, closing)) = self.closing.take() {
                    let right = match closing {
                        Closing::Rejected => EndKind::Blocked,
                        Closing::Emptied => EndKind::Completed,
                    };
                    let holds = end == right || is_stopped(situation, end);
                    report.expect(holds, &[decision], || {
                        format!("the turn ends {end:?} where {right:?} was decided").to_lowercase()
                    });
                }
            }
            _ => self.closing = None,
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct LaterEmptyEntry {
    progress: Progress,
    /// A later decision that entered nothing, and how the turn had ended for the model by then.
    emptied: Option<(Mark, Option<Ended>)>,
}

impl Rule for LaterEmptyEntry {
    const ABOUT: About = About {
        name: "later-empty-entry",
        sentence: "A later proposal that enters nothing opens a step only where tool results are \
                   still to be answered; else the turn ends with the reason it had.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Progress::READS.and(Kinds::of(&[Kind::Decided, Kind::TurnEnd, Kind::Crashed])),
        accepted: || {
            let tool = vec![
                asks(1, 1, &["c"]),
                calling(1, "c"),
                begun("c", true),
                ended("c"),
                result_of(1, "c"),
            ];
            let emptied = vec![step_end(1, 1), asked(&[], 1, 2), entering(&[])];
            [first_step("a"), tool, emptied, vec![step_start(1, 2)]].concat()
        },
        refused: || {
            let emptied = vec![
                asks(1, 1, &[]),
                step_end(1, 1),
                asked(&[], 1, 2),
                entering(&[]),
                step_start(1, 2),
            ];
            [first_step("a"), emptied].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        self.progress.follow(&seen.fact);
        match seen.fact {
            Fact::Observed(Record::Decided(Answer::Enter(ids))) if ids.is_empty() => {
                let later = situation
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.last_step > 0);
                if later && situation.aborted.is_none() {
                    self.emptied = Some((seen.mark, self.progress.ended()));
                }
            }
            Fact::StepStart(_) => {
                if let Some((decision, ended)) = self.emptied.take() {
                    report.expect(ended.is_none(), &[decision], || {
                        "an emptied entry opens a step, and nothing is to be answered".into()
                    });
                }
            }
            Fact::TurnEnd { end, .. } => {
                if let Some((decision, ended)) = self.emptied.take() {
                    let holds = is_stopped(situation, end)
                        || ended.is_some_and(|ended| ended.closes_as(end))
                        || (ended.is_none() && situation.append_refused.is_some());
                    report.expect(holds, &[decision], || {
                        format!("an emptied entry ends the turn as {end:?}")
                    });
                }
            }
            Fact::TurnStart { .. } | Fact::Observed(Record::Crashed) => self.emptied = None,
            _ => {}
        }
    }
}
