//! Removals: the loop's, and everybody else's.

use crate::event::Live;
use crate::event::Target::NextTurn;
use crate::rules::example::{cancel, claim, insert, splice, turn_start};
use crate::rules::{About, Fact, Kind, Kinds, Report, Rule, Scope, Seen, Situation, Spliced};

/// See [`Rule::ABOUT`].
///
/// A removal that does not say so passes for a claim only where a claim can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct RemovalSaysCanceled;

impl Rule for RemovalSaysCanceled {
    const ABOUT: About = About {
        name: "removal-says-canceled",
        sentence: "A removal that is not a claim carries `outcome: \"canceled\"`.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || vec![insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1)],
        refused: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                splice(NextTurn, 0, 1, &[], false),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        if splice.removed == 0 {
            return;
        }
        if splice.canceled {
            report.exercised();
        } else if let Some(why) = no_claim(situation, &splice) {
            let words = format!("a removal that is no claim, {why}, has no outcome");
            report.violated(&[], words);
        }
    }
}

/// Why a removal cannot be a claim, if it cannot.
fn no_claim(situation: &Situation, splice: &Spliced<'_>) -> Option<&'static str> {
    if situation.turn.is_none() {
        Some("outside a turn")
    } else if situation.step.is_some() {
        Some("inside a step")
    } else if splice.start > 0 {
        Some("not from the head of its list")
    } else if splice.inserted.count() > 0 {
        Some("with something in its place")
    } else {
        None
    }
}

/// See [`Rule::ABOUT`].
///
/// Where live events are recorded: what is announced as claimed was removed by such a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimIsAPureDeletion;

impl Rule for ClaimIsAPureDeletion {
    const ABOUT: About = About {
        name: "claim-is-a-pure-deletion",
        sentence: "A removal without outcome inserts nothing.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced, Kind::Claimed]),
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
                splice(NextTurn, 0, 1, &["b"], false),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) if splice.is_claim() => {
                let inserted = splice.inserted.count();
                report.expect(inserted == 0, &[], || {
                    format!("a removal without outcome inserts {inserted}")
                });
            }
            Fact::Live(Live::Claimed { message, .. }) => {
                let id = message.id.as_str();
                if !situation.batch.iter().any(|claimed| *claimed.id == *id) {
                    let words = format!("{id} is claimed, and no removal without outcome took it");
                    report.violated(&[], words);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{broken, claimed, judge};

    #[test]
    fn a_claim_does_not_say_canceled() {
        let canceled = vec![
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            cancel(NextTurn, 0, 1),
            claimed("a", 1),
        ];
        assert!(broken(&judge(canceled)).contains(&"claim-is-a-pure-deletion"));
    }

    #[test]
    fn a_claim_carries_no_outcome() {
        let records = vec![
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            claimed("a", 1),
        ];
        assert!(broken(&judge(records)).is_empty());
    }
}
