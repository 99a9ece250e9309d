//! Rules about a log, judged on random runs of this project's own agent.
//!
//! Not here: other rules; campaigns judge those on the same runs.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

mod judging;

use judging::{Exercise, broken, judge_events, judge_records};
use prestep::agent::fork::{fork, latest_boundary};
use prestep::agent::resume::resume;
use prestep::event::{Event, Header, Record, Seq, Target};
use prestep::rules::example::{claim, insert, turn_end, turn_start};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::run::run;
use prestep::sim::scenario::Scenario;

/// Runs do not crash, resume or fork.
const IDLE: [&str; 4] = [
    "fork-starts-empty",
    "interrupted-only-by-repair",
    "repair-is-idempotent",
    "seed-boundary-once",
];

fn records(seed: u64) -> Vec<Record> {
    run(Random::new(Seed(seed)), &Scenario::default()).records
}

fn log(seed: u64) -> Vec<Event> {
    let durable = |record| match record {
        Record::Durable(event) => Some(event),
        _ => None,
    };
    records(seed).into_iter().filter_map(durable).collect()
}

#[test]
fn no_run_of_5000_breaks_a_rule_and_all_but_those_about_crashes_and_forks_come_up() {
    let mut exercise = Exercise::default();
    let mut found = Vec::new();
    for seed in 0..5_000 {
        let verdict = judge_records(&records(seed));
        let broken = broken(&verdict).into_iter();
        found.extend(broken.map(|words| format!("seed {seed}: {words}")));
        exercise.add(&verdict);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(exercise.idle(), IDLE.into());
}

#[test]
fn the_log_of_a_run_alone_breaks_no_rule_either() {
    let mut found = Vec::new();
    for seed in 0..5_000 {
        let broken = broken(&judge_events(0, &log(seed)).0).into_iter();
        found.extend(broken.map(|words| format!("seed {seed}: {words}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_log_that_was_cut_anywhere_and_resumed_breaks_no_rule() {
    let mut exercise = Exercise::default();
    let mut found = Vec::new();
    for seed in 0..100 {
        let log = log(seed);
        for at in 0..=log.len() {
            let resumed = resume(log[..at].to_vec(), 0).unwrap();
            let (verdict, _) = judge_events(0, &resumed.log);
            let broken = broken(&verdict).into_iter();
            found.extend(broken.map(|words| format!("seed {seed} cut at {at}: {words}")));
            exercise.add(&verdict);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let idle = exercise.idle();
    assert!(
        IDLE[1..].iter().all(|rule| !idle.contains(rule)),
        "{idle:?}"
    );
}

#[test]
fn a_child_that_goes_on_with_an_inbox_of_its_own_breaks_no_rule() {
    let mut exercise = Exercise::default();
    let mut found = Vec::new();
    for seed in 0..200 {
        let parent = log(seed);
        let length = latest_boundary(&parent);
        let child = child(fork(&Header::default(), &parent, length).unwrap().log);
        let (verdict, _) = judge_events(length as Seq, &child);
        let broken = broken(&verdict).into_iter();
        found.extend(broken.map(|words| format!("seed {seed}: {words}")));
        exercise.add(&verdict);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(!exercise.idle().contains("fork-starts-empty"));
}

/// A child's log after a first turn of its own.
fn child(inherited: Vec<Event>) -> Vec<Event> {
    let length = inherited.len() as Seq;
    let resumed = resume(inherited, length).unwrap();
    let turn = resumed.origin.last_turn + 1;
    let own = [
        insert(Target::NextTurn, 0, &["own"]),
        turn_start(turn),
        claim(Target::NextTurn, 1),
        turn_end(turn, "blocked"),
    ];
    let mut log = resumed.log;
    for record in own {
        if let Record::Durable(event) = record {
            let seq = log.len() as Seq;
            log.push(Event { seq, ..event });
        }
    }
    log
}
