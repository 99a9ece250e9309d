//! Steps inside their turn: nesting, numbering, closing.

use crate::rules::example::{step_end, step_start, turn_end, turn_start};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct StepsNestInTurns;

impl Rule for StepsNestInTurns {
    const ABOUT: About = About {
        name: "steps-nest-in-turns",
        sentence: "`step/start` and `step/end` name the open turn; steps never overlap.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::StepStart, Kind::StepEnd]),
        accepted: || vec![turn_start(1), step_start(1, 1), step_end(1, 1)],
        refused: || vec![step_start(1, 1)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let (Fact::StepStart(place) | Fact::StepEnd(place)) = seen.fact else {
            return;
        };
        let turn = situation.turn.as_ref();
        let step = situation.step.as_ref();
        let in_turn = turn.is_some_and(|turn| turn.number == place.turn);
        let opens = matches!(seen.fact, Fact::StepStart(_));
        let in_order = if opens {
            step.is_none()
        } else {
            step.is_some_and(|step| step.place == place)
        };
        let witness = step
            .map(|step| step.opened)
            .or(turn.map(|turn| turn.opened));
        report.expect(in_turn && in_order, witness.as_slice(), || {
            let act = if opens { "opens" } else { "closes" };
            let what = match (turn, step) {
                (None, _) => "no turn is open".to_owned(),
                (Some(turn), _) if !in_turn => format!("turn {} is open", turn.number),
                (_, Some(step)) => format!("step {} is open", step.place),
                (_, None) => "no step is open".to_owned(),
            };
            format!("step {place} {act} while {what}")
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct StepNumbersFollow;

impl Rule for StepNumbersFollow {
    const ABOUT: About = About {
        name: "step-numbers-follow",
        sentence: "Steps count 1, 2, 3 inside their turn.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::StepStart]),
        accepted: || {
            vec![
                turn_start(1),
                step_start(1, 1),
                step_end(1, 1),
                step_start(1, 2),
            ]
        },
        refused: || vec![turn_start(1), step_start(1, 2)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let (Fact::StepStart(place), Some(turn)) = (seen.fact, &situation.turn) else {
            return;
        };
        let expected = turn.last_step.saturating_add(1);
        report.expect(place.step == expected, &[turn.opened], || {
            format!("step {place} where step {expected} comes next")
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct StepClosesBeforeTurn {
    closed: Option<Mark>,
}

impl Rule for StepClosesBeforeTurn {
    const ABOUT: About = About {
        name: "step-closes-before-turn",
        sentence: "No `turn/end` while a step is open.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::StepEnd, Kind::TurnEnd]),
        accepted: || {
            vec![
                turn_start(1),
                step_start(1, 1),
                step_end(1, 1),
                turn_end(1, "completed"),
            ]
        },
        refused: || vec![turn_start(1), step_start(1, 1), turn_end(1, "completed")],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::StepEnd(_) => self.closed = Some(seen.mark),
            Fact::TurnEnd { turn, .. } => {
                match &situation.step {
                    Some(step) => report.violated(
                        &[step.opened],
                        format!("turn {turn} ends while step {} is open", step.place),
                    ),
                    None if self.closed.is_some() => report.exercised(),
                    None => {}
                }
                self.closed = None;
            }
            _ => self.closed = None,
        }
    }
}
