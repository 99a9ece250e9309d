//! Events about a session as a whole: title, permissions, models, what people say of it.
//!
//! Not here: what binds them (rules); the plugins themselves (agent).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{CallId, Extra, Seq, Turn};

/// Data of `approval/asked`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAsked {
    /// Pairs the question with its answer.
    pub id: Arc<str>,
    /// The tool that is asked about.
    pub tool_name: Arc<str>,
    /// The call that is asked about, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Why it is asked, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `approval/decided`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDecided {
    /// The question.
    pub id: Arc<str>,
    /// What was decided, such as `allowed-once` or `unavailable`.
    pub outcome: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `approval/policy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalPolicy {
    /// The policy, such as `ask` or `never`.
    pub policy: Arc<str>,
    /// `delegation` where a parent gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `agent-preset/selected`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPreset {
    /// Its name.
    pub agent_preset: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `permission/preset`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PermissionPreset {
    /// Its name.
    pub preset: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `sandbox/mode`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SandboxMode {
    /// The mode, such as `read-only`.
    pub mode: Arc<str>,
    /// `delegation` where a parent gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `command/run`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRun {
    /// Pairs the start with the end.
    pub command_id: Arc<str>,
    /// Which command.
    pub name: Arc<str>,
    /// The rest of its line; absent where another event holds the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Arc<str>>,
    /// Who gave it, whole.
    pub source: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `command/done`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandDone {
    /// The command.
    pub command_id: Arc<str>,
    /// `success` or `error`.
    pub kind: Arc<str>,
    /// Its answer, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
    /// The event that tells more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_event_seq: Option<Seq>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `session/title`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTitle {
    /// The title.
    pub title: Arc<str>,
    /// The messages that it was made from.
    pub message_seqs: Vec<Seq>,
    /// Who made it, whole.
    pub source: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `session/title-llm-request`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TitleRequest {
    /// Who asks.
    pub title_provider: Arc<str>,
    /// The messages that the title is made from.
    pub message_seqs: Vec<Seq>,
    /// The model that is asked, whole.
    pub route: Value,
    /// The instruction.
    pub system: Arc<str>,
    /// What the model is shown, whole.
    pub messages: Vec<Value>,
    /// Ceiling of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `session-log-deepseek/delivery-accepted`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryAccepted {
    /// The session that was delivered.
    pub session_id: Arc<str>,
    /// Format of what was delivered; absent for version 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_format_version: Option<u64>,
    /// The last event of the delivery.
    pub through_seq: Seq,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `deliverables/presented`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilesPresented {
    /// The open turn.
    pub turn: Turn,
    /// The call that presents them.
    pub call_id: CallId,
    /// The files, whole.
    pub files: Vec<Value>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `workspace/changes`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceChanged {
    /// The turn that is over.
    pub turn: Turn,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}
