//! The rules on what the built-in agent really does: none is broken, and each has its say.
//!
//! Not here: that they notice faults (`rules_bite_live`), appends that are refused
//! (`refused_appends`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::Path;

use prestep::agent::log::{Memory, SessionLog, Storage};
use prestep::agent::resume::{Resumed, resume};
use prestep::event::{Body, Event, Op, Record, Target};
use prestep::rules::{About, Judge, RULES, RuleId, Scope, Verdict};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::conform::Golden;
use prestep::sim::judged::Judged;
use prestep::sim::run::Run;
use prestep::sim::scenario::Scenario;
use prestep::sim::schedule::{Outcome, Setting};
use prestep::sim::world::World;

const SEEDS: u64 = 4_000;

/// Rules of which no run of a seed can speak, and where they are tried instead.
const UNEXERCISED: [&str; 2] = [
    // The storage of a run refuses nothing: `refused_appends`.
    "failed-append-changes-nothing",
    // No run dies: `a_run_that_dies_anywhere_goes_on_as_if_it_had_not`.
    "resume-equals-never-crashed",
];

fn needs_a_run(about: &About) -> bool {
    about.scope != Scope::Log
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

/// Broken rules that need a run and are no mere advice, with what was found.
fn broken(verdict: &Verdict) -> Vec<(&'static str, String)> {
    let found = verdict.violations.iter();
    found
        .map(|found| (found.rule.about(), found))
        .filter(|(about, _)| needs_a_run(about) && !about.advice)
        .map(|(about, found)| (about.name, format!("at {}: {}", found.at.0, found.words)))
        .collect()
}

fn judged(seed: u64) -> Judged {
    Judged::run(Random::new(Seed(seed)), &Scenario::default())
}

#[test]
fn no_rule_is_broken_on_the_runs_of_many_seeds() {
    let mut found = Vec::new();
    for seed in 0..SEEDS {
        let broken = broken(&judged(seed).verdict);
        found.extend(broken.into_iter().map(|(rule, words)| (seed, rule, words)));
    }
    assert_eq!(found, Vec::new());
}

#[test]
fn every_rule_comes_up_on_the_runs_of_many_seeds() {
    let mut exercised = vec![0; RULES.len()];
    for seed in 0..SEEDS {
        let counts = judged(seed).verdict.exercised;
        exercised
            .iter_mut()
            .zip(counts)
            .for_each(|(sum, more)| *sum += more);
    }
    let silent: Vec<_> = RULES
        .iter()
        .zip(exercised)
        .filter(|(about, count)| needs_a_run(about) && *count == 0)
        .map(|(about, _)| about.name)
        .collect();
    assert_eq!(silent, UNEXERCISED);
}

#[test]
fn what_a_reject_parks_is_advice_and_nothing_more() {
    let advice = RuleId::named("stranded-wake").unwrap();
    let stranded = (0..SEEDS)
        .filter(|seed| judged(*seed).breaks(advice))
        .count();
    assert!(stranded > 100, "{stranded}");
}

#[test]
fn no_rule_is_broken_on_the_golden_schedules() {
    let mut found = Vec::new();
    for file in ["named", "walks", "resumed"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{file}.jsonl"));
        for line in fs::read_to_string(path).unwrap().lines() {
            let golden: Golden = serde_json::from_str(line).unwrap();
            let broken = broken(&judge(&golden.records().unwrap()));
            found.extend(
                broken
                    .into_iter()
                    .map(|broken| (golden.name.clone(), broken)),
            );
        }
    }
    assert_eq!(found, []);
}

#[test]
fn a_run_that_dies_anywhere_goes_on_as_if_it_had_not() {
    let rule = RuleId::named("resume-equals-never-crashed").unwrap();
    let (mut crashes, mut resumes) = (0, 0);
    for seed in 0..200 {
        let run = judged(seed).run;
        for cut in cuts(&run.records) {
            let verdict = judge(&crashed(&run, cut));
            assert_eq!(broken(&verdict), [], "seed {seed}, cut at record {cut}");
            crashes += 1;
            resumes += verdict.exercised[usize::from(rule.0)];
        }
    }
    assert!(crashes > 1_000, "{crashes}");
    assert_eq!(resumes, crashes);
}

/// Every place behind a durable event at which a process can die. A claim is stored whole.
fn cuts(records: &[Record]) -> Vec<usize> {
    let durable = |place: &usize| matches!(records[*place], Record::Durable(_));
    let places: Vec<_> = (0..records.len()).filter(durable).collect();
    let inside_a_claim = |place: usize| {
        let next = places.iter().find(|other| **other > place);
        is_claim(&records[place], Target::NextStep)
            && next.is_some_and(|next| is_claim(&records[*next], Target::NextTurn))
    };
    let cuts = places.iter().filter(|place| !inside_a_claim(**place));
    cuts.map(|place| place + 1).collect()
}

fn is_claim(record: &Record, target: Target) -> bool {
    matches!(record, Record::Durable(Event { body: Body::InboxSpliced(splice), .. })
        if splice.target == target && splice.removed_count.is_some() && splice.outcome.is_none())
}

/// The records of a run up to a cut, of the resume, and of an agent that goes on with the log.
fn crashed(run: &Run, cut: usize) -> Vec<Record> {
    let mut records = run.records[..cut].to_vec();
    let log = records.iter().filter_map(|record| match record {
        Record::Durable(event) => Some(event.clone()),
        _ => None,
    });
    let resumed = resume(log.collect(), 0).unwrap();
    records.push(Record::Crashed);
    records.extend(resumed.added().iter().cloned().map(Record::Durable));
    records.extend(gone_on(&run.setting, resumed));
    records
}

/// One more message, and everything calm.
fn gone_on(setting: &Setting, resumed: Resumed) -> Vec<Record> {
    let Resumed { log, origin, .. } = resumed;
    let storage: Box<dyn Storage> = Box::new(Memory::default());
    let log = SessionLog::resume(storage, log).unwrap();
    let mut world = World::with_log(setting, log, origin);
    let id = "after the crash".into();
    world.ask(&"user".into(), &Op::Followup { id });
    loop {
        while world.advance() {}
        match world.held().first() {
            Some(gate) => world.let_go(gate, Outcome::Calm),
            None => return world.take_records(),
        }
    }
}

#[test]
fn the_catalogue_has_28_live_rules_and_18_of_schedules() {
    let count = |scope| RULES.iter().filter(|about| about.scope == scope).count();
    assert_eq!((count(Scope::Live), count(Scope::Schedule)), (28, 18));
}
