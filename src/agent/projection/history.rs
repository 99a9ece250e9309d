//! The surface: the history that the model sees, derived from the log.
//!
//! Not here: system prompt and tools of a request, whether a replacement cites what it hides.
//! Messages of a shape that no type fits have no place on it.

use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use crate::event::{AssistantMessage, Body, Event, Message, Plugin, Seq, SurfaceOp, ToolMessage};

/// The live nodes of a log's surface, in the order in which the model reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    nodes: Vec<Node>,
}

/// One message on the surface.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// Place of its event; how replacements name it.
    pub seq: Seq,
    /// What the model reads.
    pub said: Said,
}

/// A message as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// By a person or a plugin; a summary of replaced history as well.
    User(Message),
    /// By the model.
    Assistant(Arc<AssistantMessage>),
    /// By a tool.
    Tool(Arc<ToolMessage>),
    /// By the system or a developer, or steering from before the inbox: of other versions of the
    /// log.
    Other(Arc<Plugin>),
}

/// A log's surface does not fold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum HistoryError {
    /// A replacement names a node that is not on the surface.
    #[error("event {seq} replaces from {start} to {end}, and {missing} is not on the surface")]
    NotLive {
        /// The replacement.
        seq: Seq,
        /// First node that it names.
        start: Seq,
        /// Last node that it names.
        end: Seq,
        /// The one that is not there.
        missing: Seq,
    },
    /// A replacement names its last node before its first.
    #[error("event {seq} replaces from {start} to {end}, which stand in the other order")]
    Backwards {
        /// The replacement.
        seq: Seq,
        /// First node that it names.
        start: Seq,
        /// Last node that it names.
        end: Seq,
    },
    /// A surface operation has a form that is not known.
    #[error("event {seq}: a surface operation of an unknown form")]
    Unreadable {
        /// The event.
        seq: Seq,
    },
}

impl History {
    /// The history of a whole log. Empty when nothing was said.
    ///
    /// # Errors
    /// At the first event that does not fold.
    pub fn of(events: &[Event]) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        for event in events {
            history.feed(event)?;
        }
        Ok(history)
    }

    /// Takes the log's next event.
    ///
    /// # Errors
    /// When it replaces what is not there; then nothing changes.
    pub fn feed(&mut self, event: &Event) -> Result<(), HistoryError> {
        let seq = event.seq;
        let Some(surface) = event.body.surface() else {
            return Ok(());
        };
        let Some(said) = said(&event.body) else {
            return Ok(());
        };
        let node = Node { seq, said };
        match replaced(&surface.surface_op) {
            Change::Append => self.nodes.push(node),
            Change::Replace { start, end } => self.replace(node, start, end)?,
            Change::Unknown => return Err(HistoryError::Unreadable { seq }),
        }
        Ok(())
    }

    /// The live nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The model's messages.
    pub fn messages(&self) -> impl Iterator<Item = &Said> {
        self.nodes.iter().map(|node| &node.said)
    }

    fn replace(&mut self, node: Node, start: Seq, end: Seq) -> Result<(), HistoryError> {
        let seq = node.seq;
        let place = |named: Seq| {
            let missing = HistoryError::NotLive {
                seq,
                start,
                end,
                missing: named,
            };
            let mut nodes = self.nodes.iter();
            nodes.position(|node| node.seq == named).ok_or(missing)
        };
        let (first, last) = (place(start)?, place(end)?);
        if first > last {
            return Err(HistoryError::Backwards { seq, start, end });
        }
        self.nodes.splice(first..=last, [node]);
        Ok(())
    }
}

/// The message that an event makes, if it makes one.
fn said(body: &Body) -> Option<Said> {
    match body {
        Body::UserMessage(said) => Some(Said::User(said.message.clone())),
        Body::AssistantMessage(said) => Some(Said::Assistant(said.message.clone())),
        Body::ToolResult(answered) => Some(Said::Tool(answered.message.clone())),
        Body::Plugin(plugin) => Some(Said::Other(plugin.clone())),
        _ => None,
    }
}

/// What an event does to the surface, whatever version names it.
enum Change {
    Append,
    Replace { start: Seq, end: Seq },
    Unknown,
}

fn replaced(op: &SurfaceOp) -> Change {
    match op {
        SurfaceOp::Append(_) => Change::Append,
        SurfaceOp::Replace { start, end, .. } => Change::Replace {
            start: *start,
            end: *end,
        },
        SurfaceOp::Other(value) => replaced_since_version_3(value).unwrap_or(Change::Unknown),
    }
}

/// Version 3 names the ends of a replacement `startSeq` and `endSeq`.
fn replaced_since_version_3(op: &Value) -> Option<Change> {
    let end_at = |name| op.get(name).and_then(Value::as_u64);
    if op.get("op")?.as_str()? != "replace" {
        return None;
    }
    Some(Change::Replace {
        start: end_at("startSeq")?,
        end: end_at("endSeq")?,
    })
}

/// The places of the live nodes of a log's surface, in order.
///
/// # Errors
/// As [`History::of`].
pub fn surface(events: &[Event]) -> Result<Vec<Seq>, HistoryError> {
    let history = History::of(events)?;
    Ok(history.nodes.iter().map(|node| node.seq).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::sketch::{
        asks, insert, log, step_start, tool_call, tool_result, turn_start, user, user_on,
    };
    use crate::event::Target::NextTurn;
    use crate::event::plugin::SystemSaid;
    use crate::event::{Extra, ReplaceWord, Surface};

    fn summary(surface_op: SurfaceOp) -> Body {
        let source_event_seqs = None;
        let surface = Surface {
            surface_op,
            source_event_seqs,
        };
        user_on("summary", surface)
    }

    fn replacing(start: Seq, end: Seq) -> Body {
        let op = ReplaceWord::Replace;
        summary(SurfaceOp::Replace { op, start, end })
    }

    fn folded(bodies: impl IntoIterator<Item = Body>) -> Result<Vec<Seq>, HistoryError> {
        surface(&log(bodies))
    }

    #[test]
    fn an_empty_log_has_no_history() {
        assert_eq!(folded([]), Ok(vec![]));
    }

    #[test]
    fn messages_stand_in_the_order_of_the_log() {
        let log = log([
            user("a"),
            asks(1, 1, &["call"]),
            tool_result(1, 1, "call", 1),
        ]);
        let history = History::of(&log).unwrap();
        let said: Vec<_> = history.messages().collect();
        assert!(matches!(
            said[..],
            [Said::User(_), Said::Assistant(_), Said::Tool(_)]
        ));
    }

    #[test]
    fn a_system_message_heads_the_surface_of_later_versions() {
        let system = SystemSaid {
            turn: 1,
            step: 1,
            message: json!({ "role": "system" }),
            surface: Surface::append(),
            extra: Extra::NONE,
        };
        let system = Body::Plugin(Plugin::SystemMessage(system).into());
        assert_eq!(folded([system, user("a")]), Ok(vec![0, 1]));
    }

    #[test]
    fn events_that_produce_no_message_leave_no_trace() {
        let quiet = [
            insert(NextTurn, 0, &["a"]),
            turn_start(1),
            step_start(1, 1),
            tool_call(1, 1, "c"),
        ];
        assert_eq!(folded(quiet), Ok(vec![]));
    }

    #[test]
    fn a_replacement_stands_where_its_stretch_stood() {
        let compacted = [user("a"), user("b"), user("c"), replacing(0, 1)];
        assert_eq!(folded(compacted), Ok(vec![3, 2]));
    }

    #[test]
    fn a_replacement_can_be_replaced() {
        let twice = [
            user("a"),
            user("b"),
            replacing(0, 0),
            user("c"),
            replacing(2, 1),
        ];
        assert_eq!(folded(twice), Ok(vec![4, 3]));
    }

    #[test]
    fn later_versions_name_the_ends_otherwise() {
        let op = json!({ "op": "replace", "startSeq": 0, "endSeq": 1 });
        let compacted = [user("a"), user("b"), summary(SurfaceOp::Other(op))];
        assert_eq!(folded(compacted), Ok(vec![2]));
    }

    #[test]
    fn a_replacement_of_what_is_hidden_is_refused() {
        let hidden = [user("a"), user("b"), replacing(0, 0), replacing(0, 1)];
        let (seq, start, end, missing) = (3, 0, 1, 0);
        let error = HistoryError::NotLive {
            seq,
            start,
            end,
            missing,
        };
        assert_eq!(folded(hidden), Err(error));
    }

    #[test]
    fn a_replacement_from_its_end_to_its_start_is_refused() {
        let backwards = [user("a"), user("b"), replacing(1, 0)];
        let (seq, start, end) = (2, 1, 0);
        let error = HistoryError::Backwards { seq, start, end };
        assert_eq!(folded(backwards), Err(error));
    }

    #[test]
    fn a_refused_replacement_changes_nothing() {
        let mut history = History::of(&log([user("a")])).unwrap();
        let before = history.clone();
        let later = log([user("a"), replacing(7, 7)]);
        assert!(history.feed(&later[1]).is_err());
        assert_eq!(history, before);
    }

    #[test]
    fn an_operation_of_an_unknown_form_is_refused() {
        let unknown = summary(SurfaceOp::Other(json!({ "op": "hide" })));
        assert_eq!(folded([unknown]), Err(HistoryError::Unreadable { seq: 0 }));
    }
}
