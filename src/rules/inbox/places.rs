//! Where a claim stands: inside its turn, before its step, right after the turn's start.

use crate::event::Record;
use crate::event::Target::NextTurn;
use crate::rules::example::{claim, insert, request, step_start, turn_start};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimInsideAnOpenTurn {
    /// The last end of a turn.
    ended: Option<Mark>,
}

impl Rule for ClaimInsideAnOpenTurn {
    const ABOUT: About = About {
        name: "claim-inside-an-open-turn",
        sentence: "A claim comes after its `turn/start` and before its `turn/end`.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced, Kind::TurnEnd]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                claim(NextTurn, 1),
            ]
        },
        refused: || vec![insert(NextTurn, 0, &["a"]), claim(NextTurn, 1)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) if splice.is_claim() => {
                report.expect(situation.turn.is_some(), self.ended.as_slice(), || {
                    "a claim while no turn is open".to_owned()
                });
            }
            Fact::TurnEnd { .. } => self.ended = Some(seen.mark),
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimBeforeItsStep;

impl Rule for ClaimBeforeItsStep {
    const ABOUT: About = About {
        name: "claim-before-its-step",
        sentence: "A claim comes while no step is open.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                claim(NextTurn, 1),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                step_start(1, 1),
                claim(NextTurn, 1),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        if splice.is_claim() {
            let open = situation.step.as_ref();
            let witness = open.map(|step| step.opened);
            report.expect(open.is_none(), witness.as_slice(), || {
                let place = open.map(|step| step.place.to_string());
                format!("a claim while step {} is open", place.unwrap_or_default())
            });
        }
    }
}

/// See [`Rule::ABOUT`].
///
/// Where decisions are recorded: none is asked outside a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnStartBeforeClaim {
    /// What the loop did first since the last `turn/start`, claims left out.
    since: Option<Mark>,
}

impl Rule for TurnStartBeforeClaim {
    const ABOUT: About = About {
        name: "turn-start-before-claim",
        sentence: "The first claim of a turn follows its `turn/start` with nothing of the loop in \
                   between.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::DURABLE.and(Kinds::of(&[Kind::Asked, Kind::PreStep])),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                claim(NextTurn, 1),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                request(),
                claim(NextTurn, 1),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnStart { .. } => self.since = None,
            Fact::Spliced(splice) if splice.is_claim() => match &situation.turn {
                // A later boundary's claim; the first one's took nothing.
                Some(turn) if turn.last_step > 0 => {}
                Some(_) => report.expect(self.since.is_none(), self.since.as_slice(), || {
                    "the loop has gone on between turn/start and the first claim".to_owned()
                }),
                None => report.violated(&[], "a claim before its turn/start"),
            },
            Fact::Observed(Record::Asked { .. } | Record::PreStep { .. })
                if situation.turn.is_none() =>
            {
                report.violated(&[], "a decision is asked before turn/start");
            }
            // Of others: edits of the inbox, events of plugins.
            Fact::Spliced(_) | Fact::Other { .. } | Fact::Odd { .. } => {}
            _ => {
                self.since.get_or_insert(seen.mark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::NextStep;
    use crate::rules::example::{broken, cancel, judge, step_end, turn_end};

    #[test]
    fn others_may_edit_the_inbox_between_turn_start_and_claim() {
        let records = vec![
            insert(NextTurn, 0, &["a", "b"]),
            turn_start(1),
            cancel(NextTurn, 1, 1),
            claim(NextTurn, 1),
        ];
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn a_first_boundary_may_take_nothing_and_a_later_one_something() {
        let records = vec![
            turn_start(1),
            step_start(1, 1),
            insert(NextStep, 0, &["a"]),
            step_end(1, 1),
            claim(NextStep, 1),
        ];
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn a_batch_that_is_claimed_before_its_turn_opens_is_refused() {
        let records = vec![
            insert(NextTurn, 0, &["a"]),
            claim(NextTurn, 1),
            turn_start(1),
            turn_end(1, "blocked"),
        ];
        assert!(broken(&judge(records)).contains(&"turn-start-before-claim"));
    }

    #[test]
    fn a_decision_is_asked_inside_its_turn() {
        let asked = Record::Asked {
            messages: Vec::new(),
            turn: 1,
            step: 1,
        };
        let broken = broken(&judge(vec![asked, turn_start(1)]));
        assert!(broken.contains(&"turn-start-before-claim"));
    }
}
