//! Stops: of a turn, of nothing, with and without clearing; and the reject, which stops, too.

use crate::event::Target::{NextStep, NextTurn};
use crate::event::{Answer, Live, Op, Record, Refused, Status};
use crate::rules::example::{
    clearing, doing, first_decision, first_step, idle, insert, inserted, queued, rejecting, rest,
    stop, stop_and_clear, turn_end,
};
use crate::rules::{
    About, Doing, EndKind, Fact, Kind, Kinds, Mark, Publication, Report, Rule, Scope, Seen,
    Situation, Spliced,
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
pub(in crate::rules) struct CancelKeepsOrClears {
    /// Cancels that are going on, one inside another.
    cancels: Vec<Clearing>,
    /// How many messages may be pending at the next rest, after a clearing that follows a
    /// publication.
    owed: Option<usize>,
    /// What the splice that is published inserts, where its list and the other were empty.
    first_in: usize,
}

/// A cancel that is going on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Clearing {
    /// How many operations were going on before it.
    depth: usize,
    keeps: bool,
    /// How many messages were inserted meanwhile, by observers.
    inserted: usize,
    /// Whether next-turn was cleared.
    past_next_step: bool,
}

impl Rule for CancelKeepsOrClears {
    const ABOUT: About = About {
        name: "cancel-keeps-or-clears",
        sentence: "keepInbox leaves every pending message; without it both lists end empty, \
                   next-step first.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE.and(Kinds::of(&[
            Kind::Act,
            Kind::React,
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Inserted,
            Kind::Discarded,
            Kind::Claimed,
            Kind::Rest,
            Kind::Crashed,
        ])),
        accepted: || [both_pending(), doing(stop_and_clear(), clearing_both())].concat(),
        refused: || [both_pending(), doing(stop(), clearing_both())].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let depth = situation.operations.len();
        match seen.fact {
            Fact::Observed(Record::Act { op, .. } | Record::React(op)) => self.begin(op, depth),
            Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => self.done(situation, report),
            Fact::Spliced(splice) => self.splice(&splice, situation, seen, report),
            Fact::Observed(Record::Rest(_)) => self.rest(situation, report),
            Fact::Observed(Record::Crashed) => *self = Self::default(),
            // Another publication.
            _ => self.first_in = 0,
        }
    }
}

impl CancelKeepsOrClears {
    fn begin(&mut self, op: &Op, depth: usize) {
        let keeps = match op {
            Op::Cancel { keep_inbox, .. } => *keep_inbox,
            Op::Dispose => false,
            _ => return,
        };
        self.cancels.push(Clearing {
            depth,
            keeps,
            inserted: 0,
            past_next_step: false,
        });
    }

    fn splice(
        &mut self,
        splice: &Spliced<'_>,
        situation: &Situation,
        seen: &Seen<'_>,
        report: &mut Report<'_>,
    ) {
        let count = splice.inserted.count();
        let was_empty = situation.pending().next().is_none();
        self.first_in = if was_empty { count } else { 0 };
        self.owed = self.owed.map(|owed| owed + count);
        for cancel in &mut self.cancels {
            cancel.inserted += count;
        }
        let depth = situation.operations.len();
        if let Some(cancel) = self.cancels.last_mut().filter(|c| c.depth + 1 == depth) {
            let wrong = cancel.wrong(splice, situation);
            cancel.past_next_step |= splice.target == NextTurn;
            if let Some(words) = wrong {
                report.violated(&[seen.mark], words);
            }
        }
    }

    fn done(&mut self, situation: &Situation, report: &mut Report<'_>) {
        let depth = situation.operations.len();
        let Some(cancel) = self.cancels.pop_if(|cancel| cancel.depth + 1 >= depth) else {
            return;
        };
        let Some(doing) = situation.doing() else {
            return;
        };
        // A second disposal does nothing more.
        let nothing = doing.repeated || doing.refused == Some(Refused::Disposed);
        if nothing || situation.append_refused.is_some() {
            return;
        }
        if cancel.keeps {
            return report.exercised();
        }
        if doing.during == Some(Publication::Durable) {
            // The clearing follows; with empty lists there is none: what is being inserted stays.
            self.owed = Some(self.owed.unwrap_or(0).max(self.first_in));
            return;
        }
        let left = situation.pending().count();
        report.expect(left <= cancel.inserted, &[doing.began], || {
            format!("{left} messages are pending after a cancel that clears")
        });
    }

    fn rest(&mut self, situation: &Situation, report: &mut Report<'_>) {
        let Some(owed) = self.owed.take() else { return };
        if situation.append_refused.is_some() {
            return;
        }
        let left = situation.pending().count();
        report.expect(left <= owed, &[], || {
            format!("{left} messages are pending after a cancel that clears")
        });
    }
}

impl Clearing {
    /// What is wrong with a splice that the cancel makes itself.
    fn wrong(&self, splice: &Spliced<'_>, situation: &Situation) -> Option<&'static str> {
        let whole = splice.start == 0
            && splice.removed as usize == situation.list(splice.target).len()
            && splice.inserted.count() == 0
            && splice.canceled;
        if self.keeps {
            Some("a cancel that keeps changes a list")
        } else if !whole {
            Some("a cancel that clears does not clear the whole list")
        } else if self.past_next_step {
            Some("a cancel clears next-turn first")
        } else {
            None
        }
    }
}

fn both_pending() -> Vec<Record> {
    vec![
        insert(NextTurn, 0, &["a"]),
        inserted("a"),
        insert(NextStep, 0, &["b"]),
        inserted("b"),
    ]
}

fn clearing_both() -> Vec<Record> {
    [clearing(NextStep, &["b"]), clearing(NextTurn, &["a"])].concat()
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
    use crate::rules::example::followup;
    use crate::rules::example::{error_live, lists, reacting, steer, step_end, turn_start};
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

    #[test]
    fn what_an_observer_sends_during_the_clearing_may_stay() {
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
    fn a_clearing_that_leaves_something_is_refused() {
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            doing(stop_and_clear(), Vec::new()),
        ];
        assert_eq!(broken_names(records.concat()), ["cancel-keeps-or-clears"]);
    }

    #[test]
    fn next_turn_may_not_be_cleared_first() {
        let reversed = [clearing(NextTurn, &["a"]), clearing(NextStep, &["b"])].concat();
        let records = [both_pending(), doing(stop_and_clear(), reversed)].concat();
        assert_eq!(broken_names(records), ["cancel-keeps-or-clears"]);
    }

    /// Inside the publication nothing can be appended: the clearing follows it.
    #[test]
    fn a_clearing_follows_the_publication_in_which_it_was_asked_for() {
        let asked = |then: Vec<Record>, at_rest| {
            let started = [
                doing(followup("a"), queued(0, "a")),
                doing(followup("b"), queued(1, "b")),
                vec![crate::rules::example::running(), turn_start(1)],
                reacting(stop_and_clear(), Vec::new()),
            ];
            [started.concat(), then, vec![at_rest]].concat()
        };
        let cleared = asked(clearing(NextTurn, &["a", "b"]), rest(&[], &[]));
        assert!(!broken_names(cleared).contains(&"cancel-keeps-or-clears"));
        let kept = asked(Vec::new(), rest(&["a", "b"], &[]));
        assert!(broken_names(kept).contains(&"cancel-keeps-or-clears"));
    }

    #[test]
    fn with_empty_lists_what_is_being_inserted_stays() {
        let midst = [
            vec![insert(NextStep, 0, &["a"]), lists(&[], &[])],
            reacting(stop_and_clear(), Vec::new()),
            vec![inserted("a")],
        ];
        let records = [
            doing(crate::rules::example::inject("a"), midst.concat()),
            vec![rest(&[], &["a"])],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }
}
