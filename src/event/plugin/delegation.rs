//! Events about others who work: subagents, teams, workflows, programs that call tools.
//!
//! Not here: what binds them (rules); the plugins themselves (agent).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Block, CallId, Extra, ToolError};

/// Data of `subagent/descriptor`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentDescriptor {
    /// Format of this data.
    pub version: u32,
    /// `one-shot` or `continuable`.
    pub mode: Arc<str>,
    /// Who made the child, such as `spawn` or `fork`.
    pub provider: Arc<str>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Who serves its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_provider: Option<Arc<str>>,
    /// The model's name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_model: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `subagent/model-selection-policy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedModels {
    /// The routes that may be chosen, whole.
    pub allowed_models: Vec<Value>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `team/member`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamMember {
    /// Format of this data.
    pub version: u32,
    /// The team.
    pub team_id: Arc<str>,
    /// The member as it is now, whole.
    pub member: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `team/task`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamTask {
    /// Format of this data.
    pub version: u32,
    /// The team.
    pub team_id: Arc<str>,
    /// The task as it is now, whole.
    pub task: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `team/message/queued`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamQueued {
    /// Format of this data.
    pub version: u32,
    /// The team.
    pub team_id: Arc<str>,
    /// The message, whole.
    pub message: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `team/message/delivered`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamDelivered {
    /// Format of this data.
    pub version: u32,
    /// The team.
    pub team_id: Arc<str>,
    /// The message.
    pub message_id: Arc<str>,
    /// The session that has it.
    pub target_id: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool/code-dispatch-start` and `tool/ptc-dispatch-start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InnerCall {
    /// The call of the model that all this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_call_id: Option<CallId>,
    /// The call whose program calls.
    pub parent_call_id: CallId,
    /// Identity of the inner call.
    pub sub_call_id: CallId,
    /// Name of the tool.
    pub name: Arc<str>,
    /// The arguments, whole.
    pub arguments: Value,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool/code-dispatch` and `tool/ptc-dispatch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InnerResult {
    /// The call of the model that all this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_call_id: Option<CallId>,
    /// The call whose program called.
    pub parent_call_id: CallId,
    /// Identity of the inner call.
    pub sub_call_id: CallId,
    /// Name of the tool.
    pub name: Arc<str>,
    /// The arguments, whole.
    pub arguments: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the tool says.
    pub content: Vec<Block>,
    /// Why it failed, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool-workflow/run-start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// Identity of the run.
    pub run_id: Arc<str>,
    /// For people.
    pub name: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool-workflow/run-end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEnded {
    /// The run.
    pub run_id: Arc<str>,
    /// Such as `completed`.
    pub stop_reason: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool-workflow/agent-start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentStarted {
    /// The run.
    pub run_id: Arc<str>,
    /// Number of the agent inside the run.
    pub seq: u64,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Part of the workflow that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Arc<str>>,
    /// Its session.
    pub child_id: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool-workflow/agent-end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentEnded {
    /// The run.
    pub run_id: Arc<str>,
    /// Number of the agent inside the run.
    pub seq: u64,
    /// Such as `completed`.
    pub outcome: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}
