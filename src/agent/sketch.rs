//! Logs in short, for the tests of this layer.
//!
//! Not here: anything that judges them; a sketch may be nonsense.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;

use crate::event::{
    AssistantMessage, AssistantSaid, Block, Body, CancelCause, EndReason, Event, Extra, Failure,
    InboxSpliced, Outcome, RequestContext, RequestHeader, RequestReason, Seq, Source, Step,
    StepMark, Surface, Target, ToolCalled, Turn, TurnEnded, TurnStarted, UserMessage, UserSaid,
};

use super::answer::Answer;

pub(super) const FIRST_TIME: u64 = 1000;

/// Puts bodies at their places; each event is one millisecond after the one before.
pub(super) fn log(bodies: impl IntoIterator<Item = Body>) -> Vec<Event> {
    (0..)
        .zip(bodies)
        .map(|(seq, body)| Event {
            seq,
            time: FIRST_TIME + seq,
            body,
        })
        .collect()
}

fn splice(target: Target, start: u32, removed: u32, inserted: &[&str]) -> InboxSpliced {
    InboxSpliced {
        target,
        start,
        removed_count: NonZeroU32::new(removed),
        inserted: inserted
            .iter()
            .map(|id| UserMessage::text(*id, *id))
            .collect(),
        outcome: None,
        extra: Extra::NONE,
    }
}

pub(super) fn insert(target: Target, start: u32, ids: &[&str]) -> Body {
    Body::InboxSpliced(splice(target, start, 0, ids))
}

pub(super) fn claim(target: Target, count: u32) -> Body {
    Body::InboxSpliced(splice(target, 0, count, &[]))
}

/// An ordinary removal, with what comes in its place.
pub(super) fn cancel(target: Target, start: u32, count: u32, inserted: &[&str]) -> Body {
    Body::InboxSpliced(InboxSpliced {
        outcome: Some(Outcome::Canceled),
        ..splice(target, start, count, inserted)
    })
}

pub(super) fn turn_start(turn: Turn) -> Body {
    let extra = Extra::NONE;
    Body::TurnStart(TurnStarted { turn, extra })
}

pub(super) fn turn_end(turn: Turn, reason: EndReason) -> Body {
    let extra = Extra::NONE;
    Body::TurnEnd(TurnEnded {
        turn,
        reason,
        extra,
    })
}

pub(super) fn failed() -> EndReason {
    let error = Failure::unknown("broken");
    EndReason::Error { error }
}

pub(super) fn stopped() -> EndReason {
    EndReason::aborted(CancelCause::User)
}

pub(super) fn step_start(turn: Turn, step: Step) -> Body {
    let extra = Extra::NONE;
    Body::StepStart(StepMark { turn, step, extra })
}

pub(super) fn step_end(turn: Turn, step: Step) -> Body {
    let extra = Extra::NONE;
    Body::StepEnd(StepMark { turn, step, extra })
}

pub(super) fn user(id: &str) -> Body {
    user_on(id, Surface::append())
}

pub(super) fn user_on(id: &str, surface: Surface) -> Body {
    let message = UserMessage::text(id, id);
    Body::UserMessage(UserSaid { message, surface })
}

pub(super) fn header(model: &str, reason: RequestReason) -> Body {
    Body::RequestHeader(RequestHeader {
        header: json!({ "model": model }),
        reason,
        extra: Extra::NONE,
    })
}

pub(super) fn context(model: &str) -> RequestContext {
    RequestContext {
        provider: "mock".into(),
        model: model.into(),
        context_window: None,
        extra: Extra::NONE,
    }
}

/// An answer of the model that asks for these calls.
pub(super) fn asks(turn: Turn, step: Step, calls: &[&str]) -> Body {
    asks_on(turn, step, calls, Surface::append())
}

pub(super) fn asks_on(turn: Turn, step: Step, calls: &[&str], surface: Surface) -> Body {
    let content = calls.iter().map(|id| Block::ToolCall {
        id: (*id).into(),
        name: "tool".into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    });
    let message = AssistantMessage {
        id: "answer".into(),
        content: content.collect(),
        source: Source::Model {
            provider: "mock".into(),
            model: "mock".into(),
            extra: Extra::NONE,
        },
        extra: Extra::NONE,
    };
    Body::AssistantMessage(AssistantSaid {
        turn,
        step,
        message: Arc::new(message),
        usage: None,
        interrupted: false,
        extra: Extra::NONE,
        surface,
    })
}

pub(super) fn tool_call(turn: Turn, step: Step, id: &str) -> Body {
    Body::ToolCall(ToolCalled {
        turn,
        step,
        call_id: id.into(),
        name: "tool".into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    })
}

pub(super) fn tool_result(turn: Turn, step: Step, id: &str, called: Seq) -> Body {
    let answer = Answer::given(vec![Block::text("done")], Extra::NONE);
    answer.result("result".into(), (turn, step), &id.into(), Some(called))
}
