//! The shape of a splice, and what it does to the lists.

use crate::event::Target::NextTurn;
use crate::event::{Op, Record};
use crate::rules::example::{cancel, insert};
use crate::rules::{
    About, Fact, Kind, Kinds, Mark, Oddity, Report, Rule, Scope, Seen, Situation, Spliced,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct SpliceInRange;

impl Rule for SpliceInRange {
    const ABOUT: About = About {
        name: "splice-in-range",
        sentence: "`start` and `removedCount` lie inside the list as folded so far.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || vec![insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 1)],
        refused: || vec![insert(NextTurn, 1, &["a"])],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        report.expect(situation.fits(&splice), &[], || {
            let Spliced {
                target,
                start,
                removed,
                ..
            } = splice;
            let (list, length) = (target.as_str(), situation.list(target).len());
            format!("removes {removed} at {start} of {list}, which holds {length}")
        });
    }
}

/// See [`Rule::ABOUT`].
///
/// Where operations are recorded: a replacement is one splice, not two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct SpliceIsNormalised {
    /// A replacement was asked for whose splice is still to come.
    replacing: Option<Mark>,
}

impl Rule for SpliceIsNormalised {
    const ABOUT: About = About {
        name: "splice-is-normalised",
        sentence: "No empty splice; no negative or fractional coordinate; `removedCount` absent \
                   rather than 0.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[
            Kind::Spliced,
            Kind::Odd,
            Kind::Act,
            Kind::React,
            Kind::Refused,
            Kind::Returned,
        ]),
        accepted: || vec![insert(NextTurn, 0, &["a"])],
        refused: || vec![insert(NextTurn, 0, &[])],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => {
                let fault = fault(&splice);
                report.expect(fault.is_none(), &[], || fault.unwrap_or_default().into());
                let replaces = splice.removed == 1 && splice.inserted.count() == 1;
                if let Some(asked) = self.replacing.take().filter(|_| !replaces) {
                    report.violated(&[asked], "a replacement is not one splice");
                }
            }
            Fact::Odd {
                kind: "agent/inbox/spliced",
                oddity,
            } => match oddity {
                Oddity::Coordinate => report.violated(&[], "a coordinate is no whole number"),
                Oddity::ZeroRemoved => report.violated(&[], "removedCount is 0, not absent"),
                _ => {}
            },
            Fact::Observed(Record::Act { op, .. } | Record::React(op)) => {
                let replaces =
                    matches!(op, Op::Replace { id, .. } if situation.is_pending(id.as_str()));
                self.replacing = replaces.then_some(seen.mark);
            }
            _ => self.replacing = None,
        }
    }
}

fn fault(splice: &Spliced<'_>) -> Option<&'static str> {
    match (splice.removed, splice.inserted.count()) {
        (0, 0) => Some("a splice removes nothing and inserts nothing"),
        (0, _) if splice.canceled => Some("a splice says canceled and removes nothing"),
        _ => None,
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct PendingIdentityIsUnique;

impl Rule for PendingIdentityIsUnique {
    const ABOUT: About = About {
        name: "pending-identity-is-unique",
        sentence: "No `MessageId` is pending twice over both lists.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced]),
        accepted: || vec![insert(NextTurn, 0, &["a"]), insert(NextTurn, 1, &["b"])],
        refused: || vec![insert(NextTurn, 0, &["a"]), insert(NextTurn, 1, &["a"])],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Spliced(splice) = seen.fact else {
            return;
        };
        if splice.inserted.count() == 0 {
            return;
        }
        report.exercised();
        for (place, id) in splice.inserted.iter().enumerate() {
            let stays = situation
                .kept_by(&splice)
                .find(|pending| *pending.id == *id);
            let twice = splice.inserted.iter().take(place).any(|other| other == id);
            if stays.is_some() || twice {
                let witness = stays.map(|pending| pending.inserted);
                report.violated(witness.as_slice(), format!("{id} is pending already"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::NextStep;
    use crate::rules::example::{act, broken, judge, splice};

    fn replacing(splices: Vec<Record>) -> Vec<&'static str> {
        let replace = Op::Replace {
            id: "a".into(),
            with: "b".into(),
        };
        let mut records = vec![insert(NextTurn, 0, &["a"]), act(replace)];
        records.extend(splices);
        broken(&judge(records))
    }

    #[test]
    fn a_removal_ends_where_its_list_ends() {
        let beyond = vec![insert(NextTurn, 0, &["a"]), cancel(NextTurn, 0, 2)];
        assert_eq!(broken(&judge(beyond)), ["splice-in-range"]);
    }

    #[test]
    fn a_cancellation_removes_something() {
        let nothing = vec![splice(NextTurn, 0, 0, &["a"], true)];
        assert_eq!(broken(&judge(nothing)), ["splice-is-normalised"]);
    }

    #[test]
    fn a_replacement_that_was_asked_for_is_one_splice() {
        let at_once = vec![splice(NextTurn, 0, 1, &["b"], true)];
        assert!(replacing(at_once).is_empty());
        let in_two = vec![cancel(NextTurn, 0, 1), insert(NextTurn, 0, &["b"])];
        assert_eq!(replacing(in_two), ["splice-is-normalised"]);
    }

    #[test]
    fn a_message_may_be_exchanged_for_one_of_its_own_identity() {
        let edited = vec![
            insert(NextTurn, 0, &["a"]),
            splice(NextTurn, 0, 1, &["a"], true),
        ];
        assert!(broken(&judge(edited)).is_empty());
    }

    #[test]
    fn an_identity_is_pending_in_one_list_only() {
        let both = vec![insert(NextTurn, 0, &["a"]), insert(NextStep, 0, &["a"])];
        assert_eq!(broken(&judge(both)), ["pending-identity-is-unique"]);
        let twice = vec![insert(NextTurn, 0, &["a", "a"])];
        assert_eq!(broken(&judge(twice)), ["pending-identity-is-unique"]);
    }

    #[test]
    fn an_identity_may_be_pending_again() {
        let again = vec![
            insert(NextTurn, 0, &["a"]),
            cancel(NextTurn, 0, 1),
            insert(NextStep, 0, &["a"]),
        ];
        assert!(broken(&judge(again)).is_empty());
    }
}
