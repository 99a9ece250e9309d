//! The inbox: two ordered lists of pending messages, a projection of the session log.
//!
//! An edit is planned against the lists as they are, becomes one durable event, and is applied
//! when that event is committed. Not here: committing and announcing; the machine does both.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use thiserror::Error;

use crate::event::{
    Body, Event, Extra, InboxSpliced, Message, MessageId, Outcome, Seq, Target, Unread,
};

/// What is pending: for a turn of its own, and for the next step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inbox {
    next_turn: Vec<Message>,
    next_step: Vec<Message>,
}

/// An insertion would make an identity pending twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("message \"{id}\" is already pending")]
pub struct AlreadyPending {
    /// The identity.
    pub id: MessageId,
}

/// A logged splice does not fit the lists that the events before it built.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum Misfit {
    /// It starts or ends beyond its list.
    #[error(
        "splice of {} at {start}, {removed} removed, does not fit a list of {length}",
        target.as_str()
    )]
    OutOfRange {
        /// The list.
        target: Target,
        /// Where it starts.
        start: u32,
        /// How many messages it removes.
        removed: u32,
        /// How long the list is.
        length: usize,
    },
    /// It makes an identity pending twice.
    #[error(transparent)]
    Duplicate(#[from] AlreadyPending),
}

/// A log's inbox events do not fold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum FoldError {
    /// A splice does not fit the lists so far.
    #[error("event {seq}: {misfit}")]
    Misfit {
        /// Its place in the log.
        seq: Seq,
        /// Why it does not fit.
        misfit: Misfit,
    },
    /// A splice has a shape that is not known, so what it did is not known either.
    #[error("event {seq}: an inbox splice of an unknown shape")]
    Unreadable {
        /// Its place in the log.
        seq: Seq,
    },
}

impl Inbox {
    /// Rebuilds what is pending from a log, or from the part of it that starts where the fold
    /// starts ([`fold_origin`]). No event: nothing is pending.
    ///
    /// # Errors
    /// At the first splice that does not fit, or that cannot be read.
    ///
    /// [`fold_origin`]: super::fork::fold_origin
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, FoldError> {
        let mut inbox = Self::default();
        for event in events {
            inbox.follow(event)?;
        }
        Ok(inbox)
    }

    /// Applies one more event of a log; all but splices change nothing. Gives back the messages
    /// that it removed.
    ///
    /// # Errors
    /// When it is a splice that does not fit, or cannot be read; then nothing changes.
    pub fn follow(&mut self, event: &Event) -> Result<Vec<Message>, FoldError> {
        let seq = event.seq;
        match &event.body {
            Body::InboxSpliced(splice) => self
                .apply(splice)
                .map_err(|misfit| FoldError::Misfit { seq, misfit }),
            Body::Unread(unread) if is_splice(unread) => Err(FoldError::Unreadable { seq }),
            _ => Ok(Vec::new()),
        }
    }

    /// What is pending in one list, oldest first.
    #[must_use]
    pub fn list(&self, target: Target) -> &[Message] {
        match target {
            Target::NextTurn => &self.next_turn,
            Target::NextStep => &self.next_step,
        }
    }

    fn list_mut(&mut self, target: Target) -> &mut Vec<Message> {
        match target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        }
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next_turn.is_empty() && self.next_step.is_empty()
    }

    /// Where a message is pending.
    #[must_use]
    pub fn find(&self, id: &MessageId) -> Option<(Target, usize)> {
        [Target::NextTurn, Target::NextStep]
            .into_iter()
            .find_map(|target| {
                let place = self
                    .list(target)
                    .iter()
                    .position(|message| message.id == *id)?;
                Some((target, place))
            })
    }

    /// Plans an insertion at the end of a list.
    ///
    /// # Errors
    /// When the identity is pending already.
    pub fn plan_append(
        &self,
        target: Target,
        message: Message,
    ) -> Result<InboxSpliced, AlreadyPending> {
        self.plan(target, self.list(target).len(), 0, vec![message])
    }

    /// Plans a splice in the coordinates of a standard array: a negative `start` counts from the
    /// end, and both are clamped to the list. `None` when it would change nothing.
    ///
    /// # Errors
    /// When an identity would be pending twice.
    pub fn plan_splice(
        &self,
        target: Target,
        start: i64,
        delete: i64,
        inserted: Vec<Message>,
    ) -> Result<Option<InboxSpliced>, AlreadyPending> {
        let length = self.list(target).len();
        let start = if start < 0 {
            length.saturating_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX))
        } else {
            usize::try_from(start).unwrap_or(usize::MAX).min(length)
        };
        let delete = usize::try_from(delete.max(0))
            .unwrap_or(usize::MAX)
            .min(length - start);
        if delete == 0 && inserted.is_empty() {
            return Ok(None);
        }
        self.plan(target, start, delete, inserted).map(Some)
    }

    /// Plans the exchange of a pending message for another in its place. `None` when it is not
    /// pending.
    ///
    /// # Errors
    /// When the new identity is pending elsewhere.
    pub fn plan_replace(
        &self,
        id: &MessageId,
        new: Message,
    ) -> Result<Option<InboxSpliced>, AlreadyPending> {
        let Some((target, place)) = self.find(id) else {
            return Ok(None);
        };
        self.plan(target, place, 1, vec![new]).map(Some)
    }

    /// Plans the removal of a pending message. `None` when it is not pending.
    #[must_use]
    pub fn plan_remove(&self, id: &MessageId) -> Option<InboxSpliced> {
        let (target, place) = self.find(id)?;
        Some(removal(target, place, 1, Some(Outcome::Canceled)))
    }

    /// Plans the emptying of one list. `None` when it is empty.
    #[must_use]
    pub fn plan_clear(&self, target: Target) -> Option<InboxSpliced> {
        let length = self.list(target).len();
        (length > 0).then(|| removal(target, 0, length, Some(Outcome::Canceled)))
    }

    /// Plans the claim at a step boundary: all of next-step, and for a turn's first boundary the
    /// first of next-turn. Pure deletions without outcome, none for a list that gives nothing.
    #[must_use]
    pub fn plan_claim(&self, target: Target) -> Vec<InboxSpliced> {
        let of_turn = usize::from(target == Target::NextTurn).min(self.next_turn.len());
        [
            (Target::NextStep, self.next_step.len()),
            (Target::NextTurn, of_turn),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(target, count)| removal(target, 0, count, None))
        .collect()
    }

    fn plan(
        &self,
        target: Target,
        start: usize,
        delete: usize,
        inserted: Vec<Message>,
    ) -> Result<InboxSpliced, AlreadyPending> {
        self.refuse_duplicates(target, start, delete, &inserted)?;
        let outcome = (delete > 0).then_some(Outcome::Canceled);
        Ok(InboxSpliced {
            inserted,
            ..removal(target, start, delete, outcome)
        })
    }

    /// Whether every identity would still be pending at most once over both lists.
    fn refuse_duplicates(
        &self,
        target: Target,
        start: usize,
        delete: usize,
        inserted: &[Message],
    ) -> Result<(), AlreadyPending> {
        let clashes = inserted.iter().enumerate().any(|(index, message)| {
            let stays = self.find(&message.id).is_some_and(|(list, place)| {
                list != target || !(start..start + delete).contains(&place)
            });
            stays || inserted[..index].iter().any(|other| other.id == message.id)
        });
        if clashes {
            return Err(self.first_duplicate(target, start, delete, inserted));
        }
        Ok(())
    }

    /// The identity that is the first to come a second time, next-turn before next-step, in the
    /// lists as the splice would leave them.
    fn first_duplicate(
        &self,
        target: Target,
        start: usize,
        delete: usize,
        inserted: &[Message],
    ) -> AlreadyPending {
        let mut lists = [self.next_turn.clone(), self.next_step.clone()];
        lists[usize::from(target == Target::NextStep)]
            .splice(start..start + delete, inserted.iter().cloned());
        let mut seen = BTreeSet::new();
        let mut ids = lists.iter().flatten().map(|message| &message.id);
        let twice = ids
            .find(|id| !seen.insert(*id))
            .or(inserted.first().map(|first| &first.id));
        AlreadyPending {
            id: twice.cloned().unwrap_or_else(|| "".into()),
        }
    }

    /// Applies a committed splice and gives back what it removed, in list order.
    ///
    /// # Errors
    /// When it does not fit these lists; then nothing changes.
    pub fn apply(&mut self, splice: &InboxSpliced) -> Result<Vec<Message>, Misfit> {
        let removed = splice.removed_count.map_or(0, NonZeroU32::get);
        let length = self.list(splice.target).len();
        let start = splice.start as usize;
        let end = start.saturating_add(removed as usize);
        if start > length || end > length {
            let (target, start) = (splice.target, splice.start);
            return Err(Misfit::OutOfRange {
                target,
                start,
                removed,
                length,
            });
        }
        self.refuse_duplicates(splice.target, start, removed as usize, &splice.inserted)?;
        let list = self.list_mut(splice.target);
        Ok(list
            .splice(start..end, splice.inserted.iter().cloned())
            .collect())
    }
}

fn is_splice(unread: &Unread) -> bool {
    unread.kind.as_ref() == "agent/inbox/spliced"
}

fn removal(target: Target, start: usize, count: usize, outcome: Option<Outcome>) -> InboxSpliced {
    InboxSpliced {
        target,
        start: wire_count(start),
        removed_count: NonZeroU32::new(wire_count(count)),
        inserted: Vec::new(),
        outcome,
        extra: Extra::NONE,
    }
}

/// A list of more than `u32::MAX` messages does not fit into memory.
pub(super) fn wire_count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod fold_tests {
    use super::*;
    use crate::agent::sketch::{cancel, claim, insert, log, turn_start};
    use crate::event::Target::{NextStep, NextTurn};

    fn ids(inbox: &Inbox, target: Target) -> Vec<&str> {
        let list = inbox.list(target).iter();
        list.map(|message| message.id.as_str()).collect()
    }

    #[test]
    fn a_log_without_splices_leaves_nothing_pending() {
        assert_eq!(Inbox::fold(&log([turn_start(1)])), Ok(Inbox::default()));
    }

    #[test]
    fn splices_fold_in_their_order() {
        let inbox = Inbox::fold(&log([
            insert(NextTurn, 0, &["b", "c"]),
            insert(NextTurn, 0, &["a"]),
            insert(NextStep, 0, &["x"]),
            cancel(NextTurn, 1, 1, &["B"]),
            claim(NextStep, 1),
        ]))
        .unwrap();
        assert_eq!(ids(&inbox, NextTurn), ["a", "B", "c"]);
        assert!(inbox.list(NextStep).is_empty());
    }

    #[test]
    fn following_a_splice_gives_back_what_it_removed() {
        let log = log([insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &[])]);
        let mut inbox = Inbox::fold(&log[..1]).unwrap();
        let removed = inbox.follow(&log[1]).unwrap();
        assert_eq!(removed[0].id.as_str(), "a");
    }

    #[test]
    fn the_first_splice_that_does_not_fit_is_named() {
        let misfit = Misfit::OutOfRange {
            target: NextTurn,
            start: 2,
            removed: 0,
            length: 1,
        };
        let broken = log([insert(NextTurn, 0, &["a"]), insert(NextTurn, 2, &["b"])]);
        let error = Inbox::fold(&broken).unwrap_err();
        assert_eq!(error, FoldError::Misfit { seq: 1, misfit });
    }

    #[test]
    fn a_splice_that_cannot_be_read_is_named() {
        let unread = Unread {
            kind: "agent/inbox/spliced".into(),
            data: None,
            ignorable: false,
        };
        let broken = log([Body::Unread(unread.into())]);
        let error = Inbox::fold(&broken).unwrap_err();
        assert_eq!(error, FoldError::Unreadable { seq: 0 });
    }
}
