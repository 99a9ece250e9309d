//! How turns end.

use serde_json::json;

use crate::event::{EndReason, Finish, Live, Status, Turn};
use crate::rules::example::{
    answer, asks, finish, step_end, step_start, tool_call, tool_result, turn_end, turn_end_for,
    turn_start,
};
use crate::rules::{
    About, EndKind, Fact, FinishKind, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnEndsOnce {
    /// The last turn that closed.
    closed: Option<(Mark, Turn)>,
    /// Whether a failure was reported in the open turn; its closing may have been refused.
    failed: bool,
}

impl Rule for TurnEndsOnce {
    const ABOUT: About = About {
        name: "turn-ends-once",
        sentence: "Every turn that opened closes exactly once, unless the log stops inside it.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::Error, Kind::Status]),
        accepted: || vec![turn_start(1), turn_end(1, "completed"), turn_start(2)],
        refused: || {
            vec![
                turn_start(1),
                turn_end(1, "completed"),
                turn_end(1, "completed"),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let open = situation.turn.as_ref();
        match seen.fact {
            Fact::TurnStart { .. } => {
                if let Some(open) = open {
                    report.violated(&[open.opened], format!("turn {} never closes", open.number));
                }
                self.failed = false;
            }
            Fact::TurnEnd { turn, .. } => {
                let again = self.closed.filter(|(_, closed)| *closed == turn);
                let witness = again.map(|(mark, _)| mark);
                report.expect(again.is_none(), witness.as_slice(), || {
                    format!("turn {turn} closes again")
                });
                self.closed = Some((seen.mark, turn));
            }
            Fact::Live(Live::Error { .. }) => self.failed = true,
            Fact::Live(Live::Status {
                status: Status::Idle,
            }) => {
                if let Some(open) = open.filter(|_| !self.failed) {
                    let words = format!("turn {} is left open", open.number);
                    report.violated(&[open.opened], words);
                }
            }
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnEndHasAReason;

impl Rule for TurnEndHasAReason {
    const ABOUT: About = About {
        name: "turn-end-has-a-reason",
        sentence: "The reason is a known kind and carries what its kind needs.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnEnd]),
        accepted: || vec![turn_start(1), turn_end(1, "aborted")],
        refused: || {
            let unknown = EndReason::Other(json!({ "kind": "tired" }));
            vec![turn_start(1), turn_end_for(1, unknown)]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::TurnEnd { turn, end, .. } = seen.fact else {
            return;
        };
        let lacks = match end {
            EndKind::Unknown => Some("for a reason of no known kind"),
            // Logs from before the inbox name no cause.
            EndKind::Aborted { with_cause: false } if situation.has_inbox => {
                Some("as aborted without a cause")
            }
            EndKind::Error { with_error: false } => Some("as failed without an error"),
            _ => None,
        };
        let witness = situation.turn.as_ref().map(|turn| turn.opened);
        report.expect(lacks.is_none(), witness.as_slice(), || {
            format!("turn {turn} ends {}", lacks.unwrap_or_default())
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct MaxTokensSticks {
    /// Where a step of the open turn hit the ceiling.
    hit: Option<Mark>,
    /// Whether the stream of this attempt has said how it ends.
    finished: bool,
    /// Whether an answer of the open turn came without that; then it may have hit the ceiling.
    unsure: bool,
}

impl Rule for MaxTokensSticks {
    const ABOUT: About = About {
        name: "max-tokens-sticks",
        sentence: "A turn in which a step hit the ceiling, and that was not stopped, blocked or \
                   broken later, ends `max-tokens`.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::Chunk,
            Kind::AssistantMessage,
        ]),
        accepted: || ceiling("max-tokens"),
        refused: || ceiling("completed"),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Chunk { finish, .. } => {
                self.finished |= finish.is_some();
                if finish == Some(FinishKind::MaxTokens) {
                    self.hit = Some(seen.mark);
                }
            }
            Fact::AssistantMessage(said) if !said.surface.replaces => {
                self.unsure |= !self.finished;
                self.finished = false;
            }
            Fact::TurnStart { .. } => *self = Self::default(),
            Fact::TurnEnd { turn, end, .. } => {
                self.judge(situation, turn, end, report);
                *self = Self::default();
            }
            _ => {}
        }
    }
}

impl MaxTokensSticks {
    fn judge(&self, situation: &Situation, turn: Turn, end: EndKind, report: &mut Report<'_>) {
        match (self.hit, end) {
            (Some(_), EndKind::MaxTokens) => report.exercised(),
            (Some(hit), EndKind::Completed) => report.violated(
                &[hit],
                format!("turn {turn} ends completed though a step hit the ceiling of tokens"),
            ),
            (None, EndKind::MaxTokens) if !self.unsure => {
                let opened = situation.turn.as_ref().map(|turn| turn.opened);
                let words = format!("turn {turn} ends max-tokens though no step hit the ceiling");
                report.violated(opened.as_slice(), words);
            }
            _ => {}
        }
    }
}

/// A turn of one step that hits the ceiling.
fn ceiling(kind: &str) -> Vec<crate::event::Record> {
    vec![
        turn_start(1),
        step_start(1, 1),
        finish(1, 1, Finish::MaxTokens),
        answer(1, 1, &[2]),
        step_end(1, 1),
        turn_end(1, kind),
    ]
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct AnswerOwed {
    /// The last tool result of the last step.
    result: Option<Mark>,
}

impl Rule for AnswerOwed {
    const ABOUT: About = About {
        name: "answer-owed",
        sentence: "A turn that ends `max-tokens` does not end with tool results that the model \
                   never saw.",
        scope: Scope::Log,
        advice: true,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::TurnStart,
            Kind::TurnEnd,
            Kind::StepStart,
            Kind::ToolResult,
        ]),
        accepted: || ceiling("max-tokens"),
        refused: || {
            let mut turn = ceiling("max-tokens");
            turn.truncate(5);
            turn.extend([
                step_start(1, 2),
                asks(1, 2, &["c"]),
                tool_call(1, 2, "c"),
                tool_result(1, 2, "c"),
                step_end(1, 2),
                turn_end(1, "max-tokens"),
            ]);
            turn
        },
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::ToolResult { surface, .. } if !surface.replaces => self.result = Some(seen.mark),
            Fact::TurnStart { .. } | Fact::StepStart(_) => self.result = None,
            Fact::TurnEnd {
                turn,
                end: EndKind::MaxTokens,
                ..
            } => report.expect(self.result.is_none(), self.result.as_slice(), || {
                format!("turn {turn} ends, and the model never saw the results of its last step")
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Failure, Record, Target};
    use crate::rules::example::{broken, insert, judge};

    fn ending(reason: serde_json::Value) -> Vec<&'static str> {
        let end = turn_end_for(1, EndReason::Other(reason));
        let sent = insert(Target::NextTurn, 0, &["a"]);
        broken(&judge(vec![sent, turn_start(1), end]))
    }

    #[test]
    fn an_aborted_turn_names_its_cause_and_a_failed_one_its_error() {
        let name = TurnEndHasAReason::ABOUT.name;
        assert_eq!(ending(json!({ "kind": "aborted" })), [name]);
        assert_eq!(ending(json!({ "kind": "error" })), [name]);
    }

    #[test]
    fn causes_and_kinds_of_later_versions_are_known() {
        let cause = json!({ "kind": "aborted", "reason": { "kind": "user", "more": 1 } });
        assert!(ending(cause).is_empty());
        assert!(ending(json!({ "kind": "forked" })).is_empty());
    }

    #[test]
    fn no_turn_is_left_open_at_rest() {
        let idle = Record::Live(Live::Status {
            status: Status::Idle,
        });
        let left = broken(&judge(vec![turn_start(1), idle.clone()]));
        assert_eq!(left, [TurnEndsOnce::ABOUT.name]);
        let refused = Record::Live(Live::Error {
            turn: 1,
            step: 0,
            error: Failure::unknown("the log refused"),
        });
        assert!(broken(&judge(vec![turn_start(1), refused, idle])).is_empty());
    }

    #[test]
    fn a_ceiling_does_not_stand_for_the_next_turn() {
        let mut records = ceiling("max-tokens");
        records.extend([turn_start(2), turn_end(2, "max-tokens")]);
        assert_eq!(broken(&judge(records)), [MaxTokensSticks::ABOUT.name]);
    }

    #[test]
    fn a_stop_a_block_or_a_failure_stands_above_the_ceiling() {
        for kind in ["aborted", "blocked", "failed", "interrupted"] {
            assert!(broken(&judge(ceiling(kind))).is_empty(), "{kind}");
        }
    }

    #[test]
    fn where_streams_are_not_logged_a_turn_may_end_at_the_ceiling() {
        let records = vec![
            turn_start(1),
            step_start(1, 1),
            answer(1, 1, &[]),
            step_end(1, 1),
            turn_end(1, "max-tokens"),
        ];
        assert!(broken(&judge(records)).is_empty());
    }
}
