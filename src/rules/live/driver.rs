//! The driver: its status, and which turn follows which.

use crate::event::{Live, Record, Status};
use crate::rules::example::{
    asks, claiming, doing, first_decision, first_step, followup, idle, queued, rejecting, rest,
    running, step_end, turn_end, turn_start, turn_stopping,
};
use crate::rules::{About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct StatusAlternates;

impl Rule for StatusAlternates {
    const ABOUT: About = About {
        name: "status-alternates",
        sentence: "Status goes idle → running → idle, never twice the same.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Status]),
        accepted: || vec![running(), idle()],
        refused: || vec![idle()],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        if let Fact::Live(Live::Status { status }) = seen.fact {
            let changes = (*status == Status::Running) != situation.running;
            report.expect(changes, &[], || {
                format!("the status is {status:?} already").to_lowercase()
            });
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DrainsWithoutIdle {
    /// The end of the last turn, if its driver is to go on.
    ended: Option<Mark>,
}

impl Rule for DrainsWithoutIdle {
    const ABOUT: About = About {
        name: "drains-without-idle",
        sentence: "After a turn that ended with a step and normally, the same driver goes on with \
                   what is pending, without idle in between.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::Status, Kind::Crashed]),
        accepted: || [first_turn_with_more(), vec![turn_start(2)]].concat(),
        refused: || [first_turn_with_more(), vec![idle()]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnEnd { end, .. } => {
                let stepped = situation
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.last_step > 0);
                let normal = matches!(end, EndKind::Completed | EndKind::MaxTokens);
                self.ended = (stepped && normal && situation.is_run).then_some(seen.mark);
            }
            Fact::TurnStart { .. } => {
                if self.ended.take().is_some() {
                    report.exercised();
                }
            }
            Fact::Live(Live::Status {
                status: Status::Idle,
            }) => {
                let Some(ended) = self.ended.take() else {
                    return;
                };
                let excused = situation.aborted.is_some() || situation.append_refused.is_some();
                if let Some(pending) = situation.pending().next()
                    && !excused
                {
                    let words = format!("idle while \"{}\" is pending", pending.id);
                    report.violated(&[ended, pending.inserted], words);
                }
            }
            _ => self.ended = None,
        }
    }
}

/// Turn 1 has ended normally, and one more message is pending.
fn first_turn_with_more() -> Vec<Record> {
    let end = vec![
        asks(1, 1, &[]),
        step_end(1, 1),
        turn_stopping(1),
        turn_end(1, "completed"),
    ];
    [first_step("a"), doing(followup("b"), queued(0, "b")), end].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct NoTurnAfterAStop {
    /// The end of the last turn, if it stopped the driver.
    stopped: Option<Mark>,
    /// Whether the driver was started by a wake, and has opened no turn yet. It may close one that
    /// it owes first.
    woken: bool,
}

impl Rule for NoTurnAfterAStop {
    const ABOUT: About = About {
        name: "no-turn-after-a-stop",
        sentence: "After a turn that ended blocked, failed, aborted or emptied at its first \
                   entry, no turn starts without a new wake or a latched one.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::Status, Kind::Crashed]),
        accepted: || {
            let midst = [
                queued(0, "b"),
                vec![running(), turn_start(2)],
                claiming("b", 2),
            ];
            [first_turn_blocked(), doing(followup("b"), midst.concat())].concat()
        },
        refused: || [first_turn_blocked(), vec![running(), turn_start(2)]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnEnd { end, .. } => {
                let empty = situation
                    .turn
                    .as_ref()
                    .is_none_or(|turn| turn.last_step == 0);
                let stops = match end {
                    EndKind::Blocked | EndKind::Error { .. } | EndKind::Aborted { .. } => true,
                    EndKind::Completed => empty,
                    _ => false,
                };
                self.stopped = (stops && situation.is_run).then_some(seen.mark);
            }
            Fact::Live(Live::Status {
                status: Status::Running,
            }) => self.woken = situation.is_woken(),
            Fact::TurnStart { turn } => {
                if let Some(stop) = self.stopped.take() {
                    report.expect(self.woken, &[stop], || {
                        format!("turn {turn} starts, and nobody woke the driver")
                    });
                }
                self.woken = false;
            }
            Fact::Observed(_) => self.stopped = None,
            _ => {}
        }
    }
}

/// Turn 1 was rejected, and the driver is idle.
fn first_turn_blocked() -> Vec<Record> {
    let end = vec![rejecting(), turn_end(1, "blocked"), idle(), rest(&[], &[])];
    [first_decision("a"), end].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target;
    use crate::rules::example::{cancel, discarded, insert, inserted, steer, stop, stop_and_clear};
    use crate::rules::tests::broken_names;

    #[test]
    fn a_stop_leaves_what_is_pending_without_a_turn() {
        let records = [first_turn_with_more(), Vec::new()].concat();
        let (last, before) = records.split_last().unwrap();
        let stopped = [before.to_vec(), doing(stop(), Vec::new())].concat();
        let end = vec![turn_end(1, "aborted"), idle()];
        assert!(matches!(last, Record::Durable(_)));
        assert_eq!(broken_names([stopped, end].concat()), [""; 0]);
    }

    #[test]
    fn a_latched_wake_starts_the_next_turn() {
        let late = vec![insert(Target::NextTurn, 0, &["b"]), inserted("b")];
        let records = [
            first_decision("a"),
            doing(stop(), Vec::new()),
            doing(steer("b"), late),
            vec![turn_end(1, "aborted"), idle(), running(), turn_start(2)],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn a_latch_that_a_broad_cancel_forgot_starts_nothing() {
        let late = vec![insert(Target::NextTurn, 0, &["b"]), inserted("b")];
        let cleared = vec![cancel(Target::NextTurn, 0, 1), discarded("b")];
        let records = [
            first_decision("a"),
            doing(stop(), Vec::new()),
            doing(steer("b"), late),
            doing(stop_and_clear(), cleared),
            vec![turn_end(1, "aborted"), idle(), running(), turn_start(2)],
        ];
        let broken = broken_names(records.concat());
        assert!(broken.contains(&"no-turn-after-a-stop"));
        assert!(broken.contains(&"no-wake-without-asking"));
    }
}
