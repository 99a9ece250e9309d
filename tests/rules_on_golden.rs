//! Rules about a log, judged on what the reference was measured to write.
//!
//! Not here: live events and operations of the golden schedules, which rules of other scopes need.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

mod judging;

use std::fs;
use std::path::Path;

use judging::{Exercise, broken, judge_events};
use prestep::agent::repair::repair;
use prestep::event::{Body, Event, Extra, Row, Seq};
use serde_json::{Value, json};

/// The lines of a golden file.
fn golden(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The log that a golden schedule leaves behind.
fn log(schedule: &Value) -> Vec<Event> {
    let seed = schedule["seed"].as_array().into_iter().flatten();
    let mut log: Vec<Event> = seed.map(event).collect();
    // The harness marks where a seed ends, and observes no event for it.
    if !log.is_empty() && !matches!(log[log.len() - 1].body, Body::EndSeed(_)) {
        log.push(Event {
            seq: log.len() as Seq,
            time: 0,
            body: Body::EndSeed(Extra::NONE),
        });
    }
    let observations = schedule["observations"].as_array().unwrap().iter();
    let observed = observations.flat_map(|act| act.as_array().unwrap());
    log.extend(
        observed
            .filter_map(|observation| observation.get("event"))
            .map(event),
    );
    log
}

fn event(json: &Value) -> Event {
    let mut json = json.clone();
    // The golden files leave the data of requests out.
    match json["type"].as_str().unwrap() {
        "request/header" => json["data"] = json!({ "header": {}, "reason": "initial" }),
        "request/context" => json["data"] = json!({ "provider": "p", "model": "m" }),
        _ => {}
    }
    Row::from_value(json).unwrap().at(0)
}

fn name(golden: &Value) -> &str {
    golden["name"].as_str().unwrap()
}

/// What is broken in the logs of these files, each with the name of its schedule.
fn broken_in(files: &[&str]) -> Vec<String> {
    let schedules = files.iter().flat_map(|file| golden(file));
    let judged = schedules.flat_map(|schedule| {
        let (verdict, _) = judge_events(0, &log(&schedule));
        let name = name(&schedule).to_owned();
        broken(&verdict)
            .into_iter()
            .map(move |words| format!("{name}: {words}"))
    });
    judged.collect()
}

fn assert_none(broken: &[String]) {
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn the_log_of_every_golden_schedule_breaks_no_rule() {
    assert_none(&broken_in(&["named.jsonl", "walks.jsonl", "resumed.jsonl"]));
}

#[test]
fn the_log_of_every_doubtful_schedule_and_of_its_better_one_breaks_no_rule() {
    assert_none(&broken_in(&["doubtful.jsonl", "better.jsonl"]));
}

#[test]
fn every_golden_cut_breaks_no_rule_once_it_is_repaired() {
    let mut found = Vec::new();
    for golden in golden("repairs.jsonl") {
        let log: Vec<Event> = golden["log"]
            .as_array()
            .unwrap()
            .iter()
            .map(event)
            .collect();
        for at in 0..=log.len() {
            let repaired = [&log[..at], &repair(&log[..at]).closers].concat();
            let (verdict, _) = judge_events(0, &repaired);
            let name = name(&golden);
            found.extend(
                broken(&verdict)
                    .into_iter()
                    .map(|words| format!("{name} cut at {at}: {words}")),
            );
        }
    }
    assert_none(&found);
}

#[test]
fn the_golden_logs_exercise_every_rule_that_needs_neither_forks_nor_operations() {
    let mut exercise = Exercise::default();
    for file in ["named.jsonl", "walks.jsonl", "resumed.jsonl"] {
        for schedule in golden(file) {
            exercise.add(&judge_events(0, &log(&schedule)).0);
        }
    }
    assert_eq!(
        exercise.idle(),
        ["claimed-never-returns", "fork-starts-empty"].into()
    );
}
