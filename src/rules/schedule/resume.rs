//! What outlives the process.

use std::sync::Arc;

use crate::event::Target::NextTurn;
use crate::event::{Lists, MessageId, Record, Turn};
use crate::rules::example::{
    asks, calling, end_of_seed, first_step, insert, result_of, resumed, step_end, turn_end,
};
use crate::rules::{
    About, EndKind, Fact, Kinds, Mark, Pending, Report, Rule, Scope, Seen, Situation,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ResumeEqualsNeverCrashed {
    /// Calls of the open step that have no result, in the model's order.
    unanswered: Vec<Arc<str>>,
    crash: Option<Crash>,
}

/// What was when the process died.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Crash {
    mark: Mark,
    next_turn: Vec<Arc<str>>,
    next_step: Vec<Arc<str>>,
    last_turn: Turn,
}

impl Rule for ResumeEqualsNeverCrashed {
    const ABOUT: About = About {
        name: "resume-equals-never-crashed",
        sentence: "Repair closes calls, step, turn, in that order; pending input and turn numbers \
                   go on as if the process had not died, for every crash point.",
        scope: Scope::Schedule,
        advice: false,
        needs_inbox: false,
        reads: Kinds::ALL,
        accepted: || {
            let closers = vec![
                result_of(1, "c"),
                step_end(1, 1),
                turn_end(1, "interrupted"),
                end_of_seed(),
                resumed(&["b"], 1),
            ];
            [crashed_in_a_tool(), closers].concat()
        },
        refused: || {
            let closers = vec![step_end(1, 1), turn_end(1, "interrupted"), end_of_seed()];
            [crashed_in_a_tool(), closers].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        if let Some(crash) = &self.crash {
            self.repair(crash, situation, seen, report);
        }
        match seen.fact {
            Fact::AssistantMessage(said) if !said.surface.replaces => {
                self.unanswered = said.calls.iter().map(Arc::from).collect();
            }
            Fact::ToolResult { call, surface, .. } if !surface.replaces => {
                self.unanswered.retain(|id| **id != *call);
            }
            Fact::StepStart(_) | Fact::StepEnd(_) | Fact::TurnEnd { .. } => {
                self.unanswered.clear();
            }
            Fact::Observed(Record::Crashed) => self.crash = Some(Crash::of(seen.mark, situation)),
            Fact::Observed(Record::Opened { .. }) => {}
            Fact::Observed(_) => self.crash = None,
            _ => {}
        }
    }
}

impl ResumeEqualsNeverCrashed {
    /// What may come between the crash and the agent that goes on.
    fn repair(
        &self,
        crash: &Crash,
        situation: &Situation,
        seen: &Seen<'_>,
        report: &mut Report<'_>,
    ) {
        let next = self.unanswered.first();
        let wrong = match seen.fact {
            Fact::ToolResult { call, error, .. } => match next {
                Some(next) if **next == *call && error_says_so(error) => None,
                _ => Some("answers another call than the first one that is open"),
            },
            Fact::StepEnd(_) if next.is_some() => Some("closes the step before its calls"),
            Fact::StepEnd(_) if situation.step.is_none() => Some("closes a step that is not open"),
            Fact::StepEnd(_) => None,
            Fact::TurnEnd { .. } if situation.step.is_some() => Some("closes the turn first"),
            Fact::TurnEnd {
                end: EndKind::Interrupted,
                ..
            } => None,
            Fact::EndSeed if situation.turn.is_some() => Some("leaves the turn open"),
            Fact::EndSeed => None,
            Fact::Observed(Record::Resumed { lists, last_turn }) => {
                report.exercised();
                crash.differs(lists, *last_turn, situation)
            }
            Fact::Observed(_) | Fact::Live(_) => None,
            _ => Some("appends what a repair has no business with"),
        };
        if let Some(words) = wrong {
            report.violated(&[crash.mark], format!("the resume {words}"));
        }
    }
}

/// Whether a result is one that a repair gives; where codes are not told, it may be.
fn error_says_so(code: Option<&str>) -> bool {
    code.is_none_or(|code| matches!(code, "TOOL_OUTCOME_UNKNOWN" | "TOOL_NOT_STARTED"))
}

impl Crash {
    fn of(mark: Mark, situation: &Situation) -> Self {
        let ids = |list: &[Pending]| list.iter().map(|pending| pending.id.clone()).collect();
        Self {
            mark,
            next_turn: ids(&situation.next_turn),
            next_step: ids(&situation.next_step),
            last_turn: situation.last_turn.unwrap_or(0),
        }
    }

    fn differs(
        &self,
        lists: &Lists,
        last_turn: Turn,
        situation: &Situation,
    ) -> Option<&'static str> {
        let equal = |before: &[Arc<str>], after: &[MessageId]| {
            before
                .iter()
                .map(|id| &**id)
                .eq(after.iter().map(MessageId::as_str))
        };
        let pending =
            equal(&self.next_turn, &lists.next_turn) && equal(&self.next_step, &lists.next_step);
        if situation.turn.is_some() {
            Some("goes on inside a turn")
        } else if !pending {
            Some("has other input pending")
        } else if last_turn != self.last_turn {
            Some("counts turns from another number")
        } else {
            None
        }
    }
}

/// The process dies while a tool runs; one more message is pending.
fn crashed_in_a_tool() -> Vec<Record> {
    let tool = vec![
        asks(1, 1, &["c"]),
        calling(1, "c"),
        insert(NextTurn, 0, &["b"]),
        Record::Crashed,
    ];
    [first_step("a"), tool].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::broken_names;

    #[test]
    fn pending_input_must_survive() {
        let records = vec![
            insert(NextTurn, 0, &["a"]),
            Record::Crashed,
            end_of_seed(),
            resumed(&[], 0),
        ];
        assert!(broken_names(records).contains(&"resume-equals-never-crashed"));
    }

    #[test]
    fn turn_numbers_must_go_on() {
        let closers = |last_turn| {
            vec![
                result_of(1, "c"),
                step_end(1, 1),
                turn_end(1, "interrupted"),
                end_of_seed(),
                resumed(&["b"], last_turn),
            ]
        };
        let right = [crashed_in_a_tool(), closers(1)].concat();
        assert_eq!(broken_names(right), [""; 0]);
        let wrong = [crashed_in_a_tool(), closers(0)].concat();
        assert_eq!(broken_names(wrong), ["resume-equals-never-crashed"]);
    }
}
