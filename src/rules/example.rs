//! Short ways to write records, for the examples beside the rules.
//!
//! Sequence numbers are left out of them: an example is numbered when it is judged, unless
//! [`at_seq`] says otherwise. Not here: the examples; each stands in its rule.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Judge, RULES, Scope, Verdict};
use crate::event::{
    AssistantMessage, AssistantSaid, Block, Body, CancelCause, ChunkKind, Chunked, EndReason,
    Event, Extra, Failure, Finish, InboxSpliced, Live, Message, Op, Outcome, Record, ReplaceWord,
    RequestContext, Seq, Source, Status, Step, StepMark, Surface, SurfaceOp, Target, ToolAnswered,
    ToolCalled, ToolError, ToolMessage, Turn, TurnEnded, TurnStarted, UserMessage, UserSaid,
};

pub use super::example_live::*;

/// Stands for "no place of its own": [`super::numbered`] gives the place.
const UNNUMBERED: Seq = Seq::MAX;

/// A durable event of that body.
#[must_use]
pub fn durable(body: Body) -> Record {
    Record::Durable(Event {
        seq: UNNUMBERED,
        time: 0,
        body,
    })
}

/// The same event at that place.
#[must_use]
pub fn at_seq(seq: Seq, record: Record) -> Record {
    match record {
        Record::Durable(event) => Record::Durable(Event { seq, ..event }),
        other => other,
    }
}

/// Numbers the events that have no place of their own by position.
#[must_use]
pub fn numbered(records: Vec<Record>) -> Vec<Record> {
    let mut next = 0;
    let number = |record| match record {
        Record::Durable(event) => {
            let seq = if event.seq == UNNUMBERED {
                next
            } else {
                event.seq
            };
            next = seq + 1;
            Record::Durable(Event { seq, ..event })
        }
        other => other,
    };
    records.into_iter().map(number).collect()
}

/// What the rules about a log say of these records, numbered, to their end.
#[must_use]
pub fn judge(records: Vec<Record>) -> Verdict {
    judge_fork(0, records)
}

/// What all rules say of them: the records of a whole run.
#[must_use]
pub fn judge_run(records: Vec<Record>) -> Verdict {
    judge_all(Judge::default(), records)
}

/// The same of a child whose first `inherited` events are its parent's.
#[must_use]
pub fn judge_fork(inherited: Seq, records: Vec<Record>) -> Verdict {
    let mut judge = Judge::of(Scope::Log);
    judge.inherit_until(inherited);
    judge_all(judge, records)
}

fn judge_all(mut judge: Judge, records: Vec<Record>) -> Verdict {
    let mut verdict = Verdict::new(RULES.len());
    for record in numbered(records) {
        judge.feed_record(&record, &mut verdict);
    }
    judge.end(&mut verdict);
    verdict
}

/// The names of the broken rules, in the order of the violations.
#[must_use]
pub fn broken(verdict: &Verdict) -> Vec<&'static str> {
    let rules = verdict.violations.iter().map(|found| found.rule);
    rules.map(|rule| rule.about().name).collect()
}

/// `turn/start`.
#[must_use]
pub fn turn_start(turn: Turn) -> Record {
    durable(Body::TurnStart(TurnStarted {
        turn,
        extra: Extra::NONE,
    }))
}

/// `turn/end` of that kind: `completed`, `blocked`, `max-tokens`, `interrupted`, `aborted` (by the
/// user), anything else is an error in that word.
#[must_use]
pub fn turn_end(turn: Turn, kind: &str) -> Record {
    let reason = match kind {
        "completed" => EndReason::Completed,
        "blocked" => EndReason::Blocked,
        "max-tokens" => EndReason::MaxTokens,
        "interrupted" => EndReason::Interrupted,
        "aborted" => EndReason::aborted(CancelCause::User),
        words => EndReason::Error {
            error: Failure::unknown(words),
        },
    };
    turn_end_for(turn, reason)
}

/// `turn/end` for that reason.
#[must_use]
pub fn turn_end_for(turn: Turn, reason: EndReason) -> Record {
    durable(Body::TurnEnd(TurnEnded {
        turn,
        reason,
        extra: Extra::NONE,
    }))
}

/// `step/start`.
#[must_use]
pub fn step_start(turn: Turn, step: Step) -> Record {
    durable(Body::StepStart(StepMark {
        turn,
        step,
        extra: Extra::NONE,
    }))
}

/// `step/end`.
#[must_use]
pub fn step_end(turn: Turn, step: Step) -> Record {
    durable(Body::StepEnd(StepMark {
        turn,
        step,
        extra: Extra::NONE,
    }))
}

/// A message of that identity.
#[must_use]
pub fn message(id: &str) -> Message {
    UserMessage::text(id, id)
}

/// A splice: where, how many go, who comes, and whether it says `canceled`.
#[must_use]
pub fn splice(
    target: Target,
    start: u32,
    removed: u32,
    inserted: &[&str],
    canceled: bool,
) -> Record {
    durable(Body::InboxSpliced(InboxSpliced {
        target,
        start,
        removed_count: NonZeroU32::new(removed),
        inserted: inserted.iter().map(|id| message(id)).collect(),
        outcome: canceled.then_some(Outcome::Canceled),
        extra: Extra::NONE,
    }))
}

/// An insertion at that place.
#[must_use]
pub fn insert(target: Target, start: u32, ids: &[&str]) -> Record {
    splice(target, start, 0, ids, false)
}

/// A claim of so many, from the head of a list.
#[must_use]
pub fn claim(target: Target, count: u32) -> Record {
    splice(target, 0, count, &[], false)
}

/// A cancellation of so many, at that place.
#[must_use]
pub fn cancel(target: Target, start: u32, count: u32) -> Record {
    splice(target, start, count, &[], true)
}

/// `user/message`.
#[must_use]
pub fn user_message(id: &str) -> Record {
    durable(Body::UserMessage(UserSaid {
        message: message(id),
        surface: Surface::append(),
    }))
}

/// The same event, in the place of the node at `seq` instead of at the end of the surface. Only for
/// message-producing events; any other stays as it is.
#[must_use]
pub fn replacing(seq: Seq, record: Record) -> Record {
    let surface = Surface {
        surface_op: SurfaceOp::Replace {
            op: ReplaceWord::Replace,
            start: seq,
            end: seq,
        },
        source_event_seqs: Some(vec![seq]),
    };
    let Record::Durable(mut event) = record else {
        return record;
    };
    match &mut event.body {
        Body::UserMessage(said) => said.surface = surface,
        Body::AssistantMessage(said) => said.surface = surface,
        Body::ToolResult(answered) => answered.surface = surface,
        _ => {}
    }
    Record::Durable(event)
}

/// `request/context`.
#[must_use]
pub fn request() -> Record {
    durable(Body::RequestContext(RequestContext {
        provider: "provider".into(),
        model: "model".into(),
        context_window: None,
        extra: Extra::NONE,
    }))
}

/// `assistant/chunk` with a word.
#[must_use]
pub fn chunk(turn: Turn, step: Step) -> Record {
    let text = "word".into();
    chunk_of(turn, step, ChunkKind::TextDelta { index: 0, text })
}

/// `assistant/chunk` that ends the stream.
#[must_use]
pub fn finish(turn: Turn, step: Step, reason: Finish) -> Record {
    chunk_of(turn, step, ChunkKind::Finish { reason })
}

fn chunk_of(turn: Turn, step: Step, kind: ChunkKind) -> Record {
    durable(Body::AssistantChunk(Chunked {
        turn,
        step,
        chunk: kind.into(),
        extra: Extra::NONE,
    }))
}

/// `assistant/message` with a word, made from the chunks at these places.
#[must_use]
pub fn answer(turn: Turn, step: Step, chunks: &[Seq]) -> Record {
    said(turn, step, vec![Block::text("word")], chunks, false)
}

/// The same, marked interrupted; silent without chunks.
#[must_use]
pub fn cut_off(turn: Turn, step: Step, chunks: &[Seq]) -> Record {
    let words = chunks.iter().take(1).map(|_| Block::text("word"));
    said(turn, step, words.collect(), chunks, true)
}

/// `assistant/message` that asks for these calls.
#[must_use]
pub fn asks(turn: Turn, step: Step, calls: &[&str]) -> Record {
    let calls = calls.iter().map(|id| Block::ToolCall {
        id: (*id).into(),
        name: "tool".into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    });
    said(turn, step, calls.collect(), &[], false)
}

fn said(turn: Turn, step: Step, content: Vec<Block>, chunks: &[Seq], interrupted: bool) -> Record {
    let source = Source::Model {
        provider: "provider".into(),
        model: "model".into(),
        extra: Extra::NONE,
    };
    let message = AssistantMessage {
        id: "answer".into(),
        content,
        source,
        extra: Extra::NONE,
    };
    durable(Body::AssistantMessage(AssistantSaid {
        turn,
        step,
        message: Arc::new(message),
        usage: None,
        interrupted,
        extra: Extra::NONE,
        surface: Surface::append_from(chunks.to_vec()),
    }))
}

/// `tool/call`.
#[must_use]
pub fn tool_call(turn: Turn, step: Step, call: &str) -> Record {
    durable(Body::ToolCall(ToolCalled {
        turn,
        step,
        call_id: call.into(),
        name: "tool".into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    }))
}

/// `tool/result` by the tool.
#[must_use]
pub fn tool_result(turn: Turn, step: Step, call: &str) -> Record {
    result(turn, step, call, None)
}

/// `tool/result` in the tool's stead, with that code.
#[must_use]
pub fn tool_error(turn: Turn, step: Step, call: &str, code: &str) -> Record {
    let error = ToolError {
        name: None,
        code: code.into(),
        extra: Extra::NONE,
    };
    result(turn, step, call, Some(error))
}

fn result(turn: Turn, step: Step, call: &str, error: Option<ToolError>) -> Record {
    let block = Block::ToolResult {
        tool_call_id: call.into(),
        content: Vec::new(),
        is_error: error.is_some(),
        extra: Extra::NONE,
    };
    let source = Source::Tool {
        call_id: call.into(),
        extra: Extra::NONE,
    };
    let message = ToolMessage {
        id: "result".into(),
        content: vec![block],
        source,
        extra: Extra::NONE,
    };
    durable(Body::ToolResult(ToolAnswered {
        turn,
        step,
        message: Arc::new(message),
        error,
        extra: Extra::NONE,
        surface: Surface::append(),
    }))
}

/// `session/end-seed`.
#[must_use]
pub fn end_seed() -> Record {
    durable(Body::EndSeed(Extra::NONE))
}

/// The live event that a message became pending.
#[must_use]
pub fn inserted(id: &str) -> Record {
    Record::Live(Live::Inserted {
        message: message(id),
    })
}

/// The live event that a message was claimed.
#[must_use]
pub fn claimed(id: &str, turn: Turn) -> Record {
    Record::Live(Live::Claimed {
        message: message(id),
        turn,
    })
}

/// The live event that a message was discarded.
#[must_use]
pub fn discarded(id: &str) -> Record {
    Record::Live(Live::Discarded {
        message: message(id),
    })
}

/// The live event that the status changed.
#[must_use]
pub fn status(status: Status) -> Record {
    Record::Live(Live::Status { status })
}

/// A producer asks.
#[must_use]
pub fn act(op: Op) -> Record {
    Record::Act {
        by: "user".into(),
        op,
    }
}
