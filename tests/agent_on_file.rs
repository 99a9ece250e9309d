//! A whole agent on a file: it runs, the process ends anywhere, and a second start goes on.
//!
//! Not here: what the file log does with torn tails (`file_log`, `kill`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use prestep::agent::fork::fold_origin;
use prestep::agent::log::file::FileLog;
use prestep::agent::log::{SessionLog, Storage};
use prestep::agent::resume::resume;
use prestep::agent::shell::{Advance, Agent, ChunkStream, Model, ModelRequest};
use prestep::event::{Chunk, ChunkKind, Failure, Finish, Header, Target, UserMessage};

/// A model that has nothing to say.
struct Silent;

struct Said(VecDeque<Chunk>);

impl Stream for Said {
    type Item = Result<Chunk, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

impl Model for Silent {
    fn stream(&self, _: ModelRequest) -> ChunkStream {
        let finish = ChunkKind::Finish {
            reason: Finish::Stop,
        };
        Box::pin(Said([Chunk::from(finish)].into()))
    }
}

/// Starts an agent on the file, going on where the log ends.
fn start(path: &Path) -> Agent {
    let opened = FileLog::open(path).unwrap();
    let origin = opened.header.as_ref().map_or(0, fold_origin);
    let loaded = opened.events.len();
    let resumed = resume(opened.events, origin).unwrap();
    let mut storage: Box<dyn Storage> = Box::new(opened.log);
    storage.commit(&resumed.log[loaded..]).unwrap();
    let log = SessionLog::resume(storage, resumed.log).unwrap();
    Agent::builder(Rc::new(Silent))
        .model_name("none", "silent")
        .log(log, resumed.origin)
        .build()
}

/// Runs so many regions of the agent, or until it is at rest.
fn advance(agent: &Agent, regions: usize) {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..regions {
        if agent.advance(&mut cx) == Advance::Waiting {
            return;
        }
    }
}

fn pending(agent: &Agent) -> Vec<String> {
    let ids = |target| {
        agent.look(|_, _, inbox| {
            inbox
                .list(target)
                .iter()
                .map(|message| message.id.to_string())
                .collect::<Vec<_>>()
        })
    };
    [
        ids(Target::NextTurn).unwrap(),
        ids(Target::NextStep).unwrap(),
    ]
    .concat()
}

fn kinds(agent: &Agent) -> Vec<String> {
    agent.read(|events| {
        events
            .iter()
            .map(|event| event.body.kind().to_owned())
            .collect()
    })
}

#[test]
fn an_agent_that_stops_anywhere_is_closed_and_goes_on_in_both_forms() {
    for name in ["log.jsonl", "log.jsonl.zst"] {
        for regions in 0..12 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            drop(FileLog::create(&path, &Header::default()).unwrap());
            let first = start(&path);
            first.followup(UserMessage::text("a", "first")).unwrap();
            first.followup(UserMessage::text("b", "second")).unwrap();
            advance(&first, regions);
            let before = pending(&first);
            drop(first);

            let second = start(&path);
            assert_eq!(pending(&second), before, "{name}, {regions} regions");
            let resumed = kinds(&second);
            assert_eq!(resumed.last().map(String::as_str), Some("session/end-seed"));
            advance(&second, 99);
            assert_eq!(kinds(&second), resumed, "a resume alone starts nothing");

            second.followup(UserMessage::text("c", "third")).unwrap();
            advance(&second, 99);
            assert_eq!(pending(&second), Vec::<String>::new());
            let opened = kinds(&second)
                .iter()
                .filter(|kind| *kind == "turn/start")
                .count();
            let closed = kinds(&second)
                .iter()
                .filter(|kind| *kind == "turn/end")
                .count();
            assert_eq!(opened, closed);
        }
    }
}

#[test]
fn a_second_writer_of_the_same_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    drop(FileLog::create(&path, &Header::default()).unwrap());
    let agent = start(&path);
    assert!(FileLog::open(&path).is_err());
    drop(agent);
    assert!(FileLog::open(&path).is_ok());
}
