//! One boundary: its one claim, and the messages that enter after it.

use crate::event::Record;
use crate::event::Target::{NextStep, NextTurn};
use crate::rules::example::{cancel, claim, insert, request, step_start, turn_start, user_message};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// A first boundary with something in both lists.
fn both_lists() -> Vec<Record> {
    vec![
        insert(NextStep, 0, &["a"]),
        insert(NextTurn, 0, &["b", "c"]),
        turn_start(1),
    ]
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimIsAtomic {
    /// The claim of next-step, and what was seen first after it.
    half: Option<(Mark, Option<Mark>)>,
}

impl Rule for ClaimIsAtomic {
    const ABOUT: About = About {
        name: "claim-is-atomic",
        sentence: "Nothing stands between the two splices of one claim.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::DURABLE.and(Kinds::of(&[
            Kind::Inserted,
            Kind::Claimed,
            Kind::Discarded,
            Kind::Status,
            Kind::Error,
            Kind::Asked,
            Kind::PreStep,
        ])),
        accepted: || {
            let mut records = both_lists();
            records.extend([claim(NextStep, 1), claim(NextTurn, 1)]);
            records
        },
        refused: || {
            let mut records = both_lists();
            records.extend([
                claim(NextStep, 1),
                cancel(NextTurn, 1, 1),
                claim(NextTurn, 1),
            ]);
            records
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) if splice.is_claim() => {
                let half = self.half.take();
                if splice.target == NextStep {
                    self.half = Some((seen.mark, None));
                } else if let Some((first, between)) = half {
                    let witnesses: Vec<_> = [first].into_iter().chain(between).collect();
                    report.expect(between.is_none(), &witnesses, || {
                        "something stands between the two splices of a claim".to_owned()
                    });
                }
            }
            Fact::TurnStart { .. } | Fact::StepStart(_) | Fact::TurnEnd { .. } => self.half = None,
            _ => {
                if let Some((_, between)) = &mut self.half {
                    between.get_or_insert(seen.mark);
                }
            }
        }
    }
}

/// See [`Rule::ABOUT`].
///
/// Where decisions are recorded: none comes before the claim that it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct OneClaimPerBoundary {
    /// What was claimed from next-step at the open boundary.
    next_step: Option<Mark>,
    /// What was claimed from next-turn.
    next_turn: Option<Mark>,
    /// The decision that was asked.
    asked: Option<Mark>,
}

impl Rule for OneClaimPerBoundary {
    const ABOUT: About = About {
        name: "one-claim-per-boundary",
        sentence: "At most one claim before each step.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::StepEnd,
            Kind::TurnEnd,
            Kind::Spliced,
            Kind::Asked,
            Kind::PreStep,
        ]),
        accepted: || {
            let mut records = both_lists();
            records.extend([claim(NextStep, 1), claim(NextTurn, 1)]);
            records
        },
        refused: || {
            vec![
                insert(NextStep, 0, &["a"]),
                turn_start(1),
                claim(NextStep, 1),
                insert(NextStep, 0, &["b"]),
                claim(NextStep, 1),
            ]
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) if splice.is_claim() => {
                let (claimed, before) = match splice.target {
                    NextStep => (&mut self.next_step, self.next_turn),
                    NextTurn => (&mut self.next_turn, None),
                };
                let first = claimed.or(before).or(self.asked);
                report.expect(first.is_none(), first.as_slice(), || {
                    "a second claim at one boundary".to_owned()
                });
                *claimed = Some(seen.mark);
            }
            Fact::Spliced(_) => {}
            Fact::Observed(_) => self.asked = Some(seen.mark),
            _ => *self = Self::default(),
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct EnteredAfterStepStart {
    /// Whether the loop has done nothing since `step/start` but let messages enter.
    entering: bool,
}

impl Rule for EnteredAfterStepStart {
    const ABOUT: About = About {
        name: "entered-after-step-start",
        sentence: "The messages that enter follow `step/start` at once, before the request.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::DURABLE,
        accepted: || {
            let mut records = entering();
            records.extend([step_start(1, 1), user_message("a"), request()]);
            records
        },
        refused: || {
            let mut records = entering();
            records.extend([user_message("a"), step_start(1, 1)]);
            records
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::UserMessage { id, surface } if !surface.replaces => {
                let step = situation.step.as_ref();
                let witness = step.map(|step| step.opened);
                report.expect(self.entering, witness.as_slice(), || match step {
                    Some(step) => format!("{id} enters late in step {}", step.place),
                    None => format!("{id} enters while no step is open"),
                });
            }
            Fact::StepStart(_) => self.entering = true,
            // Of others: edits of the inbox, events of plugins, rewrites of history.
            Fact::Spliced(_) | Fact::Other { .. } | Fact::Odd { .. } | Fact::UserMessage { .. } => {
            }
            _ => self.entering = false,
        }
    }
}

/// A turn that has claimed a message.
fn entering() -> Vec<Record> {
    vec![
        insert(NextTurn, 0, &["a"]),
        turn_start(1),
        claim(NextTurn, 1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{broken, claimed, judge, replacing, step_end};

    #[test]
    fn no_claim_is_announced_between_its_splices() {
        let mut records = both_lists();
        records.extend([claim(NextStep, 1), claimed("a", 1), claim(NextTurn, 1)]);
        assert_eq!(broken(&judge(records)), ["claim-is-atomic"]);
    }

    #[test]
    fn a_claim_comes_before_its_decision() {
        let asked = Record::Asked {
            messages: Vec::new(),
            turn: 1,
            step: 1,
        };
        let late = insert(NextStep, 0, &["a"]);
        let records = vec![turn_start(1), asked, late, claim(NextStep, 1)];
        assert!(broken(&judge(records)).contains(&"one-claim-per-boundary"));
    }

    #[test]
    fn each_boundary_has_a_claim_of_its_own() {
        let mut records = entering();
        records.extend([
            step_start(1, 1),
            user_message("a"),
            insert(NextStep, 0, &["b"]),
            step_end(1, 1),
            claim(NextStep, 1),
        ]);
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn others_may_edit_the_inbox_while_messages_enter() {
        let mut records = entering();
        records.extend([
            step_start(1, 1),
            insert(NextStep, 0, &["b"]),
            user_message("a"),
        ]);
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn no_message_enters_after_the_request() {
        let mut records = entering();
        records.extend([step_start(1, 1), request(), user_message("a")]);
        assert_eq!(broken(&judge(records)), ["entered-after-step-start"]);
    }

    #[test]
    fn a_summary_of_older_history_may_stand_outside_a_step() {
        let mut records = entering();
        records.extend([
            replacing(0, user_message("s")),
            step_start(1, 1),
            user_message("a"),
        ]);
        assert!(broken(&judge(records)).is_empty());
    }
}
