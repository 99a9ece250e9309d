//! Which turn accounts for the work that a session accepted.
//!
//! Not here: whether that work succeeded; the turn's end says so.

use crate::agent::claims::{Claims, is_claim};
use crate::event::{
    Body, EndReason, Event, InboxSpliced, MessageId, Outcome, Seq, Turn, TurnEnded,
};

/// The account of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Consumed {
    /// The last closed turn that took a step, or that claimed input and did not end `completed`.
    /// `None` when there is none.
    pub turn: Option<Turn>,
    /// Whether accepted input was cancelled after that turn, with nothing in its place.
    pub dropped_unrun: bool,
    /// Messages that this turn claimed and that a crash kept from entering, in the order of their
    /// claim.
    pub lost: Vec<MessageId>,
}

/// Follows a log and keeps its account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConsumedWork {
    open: Option<Taken>,
    claims: Claims,
    account: Consumed,
}

/// What the open turn has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Taken {
    step: bool,
    input: bool,
}

impl ConsumedWork {
    /// Follows a log whose inbox folds from `origin`; 0 unless it inherited a prefix.
    #[must_use]
    pub fn new(origin: Seq) -> Self {
        Self {
            claims: Claims::new(origin),
            ..Self::default()
        }
    }

    /// Takes the log's next event.
    pub fn feed(&mut self, event: &Event) {
        match &event.body {
            Body::TurnStart(_) => self.open = Some(Taken::default()),
            Body::StepStart(_) => self.take(|taken| taken.step = true),
            Body::InboxSpliced(splice) if is_claim(splice) => self.take(|taken| taken.input = true),
            Body::InboxSpliced(splice) => self.account.dropped_unrun |= drops(splice),
            Body::TurnEnd(ended) => self.close(ended),
            _ => {}
        }
        self.claims.feed(event);
    }

    /// The account up to here. An open turn accounts for nothing yet.
    #[must_use]
    pub fn account(&self) -> &Consumed {
        &self.account
    }

    /// Without an open turn nobody takes anything.
    fn take(&mut self, mark: impl FnOnce(&mut Taken)) {
        if let Some(taken) = &mut self.open {
            mark(taken);
        }
    }

    fn close(&mut self, ended: &TurnEnded) {
        let taken = self.open.take().unwrap_or_default();
        if !(taken.step || taken.input && ended.reason != EndReason::Completed) {
            return;
        }
        let crashed = ended.reason == EndReason::Interrupted;
        let lost = if crashed { self.claims.waiting() } else { &[] };
        self.account = Consumed {
            turn: Some(ended.turn),
            dropped_unrun: false,
            lost: lost.to_vec(),
        };
    }
}

/// Whether a splice cancels without leaving anything in the place of what it removed.
fn drops(splice: &InboxSpliced) -> bool {
    splice.outcome == Some(Outcome::Canceled) && splice.inserted.is_empty()
}

/// The account of a repaired log that folds from its start.
#[must_use]
pub fn consumed_work(events: &[Event]) -> Consumed {
    let mut work = ConsumedWork::default();
    for event in events {
        work.feed(event);
    }
    work.account
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sketch::{
        cancel, claim, failed, insert, log, step_end, step_start, stopped, turn_end, turn_start,
        user,
    };
    use crate::event::Target::NextTurn;

    fn account(bodies: impl IntoIterator<Item = Body>) -> Consumed {
        consumed_work(&log(bodies))
    }

    fn claiming_turn(turn: Turn, reason: EndReason) -> [Body; 4] {
        [
            insert(NextTurn, 0, &["a"]),
            turn_start(turn),
            claim(NextTurn, 1),
            turn_end(turn, reason),
        ]
    }

    fn dropping() -> [Body; 2] {
        [insert(NextTurn, 0, &["b"]), cancel(NextTurn, 0, 1, &[])]
    }

    #[test]
    fn without_work_nothing_is_accounted_for() {
        assert_eq!(account([]), Consumed::default());
    }

    #[test]
    fn the_latest_turn_that_took_a_step_accounts() {
        let stepped = |turn| {
            [
                turn_start(turn),
                step_start(turn, 1),
                step_end(turn, 1),
                turn_end(turn, EndReason::Completed),
            ]
        };
        assert_eq!(account(stepped(1)).turn, Some(1));
        let both = [stepped(1), stepped(2)].concat();
        assert_eq!(account(both).turn, Some(2));
    }

    #[test]
    fn a_turn_that_claimed_and_did_not_complete_accounts() {
        for reason in [failed(), stopped(), EndReason::Blocked] {
            assert_eq!(account(claiming_turn(1, reason)).turn, Some(1));
        }
    }

    #[test]
    fn a_turn_that_claimed_and_entered_nothing_does_not() {
        let emptied = claiming_turn(1, EndReason::Completed);
        assert_eq!(account(emptied).turn, None);
    }

    #[test]
    fn a_turn_that_took_nothing_does_not() {
        assert_eq!(account([turn_start(1), turn_end(1, stopped())]).turn, None);
    }

    #[test]
    fn an_open_turn_accounts_for_nothing_yet() {
        let open = [turn_start(1), step_start(1, 1)];
        assert_eq!(account(open).turn, None);
    }

    #[test]
    fn a_claim_without_an_open_turn_credits_nobody() {
        let stray = [
            insert(NextTurn, 0, &["a"]),
            claim(NextTurn, 1),
            turn_start(1),
            turn_end(1, stopped()),
        ];
        assert_eq!(account(stray).turn, None);
    }

    #[test]
    fn work_that_is_cancelled_after_the_account_was_dropped_unrun() {
        let before = claiming_turn(1, EndReason::Blocked);
        let account = account(before.into_iter().chain(dropping()));
        assert_eq!(account.turn, Some(1));
        assert!(account.dropped_unrun);
    }

    #[test]
    fn a_replacement_drops_nothing() {
        let edited = [insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1, &["b"])];
        assert!(!account(edited).dropped_unrun);
    }

    #[test]
    fn a_later_account_absorbs_what_was_dropped() {
        let after = claiming_turn(1, failed());
        let account = account(dropping().into_iter().chain(after));
        assert!(!account.dropped_unrun);
    }

    #[test]
    fn what_a_crash_kept_from_entering_is_named() {
        let crashed = claiming_turn(1, EndReason::Interrupted);
        assert_eq!(account(crashed).lost, ["a".into()]);
    }

    #[test]
    fn what_had_entered_before_a_crash_is_not() {
        let crashed = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            step_start(1, 1),
            user("a"),
            step_end(1, 1),
            turn_end(1, EndReason::Interrupted),
        ];
        assert!(account(crashed).lost.is_empty());
    }
}
