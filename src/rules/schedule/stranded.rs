//! Advice: waking input that nobody will wake.

use std::sync::Arc;

use crate::event::{Live, Op, Record, Status};
use crate::rules::example::{
    doing, first_decision, followup, idle, queued, rejecting, rest, turn_end,
};
use crate::rules::{
    About, Doing, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation, Spliced,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct StrandedWake {
    waking: Vec<Waking>,
}

/// Pending input that was sent with a wake.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waking {
    id: Arc<str>,
    sent: Mark,
    /// Whether a failure or a cancel says why it is still pending, since the driver last started.
    explained: bool,
    reported: bool,
    /// How many operations were going on around the send; 0 once they are over.
    inside: usize,
}

impl Rule for StrandedWake {
    const ABOUT: About = About {
        name: "stranded-wake",
        sentence: "Waking input still pending at rest, with no failure or cancel to explain it, \
                   is reported: the reference implementation parks what was queued behind a \
                   rejected or emptied turn.",
        scope: Scope::Schedule,
        advice: true,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::ActEnd,
            Kind::ReactEnd,
            Kind::Spliced,
            Kind::TurnEnd,
            Kind::Status,
            Kind::Rest,
            Kind::Crashed,
        ]),
        accepted: || {
            let failed = vec![turn_end(1, "failed"), idle(), rest(&["b"], &[])];
            [
                first_decision("a"),
                doing(followup("b"), queued(0, "b")),
                failed,
            ]
            .concat()
        },
        refused: || {
            let rejected = vec![
                rejecting(),
                turn_end(1, "blocked"),
                idle(),
                rest(&["b"], &[]),
            ];
            [
                first_decision("a"),
                doing(followup("b"), queued(0, "b")),
                rejected,
            ]
            .concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::ActEnd | Record::ReactEnd(_)) => {
                if let Some(doing) = situation.doing() {
                    self.done(doing, situation);
                }
            }
            Fact::Spliced(splice) => self.splice(&splice, situation, report),
            Fact::TurnEnd {
                end: EndKind::Error { .. } | EndKind::Aborted { .. },
                ..
            } => self.explain(true),
            Fact::Live(Live::Status {
                status: Status::Running,
            }) => self.explain(false),
            Fact::Observed(Record::Rest(resting)) if resting.quiet => self.rest(report),
            Fact::Observed(Record::Crashed) => self.waking.clear(),
            _ => {}
        }
    }
}

impl StrandedWake {
    fn done(&mut self, doing: &Doing, situation: &Situation) {
        let around = situation.operations.len() - 1;
        for waking in &mut self.waking {
            waking.inside = waking.inside.min(around);
        }
        if doing.refused.is_some() {
            return;
        }
        if matches!(doing.op, Op::Cancel { .. } | Op::Dispose) {
            self.explain(true);
        }
        if let Some(id) = doing.op.message().filter(|_| doing.is_waking())
            && situation.is_pending(id.as_str())
        {
            self.waking.push(Waking {
                id: id.as_str().into(),
                sent: doing.began,
                // A cancel in its midst, or an abort that it follows.
                explained: situation.aborted.is_some(),
                reported: false,
                inside: around,
            });
        }
    }

    fn explain(&mut self, explained: bool) {
        for waking in &mut self.waking {
            waking.explained = explained;
        }
    }

    fn splice(&mut self, splice: &Spliced<'_>, situation: &Situation, report: &mut Report<'_>) {
        let depth = situation.operations.len();
        let clears = |doing: &Doing| doing.cancels_broadly() || doing.op == Op::Clear;
        let clearing = situation.doing().is_some_and(clears);
        for gone in situation.removed_by(splice) {
            let Some(place) = self.waking.iter().position(|waking| waking.id == gone.id) else {
                continue;
            };
            let waking = self.waking.remove(place);
            // Sent by an observer in the midst of the clearing that now takes it.
            if clearing && depth > 0 && waking.inside >= depth {
                let words = format!("\"{}\" is cleared by what it was sent into", waking.id);
                report.violated(&[waking.sent], words);
            }
        }
    }

    fn rest(&mut self, report: &mut Report<'_>) {
        for waking in &mut self.waking {
            report.exercised();
            if !waking.explained && !std::mem::replace(&mut waking.reported, true) {
                let words = format!("\"{}\" was sent with a wake and waits", waking.id);
                report.violated(&[waking.sent], words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::{NextStep, NextTurn};
    use crate::rules::example::{
        asked, cancel, claim, claimed, claiming, clearing, discarded, insert, inserted, reacting,
        running, stop, turn_start,
    };
    use crate::rules::tests::broken_names;

    #[test]
    fn what_a_stop_parked_is_explained() {
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            doing(stop(), Vec::new()),
            vec![turn_end(1, "aborted"), idle(), rest(&["b"], &[])],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn it_is_reported_once() {
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            vec![rejecting(), turn_end(1, "blocked"), idle()],
            vec![rest(&["b"], &[]), rest(&["b"], &[])],
        ];
        assert_eq!(broken_names(records.concat()), ["stranded-wake"]);
    }

    #[test]
    fn what_a_stop_parked_is_stranded_when_a_later_driver_leaves_it() {
        let woken = [
            queued(1, "c"),
            vec![running(), turn_start(2)],
            claiming("b", 2),
        ];
        let records = [
            first_decision("a"),
            doing(followup("b"), queued(0, "b")),
            doing(stop(), Vec::new()),
            vec![turn_end(1, "aborted"), idle(), rest(&["b"], &[])],
            doing(followup("c"), woken.concat()),
            vec![asked(&["b"], 2, 1), rejecting()],
            vec![turn_end(2, "blocked"), idle(), rest(&["c"], &[])],
        ];
        assert_eq!(broken_names(records.concat()), ["stranded-wake"]);
    }

    /// The observer's wake runs with a message that is about to be cleared, and its own is cleared.
    #[test]
    fn a_wake_from_inside_a_clearing_may_lose_its_own_message() {
        let woken = vec![
            insert(NextTurn, 1, &["c"]),
            inserted("c"),
            running(),
            turn_start(1),
            claim(NextTurn, 1),
            claimed("b", 1),
        ];
        let midst = [
            vec![cancel(NextStep, 0, 1), discarded("a")],
            reacting(followup("c"), woken),
            clearing(NextTurn, &["c"]),
        ];
        let queued = vec![
            insert(NextStep, 0, &["a"]),
            inserted("a"),
            insert(NextTurn, 0, &["b"]),
            inserted("b"),
        ];
        let records = [queued, doing(Op::Clear, midst.concat())].concat();
        assert_eq!(broken_names(records), ["stranded-wake"]);
    }
}
