//! What becomes of messages: claimed ones, inherited ones, and the work that a turn took.

use std::sync::Arc;

use crate::event::Target::NextTurn;
use crate::event::{Op, Record, Seq};
use crate::rules::example::{act, claim, insert, turn_end, turn_start};
use crate::rules::{
    About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation, Spliced,
};

/// See [`Rule::ABOUT`].
///
/// Needs operations to be recorded: a log alone does not tell whose an insertion is. What no
/// producer asked for and no tool made is the loop's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimedNeverReturns {
    /// The last claimed batch, without what its owners sent anew.
    gone: Vec<Arc<str>>,
    /// What the last operation asked to insert, and was not inserted yet.
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
        accepted: || asked(vec![turn_end(1, "blocked")]),
        refused: || asked(vec![insert(NextTurn, 0, &["a"])]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) if situation.has_operations => {
                self.splice(situation, &splice, report);
            }
            Fact::Spliced(_) => {}
            // An operation inserts before anything else that it causes.
            Fact::Observed(Record::Act { op, .. } | Record::React(op)) => {
                self.sent.clear();
                self.sent.extend(inserted_by(op));
            }
            Fact::TurnStart { .. } => self.gone.clear(),
            Fact::TurnEnd { end, .. } if end != EndKind::Completed && !self.gone.is_empty() => {
                report.exercised();
            }
            _ => {}
        }
        if !matches!(seen.fact, Fact::Spliced(_) | Fact::Observed(_)) {
            self.by_tool = matches!(seen.fact, Fact::ToolResult { .. });
        }
    }
}

impl ClaimedNeverReturns {
    fn splice(&mut self, situation: &Situation, splice: &Spliced<'_>, report: &mut Report<'_>) {
        if splice.is_claim() {
            if situation.batch.is_empty() {
                self.gone.clear();
            }
            let taken = situation.removed_by(splice).iter();
            self.gone.extend(taken.map(|pending| pending.id.clone()));
        }
        for id in splice.inserted.iter() {
            let sent = take(&mut self.sent, id) || self.by_tool;
            if take(&mut self.gone, id) && !sent {
                report.violated(&[], format!("the loop puts {id} back"));
            }
        }
    }
}

/// A producer asks for a turn, which claims its message; and what follows.
fn asked(rest: Vec<Record>) -> Vec<Record> {
    let mut records = vec![act(Op::Followup { id: "a".into() })];
    records.extend(claiming());
    records.extend(rest);
    records
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
        refused: || vec![insert(NextTurn, 0, &["a"]), claim(NextTurn, 1)],
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
    use crate::rules::example::{asks, broken, judge, step_start, tool_call, tool_result};

    fn stopped(mut rest: Vec<Record>) -> Vec<&'static str> {
        let op = Op::Cancel {
            cause: CancelCause::User,
            keep_inbox: true,
        };
        rest.insert(0, act(op));
        broken(&judge(asked(rest)))
    }

    #[test]
    fn a_stop_does_not_put_the_batch_back() {
        let back = insert(NextTurn, 0, &["a"]);
        let before_end = stopped(vec![back.clone(), turn_end(1, "aborted")]);
        assert_eq!(before_end, ["claimed-never-returns"]);
        let after_end = stopped(vec![turn_end(1, "aborted"), back]);
        assert_eq!(after_end, ["claimed-never-returns"]);
    }

    #[test]
    fn an_owner_may_send_a_claimed_message_anew() {
        let send = act(Op::Followup { id: "a".into() });
        assert!(stopped(vec![send, insert(NextTurn, 0, &["a"])]).is_empty());
    }

    #[test]
    fn a_tool_may_add_a_message_of_a_claimed_identity() {
        let records = vec![
            step_start(1, 1),
            asks(1, 1, &["c"]),
            tool_call(1, 1, "c"),
            tool_result(1, 1, "c"),
            insert(NextStep, 0, &["a"]),
        ];
        assert!(stopped(records).is_empty());
    }

    #[test]
    fn a_log_alone_does_not_tell_whose_an_insertion_is() {
        let mut records = claiming();
        records.extend([insert(NextTurn, 0, &["a"]), turn_end(1, "blocked")]);
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn the_work_of_a_turn_that_never_closes_is_not_accounted_for() {
        let records = vec![turn_start(1), step_start(1, 1), turn_start(2)];
        assert!(broken(&judge(records)).contains(&"consumed-work-accounts"));
    }
}
