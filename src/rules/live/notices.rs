//! One live event for every message that a splice moves, in order.

use crate::event::Live;
use crate::event::Target::{NextStep, NextTurn};
use crate::rules::example::{
    cancel, claim, claimed, discarded, doing, inject, insert, inserted, splice, turn_start,
};
use crate::rules::notices::notice_of;
use crate::rules::{
    About, Fact, Kind, Kinds, NoticeKind, Owing, Report, Rule, Scope, Seen, Situation,
};

/// A live event must be the next of its kind that is owed.
fn expect_next(kind: NoticeKind, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
    let Fact::Live(live) = seen.fact else { return };
    let Some((told, id)) = notice_of(live).filter(|(told, _)| *told == kind) else {
        return;
    };
    let owing = situation.owing();
    let next = owing.and_then(|owing| owing.next(told));
    let holds = next.is_some_and(|next| *next.id == *id);
    let cause = owing.map(|owing| owing.cause);
    report.expect(holds, cause.as_slice(), || match next {
        Some(next) => format!("{kind:?} of \"{id}\" where that of \"{}\" is next", next.id),
        None => format!("{kind:?} of \"{id}\", and none is owed"),
    });
}

/// Nothing of a kind is left untold.
fn expect_told(kind: NoticeKind, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
    let untold = |owing: &&Owing| owing.next(kind).is_some();
    for owing in situation.closed_by(seen).iter().filter(untold) {
        let id = owing.next(kind).map_or("", |next| &next.id);
        report.violated(
            &[owing.cause],
            format!("no {kind:?} tells of \"{id}\"").to_lowercase(),
        );
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct InsertedOncePerInsertion;

impl Rule for InsertedOncePerInsertion {
    const ABOUT: About = About {
        name: "inserted-once-per-insertion",
        sentence: "One `inserted` per inserted message, in list order.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::ALL,
        accepted: || {
            let told = vec![
                insert(NextStep, 0, &["a", "b"]),
                inserted("a"),
                inserted("b"),
            ];
            doing(inject("a"), told)
        },
        refused: || doing(inject("a"), vec![insert(NextStep, 0, &["a"])]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        expect_next(NoticeKind::Inserted, situation, seen, report);
        expect_told(NoticeKind::Inserted, situation, seen, report);
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DiscardedOncePerRemoval;

impl Rule for DiscardedOncePerRemoval {
    const ABOUT: About = About {
        name: "discarded-once-per-removal",
        sentence: "One `discarded` per ordinarily removed message, in list order; none for a \
                   claimed one.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::ALL,
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a", "b"]),
                cancel(NextTurn, 0, 2),
                discarded("a"),
                discarded("b"),
            ]
        },
        refused: || {
            vec![
                turn_start(1),
                insert(NextTurn, 0, &["a"]),
                claim(NextTurn, 1),
                discarded("a"),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        expect_next(NoticeKind::Discarded, situation, seen, report);
        expect_told(NoticeKind::Discarded, situation, seen, report);
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DiscardedBeforeInserted;

impl Rule for DiscardedBeforeInserted {
    const ABOUT: About = About {
        name: "discarded-before-inserted",
        sentence: "In one replacement, the old message's `discarded` comes first.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Inserted]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                splice(NextTurn, 0, 1, &["b"], true),
                discarded("a"),
                inserted("b"),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                splice(NextTurn, 0, 1, &["b"], true),
                inserted("b"),
                discarded("a"),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, _: &Seen<'_>, report: &mut Report<'_>) {
        let Some(owing) = situation.owing() else {
            return;
        };
        let removes = |notice: &&_| NoticeKind::Discarded == notice_kind(notice);
        let late = owing.owed.iter().find(removes);
        if late.is_some() || owing.told.iter().any(|notice| removes(&notice)) {
            report.expect(late.is_none(), &[owing.cause], || {
                let id = late.map_or("", |notice| &notice.id);
                format!("\"{id}\" is still to be discarded")
            });
        }
    }
}

fn notice_kind(notice: &crate::rules::Notice) -> NoticeKind {
    notice.kind
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimedOncePerMessage;

impl Rule for ClaimedOncePerMessage {
    const ABOUT: About = About {
        name: "claimed-once-per-message",
        sentence: "One `claimed` per claimed message, in batch order, with the open turn's \
                   number, after both splices.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::ALL,
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                insert(NextStep, 0, &["b"]),
                turn_start(1),
                claim(NextStep, 1),
                claim(NextTurn, 1),
                claimed("b", 1),
                claimed("a", 1),
            ]
        },
        refused: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                turn_start(1),
                claim(NextTurn, 1),
                claimed("a", 2),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        expect_next(NoticeKind::Claimed, situation, seen, report);
        expect_told(NoticeKind::Claimed, situation, seen, report);
        let owing = situation.owing();
        match seen.fact {
            Fact::Live(Live::Claimed { message, turn }) => {
                let open = situation.turn.as_ref().map(|turn| turn.number);
                if open != Some(*turn) {
                    let words = format!("\"{}\" is claimed by turn {turn}", message.id);
                    report.violated(owing.map(|owing| owing.cause).as_slice(), words);
                }
            }
            Fact::Spliced(splice) if splice.is_claim() => {
                let told = owing.filter(|owing| owing.is_claim && !owing.told.is_empty());
                if let Some(claim) = told {
                    report.violated(&[claim.cause], "told between the splices of the claim");
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Op;
    use crate::event::Record;
    use crate::event::Target::{NextStep, NextTurn};
    use crate::rules::example::{
        cancel, claim, claimed, discarded, doing, followup, inject, insert, inserted, lists,
        reacting, refused, splice, stop_and_clear, turn_start,
    };
    use crate::rules::tests::broken_names;

    /// What an observer of a notice does is told in full before the notices that follow.
    #[test]
    fn notices_nest() {
        let removal = vec![cancel(NextStep, 1, 1), discarded("b")];
        let told = [
            vec![
                insert(NextStep, 0, &["a", "b"]),
                lists(&[], &[]),
                inserted("a"),
            ],
            reacting(Op::Remove { id: "b".into() }, removal),
            vec![inserted("b")],
        ];
        assert_eq!(broken_names(doing(inject("a"), told.concat())), [""; 0]);
    }

    #[test]
    fn a_notice_of_an_outer_splice_may_not_come_inside_an_inner_one() {
        let inner = vec![insert(NextStep, 0, &["c"]), inserted("b"), inserted("c")];
        let told = [
            vec![insert(NextTurn, 0, &["a", "b"]), inserted("a")],
            reacting(inject("c"), inner),
        ];
        let broken = broken_names(doing(followup("a"), told.concat()));
        assert!(broken.contains(&"inserted-once-per-insertion"));
    }

    #[test]
    fn claimed_notices_go_out_though_an_observer_cancels() {
        let records = [
            vec![
                insert(NextTurn, 0, &["a", "late"]),
                insert(NextStep, 0, &["b"]),
                turn_start(1),
                claim(NextStep, 1),
                lists(&["a", "late"], &["b"]),
                claim(NextTurn, 1),
                lists(&["a", "late"], &[]),
                claimed("b", 1),
            ],
            reacting(
                stop_and_clear(),
                vec![cancel(NextTurn, 0, 1), discarded("late")],
            ),
            vec![claimed("a", 1)],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn a_refused_operation_inside_a_publication_owes_nothing() {
        let records = [
            vec![insert(NextTurn, 0, &["a"]), lists(&[], &[])],
            reacting(inject("b"), vec![refused()]),
            vec![inserted("a")],
        ];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn told_between_two_splices_of_one_claim_is_too_early() {
        let records = vec![
            insert(NextTurn, 0, &["a"]),
            insert(NextStep, 0, &["b"]),
            turn_start(1),
            claim(NextStep, 1),
            claimed("b", 1),
            claim(NextTurn, 1),
            claimed("a", 1),
        ];
        let broken = broken_names(records);
        assert!(broken.contains(&"claimed-once-per-message"));
    }

    #[test]
    fn a_message_told_twice_is_refused() {
        let twice: Vec<Record> = vec![
            splice(NextTurn, 0, 0, &["a"], false),
            inserted("a"),
            inserted("a"),
        ];
        assert_eq!(broken_names(twice), ["inserted-once-per-insertion"]);
    }
}
