//! Events as JSON: the envelope around a body, printed and read.
//!
//! `{ "type", "seq", "time", "data" }`, with `surfaceOp` and `sourceEventSeqs` beside them on the
//! message-producing types, and `"ignorable": true` where a reader may pass over the event.
//!
//! Not here: lines of a file (`line`); the shapes of data (`durable`, `message`, `chunk`).

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::exact::{exact, prints_as};
use super::{
    AssistantSaid, Body, Chunked, Event, Extra, InboxSpliced, RequestContext, RequestHeader,
    StepMark, Surface, SurfaceOp, ToolAnswered, ToolCalled, TurnEnded, TurnStarted, Unread,
    UserSaid,
};

/// Makes the ways between a body and its name on the wire from one table.
macro_rules! wire_names {
    ($($kind:literal => $variant:ident($data:ty),)+) => {
        impl Body {
            /// The type on the wire, such as `turn/start`.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Unread(unread) => &unread.kind,
                }
            }

            /// Data of a known type; not yet compared with what it prints.
            fn typed(kind: &str, data: &Value) -> Option<Self> {
                match kind {
                    $($kind => <$data>::deserialize(data).ok().map(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl Serialize for Data<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Body::$variant(data) => data.serialize(serializer),)+
                    Body::Unread(unread) => unread.data.serialize(serializer),
                }
            }
        }
    };
}

wire_names! {
    "agent/inbox/spliced" => InboxSpliced(InboxSpliced),
    "turn/start" => TurnStart(TurnStarted),
    "turn/end" => TurnEnd(TurnEnded),
    "step/start" => StepStart(StepMark),
    "step/end" => StepEnd(StepMark),
    "user/message" => UserMessage(UserSaid),
    "assistant/chunk" => AssistantChunk(Chunked),
    "assistant/message" => AssistantMessage(AssistantSaid),
    "tool/call" => ToolCall(ToolCalled),
    "tool/result" => ToolResult(ToolAnswered),
    "request/header" => RequestHeader(RequestHeader),
    "request/context" => RequestContext(RequestContext),
    "session/end-seed" => EndSeed(Extra),
}

/// The data of a body, as it is printed.
struct Data<'a>(&'a Body);

impl Body {
    /// Reads a body. `envelope` holds the members beside `type`, `seq`, `time` and `data`; those
    /// that the body speaks of are taken out of it.
    ///
    /// Reading is exact: a typed form is used only if it prints back the same data, else the body
    /// is [`Body::Unread`]. So is a message-producing type without `surfaceOp`.
    #[must_use]
    pub fn from_json(kind: &str, data: Option<Value>, envelope: &mut Map<String, Value>) -> Self {
        let typed = data
            .as_ref()
            .and_then(|data| Self::exact(kind, data, envelope));
        typed.unwrap_or_else(|| {
            Self::Unread(Arc::new(Unread {
                kind: kind.into(),
                data,
                ignorable: take_mark(envelope, "ignorable"),
            }))
        })
    }

    fn exact(kind: &str, data: &Value, envelope: &mut Map<String, Value>) -> Option<Self> {
        let mut body = Self::typed(kind, data)?;
        if !prints_as(&Data(&body), data) {
            return None;
        }
        if let Some(surface) = body.surface_mut() {
            *surface = Surface::take(envelope)?;
        }
        Some(body)
    }

    /// The place on the surface, of the message-producing types.
    #[must_use]
    pub fn surface(&self) -> Option<&Surface> {
        match self {
            Self::UserMessage(said) => Some(&said.surface),
            Self::AssistantMessage(said) => Some(&said.surface),
            Self::ToolResult(answered) => Some(&answered.surface),
            _ => None,
        }
    }

    fn surface_mut(&mut self) -> Option<&mut Surface> {
        match self {
            Self::UserMessage(said) => Some(&mut said.surface),
            Self::AssistantMessage(said) => Some(&mut said.surface),
            Self::ToolResult(answered) => Some(&mut answered.surface),
            _ => None,
        }
    }

    /// Prints what follows `type`, `seq` and `time` in the envelope.
    pub(super) fn print_rest<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Unread(unread) if unread.data.is_none() => {}
            _ => map.serialize_entry("data", &Data(self))?,
        }
        if let Some(surface) = self.surface() {
            map.serialize_entry("surfaceOp", &surface.surface_op)?;
            if let Some(seqs) = &surface.source_event_seqs {
                map.serialize_entry("sourceEventSeqs", seqs)?;
            }
        }
        match self {
            Self::Unread(unread) if unread.ignorable => map.serialize_entry("ignorable", &true),
            _ => Ok(()),
        }
    }
}

impl Surface {
    /// Takes the two surface members out of an envelope. `None`, and nothing taken, without
    /// `surfaceOp`; sources that are no list of places stay where they are.
    fn take(envelope: &mut Map<String, Value>) -> Option<Self> {
        let op = envelope.remove("surfaceOp")?;
        Some(Self {
            surface_op: exact(&op).unwrap_or(SurfaceOp::Other(op)),
            source_event_seqs: take(envelope, "sourceEventSeqs"),
        })
    }
}

/// Takes a member out, if it is there and has that type.
pub(super) fn take<T>(members: &mut Map<String, Value>, name: &str) -> Option<T>
where
    T: DeserializeOwned + Serialize,
{
    let typed = exact(members.get(name)?)?;
    members.remove(name);
    Some(typed)
}

/// Takes a member out, if it is `true`; says whether it was.
fn take_mark(members: &mut Map<String, Value>, name: &str) -> bool {
    let marked = members.get(name) == Some(&Value::Bool(true));
    if marked {
        members.remove(name);
    }
    marked
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.kind())?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("time", &self.time)?;
        self.body.print_rest(&mut map)?;
        map.end()
    }
}
