//! A log that refuses an append, at every append of a run and several in a row: nothing changes by
//! it, and every rule holds all the same.
//!
//! The machine runs here without its shell. Not here: what becomes of a file (`file_log`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::ops::Range;
use std::sync::Arc;

use prestep::agent::inbox::Inbox;
use prestep::agent::machine::{
    Core, Decision, DuringDurable, End, Host, Keep, Limits, Machine, Overlap, Point, Recovery,
    Route, ToolOutput,
};
use prestep::event::{
    Answer, Block, Body, CallId, CancelCause, ChunkKind, Event, Extra, Failure, Finish, Lists,
    Live, Message, MessageId, Op, Record, RequestContext, Resting, Seq, Status, Target,
    UserMessage,
};
use prestep::rules::{Judge, RULES, RuleId, Scope, Verdict};

/// A log in memory that refuses some of its appends, and whoever records.
#[derive(Default)]
struct Refusing {
    log: Vec<Event>,
    records: Vec<Record>,
    /// How many appends were asked for.
    asked: usize,
    refused: Range<usize>,
    requests: usize,
}

impl Host for Refusing {
    fn commit(&mut self, batch: &[Body]) -> Result<Seq, Failure> {
        let number = self.asked;
        self.asked += 1;
        if self.refused.contains(&number) {
            self.records.push(Record::AppendRefused);
            return Err(Failure::unknown("no room is left"));
        }
        let first = self.log.len() as Seq;
        for (seq, body) in (first..).zip(batch.iter().cloned()) {
            self.log.push(Event { seq, time: 0, body });
        }
        Ok(first)
    }

    fn publish(&mut self, seq: Seq, body: &Body, agent: DuringDurable<'_>) {
        let event = self.log[usize::try_from(seq).unwrap()].clone();
        self.records.push(Record::Durable(event));
        if matches!(body, Body::InboxSpliced(_)) {
            self.records.push(Record::Lists(lists(agent.inbox())));
        }
    }

    fn live(&mut self, live: &Live, _: &mut Core) {
        self.records.push(Record::Live(live.clone()));
    }

    fn fresh_id(&mut self) -> MessageId {
        format!("loop-{}", self.log.len()).into()
    }

    fn classify(&mut self, _: &CallId, _: &str, _: &str) -> Overlap {
        Overlap::Exclusive
    }
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id.clone()).collect()
}

fn lists(inbox: &Inbox) -> Lists {
    Lists {
        next_turn: ids(inbox.list(Target::NextTurn)),
        next_step: ids(inbox.list(Target::NextStep)),
    }
}

/// A machine with its host.
struct Run {
    machine: Machine,
    host: Refusing,
}

impl Run {
    fn refusing(refused: Range<usize>) -> Self {
        let host = Refusing {
            refused,
            ..Refusing::default()
        };
        let machine = Machine::new(Limits::default());
        Self { machine, host }
    }

    fn act(&mut self, op: Op) {
        let act = Record::Act {
            by: "user".into(),
            op: op.clone(),
        };
        self.host.records.push(act);
        let (machine, host) = (&mut self.machine, &mut self.host);
        let result = match op {
            Op::Followup { id } => machine.followup(host, UserMessage::text(id, "words")),
            Op::Inject { id } => machine.inject(host, UserMessage::text(id, "words")),
            _ => machine.cancel(host, CancelCause::User, Keep::Nothing),
        };
        if let Err(error) = result {
            let words = error.to_string().into();
            let refused = Record::Refused(prestep::event::Refused::Log(words));
            self.host.records.push(refused);
        }
        self.host.records.push(Record::ActEnd);
    }

    /// Ends every awaited point calmly, until none is open.
    fn come_to_rest(&mut self) {
        loop {
            let mut open = Vec::new();
            self.machine.for_each_point(|point| open.push(point));
            let Some(point) = open.first().copied() else {
                break;
            };
            for end in self.ends(point) {
                if self.machine.awaits(point) {
                    self.machine.end(&mut self.host, end).unwrap();
                }
            }
        }
        self.host.records.push(Record::Rest(Resting {
            lists: lists(self.machine.inbox()),
            status: self.machine.status(),
            quiet: self.machine.is_quiet(),
            held: Vec::new(),
        }));
    }

    /// How a point ends: the first request asks for a tool, that tool leaves a context.
    fn ends(&mut self, point: Point) -> Vec<End> {
        let (turn, step) = (self.machine.turn(), self.machine.step());
        let records = &mut self.host.records;
        match point {
            Point::Continue => vec![End::Continued],
            Point::Assemble => vec![End::Assembled(Ok(None))],
            Point::PreStep => self.decide(),
            Point::Request => vec![End::Requested(Ok(route()))],
            Point::Model => {
                records.push(Record::ModelAsked { turn, step });
                self.host.requests += 1;
                answer(self.host.requests == 1)
            }
            Point::RequestError => vec![End::Recovered(Ok(Recovery::Fail))],
            Point::Prepare(call) => vec![End::Prepared(call, Ok(()))],
            Point::Tool(place) => {
                let call = CallId::from("c");
                let exclusive = true;
                records.push(Record::ToolBegun {
                    call: call.clone(),
                    exclusive,
                });
                let concludes = false;
                records.push(Record::ToolEnded { call, concludes });
                let output = ToolOutput {
                    contexts: vec![UserMessage::text("context", "words")],
                    ..ToolOutput::default()
                };
                vec![End::Ran(place, Ok(output))]
            }
            Point::TurnStopping => {
                records.push(Record::TurnStopping { turn });
                vec![End::Stopped(Ok(()))]
            }
            Point::Maintenance => vec![End::Maintained],
        }
    }

    fn decide(&mut self) -> Vec<End> {
        let proposal = self.machine.proposal().unwrap();
        let entry = proposal.default_entry();
        self.host.records.push(Record::Asked {
            messages: ids(proposal.batch),
            turn: proposal.turn,
            step: proposal.step,
        });
        let answer = Answer::Enter(ids(&entry));
        self.host.records.push(Record::Decided(answer));
        vec![End::Decided(Ok(Decision::Enter(entry)))]
    }
}

fn route() -> Route {
    let context = RequestContext {
        provider: "mock".into(),
        model: "mock".into(),
        context_window: None,
        extra: Extra::NONE,
    };
    Route {
        context,
        header: Arc::new(serde_json::json!({})),
    }
}

fn answer(with_tool: bool) -> Vec<End> {
    let call = ChunkKind::BlockEnd {
        index: 0,
        block: Block::ToolCall {
            id: "c".into(),
            name: "tool".into(),
            arguments: "{}".into(),
            extra: Extra::NONE,
        },
    };
    let reason = Finish::Stop;
    let chunks = with_tool.then_some(call).into_iter();
    let chunks = chunks.chain([ChunkKind::Finish { reason }]);
    let mut ends: Vec<_> = chunks.map(|kind| End::Chunk(kind.into())).collect();
    ends.push(End::Streamed(Ok(())));
    ends
}

/// Two turns, a tool with a context, a rest with one message, a cancel that clears, a last turn.
fn run(refused: Range<usize>) -> Refusing {
    let mut run = Run::refusing(refused);
    run.act(Op::Inject { id: "x".into() });
    run.act(Op::Followup { id: "a".into() });
    run.act(Op::Followup { id: "b".into() });
    run.come_to_rest();
    run.act(Op::Inject { id: "y".into() });
    run.act(Op::Cancel {
        cause: CancelCause::User,
        keep_inbox: false,
    });
    run.come_to_rest();
    run.act(Op::Followup { id: "c".into() });
    run.come_to_rest();
    run.host
}

fn judge(records: &[Record]) -> Verdict {
    let mut judge = Judge::default();
    let mut verdict = Verdict::new(RULES.len());
    for record in records {
        judge.feed_record(record, &mut verdict);
    }
    judge.end(&mut verdict);
    verdict
}

fn broken(records: &[Record]) -> Vec<String> {
    let verdict = judge(records);
    let found = verdict.violations.iter();
    let found = found.filter(|found| {
        let about = found.rule.about();
        about.scope != Scope::Log && !about.advice
    });
    found
        .map(|found| {
            format!(
                "{} at {}: {}",
                found.rule.about().name,
                found.at.0,
                found.words
            )
        })
        .collect()
}

#[test]
fn without_a_refusal_the_run_holds_and_ends_idle() {
    let host = run(0..0);
    assert_eq!(broken(&host.records), [""; 0]);
    assert!(host.asked > 30, "{}", host.asked);
    let idle =
        |record: &Record| matches!(record, Record::Rest(rest) if rest.status == Status::Idle);
    assert!(host.records.iter().rfind(|record| idle(record)).is_some());
}

#[test]
fn every_rule_holds_whichever_append_is_refused() {
    for count in 1..=4 {
        for first in 0..run(0..0).asked {
            let host = run(first..first + count);
            let found = broken(&host.records);
            assert_eq!(found, [""; 0], "{count} refusals from append {first}");
        }
    }
}

#[test]
fn a_refusal_is_what_the_rule_about_it_speaks_of() {
    let rule = RuleId::named("failed-append-changes-nothing").unwrap();
    let verdict = judge(&run(0..1).records);
    assert!(verdict.exercised[usize::from(rule.0)] > 0);
}
