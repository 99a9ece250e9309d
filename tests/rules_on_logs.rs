//! Rules about a log, judged on session files that the real system wrote.
//!
//! The files lie beside the project, not in it; without them there is nothing to judge. What a
//! session inherited is another's, and a log from before the inbox is judged on its brackets.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

mod judging;

use std::fs;
use std::path::{Path, PathBuf};

use judging::{Exercise, judge_events, words};
use prestep::agent::fork::fold_origin;
use prestep::event::{Event, Header, Line, Row, Seq};
use prestep::rules::leniency::Leniency;

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

/// Files that people wrote or edited by hand, and the rule that they break: replies for a scripted
/// model after the end of a log, and headers without a step.
const BY_HAND: [(&str, &str); 3] = [
    (
        "apps__web__cordis-tool-round__session.jsonl",
        "model-events-inside-their-step",
    ),
    (
        "test-support__acp-snapshot__suite__pin-turn__session.jsonl",
        "model-events-inside-their-step",
    ),
    (
        "test-support__acp-snapshot__suite__shared-pin__session.jsonl",
        "model-events-inside-their-step",
    ),
];

#[test]
fn nothing_that_the_real_loop_wrote_breaks_a_rule() {
    let mut found = Vec::new();
    for session in sessions() {
        let (verdict, judge) = judge_events(session.origin, &session.log);
        let parted = Leniency::of(judge.situation()).part(&verdict);
        for (violation, excuse) in &parted.excused {
            println!("{}: left out, {excuse}: {}", session.name, words(violation));
        }
        for violation in parted.broken {
            let place = (session.name.as_str(), violation.rule.about().name);
            if !BY_HAND.contains(&place) {
                found.push(format!("{}: {}", session.name, words(violation)));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Nothing is forked there from a parent with pending input, and no operation is recorded.
const IDLE: [&str; 2] = ["claimed-never-returns", "fork-starts-empty"];

#[test]
fn the_real_sessions_exercise_nearly_every_rule_about_a_log() {
    let sessions = sessions();
    let mut exercise = Exercise::default();
    for session in &sessions {
        exercise.add(&judge_events(session.origin, &session.log).0);
    }
    if !sessions.is_empty() {
        assert_eq!(exercise.idle(), IDLE.into());
    }
}
