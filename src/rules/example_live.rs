//! Short ways to write what is observed of a run beside its log, for the examples of rules.
//!
//! Not here: durable events (`example`).

use std::sync::Arc;

use crate::event::{
    Answer, Body, CallId, CancelCause, Extra, Failure, Lists, Live, MessageId, Op, Record, Refused,
    Resting, Returned, Source, Status, Step, Surface, Target, ToolAnswered, ToolCalled,
    ToolMessage, Turn,
};

use super::example::durable;

fn ids(ids: &[&str]) -> Vec<MessageId> {
    ids.iter().copied().map(MessageId::from).collect()
}

/// A world opens with these listeners and a pool of two calls.
#[must_use]
pub fn opened(listeners: &[&str]) -> Record {
    Record::Opened {
        listeners: listeners.iter().copied().map(Arc::from).collect(),
        parallel_calls_max: 2,
    }
}

/// A whole operation of a producer, with what happens in its midst.
#[must_use]
pub fn doing(op: Op, midst: Vec<Record>) -> Vec<Record> {
    let by = "user".into();
    [vec![Record::Act { by, op }], midst, vec![Record::ActEnd]].concat()
}

/// The same by an observer, inside a publication.
#[must_use]
pub fn reacting(op: Op, midst: Vec<Record>) -> Vec<Record> {
    let end = Record::ReactEnd(op.clone());
    [vec![Record::React(op)], midst, vec![end]].concat()
}

/// A send to next-turn, with a wake.
#[must_use]
pub fn followup(id: &str) -> Op {
    Op::Followup { id: id.into() }
}

/// A send to next-step, with a wake.
#[must_use]
pub fn steer(id: &str) -> Op {
    Op::Steer { id: id.into() }
}

/// A send to next-step, without a wake.
#[must_use]
pub fn inject(id: &str) -> Op {
    Op::Inject { id: id.into() }
}

/// A cancel by the user that keeps what is pending.
#[must_use]
pub fn stop() -> Op {
    Op::Cancel {
        cause: CancelCause::User,
        keep_inbox: true,
    }
}

/// A cancel by the user that clears.
#[must_use]
pub fn stop_and_clear() -> Op {
    Op::Cancel {
        cause: CancelCause::User,
        keep_inbox: false,
    }
}

/// What an observer of a splice sees.
#[must_use]
pub fn lists(next_turn: &[&str], next_step: &[&str]) -> Record {
    Record::Lists(both(next_turn, next_step))
}

fn both(next_turn: &[&str], next_step: &[&str]) -> Lists {
    Lists {
        next_turn: ids(next_turn),
        next_step: ids(next_step),
    }
}

/// The driver starts.
#[must_use]
pub fn running() -> Record {
    super::example::status(Status::Running)
}

/// The driver is through.
#[must_use]
pub fn idle() -> Record {
    super::example::status(Status::Idle)
}

/// The decision is asked for.
#[must_use]
pub fn asked(messages: &[&str], turn: Turn, step: Step) -> Record {
    Record::Asked {
        messages: ids(messages),
        turn,
        step,
    }
}

/// The decision: these enter.
#[must_use]
pub fn entering(messages: &[&str]) -> Record {
    Record::Decided(Answer::Enter(ids(messages)))
}

/// The decision: no step.
#[must_use]
pub fn rejecting() -> Record {
    Record::Decided(Answer::Reject)
}

/// A listener is asked.
#[must_use]
pub fn pre_step(listener: &str, messages: &[&str], turn: Turn, step: Step) -> Record {
    Record::PreStep {
        listener: listener.into(),
        messages: ids(messages),
        turn,
        step,
    }
}

/// What the listener's `next` gave it.
#[must_use]
pub fn inner(listener: &str, messages: &[&str]) -> Record {
    Record::PreStepResult {
        listener: listener.into(),
        entry: Some(ids(messages)),
    }
}

/// The listener answers that these enter.
#[must_use]
pub fn settled(listener: &str, messages: &[&str]) -> Record {
    Record::Settled {
        listener: listener.into(),
        answer: Answer::Enter(ids(messages)),
    }
}

/// Replace or remove answers whether the message was pending.
#[must_use]
pub fn returned(was_pending: bool) -> Record {
    Record::Returned(Returned::Pending(was_pending))
}

/// An append in the midst of a publication is refused.
#[must_use]
pub fn refused() -> Record {
    Record::Refused(Refused::AppendReentered)
}

/// A turn's failure is announced.
#[must_use]
pub fn error_live(turn: Turn) -> Record {
    Record::Live(Live::Error {
        turn,
        step: 0,
        error: Failure::unknown("failed"),
    })
}

/// The model is asked.
#[must_use]
pub fn model_asked(turn: Turn, step: Step) -> Record {
    Record::ModelAsked { turn, step }
}

/// The plugins have the last word.
#[must_use]
pub fn turn_stopping(turn: Turn) -> Record {
    Record::TurnStopping { turn }
}

/// The body of a call begins.
#[must_use]
pub fn begun(call: &str, exclusive: bool) -> Record {
    let call = CallId::from(call);
    Record::ToolBegun { call, exclusive }
}

/// The body of a call is over.
#[must_use]
pub fn ended(call: &str) -> Record {
    let call = CallId::from(call);
    let concludes = false;
    Record::ToolEnded { call, concludes }
}

/// The agent rests, idle and quiet, with these lists.
#[must_use]
pub fn rest(next_turn: &[&str], next_step: &[&str]) -> Record {
    Record::Rest(Resting {
        lists: both(next_turn, next_step),
        status: Status::Idle,
        quiet: true,
        held: Vec::new(),
    })
}

/// The agent rests in the midst of its work, and that gate is held.
#[must_use]
pub fn held(gate: &str) -> Record {
    Record::Rest(Resting {
        lists: Lists::default(),
        status: Status::Running,
        quiet: false,
        held: vec![gate.into()],
    })
}

/// An agent goes on with a log.
#[must_use]
pub fn resumed(next_turn: &[&str], last_turn: Turn) -> Record {
    Record::Resumed {
        lists: both(next_turn, &[]),
        last_turn,
    }
}

/// `session/end-seed`.
#[must_use]
pub fn end_of_seed() -> Record {
    durable(Body::EndSeed(Extra::NONE))
}

/// `tool/call` in step 1.
#[must_use]
pub fn calling(turn: Turn, call: &str) -> Record {
    durable(Body::ToolCall(ToolCalled {
        turn,
        step: 1,
        call_id: call.into(),
        name: "tool".into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    }))
}

/// `tool/result` in step 1.
#[must_use]
pub fn result_of(turn: Turn, call: &str) -> Record {
    durable(Body::ToolResult(ToolAnswered {
        turn,
        step: 1,
        message: Arc::new(ToolMessage {
            id: "result".into(),
            content: Vec::new(),
            source: Source::Tool {
                call_id: call.into(),
                extra: Extra::NONE,
            },
            extra: Extra::NONE,
        }),
        error: None,
        extra: Extra::NONE,
        surface: Surface::append(),
    }))
}

/// The claim of the first message of next-turn, told.
#[must_use]
pub fn claiming(id: &str, turn: Turn) -> Vec<Record> {
    vec![
        super::example::claim(Target::NextTurn, 1),
        super::example::claimed(id, turn),
    ]
}

/// A message sent to the end of next-turn, told.
#[must_use]
pub fn queued(start: u32, id: &str) -> Vec<Record> {
    vec![
        super::example::insert(Target::NextTurn, start, &[id]),
        super::example::inserted(id),
    ]
}

/// A cancellation of the whole of a list, told.
#[must_use]
pub fn clearing(target: Target, ids: &[&str]) -> Vec<Record> {
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let splice = super::example::cancel(target, 0, count);
    let told = ids.iter().map(|id| super::example::discarded(id));
    std::iter::once(splice).chain(told).collect()
}

/// A driver that has opened turn 1 and a step in it, for a message that was sent to it.
#[must_use]
pub fn first_step(id: &str) -> Vec<Record> {
    let mut records = first_decision(id);
    records.extend([
        entering(&[id]),
        super::example::step_start(1, 1),
        super::example::user_message(id),
    ]);
    records
}

/// A driver that has claimed a message for turn 1 and asks for the decision.
#[must_use]
pub fn first_decision(id: &str) -> Vec<Record> {
    let mut midst = queued(0, id);
    midst.extend([running(), super::example::turn_start(1)]);
    midst.extend(claiming(id, 1));
    let mut records = doing(followup(id), midst);
    records.push(asked(&[id], 1, 1));
    records
}
