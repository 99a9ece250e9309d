//! What a cancel does with what is pending.

use crate::event::Target::{NextStep, NextTurn};
use crate::event::{Op, Record, Refused};
use crate::rules::example::{clearing, doing, insert, inserted, stop, stop_and_clear};
use crate::rules::{
    About, Fact, Kind, Kinds, Publication, Report, Rule, Scope, Seen, Situation, Spliced,
};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{
        first_decision, followup, inject, lists, queued, reacting, rest, running, steer, turn_start,
    };
    use crate::rules::tests::broken_names;

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
                vec![running(), turn_start(1)],
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
        let records = [doing(inject("a"), midst.concat()), vec![rest(&[], &["a"])]];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }
}
