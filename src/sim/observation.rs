//! Records in the vocabulary of the golden schedules.
//!
//! What that vocabulary leaves out is left out: times, the data of request headers, the words of
//! error results; identities that the loop made are `g1`, `g2`, … in order of appearance. Not here:
//! comparing (`conform`).

use serde_json::{Value, json};

use crate::event::{Body, Event, Live, Message, MessageId, Record, Refused, Returned};

/// Puts the records of one run into the golden vocabulary.
#[derive(Debug, Default)]
pub(super) struct Observer {
    /// Identities that the loop made, in order of appearance.
    made: Vec<String>,
}

impl Observer {
    /// One observation; `None` for what that vocabulary does not speak of.
    pub(super) fn observe(&mut self, record: &Record) -> Option<Value> {
        Some(match record {
            Record::Durable(event) => json!({ "event": self.event(event) }),
            Record::Lists(lists) => json!({ "lists": [lists.next_turn, lists.next_step] }),
            Record::Live(live) => return observe_live(live),
            Record::React(op) => json!({ "reaction": op.name() }),
            Record::ReactEnd(op) => json!({ "reaction-end": op.name() }),
            Record::PreStep {
                listener,
                messages,
                turn,
                step,
            } => {
                json!({ "pre-step": listener, "messages": messages, "turn": turn, "step": step })
            }
            Record::PreStepResult {
                listener,
                entry: Some(ids),
            } => {
                json!({ "pre-step-result": listener, "enter": ids })
            }
            Record::PreStepResult {
                listener,
                entry: None,
            } => {
                json!({ "pre-step-result": listener, "reject": true })
            }
            Record::TurnStopping { turn } => json!({ "turn-stopping": turn }),
            Record::Gate { gate } => json!({ "gate": gate }),
            Record::Returned(Returned::Pending(was)) => json!({ "returned": was }),
            Record::Returned(Returned::Removed(ids)) => json!({ "returned": ids }),
            Record::Refused(refused) => observe_refused(refused),
            Record::Idle(wait) => json!({ "idle": wait }),
            Record::Disposed => json!({ "disposed": true }),
            Record::Opened { .. }
            | Record::Act { .. }
            | Record::ActEnd
            | Record::Release { .. }
            | Record::Asked { .. }
            | Record::Decided(_)
            | Record::Settled { .. }
            | Record::ModelAsked { .. }
            | Record::ToolBegun { .. }
            | Record::ToolEnded { .. }
            | Record::Dispatched { .. }
            | Record::ObserverFailed
            | Record::AppendRefused
            | Record::Surplus { .. }
            | Record::Rest(_)
            | Record::Crashed
            | Record::Resumed { .. } => return None,
            Record::Maintenance(None) => json!({ "maintenance": "done" }),
            Record::Maintenance(Some(words)) => {
                json!({ "maintenance": "failed", "message": words })
            }
        })
    }

    fn event(&mut self, event: &Event) -> Value {
        let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
        if let Some(envelope) = value.as_object_mut() {
            envelope.remove("time");
        }
        let data = &mut value["data"];
        match &event.body {
            Body::RequestHeader(_) | Body::RequestContext(_) => *data = json!({}),
            Body::AssistantMessage(said) => {
                data["message"]["id"] = self.made(&said.message.id);
            }
            Body::ToolResult(answered) => {
                data["message"]["id"] = self.made(&answered.message.id);
                without_error_words(data);
            }
            _ => {}
        }
        value
    }

    /// The stand-in of an identity that the loop made.
    fn made(&mut self, id: &MessageId) -> Value {
        let known = self.made.iter().position(|made| made == id.as_str());
        let place = known.unwrap_or_else(|| {
            self.made.push(id.as_str().into());
            self.made.len() - 1
        });
        format!("g{}", place + 1).into()
    }
}

/// Empties the content of error results: their words are free.
pub(super) fn without_error_words(data: &mut Value) {
    let content = data.pointer_mut("/message/content");
    let Some(blocks) = content.and_then(Value::as_array_mut) else {
        return;
    };
    for block in blocks
        .iter_mut()
        .filter(|block| block["isError"] == json!(true))
    {
        block["content"] = json!([]);
    }
}

fn observe_live(live: &Live) -> Option<Value> {
    let of = |kind: &str, message: &Message| json!({ "live": kind, "id": message.id });
    Some(match live {
        Live::Inserted { message } => of("inserted", message),
        Live::Discarded { message } => of("discarded", message),
        Live::Claimed { message, turn } => {
            json!({ "live": "claimed", "id": message.id, "turn": turn })
        }
        Live::Status { status } => json!({ "live": "status", "status": status }),
        Live::Error { turn, step, error } => {
            json!({ "live": "error", "turn": turn, "step": step, "message": error.message })
        }
        Live::SessionStart { .. } | Live::Created | Live::Disposed => return None,
    })
}

fn observe_refused(refused: &Refused) -> Value {
    match refused {
        Refused::AlreadyPending(id) => json!({ "refused": "already-pending", "id": id }),
        Refused::AppendReentered => json!({ "refused": "append-reentered" }),
        Refused::Busy => json!({ "refused": "busy" }),
        Refused::NoGate(gate) => json!({ "refused": "no-gate", "gate": gate }),
        Refused::Disposed => json!({ "refused": "disposed" }),
        Refused::Log(words) => json!({ "refused": "log", "message": words }),
    }
}
