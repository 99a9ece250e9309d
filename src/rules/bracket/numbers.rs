//! Sequence numbers and the numbering of turns.

use crate::event::Seq;
use crate::rules::example::{at_seq, turn_end, turn_start};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct SeqIsContiguous {
    last: Option<(Mark, Seq)>,
}

impl Rule for SeqIsContiguous {
    const ABOUT: About = About {
        name: "seq-is-contiguous",
        sentence: "Sequence numbers run 0, 1, 2 … without gap or repeat (a log without `seq` \
                   counts by position).",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE,
        accepted: || {
            vec![
                at_seq(0, turn_start(1)),
                at_seq(1, turn_end(1, "completed")),
            ]
        },
        refused: || {
            vec![
                at_seq(0, turn_start(1)),
                at_seq(2, turn_end(1, "completed")),
            ]
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        // A log without sequence numbers counts by position.
        let Some(seq) = seen.seq else { return };
        let expected = self.last.map_or(0, |(_, last)| last.saturating_add(1));
        let witness = self.last.map(|(mark, _)| mark);
        report.expect(seq == expected, witness.as_slice(), || {
            format!("sequence number {seq} where {expected} comes next")
        });
        let last = seq.saturating_add(u64::from(seen.fact.count()).saturating_sub(1));
        self.last = Some((seen.mark, last));
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnsNeverOverlap;

impl Rule for TurnsNeverOverlap {
    const ABOUT: About = About {
        name: "turns-never-overlap",
        sentence: "`turn/start` comes only when no turn is open; `turn/end` closes the open turn, \
                   by its number.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd]),
        accepted: || vec![turn_start(1), turn_end(1, "completed"), turn_start(2)],
        refused: || vec![turn_start(1), turn_start(2)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let open = situation.turn.as_ref();
        let witness = open.map(|turn| turn.opened);
        match seen.fact {
            Fact::TurnStart { turn } => report.expect(open.is_none(), witness.as_slice(), || {
                format!("turn {turn} opens inside an open turn")
            }),
            Fact::TurnEnd { turn, .. } => {
                let closes = open.is_some_and(|open| open.number == turn);
                report.expect(closes, witness.as_slice(), || match open {
                    Some(open) => {
                        format!("turn {turn} is closed while turn {} is open", open.number)
                    }
                    None => format!("turn {turn} is closed while none is open"),
                });
            }
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnNumbersFollow;

impl Rule for TurnNumbersFollow {
    const ABOUT: About = About {
        name: "turn-numbers-follow",
        sentence: "Each turn's number is the previous one's plus one, over resume and fork.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart]),
        accepted: || vec![turn_start(1), turn_end(1, "completed"), turn_start(2)],
        refused: || vec![turn_start(1), turn_end(1, "completed"), turn_start(3)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::TurnStart { turn } = seen.fact else {
            return;
        };
        let expected = situation.last_turn.map_or(1, |last| last.saturating_add(1));
        report.expect(turn == expected, &[], || {
            format!("turn {turn} where turn {expected} comes next")
        });
    }
}
