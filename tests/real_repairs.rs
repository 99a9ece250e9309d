//! Repair and projections over session files that the real system wrote.
//!
//! The files lie beside the project, not in it; without them there is nothing to check. Not here:
//! what the derived values ought to be; the golden cuts say that (`repairs`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use prestep::agent::fork::fold_origin;
use prestep::agent::projection::history::History;
use prestep::agent::projection::queue::QueueMirror;
use prestep::agent::repair::repair_from;
use prestep::agent::resume::resume;
use prestep::event::{Event, Header, Line, Row, Seq};

struct Session {
    name: String,
    origin: Seq,
    log: Vec<Event>,
}

/// The sessions beside the project; none, with a word about it, where there are no files.
fn sessions() -> Vec<Session> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/logs");
    if !logs.is_dir() {
        println!("left out: no session files at ../shared/logs");
        return Vec::new();
    }
    let files = [files(&logs), files(&logs.join("versions"))].concat();
    files.iter().map(|file| read(file)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    files
}

fn read(file: &Path) -> Session {
    let text = fs::read_to_string(file).unwrap();
    let mut header = Header::default();
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        match Line::parse(line).unwrap() {
            Line::Header(read) => header = read,
            Line::Event(row) => rows.push(row),
            Line::Packed(packed) => rows.extend(packed.expand().unwrap()),
        }
    }
    Session {
        name: file.file_name().unwrap().to_string_lossy().into_owned(),
        origin: fold_origin(&header),
        log: (0..).zip(rows).map(|(place, row)| row.at(place)).collect(),
    }
}

fn each_prefix(mut check: impl FnMut(&Session, &[Event], &str)) {
    for session in sessions() {
        for at in 0..=session.log.len() {
            let place = format!("{} cut at {at}", session.name);
            check(&session, &session.log[..at], &place);
        }
    }
}

#[test]
fn any_prefix_of_a_real_session_can_go_on() {
    each_prefix(|session, prefix, place| {
        let resumed = resume(prefix.to_vec(), session.origin);
        let resumed = resumed.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(
            repair_from(session.origin, &resumed.log).is_empty(),
            "{place}"
        );
    });
}

#[test]
fn any_prefix_of_a_real_session_has_a_history() {
    for session in sessions() {
        let mut history = History::default();
        for event in &session.log {
            let fed = history.feed(event);
            fed.unwrap_or_else(|error| panic!("{}: {error}", session.name));
        }
    }
}

#[test]
fn a_client_that_connects_to_a_real_session_sees_what_an_early_one_sees() {
    each_prefix(|session, prefix, place| {
        let mut late = QueueMirror::of(prefix, session.origin).unwrap().baseline();
        for event in &session.log[prefix.len()..] {
            late.feed(event).unwrap();
        }
        let early = QueueMirror::of(&session.log, session.origin).unwrap();
        assert_eq!(late.lists(), early.lists(), "{place}");
    });
}
