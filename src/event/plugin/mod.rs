//! Events that plugins own, and those of other versions of the log.
//!
//! Their vocabulary grows without this program. What is not in the table is kept whole as
//! [`Body::Unread`](super::Body::Unread).
//!
//! Not here: the events of the loop and the inbox (`durable`).

mod delegation;
mod session;
mod work;

use super::wire::wire_enum;
use super::{Extra, Surface};

pub use delegation::{
    AllowedModels, InnerCall, InnerResult, RunAgentEnded, RunAgentStarted, RunEnded, RunStarted,
    SubagentDescriptor, TeamDelivered, TeamMember, TeamQueued, TeamTask,
};
pub use session::{
    AgentPreset, ApprovalAsked, ApprovalDecided, ApprovalPolicy, CommandDone, CommandRun,
    DeliveryAccepted, FilesPresented, PermissionPreset, SandboxMode, SessionTitle, TitleRequest,
    WorkspaceChanged,
};
pub use work::{
    Attempt, CompactionEnded, CompactionPruned, CompactionStarted, CompactionSummary,
    DeveloperSaid, GoalChanged, HookAnswered, HookInvoked, ImagesLeftOut, PlanMode, RetryPlanned,
    RetryStarted, ScheduleChanged, SeqRange, Steered, SystemSaid, Todo, TodoWritten,
};

wire_enum! {
    /// An event that a plugin owns, or one of another version of the log. Where the data is an
    /// [`Extra`], its members are not spelled out here.
    pub enum Plugin {
        /// Another preset of the agent was chosen before the first turn.
        "agent-preset/selected" => AgentPreset(AgentPreset),
        /// Somebody is asked whether a tool may do something.
        "approval/asked" => ApprovalAsked(ApprovalAsked),
        /// An approval was decided.
        "approval/decided" => ApprovalDecided(ApprovalDecided),
        /// When to ask changed.
        "approval/policy" => ApprovalPolicy(ApprovalPolicy),
        /// A model call that made no message; from version 2 on.
        "assistant/attempt" => Attempt(Attempt),
        /// A command of a person is handled.
        "command/run" => CommandRun(CommandRun),
        /// The command is done.
        "command/done" => CommandDone(CommandDone),
        /// Old history is about to be replaced; until the end nobody else compacts.
        "compaction/start" => CompactionStart(CompactionStarted),
        /// What stands for the replaced history; the next event replaces it.
        "compaction/summary" => CompactionSummary(CompactionSummary),
        /// What a replacement without a model saves; the next event replaces.
        "compaction/prune" => CompactionPrune(CompactionPruned),
        /// The compaction is over, or failed.
        "compaction/end" => CompactionEnd(CompactionEnded),
        /// Files are presented as results.
        "deliverables/presented" => FilesPresented(FilesPresented),
        /// The session changed for the model in midstream; from version 4 on.
        "developer/message" => DeveloperMessage(DeveloperSaid),
        /// A person remarks on the session.
        "feedback/record" => FeedbackRecord(Extra),
        /// A person remarks on a message.
        "feedback/message-put" => FeedbackPut(Extra),
        /// The remark on a message is withdrawn.
        "feedback/message-delete" => FeedbackDelete(Extra),
        /// A goal was set, changed or cleared.
        "goal/change" => GoalChange(GoalChanged),
        /// A hook is run.
        "hook/invoked" => HookInvoked(HookInvoked),
        /// The hook answered.
        "hook/result" => HookResult(HookAnswered),
        /// Images are left out of later requests.
        "image/offload" => ImageOffload(ImagesLeftOut),
        /// A failed request will be tried again, after a wait.
        "llm/retry" => LlmRetry(RetryPlanned),
        /// The wait is over, the request is tried again.
        "llm/retry-started" => LlmRetryStarted(RetryStarted),
        /// Another model was chosen.
        "model/selection" => ModelSelection(Extra),
        /// A preset of permissions was chosen.
        "permission/preset" => PermissionPreset(PermissionPreset),
        /// Planning begins or ends.
        "plan/mode" => PlanMode(PlanMode),
        /// What the sandbox allows changed.
        "sandbox/mode" => SandboxMode(SandboxMode),
        /// A reminder was created, deleted or dispatched.
        "schedule/change" => ScheduleChange(ScheduleChanged),
        /// The log was delivered up to a place.
        "session-log-deepseek/delivery-accepted" => DeliveryAccepted(DeliveryAccepted),
        /// The session has a new title.
        "session/title" => SessionTitle(SessionTitle),
        /// A model is asked for a title.
        "session/title-llm-request" => TitleRequest(TitleRequest),
        /// A person said something to a running turn; from before the inbox.
        "steering/message" => SteeringMessage(Steered),
        /// A child of this session; from version 4 on.
        "subagent/catalog" => SubagentCatalog(Extra),
        /// What this session is to the one that started it.
        "subagent/descriptor" => SubagentDescriptor(SubagentDescriptor),
        /// Which models a child may be given.
        "subagent/model-selection-policy" => AllowedModels(AllowedModels),
        /// The head of the surface; from version 3 on.
        "system/message" => SystemMessage(SystemSaid),
        /// A member of a team as it is now.
        "team/member" => TeamMember(TeamMember),
        /// A message of the team has arrived.
        "team/message/delivered" => TeamDelivered(TeamDelivered),
        /// A message of the team waits for delivery.
        "team/message/queued" => TeamQueued(TeamQueued),
        /// A task of a team as it is now.
        "team/task" => TeamTask(TeamTask),
        /// The list of tasks, whole; the last one counts.
        "todo/write" => TodoWrite(TodoWritten),
        /// A program calls a tool; up to version 2.
        "tool/code-dispatch-start" => CodeDispatchStart(InnerCall),
        /// The program's call is answered; up to version 2.
        "tool/code-dispatch" => CodeDispatch(InnerResult),
        /// A program calls a tool; from version 3 on.
        "tool/ptc-dispatch-start" => PtcDispatchStart(InnerCall),
        /// The program's call is answered; from version 3 on.
        "tool/ptc-dispatch" => PtcDispatch(InnerResult),
        /// A workflow begins.
        "tool-workflow/run-start" => RunStart(RunStarted),
        /// An agent of a workflow begins.
        "tool-workflow/agent-start" => RunAgentStart(RunAgentStarted),
        /// An agent of a workflow is done.
        "tool-workflow/agent-end" => RunAgentEnd(RunAgentEnded),
        /// A workflow is over.
        "tool-workflow/run-end" => RunEnd(RunEnded),
        /// A search engine is asked.
        "web/deepseek-search-llm-request" => WebSearchRequest(Extra),
        /// The files that a turn changed are known.
        "workspace/changes" => WorkspaceChanges(WorkspaceChanged),
    }
}

impl Plugin {
    /// The place on the surface, of those that make a message.
    #[must_use]
    pub fn surface(&self) -> Option<&Surface> {
        match self {
            Self::DeveloperMessage(said) => Some(&said.surface),
            Self::SteeringMessage(said) => Some(&said.surface),
            Self::SystemMessage(said) => Some(&said.surface),
            _ => None,
        }
    }

    pub(super) fn surface_mut(&mut self) -> Option<&mut Surface> {
        match self {
            Self::DeveloperMessage(said) => Some(&mut said.surface),
            Self::SteeringMessage(said) => Some(&mut said.surface),
            Self::SystemMessage(said) => Some(&mut said.surface),
            _ => None,
        }
    }
}
