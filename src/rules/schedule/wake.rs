//! What starts the driver, and what does not.

use std::sync::Arc;

use crate::event::Target::NextStep;
use crate::event::{CancelCause, Live, Record, Status};
use crate::rules::example::{
    doing, first_decision, followup, idle, inject, insert, inserted, queued, rest, running, stop,
    turn_end,
};
use crate::rules::{
    About, Doing, Fact, Kind, Kinds, Life, Mark, Report, Rule, Scope, Seen, Situation,
};

/// The end of an accepted waking send.
fn accepted_wake<'a>(situation: &'a Situation, seen: &Seen<'_>) -> Option<&'a Doing> {
    match seen.fact {
        Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => situation
            .doing()
            .filter(|doing| doing.is_waking() && doing.refused.is_none()),
        _ => None,
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct WakeOpensATurn {
    /// The driver was started by a send, and has opened no turn yet.
    started: Option<Mark>,
    /// A failure was announced since.
    failed: bool,
}

impl Rule for WakeOpensATurn {
    const ABOUT: About = About {
        name: "wake-opens-a-turn",
        sentence: "A waking send accepted while idle is followed by `turn/start`, unless a stop or \
                   a refusal came first.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Status,
            Kind::Error,
            Kind::TurnStart,
            Kind::Crashed,
        ]),
        accepted: || first_decision("a"),
        refused: || doing(followup("a"), queued(0, "a")),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(Live::Status {
                status: Status::Running,
            }) => {
                let woken = situation.doing().is_some_and(Doing::is_waking);
                self.started = woken.then_some(seen.mark);
                self.failed = false;
            }
            Fact::Live(Live::Status {
                status: Status::Idle,
            }) => self.idle(situation, report),
            Fact::Live(_) => self.failed = true,
            Fact::TurnStart { .. } => {
                if self.started.take().is_some() {
                    report.exercised();
                }
            }
            Fact::Observed(Record::Crashed) => self.started = None,
            _ => {
                let idle = |doing: &&Doing| doing.from_idle && situation.life == Life::Alive;
                if let Some(send) = accepted_wake(situation, seen).filter(idle)
                    && !situation.is_active()
                {
                    report.violated(&[send.began], "a waking send leaves the agent idle");
                }
            }
        }
    }
}

impl WakeOpensATurn {
    fn idle(&mut self, situation: &Situation, report: &mut Report<'_>) {
        let excused =
            situation.aborted.is_some() || situation.append_refused.is_some() || self.failed;
        if let Some(started) = self.started.take()
            && !excused
        {
            report.violated(&[started], "the driver goes idle without a turn");
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct WakeIsNeverLostInConvergence {
    /// Messages of latched sends that are still pending.
    latched: Vec<Arc<str>>,
}

impl Rule for WakeIsNeverLostInConvergence {
    const ABOUT: About = About {
        name: "wake-is-never-lost-in-convergence",
        sentence: "A waking send after the abort and before idle runs after convergence, if still \
                   pending and not disposed.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Spliced,
            Kind::Status,
            Kind::Rest,
            Kind::Crashed,
        ]),
        accepted: || [sent_late(), vec![running()]].concat(),
        refused: || [sent_late(), vec![rest(&["b"], &[])]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => self.done(situation, seen),
            Fact::Spliced(splice) => {
                for gone in situation.removed_by(&splice) {
                    self.latched.retain(|id| *id != gone.id);
                }
            }
            Fact::Live(Live::Status {
                status: Status::Running,
            }) => {
                if !self.latched.is_empty() {
                    report.exercised();
                }
                self.latched.clear();
            }
            Fact::Observed(Record::Rest(resting)) if resting.quiet => {
                for id in std::mem::take(&mut self.latched) {
                    report.violated(&[], format!("the wake of \"{id}\" is lost"));
                }
            }
            Fact::Observed(Record::Crashed) => self.latched.clear(),
            _ => {}
        }
    }
}

impl WakeIsNeverLostInConvergence {
    fn done(&mut self, situation: &Situation, seen: &Seen<'_>) {
        let cancels = |doing: &Doing| doing.cancels_broadly() && doing.refused.is_none();
        if situation.doing().is_some_and(cancels) && situation.is_active() {
            // It forgets the latched wake, and nothing is latched after a disposal.
            self.latched.clear();
            return;
        }
        let disposed = matches!(situation.aborted, Some((_, CancelCause::Disposed)));
        let late = accepted_wake(situation, seen)
            .filter(|send| send.late && !disposed && situation.life == Life::Alive);
        let Some(id) = late.and_then(|send| send.op.message()) else {
            return;
        };
        if situation.is_pending(id.as_str()) {
            self.latched.push(id.as_str().into());
        }
    }
}

/// The turn was stopped, a follow-up came before it was over, and then it ended.
fn sent_late() -> Vec<Record> {
    [
        first_decision("a"),
        doing(stop(), Vec::new()),
        doing(followup("b"), queued(0, "b")),
        vec![turn_end(1, "aborted"), idle()],
    ]
    .concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct NoWakeWithoutAsking;

impl Rule for NoWakeWithoutAsking {
    const ABOUT: About = About {
        name: "no-wake-without-asking",
        sentence: "Input parked before an abort, injected input and resumed input start nothing \
                   by themselves.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Status, Kind::Rest]),
        accepted: || [injected(), vec![rest(&[], &["a"])]].concat(),
        refused: || [injected(), vec![running()]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(Live::Status {
                status: Status::Running,
            }) if !situation.is_woken() => {
                report.violated(&[], "the driver starts, and nobody woke it");
            }
            Fact::Observed(Record::Rest(resting))
                if resting.quiet && situation.pending().next().is_some() =>
            {
                report.exercised();
            }
            _ => {}
        }
    }
}

fn injected() -> Vec<Record> {
    doing(
        inject("a"),
        vec![insert(NextStep, 0, &["a"]), inserted("a")],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Op;
    use crate::event::Target::NextTurn;
    use crate::rules::example::{
        cancel, clearing, discarded, reacting, resumed, steer, stop_and_clear, turn_start,
    };
    use crate::rules::tests::broken_names;

    #[test]
    fn a_stop_while_running_is_announced_excuses_the_turn() {
        let midst = [
            queued(0, "a"),
            vec![running()],
            reacting(stop(), Vec::new()),
        ];
        let records = [doing(followup("a"), midst.concat()), vec![idle()]];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn an_agent_that_its_observer_disposes_is_not_woken() {
        let midst = [
            queued(0, "a"),
            reacting(Op::Dispose, clearing(NextTurn, &["a"])),
        ];
        assert_eq!(broken_names(doing(followup("a"), midst.concat())), [""; 0]);
    }

    #[test]
    fn a_driver_that_opens_nothing_is_refused() {
        let midst = [queued(0, "a"), vec![running()]].concat();
        let records = [doing(followup("a"), midst), vec![idle()]].concat();
        assert_eq!(broken_names(records), ["wake-opens-a-turn"]);
    }

    #[test]
    fn resumed_input_waits() {
        let log = queued_in_log();
        let opened = vec![resumed(&["a"], 0), rest(&["a"], &[])];
        assert_eq!(broken_names([log.clone(), opened].concat()), [""; 0]);
        let started = vec![resumed(&["a"], 0), running(), turn_start(1)];
        let broken = broken_names([log, started].concat());
        assert_eq!(broken, ["no-wake-without-asking"]);
    }

    fn queued_in_log() -> Vec<Record> {
        vec![insert(NextTurn, 0, &["a"])]
    }

    #[test]
    fn a_latched_wake_whose_message_is_gone_is_not_lost() {
        let records = [
            first_decision("a"),
            doing(stop(), Vec::new()),
            doing(steer("b"), queued(0, "b")),
            doing(
                Op::Remove { id: "b".into() },
                vec![cancel(NextTurn, 0, 1), discarded("b")],
            ),
            vec![turn_end(1, "aborted"), idle(), rest(&[], &[])],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn a_second_cancel_that_clears_forgets_the_wake() {
        let cleared = clearing(NextTurn, &["b"]);
        let records = [
            first_decision("a"),
            doing(stop(), Vec::new()),
            doing(steer("b"), queued(0, "b")),
            doing(stop_and_clear(), cleared),
            vec![turn_end(1, "aborted"), idle(), rest(&[], &[])],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }
}
