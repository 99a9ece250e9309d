//! Stops: of a turn, of nothing; and the reject, which stops, too.

use crate::event::{Answer, Live, Op, Record, Status};
use crate::rules::example::{
    doing, first_decision, first_step, idle, queued, rejecting, rest, stop, turn_end,
};
use crate::rules::{
    About, Doing, EndKind, Fact, Kind, Kinds, Mark, Publication, Report, Rule, Scope, Seen,
    Situation,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct CancelClosesBalanced {
    /// The turn's own failure was announced before any abort: it ends as that.
    failed: bool,
}

impl Rule for CancelClosesBalanced {
    const ABOUT: About = About {
        name: "cancel-closes-balanced",
        sentence: "Whatever the moment, a cancelled turn closes its step, then itself, as \
                   `aborted` with the first cause.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::Error, Kind::Rest]),
        accepted: || {
            let stopped = doing(stop(), Vec::new());
            [first_decision("a"), stopped, vec![turn_end(1, "aborted")]].concat()
        },
        refused: || {
            let stopped = doing(stop(), Vec::new());
            [first_step("a"), stopped, vec![turn_end(1, "aborted")]].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnStart { .. } => self.failed = false,
            Fact::Live(Live::Error { .. }) => {
                self.failed |= situation.aborted.is_none() && situation.step.is_none();
            }
            Fact::TurnEnd { end, cause, .. } => {
                let Some((abort, first)) = &situation.aborted else {
                    return;
                };
                if self.failed || situation.append_refused.is_some() {
                    return;
                }
                let wrong = if situation.step.is_some() {
                    Some("its step is still open")
                } else if !matches!(end, EndKind::Aborted { .. }) {
                    Some("it does not say that it was aborted")
                } else if cause != Some(first) {
                    Some("it names another cause than the first")
                } else {
                    None
                };
                report.expect(wrong.is_none(), &[*abort], || {
                    format!("a cancelled turn ends, and {}", wrong.unwrap_or(""))
                });
            }
            Fact::Observed(Record::Rest(resting)) if resting.quiet => {
                let open = situation.turn.as_ref();
                if let Some(turn) = open.filter(|_| situation.append_refused.is_none()) {
                    let words = format!("turn {} is left open", turn.number);
                    report.violated(&[turn.opened], words);
                }
            }
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct IdleCancelIsHarmless {
    /// A cancel that found nothing to stop, until the next turn is over.
    idle_cancel: Option<Mark>,
}

impl Rule for IdleCancelIsHarmless {
    const ABOUT: About = About {
        name: "idle-cancel-is-harmless",
        sentence: "A cancel with nothing active changes no later work.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::ActEnd, Kind::ReactEnd, Kind::TurnEnd, Kind::Crashed]),
        accepted: || idly_cancelled("blocked"),
        refused: || idly_cancelled("aborted"),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::TurnEnd { end, .. } => {
                if let Some(cancel) = self.idle_cancel.take() {
                    let aborted = matches!(end, EndKind::Aborted { .. });
                    report.expect(!aborted || situation.aborted.is_some(), &[cancel], || {
                        "a turn is aborted by a cancel that came before it".into()
                    });
                }
            }
            Fact::Observed(Record::Crashed) => self.idle_cancel = None,
            _ => {
                let cancels = |doing: &&Doing| {
                    matches!(doing.op, Op::Cancel { .. }) && doing.refused.is_none()
                };
                if let Some(doing) = situation.doing().filter(cancels)
                    && !situation.is_active()
                {
                    self.idle_cancel = Some(doing.began);
                }
            }
        }
    }
}

fn idly_cancelled(end: &str) -> Vec<Record> {
    let turn = vec![rejecting(), turn_end(1, end), idle(), rest(&[], &[])];
    [doing(stop(), Vec::new()), first_decision("a"), turn].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct RejectLeavesTheBatchRemoved {
    /// The reject, until its driver is idle.
    rejected: Option<Mark>,
    /// A clearing of lists is owed after a publication.
    clears: bool,
}

impl Rule for RejectLeavesTheBatchRemoved {
    const ABOUT: About = About {
        name: "reject-leaves-the-batch-removed",
        sentence: "After a reject, the claimed batch is gone and all else pending is untouched.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Decided,
            Kind::Spliced,
            Kind::ReactEnd,
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Status,
            Kind::Crashed,
        ]),
        accepted: || {
            [
                first_decision("a"),
                vec![rejecting(), turn_end(1, "blocked")],
            ]
            .concat()
        },
        refused: || {
            let back = [vec![rejecting()], queued(0, "a")].concat();
            [first_decision("a"), back].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::Decided(answer)) => {
                let rejects = *answer == Answer::Reject && situation.aborted.is_none();
                self.rejected = rejects.then_some(seen.mark);
                self.clears = false;
            }
            Fact::Observed(Record::ReactEnd(_)) => {
                let clears = |doing: &Doing| {
                    doing.cancels_broadly() && doing.during == Some(Publication::Durable)
                };
                self.clears |= situation.doing().is_some_and(clears);
            }
            Fact::Spliced(_) => {
                if let Some(reject) = self.rejected
                    && situation.operations.is_empty()
                    && !self.clears
                {
                    report.violated(&[reject], "the loop changes a list after a reject");
                }
            }
            Fact::TurnEnd { .. } => {
                if self.rejected.is_some() {
                    report.exercised();
                }
            }
            Fact::Live(Live::Status {
                status: Status::Running,
            }) => {}
            _ => self.rejected = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CancelCause;
    use crate::rules::example::{error_live, reacting, step_end};
    use crate::rules::tests::broken_names;

    #[test]
    fn the_first_cause_wins() {
        let by = |cause| Op::Cancel {
            cause,
            keep_inbox: true,
        };
        let twice = |first, second| {
            let stops = [doing(by(first), Vec::new()), doing(by(second), Vec::new())];
            let end = vec![step_end(1, 1), turn_end(1, "aborted")];
            [first_step("a"), stops.concat(), end].concat()
        };
        let (user, parent) = (CancelCause::User, CancelCause::Parent);
        assert_eq!(broken_names(twice(user.clone(), parent.clone())), [""; 0]);
        assert_eq!(
            broken_names(twice(parent, user)),
            ["cancel-closes-balanced"]
        );
    }

    #[test]
    fn a_stop_while_the_failure_is_announced_comes_too_late_for_the_turns_end() {
        let records = [
            first_decision("a"),
            vec![error_live(1)],
            reacting(stop(), Vec::new()),
            vec![turn_end(1, "failed"), idle()],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }
}
