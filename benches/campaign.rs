//! What a campaign costs: against shuttle's random scheduler, and against itself without rules.
//!
//! `README.md` beside this file says how to read it. Not here: any judgement.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use prestep::rules::{Judge, RULES, Verdict};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::judged::Judged;
use prestep::sim::run::{Run, run};
use prestep::sim::scenario::Scenario;
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::Mutex;

/// How many schedules one measured pass makes.
const SCHEDULES: u64 = 256;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    schedules(&mut criterion);
    rules(&mut criterion);
    criterion.final_summary();
}

/// Schedules a second of three concurrent tasks with about thirty choice points, on one thread.
fn schedules(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("schedules");
    group.throughput(Throughput::Elements(SCHEDULES));
    shuttle(&mut group);
    let scenario = three_producers();
    group.bench_function("campaign, all rules on", |bencher| {
        bencher.iter(|| {
            for seed in 0..SCHEDULES {
                black_box(Judged::run(Random::new(Seed(seed)), &scenario));
            }
        });
    });
    group.bench_function("campaign, no rules", |bencher| {
        bencher.iter(|| {
            for seed in 0..SCHEDULES {
                black_box(run(Random::new(Seed(seed)), &scenario));
            }
        });
    });
    group.finish();
}

/// Three threads that take a lock five times each and keep what they saw.
fn shuttle(group: &mut BenchmarkGroup<'_, WallTime>) {
    let schedules = usize::try_from(SCHEDULES).unwrap_or(usize::MAX);
    group.bench_function("shuttle, random", |bencher| {
        bencher.iter(|| {
            let scheduler = RandomScheduler::new_from_seed(7, schedules);
            shuttle::Runner::new(scheduler, shuttle::Config::default()).run(|| {
                let list = Arc::new(Mutex::new(Vec::new()));
                let threads: Vec<_> = (0..3)
                    .map(|thread| {
                        let list = list.clone();
                        shuttle::thread::spawn(move || {
                            for item in 0..5 {
                                if let Ok(mut list) = list.lock() {
                                    list.push((thread, item));
                                }
                            }
                        })
                    })
                    .collect();
                for thread in threads {
                    drop(thread.join());
                }
                black_box(list.lock().map_or(0, |list| list.len()));
            });
        });
    });
}

/// A scenario of about thirty choices a run.
fn three_producers() -> Scenario {
    let json = r#"{ "listeners": ["p"], "reactions": [], "parallelCallsMax": 2, "producers": [
        { "name": "user", "any": 2 }, { "name": "plugin", "any": 2 }, { "name": "timer", "any": 2 }
    ] }"#;
    serde_json::from_str(json).unwrap_or_default()
}

/// Records a second through every rule, and how many a run has.
fn rules(criterion: &mut Criterion) {
    let runs: Vec<Run> = (0..SCHEDULES)
        .map(|seed| run(Random::new(Seed(seed)), &Scenario::default()))
        .collect();
    let records: usize = runs.iter().map(|run| run.records.len()).sum();
    let mut group = criterion.benchmark_group("rules");
    group.throughput(Throughput::Elements(records as u64));
    group.bench_function("all rules on records", |bencher| {
        bencher.iter(|| {
            for run in &runs {
                let mut verdict = Verdict::new(RULES.len());
                let mut judge = Judge::default();
                run.records
                    .iter()
                    .for_each(|record| judge.feed_record(record, &mut verdict));
                judge.end(&mut verdict);
                black_box(verdict);
            }
        });
    });
    group.finish();
}
