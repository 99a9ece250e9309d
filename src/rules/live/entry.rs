//! What a decision leads to: a step with its messages, or the end of the turn.

use std::sync::Arc;

use crate::event::{Answer, MessageId, Record};
use crate::rules::example::{
    asked, asks, begun, calling, ended, entering, first_decision, first_step, model_asked, opened,
    pre_step, rejecting, result_of, settled, step_end, step_start, turn_end, user_message,
};
use crate::rules::{About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

use super::progress::{Ended, Progress};

/// What shows that a step has gone on past its entry.
const PAST_ENTRY: Kinds = Kinds::of(&[
    Kind::Request,
    Kind::ModelAsked,
    Kind::Chunk,
    Kind::AssistantMessage,
    Kind::StepEnd,
]);

/// Whether a turn may end so because it was stopped.
fn is_stopped(situation: &Situation, end: EndKind) -> bool {
    situation.aborted.is_some() && matches!(end, EndKind::Aborted { .. })
}

/// The messages that enter by the decision of the current boundary, if it enters.
fn decided(situation: &Situation) -> Option<&[MessageId]> {
    match situation.boundary.as_ref()?.decided.as_ref()? {
        (_, Answer::Enter(ids)) => Some(ids),
        _ => None,
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct BlockedOrEmptyOpensNoStep {
    closing: Option<(Mark, Closing)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Closing {
    Rejected,
    Emptied,
}

impl Rule for BlockedOrEmptyOpensNoStep {
    const ABOUT: About = About {
        name: "blocked-or-empty-opens-no-step",
        sentence: "A turn whose first decision rejects, or enters nothing, holds no step event at \
                   all; a later reject ends the turn `blocked` without a further step.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Decided,
            Kind::StepStart,
            Kind::StepEnd,
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Crashed,
        ]),
        accepted: || {
            let end = vec![rejecting(), turn_end(1, "blocked")];
            [first_decision("a"), end].concat()
        },
        refused: || [first_decision("a"), vec![entering(&[]), step_start(1, 1)]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::Decided(answer)) if situation.aborted.is_none() => {
                let is_first = situation
                    .turn
                    .as_ref()
                    .is_none_or(|turn| turn.last_step == 0);
                let closing = match answer {
                    Answer::Reject => Some(Closing::Rejected),
                    Answer::Enter(ids) if ids.is_empty() && is_first => Some(Closing::Emptied),
                    _ => None,
                };
                self.closing = closing.map(|closing| (seen.mark, closing));
            }
            Fact::StepStart(_) | Fact::StepEnd(_) => {
                if let Some((decision, closing)) = self.closing.take() {
                    let words = format!("a step where the decision was {closing:?}");
                    report.violated(&[decision], words.to_lowercase());
                }
            }
            Fact::TurnEnd { end, .. } => {
                if let Some((decision, closing)) = self.closing.take() {
                    let right = match closing {
                        Closing::Rejected => EndKind::Blocked,
                        Closing::Emptied => EndKind::Completed,
                    };
                    let holds = end == right || is_stopped(situation, end);
                    report.expect(holds, &[decision], || {
                        format!("the turn ends {end:?} where {right:?} was decided").to_lowercase()
                    });
                }
            }
            _ => self.closing = None,
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ClaimedEntersOrEnds {
    /// Claimed at earlier boundaries of the turn.
    gone: Vec<Arc<str>>,
    /// What entered the open step so far.
    entered: Vec<Arc<str>>,
    /// Whether the open step is still at its entry.
    at_entry: bool,
}

impl Rule for ClaimedEntersOrEnds {
    const ABOUT: About = About {
        name: "claimed-enters-or-ends",
        sentence: "A claimed message enters the step of its claim, was rewritten away, or its \
                   turn ends without that step; it enters a later one only where a decision says \
                   so.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: PAST_ENTRY.and(Kinds::of(&[
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::StepStart,
            Kind::UserMessage,
            Kind::Crashed,
        ])),
        accepted: || [first_step("a"), vec![model_asked(1, 1)]].concat(),
        refused: || {
            let unentered = vec![entering(&["a"]), step_start(1, 1), model_asked(1, 1)];
            [first_decision("a"), unentered].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::StepStart(_) => {
                self.entered.clear();
                self.at_entry = true;
            }
            Fact::UserMessage { id, surface } if !surface.replaces => {
                self.enter(id, situation, report);
            }
            Fact::TurnStart { .. } | Fact::TurnEnd { .. } | Fact::Observed(Record::Crashed) => {
                *self = Self::default();
            }
            _ => self.go_on(situation, report),
        }
        if let (Fact::StepEnd(_), Some(boundary)) = (seen.fact, &situation.boundary) {
            self.gone.extend(boundary.batch().cloned());
        }
    }
}

impl ClaimedEntersOrEnds {
    fn enter(&mut self, id: &str, situation: &Situation, report: &mut Report<'_>) {
        self.entered.push(id.into());
        let Some(decided) = decided(situation) else {
            return;
        };
        let boundary = situation.boundary.as_ref();
        let claimed = boundary.is_some_and(|boundary| boundary.has_claimed(id))
            || self.gone.iter().any(|gone| **gone == *id);
        if claimed && !decided.iter().any(|other| other.as_str() == id) {
            let witness = boundary.and_then(|boundary| boundary.claimed);
            let words = format!("\"{id}\" enters where the decision does not say so");
            report.violated(witness.as_slice(), words);
        }
    }

    /// The step goes on: what was claimed and decided has entered.
    fn go_on(&mut self, situation: &Situation, report: &mut Report<'_>) {
        let was_at_entry = std::mem::take(&mut self.at_entry);
        let (Some(decided), Some(boundary)) = (decided(situation), &situation.boundary) else {
            return;
        };
        if !was_at_entry || boundary.claimed.is_none() || situation.append_refused.is_some() {
            return;
        }
        let enters = |id: &&Arc<str>| decided.iter().any(|other| other.as_str() == &***id);
        let missing = boundary
            .batch()
            .filter(enters)
            .find(|id| !self.entered.contains(id));
        report.expect(missing.is_none(), boundary.claimed.as_slice(), || {
            let id = missing.map_or("", |id| id);
            format!("\"{id}\" was claimed and decided, and does not enter")
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct LaterEmptyEntry {
    progress: Progress,
    /// A later decision that entered nothing, and how the turn had ended for the model by then.
    emptied: Option<(Mark, Option<Ended>)>,
}

impl Rule for LaterEmptyEntry {
    const ABOUT: About = About {
        name: "later-empty-entry",
        sentence: "A later proposal that enters nothing opens a step only where tool results are \
                   still to be answered; else the turn ends with the reason it had.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Progress::READS.and(Kinds::of(&[Kind::Decided, Kind::TurnEnd, Kind::Crashed])),
        accepted: || {
            let tool = vec![
                asks(1, 1, &["c"]),
                calling(1, "c"),
                begun("c", true),
                ended("c"),
                result_of(1, "c"),
            ];
            let emptied = vec![step_end(1, 1), asked(&[], 1, 2), entering(&[])];
            [first_step("a"), tool, emptied, vec![step_start(1, 2)]].concat()
        },
        refused: || {
            let emptied = vec![
                asks(1, 1, &[]),
                step_end(1, 1),
                asked(&[], 1, 2),
                entering(&[]),
                step_start(1, 2),
            ];
            [first_step("a"), emptied].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        self.progress.follow(&seen.fact);
        match seen.fact {
            Fact::Observed(Record::Decided(Answer::Enter(ids))) if ids.is_empty() => {
                let later = situation
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.last_step > 0);
                if later && situation.aborted.is_none() {
                    self.emptied = Some((seen.mark, self.progress.ended()));
                }
            }
            Fact::StepStart(_) => {
                if let Some((decision, ended)) = self.emptied.take() {
                    report.expect(ended.is_none(), &[decision], || {
                        "an emptied entry opens a step, and nothing is to be answered".into()
                    });
                }
            }
            Fact::TurnEnd { end, .. } => {
                if let Some((decision, ended)) = self.emptied.take() {
                    let holds = is_stopped(situation, end)
                        || ended.is_some_and(|ended| ended.closes_as(end))
                        || (ended.is_none() && situation.append_refused.is_some());
                    report.expect(holds, &[decision], || {
                        format!("an emptied entry ends the turn as {end:?}")
                    });
                }
            }
            Fact::TurnStart { .. } | Fact::Observed(Record::Crashed) => self.emptied = None,
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct WaterfallNests {
    /// In order of registration; empty where it is not known.
    registered: Vec<Arc<str>>,
    /// Asked and not settled, the outermost first.
    asked: Vec<(Mark, Arc<str>)>,
}

impl Rule for WaterfallNests {
    const ABOUT: About = About {
        name: "waterfall-nests",
        sentence: "Listeners run outermost first by registration, and settle innermost first.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Opened,
            Kind::Asked,
            Kind::PreStep,
            Kind::Settled,
            Kind::Decided,
        ]),
        accepted: || {
            vec![
                opened(&["p", "q"]),
                pre_step("p", &[], 1, 1),
                pre_step("q", &[], 1, 1),
                settled("q", &[]),
                settled("p", &[]),
            ]
        },
        refused: || vec![opened(&["p", "q"]), pre_step("q", &[], 1, 1)],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Observed(record) = seen.fact else {
            return;
        };
        let witness = self.asked.last().map(|(mark, _)| *mark);
        match record {
            Record::Opened { listeners, .. } => self.registered.clone_from(listeners),
            Record::PreStep { listener, .. } => {
                let next = self.registered.get(self.asked.len());
                let holds = self.registered.is_empty() || next == Some(listener);
                report.expect(holds, witness.as_slice(), || {
                    format!("\"{listener}\" is asked out of the order of registration")
                });
                self.asked.push((seen.mark, listener.clone()));
            }
            Record::Settled { listener, .. } => {
                let innermost = self.asked.pop();
                let holds = innermost.is_some_and(|(_, innermost)| innermost == *listener);
                report.expect(holds, witness.as_slice(), || {
                    format!("\"{listener}\" settles, and is not the innermost")
                });
            }
            Record::Decided(_) if witness.is_some() => {
                report.violated(witness.as_slice(), "decided before a listener settled");
            }
            _ => self.asked.clear(),
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct EnteredIsTheFinalDecision {
    /// What the listener that settled last answered.
    outermost: Option<(Mark, Answer)>,
    /// What is still to enter the open step.
    due: Option<Vec<MessageId>>,
}

impl Rule for EnteredIsTheFinalDecision {
    const ABOUT: About = About {
        name: "entered-is-the-final-decision",
        sentence: "The messages appended are those of the outermost returned value, in order, \
                   none lost, none added.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: PAST_ENTRY.and(Kinds::of(&[
            Kind::Asked,
            Kind::Settled,
            Kind::Decided,
            Kind::StepStart,
            Kind::UserMessage,
            Kind::Crashed,
        ])),
        accepted: || first_step("a"),
        refused: || [first_step("a"), vec![user_message("b")]].concat(),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Observed(Record::Asked { .. } | Record::Crashed) => *self = Self::default(),
            Fact::Observed(Record::Settled { answer, .. }) => {
                self.outermost = Some((seen.mark, answer.clone()));
            }
            Fact::Observed(Record::Decided(decision)) => self.decide(decision, report),
            Fact::StepStart(_) => self.due = decided(situation).map(<[_]>::to_vec),
            Fact::UserMessage { id, surface } if !surface.replaces => {
                self.enter(id, situation, report);
            }
            Fact::UserMessage { .. } => {}
            _ => self.go_on(situation, seen, report),
        }
    }
}

impl EnteredIsTheFinalDecision {
    fn decide(&mut self, decision: &Answer, report: &mut Report<'_>) {
        if let Some((settled, answer)) = self.outermost.take()
            && answer != *decision
        {
            report.violated(
                &[settled],
                "the decision is not what the outermost answered",
            );
        }
    }

    fn enter(&mut self, id: &str, situation: &Situation, report: &mut Report<'_>) {
        let Some(due) = &mut self.due else { return };
        let holds = due.first().is_some_and(|next| next.as_str() == id);
        report.expect(holds, &decision_mark(situation), || match due.first() {
            Some(next) => format!("\"{id}\" enters where \"{next}\" is next"),
            None => format!("\"{id}\" enters, and the decision has no more"),
        });
        if holds {
            due.remove(0);
        }
    }

    fn go_on(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let left = self.due.as_ref().and_then(|due| due.first());
        if let Some(lost) = left
            && situation.append_refused.is_none()
        {
            let words = format!("\"{lost}\" was decided, and does not enter");
            report.violated(&decision_mark(situation), words);
        }
        // Nothing more may enter as long as the step is open.
        self.due = match seen.fact {
            Fact::StepEnd(_) => None,
            _ => self.due.is_some().then(Vec::new),
        };
    }
}

fn decision_mark(situation: &Situation) -> Vec<Mark> {
    let decided = situation.boundary.as_ref().and_then(|b| b.decided.as_ref());
    decided.map(|(mark, _)| *mark).into_iter().collect()
}
