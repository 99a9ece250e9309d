//! Rules about a log, judged on random runs of this project's own agent.
//!
//! Not here: other rules; campaigns judge those on the same runs.

mod judging;

use judging::{Exercise, broken, judge_records};
use prestep::event::Record;
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
        let mut log = records(seed);
        log.retain(|record| matches!(record, Record::Durable(_)));
        let broken = broken(&judge_records(&log)).into_iter();
        found.extend(broken.map(|words| format!("seed {seed}: {words}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
