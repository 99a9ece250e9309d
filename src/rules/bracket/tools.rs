//! Tool calls, their results, and what tools stage for the next step.

use std::sync::Arc;

use crate::event::{Record, Target};
use crate::rules::example::{
    asks, claim, insert, step_end, step_start, tool_call, tool_result, turn_end, turn_start,
    user_message,
};
use crate::rules::{
    About, EndKind, Fact, Kind, Kinds, Mark, OpenStep, Report, Rule, Scope, Seen, Situation,
};

/// A step whose model asks for these calls, and what follows.
fn calling(calls: &[&str], rest: Vec<Record>) -> Vec<Record> {
    let mut records = vec![turn_start(1), step_start(1, 1), asks(1, 1, calls)];
    records.extend(rest);
    records
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ToolResultsPair;

impl Rule for ToolResultsPair {
    const ABOUT: About = About {
        name: "tool-results-pair",
        sentence: "Every `tool/result` answers an earlier, still unanswered `tool/call` of its \
                   step, or a repair of one that never started.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::ToolResult]),
        accepted: || calling(&["c"], vec![tool_call(1, 1, "c"), tool_result(1, 1, "c")]),
        refused: || calling(&["c"], vec![tool_result(1, 1, "c")]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::ToolResult {
            call,
            error,
            surface,
            ..
        } = seen.fact
        else {
            return;
        };
        if surface.replaces {
            return;
        }
        let step = situation.step.as_ref();
        let pairs = step.is_some_and(|step| step.answered(call, error).is_some());
        let witness = step.map(|step| step.opened);
        report.expect(pairs, witness.as_slice(), || {
            format!("the result of {call} answers no open call of its step")
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ToolResultsInModelOrder;

impl Rule for ToolResultsInModelOrder {
    const ABOUT: About = About {
        name: "tool-results-in-model-order",
        sentence: "Results are committed in the order of the assistant's calls.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::ToolResult]),
        accepted: || two_calls(&["a", "b"]),
        refused: || two_calls(&["b"]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::ToolResult { call, surface, .. } = seen.fact else {
            return;
        };
        let Some(step) = situation.step.as_ref().filter(|_| !surface.replaces) else {
            return;
        };
        let mut asked = step.calls.iter().filter(|call| call.asked);
        let (Some(first), Some(_)) = (asked.next(), asked.next()) else {
            return;
        };
        let known = step.calls.iter().any(|open| *open.id == *call);
        report.expect(*first.id == *call || !known, &[step.opened], || {
            format!("{call} is answered before {}", first.id)
        });
    }
}

/// Two calls that run at once, and the order of their results.
fn two_calls(results: &[&str]) -> Vec<Record> {
    let mut rest = vec![tool_call(1, 1, "a"), tool_call(1, 1, "b")];
    rest.extend(results.iter().map(|call| tool_result(1, 1, call)));
    calling(&["a", "b"], rest)
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct NoDanglingToolCall {
    /// A call that a closed step of the open turn left unanswered, and the step's end.
    dangling: Option<(Mark, Arc<str>)>,
}

impl Rule for NoDanglingToolCall {
    const ABOUT: About = About {
        name: "no-dangling-tool-call",
        sentence: "A step that closes normally leaves no call of its assistant message unanswered.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::AssistantMessage,
            Kind::StepStart,
            Kind::StepEnd,
            Kind::TurnStart,
            Kind::TurnEnd,
        ]),
        accepted: || {
            let rest = vec![
                tool_call(1, 1, "c"),
                tool_result(1, 1, "c"),
                step_end(1, 1),
                turn_end(1, "completed"),
            ];
            calling(&["c"], rest)
        },
        refused: || calling(&["c"], vec![step_end(1, 1), turn_end(1, "completed")]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::AssistantMessage(said) if said.calls.count() > 0 => report.exercised(),
            Fact::StepEnd(_) => {
                let open = situation.step.as_ref().and_then(unanswered);
                self.dangling = open.map(|id| (seen.mark, id.clone()));
            }
            // A turn that broke may have broken in the scheduling of its calls.
            Fact::TurnEnd {
                end: EndKind::Error { .. },
                ..
            } => self.dangling = None,
            _ => {
                if let Some((mark, id)) = self.dangling.take() {
                    report.violated(&[mark], format!("a step closes without a result of {id}"));
                }
            }
        }
    }
}

/// The first call of the step's assistant message that has no answer.
fn unanswered(step: &OpenStep) -> Option<&Arc<str>> {
    let mut calls = step.calls.iter().filter(|call| call.asked);
    calls.next().map(|call| &call.id)
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ContextsAfterResults {
    /// What was put into next-step while calls of the open step were under way.
    staged: Option<Mark>,
}

impl Rule for ContextsAfterResults {
    const ABOUT: About = About {
        name: "contexts-after-results",
        sentence: "What a tool adds to next-step enters only after the last result of its step.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: true,
        reads: Kinds::of(&[Kind::Spliced, Kind::UserMessage, Kind::TurnStart]),
        accepted: || {
            let mut records = between_results();
            records.extend([
                tool_result(1, 1, "b"),
                step_end(1, 1),
                claim(Target::NextStep, 1),
                step_start(1, 2),
                user_message("m"),
            ]);
            records
        },
        refused: || {
            let mut records = between_results();
            records.push(user_message("m"));
            records
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let open = situation
            .step
            .as_ref()
            .filter(|step| unanswered(step).is_some());
        let enters = match seen.fact {
            Fact::Spliced(splice) if splice.is_claim() => splice.target == Target::NextStep,
            Fact::Spliced(splice) => {
                let staged = open.is_some() && splice.inserted.count() > 0;
                if staged && splice.target == Target::NextStep {
                    self.staged = Some(seen.mark);
                }
                false
            }
            Fact::UserMessage { surface, .. } => open.is_some() && !surface.replaces,
            _ => false,
        };
        if !enters {
            return;
        }
        match open {
            Some(step) => report.violated(
                &[step.opened],
                "a message enters while calls of the step are unanswered",
            ),
            None if self.staged.is_some() => report.exercised(),
            None => {}
        }
        self.staged = None;
    }
}

/// The first of two calls is answered and puts a message into next-step.
fn between_results() -> Vec<Record> {
    let mut records = two_calls(&["a"]);
    records.push(insert(Target::NextStep, 0, &["m"]));
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{broken, judge, replacing, tool_error};

    fn after_asking(calls: &[&str], rest: Vec<Record>) -> Vec<&'static str> {
        broken(&judge(calling(calls, rest)))
    }

    #[test]
    fn repair_answers_a_call_that_never_started() {
        let closed = vec![tool_error(1, 1, "c", "TOOL_NOT_STARTED")];
        assert!(after_asking(&["c"], closed).is_empty());
    }

    #[test]
    fn nothing_else_answers_a_call_that_never_started() {
        let closed = vec![tool_error(1, 1, "c", "TOOL_OUTCOME_UNKNOWN")];
        assert_eq!(after_asking(&["c"], closed), ["tool-results-pair"]);
    }

    #[test]
    fn a_call_is_answered_once() {
        let answer = || tool_result(1, 1, "c");
        let twice = vec![tool_call(1, 1, "c"), answer(), answer()];
        assert_eq!(after_asking(&["c"], twice), ["tool-results-pair"]);
    }

    #[test]
    fn calls_of_one_identity_are_answered_one_by_one() {
        let call = || tool_call(1, 1, "");
        let answer = || tool_result(1, 1, "");
        let both = vec![call(), call(), answer(), answer(), step_end(1, 1)];
        assert!(after_asking(&["", ""], both).is_empty());
    }

    #[test]
    fn a_rewritten_result_answers_nothing() {
        let rewrite = replacing(4, tool_result(1, 1, "c"));
        let answered = vec![tool_call(1, 1, "c"), tool_result(1, 1, "c"), rewrite];
        assert!(after_asking(&["c"], answered).is_empty());
    }

    #[test]
    fn a_turn_that_broke_may_leave_calls_unanswered() {
        let broke = vec![step_end(1, 1), turn_end(1, "the scheduler failed")];
        assert!(after_asking(&["c"], broke).is_empty());
    }

    #[test]
    fn a_step_that_goes_on_to_the_next_leaves_no_call_unanswered() {
        let next = vec![step_end(1, 1), step_start(1, 2)];
        assert_eq!(after_asking(&["c"], next), ["no-dangling-tool-call"]);
    }
}
