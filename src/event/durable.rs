//! Durable events: what a session log holds.
//!
//! Not here: which order is allowed (rules), who appends (agent), lines of files (`line`).

use std::ops::Not;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::exact::{Whole, exact_or_whole, known_and_extra};
use super::wire::wire_enum;
use super::{
    AssistantMessage, CallId, Chunk, Extra, Message, Plugin, Seq, Step, Target, Time, ToolMessage,
    Turn,
};

/// One event of a session log, at its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Place in the log, contiguous from 0.
    pub seq: Seq,
    /// When it was accepted.
    pub time: Time,
    /// What happened.
    pub body: Body,
}

wire_enum! {
    /// What happened. The wire form is `{ "type", "data" }`, and on the message-producing types
    /// `surfaceOp` and `sourceEventSeqs` beside them.
    pub enum Body {
        /// One mutation of one list of the inbox.
        "agent/inbox/spliced" => InboxSpliced(InboxSpliced),
        /// A turn opens.
        "turn/start" => TurnStart(TurnStarted),
        /// A turn closes, with its reason.
        "turn/end" => TurnEnd(TurnEnded),
        /// A step opens: one model call and the tools that it asks for.
        "step/start" => StepStart(StepMark),
        /// A step closes.
        "step/end" => StepEnd(StepMark),
        /// A message entered a step, or stands for replaced history.
        "user/message" => UserMessage(UserSaid),
        /// One piece of the model's stream.
        "assistant/chunk" => AssistantChunk(Chunked),
        /// The model's answer in this step.
        "assistant/message" => AssistantMessage(AssistantSaid),
        /// A tool call starts, or is recorded as skipped.
        "tool/call" => ToolCall(ToolCalled),
        /// A tool call is answered.
        "tool/result" => ToolResult(ToolAnswered),
        /// The route of the request, when it is new.
        "request/header" => RequestHeader(RequestHeader),
        /// The model that answers, when it is new.
        "request/context" => RequestContext(RequestContext),
        /// Inherited history ends here.
        "session/end-seed" => EndSeed(Extra),
    } else {
        /// An event of a plugin, or of another version of the log.
        Plugin(Arc<Plugin>),
        /// An event of an unknown type, or of a shape that no type here fits; whole.
        Unread(Arc<Unread>),
    }
}

/// An event kept whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unread {
    /// Its type on the wire.
    pub kind: Arc<str>,
    /// Its data, if it has any.
    pub data: Option<Value>,
    /// Whether a reader that does not know the type may pass over it.
    pub ignorable: bool,
}

impl Unread {
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn print_data<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data.serialize(serializer)
    }
}

/// Data of `agent/inbox/spliced`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxSpliced {
    /// Which list.
    pub target: Target,
    /// First place that is touched, from 0 to the list's length.
    pub start: u32,
    /// How many messages go; absent rather than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_count: Option<std::num::NonZeroU32>,
    /// The messages that come, at `start`.
    pub inserted: Vec<Message>,
    /// Present exactly when an ordinary operation removed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What became of messages that an ordinary operation removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// They will not run.
    Canceled,
}

/// Data of `turn/start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// The turn that opens.
    pub turn: Turn,
    /// Members not known here; `trigger` in logs from before the inbox.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `turn/end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    /// The turn that closes.
    pub turn: Turn,
    /// Why.
    #[serde(deserialize_with = "exact_or_whole")]
    pub reason: EndReason,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why a turn closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EndReason {
    /// The model said what it had to say, or nothing entered.
    Completed,
    /// The pre-step decision rejected.
    Blocked,
    /// A step hit the ceiling of tokens.
    MaxTokens,
    /// A crash cut the turn off; written by repair alone.
    Interrupted,
    /// A cancel stopped it.
    Aborted {
        /// The first cause given.
        reason: LoggedCause,
    },
    /// Something failed.
    Error {
        /// What.
        error: Failure,
    },
    /// Any other reason, whole: of a later version, or without what its kind needs.
    #[serde(untagged)]
    Other(Value),
}

/// Why an activity was cancelled.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CancelCause {
    /// A person asked.
    User,
    /// The parent agent was stopped.
    Parent,
    /// A hook asked.
    Hook {
        /// In its words.
        reason: Arc<str>,
    },
    /// The agent is being disposed.
    Disposed,
    /// Read in old logs; nobody gives it any more.
    Legacy,
}

/// A cancel cause as a log holds it. This program writes documented members only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct LoggedCause {
    /// The cause.
    #[serde(flatten)]
    pub cause: CancelCause,
    /// Members that others added.
    #[serde(flatten)]
    pub extra: Extra,
}

impl<'de> Deserialize<'de> for LoggedCause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (cause, extra) = known_and_extra(deserializer)?;
        Ok(Self { cause, extra })
    }
}

impl Whole for EndReason {
    fn whole(value: Value) -> Self {
        Self::Other(value)
    }
}

impl EndReason {
    /// A turn stopped by that cause.
    #[must_use]
    pub fn aborted(cause: CancelCause) -> Self {
        Self::Aborted {
            reason: LoggedCause {
                cause,
                extra: Extra::NONE,
            },
        }
    }
}

/// A failure in words, with a code for programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// For people.
    pub message: Arc<str>,
    /// For programs; `UNKNOWN` where the failure came without one.
    pub code: Arc<str>,
    /// Members not known here: a name, details of a provider.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `step/start` and `step/end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StepMark {
    /// The open turn.
    pub turn: Turn,
    /// The step.
    pub step: Step,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Failure {
    /// A failure that came without a code.
    #[must_use]
    pub fn unknown(message: impl Into<Arc<str>>) -> Self {
        Self::coded(message, "UNKNOWN")
    }

    /// A failure with a code.
    #[must_use]
    pub fn coded(message: impl Into<Arc<str>>, code: impl Into<Arc<str>>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            extra: Extra::NONE,
        }
    }
}

/// How a message-producing event changes the surface, the history that the model sees, and what
/// it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Surface {
    /// Append, or replace a stretch.
    pub surface_op: SurfaceOp,
    /// The events that it was made from, earlier than itself; absent where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_event_seqs: Option<Vec<Seq>>,
}

impl Default for Surface {
    fn default() -> Self {
        Self::append()
    }
}

impl Surface {
    /// An append that names no source.
    #[must_use]
    pub fn append() -> Self {
        Self {
            surface_op: SurfaceOp::Append(AppendWord::Append),
            source_event_seqs: None,
        }
    }

    /// An append made from these events.
    #[must_use]
    pub fn append_from(sources: Vec<Seq>) -> Self {
        Self {
            surface_op: SurfaceOp::Append(AppendWord::Append),
            source_event_seqs: Some(sources),
        }
    }
}

/// What an event does to the surface.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SurfaceOp {
    /// Adds a node at the end: `"append"`.
    Append(AppendWord),
    /// Takes the place of the nodes from `start` to `end`, both named by their events' places.
    Replace {
        /// `"replace"`.
        op: ReplaceWord,
        /// First node that is hidden.
        start: Seq,
        /// Last node that is hidden.
        end: Seq,
    },
    /// Any other form (later versions name other members), whole.
    Other(Value),
}

/// The word `append`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppendWord {
    /// `append`
    Append,
}

/// The word `replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplaceWord {
    /// `replace`
    Replace,
}

/// Data of `user/message`: the message itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserSaid {
    /// The message.
    pub message: Message,
    /// Its place on the surface; printed beside the data.
    #[serde(skip)]
    pub surface: Surface,
}

/// Data of `assistant/chunk`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Chunked {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// The piece.
    pub chunk: Chunk,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `assistant/message`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AssistantSaid {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// What the model said.
    pub message: Arc<AssistantMessage>,
    /// What the call cost, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// Whether a cancel cut the stream off; absent rather than `false`.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub interrupted: bool,
    /// Members not known here; `stream` from version 2 on.
    #[serde(flatten)]
    pub extra: Extra,
    /// Its place on the surface, printed beside the data; cites the chunks of its attempt.
    #[serde(skip)]
    pub surface: Surface,
}

/// Data of `tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCalled {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// Identity of the call.
    pub call_id: CallId,
    /// Name of the tool.
    pub name: Arc<str>,
    /// The raw JSON text of the arguments.
    pub arguments: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool/result`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ToolAnswered {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// The answer.
    pub message: Arc<ToolMessage>,
    /// Why the loop or repair answered in the tool's stead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// Members not known here: `meta`.
    #[serde(flatten)]
    pub extra: Extra,
    /// Its place on the surface, printed beside the data; cites its `tool/call`.
    #[serde(skip)]
    pub surface: Surface,
}

/// Why a call has an error result that no tool gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// A class of errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// For programs: `ABORTED`, `ABORTED_BEFORE_DISPATCH`, `TOOL_OUTCOME_UNKNOWN`,
    /// `TOOL_NOT_STARTED`, or a code of the tool's own.
    pub code: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `request/header`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RequestHeader {
    /// Everything of the request but its history, whole.
    pub header: Value,
    /// Why it is logged now.
    pub reason: RequestReason,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why a request's header is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestReason {
    /// First request of a new session.
    Initial,
    /// First request after a resume.
    Resume,
    /// It differs from the last one.
    Change,
}

/// Data of `request/context`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestContext {
    /// Who serves the model.
    pub provider: Arc<str>,
    /// Its name there.
    pub model: Arc<str>,
    /// Size of its window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}
