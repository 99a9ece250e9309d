//! A bench for the loop machine: a scripted host that takes minutes, and verbs that read like them.
//!
//! Not here: any expectation; the tests have those.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary speaks of its own part"
)]
#![allow(clippy::panic, reason = "a test stops where its bench is misused")]

mod minutes;

use std::num::NonZeroUsize;
use std::sync::Arc;

use prestep::agent::machine::{
    Decision, End, Limits, Machine, Origin, Point, Recovery, Route, ToolFailure, ToolOutput,
};
use prestep::event::{
    Block, Body, CancelCause, ChunkKind, Extra, Failure, Finish, Message, MessageId, Op,
    RequestContext, Target, UserMessage,
};
use serde_json::json;

pub(crate) use minutes::{Minutes, fold, imbalance, line, perform};

/// A machine and the host that takes its minutes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bench {
    pub(crate) machine: Machine,
    pub(crate) host: Minutes,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_pool(10)
    }

    /// With room for so many parallel calls.
    pub(crate) fn with_pool(calls: usize) -> Self {
        let parallel_calls_max = NonZeroUsize::new(calls).unwrap_or(NonZeroUsize::MIN);
        Self::resumed(Origin::default(), Limits { parallel_calls_max })
    }

    pub(crate) fn resumed(origin: Origin, limits: Limits) -> Self {
        Self {
            machine: Machine::resume(origin, limits),
            host: Minutes::default(),
        }
    }

    // What is prepared before the meeting.

    /// The log refuses the next `times` batches that hold a line with this beginning.
    pub(crate) fn refuse(&mut self, beginning: &str, times: usize) {
        self.host.refuse(beginning, times);
    }

    /// An observer acts once, at the first line with this beginning.
    pub(crate) fn on(&mut self, beginning: &str, op: Op) {
        self.host.on(beginning, op);
    }

    // What producers ask.

    pub(crate) fn act(&mut self, op: &Op) {
        perform(&mut self.machine, &mut self.host, op);
    }

    pub(crate) fn followup(&mut self, id: &str) {
        self.act(&followup(id));
    }

    pub(crate) fn steer(&mut self, id: &str) {
        self.act(&steer(id));
    }

    pub(crate) fn inject(&mut self, id: &str) {
        self.act(&inject(id));
    }

    pub(crate) fn cancel(&mut self) {
        self.act(&cancel());
    }

    pub(crate) fn cancel_keep(&mut self) {
        self.act(&cancel_keep());
    }

    // How awaited points end. Assembly, route and preparation end calmly on the way there, unless
    // a test ends them itself.

    #[track_caller]
    pub(crate) fn end(&mut self, end: End) {
        if let Err(error) = self.machine.end(&mut self.host, end) {
            panic!("{error}; it waits for {:?}", self.open());
        }
    }

    #[track_caller]
    pub(crate) fn decide(&mut self, decision: Result<Decision, Failure>) {
        self.assemble();
        self.end(End::Decided(decision));
    }

    /// Nobody has another decision: the batch enters.
    #[track_caller]
    pub(crate) fn pass(&mut self) {
        self.assemble();
        let entry = self
            .machine
            .proposal()
            .map(|proposal| proposal.default_entry());
        self.decide(Ok(Decision::Enter(entry.unwrap_or_default())));
    }

    /// Ends the assembly, if it is open: where a stop before the decision takes effect.
    pub(crate) fn assemble(&mut self) {
        if self.machine.awaits(Point::Assemble) {
            self.end(End::Assembled(Ok(None)));
        }
    }

    /// Chooses the route, if it is asked for.
    pub(crate) fn route(&mut self) {
        if self.machine.awaits(Point::Request) {
            self.end(End::Requested(Ok(route("mock", 1))));
        }
    }

    #[track_caller]
    pub(crate) fn chunk(&mut self, kind: ChunkKind) {
        self.route();
        self.end(End::Chunk(kind.into()));
    }

    /// The model says some text.
    #[track_caller]
    pub(crate) fn say(&mut self, text: &str) {
        let text = text.into();
        self.chunk(ChunkKind::TextDelta { index: 0, text });
    }

    #[track_caller]
    pub(crate) fn finish(&mut self, reason: Finish) {
        self.chunk(ChunkKind::Finish { reason });
        self.end(End::Streamed(Ok(())));
    }

    /// The model says some text and stops.
    #[track_caller]
    pub(crate) fn answer(&mut self, text: &str) {
        self.say(text);
        self.finish(Finish::Stop);
    }

    /// The model asks for these calls; those whose name begins with `alone` are exclusive.
    #[track_caller]
    pub(crate) fn calls<const N: usize>(&mut self, ids: [&str; N]) {
        for (index, id) in (0..).zip(ids) {
            let block = call(id);
            self.chunk(ChunkKind::BlockEnd { index, block });
        }
        self.finish(Finish::ToolCalls);
    }

    #[track_caller]
    pub(crate) fn recover(&mut self, recovery: Recovery) {
        self.end(End::Recovered(Ok(recovery)));
    }

    /// Starts every call that may start.
    pub(crate) fn start_calls(&mut self) {
        loop {
            let open = self.open();
            let is_running = open.iter().any(|point| matches!(point, Point::Tool(_)));
            match open.iter().find(|point| matches!(point, Point::Prepare(_))) {
                Some(Point::Prepare(index)) => self.end(End::Prepared(*index, Ok(()))),
                _ if is_running && open.contains(&Point::Continue) => self.end(End::Continued),
                _ => return,
            }
        }
    }

    /// The tool's body ends, after every call that may start has started.
    #[track_caller]
    pub(crate) fn ran(&mut self, id: &str, result: Result<ToolOutput, ToolFailure>) {
        self.start_calls();
        let is_meant = |point: &Point| match point {
            Point::Tool(index) => self
                .machine
                .call(*index)
                .is_some_and(|call| call.id.as_str() == id),
            _ => false,
        };
        match self.open().into_iter().find(is_meant) {
            Some(Point::Tool(index)) => self.end(End::Ran(index, result)),
            _ => panic!("{id} does not run; it waits for {:?}", self.open()),
        }
    }

    /// The tool succeeds.
    #[track_caller]
    pub(crate) fn tool(&mut self, id: &str) {
        self.ran(id, Ok(ToolOutput::default()));
    }

    /// Plugins have no last word.
    #[track_caller]
    pub(crate) fn stopping(&mut self) {
        self.end(End::Stopped(Ok(())));
    }

    /// The region after a turn.
    #[track_caller]
    pub(crate) fn go_on(&mut self) {
        self.end(End::Continued);
    }

    /// A whole turn of one step, up to its end; the region after it has still to come.
    #[track_caller]
    pub(crate) fn turn(&mut self, id: &str) {
        self.followup(id);
        self.pass();
        self.answer("hi");
        self.stopping();
    }

    // What is seen.

    /// Nothing of what happened so far is of interest.
    pub(crate) fn skip(&mut self) {
        self.host.take_lines();
    }

    /// What happened since the last look.
    #[track_caller]
    pub(crate) fn expect<const N: usize>(&mut self, lines: [&str; N]) {
        assert_eq!(self.host.take_lines(), lines);
    }

    /// The last of what happened; the rest is of no interest.
    #[track_caller]
    pub(crate) fn expect_last<const N: usize>(&mut self, lines: [&str; N]) {
        let all = self.host.take_lines();
        assert_eq!(all[all.len().saturating_sub(N)..], lines);
    }

    /// How often a line with this beginning stands in the log.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        let lines = self.host.log.iter().map(line);
        lines.filter(|line| line.starts_with(beginning)).count()
    }

    pub(crate) fn open(&self) -> Vec<Point> {
        let mut open = Vec::new();
        self.machine.for_each_point(|point| open.push(point));
        open
    }

    /// What is pending: next-turn, then next-step.
    pub(crate) fn pending(&self) -> [Vec<&str>; 2] {
        [Target::NextTurn, Target::NextStep].map(|target| {
            let list = self.machine.inbox().list(target).iter();
            list.map(|message| message.id.as_str()).collect()
        })
    }

    /// The events of the log whose lines have this beginning.
    pub(crate) fn logged(&self, beginning: &str) -> Vec<&Body> {
        let log = self.host.log.iter();
        log.filter(|body| line(body).starts_with(beginning))
            .collect()
    }
}

// Words of the verbs.

pub(crate) fn message(id: &str) -> Message {
    UserMessage::text(id, id)
}

pub(crate) fn messages<const N: usize>(ids: [&str; N]) -> Vec<Message> {
    ids.map(message).into()
}

pub(crate) fn enter<const N: usize>(ids: [&str; N]) -> Result<Decision, Failure> {
    Ok(Decision::Enter(messages(ids)))
}

pub(crate) fn reject() -> Result<Decision, Failure> {
    Ok(Decision::Reject)
}

pub(crate) fn failure(words: &str) -> Failure {
    Failure::unknown(words)
}

pub(crate) fn contexts<const N: usize>(ids: [&str; N]) -> Result<ToolOutput, ToolFailure> {
    Ok(ToolOutput {
        contexts: messages(ids),
        ..ToolOutput::default()
    })
}

pub(crate) fn call(id: &str) -> Block {
    let name = if id.starts_with("alone") {
        "alone"
    } else {
        "shared"
    };
    Block::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: "{}".into(),
        extra: Extra::NONE,
    }
}

/// A route to a model of that name, with that version of its header.
pub(crate) fn route(model: &str, version: u32) -> Route {
    Route {
        context: RequestContext {
            provider: "mock".into(),
            model: model.into(),
            context_window: None,
            extra: Extra::NONE,
        },
        header: Arc::new(json!({ "version": version })),
    }
}

pub(crate) fn followup(id: &str) -> Op {
    Op::Followup { id: id.into() }
}

pub(crate) fn steer(id: &str) -> Op {
    Op::Steer { id: id.into() }
}

pub(crate) fn inject(id: &str) -> Op {
    Op::Inject { id: id.into() }
}

pub(crate) fn remove(id: &str) -> Op {
    let id: MessageId = id.into();
    Op::Remove { id }
}

/// A person stops what is going on; what is pending is cleared.
pub(crate) fn cancel() -> Op {
    cancel_for(CancelCause::User, false)
}

/// A person stops what is going on; what is pending stays.
pub(crate) fn cancel_keep() -> Op {
    cancel_for(CancelCause::User, true)
}

pub(crate) fn cancel_for(cause: CancelCause, keep_inbox: bool) -> Op {
    Op::Cancel { cause, keep_inbox }
}
