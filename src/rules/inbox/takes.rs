//! What a claim takes, and what it leaves.

use crate::event::Target;
use crate::event::Target::{NextStep, NextTurn};
use crate::rules::example::{claim, insert, turn_start};
use crate::rules::{About, Fact, Kind, Kinds, Report, Rule, Scope, Seen, Situation, Spliced};

/// Whether a list has held something ever since a boundary opened: then its claim, whenever it
/// comes, finds something to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Owed(bool);

impl Owed {
    fn open(&mut self, situation: &Situation, list: Target) {
        self.0 = !situation.list(list).is_empty();
    }

    fn follow(&mut self, situation: &Situation, splice: &Spliced<'_>) {
        let removed = situation.removed_by(splice).len();
        let left = situation.list(splice.target).len() - removed + splice.inserted.count();
        self.0 &= left > 0 && !splice.is_claim();
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimTakesAllOfNextStep {
    owed: Owed,
}

impl Rule for ClaimTakesAllOfNextStep {
    const ABOUT: About = About {
        name: "claim-takes-all-of-next-step",
        sentence: "A boundary's claim removes next-step whole, from position 0.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::StepStart,
            Kind::StepEnd,
            Kind::Spliced,
        ]),
        accepted: || {
            vec![
                insert(NextStep, 0, &["a"]),
                turn_start(1),
                claim(NextStep, 1),
            ]
        },
        refused: || {
            vec![
                insert(NextStep, 0, &["a", "b"]),
                turn_start(1),
                claim(NextStep, 1),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnStart { .. } | Fact::StepEnd(_) => self.owed.open(situation, NextStep),
            Fact::StepStart(place) if std::mem::take(&mut self.owed).0 => {
                let left = situation.next_step.first().map(|pending| pending.inserted);
                let words = format!("step {place} opens, and next-step was not claimed for it");
                report.violated(left.as_slice(), words);
            }
            Fact::Spliced(splice) => {
                if splice.is_claim() {
                    judge_next_step(situation, &splice, report);
                }
                if splice.target == NextStep {
                    self.owed.follow(situation, &splice);
                }
            }
            _ => {}
        }
    }
}

fn judge_next_step(situation: &Situation, splice: &Spliced<'_>, report: &mut Report<'_>) {
    let next_step = &situation.next_step;
    let taken = match splice.target {
        NextStep if splice.start == 0 => splice.removed as usize,
        NextStep => 0,
        // What is in next-step is claimed first.
        NextTurn if next_step.is_empty() => return,
        NextTurn => 0,
    };
    let left = next_step.first().map(|pending| pending.inserted);
    report.expect(taken >= next_step.len(), left.as_slice(), || {
        format!("a claim takes {taken} of {} in next-step", next_step.len())
    });
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimTakesOneNextTurn {
    owed: Owed,
}

impl Rule for ClaimTakesOneNextTurn {
    const ABOUT: About = About {
        name: "claim-takes-one-next-turn",
        sentence: "Only the first boundary of a turn claims from next-turn: its first message, and \
                   only one.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::TurnStart, Kind::StepStart, Kind::Spliced]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a", "b"]),
                turn_start(1),
                claim(NextTurn, 1),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a", "b"]),
                turn_start(1),
                claim(NextTurn, 2),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnStart { .. } => self.owed.open(situation, NextTurn),
            Fact::StepStart(place) if std::mem::take(&mut self.owed).0 => {
                let left = situation.next_turn.first().map(|pending| pending.inserted);
                let words = format!("step {place} opens, and next-turn was not claimed for it");
                report.violated(left.as_slice(), words);
            }
            Fact::Spliced(splice) if splice.target == NextTurn => {
                if splice.is_claim() {
                    judge_next_turn(situation, &splice, report);
                }
                self.owed.follow(situation, &splice);
            }
            _ => {}
        }
    }
}

fn judge_next_turn(situation: &Situation, splice: &Spliced<'_>, report: &mut Report<'_>) {
    let Some(turn) = &situation.turn else { return };
    let fault = if turn.last_step > 0 {
        Some("a later boundary of its turn".to_owned())
    } else if splice.start != 0 {
        Some(format!("a claim from position {}", splice.start))
    } else if splice.removed != 1 {
        Some(format!("a claim of {}", splice.removed))
    } else {
        None
    };
    report.expect(fault.is_none(), &[turn.opened], || {
        format!(
            "next-turn gives its first message alone, not {}",
            fault.unwrap_or_default()
        )
    });
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ListOrderIsKept;

impl Rule for ListOrderIsKept {
    const ABOUT: About = About {
        name: "list-order-is-kept",
        sentence: "Inside one list, what was not edited or moved is claimed in order of arrival; \
                   only next-step may overtake next-turn.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a", "b"]),
                turn_start(1),
                claim(NextTurn, 1),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a", "b"]),
                turn_start(1),
                crate::rules::example::splice(NextTurn, 1, 1, &[], false),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        // Insertions keep the lists in the order in which their messages are to be claimed.
        let ahead = if splice.start > 0 {
            situation.list(splice.target).first()
        } else if splice.target == NextTurn {
            situation.next_step.first()
        } else {
            None
        };
        let others = situation.next_turn.len() + situation.next_step.len() > 1;
        if splice.is_claim() && others {
            let witness = ahead.map(|pending| pending.inserted);
            report.expect(ahead.is_none(), witness.as_slice(), || {
                let id = ahead.map(|pending| pending.id.as_ref());
                format!("a claim overtakes {}", id.unwrap_or_default())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Record;
    use crate::rules::example::{broken, cancel, judge, splice, step_end, step_start};

    fn after_step(records: Vec<Record>) -> Vec<&'static str> {
        let mut log = vec![turn_start(1), step_start(1, 1)];
        log.extend(records);
        broken(&judge(log))
    }

    #[test]
    fn a_later_boundary_takes_all_of_next_step_too() {
        let both = insert(NextStep, 0, &["a", "b"]);
        let one = vec![both, step_end(1, 1), claim(NextStep, 1)];
        assert_eq!(after_step(one), ["claim-takes-all-of-next-step"]);
    }

    #[test]
    fn a_step_opens_after_next_step_was_claimed() {
        let skipped = vec![
            insert(NextStep, 0, &["a"]),
            step_end(1, 1),
            step_start(1, 2),
        ];
        assert_eq!(after_step(skipped), ["claim-takes-all-of-next-step"]);
    }

    #[test]
    fn what_comes_after_an_empty_claim_may_stay() {
        let late = vec![
            step_end(1, 1),
            insert(NextStep, 0, &["a"]),
            step_start(1, 2),
        ];
        assert!(after_step(late).is_empty());
    }

    #[test]
    fn what_was_removed_before_the_claim_is_not_owed() {
        let removed = vec![
            insert(NextStep, 0, &["a"]),
            step_end(1, 1),
            cancel(NextStep, 0, 1),
            step_start(1, 2),
        ];
        assert!(after_step(removed).is_empty());
    }

    #[test]
    fn a_first_step_opens_after_next_turn_was_claimed() {
        let skipped = vec![insert(NextTurn, 0, &["a"]), turn_start(1), step_start(1, 1)];
        assert_eq!(broken(&judge(skipped)), ["claim-takes-one-next-turn"]);
    }

    #[test]
    fn a_later_boundary_claims_nothing_from_next_turn() {
        let later = vec![
            insert(NextTurn, 0, &["a"]),
            step_end(1, 1),
            claim(NextTurn, 1),
        ];
        assert_eq!(after_step(later), ["claim-takes-one-next-turn"]);
    }

    #[test]
    fn next_turn_does_not_overtake_next_step() {
        let records = vec![
            insert(NextStep, 0, &["a"]),
            insert(NextTurn, 0, &["b"]),
            turn_start(1),
            claim(NextTurn, 1),
        ];
        let broken = broken(&judge(records));
        assert_eq!(
            broken,
            ["claim-takes-all-of-next-step", "list-order-is-kept"]
        );
    }

    #[test]
    fn an_ordinary_removal_may_take_from_anywhere() {
        let records = vec![
            insert(NextTurn, 0, &["a", "b"]),
            turn_start(1),
            splice(NextTurn, 1, 1, &[], true),
        ];
        assert!(broken(&judge(records)).is_empty());
    }
}
