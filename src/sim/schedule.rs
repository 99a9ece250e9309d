//! Schedules as data: who acts next, how each awaited point ends, what observers do meanwhile.
//!
//! The JSON is the vocabulary of the golden schedules. Not here: running one.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::event::{MessageId, Op, Status};

/// One act of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A producer asks.
    Op(Op),
    /// A held gate is let go.
    Release {
        /// Which.
        gate: Gate,
        /// How its awaited point ends.
        outcome: Outcome,
    },
}

/// What holds an awaited point until an act lets it go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// A pre-step listener before its `next`: `NAME:in`.
    In(Arc<str>),
    /// A pre-step listener after its `next`: `NAME:out`.
    Out(Arc<str>),
    /// The model's next piece.
    Model,
    /// A tool's body: `tool:CALLID`.
    Tool(Arc<str>),
    /// What to do about a failed request.
    RequestError,
    /// The last word before a turn closes.
    TurnStopping,
    /// A maintenance job.
    Maintenance,
}

impl Gate {
    /// The gate of that name; `None` for a name of no such shape.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "model" => return Some(Self::Model),
            "request-error" => return Some(Self::RequestError),
            "turn-stopping" => return Some(Self::TurnStopping),
            "maintenance" => return Some(Self::Maintenance),
            _ => {}
        }
        if let Some(call) = name.strip_prefix("tool:") {
            return Some(Self::Tool(call.into()));
        }
        let (listener, side) = name.rsplit_once(':')?;
        match side {
            "in" => Some(Self::In(listener.into())),
            "out" => Some(Self::Out(listener.into())),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::In(listener) => format!("{listener}:in").into(),
            Self::Out(listener) => format!("{listener}:out").into(),
            Self::Model => "model".into(),
            Self::Tool(call) => format!("tool:{call}").into(),
            Self::RequestError => "request-error".into(),
            Self::TurnStopping => "turn-stopping".into(),
            Self::Maintenance => "maintenance".into(),
        }
    }

    /// Whether the point that it holds can end so.
    #[must_use]
    pub fn allows(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Calm | Outcome::Throw(_) => true,
            Outcome::Reject | Outcome::Enter(_) => matches!(self, Self::In(_) | Self::Out(_)),
            Outcome::Wrap => matches!(self, Self::In(_)),
            Outcome::Before(_) | Outcome::After(_) => matches!(self, Self::Out(_)),
            Outcome::Chunk(_) | Outcome::Finish(_) | Outcome::Calls(_) => *self == Self::Model,
            Outcome::Gives { .. } => matches!(self, Self::Tool(_)),
            Outcome::Retry => *self == Self::RequestError,
        }
    }
}

/// How an awaited point ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The calm end: `{}`.
    Calm,
    /// It fails, in these words.
    Throw(Arc<str>),
    /// A listener calls its `next`, and then holds its other gate.
    Wrap,
    /// The decision rejects.
    Reject,
    /// The decision enters these, whatever else was said.
    Enter(Vec<MessageId>),
    /// These enter in front.
    Before(Vec<MessageId>),
    /// These enter behind.
    After(Vec<MessageId>),
    /// The model streams one text block, and holds its gate again.
    Chunk(Arc<str>),
    /// The model finishes so.
    Finish(FinishKind),
    /// The model finishes with tool calls.
    Calls(Vec<ScriptedCall>),
    /// A tool succeeds.
    Gives {
        /// With messages for the next step.
        contexts: Vec<MessageId>,
        /// And ends the turn for the model.
        concludes: bool,
    },
    /// The failed request is tried again.
    Retry,
}

/// How a scripted model finishes, other than by stopping or calling tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinishKind {
    /// At the ceiling of tokens.
    MaxTokens,
    /// With a failure of the provider.
    Error,
    /// Because the provider gave up.
    Aborted,
}

/// A tool call of a scripted model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// Identity of the call.
    pub id: Arc<str>,
    /// Whether it may overlap others.
    pub mode: Mode,
}

/// Whether a scripted call may overlap others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It may not.
    Exclusive,
    /// It may.
    Parallel,
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Mode {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Parallel => "parallel",
        }
    }
}

/// An observer that acts once, in the midst of the first publication that matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reaction {
    /// When.
    pub on: Trigger,
    /// What it does.
    #[serde(rename = "do")]
    pub act: Op,
}

/// The publication that an observer waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Trigger {
    /// A durable event of that type.
    Durable(DurableTrigger),
    /// A live event.
    Live(LiveTrigger),
}

/// See [`Trigger::Durable`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DurableTrigger {
    /// The type on the wire.
    pub event: Arc<str>,
}

/// See [`Trigger::Live`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveTrigger {
    /// Its kind.
    pub live: LiveKind,
    /// Only for this message, where one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// Only for this status, where one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// The kinds of live events that schedules speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names of the live events")]
pub enum LiveKind {
    Inserted,
    Discarded,
    Claimed,
    Status,
    Error,
}

/// What a world is set up with before the first act.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Pre-step listeners, the outermost first.
    pub listeners: Vec<Arc<str>>,
    /// How many parallel tool calls may be in flight.
    pub parallel_calls_max: NonZeroUsize,
    /// Observers, in order of registration.
    pub reactions: Vec<Reaction>,
    /// Publications at which another observer fails, once each. It stands before all others.
    pub failing: Vec<Trigger>,
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut map = Map::deserialize(deserializer)?;
        if map.get("op").and_then(Value::as_str) != Some("release") {
            return Op::deserialize(Value::Object(map))
                .map(Self::Op)
                .map_err(D::Error::custom);
        }
        let gate = map.get("gate").and_then(Value::as_str).unwrap_or_default();
        let gate = Gate::parse(gate)
            .ok_or_else(|| D::Error::custom(format!("no gate is named \"{gate}\"")))?;
        let outcome = Outcome::deserialize(map.remove("do").unwrap_or(Value::Null))
            .map_err(D::Error::custom)?;
        if !gate.allows(&outcome) {
            let name = gate.name();
            return Err(D::Error::custom(format!(
                "gate \"{name}\" cannot end as {outcome:?}"
            )));
        }
        Ok(Self::Release { gate, outcome })
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::deserialize(deserializer)?;
        let gives = (members.contexts.is_some() || members.concludes.is_some()).then(|| {
            let concludes = members.concludes.unwrap_or(false);
            Self::Gives {
                contexts: members.contexts.unwrap_or_default(),
                concludes,
            }
        });
        let shapes = [
            members.throw.map(Self::Throw),
            members.wrap.map(|True| Self::Wrap),
            members.reject.map(|True| Self::Reject),
            members.enter.map(Self::Enter),
            members.before.map(Self::Before),
            members.after.map(Self::After),
            members.chunk.map(Self::Chunk),
            members.finish.map(Self::Finish),
            members.tools.map(Self::Calls),
            gives,
            members.retry.map(|True| Self::Retry),
        ];
        let mut named = shapes.into_iter().flatten();
        match (named.next(), named.next()) {
            (None, _) => Ok(Self::Calm),
            (Some(outcome), None) => Ok(outcome),
            (Some(one), Some(other)) => {
                let words = format!("an outcome is either {one:?} or {other:?}, not both");
                Err(serde::de::Error::custom(words))
            }
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Op(op) => op.serialize(serializer),
            Self::Release { gate, outcome } => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("op", "release")?;
                map.serialize_entry("gate", &gate.name())?;
                map.serialize_entry("do", outcome)?;
                map.end()
            }
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::default();
        match self.clone() {
            Self::Calm => {}
            Self::Throw(words) => members.throw = Some(words),
            Self::Wrap => members.wrap = Some(True),
            Self::Reject => members.reject = Some(True),
            Self::Enter(ids) => members.enter = Some(ids),
            Self::Before(ids) => members.before = Some(ids),
            Self::After(ids) => members.after = Some(ids),
            Self::Chunk(text) => members.chunk = Some(text),
            Self::Finish(kind) => members.finish = Some(kind),
            Self::Calls(calls) => members.tools = Some(calls),
            Self::Gives {
                contexts,
                concludes,
            } => {
                members.contexts = Some(contexts);
                members.concludes = Some(concludes);
            }
            Self::Retry => members.retry = Some(True),
        }
        members.serialize(serializer)
    }
}

impl JsonSchema for Action {
    fn schema_name() -> Cow<'static, str> {
        "Action".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let op = generator.subschema_for::<Op>();
        let outcome = generator.subschema_for::<Members>();
        json_schema!({ "anyOf": [op, {
            "type": "object",
            "properties": {
                "op": { "const": "release" },
                "gate": {
                    "type": "string",
                    "description": "NAME:in, NAME:out, model, tool:CALLID, request-error, \
                                    turn-stopping or maintenance",
                },
                "do": outcome,
            },
            "required": ["op", "gate", "do"],
            "additionalProperties": false,
        }] })
    }
}

/// The members of an outcome on the wire; each outcome has one of them, a tool's may have two.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Outcome")]
struct Members {
    #[serde(skip_serializing_if = "Option::is_none")]
    throw: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrap: Option<True>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject: Option<True>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enter: Option<Vec<MessageId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Vec<MessageId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Vec<MessageId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<FinishKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ScriptedCall>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contexts: Option<Vec<MessageId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concludes: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<True>,
}

/// The literal `true`.
#[derive(Clone, Copy)]
struct True;

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl JsonSchema for True {
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(Self),
            false => Err(serde::de::Error::custom("only `true` is meant here")),
        }
    }
}
