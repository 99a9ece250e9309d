//! Where an agent comes to rest, and that log and live state say the same there.

use std::sync::Arc;

use crate::event::{Lists, MessageId, Op, Record, Seq, Status, Target, Turn};
use crate::rules::example::{
    asked, doing, followup, inserted, model_asked, queued, rest, turn_end, turn_start,
};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Pending, Report, Rule, Scope, Seen, Situation};

/// Whether these lists are what the log folds to.
fn folds_to(situation: &Situation, lists: &Lists) -> bool {
    let equal = |list: &[Pending], told: &[MessageId]| {
        list.iter()
            .map(|pending| &*pending.id)
            .eq(told.iter().map(MessageId::as_str))
    };
    equal(&situation.next_turn, &lists.next_turn) && equal(&situation.next_step, &lists.next_step)
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct AtMostOneDriver;

impl Rule for AtMostOneDriver {
    const ABOUT: About = About {
        name: "at-most-one-driver",
        sentence: "Never two turns in flight.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::Asked,
            Kind::ModelAsked,
            Kind::StepStart,
            Kind::TurnStopping,
        ]),
        accepted: || {
            vec![
                turn_start(1),
                turn_end(1, "blocked"),
                turn_start(2),
                asked(&[], 2, 1),
            ]
        },
        refused: || {
            vec![
                turn_start(1),
                turn_end(1, "blocked"),
                turn_start(2),
                model_asked(1, 1),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let open = situation.turn.as_ref();
        let witness = open.map(|turn| turn.opened);
        let acting: Turn = match seen.fact {
            Fact::TurnStart { turn } => {
                report.expect(open.is_none(), witness.as_slice(), || {
                    format!("turn {turn} starts while another is in flight")
                });
                return;
            }
            Fact::StepStart(place) => place.turn,
            Fact::Observed(
                Record::Asked { turn, .. }
                | Record::ModelAsked { turn, .. }
                | Record::TurnStopping { turn },
            ) => *turn,
            _ => return,
        };
        if open.is_none_or(|open| open.number != acting) {
            let words = format!("turn {acting} acts, and it is not the one in flight");
            report.violated(witness.as_slice(), words);
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct IdleWhenQuiet {
    /// Waits for idle that are not over.
    waits: u32,
}

impl Rule for IdleWhenQuiet {
    const ABOUT: About = About {
        name: "idle-when-quiet",
        sentence: "When nothing is left to release, the agent is idle and `when_idle` has \
                   resolved.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Idle,
            Kind::Rest,
            Kind::Crashed,
        ]),
        accepted: || {
            let waited = doing(Op::WhenIdle, Vec::new());
            [waited, vec![Record::Idle(1), rest(&[], &[])]].concat()
        },
        refused: || [doing(Op::WhenIdle, Vec::new()), vec![rest(&[], &[])]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => {
                let waits = |doing: &crate::rules::Doing| doing.op == Op::WhenIdle;
                if situation.doing().is_some_and(waits) {
                    self.waits += 1;
                }
            }
            Fact::Observed(Record::Idle(_)) => self.waits = self.waits.saturating_sub(1),
            Fact::Observed(Record::Rest(resting)) if resting.held.is_empty() => {
                let is_idle = resting.quiet && resting.status == Status::Idle && !situation.running;
                report.expect(is_idle && self.waits == 0, &[], || {
                    if is_idle {
                        "the agent is idle, and a wait for that did not end".into()
                    } else {
                        "nothing is left to release, and the agent is not idle".into()
                    }
                });
            }
            Fact::Observed(Record::Crashed) => self.waits = 0,
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct FailedAppendChangesNothing {
    last_seq: Option<Seq>,
    /// The refusal, until the next event is in the log.
    refused: Option<Mark>,
}

impl Rule for FailedAppendChangesNothing {
    const ABOUT: About = About {
        name: "failed-append-changes-nothing",
        sentence: "A refused append leaves log, projection and live stream as they were.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE.and(Kinds::of(&[
            Kind::AppendRefused,
            Kind::Inserted,
            Kind::Discarded,
            Kind::Claimed,
            Kind::Rest,
            Kind::Crashed,
        ])),
        accepted: || {
            let refused = doing(followup("b"), vec![Record::AppendRefused]);
            [
                doing(followup("a"), queued(0, "a")),
                refused,
                vec![rest(&["a"], &[])],
            ]
            .concat()
        },
        refused: || doing(followup("b"), vec![Record::AppendRefused, inserted("b")]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::AppendRefused) => self.refused = Some(seen.mark),
            Fact::Observed(Record::Rest(resting)) => {
                if let Some(refusal) = self.refused {
                    report.expect(folds_to(situation, &resting.lists), &[refusal], || {
                        "a refused append has changed a list".into()
                    });
                }
            }
            Fact::Observed(_) => self.refused = None,
            Fact::Live(_) => {
                let owed = situation.owing().is_some();
                if let Some(refusal) = self.refused.filter(|_| !owed) {
                    report.violated(
                        &[refusal],
                        "a refused append is told of as if it had happened",
                    );
                }
            }
            _ => {
                let next = self.last_seq.map_or(Some(0), |last| last.checked_add(1));
                if let Some(refusal) = self.refused.take() {
                    report.expect(seen.seq == next, &[refusal], || {
                        "a refused append has taken a place in the log".into()
                    });
                }
                self.last_seq = seen.seq;
            }
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ReplayEqualsLive;

impl Rule for ReplayEqualsLive {
    const ABOUT: About = About {
        name: "replay-equals-live",
        sentence: "At every point, folding the log so far gives the live lists.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Rest]),
        accepted: || {
            [
                doing(followup("a"), queued(0, "a")),
                vec![rest(&["a"], &[])],
            ]
            .concat()
        },
        refused: || [doing(followup("a"), queued(0, "a")), vec![rest(&[], &[])]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        if let Fact::Observed(Record::Rest(resting)) = seen.fact {
            report.expect(folds_to(situation, &resting.lists), &[], || {
                "the live lists are not what the log folds to".into()
            });
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct LateSubscriberSeesTheSame {
    /// What a subscriber of the last rest has: its snapshot and the splices since.
    mirror: Option<Mirror>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mirror {
    next_turn: Vec<Arc<str>>,
    next_step: Vec<Arc<str>>,
    /// Whether any splice came since.
    changed: bool,
}

impl Rule for LateSubscriberSeesTheSame {
    const ABOUT: About = About {
        name: "late-subscriber-sees-the-same",
        sentence: "Snapshot plus later splices equals watching from the start.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Rest, Kind::Resumed, Kind::Spliced, Kind::Crashed]),
        accepted: || subscribed(&["a", "b"]),
        refused: || subscribed(&["b"]),
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => {
                if let Some(mirror) = &mut self.mirror {
                    mirror.splice(&splice);
                }
            }
            Fact::Observed(Record::Rest(resting)) => {
                let told = Mirror::of(&resting.lists);
                if let Some(mirror) = self.mirror.take().filter(|mirror| mirror.changed) {
                    let same = (&mirror.next_turn, &mirror.next_step)
                        == (&told.next_turn, &told.next_step);
                    report.expect(same, &[], || {
                        "a snapshot and the splices after it give other lists".into()
                    });
                }
                self.mirror = Some(told);
            }
            Fact::Observed(Record::Resumed { lists, .. }) => self.mirror = Some(Mirror::of(lists)),
            _ => self.mirror = None,
        }
    }
}

impl Mirror {
    fn of(lists: &Lists) -> Self {
        let ids = |list: &[MessageId]| list.iter().map(|id| id.as_str().into()).collect();
        Self {
            next_turn: ids(&lists.next_turn),
            next_step: ids(&lists.next_step),
            changed: false,
        }
    }

    fn splice(&mut self, splice: &crate::rules::Spliced<'_>) {
        self.changed = true;
        let list = match splice.target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        };
        let start = (splice.start as usize).min(list.len());
        let end = start
            .saturating_add(splice.removed as usize)
            .min(list.len());
        drop(list.splice(start..end, splice.inserted.iter().map(Arc::from)));
    }
}

fn subscribed(at_the_end: &[&str]) -> Vec<Record> {
    [
        doing(followup("a"), queued(0, "a")),
        vec![rest(&["a"], &[])],
        doing(followup("b"), queued(1, "b")),
        vec![rest(at_the_end, &[])],
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::NextTurn;
    use crate::rules::example::{at_seq, held, insert, running};
    use crate::rules::tests::broken_names;

    #[test]
    fn while_a_gate_is_held_the_agent_need_not_be_idle() {
        assert!(!broken_names(vec![held("model")]).contains(&"idle-when-quiet"));
    }

    #[test]
    fn a_running_agent_that_waits_for_nothing_is_refused() {
        let stuck = vec![running(), rest(&[], &[])];
        assert!(broken_names(stuck).contains(&"idle-when-quiet"));
    }

    #[test]
    fn a_refused_append_takes_no_place() {
        let records = vec![
            at_seq(0, insert(NextTurn, 0, &["a"])),
            inserted("a"),
            Record::AppendRefused,
            at_seq(2, turn_start(1)),
        ];
        assert!(broken_names(records).contains(&"failed-append-changes-nothing"));
    }
}
