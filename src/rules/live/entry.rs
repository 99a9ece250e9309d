//! What enters by a decision, and how it is reached.

use std::sync::Arc;

use crate::event::{Answer, MessageId, Record};
use crate::rules::example::{
    entering, first_decision, first_step, model_asked, opened, pre_step, settled, step_start,
    user_message,
};
use crate::rules::{About, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

/// What shows that a step has gone on past its entry.
const PAST_ENTRY: Kinds = Kinds::of(&[
    Kind::Request,
    Kind::ModelAsked,
    Kind::Chunk,
    Kind::AssistantMessage,
    Kind::StepEnd,
]);

/// The messages that enter by the decision of the current boundary, if it enters.
fn decided(situation: &Situation) -> Option<&[MessageId]> {
    match situation.boundary.as_ref()?.decided.as_ref()? {
        (_, Answer::Enter(ids)) => Some(ids),
        _ => None,
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
