//! How fast golden schedules are compared, and how fast runs are drawn and made.
//!
//! `README.md` beside this file says how to read it. Not here: any judgement; the tests have that.

#![allow(
    clippy::unwrap_used,
    reason = "without its files a bench has nothing to measure"
)]

use std::hint::black_box;
use std::path::Path;
use std::{fs, iter};

use criterion::{Criterion, Throughput};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::conform::Golden;
use prestep::sim::run::{Run, run};
use prestep::sim::scenario::Scenario;

/// How many runs one measured pass makes.
const RUNS: u64 = 64;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for file in ["named", "walks", "resumed"] {
        conform(&mut criterion, file);
    }
    runs(&mut criterion);
    records(&mut criterion);
    criterion.final_summary();
}

/// Schedules a second and actions a second, of one golden file that is read already.
fn conform(criterion: &mut Criterion, file: &str) {
    let golden = golden(file);
    let actions: usize = golden.iter().map(Golden::action_count).sum();
    let mut group = criterion.benchmark_group(format!("conform {file}"));
    for (unit, count) in [("schedules", golden.len()), ("actions", actions)] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(unit, |bencher| {
            bencher.iter(|| golden.iter().filter(|golden| passes(golden)).count());
        });
    }
    group.finish();
}

fn golden(file: &str) -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = fs::read_to_string(folder.join(file).with_extension("jsonl")).unwrap();
    let read = |line| serde_json::from_str(line).unwrap();
    text.lines().map(read).collect()
}

fn passes(golden: &Golden) -> bool {
    matches!(golden.compare(), Ok(None))
}

/// The runs of the first seeds.
fn seeded() -> impl Iterator<Item = Run> {
    let mut seeds = 0..RUNS;
    iter::from_fn(move || {
        let chooser = Random::new(Seed(seeds.next()?));
        Some(run(chooser, &Scenario::default()))
    })
}

/// Runs a second.
fn runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("run");
    group.throughput(Throughput::Elements(RUNS));
    group.bench_function("runs", |bencher| bencher.iter(|| seeded().for_each(spend)));
    group.finish();
}

/// Records a second, of runs alone and of runs that are printed as JSON as well.
fn records(criterion: &mut Criterion) {
    let records: usize = seeded().map(|run| run.records.len()).sum();
    let mut group = criterion.benchmark_group("records");
    group.throughput(Throughput::Elements(records as u64));
    group.bench_function("kept", |bencher| bencher.iter(|| seeded().for_each(spend)));
    group.bench_function("kept and printed", |bencher| {
        bencher.iter(|| seeded().for_each(|run| spend(serde_json::to_string(&run.records))));
    });
    group.finish();
}

fn spend<T>(value: T) {
    drop(black_box(value));
}
