//! The host of a bench: keeps the log, refuses and reacts as it was told, writes down what happens.
//!
//! A line of the minutes is short: `next-turn[0]+a`, `turn/end 1 aborted user`, `claimed a`. Not
//! here: the verbs (`support`).

use prestep::agent::machine::{Core, DuringDurable, Host, Keep, Overlap};
use prestep::event::{
    Block, Body, CallId, ChunkKind, EndReason, Failure, InboxSpliced, Live, Message, MessageId, Op,
    Seq, Status, Target, ToolAnswered,
};

use super::message;

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Minutes {
    pub(crate) log: Vec<Body>,
    lines: Vec<String>,
    refusals: Vec<String>,
    reactions: Vec<(String, Op)>,
}

impl Minutes {
    pub(crate) fn refuse(&mut self, beginning: &str, times: usize) {
        let refusals = std::iter::repeat_n(beginning.to_owned(), times);
        self.refusals.extend(refusals);
    }

    /// The log refuses nothing any more.
    pub(crate) fn accept_all(&mut self) {
        self.refusals.clear();
    }

    pub(crate) fn on(&mut self, beginning: &str, op: Op) {
        self.reactions.push((beginning.to_owned(), op));
    }

    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Writes a line down, and gives the reaction to it, if an observer waits for it.
    fn note(&mut self, line: String) -> Option<Op> {
        let waits = |(beginning, _): &(String, Op)| line.starts_with(beginning.as_str());
        let place = self.reactions.iter().position(waits);
        self.lines.push(line);
        place.map(|place| self.reactions.remove(place).1)
    }

    fn refused(&mut self, why: &str) {
        self.lines.push(format!("refused {why}"));
    }
}

impl Host for Minutes {
    fn commit(&mut self, batch: &[Body]) -> Result<Seq, Failure> {
        let lines: Vec<String> = batch.iter().map(line).collect();
        let is_meant = |refusal: &String| lines.iter().any(|line| line.starts_with(refusal));
        if let Some(place) = self.refusals.iter().position(is_meant) {
            self.refusals.remove(place);
            self.refused(&lines.join(", "));
            return Err(Failure::unknown("log full"));
        }
        let first = self.log.len() as Seq;
        self.log.extend_from_slice(batch);
        Ok(first)
    }

    fn publish(&mut self, _: Seq, body: &Body, mut agent: DuringDurable<'_>) {
        let result = match self.note(line(body)) {
            Some(Op::Cancel { cause, keep_inbox }) => agent
                .cancel(cause, keep(keep_inbox))
                .map_err(|error| error.to_string()),
            Some(Op::Maintenance) => agent.run_maintenance().map_err(|error| error.to_string()),
            Some(Op::Dispose) => {
                agent.dispose();
                Ok(())
            }
            Some(other) => Err(format!("{} in a publication", other.name())),
            None => Ok(()),
        };
        if let Err(why) = result {
            self.refused(&why);
        }
    }

    fn live(&mut self, live: &Live, agent: &mut Core) {
        let mut line = live_line(live);
        if let Live::Claimed { turn, .. } = live
            && *turn != agent.turn()
        {
            line += &format!(" by turn {turn}");
        }
        if let Some(op) = self.note(line) {
            perform(agent, self, &op);
        }
    }

    fn fresh_id(&mut self) -> MessageId {
        format!("made-{}", self.log.len()).into()
    }

    fn classify(&mut self, _: &CallId, name: &str, _: &str) -> Overlap {
        if name == "alone" {
            Overlap::Exclusive
        } else {
            Overlap::Parallel
        }
    }
}

/// Carries an operation out; a refusal is a line of the minutes.
pub(crate) fn perform(core: &mut Core, host: &mut Minutes, op: &Op) {
    let many = |ids: &[MessageId]| ids.iter().map(of).collect();
    let result = match op {
        Op::Followup { id } => core.followup(host, of(id)),
        Op::Steer { id } => core.steer(host, of(id)),
        Op::Inject { id } => core.inject(host, of(id)),
        Op::Send { id, target, wakeup } => core.send(host, of(id), *target, *wakeup),
        Op::Append { target, id } => core.append(host, *target, of(id)),
        Op::Prepend { target, id } => core.prepend(host, *target, of(id)),
        Op::Splice {
            target,
            start,
            delete,
            insert,
        } => core
            .splice(host, *target, *start, *delete, many(insert))
            .map(drop),
        Op::Replace { id, with } => core.replace(host, id, of(with)).map(drop),
        Op::Remove { id } => core.remove(host, id).map(drop),
        Op::Clear => core.clear(host),
        Op::Cancel { cause, keep_inbox } => core.cancel(host, cause.clone(), keep(*keep_inbox)),
        Op::Maintenance => {
            if let Err(error) = core.run_maintenance() {
                host.refused(&error.to_string());
            }
            Ok(())
        }
        Op::Dispose => {
            core.dispose(host);
            Ok(())
        }
        Op::WhenIdle => Ok(()),
    };
    if let Err(error) = result {
        host.refused(&error.to_string());
    }
}

fn of(id: &MessageId) -> Message {
    message(id.as_str())
}

fn keep(keep_inbox: bool) -> Keep {
    if keep_inbox {
        Keep::Inbox
    } else {
        Keep::Nothing
    }
}

/// A durable event in one line.
pub(crate) fn line(body: &Body) -> String {
    let kind = body.kind();
    match body {
        Body::InboxSpliced(splice) => splice_line(splice),
        Body::TurnStart(data) => format!("{kind} {}", data.turn),
        Body::TurnEnd(data) => format!("{kind} {} {}", data.turn, reason(&data.reason)),
        Body::StepStart(mark) | Body::StepEnd(mark) => {
            format!("{kind} {}.{}", mark.turn, mark.step)
        }
        Body::UserMessage(said) => format!("{kind} {}", said.message.id),
        Body::AssistantChunk(data) => format!("{kind} {}", chunk(&data.chunk.kind)),
        Body::AssistantMessage(said) => {
            let cut = if said.interrupted { " interrupted" } else { "" };
            format!("{kind} {}{cut}", content(&said.message.content))
        }
        Body::ToolCall(data) => format!("{kind} {}", data.call_id),
        Body::ToolResult(data) => format!("{kind} {}", answer(data)),
        Body::RequestHeader(data) => format!("{kind} {:?}", data.reason).to_lowercase(),
        Body::RequestContext(data) => format!("{kind} {}", data.model),
        Body::EndSeed(_) | Body::Plugin(_) | Body::Unread(_) => kind.to_owned(),
    }
}

fn splice_line(splice: &InboxSpliced) -> String {
    let target = splice.target.as_str();
    let mut line = format!("{target}[{}]", splice.start);
    if let Some(count) = splice.removed_count {
        line += &format!("-{count}");
    }
    for message in &splice.inserted {
        line += &format!("+{}", message.id);
    }
    if splice.outcome.is_some() {
        line += " canceled";
    }
    line
}

fn reason(reason: &EndReason) -> String {
    match reason {
        EndReason::Completed => "completed".into(),
        EndReason::Blocked => "blocked".into(),
        EndReason::MaxTokens => "max-tokens".into(),
        EndReason::Interrupted => "interrupted".into(),
        EndReason::Aborted { reason } => format!("aborted {:?}", reason.cause).to_lowercase(),
        EndReason::Error { error } => format!("error {}", error.message),
        EndReason::Other(reason) => reason.to_string(),
    }
}

fn chunk(kind: &ChunkKind) -> String {
    match kind {
        ChunkKind::TextDelta { text, .. } | ChunkKind::ReasoningDelta { text, .. } => {
            text.as_ref().into()
        }
        ChunkKind::ToolCallDelta { id, .. } => format!("part of {id}"),
        ChunkKind::BlockEnd { block, .. } => content(std::slice::from_ref(block)),
        ChunkKind::Finish { .. } => "finish".into(),
        other => format!("{other:?}"),
    }
}

fn content(blocks: &[Block]) -> String {
    let word = |block: &Block| match block {
        Block::Text { text, .. } => text.to_string(),
        Block::Reasoning { text, .. } => format!("({text})"),
        Block::ToolCall { id, .. } => format!("call {id}"),
        other => format!("{other:?}"),
    };
    let words: Vec<String> = blocks.iter().map(word).collect();
    words.join(" ")
}

/// The call, and what became of it: nothing more for a success, the code or `failed` otherwise.
fn answer(data: &ToolAnswered) -> String {
    let Some(Block::ToolResult {
        tool_call_id,
        is_error,
        ..
    }) = data.message.content.first()
    else {
        return "without a result".into();
    };
    match &data.error {
        Some(error) => format!("{tool_call_id} {}", error.code),
        None if *is_error => format!("{tool_call_id} failed"),
        None => tool_call_id.to_string(),
    }
}

fn live_line(live: &Live) -> String {
    match live {
        Live::Inserted { message } => format!("inserted {}", message.id),
        Live::Claimed { message, .. } => format!("claimed {}", message.id),
        Live::Discarded { message } => format!("discarded {}", message.id),
        Live::Status { status } => match status {
            Status::Idle => "idle".into(),
            Status::Running => "running".into(),
        },
        Live::Error { turn, step, error } => format!("agent/error {turn}.{step} {}", error.message),
        other => format!("{other:?}"),
    }
}

/// What a log is unbalanced by when nothing is going on; `None` for a balanced one.
pub(crate) fn imbalance(log: &[Body]) -> Option<String> {
    let (mut turn, mut step) = (0, 0);
    let (mut in_turn, mut in_step) = (false, false);
    for (place, body) in log.iter().enumerate() {
        let fits = match body {
            Body::TurnStart(data) => !in_turn && data.turn == turn + 1,
            Body::TurnEnd(data) => in_turn && !in_step && data.turn == turn,
            Body::StepStart(mark) => {
                in_turn && !in_step && (mark.turn, mark.step) == (turn, step + 1)
            }
            Body::StepEnd(mark) => in_step && (mark.turn, mark.step) == (turn, step),
            Body::InboxSpliced(splice) if is_claim(splice) => in_turn && !in_step,
            Body::InboxSpliced(_) => true,
            Body::AssistantChunk(data) => in_step && (data.turn, data.step) == (turn, step),
            Body::AssistantMessage(said) => in_step && (said.turn, said.step) == (turn, step),
            Body::ToolCall(data) => in_step && (data.turn, data.step) == (turn, step),
            Body::ToolResult(data) => in_step && (data.turn, data.step) == (turn, step),
            _ => in_step,
        };
        if !fits {
            return Some(format!("{} at {place}", line(body)));
        }
        match body {
            Body::TurnStart(data) => (turn, step, in_turn) = (data.turn, 0, true),
            Body::TurnEnd(_) => in_turn = false,
            Body::StepStart(mark) => (step, in_step) = (mark.step, true),
            Body::StepEnd(_) => in_step = false,
            _ => {}
        }
    }
    in_turn.then(|| format!("turn {turn} is open"))
}

fn is_claim(splice: &InboxSpliced) -> bool {
    splice.removed_count.is_some() && splice.outcome.is_none()
}

/// Both lists by identity, next-turn first, as splices build them from nothing.
pub(crate) fn fold<'a>(splices: impl IntoIterator<Item = &'a InboxSpliced>) -> [Vec<String>; 2] {
    let mut lists = [Vec::new(), Vec::new()];
    for splice in splices {
        let list = &mut lists[usize::from(splice.target == Target::NextStep)];
        let start = splice.start as usize;
        let end = start + splice.removed_count.map_or(0, |count| count.get() as usize);
        let inserted = splice.inserted.iter().map(|message| message.id.to_string());
        list.splice(start..end, inserted);
    }
    lists
}
