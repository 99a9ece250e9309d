//! What becomes of messages: claimed ones, inherited ones, and the work that a turn took.

use std::sync::Arc;

use crate::event::Target::NextTurn;
use crate::event::{Op, Record, Seq};
use crate::rules::example::{claim, insert, step_start, turn_end, turn_start};
use crate::rules::{
    About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation, Spliced,
};

/// See [`Rule::ABOUT`].
///
/// Where operations are recorded, an insertion that no producer asked for and no tool made is the
/// loop's. A log alone does not tell whose an insertion is: there, the rule is broken where the
/// whole batch came back in a turn that then ended without its step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimedNeverReturns {
    /// The last claimed batch, without what came back.
    gone: Vec<Arc<str>>,
    /// Where the rest of it came back, in a log alone.
    back: Vec<Mark>,
    /// What producers asked to insert.
    sent: Vec<Arc<str>>,
    /// Whether the loop has just committed a tool's result; then what it inserts is the tool's.
    by_tool: bool,
}

impl Rule for ClaimedNeverReturns {
    const ABOUT: About = About {
        name: "claimed-never-returns",
        sentence: "A claimed message is not put back into the inbox by the loop (the same identity \
                   may be sent anew by its owner).",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::DURABLE.and(Kinds::of(&[Kind::Act, Kind::React])),
        accepted: || {
            let mut records = claiming();
            records.push(turn_end(1, "blocked"));
            records
        },
        refused: || {
            let mut records = claiming();
            records.extend([insert(NextTurn, 0, &["a"]), turn_end(1, "blocked")]);
            records
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => {
                if splice.is_claim() {
                    self.claim(situation, &splice);
                }
                for id in splice.inserted.iter() {
                    self.insert(situation, id, seen.mark, report);
                }
                return;
            }
            Fact::Observed(Record::Act { op, .. }) => {
                self.sent.clear();
                self.sent.extend(inserted_by(op));
                return;
            }
            Fact::Observed(Record::React(op)) => {
                self.sent.extend(inserted_by(op));
                return;
            }
            Fact::TurnStart { .. } => *self = Self::default(),
            Fact::StepStart(_) if !situation.has_operations => *self = Self::default(),
            Fact::TurnEnd { end, .. } => self.judge(end, report),
            _ => {}
        }
        self.by_tool = matches!(seen.fact, Fact::ToolResult { .. });
    }
}

impl ClaimedNeverReturns {
    fn claim(&mut self, situation: &Situation, splice: &Spliced<'_>) {
        if situation.batch.is_empty() {
            self.gone.clear();
            self.back.clear();
        }
        let taken = situation.removed_by(splice).iter();
        self.gone.extend(taken.map(|pending| pending.id.clone()));
    }

    fn insert(&mut self, situation: &Situation, id: &str, mark: Mark, report: &mut Report<'_>) {
        let sent = take(&mut self.sent, id);
        if !take(&mut self.gone, id) {
            return;
        }
        if !situation.has_operations {
            self.back.push(mark);
        } else if !sent && !self.by_tool {
            report.violated(&[], format!("the loop puts {id} back"));
        }
    }

    fn judge(&mut self, end: EndKind, report: &mut Report<'_>) {
        let back = std::mem::take(&mut self.back);
        let stopped = matches!(
            end,
            EndKind::Blocked | EndKind::Aborted { .. } | EndKind::Error { .. }
        );
        if !back.is_empty() && self.gone.is_empty() && stopped {
            report.violated(&back, "the claimed batch was put back");
        } else if !self.gone.is_empty() && stopped {
            report.exercised();
        }
    }
}

/// Takes one occurrence of an identity out, if it is there; says whether it was.
fn take(ids: &mut Vec<Arc<str>>, id: &str) -> bool {
    let place = ids.iter().position(|known| **known == *id);
    place.map(|place| ids.swap_remove(place)).is_some()
}

/// What an operation asks to insert.
fn inserted_by(op: &Op) -> impl Iterator<Item = Arc<str>> {
    let ids = match op {
        Op::Splice { insert, .. } => insert.as_slice(),
        Op::Replace { with, .. } => std::slice::from_ref(with),
        Op::Remove { .. } => &[],
        op => op.message().map_or(&[][..], std::slice::from_ref),
    };
    ids.iter().map(|id| id.as_str().into())
}

/// A turn that has claimed a message.
fn claiming() -> Vec<Record> {
    vec![
        insert(NextTurn, 0, &["a"]),
        turn_start(1),
        claim(NextTurn, 1),
    ]
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ForkStartsEmpty;

impl Rule for ForkStartsEmpty {
    const ABOUT: About = About {
        name: "fork-starts-empty",
        sentence: "A forked log's inherited prefix leaves nothing pending in the child.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || vec![insert(NextTurn, 0, &["a"]), insert(NextTurn, 0, &["b"])],
        refused: claiming,
    };

    /// The parent's insertion.
    const EXAMPLES_INHERIT: Seq = 1;

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        // Filled only once the prefix is over.
        if !situation.inherited.is_empty() {
            let inherited = situation.inherited.iter().map(|pending| pending.inserted);
            let inherited: Vec<_> = inherited.take(1).collect();
            report.expect(situation.fits(&splice), &inherited, || {
                "a splice reaches for what the parent left pending".to_owned()
            });
        }
    }
}

/// See [`Rule::ABOUT`].
///
/// A log breaks this where no closed turn can account for what was taken: it was taken outside a
/// turn, or its turn never closed and the next one opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ConsumedWorkAccounts {
    /// The first claim of the open turn.
    input: Option<Mark>,
    /// The first step of the open turn.
    step: Option<Mark>,
}

impl Rule for ConsumedWorkAccounts {
    const ABOUT: About = About {
        name: "consumed-work-accounts",
        sentence: "A closed turn that took a step, or claimed input and did not end `completed`, \
                   accounts for that work; a cancellation after it that leaves nothing behind is \
                   reported as dropped unrun.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::StepStart,
            Kind::Spliced,
        ]),
        accepted: || {
            let mut records = claiming();
            records.push(turn_end(1, "blocked"));
            records
        },
        refused: || vec![step_start(1, 1)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let taken = match seen.fact {
            Fact::StepStart(_) => &mut self.step,
            Fact::Spliced(splice) if splice.is_claim() => &mut self.input,
            Fact::TurnEnd { end, .. } => {
                let accounts = self.input.is_some() && end != EndKind::Completed;
                if self.step.is_some() || accounts {
                    report.exercised();
                }
                *self = Self::default();
                return;
            }
            Fact::TurnStart { .. } => {
                if let Some(mark) = self.step.or(self.input) {
                    report.violated(&[mark], "the turn that took this work never closes");
                }
                *self = Self::default();
                return;
            }
            _ => return,
        };
        if situation.turn.is_some() {
            taken.get_or_insert(seen.mark);
        } else {
            report.violated(&[], "work is taken that no turn accounts for");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CancelCause;
    use crate::event::Target::NextStep;
    use crate::rules::example::{act, broken, judge};

    fn requeued(ask: Option<Op>) -> Vec<&'static str> {
        let mut records = vec![act(Op::Followup { id: "a".into() })];
        records.extend(claiming());
        records.extend(ask.map(act));
        records.extend([insert(NextTurn, 0, &["a"]), turn_end(1, "aborted")]);
        broken(&judge(records))
    }

    #[test]
    fn what_nobody_asked_to_insert_was_put_back_by_the_loop() {
        assert_eq!(requeued(None), ["claimed-never-returns"]);
        let cancel = Op::Cancel {
            cause: CancelCause::User,
            keep_inbox: true,
        };
        assert_eq!(requeued(Some(cancel)), ["claimed-never-returns"]);
    }

    #[test]
    fn an_owner_may_send_a_claimed_message_anew() {
        let send = Op::Followup { id: "a".into() };
        assert!(requeued(Some(send)).is_empty());
    }

    #[test]
    fn in_a_log_alone_a_part_of_the_batch_may_come_back() {
        let records = vec![
            insert(NextStep, 0, &["context"]),
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextStep, 1),
            claim(NextTurn, 1),
            insert(NextStep, 0, &["context"]),
            turn_end(1, "blocked"),
        ];
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn in_a_log_alone_a_message_may_be_sent_again_after_its_turn() {
        let mut records = claiming();
        records.extend([turn_end(1, "blocked"), insert(NextTurn, 0, &["a"])]);
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn the_work_of_a_turn_that_never_closes_is_not_accounted_for() {
        let records = vec![turn_start(1), step_start(1, 1), turn_start(2)];
        assert!(broken(&judge(records)).contains(&"consumed-work-accounts"));
    }
}
