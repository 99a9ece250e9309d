//! Repair: the events that close what a crash left open.
//!
//! Every unanswered call of the open step gets an error result, then the step closes, then the
//! turn, as interrupted. What was claimed stays claimed: repair puts nothing back and names what
//! is lost. Not here: marking where inherited history ends (`resume`), writing to a log.

use std::fmt;

use crate::event::{
    AssistantSaid, Block, Body, CallId, EndReason, Event, Extra, MessageId, Seq, Source, Step,
    StepMark, Time, ToolMessage, Turn, TurnEnded,
};

use super::answer::Answer;
use super::claims::{APPEND, Claims};

/// What closes a log, and what a crash took with it. Empty for a balanced log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Repair {
    /// The events to append, in order: one error `tool/result` per unanswered call in the order of
    /// the transcript, `step/end`, `turn/end`. They go on with the log's numbers and carry its last
    /// time. Empty when no turn is open.
    pub closers: Vec<Event>,
    /// Messages of the open turn that were claimed and had not entered when the log stops, in the
    /// order of their claim. They do not come back.
    pub lost: Vec<MessageId>,
}

/// The repair of a log that folds from its start.
#[must_use]
pub fn repair(events: &[Event]) -> Repair {
    repair_from(0, events)
}

/// The repair of a log whose inbox folds from `origin`, the length of an inherited prefix.
#[must_use]
pub fn repair_from(origin: Seq, events: &[Event]) -> Repair {
    let mut unfinished = Unfinished::new(origin);
    for event in events {
        unfinished.feed(event);
    }
    unfinished.repair()
}

/// What a log has opened and not closed, followed one event at a time. Holds no more than is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unfinished {
    next: Seq,
    time: Time,
    turn: Option<OpenTurn>,
    claims: Claims,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OpenTurn {
    turn: Turn,
    step: Option<Step>,
    /// Calls of the open step without an answer, in the order of the transcript.
    calls: Vec<OpenCall>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OpenCall {
    id: CallId,
    /// Place of its `tool/call`.
    called: Option<Seq>,
}

impl Unfinished {
    /// Follows a log whose inbox folds from `origin`; 0 unless it inherited a prefix.
    #[must_use]
    pub fn new(origin: Seq) -> Self {
        Self {
            claims: Claims::new(origin),
            ..Self::default()
        }
    }

    /// Takes the log's next event.
    pub fn feed(&mut self, event: &Event) {
        self.next = event.seq.saturating_add(1);
        self.time = event.time;
        self.claims.feed(event);
        match &event.body {
            Body::TurnStart(started) => self.turn = Some(OpenTurn::new(started.turn)),
            Body::TurnEnd(_) => self.turn = None,
            body => {
                if let Some(turn) = &mut self.turn {
                    turn.feed(event.seq, body);
                }
            }
        }
    }

    /// What would close the log if it stopped here.
    #[must_use]
    pub fn repair(&self) -> Repair {
        let Some(turn) = &self.turn else {
            return Repair::default();
        };
        let placed = |(index, closer): (Seq, Closer<'_>)| {
            let seq = self.next.saturating_add(index);
            Event {
                seq,
                time: self.time,
                body: closer.body(seq),
            }
        };
        let closers = (0..).zip(turn.closers()).map(placed).collect();
        Repair {
            closers,
            lost: self.claims.waiting().to_vec(),
        }
    }
}

impl OpenTurn {
    fn new(turn: Turn) -> Self {
        Self {
            turn,
            step: None,
            calls: Vec::new(),
        }
    }

    fn feed(&mut self, seq: Seq, body: &Body) {
        match body {
            Body::StepStart(mark) => self.set_step(Some(mark.step)),
            Body::StepEnd(_) => self.set_step(None),
            // A rewrite of older history asks nothing anew.
            Body::AssistantMessage(said)
                if self.step.is_some() && said.surface.surface_op == APPEND =>
            {
                self.calls.extend(calls(said));
            }
            Body::ToolCall(call) => self.mark_called(&call.call_id, seq),
            Body::ToolResult(answered) if answered.surface.surface_op == APPEND => {
                self.mark_answered(&answered.message);
            }
            _ => {}
        }
    }

    /// Calls belong to their step: an earlier one's are closed with it.
    fn set_step(&mut self, step: Option<Step>) {
        self.step = step;
        self.calls.clear();
    }

    fn mark_called(&mut self, id: &CallId, seq: Seq) {
        let mut calls = self.calls.iter_mut();
        if let Some(call) = calls.find(|call| call.id == *id && call.called.is_none()) {
            call.called = Some(seq);
        }
    }

    fn mark_answered(&mut self, message: &ToolMessage) {
        let answers = |call: &OpenCall| answered_call(message) == Some(&call.id);
        if let Some(place) = self.calls.iter().position(answers) {
            self.calls.remove(place);
        }
    }

    fn closers(&self) -> impl Iterator<Item = Closer<'_>> {
        let turn = self.turn;
        let answers = self.step.into_iter().flat_map(move |step| {
            let calls = self.calls.iter();
            calls.map(move |call| Closer::Answer(turn, step, call))
        });
        let step = self.step.map(|step| Closer::Step(turn, step));
        answers.chain(step).chain([Closer::Turn(turn)])
    }
}

/// One closing event, before it has its place.
enum Closer<'a> {
    Answer(Turn, Step, &'a OpenCall),
    Step(Turn, Step),
    Turn(Turn),
}

impl Closer<'_> {
    fn body(self, seq: Seq) -> Body {
        let extra = Extra::NONE;
        match self {
            Self::Answer(turn, step, call) => call.answer(turn, step, seq),
            Self::Step(turn, step) => Body::StepEnd(StepMark { turn, step, extra }),
            Self::Turn(turn) => Body::TurnEnd(TurnEnded {
                turn,
                reason: EndReason::Interrupted,
                extra,
            }),
        }
    }
}

impl OpenCall {
    fn answer(&self, turn: Turn, step: Step, seq: Seq) -> Body {
        let answer = match self.called {
            Some(_) => Answer::outcome_unknown(),
            None => Answer::not_started(),
        };
        let id = format!("interrupted-tool-result-{}-{seq}", self.id).into();
        answer.result(id, (turn, step), &self.id, self.called)
    }
}

fn calls(said: &AssistantSaid) -> impl Iterator<Item = OpenCall> {
    said.message.content.iter().filter_map(|block| match block {
        Block::ToolCall { id, .. } => Some(OpenCall {
            id: id.clone(),
            called: None,
        }),
        _ => None,
    })
}

/// The call that a tool's message answers, as its source or else its content names it.
fn answered_call(message: &ToolMessage) -> Option<&CallId> {
    if let Source::Tool { call_id, .. } = &message.source {
        return Some(call_id);
    }
    message.content.iter().find_map(|block| match block {
        Block::ToolResult { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    })
}

impl Repair {
    /// Whether the log was balanced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.closers.is_empty()
    }

    fn answered(&self, code: &str) -> usize {
        let codes = self.closers.iter().filter_map(|event| match &event.body {
            Body::ToolResult(answered) => answered.error.as_ref(),
            _ => None,
        });
        codes.filter(|error| error.code.as_ref() == code).count()
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing was left open");
        }
        f.write_str("interrupted")?;
        for event in &self.closers {
            match &event.body {
                Body::StepEnd(mark) => write!(f, ", closed step {}", mark.step)?,
                Body::TurnEnd(ended) => write!(f, ", closed turn {}", ended.turn)?,
                _ => {}
            }
        }
        write_count(
            f,
            self.answered("TOOL_OUTCOME_UNKNOWN"),
            "of unknown outcome",
        )?;
        write_count(f, self.answered("TOOL_NOT_STARTED"), "never started")?;
        let mut before = "; claimed and never entered: ";
        for id in &self.lost {
            write!(f, "{before}{id}")?;
            before = ", ";
        }
        Ok(())
    }
}

fn write_count(f: &mut fmt::Formatter<'_>, calls: usize, what: &str) -> fmt::Result {
    match calls {
        0 => Ok(()),
        1 => write!(f, "; 1 call {what}"),
        _ => write!(f, "; {calls} calls {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::sketch::{
        FIRST_TIME, asks, asks_on, cancel, claim, header, insert, log, step_end, step_start,
        tool_call, tool_result, turn_end, turn_start, user, user_on,
    };
    use crate::event::Target::{NextStep, NextTurn};
    use crate::event::{ReplaceWord, RequestReason, Surface, SurfaceOp};

    /// What the closers are, in short.
    fn closers(bodies: impl IntoIterator<Item = Body>) -> Vec<String> {
        repair(&log(bodies)).closers.iter().map(short).collect()
    }

    fn short(event: &Event) -> String {
        match &event.body {
            Body::ToolResult(answered) => {
                let code = answered.error.as_ref().map_or("none", |error| &error.code);
                let cited = &answered.surface.source_event_seqs;
                let call = answered_call(&answered.message).map_or("?", CallId::as_str);
                format!("{call} {code} cites {cited:?}")
            }
            Body::StepEnd(mark) => format!("step {}.{} ends", mark.turn, mark.step),
            Body::TurnEnd(ended) => format!("turn {} ends {:?}", ended.turn, ended.reason),
            body => format!("{body:?}"),
        }
    }

    fn lost(bodies: impl IntoIterator<Item = Body>) -> Vec<String> {
        let lost = repair(&log(bodies)).lost;
        lost.iter().map(MessageId::to_string).collect()
    }

    fn replacing(start: Seq, end: Seq) -> Surface {
        let op = ReplaceWord::Replace;
        Surface {
            surface_op: SurfaceOp::Replace { op, start, end },
            source_event_seqs: None,
        }
    }

    const CLOSED: [&str; 2] = ["step 1.1 ends", "turn 1 ends Interrupted"];

    #[test]
    fn a_log_without_an_open_turn_gets_nothing() {
        assert!(closers([]).is_empty());
        assert!(closers([insert(NextTurn, 0, &["a"])]).is_empty());
        let closed = [turn_start(1), turn_end(1, EndReason::Completed)];
        assert_eq!(repair(&log(closed)), Repair::default());
    }

    #[test]
    fn an_open_turn_is_closed_as_interrupted() {
        assert_eq!(closers([turn_start(1)]), ["turn 1 ends Interrupted"]);
    }

    #[test]
    fn an_open_step_is_closed_before_its_turn() {
        assert_eq!(closers([turn_start(1), step_start(1, 1)]), CLOSED);
    }

    #[test]
    fn unanswered_calls_are_answered_first_in_the_order_of_the_transcript() {
        let cut = [
            turn_start(1),
            step_start(1, 1),
            asks(1, 1, &["a", "b", "c"]),
            tool_call(1, 1, "b"),
            tool_call(1, 1, "a"),
            tool_result(1, 1, "a", 4),
        ];
        let answers = [
            "b TOOL_OUTCOME_UNKNOWN cites Some([3])",
            "c TOOL_NOT_STARTED cites None",
        ];
        assert_eq!(closers(cut), [&answers[..], &CLOSED].concat());
    }

    #[test]
    fn a_call_that_the_model_did_not_ask_for_is_not_answered() {
        let cut = [turn_start(1), step_start(1, 1), tool_call(1, 1, "stray")];
        assert_eq!(closers(cut), CLOSED);
    }

    #[test]
    fn calls_of_a_closed_step_stay_unanswered() {
        let cut = [
            turn_start(1),
            step_start(1, 1),
            asks(1, 1, &["a"]),
            step_end(1, 1),
        ];
        assert_eq!(closers(cut), ["turn 1 ends Interrupted"]);
    }

    #[test]
    fn a_repeated_call_identity_is_answered_once_per_occurrence() {
        let cut = [
            turn_start(1),
            step_start(1, 1),
            asks(1, 1, &["", ""]),
            tool_call(1, 1, ""),
            tool_result(1, 1, "", 3),
            tool_call(1, 1, ""),
        ];
        let answer = [" TOOL_OUTCOME_UNKNOWN cites Some([5])"];
        assert_eq!(closers(cut), [&answer[..], &CLOSED].concat());
    }

    #[test]
    fn a_rewritten_answer_of_the_model_asks_nothing_anew() {
        let cut = [
            turn_start(1),
            step_start(1, 1),
            asks(1, 1, &["a"]),
            tool_call(1, 1, "a"),
            tool_result(1, 1, "a", 3),
            asks_on(1, 1, &["a"], replacing(2, 2)),
        ];
        assert_eq!(closers(cut), CLOSED);
    }

    #[test]
    fn only_the_last_of_two_open_turns_is_closed() {
        let cut = [turn_start(1), step_start(1, 1), turn_start(2)];
        assert_eq!(closers(cut), ["turn 2 ends Interrupted"]);
    }

    #[test]
    fn closers_go_on_with_the_sequence_at_the_last_time() {
        let closers = repair(&log([turn_start(1), step_start(1, 1)])).closers;
        let places: Vec<_> = closers
            .iter()
            .map(|event| (event.seq, event.time))
            .collect();
        assert_eq!(places, [(2, FIRST_TIME + 1), (3, FIRST_TIME + 1)]);
    }

    #[test]
    fn a_synthetic_answer_is_named_after_its_call_and_its_place() {
        let cut = [turn_start(1), step_start(1, 1), asks(1, 1, &["a"])];
        let closers = repair(&log(cut)).closers;
        let Body::ToolResult(answered) = &closers[0].body else {
            panic!("the call is answered first");
        };
        assert_eq!(answered.message.id.as_str(), "interrupted-tool-result-a-3");
    }

    #[test]
    fn a_repaired_log_gets_nothing() {
        let mut log = log([turn_start(1), step_start(1, 1), asks(1, 1, &["a"])]);
        let closers = repair(&log).closers;
        log.extend(closers);
        assert!(repair(&log).is_empty());
    }

    #[test]
    fn what_was_claimed_and_had_not_entered_is_lost() {
        let cut = [
            insert(NextTurn, 0, &["a"]),
            insert(NextStep, 0, &["b", "c"]),
            turn_start(1),
            claim(NextStep, 2),
            claim(NextTurn, 1),
        ];
        assert_eq!(lost(cut), ["b", "c", "a"]);
    }

    #[test]
    fn what_had_entered_is_not_lost() {
        let cut = [
            insert(NextStep, 0, &["a", "b"]),
            turn_start(1),
            claim(NextStep, 2),
            step_start(1, 1),
            user("a"),
        ];
        assert_eq!(lost(cut), ["b"]);
    }

    #[test]
    fn what_the_decision_left_out_is_not_lost() {
        let cut = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            step_start(1, 1),
            header("m", RequestReason::Initial),
        ];
        assert!(lost(cut).is_empty());
    }

    #[test]
    fn what_its_owner_put_back_is_not_lost() {
        let cut = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            insert(NextStep, 0, &["a"]),
        ];
        assert!(lost(cut).is_empty());
    }

    #[test]
    fn what_was_cancelled_is_not_lost() {
        let cut = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            cancel(NextTurn, 0, 1, &[]),
        ];
        assert!(lost(cut).is_empty());
    }

    #[test]
    fn a_summary_of_older_history_is_no_entry() {
        let cut = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            claim(NextTurn, 1),
            user_on("a", replacing(0, 0)),
        ];
        assert_eq!(lost(cut), ["a"]);
    }

    #[test]
    fn a_child_loses_nothing_of_what_its_parent_had_pending() {
        let events = log([
            insert(NextTurn, 0, &["of the parent"]),
            insert(NextTurn, 0, &["of the child"]),
            turn_start(1),
            claim(NextTurn, 1),
        ]);
        assert_eq!(repair_from(1, &events).lost, ["of the child".into()]);
    }

    #[test]
    fn a_repair_says_what_it_did() {
        let cut = [
            insert(NextStep, 0, &["m1", "m2"]),
            turn_start(3),
            claim(NextStep, 2),
        ];
        let said = repair(&log(cut)).to_string();
        let words = "interrupted, closed turn 3; claimed and never entered: m1, m2";
        assert_eq!(said, words);
    }

    #[test]
    fn a_repair_counts_the_calls_that_it_answered() {
        let cut = [
            turn_start(1),
            step_start(1, 2),
            asks(1, 2, &["a", "b", "c"]),
            tool_call(1, 2, "a"),
        ];
        let said = repair(&log(cut)).to_string();
        let words = "interrupted, closed step 2, closed turn 1; 1 call of unknown outcome; \
                     2 calls never started";
        assert_eq!(said, words);
    }

    #[test]
    fn a_repair_of_a_balanced_log_says_so() {
        assert_eq!(Repair::default().to_string(), "nothing was left open");
    }

    #[test]
    fn sequence_numbers_at_the_end_of_their_range_do_no_harm() {
        let mut events = log([turn_start(1)]);
        events[0].seq = Seq::MAX;
        assert_eq!(repair(&events).closers.len(), 1);
    }
}
