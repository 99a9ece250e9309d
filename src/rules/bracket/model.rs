//! What the model says: where it stands and what it was made from.

use crate::event::Seq;
use crate::rules::example::{answer, chunk, cut_off, step_end, step_start, turn_end, turn_start};
use crate::rules::{
    About, EndKind, Fact, Kind, Kinds, Mark, Place, Report, Rule, Said, Scope, Seen, Situation,
};

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct ModelEventsInsideTheirStep;

impl Rule for ModelEventsInsideTheirStep {
    const ABOUT: About = About {
        name: "model-events-inside-their-step",
        sentence: "`assistant/*`, `tool/*`, `request/*` name or sit in the open step (surface \
                   rewrites excepted, inside a turn).",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[
            Kind::Chunk,
            Kind::AssistantMessage,
            Kind::ToolCall,
            Kind::ToolResult,
            Kind::Request,
        ]),
        accepted: || vec![turn_start(1), step_start(1, 1), chunk(1, 1)],
        refused: || vec![turn_start(1), chunk(1, 1)],
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let step = situation.step.as_ref();
        let (place, rewrites) = named(&seen.fact);
        let holds = if rewrites {
            situation.turn.is_some()
        } else {
            step.is_some_and(|step| place.is_none_or(|place| place == step.place))
        };
        let witness = step.map(|step| step.opened);
        report.expect(holds, witness.as_slice(), || {
            let open = match step {
                _ if rewrites => "no turn is open".to_owned(),
                Some(step) => format!("step {} is open", step.place),
                None => "no step is open".to_owned(),
            };
            match place {
                Some(place) => format!("an event of step {place} while {open}"),
                None => format!("a request while {open}"),
            }
        });
    }
}

/// Where a fact says that it belongs, and whether it rewrites history.
fn named(fact: &Fact<'_>) -> (Option<Place>, bool) {
    match fact {
        Fact::Chunk { place, .. } | Fact::ToolCall { place, .. } => (Some(*place), false),
        Fact::AssistantMessage(said) => (Some(said.place), said.surface.replaces),
        Fact::ToolResult { place, surface, .. } => (Some(*place), surface.replaces),
        _ => (None, false),
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct AssistantMessageCitesItsChunks {
    /// Chunks of the attempt, as stretches of places, first and last.
    attempt: Vec<(Seq, Seq)>,
    /// Whether the attempt's stream is over.
    finished: bool,
    /// The place of the next event, where none is written.
    next: Seq,
}

impl Rule for AssistantMessageCitesItsChunks {
    const ABOUT: About = About {
        name: "assistant-message-cites-its-chunks",
        sentence: "It lists exactly the chunks of the attempt that made it, all earlier than \
                   itself.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::DURABLE,
        accepted: || {
            vec![
                turn_start(1),
                step_start(1, 1),
                chunk(1, 1),
                answer(1, 1, &[2]),
            ]
        },
        refused: || {
            vec![
                turn_start(1),
                step_start(1, 1),
                chunk(1, 1),
                chunk(1, 1),
                answer(1, 1, &[2]),
            ]
        },
    };

    fn feed(&mut self, situation: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        let place = seen.seq.unwrap_or(self.next);
        let after = place.saturating_add(seen.fact.count().into());
        self.next = after;
        match seen.fact {
            Fact::StepStart(_) => self.begin(),
            Fact::Request if self.finished => self.begin(),
            Fact::Chunk { finish, .. } => {
                if self.finished {
                    self.begin();
                }
                self.add(place, after.saturating_sub(1));
                self.finished = finish.is_some();
            }
            Fact::AssistantMessage(said) if !said.surface.replaces => {
                self.judge(situation, &said, report);
                self.begin();
            }
            _ => {}
        }
    }
}

impl AssistantMessageCitesItsChunks {
    fn begin(&mut self) {
        self.attempt.clear();
        self.finished = false;
    }

    fn add(&mut self, first: Seq, last: Seq) {
        match self.attempt.last_mut() {
            Some((_, before)) if before.checked_add(1) == Some(first) => *before = last,
            _ => self.attempt.push((first, last)),
        }
    }

    fn judge(&self, situation: &Situation, said: &Said<'_>, report: &mut Report<'_>) {
        let cited = said.surface.sources.unwrap_or_default();
        if cited.is_empty() && self.attempt.is_empty() {
            return;
        }
        let chunks = self.attempt.iter().flat_map(|(first, last)| *first..=*last);
        let opened = situation.step.as_ref().map(|step| step.opened);
        report.expect(cited.iter().copied().eq(chunks), opened.as_slice(), || {
            format!(
                "cites {cited:?}; its attempt's chunks are {:?}",
                self.attempt
            )
        });
    }
}

/// See [`Rule::ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::rules) struct InterruptedMessageOnlyWhenAborted {
    /// An interrupted message of the open turn.
    interrupted: Option<Mark>,
}

impl Rule for InterruptedMessageOnlyWhenAborted {
    const ABOUT: About = About {
        name: "interrupted-message-only-when-aborted",
        sentence: "An assistant message marked interrupted stands only in a turn that ends \
                   `aborted`, with visible content and no tool call.",
        scope: Scope::Log,
        advice: false,
        needs_inbox: false,
        reads: Kinds::of(&[Kind::TurnStart, Kind::TurnEnd, Kind::AssistantMessage]),
        accepted: || cut("aborted"),
        refused: || cut("completed"),
    };

    fn feed(&mut self, _: &Situation, seen: &Seen<'_>, report: &mut Report<'_>) {
        match seen.fact {
            Fact::AssistantMessage(said) if said.interrupted => {
                let calls = said.calls.count();
                report.expect(said.visible && calls == 0, &[], || match calls {
                    0 => "an interrupted message shows nothing".to_owned(),
                    _ => format!("an interrupted message has {calls} tool calls"),
                });
                self.interrupted = Some(seen.mark);
            }
            Fact::TurnStart { .. } => self.interrupted = None,
            Fact::TurnEnd { turn, end, .. } => {
                if let Some(mark) = self.interrupted.take() {
                    // A crash may come before the end that was due.
                    let stopped = matches!(end, EndKind::Aborted { .. } | EndKind::Interrupted);
                    report.expect(stopped, &[mark], || {
                        format!("turn {turn} has an interrupted message and was not aborted")
                    });
                }
            }
            _ => {}
        }
    }
}

/// A turn whose model was cut off.
fn cut(kind: &str) -> Vec<crate::event::Record> {
    vec![
        turn_start(1),
        step_start(1, 1),
        chunk(1, 1),
        cut_off(1, 1, &[2]),
        step_end(1, 1),
        turn_end(1, kind),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Target::NextStep;
    use crate::event::{Failure, Finish, Record};
    use crate::rules::example::{broken, finish, insert, judge, replacing, request, tool_result};

    fn in_step(events: Vec<Record>) -> Vec<&'static str> {
        let mut records = vec![turn_start(1), step_start(1, 1)];
        records.extend(events);
        broken(&judge(records))
    }

    #[test]
    fn a_rewritten_tool_result_may_stand_between_steps() {
        let rewrite = replacing(2, tool_result(1, 1, "c"));
        let records = vec![turn_start(1), step_start(1, 1), step_end(1, 1), rewrite];
        assert!(broken(&judge(records)).is_empty());
    }

    #[test]
    fn a_rewritten_tool_result_may_not_stand_outside_a_turn() {
        let rewrite = replacing(2, tool_result(1, 1, "c"));
        let broken = broken(&judge(vec![rewrite]));
        assert_eq!(broken, [ModelEventsInsideTheirStep::ABOUT.name]);
    }

    #[test]
    fn an_event_that_names_another_step_is_refused() {
        let broken = in_step(vec![chunk(1, 2)]);
        assert_eq!(broken, [ModelEventsInsideTheirStep::ABOUT.name]);
    }

    #[test]
    fn a_message_cites_chunks_on_both_sides_of_what_others_logged() {
        let insert = insert(NextStep, 0, &["a"]);
        let apart = vec![chunk(1, 1), insert, chunk(1, 1), answer(1, 1, &[2, 4])];
        assert!(in_step(apart).is_empty());
    }

    #[test]
    fn a_message_does_not_cite_the_chunks_of_an_earlier_attempt() {
        let failure = Failure::unknown("gave up");
        let failed = || {
            finish(
                1,
                1,
                Finish::Aborted {
                    failure: failure.clone(),
                },
            )
        };
        let retried = |cited: &[Seq]| {
            let answer = answer(1, 1, cited);
            in_step(vec![chunk(1, 1), failed(), request(), chunk(1, 1), answer])
        };
        assert!(retried(&[5]).is_empty());
        let name = AssistantMessageCitesItsChunks::ABOUT.name;
        assert_eq!(retried(&[2, 3, 5]), [name]);
    }

    #[test]
    fn a_message_without_chunks_cites_none() {
        assert!(in_step(vec![answer(1, 1, &[])]).is_empty());
        let name = AssistantMessageCitesItsChunks::ABOUT.name;
        assert_eq!(in_step(vec![answer(1, 1, &[1])]), [name]);
    }

    #[test]
    fn an_interrupted_message_shows_something() {
        let silent = in_step(vec![cut_off(1, 1, &[])]);
        assert_eq!(silent, [InterruptedMessageOnlyWhenAborted::ABOUT.name]);
    }

    #[test]
    fn a_crash_may_come_between_an_interrupted_message_and_its_turns_end() {
        assert!(broken(&judge(cut("interrupted"))).is_empty());
    }
}
