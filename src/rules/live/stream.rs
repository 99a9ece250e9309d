//! The live stream as a whole, and those who observe it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::Target::NextTurn;
use crate::event::{Lists, MessageId, Record, Target};
use crate::rules::example::{
    cancel, claim, discarded, doing, followup, insert, inserted, lists, queued, rest, turn_start,
};
use crate::rules::notices::notice_of;
use crate::rules::{
    About, Fact, Kind, Kinds, Mark, NoticeKind, Report, Rule, Scope, Seen, Situation,
};

/// The live events of the inbox.
const NOTICES: Kinds = Kinds::of(&[Kind::Inserted, Kind::Claimed, Kind::Discarded]);

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct DurableBeforeLive;

impl Rule for DurableBeforeLive {
    const ABOUT: About = About {
        name: "durable-before-live",
        sentence: "Every live inbox event follows the splice that caused it.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: NOTICES,
        accepted: || queued(0, "a"),
        refused: || vec![inserted("a"), insert(NextTurn, 0, &["a"])],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Live(live) = seen.fact else { return };
        let Some((kind, id)) = notice_of(live) else {
            return;
        };
        let owing = situation.owing();
        let explained = owing.is_some_and(|owing| owing.explains(kind, id));
        report.expect(explained, &[], || {
            format!("{kind:?} of \"{id}\", and no splice before it says so")
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ObserverSeesTheListBefore {
    published: Option<Edit>,
}

/// A splice that is being published, as far as it takes to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Edit {
    mark: Mark,
    target: Target,
    start: usize,
    removed: Vec<Arc<str>>,
    inserted_count: usize,
}

impl Rule for ObserverSeesTheListBefore {
    const ABOUT: About = About {
        name: "observer-sees-the-list-before",
        sentence: "While a splice is published, the visible lists are those before it.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Spliced, Kind::Lists]),
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                cancel(NextTurn, 0, 1),
                lists(&["a"], &[]),
            ]
        },
        refused: || vec![insert(NextTurn, 0, &["a"]), lists(&["a"], &[])],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => {
                let removed = situation.removed_by(&splice);
                self.published = Some(Edit {
                    mark: seen.mark,
                    target: splice.target,
                    start: (splice.start as usize).min(situation.list(splice.target).len()),
                    removed: removed.iter().map(|pending| pending.id.clone()).collect(),
                    inserted_count: splice.inserted.count(),
                });
            }
            Fact::Observed(Record::Lists(visible)) => {
                if let Some(edit) = self.published.take() {
                    report.expect(edit.is_undone(situation, visible), &[edit.mark], || {
                        "an observer of this splice sees other lists than those before it".into()
                    });
                }
            }
            _ => {}
        }
    }
}

impl Edit {
    /// Whether these lists are those of `situation` without the edit.
    fn is_undone(&self, situation: &Situation, visible: &Lists) -> bool {
        [Target::NextTurn, Target::NextStep]
            .into_iter()
            .all(|target| {
                let now = situation.list(target).iter().map(|pending| &pending.id);
                let before: Vec<_> = if target == self.target {
                    let head = now.clone().take(self.start);
                    let tail = now.skip(self.start + self.inserted_count);
                    head.chain(&self.removed).chain(tail).collect()
                } else {
                    now.collect()
                };
                let seen = match target {
                    Target::NextTurn => &visible.next_turn,
                    Target::NextStep => &visible.next_step,
                };
                before
                    .into_iter()
                    .map(|id| &**id)
                    .eq(seen.iter().map(MessageId::as_str))
            })
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct LivePayloadsAreMinimal;

impl Rule for LivePayloadsAreMinimal {
    const ABOUT: About = About {
        name: "live-payloads-are-minimal",
        sentence: "`inserted` and `discarded` carry the message, `claimed` message and turn; \
                   nothing else.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: NOTICES.and(Kinds::of(&[Kind::Surplus])),
        accepted: || vec![insert(NextTurn, 0, &["a"]), inserted("a")],
        refused: || {
            let surplus = Record::Surplus {
                live: "agent/inbox/inserted".into(),
                member: "target".into(),
            };
            vec![inserted("a"), surplus]
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(_) => report.exercised(),
            Fact::Observed(Record::Surplus { live, member })
                if live.starts_with("agent/inbox/") =>
            {
                report.violated(&[], format!("{live} carries \"{member}\", too"));
            }
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct EveryMessageHasOneFate {
    /// How often each message was inserted, less how often it was claimed or discarded; no zeros.
    open: BTreeMap<Arc<str>, i32>,
}

impl Rule for EveryMessageHasOneFate {
    const ABOUT: About = About {
        name: "every-message-has-one-fate",
        sentence: "Each insertion ends as exactly one of pending, claimed, discarded.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: NOTICES.and(Kinds::of(&[Kind::Rest, Kind::Crashed, Kind::Resumed])),
        accepted: || {
            let told = [queued(0, "a"), vec![cancel(NextTurn, 0, 1), discarded("a")]];
            let mut records = doing(followup("a"), told.concat());
            records.extend(doing(followup("b"), queued(0, "b")));
            records.push(rest(&["b"], &[]));
            records
        },
        refused: || {
            let mut records = doing(followup("a"), queued(0, "a"));
            records.extend([turn_start(1), claim(NextTurn, 1), rest(&[], &[])]);
            records
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(live) => {
                if let Some((kind, id)) = notice_of(live) {
                    self.count(id, if kind == NoticeKind::Inserted { 1 } else { -1 });
                }
            }
            Fact::Observed(Record::Rest(resting)) => self.compare(&resting.lists, report),
            Fact::Observed(Record::Resumed { lists, .. }) => self.restart(lists),
            Fact::Observed(Record::Crashed) => self.open.clear(),
            _ => {}
        }
    }
}

impl EveryMessageHasOneFate {
    fn count(&mut self, id: &str, more: i32) {
        let count = self.open.entry(id.into()).or_default();
        *count += more;
        if *count == 0 {
            self.open.remove(id);
        }
    }

    /// Exactly what is pending may be open, once each.
    fn compare(&mut self, lists: &Lists, report: &mut Report<'_>) {
        report.exercised();
        for id in both(lists) {
            self.count(id.as_str(), -1);
        }
        for (id, count) in std::mem::take(&mut self.open) {
            report.violated(
                &[],
                match count {
                    ..0 => format!("\"{id}\" has more fates than insertions"),
                    _ => format!("\"{id}\" is neither pending, claimed nor discarded"),
                },
            );
        }
        self.restart(lists);
    }

    fn restart(&mut self, lists: &Lists) {
        self.open.clear();
        for id in both(lists) {
            self.count(id.as_str(), 1);
        }
    }
}

fn both(lists: &Lists) -> impl Iterator<Item = &MessageId> {
    lists.next_turn.iter().chain(&lists.next_step)
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct NoRetiredExtensionPoint;

const RETIRED: [&str; 3] = ["agent/prompt-prepare", "agent/prompt-submit", "agent/step"];

fn dispatched(point: &str) -> Record {
    Record::Dispatched {
        point: point.into(),
    }
}

impl Rule for NoRetiredExtensionPoint {
    const ABOUT: About = About {
        name: "no-retired-extension-point",
        sentence: "`agent/prompt-prepare`, `agent/prompt-submit` and `agent/step` are never \
                   dispatched.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::Dispatched]),
        accepted: || vec![dispatched("agent/pre-step")],
        refused: || vec![dispatched("agent/step")],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        if let Fact::Observed(Record::Dispatched { point }) = seen.fact {
            report.expect(!RETIRED.contains(&&**point), &[], || {
                format!("{point} is dispatched")
            });
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ListenerFailureIsContained {
    failed: Option<Mark>,
}

impl Rule for ListenerFailureIsContained {
    const ABOUT: About = About {
        name: "listener-failure-is-contained",
        sentence: "A notification listener that throws changes nothing that follows.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::ALL,
        accepted: || {
            vec![
                insert(NextTurn, 0, &["a"]),
                Record::ObserverFailed,
                inserted("a"),
            ]
        },
        refused: || vec![Record::ObserverFailed, rest(&[], &[])],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        // Whoever comes after it sees the publication at which it failed, next.
        if let Some(failed) = self.failed.take() {
            let goes_on =
                !matches!(seen.fact, Fact::Observed(_)) || seen.fact.kind() == Kind::Crashed;
            report.expect(goes_on, &[failed], || {
                "the publication stops at an observer that failed".into()
            });
        }
        if seen.fact.kind() == Kind::ObserverFailed {
            self.failed = Some(seen.mark);
        }
    }
}
