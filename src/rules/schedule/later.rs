//! What a claim leaves where it is.

use std::sync::Arc;

use crate::event::Target::NextStep;
use crate::event::{Answer, MessageId, Record};
use crate::rules::example::{
    doing, entering, first_decision, inject, insert, inserted, step_start, user_message,
};
use crate::rules::{About, Fact, Kind, Kinds, Report, Rule, Scope, Seen, Situation, Spliced};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct InsertAfterClaimStaysPending {
    /// Inserted since the claim of the current boundary, and not cancelled.
    later: Vec<Arc<str>>,
}

impl Rule for InsertAfterClaimStaysPending {
    const ABOUT: About = About {
        name: "insert-after-claim-stays-pending",
        sentence: "What is inserted after a claim is not in that claim's step.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Spliced,
            Kind::PreStep,
            Kind::Asked,
            Kind::StepStart,
            Kind::UserMessage,
            Kind::StepEnd,
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Crashed,
        ]),
        accepted: || injected_while_decided(vec![user_message("a")]),
        refused: || injected_while_decided(vec![user_message("b")]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Spliced(splice) => self.splice(&splice, situation, report),
            Fact::Observed(Record::PreStep { messages, .. } | Record::Asked { messages, .. }) => {
                for id in messages {
                    self.refuse(id.as_str(), &[], situation, report);
                }
            }
            Fact::StepStart(_) if !self.later.is_empty() => report.exercised(),
            Fact::UserMessage { id, surface } if !surface.replaces => {
                let decided = situation.boundary.as_ref().and_then(|b| b.decided.as_ref());
                let entering: &[MessageId] = match decided {
                    Some((_, Answer::Enter(ids))) => ids,
                    _ => &[],
                };
                self.refuse(id, entering, situation, report);
            }
            Fact::StepEnd(_)
            | Fact::TurnStart { .. }
            | Fact::TurnEnd { .. }
            | Fact::Observed(Record::Crashed) => self.later.clear(),
            _ => {}
        }
    }
}

impl InsertAfterClaimStaysPending {
    fn splice(&mut self, splice: &Spliced<'_>, situation: &Situation, report: &mut Report<'_>) {
        let Some(boundary) = &situation.boundary else {
            return;
        };
        let removed = situation.removed_by(splice);
        for gone in removed {
            let Some(place) = self.later.iter().position(|id| *id == gone.id) else {
                continue;
            };
            self.later.remove(place);
            if splice.is_claim() {
                let words = format!("\"{}\" is claimed for a step that came before it", gone.id);
                report.violated(&[gone.inserted], words);
            }
        }
        if boundary.claimed.is_some() || boundary.asked.is_some() {
            self.later.extend(splice.inserted.iter().map(Arc::from));
        }
    }

    /// Refuses a message that came after the claim, unless a decision has named it.
    fn refuse(
        &self,
        id: &str,
        named: &[MessageId],
        situation: &Situation,
        report: &mut Report<'_>,
    ) {
        let boundary = situation.boundary.as_ref();
        let claimed = boundary.is_some_and(|boundary| boundary.has_claimed(id));
        let came_later = self.later.iter().any(|later| **later == *id);
        if came_later && !claimed && !named.iter().any(|other| other.as_str() == id) {
            let claim = boundary.and_then(|boundary| boundary.claimed);
            let words = format!("\"{id}\" came after the claim, and is in its step");
            report.violated(claim.as_slice(), words);
        }
    }
}

fn injected_while_decided(then: Vec<Record>) -> Vec<Record> {
    let sent = vec![insert(NextStep, 0, &["b"]), inserted("b")];
    let step = vec![entering(&["a"]), step_start(1, 1)];
    [first_decision("a"), doing(inject("b"), sent), step, then].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::NextTurn;
    use crate::rules::example::{asked, claim, claimed, running, turn_start};
    use crate::rules::tests::broken_names;

    #[test]
    fn a_decision_may_name_what_came_later() {
        let sent = vec![insert(NextStep, 0, &["b"]), inserted("b")];
        let step = vec![entering(&["b"]), step_start(1, 1), user_message("b")];
        let records = [first_decision("a"), doing(inject("b"), sent), step];
        assert_eq!(broken_names(records.concat()), [""; 0]);
    }

    #[test]
    fn what_came_after_the_claim_may_not_be_shown_to_its_decision() {
        let records = vec![
            running(),
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            claimed("a", 1),
            insert(NextStep, 0, &["b"]),
            inserted("b"),
            asked(&["a", "b"], 1, 1),
        ];
        assert!(broken_names(records).contains(&"insert-after-claim-stays-pending"));
    }
}
