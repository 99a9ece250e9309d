//! Where one lifecycle of a session ends and the next begins: repair and its mark.

use crate::event::Record;
use crate::rules::example::{end_seed, turn_end, turn_start};
use crate::rules::{About, EndKind, Fact, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// A turn that a crash cut off and repair closed.
fn repaired() -> Vec<Record> {
    vec![turn_start(1), turn_end(1, "interrupted"), end_seed()]
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct InterruptedOnlyByRepair {
    /// An interrupted end directly before this.
    ended: Option<Mark>,
}

impl Rule for InterruptedOnlyByRepair {
    const ABOUT: About = About {
        name: "interrupted-only-by-repair",
        sentence: "`interrupted` ends only a turn that repair closed, right before the \
                   `session/end-seed` that follows.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE,
        accepted: repaired,
        refused: || vec![turn_start(1), turn_end(1, "interrupted"), turn_start(2)],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        if let Some(ended) = self.ended.take() {
            let marked = matches!(seen.fact, Fact::EndSeed);
            report.expect(marked, &[ended], || {
                "a turn ends interrupted and no session/end-seed follows".to_owned()
            });
        }
        if is_interrupted(&seen.fact) {
            self.ended = Some(seen.mark);
        }
    }
}

fn is_interrupted(fact: &Fact<'_>) -> bool {
    let Fact::TurnEnd { end, .. } = fact else {
        return false;
    };
    *end == EndKind::Interrupted
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct SeedBoundaryOnce {
    /// A `session/end-seed` directly before this.
    marked: Option<Mark>,
}

impl Rule for SeedBoundaryOnce {
    const ABOUT: About = About {
        name: "seed-boundary-once",
        sentence: "At most one `session/end-seed` directly after what was inherited; an \
                   untouched log that is opened again is not marked again.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE,
        accepted: || {
            vec![
                end_seed(),
                turn_start(1),
                turn_end(1, "blocked"),
                end_seed(),
            ]
        },
        refused: || vec![end_seed(), end_seed()],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let marked = self.marked.take();
        if matches!(seen.fact, Fact::EndSeed) {
            report.expect(marked.is_none(), marked.as_slice(), || {
                "an untouched log is marked again".to_owned()
            });
            self.marked = Some(seen.mark);
        }
    }
}

/// See [`Rule::ABOUT`].
///
/// A log shows of this what repair left behind: at its mark nothing is open, and what it closed is
/// not closed again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct RepairIsIdempotent {
    /// An interrupted end directly before this.
    ended: Option<Mark>,
}

impl Rule for RepairIsIdempotent {
    const ABOUT: About = About {
        name: "repair-is-idempotent",
        sentence: "Repairing any prefix gives a balanced log, changes nothing before the cut, and \
                   a second repair adds nothing.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE,
        accepted: repaired,
        refused: || vec![turn_start(1), end_seed()],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let ended = self.ended.take();
        let open = situation.turn.as_ref();
        if let (Fact::EndSeed, Some(open)) = (seen.fact, open) {
            let words = format!("turn {} is open where inherited history ends", open.number);
            report.violated(&[open.opened], words);
        } else if matches!(seen.fact, Fact::EndSeed) && ended.is_some() {
            report.exercised();
        }
        if is_interrupted(&seen.fact) {
            if open.is_none() {
                report.violated(&[], "a turn that is not open is closed as interrupted");
            }
            self.ended = Some(seen.mark);
        }
    }
}
