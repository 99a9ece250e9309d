//! A run as a timeline: who, what, in which turn and step, and both lists where they change.
//!
//! Not here: what matters in it; every observation has its line.

use std::fmt::Write as _;

use crate::event::{
    Answer, Body, CancelCause, ChunkKind, EndReason, Event, Failure, Finish, InboxSpliced, Lists,
    Live, Message, MessageId, Op, Record, Refused, Returned, Source, Status, Step, Target, Turn,
};

/// Renders records, one line each, in four columns: turn and step, who, what, both lists. The lists
/// stand where they change, as `[next-turn] [next-step]`. Empty for no record.
#[must_use]
pub fn render(records: &[Record]) -> String {
    let mut timeline = Timeline::default();
    records.iter().for_each(|record| timeline.line(record));
    timeline.text
}

#[derive(Default)]
struct Timeline {
    text: String,
    turn: Turn,
    step: Step,
    lists: Lists,
    /// How many observers act inside one another.
    depth: usize,
}

impl Timeline {
    fn line(&mut self, record: &Record) {
        let Some((who, what)) = describe(record) else {
            return;
        };
        if matches!(record, Record::ReactEnd(_)) {
            self.depth = self.depth.saturating_sub(1);
            return;
        }
        let before = self.lists.clone();
        self.follow(record);
        let place = if self.turn == 0 {
            String::new()
        } else {
            self.place()
        };
        let indent = "  ".repeat(self.depth);
        let mut line = format!("{place:>6}  {who:<9} {indent}{what}");
        if self.lists != before {
            let lists = lists(&self.lists);
            let _ = write!(
                line,
                "{:width$}{lists}",
                "",
                width = 78_usize.saturating_sub(line.chars().count()).max(2)
            );
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self.depth += usize::from(matches!(record, Record::React(_)));
    }

    fn place(&self) -> String {
        if self.step == 0 {
            self.turn.to_string()
        } else {
            format!("{}.{}", self.turn, self.step)
        }
    }

    fn follow(&mut self, record: &Record) {
        let Record::Durable(event) = record else {
            return;
        };
        match &event.body {
            Body::TurnStart(started) => (self.turn, self.step) = (started.turn, 0),
            Body::StepStart(mark) => self.step = mark.step,
            Body::InboxSpliced(splice) => splice_lists(&mut self.lists, splice),
            _ => {}
        }
    }
}

fn splice_lists(lists: &mut Lists, splice: &InboxSpliced) {
    let list = match splice.target {
        Target::NextTurn => &mut lists.next_turn,
        Target::NextStep => &mut lists.next_step,
    };
    let removed = splice.removed_count.map_or(0, |count| count.get() as usize);
    let start = (splice.start as usize).min(list.len());
    let end = (start + removed).min(list.len());
    list.splice(
        start..end,
        splice.inserted.iter().map(|message| message.id.clone()),
    );
}

fn lists(lists: &Lists) -> String {
    format!("[{}] [{}]", ids(&lists.next_turn), ids(&lists.next_step))
}

fn ids(ids: &[MessageId]) -> String {
    ids.iter()
        .map(MessageId::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Who, and what. `None` for what another line tells already.
fn describe(record: &Record) -> Option<(String, String)> {
    let (who, what): (&str, String) = match record {
        Record::Durable(event) => return Some((actor(&event.body).into(), durable(event))),
        // Told by the lines around them.
        Record::Opened { .. }
        | Record::Lists(_)
        | Record::ActEnd
        | Record::Dispatched { .. }
        | Record::Rest(_) => return None,
        Record::Live(live) => ("live", describe_live(live)),
        Record::React(op) => ("observer", describe_op(op)),
        Record::ReactEnd(_) => ("observer", String::new()),
        Record::Act { by, op } => (by, describe_op(op)),
        Record::Release { gate } => ("schedule", format!("lets {gate} go")),
        Record::Asked {
            messages,
            turn,
            step,
        } => (
            "loop",
            format!(
                "asks for the decision on {turn}.{step}: [{}]",
                ids(messages)
            ),
        ),
        Record::Decided(answer) => ("loop", format!("decision: {}", describe_answer(answer))),
        Record::PreStep { listener, .. } => (listener, "is asked".into()),
        Record::PreStepResult { listener, entry } => {
            let inner = entry
                .as_ref()
                .map_or("reject".into(), |entry| format!("[{}]", ids(entry)));
            (listener, format!("sees the inner decision {inner}"))
        }
        Record::Settled { listener, answer } => {
            (listener, format!("answers: {}", describe_answer(answer)))
        }
        Record::ModelAsked { .. } => ("model", "is asked".into()),
        Record::ToolBegun { call, .. } => ("tool", format!("{call} begins")),
        Record::ToolEnded { call, .. } => ("tool", format!("{call} is over")),
        Record::TurnStopping { turn } => ("loop", format!("asks before turn {turn} closes")),
        Record::Gate { gate } => ("schedule", format!("holds {gate}")),
        Record::Returned(Returned::Pending(was)) => (
            "",
            format!("=> it was {}pending", if *was { "" } else { "not " }),
        ),
        Record::Returned(Returned::Removed(removed)) => {
            ("", format!("=> removed [{}]", ids(removed)))
        }
        Record::Refused(refused) => ("", format!("=> refused: {}", describe_refused(refused))),
        Record::Idle(wait) => ("", format!("wait {wait} for idle is over")),
        Record::Disposed => ("", "disposal is complete".into()),
        Record::Maintenance(None) => ("", "maintenance is done".into()),
        Record::Maintenance(Some(words)) => ("", format!("maintenance failed: {words}")),
        Record::ObserverFailed => ("observer", "fails".into()),
        Record::AppendRefused => ("log", "refuses to append".into()),
        Record::Surplus { live, member } => ("live", format!("{live} carries \"{member}\"")),
        Record::Crashed => ("", "the process is gone".into()),
        Record::Resumed { lists: both, .. } => ("", format!("goes on with {}", lists(both))),
    };
    Some((who.into(), what))
}

fn actor(body: &Body) -> &'static str {
    match body {
        Body::InboxSpliced(_) => "inbox",
        Body::AssistantChunk(_) | Body::AssistantMessage(_) => "model",
        Body::ToolCall(_) | Body::ToolResult(_) => "tool",
        _ => "loop",
    }
}

fn durable(event: &Event) -> String {
    let what = match &event.body {
        Body::InboxSpliced(splice) => describe_splice(splice),
        Body::TurnStart(started) => format!("turn/start {}", started.turn),
        Body::TurnEnd(ended) => format!("turn/end {}: {}", ended.turn, describe_end(&ended.reason)),
        Body::StepStart(mark) => format!("step/start {}.{}", mark.turn, mark.step),
        Body::StepEnd(mark) => format!("step/end {}.{}", mark.turn, mark.step),
        Body::UserMessage(said) => format!("user/message {}", said.message.id),
        Body::AssistantChunk(chunked) => {
            format!("assistant/chunk {}", describe_chunk(&chunked.chunk.kind))
        }
        Body::AssistantMessage(said) => {
            let blocks = said.message.content.len();
            let cut = if said.interrupted {
                ", interrupted"
            } else {
                ""
            };
            format!("assistant/message of {blocks} blocks{cut}")
        }
        Body::ToolCall(called) => format!("tool/call {}", called.call_id),
        Body::ToolResult(answered) => {
            let call = match &answered.message.source {
                Source::Tool { call_id, .. } => call_id.as_str(),
                _ => "?",
            };
            let error = answered
                .error
                .as_ref()
                .map_or(String::new(), |e| format!(": {}", e.code));
            format!("tool/result {call}{error}")
        }
        body => body.kind().into(),
    };
    format!("log {:<4} {what}", event.seq)
}

fn describe_splice(splice: &InboxSpliced) -> String {
    let target = splice.target.as_str();
    let start = splice.start;
    let removed = splice.removed_count.map_or(0, std::num::NonZeroU32::get);
    let inserted: Vec<_> = splice
        .inserted
        .iter()
        .map(|message| message.id.as_str())
        .collect();
    match (removed, splice.outcome) {
        (0, _) => format!("{target} at {start}: +[{}]", inserted.join(" ")),
        (_, None) => format!("{target}: claims {removed}"),
        (_, Some(_)) if inserted.is_empty() => format!("{target} at {start}: cancels {removed}"),
        _ => format!(
            "{target} at {start}: cancels {removed}, +[{}]",
            inserted.join(" ")
        ),
    }
}

fn describe_end(reason: &EndReason) -> String {
    match reason {
        EndReason::Completed => "completed".into(),
        EndReason::Blocked => "blocked".into(),
        EndReason::MaxTokens => "max-tokens".into(),
        EndReason::Interrupted => "interrupted".into(),
        EndReason::Aborted { reason } => format!("aborted ({})", describe_cause(&reason.cause)),
        EndReason::Error { error } => format!("error ({})", words(error)),
        EndReason::Other(reason) => reason.to_string(),
    }
}

fn describe_cause(cause: &CancelCause) -> String {
    match cause {
        CancelCause::User => "user".into(),
        CancelCause::Parent => "parent".into(),
        CancelCause::Hook { reason } => format!("hook: {reason}"),
        CancelCause::Disposed => "disposed".into(),
        CancelCause::Legacy => "legacy".into(),
    }
}

fn words(failure: &Failure) -> &str {
    &failure.message
}

fn describe_chunk(kind: &ChunkKind) -> &'static str {
    match kind {
        ChunkKind::BlockStart { .. } => "block-start",
        ChunkKind::TextDelta { .. } => "text-delta",
        ChunkKind::ReasoningDelta { .. } => "reasoning-delta",
        ChunkKind::ToolCallDelta { .. } => "tool-call-delta",
        ChunkKind::BlockEnd { .. } => "block-end",
        ChunkKind::Usage { .. } => "usage",
        ChunkKind::Finish {
            reason: Finish::Error { .. },
        } => "finish: error",
        ChunkKind::Finish { .. } => "finish",
        ChunkKind::Other(_) => "of another kind",
    }
}

fn describe_live(live: &Live) -> String {
    let id = |message: &Message| message.id.clone();
    match live {
        Live::Inserted { message } => format!("inserted {}", id(message)),
        Live::Discarded { message } => format!("discarded {}", id(message)),
        Live::Claimed { message, turn } => format!("claimed {} by turn {turn}", id(message)),
        Live::Status {
            status: Status::Idle,
        } => "status idle".into(),
        Live::Status {
            status: Status::Running,
        } => "status running".into(),
        Live::Error { turn, step, error } => format!("error at {turn}.{step}: {}", words(error)),
        Live::SessionStart { source } => format!("session start: {source}"),
        Live::Created => "created".into(),
        Live::Disposed => "disposed".into(),
    }
}

fn describe_answer(answer: &Answer) -> String {
    match answer {
        Answer::Enter(entry) => format!("enter [{}]", ids(entry)),
        Answer::Reject => "reject".into(),
        Answer::Failed(words) => format!("failed: {words}"),
    }
}

fn describe_refused(refused: &Refused) -> String {
    match refused {
        Refused::AlreadyPending(id) => format!("{id} is already pending"),
        Refused::AppendReentered => "an event is being published".into(),
        Refused::Busy => "something is active".into(),
        Refused::NoGate(gate) => format!("{gate} is not held"),
        Refused::Disposed => "the agent is disposed".into(),
        Refused::Log(words) => format!("by the log: {words}"),
    }
}

fn describe_op(op: &Op) -> String {
    let name = op.name();
    match op {
        Op::Followup { id } | Op::Steer { id } | Op::Inject { id } | Op::Remove { id } => {
            format!("{name} {id}")
        }
        Op::Send { id, target, wakeup } => {
            let wake = if *wakeup { ", waking" } else { "" };
            format!("{name} {id} to {}{wake}", target.as_str())
        }
        Op::Append { target, id } | Op::Prepend { target, id } => {
            format!("{name} {id} to {}", target.as_str())
        }
        Op::Splice {
            target,
            start,
            delete,
            insert,
        } => {
            format!(
                "{name} {} at {start}, delete {delete}, +[{}]",
                target.as_str(),
                ids(insert)
            )
        }
        Op::Replace { id, with } => format!("{name} {id} with {with}"),
        Op::Cancel { cause, keep_inbox } => {
            let keep = if *keep_inbox {
                ", keeping the inbox"
            } else {
                ""
            };
            format!("{name} ({}){keep}", describe_cause(cause))
        }
        Op::Clear | Op::Maintenance | Op::WhenIdle | Op::Dispose => name.into(),
    }
}
