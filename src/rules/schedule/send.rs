//! Where a message goes.

use crate::event::Target::{NextStep, NextTurn};
use crate::event::{Live, Op, Record, Status, Target};
use crate::rules::example::{
    doing, first_decision, followup, insert, inserted, queued, reacting, running, steer, stop,
    turn_end,
};
use crate::rules::{
    About, Doing, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation, Spliced,
};

/// The list that a send names; none for another operation.
fn target(op: &Op) -> Option<Target> {
    match op {
        Op::Followup { .. } => Some(NextTurn),
        Op::Steer { .. } | Op::Inject { .. } => Some(NextStep),
        Op::Send { target, .. } => Some(*target),
        _ => None,
    }
}

/// Whether a splice only inserts.
fn inserts(splice: &Spliced<'_>) -> bool {
    splice.removed == 0 && splice.inserted.count() > 0
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct SendGoesToTheEnd;

impl Rule for SendGoesToTheEnd {
    const ABOUT: About = About {
        name: "send-goes-to-the-end",
        sentence: "A send, and a tool's context, lands at the end of its list; prepend at its \
                   head.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || {
            [
                doing(followup("a"), queued(0, "a")),
                doing(followup("b"), queued(1, "b")),
            ]
            .concat()
        },
        refused: || {
            [
                doing(followup("a"), queued(0, "a")),
                doing(followup("b"), queued(0, "b")),
            ]
            .concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        if !situation.is_run || !inserts(&splice) {
            return;
        }
        let list = situation.list(splice.target);
        let place = match situation.doing().map(|doing| &doing.op) {
            Some(Op::Prepend { .. }) => 0,
            Some(Op::Append { .. }) => list.len(),
            Some(op) if target(op).is_some() => list.len(),
            Some(_) => return,
            // Of the loop: a tool's context.
            None => list.len(),
        };
        report.expect(splice.start as usize == place, &[], || {
            format!("inserted at {} where {place} is its place", splice.start)
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct LateWakeGoesToNextTurn;

impl Rule for LateWakeGoesToNextTurn {
    const ABOUT: About = About {
        name: "late-wake-goes-to-next-turn",
        sentence: "A waking send after the abort goes to next-turn whatever its target; a \
                   non-waking one keeps its target.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || late_steer(NextTurn),
        refused: || late_steer(NextStep),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        let Some(doing) = situation.doing().filter(|doing| doing.late) else {
            return;
        };
        let Some(named) = target(&doing.op).filter(|_| inserts(&splice)) else {
            return;
        };
        let right = if doing.is_waking() { NextTurn } else { named };
        report.expect(splice.target == right, &[doing.began], || {
            format!("a send after the abort goes to {}", splice.target.as_str())
        });
    }
}

fn late_steer(target: Target) -> Vec<Record> {
    let sent = vec![insert(target, 0, &["b"]), inserted("b")];
    let steered = doing(steer("b"), sent);
    [first_decision("a"), doing(stop(), Vec::new()), steered].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClassifiedBeforeInsertion {
    /// A send that was not late when it began, and in the midst of which the abort came.
    crossed: Option<Mark>,
}

impl Rule for ClassifiedBeforeInsertion {
    const ABOUT: About = About {
        name: "classified-before-insertion",
        sentence: "Whether a send is late is settled before its insertion is published.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Spliced,
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Status,
            Kind::Rest,
            Kind::Crashed,
        ]),
        accepted: || crossed_steer(NextStep),
        refused: || {
            let relaunched = vec![
                turn_end(1, "aborted"),
                crate::rules::example::idle(),
                running(),
            ];
            [crossed_steer(NextStep), relaunched].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => expect_target(&splice, situation, report),
            Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => {
                let crosses = |doing: &&Doing| {
                    doing.is_waking() && doing.refused.is_none() && !doing.late && !doing.from_idle
                };
                if let Some(doing) = situation.doing().filter(crosses)
                    && situation.aborted.is_some()
                {
                    report.exercised();
                    self.crossed = Some(doing.began);
                }
            }
            Fact::Live(Live::Status { status }) => {
                // A send that was not late is not latched: it starts nothing after the stop.
                if let (Status::Running, Some(send)) = (status, self.crossed)
                    && !situation.is_woken()
                {
                    report.violated(&[send], "a send that the abort crossed was taken for late");
                }
                self.crossed = self.crossed.filter(|_| *status == Status::Idle);
            }
            Fact::Observed(Record::Rest(resting)) if !resting.quiet => {}
            _ => self.crossed = None,
        }
    }
}

fn expect_target(splice: &Spliced<'_>, situation: &Situation, report: &mut Report<'_>) {
    let in_time = |doing: &&Doing| doing.is_waking() && !doing.late;
    let Some(doing) = situation.doing().filter(in_time) else {
        return;
    };
    if !inserts(splice) {
        return;
    }
    if target(&doing.op) != Some(splice.target) {
        let words = format!("a send in time goes to {}", splice.target.as_str());
        report.violated(&[doing.began], words);
    } else if situation.operations.iter().any(Doing::cancels_broadly) {
        // In the midst of the clearing before an abort.
        report.exercised();
    }
}

/// A steer whose insertion an observer answers with a stop.
fn crossed_steer(target: Target) -> Vec<Record> {
    let midst = [
        vec![insert(target, 0, &["b"]), inserted("b")],
        reacting(stop(), Vec::new()),
    ];
    [first_decision("a"), doing(steer("b"), midst.concat())].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{cancel, clearing, discarded, idle, inject, stop_and_clear};
    use crate::rules::tests::broken_names;

    #[test]
    fn a_context_of_a_tool_goes_to_the_end_as_well() {
        let context = |start| {
            let pending = vec![insert(NextStep, 0, &["x"]), inserted("x")];
            let context = vec![insert(NextStep, start, &["y"]), inserted("y")];
            [doing(inject("x"), pending), context].concat()
        };
        assert_eq!(broken_names(context(1)), [""; 0]);
        assert_eq!(broken_names(context(0)), ["send-goes-to-the-end"]);
    }

    #[test]
    fn a_late_send_without_a_wake_keeps_its_target() {
        let sent = vec![insert(NextStep, 0, &["b"]), inserted("b")];
        let records = [
            first_decision("a"),
            doing(stop(), Vec::new()),
            doing(inject("b"), sent),
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    /// The clearing of a broad cancel comes before its abort.
    #[test]
    fn a_send_by_an_observer_of_the_clearing_is_in_time() {
        let steered = reacting(steer("c"), vec![insert(NextStep, 0, &["c"]), inserted("c")]);
        let cleared = [clearing(NextTurn, &["b"]), steered].concat();
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            doing(stop_and_clear(), cleared),
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn what_was_cancelled_and_sent_anew_is_another_message() {
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            doing(
                stop_and_clear(),
                vec![cancel(NextTurn, 0, 1), discarded("b")],
            ),
            vec![turn_end(1, "aborted"), idle()],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }
}
