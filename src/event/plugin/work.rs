//! Events about how the work goes: compaction, plans, goals, tasks, hooks, retries, prompts.
//!
//! Not here: what binds them (rules); the plugins themselves (agent).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::event::{Block, Extra, Failure, Seq, Source, Step, Surface, Turn};

/// Data of `compaction/start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionStarted {
    /// Identity of the compaction.
    pub compaction_id: Arc<str>,
    /// The command that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_command_id: Option<Arc<str>>,
    /// The open turn; null between turns.
    pub turn: Option<Turn>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `compaction/end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEnded {
    /// Identity of the compaction.
    pub compaction_id: Arc<str>,
    /// The command that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_command_id: Option<Arc<str>>,
    /// The open turn; null between turns.
    pub turn: Option<Turn>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `compaction/summary`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// Identity of the compaction.
    pub compaction_id: Arc<str>,
    /// The command that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_command_id: Option<Arc<str>>,
    /// What stands for the replaced history.
    pub summary: Vec<Block>,
    /// What the model said, before it was cut to a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Vec<Block>>,
    /// Whether the loop's own model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_stream_call: Option<bool>,
    /// The nodes of the surface that are replaced.
    pub shadowed_range: SeqRange,
    /// All of them, in the order of the surface.
    pub shadowed_seqs: Vec<Seq>,
    /// What they are estimated to cost, in tokens.
    pub shadowed_token_count: u64,
    /// Who serves the model that summed up.
    pub provider: Arc<str>,
    /// Its name there.
    pub model: Arc<str>,
    /// Ceiling of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What the call cost, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `compaction/prune`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPruned {
    /// The nodes of the surface that are replaced.
    pub shadowed_range: SeqRange,
    /// All of them, in the order of the surface.
    pub shadowed_seqs: Vec<Seq>,
    /// What they are estimated to cost, in tokens.
    pub shadowed_token_count: u64,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A stretch of the surface, by its events' places.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SeqRange {
    /// The first.
    pub start: Seq,
    /// The last.
    pub end: Seq,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `image/offload`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ImagesLeftOut {
    /// Which images of which messages, whole.
    pub targets: Vec<Value>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `plan/mode`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PlanMode {
    /// Whether the agent plans only.
    pub active: bool,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `goal/change`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalChanged {
    /// `goal/change`.
    pub kind: Arc<str>,
    /// Format of this data.
    pub version: u32,
    /// What was done, such as `create`, `pause`, `complete`.
    pub operation: Arc<str>,
    /// The goal as it is now, whole; absent once it is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Value>,
    /// How many rounds it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_started: Option<u32>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `todo/write`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TodoWritten {
    /// All tasks.
    pub todos: Vec<Todo>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What is to be done.
    pub content: Arc<str>,
    /// `pending`, `in_progress` or `completed`.
    pub status: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `schedule/change`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleChanged {
    /// Format of this data.
    pub version: u32,
    /// `create`, `delete` or `dispatch`.
    pub operation: Arc<str>,
    /// What is created, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Value>,
    /// What is deleted or dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `hook/invoked`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookInvoked {
    /// The open turn.
    pub turn: Turn,
    /// Where it hooks in, such as `PreToolUse` or `Stop`.
    pub point: Arc<str>,
    /// Whose hooks these are.
    pub dialect: Arc<str>,
    /// The pattern that chose it; absent where all match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<Arc<str>>,
    /// Pairs the start with the end.
    pub handler_id: Arc<str>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `hook/result`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookAnswered {
    /// The open turn.
    pub turn: Turn,
    /// Where it hooks in.
    pub point: Arc<str>,
    /// The hook.
    pub handler_id: Arc<str>,
    /// Such as `pass`, `block` or `stop`.
    pub decision: Arc<str>,
    /// Of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The head of what it complained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_summary: Option<Arc<str>>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Number,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `llm/retry`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryPlanned {
    /// Pairs the wait with the try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_id: Option<Arc<str>>,
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// Who serves the model.
    pub provider: Arc<str>,
    /// `normal` or `always`.
    pub mode: Arc<str>,
    /// The policy that is followed.
    pub policy_key: Arc<str>,
    /// Number of the try, from 1.
    pub retry: u32,
    /// How many there may be; absent where there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// How long to wait, in milliseconds.
    pub delay_ms: Number,
    /// What went wrong.
    pub failure: Failure,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `llm/retry-started`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryStarted {
    /// The wait that is over.
    pub retry_id: Arc<str>,
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// Number of the try, from 1.
    pub retry: u32,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `assistant/attempt`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// What was streamed, packed, whole.
    pub stream: Vec<Value>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `system/message`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SystemSaid {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// The message, whole.
    pub message: Value,
    /// Its place on the surface, printed beside the data.
    #[serde(skip)]
    pub surface: Surface,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `developer/message`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeveloperSaid {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// The message, whole.
    pub message: Value,
    /// The request header that defines the tools that it adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_seq: Option<Seq>,
    /// Its place on the surface, printed beside the data.
    #[serde(skip)]
    pub surface: Surface,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `steering/message`, from before the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// The open turn.
    pub turn: Turn,
    /// What is said.
    pub content: Vec<Block>,
    /// Who said it.
    pub source: Source,
    /// Its place on the surface, printed beside the data.
    #[serde(skip)]
    pub surface: Surface,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}
