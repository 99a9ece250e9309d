//! One message, from its insertion to its fate.
//!
//! An identity may be sent again once it is no longer pending, so what is followed is each
//! occurrence of it, in turn. Not here: whether a claimed message entered its step.

use crate::agent::claims::{is_claim, removed_count};
use crate::agent::inbox::wire_count;
use crate::event::{Body, Event, InboxSpliced, MessageId, Target, Turn};

/// What became of one insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It waits.
    Pending,
    /// The loop took it.
    Claimed {
        /// In this turn; 0 when no turn had started.
        turn: Turn,
    },
    /// An ordinary operation removed it; it will not run.
    Discarded,
}

/// Follows one identity through a log, in constant memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageTracker {
    id: MessageId,
    turn: Turn,
    occurrences: u32,
    fate: Option<Fate>,
    /// Where it is pending, when it is.
    place: (Target, u32),
}

impl MessageTracker {
    /// Follows `id` from before its first insertion.
    #[must_use]
    pub fn new(id: MessageId) -> Self {
        Self {
            id,
            turn: 0,
            occurrences: 0,
            fate: None,
            place: (Target::NextTurn, 0),
        }
    }

    /// Takes the log's next event. Gives the fate of the occurrence that it ended, if it ended
    /// one; the same event may begin another.
    pub fn feed(&mut self, event: &Event) -> Option<Fate> {
        match &event.body {
            Body::TurnStart(started) => self.turn = started.turn,
            Body::InboxSpliced(splice) => return self.splice(splice),
            _ => {}
        }
        None
    }

    /// What became of the last occurrence; `None` when it was never inserted.
    #[must_use]
    pub fn fate(&self) -> Option<Fate> {
        self.fate
    }

    /// How often it was inserted.
    #[must_use]
    pub fn occurrences(&self) -> u32 {
        self.occurrences
    }

    /// Its list and its place there, from 0, while it is pending.
    #[must_use]
    pub fn place(&self) -> Option<(Target, usize)> {
        let (target, place) = self.place;
        (self.fate == Some(Fate::Pending)).then_some((target, place as usize))
    }

    fn splice(&mut self, splice: &InboxSpliced) -> Option<Fate> {
        let ended = self.remove(splice);
        if ended.is_some() {
            self.fate = ended;
        }
        let mut inserted = splice.inserted.iter();
        if let Some(offset) = inserted.position(|message| message.id == self.id) {
            self.occurrences = self.occurrences.saturating_add(1);
            self.fate = Some(Fate::Pending);
            self.place = (
                splice.target,
                splice.start.saturating_add(wire_count(offset)),
            );
        }
        ended
    }

    /// Ends the occurrence when the splice removes it, else moves it along with its list.
    fn remove(&mut self, splice: &InboxSpliced) -> Option<Fate> {
        let (target, place) = self.place;
        let past = place.checked_sub(splice.start)?;
        if self.fate != Some(Fate::Pending) || target != splice.target {
            return None;
        }
        let removed = removed_count(splice);
        if past >= removed {
            let inserted = wire_count(splice.inserted.len());
            self.place.1 = (place - removed).saturating_add(inserted);
            return None;
        }
        Some(if is_claim(splice) {
            Fate::Claimed { turn: self.turn }
        } else {
            Fate::Discarded
        })
    }
}

/// The fates of all occurrences of `id`, in order; only the last can be pending. Empty when it was
/// never inserted.
#[must_use]
pub fn fates(id: MessageId, events: &[Event]) -> Vec<Fate> {
    let mut tracker = MessageTracker::new(id);
    let mut fates: Vec<Fate> = events
        .iter()
        .filter_map(|event| tracker.feed(event))
        .collect();
    fates.extend(tracker.fate().filter(|fate| *fate == Fate::Pending));
    fates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sketch::{cancel, claim, insert, log, turn_start};
    use crate::event::Target::{NextStep, NextTurn};

    fn fates_of(id: &str, bodies: impl IntoIterator<Item = Body>) -> Vec<Fate> {
        fates(id.into(), &log(bodies))
    }

    fn place_of(id: &str, bodies: impl IntoIterator<Item = Body>) -> Option<(Target, usize)> {
        let mut tracker = MessageTracker::new(id.into());
        for event in log(bodies) {
            tracker.feed(&event);
        }
        tracker.place()
    }

    #[test]
    fn a_message_that_was_never_inserted_has_no_fate() {
        assert!(fates_of("a", [insert(NextTurn, 0, &["b"])]).is_empty());
    }

    #[test]
    fn an_inserted_message_is_pending() {
        let pending = fates_of("a", [insert(NextTurn, 0, &["a"])]);
        assert_eq!(pending, [Fate::Pending]);
    }

    #[test]
    fn a_claimed_message_names_its_turn() {
        let claimed = fates_of(
            "b",
            [
                insert(NextStep, 0, &["a", "b"]),
                turn_start(4),
                claim(NextStep, 2),
            ],
        );
        assert_eq!(claimed, [Fate::Claimed { turn: 4 }]);
    }

    #[test]
    fn a_message_that_an_ordinary_operation_removed_is_discarded() {
        let removed = [insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &[])];
        assert_eq!(fates_of("a", removed), [Fate::Discarded]);
    }

    #[test]
    fn an_edit_under_the_same_identity_ends_one_occurrence_and_begins_another() {
        let edited = [insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &["a"])];
        assert_eq!(fates_of("a", edited), [Fate::Discarded, Fate::Pending]);
    }

    #[test]
    fn an_identity_that_is_sent_again_is_another_occurrence() {
        let again = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            insert(NextTurn, 0, &["a"]),
            cancel(NextTurn, 0, 1, &[]),
        ];
        let fates = fates_of("a", again);
        assert_eq!(fates, [Fate::Claimed { turn: 1 }, Fate::Discarded]);
    }

    #[test]
    fn a_pending_message_moves_with_its_list() {
        let moved = [
            insert(NextTurn, 0, &["x", "a"]),
            insert(NextTurn, 0, &["y", "z"]),
            cancel(NextTurn, 1, 1, &[]),
            insert(NextTurn, 3, &["behind"]),
            insert(NextStep, 0, &["elsewhere"]),
        ];
        assert_eq!(place_of("a", moved), Some((NextTurn, 2)));
    }

    #[test]
    fn a_neighbour_that_goes_takes_nobody_along() {
        let neighbours = [
            insert(NextTurn, 0, &["x", "a", "y"]),
            turn_start(1),
            claim(NextTurn, 1),
            cancel(NextTurn, 1, 1, &[]),
        ];
        assert_eq!(place_of("a", neighbours), Some((NextTurn, 0)));
    }

    #[test]
    fn a_message_that_is_gone_has_no_place() {
        let gone = [insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &[])];
        assert_eq!(place_of("a", gone), None);
    }

    #[test]
    fn occurrences_are_counted() {
        let mut tracker = MessageTracker::new("a".into());
        for event in log([insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &["a"])]) {
            tracker.feed(&event);
        }
        assert_eq!(tracker.occurrences(), 2);
    }
}
