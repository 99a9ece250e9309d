//! Errors, stops and tools inside a turn.

use crate::event::{CallId, Live, Record, Turn};
use crate::rules::example::{
    asks, begun, doing, ended, error_live, first_decision, first_step, model_asked, opened,
    step_end, stop, turn_end, turn_stopping,
};
use crate::rules::{About, EndKind, Fact, Kind, Kinds, Mark, Report, Rule, Scope, Seen, Situation};

use super::progress::Progress;

const ERRORS: Kinds = Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::Error]);

/// Whether an error that is announced now can be the turn's own: what a step reports while it is
/// open (a context that was refused) lets the turn go on.
fn ends_the_turn(situation: &Situation) -> bool {
    situation.step.is_none() || situation.append_refused.is_some()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ErrorBeforeTurnEnd {
    announced: Option<Turn>,
}

impl Rule for ErrorBeforeTurnEnd {
    const ABOUT: About = About {
        name: "error-before-turn-end",
        sentence: "`agent/error` is emitted before the `turn/end` that records the error.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: ERRORS,
        accepted: || {
            [
                first_decision("a"),
                vec![error_live(1), turn_end(1, "failed")],
            ]
            .concat()
        },
        refused: || {
            [
                first_decision("a"),
                vec![turn_end(1, "failed"), error_live(1)],
            ]
            .concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(Live::Error { turn, .. }) if ends_the_turn(situation) => {
                self.announced = Some(*turn);
            }
            Fact::TurnEnd {
                turn,
                end: EndKind::Error { .. },
                ..
            } if situation.is_run => {
                let announced = self.announced == Some(turn);
                report.expect(announced, &[], || {
                    format!("turn {turn} ends with an error that nobody was told of")
                });
            }
            Fact::TurnStart { .. } => self.announced = None,
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct AbortedIsSilent {
    /// Errors of the turn; those that report a refusal of the log are not counted.
    errors: Vec<Mark>,
    /// Whether a refusal of the log was announced.
    refusal: bool,
}

impl Rule for AbortedIsSilent {
    const ABOUT: About = About {
        name: "aborted-is-silent",
        sentence: "An aborted turn emits no `agent/error`; a failed one emits exactly one.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: ERRORS,
        accepted: || [first_decision("a"), vec![turn_end(1, "aborted")]].concat(),
        refused: || {
            let twice = vec![error_live(1), error_live(1), turn_end(1, "failed")];
            [first_decision("a"), twice].concat()
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::Live(Live::Error { .. }) => match situation.append_refused {
                Some(_) => self.refusal = true,
                None if ends_the_turn(situation) => self.errors.push(seen.mark),
                None => {}
            },
            Fact::TurnStart { .. } => *self = Self::default(),
            Fact::TurnEnd { turn, end, .. } if situation.is_run => {
                let count = self.errors.len();
                let holds = match end {
                    EndKind::Aborted { .. } => count == 0,
                    EndKind::Error { .. } => count == 1 || (count == 0 && self.refusal),
                    _ => return,
                };
                report.expect(holds, &self.errors, || {
                    format!("turn {turn} ends {end:?} with {count} errors announced").to_lowercase()
                });
            }
            _ => {}
        }
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct TurnStoppingOnlyAtRest {
    progress: Progress,
    /// When it was asked since the last step.
    asked: Option<Mark>,
}

impl Rule for TurnStoppingOnlyAtRest {
    const ABOUT: About = About {
        name: "turn-stopping-only-at-rest",
        sentence: "`agent/turn-stopping` is asked only when the turn has ended for the model and \
                   next-step is empty; at most once per closing attempt.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Progress::READS.and(Kinds::of(&[Kind::TurnStopping])),
        accepted: || stopping(&[]),
        refused: || stopping(&["c"]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        self.progress.follow(&seen.fact);
        match seen.fact {
            Fact::TurnStart { .. } | Fact::StepEnd(_) => self.asked = None,
            Fact::Observed(Record::TurnStopping { turn }) => {
                let before = self.asked.replace(seen.mark);
                let open = situation.turn.as_ref().map(|turn| turn.number);
                let wrong = if before.is_some() {
                    Some("it was asked already since the last step")
                } else if open != Some(*turn) || situation.step.is_some() {
                    Some("that turn is not between two steps")
                } else if self.progress.ended().is_none() {
                    Some("the turn has not ended for the model")
                } else if !situation.next_step.is_empty() {
                    Some("something is pending for the next step")
                } else if situation.aborted.is_some() {
                    Some("the turn is aborted")
                } else {
                    None
                };
                report.expect(wrong.is_none(), before.as_slice(), || {
                    format!("turn-stopping is asked, but {}", wrong.unwrap_or(""))
                });
            }
            _ => {}
        }
    }
}

fn stopping(calls: &[&str]) -> Vec<Record> {
    let end = vec![asks(1, 1, calls), step_end(1, 1), turn_stopping(1)];
    [first_step("a"), end].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct NothingNewAfterAbort;

impl Rule for NothingNewAfterAbort {
    const ABOUT: About = About {
        name: "nothing-new-after-abort",
        sentence: "After an abort no model request, no tool start and no step begins in that turn.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::ModelAsked,
            Kind::ToolBegun,
            Kind::StepStart,
            Kind::TurnEnd,
        ]),
        accepted: || stopped(vec![step_end(1, 1), turn_end(1, "aborted")]),
        refused: || stopped(vec![model_asked(1, 1)]),
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Some((abort, _)) = situation.aborted else {
            return;
        };
        match seen.fact {
            Fact::TurnEnd { .. } => report.exercised(),
            _ if situation.turn.is_some() => {
                let kind = seen.fact.kind();
                report.violated(&[abort], format!("{kind:?} after the abort"));
            }
            _ => {}
        }
    }
}

fn stopped(then: Vec<Record>) -> Vec<Record> {
    [first_step("a"), doing(stop(), Vec::new()), then].concat()
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ToolPoolRespected {
    /// How many parallel calls may run; not known before the world opened.
    pool: Option<usize>,
    /// The calls that run, and whether nothing may run beside them.
    running: Vec<(Mark, CallId, bool)>,
}

impl Rule for ToolPoolRespected {
    const ABOUT: About = About {
        name: "tool-pool-respected",
        sentence: "Never more calls in flight than the pool allows; an exclusive call overlaps \
                   none.",
        scope: Scope::Live,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Opened,
            Kind::ToolBegun,
            Kind::ToolEnded,
            Kind::Crashed,
        ]),
        accepted: || {
            vec![
                opened(&[]),
                begun("a", false),
                begun("b", false),
                ended("a"),
                ended("b"),
                begun("c", true),
            ]
        },
        refused: || vec![begun("a", true), begun("b", false)],
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let Fact::Observed(record) = seen.fact else {
            return;
        };
        match record {
            Record::Opened {
                parallel_calls_max, ..
            } => self.pool = Some(*parallel_calls_max),
            Record::ToolBegun { call, exclusive } => {
                self.begin(call, *exclusive, report);
                self.running.push((seen.mark, call.clone(), *exclusive));
            }
            Record::ToolEnded { call, .. } => {
                let place = self.running.iter().position(|(_, other, _)| other == call);
                drop(place.map(|place| self.running.remove(place)));
            }
            _ => self.running.clear(),
        }
    }
}

impl ToolPoolRespected {
    fn begin(&self, call: &CallId, exclusive: bool, report: &mut Report<'_>) {
        let alone = self.running.iter().find(|(_, _, alone)| *alone);
        let beside = self.running.first().filter(|_| exclusive).or(alone);
        let is_full = self.pool.is_some_and(|pool| self.running.len() >= pool);
        let witnesses: Vec<_> = self.running.iter().map(|(mark, _, _)| *mark).collect();
        report.expect(beside.is_none() && !is_full, &witnesses, || match beside {
            Some((_, other, _)) => format!("{call} and {other} may not overlap"),
            None => format!("{call} begins in a full pool"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::example::{asked, entering, reacting, refused, step_start, user_message};
    use crate::rules::tests::broken_names;

    #[test]
    fn a_full_pool_begins_nothing() {
        let records = vec![
            opened(&[]),
            begun("a", false),
            begun("b", false),
            begun("c", false),
        ];
        assert_eq!(broken_names(records), ["tool-pool-respected"]);
    }

    #[test]
    fn a_report_from_inside_a_step_is_not_the_turns_failure() {
        let report = vec![error_live(1), step_end(1, 1), turn_end(1, "aborted")];
        let records = [first_step("a"), doing(stop(), Vec::new()), report].concat();
        assert_eq!(broken_names(records), [""; 0]);
    }

    #[test]
    fn a_step_after_the_abort_is_refused_though_it_was_decided_before() {
        let mut records = first_decision("a");
        records.push(entering(&["a"]));
        records.extend(doing(stop(), Vec::new()));
        records.push(step_start(1, 1));
        assert!(broken_names(records).contains(&"nothing-new-after-abort"));
    }

    #[test]
    fn turn_stopping_is_asked_again_only_after_a_further_step() {
        let twice = [stopping(&[]), vec![turn_stopping(1)]].concat();
        assert_eq!(broken_names(twice), ["turn-stopping-only-at-rest"]);
        let further = vec![
            asked(&[], 1, 2),
            entering(&["more"]),
            step_start(1, 2),
            user_message("more"),
        ];
        let again = vec![answer_in_step_two(), step_end(1, 2), turn_stopping(1)];
        assert_eq!(
            broken_names([stopping(&[]), further, again].concat()),
            [""; 0]
        );
    }

    fn answer_in_step_two() -> Record {
        match asks(1, 1, &[]) {
            Record::Durable(mut event) => {
                if let crate::event::Body::AssistantMessage(said) = &mut event.body {
                    said.step = 2;
                }
                Record::Durable(event)
            }
            other => other,
        }
    }

    #[test]
    fn a_cancel_inside_a_publication_stops_at_once() {
        let mut records = first_step("a");
        records.extend(reacting(stop(), Vec::new()));
        records.extend(reacting(stop(), vec![refused()]));
        records.push(model_asked(1, 1));
        assert!(broken_names(records).contains(&"nothing-new-after-abort"));
    }
}
