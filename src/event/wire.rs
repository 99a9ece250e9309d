//! Events as JSON: the envelope around a body, printed and read.
//!
//! `{ "type", "seq", "time", "data" }`, with `surfaceOp` and `sourceEventSeqs` beside them on the
//! message-producing types, and `"ignorable": true` where a reader may pass over the event.
//!
//! Not here: lines of a file (`line`); the shapes of data (`durable`, `plugin`).

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::exact::{exact, prints_as};
use super::{Body, Event, Plugin, Surface, SurfaceOp, Unread};

/// What the catalogue knows of one type of event.
#[derive(Debug)]
pub(super) struct TypeRow {
    /// Its name on the wire.
    pub(super) name: &'static str,
    /// What it says, one piece a line of the source.
    pub(super) meaning: &'static [&'static str],
    /// The schema of its data.
    pub(super) data: fn(&mut SchemaGenerator) -> Schema,
}

/// Defines an enum of events from one table: for each variant what it means, its name on the wire
/// and the type of its data. Names, reading, printing and the catalogue all come from here, so
/// none can be forgotten. Variants under `else` have no name of their own: their content does it.
macro_rules! wire_enum {
    (
        $(#[$enum_doc:meta])*
        pub enum $name:ident {
            $($(#[doc = $doc:literal])+ $kind:literal => $variant:ident($data:ty),)+
        }
        $(else {
            $($(#[doc = $other_doc:literal])+ $other:ident($content:ty),)+
        })?
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(
                #[doc = concat!("`", $kind, "`:")]
                $(#[doc = $doc])+
                $variant($data),
            )+
            $($($(#[doc = $other_doc])+ $other($content),)+)?
        }

        impl $name {
            /// The types on the wire, in the order of the variants.
            pub(super) const TYPES: &[$crate::event::wire::TypeRow] = &[$(
                $crate::event::wire::TypeRow {
                    name: $kind,
                    meaning: &[$($doc),+],
                    data: |generator| generator.subschema_for::<$data>(),
                },
            )+];

            /// The type on the wire, such as `turn/start`.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    $($(Self::$other(content) => content.kind(),)+)?
                }
            }

            /// Data of a type that has a name here; not yet compared with what it prints.
            pub(super) fn typed(kind: &str, data: &serde_json::Value) -> Option<Self> {
                use serde::Deserialize;
                match kind {
                    $($kind => <$data>::deserialize(data).ok().map(Self::$variant),)+
                    _ => None,
                }
            }

            /// Prints the data alone.
            pub(super) fn print_data<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                use serde::Serialize;
                match self {
                    $(Self::$variant(data) => data.serialize(serializer),)+
                    $($(Self::$other(content) => content.print_data(serializer),)+)?
                }
            }
        }
    };
}
pub(super) use wire_enum;

/// The data of a body, as it is printed.
struct Data<'a>(&'a Body);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.print_data(serializer)
    }
}

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
        let plugin = || Plugin::typed(kind, data).map(|plugin| Self::Plugin(Arc::new(plugin)));
        let mut body = Self::typed(kind, data).or_else(plugin)?;
        if !prints_as(&Data(&body), data) {
            return None;
        }
        if let Some(surface) = body.surface_mut() {
            *surface = Surface::take(envelope)?;
        }
        Some(body)
    }

    /// Whether events of that type make a message of the history that the model sees; they carry
    /// `surfaceOp`, no other does.
    #[must_use]
    pub fn makes_message(kind: &str) -> bool {
        matches!(
            kind,
            "user/message"
                | "assistant/message"
                | "tool/result"
                | "developer/message"
                | "steering/message"
                | "system/message"
        )
    }

    /// The place on the surface, of the message-producing types.
    #[must_use]
    pub fn surface(&self) -> Option<&Surface> {
        match self {
            Self::UserMessage(said) => Some(&said.surface),
            Self::AssistantMessage(said) => Some(&said.surface),
            Self::ToolResult(answered) => Some(&answered.surface),
            Self::Plugin(plugin) => plugin.surface(),
            _ => None,
        }
    }

    fn surface_mut(&mut self) -> Option<&mut Surface> {
        match self {
            Self::UserMessage(said) => Some(&mut said.surface),
            Self::AssistantMessage(said) => Some(&mut said.surface),
            Self::ToolResult(answered) => Some(&mut answered.surface),
            Self::Plugin(plugin) => Arc::get_mut(plugin).and_then(Plugin::surface_mut),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{CancelCause, EndReason, Row, ToolError, TurnEnded, UserMessage};
    use crate::event::{StepMark, ToolAnswered, UserSaid};

    fn body(value: Value) -> Body {
        Row::from_value(value).unwrap().body
    }

    #[test]
    fn the_envelope_is_printed_in_the_order_of_the_wire() {
        let said = UserSaid {
            message: UserMessage::text("m", "hello"),
            surface: Surface::append_from(vec![1]),
        };
        let event = Event {
            seq: 2,
            time: 9,
            body: Body::UserMessage(said),
        };
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            concat!(
                r#"{"type":"user/message","seq":2,"time":9,"data":{"role":"user","id":"m","#,
                r#""content":[{"type":"text","text":"hello"}],"source":{"kind":"user"}},"#,
                r#""surfaceOp":"append","sourceEventSeqs":[1]}"#
            )
        );
    }

    #[test]
    fn an_unknown_type_is_kept_with_its_mark() {
        let unread = body(json!({ "type": "weather/report", "data": [1], "ignorable": true }));
        let expected = Unread {
            kind: "weather/report".into(),
            data: Some(json!([1])),
            ignorable: true,
        };
        assert_eq!(unread, Body::Unread(Arc::new(expected)));
    }

    #[test]
    fn a_known_type_of_another_shape_is_kept_whole() {
        let unread = body(json!({ "type": "step/start", "data": { "turn": 1 } }));
        assert!(matches!(unread, Body::Unread(_)));
        assert_eq!(unread.kind(), "step/start");
    }

    #[test]
    fn a_message_without_its_place_on_the_surface_is_kept_whole() {
        let message = json!({ "id": "m", "role": "user", "content": [], "source": {} });
        let unread = body(json!({ "type": "user/message", "data": message }));
        assert!(matches!(unread, Body::Unread(_)));
    }

    #[test]
    fn an_unknown_member_of_the_data_is_carried_along() {
        let mark = body(json!({ "type": "step/end", "data": { "turn": 1, "step": 2, "x": 3 } }));
        let Body::StepEnd(StepMark {
            turn: 1,
            step: 2,
            extra,
        }) = mark
        else {
            panic!("no step/end: {mark:?}");
        };
        assert_eq!(extra.get("x"), Some(&json!(3)));
    }

    #[test]
    fn a_cancel_cause_keeps_foreign_members_apart_from_its_own() {
        let reason = json!({ "kind": "hook", "reason": "enough", "by": "Ada" });
        let data = json!({ "turn": 1, "reason": { "kind": "aborted", "reason": reason } });
        let ended = body(json!({ "type": "turn/end", "data": data }));
        let Body::TurnEnd(TurnEnded {
            reason: EndReason::Aborted { reason },
            ..
        }) = ended
        else {
            panic!("not aborted: {ended:?}");
        };
        assert_eq!(
            reason.cause,
            CancelCause::Hook {
                reason: "enough".into()
            }
        );
        let names: Vec<_> = reason.extra.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["by"]);
    }

    #[test]
    fn a_cancel_cause_of_ours_reads_back_equal() {
        let reason = EndReason::aborted(CancelCause::Parent);
        let printed = serde_json::to_value(&reason).unwrap();
        assert_eq!(exact::<EndReason>(&printed), Some(reason));
    }

    #[test]
    fn an_unknown_end_reason_is_kept_and_the_turn_still_ends() {
        let reason = json!({ "kind": "forked", "at": 7 });
        let ended = body(json!({ "type": "turn/end", "data": { "turn": 1, "reason": reason } }));
        let Body::TurnEnd(ended) = ended else {
            panic!("no turn/end: {ended:?}");
        };
        assert_eq!(ended.reason, EndReason::Other(reason));
    }

    #[test]
    fn an_end_reason_without_what_its_kind_needs_is_kept() {
        let reason = json!({ "kind": "aborted" });
        let ended = body(json!({ "type": "turn/end", "data": { "turn": 1, "reason": reason } }));
        assert!(matches!(
            ended,
            Body::TurnEnd(TurnEnded {
                reason: EndReason::Other(_),
                ..
            })
        ));
    }

    #[test]
    fn an_absent_mark_of_interruption_reads_as_not_interrupted() {
        let message = json!({ "id": "m", "role": "assistant", "content": [], "source": {} });
        let data = json!({ "turn": 1, "step": 1, "message": message });
        let value = json!({ "type": "assistant/message", "data": data, "surfaceOp": "append" });
        assert!(matches!(body(value), Body::AssistantMessage(said) if !said.interrupted));
    }

    #[test]
    fn a_tool_result_of_version_4_is_read_with_its_role_aside() {
        let message = json!({
            "id": "m", "role": "tool", "toolCallId": "c", "isError": true,
            "content": [{ "type": "text", "text": "gone" }],
            "source": { "kind": "tool", "callId": "c" },
        });
        let data = json!({ "turn": 1, "step": 1, "message": message, "error": { "code": "GONE" } });
        let value = json!({ "type": "tool/result", "data": data, "surfaceOp": "append" });
        let Body::ToolResult(ToolAnswered { message, error, .. }) = body(value) else {
            panic!("no tool/result");
        };
        assert_eq!(message.extra.get("role"), Some(&json!("tool")));
        assert!(matches!(error, Some(ToolError { code, .. }) if *code == *"GONE"));
    }
}
