//! The pre-step decision: when it is asked, and of what.

use std::sync::Arc;

use crate::event::{MessageId, Op, Record, Step, Turn};
use crate::rules::example::{
    asked, doing, first_decision, inner, pre_step, rejecting, returned, step_start, stop, turn_end,
    turn_start,
};
use crate::rules::{About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct OneDecisionPerClaim;

impl Rule for OneDecisionPerClaim {
    const ABOUT: About = About {
        name: "one-decision-per-claim",
        sentence: "One pre-step decision is asked for each proposed step, after the claimed \
                   events; none when the activity was aborted before; never two.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Asked, Kind::StepStart]),
        accepted: || vec![turn_start(1), asked(&[], 1, 1)],
        refused: || vec![turn_start(1), asked(&[], 1, 1), asked(&[], 1, 1)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let boundary = situation.boundary.as_ref();
        if let Fact::StepStart(_) = seen.fact {
            let decided = boundary.is_some_and(|boundary| boundary.decided.is_some());
            if situation.is_run && !decided {
                report.violated(&[], "a step opens, and nobody was asked");
            }
            return;
        }
        report.exercised();
        let asked = boundary.and_then(|boundary| boundary.asked);
        if let Some((before, _)) = asked {
            report.violated(&[before], "the decision is asked for twice");
        } else if situation.notices.is_owed() {
            report.violated(&[], "the decision is asked for before the claim was told");
        } else if let Some((abort, _)) = situation.aborted {
            report.violated(&[abort], "a decision is asked for after the abort");
        } else if boundary.is_none() || situation.step.is_some() {
            report.violated(&[], "a decision is asked for where no step can open");
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DecisionSeesTheClaimedBatch {
    /// The listener that was asked last.
    innermost: Option<Arc<str>>,
}

impl Rule for DecisionSeesTheClaimedBatch {
    const ABOUT: About = About {
        name: "decision-sees-the-claimed-batch",
        sentence: "Every listener is shown exactly the claimed batch, next-step messages first, \
                   then the next-turn one; the default decision enters it (with the loop's own \
                   context behind it, if there is any).",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Asked, Kind::PreStep, Kind::PreStepResult]),
        accepted: || {
            let mut records = first_decision("a");
            records.extend([pre_step("p", &["a"], 1, 1), inner("p", &["a"])]);
            records
        },
        refused: || {
            let mut records = first_decision("a");
            records.push(pre_step("p", &[], 1, 1));
            records
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let (Fact::Observed(record), Some(boundary)) = (seen.fact, &situation.boundary) else {
            return;
        };
        let batch = || boundary.batch().map(|id| &**id);
        let shown = match record {
            Record::Asked { messages, .. } => messages,
            Record::PreStep {
                listener, messages, ..
            } => {
                self.innermost = Some(listener.clone());
                messages
            }
            Record::PreStepResult { listener, entry } => {
                if self.innermost.as_ref() == Some(listener) {
                    let count = batch().count();
                    let default = entry.as_ref().is_some_and(|entry| {
                        (count..=count + 1).contains(&entry.len())
                            && batch().eq(ids(entry).take(count))
                    });
                    report.expect(default, boundary.claimed.as_slice(), || {
                        "the default decision is not to enter what was claimed".into()
                    });
                }
                return;
            }
            _ => return,
        };
        report.expect(batch().eq(ids(shown)), boundary.claimed.as_slice(), || {
            let batch: Vec<_> = batch().collect();
            format!("shown is [{}], claimed was {batch:?}", list(shown))
        });
    }
}

fn ids(ids: &[MessageId]) -> impl Iterator<Item = &str> {
    ids.iter().map(MessageId::as_str)
}

fn list(ids: &[MessageId]) -> String {
    self::ids(ids).collect::<Vec<_>>().join(" ")
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ProposalNamesTheNextStep;

impl Rule for ProposalNamesTheNextStep {
    const ABOUT: About = About {
        name: "proposal-names-the-next-step",
        sentence: "The decision is asked for the open turn and its last opened step plus one.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Asked, Kind::PreStep]),
        accepted: || vec![turn_start(1), asked(&[], 1, 1)],
        refused: || vec![turn_start(1), asked(&[], 1, 2)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let proposed: (Turn, Step) = match seen.fact {
            Fact::Observed(
                Record::Asked { turn, step, .. } | Record::PreStep { turn, step, .. },
            ) => (*turn, *step),
            _ => return,
        };
        let open = situation.turn.as_ref();
        let next = open.map(|turn| (turn.number, turn.last_step + 1));
        let witness = open.map(|turn| turn.opened);
        report.expect(next == Some(proposed), witness.as_slice(), || {
            let (turn, step) = proposed;
            match next {
                Some((t, s)) => format!("asked for {turn}.{step} where {t}.{s} is next"),
                None => format!("asked for {turn}.{step}, and no turn is open"),
            }
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimedIsExclusive {
    /// Operations on a claimed message that are going on: how many were before each.
    depths: Vec<usize>,
}

impl Rule for ClaimedIsExclusive {
    const ABOUT: About = About {
        name: "claimed-is-exclusive",
        sentence: "While the decision is pending, no claimed message can be found in the inbox: \
                   replace and remove answer that it is not pending.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Act,
            Kind::React,
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Returned,
            Kind::Crashed,
        ]),
        accepted: || removed_while_claimed(false),
        refused: || removed_while_claimed(true),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Observed(record) = seen.fact else {
            return;
        };
        let depth = situation.operations.len();
        match record {
            Record::Act { op, .. } | Record::React(op) if is_hidden(situation, op) => {
                self.depths.push(depth);
            }
            Record::ActEnd | Record::ReactEnd(_) => self.depths.retain(|before| before + 1 < depth),
            Record::Crashed => self.depths.clear(),
            Record::Returned(crate::event::Returned::Pending(was))
                if self.depths.last().is_some_and(|before| before + 1 == depth) =>
            {
                let claim = situation.boundary.as_ref().and_then(|b| b.claimed);
                report.expect(!was, claim.as_slice(), || {
                    "a claimed message is said to be pending".into()
                });
            }
            _ => {}
        }
    }
}

/// Whether it is about a message that was claimed for a decision still to come, and is not pending
/// anew.
fn is_hidden(situation: &Situation, op: &Op) -> bool {
    let (Op::Replace { id, .. } | Op::Remove { id }) = op else {
        return false;
    };
    let pending = situation.boundary.as_ref().filter(|b| b.is_pending());
    let claimed = pending.is_some_and(|boundary| boundary.has_claimed(id.as_str()));
    claimed && !situation.is_pending(id.as_str())
}

fn removed_while_claimed(answer: bool) -> Vec<Record> {
    let removal = doing(Op::Remove { id: "a".into() }, vec![returned(answer)]);
    [first_decision("a"), removal].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DecisionAfterAbortIsIgnored {
    late: Option<Mark>,
}

impl Rule for DecisionAfterAbortIsIgnored {
    const ABOUT: About = About {
        name: "decision-after-abort-is-ignored",
        sentence: "A decision reached after the abort changes nothing: the turn ends `aborted`.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Decided,
            Kind::StepStart,
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Crashed,
        ]),
        accepted: || late_decision(turn_end(1, "aborted")),
        refused: || late_decision(step_start(1, 1)),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::Decided(_)) if situation.aborted.is_some() => {
                self.late = Some(seen.mark);
            }
            Fact::StepStart(_) => {
                if let Some(late) = self.late.take() {
                    report.violated(&[late], "a decision that came after the abort opens a step");
                }
            }
            Fact::TurnEnd { end, .. } => {
                if let Some(late) = self.late.take() {
                    let aborted = matches!(end, EndKind::Aborted { .. });
                    report.expect(aborted, &[late], || {
                        "a decision that came after the abort ends the turn its way".into()
                    });
                }
            }
            Fact::TurnStart { .. } | Fact::Observed(Record::Crashed) => self.late = None,
            _ => {}
        }
    }
}

fn late_decision(then: Record) -> Vec<Record> {
    let mut records = first_decision("a");
    records.extend(doing(stop(), Vec::new()));
    records.extend([rejecting(), then]);
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target;
    use crate::rules::example::{
        cancel, claim, claimed, discarded, entering, followup, insert, queued, running, step_end,
        user_message,
    };
    use crate::rules::tests::broken_names;

    #[test]
    fn next_step_comes_before_next_turn_in_what_is_shown() {
        let claim_of = |shown: &[&str]| {
            vec![
                insert(Target::NextTurn, 0, &["turn"]),
                insert(Target::NextStep, 0, &["x", "y"]),
                turn_start(1),
                claim(Target::NextStep, 2),
                claim(Target::NextTurn, 1),
                claimed("x", 1),
                claimed("y", 1),
                claimed("turn", 1),
                asked(shown, 1, 1),
            ]
        };
        assert_eq!(broken_names(claim_of(&["x", "y", "turn"])), [""; 0]);
        let reversed = broken_names(claim_of(&["turn", "x", "y"]));
        assert_eq!(reversed, ["decision-sees-the-claimed-batch"]);
    }

    #[test]
    fn the_loops_own_context_may_stand_behind_the_default_entry() {
        let mut records = first_decision("a");
        records.extend([pre_step("p", &["a"], 1, 1), inner("p", &["a", "context"])]);
        assert_eq!(broken_names(records), [""; 0]);
    }

    #[test]
    fn an_identity_that_was_sent_anew_may_be_removed_while_its_first_message_is_claimed() {
        let mut records = first_decision("a");
        records.extend(doing(followup("a"), queued(0, "a")));
        let removal = vec![
            cancel(Target::NextTurn, 0, 1),
            discarded("a"),
            returned(true),
        ];
        records.extend(doing(Op::Remove { id: "a".into() }, removal));
        assert_eq!(broken_names(records), [""; 0]);
    }

    #[test]
    fn a_decision_before_the_claim_is_told_comes_too_early() {
        let records = vec![
            running(),
            insert(Target::NextTurn, 0, &["a"]),
            turn_start(1),
            claim(Target::NextTurn, 1),
            asked(&["a"], 1, 1),
        ];
        assert!(broken_names(records).contains(&"one-decision-per-claim"));
    }

    #[test]
    fn a_step_without_a_decision_is_refused_in_a_run_and_not_in_a_log() {
        let log = vec![turn_start(1), step_start(1, 1), step_end(1, 1)];
        assert!(!broken_names(log.clone()).contains(&"one-decision-per-claim"));
        let run = [vec![running()], log].concat();
        assert!(broken_names(run).contains(&"one-decision-per-claim"));
    }

    #[test]
    fn each_boundary_has_its_own_decision() {
        let mut records = first_decision("a");
        records.extend([
            entering(&["a"]),
            step_start(1, 1),
            user_message("a"),
            step_end(1, 1),
            asked(&[], 1, 2),
        ]);
        assert_eq!(broken_names(records), [""; 0]);
    }
}
