//! Many runs: from seeds, on several cores, with what was found shrunk and told apart.
//!
//! One world a thread; the result does not depend on how many threads there are, only on which
//! seeds were run. Not here: saving and showing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::chooser::{Random, Seed};
use super::judged::Judged;
use super::scenario::Scenario;
use super::shrink::shrink;
use crate::event::Record;
use crate::rules::{RULES, RuleId};

/// What a campaign runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is fixed in every run.
    pub scenario: Scenario,
    /// The first seed.
    pub from: u64,
    /// The seed after the last; `u64::MAX` for no end.
    pub to: u64,
    /// How many worlds run at once, at least 1.
    pub jobs: usize,
    /// Every so many runs one is repeated and compared; 0 for never.
    pub repeat_every: u64,
}

/// What a campaign came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many runs.
    pub runs: u64,
    /// How many records they had.
    pub records: u64,
    /// How often the situation of each rule came up.
    pub exercised: Vec<u64>,
    /// How often each rule was broken, advice included.
    pub broken: Vec<u64>,
    /// How many runs did not come to rest within their bounds.
    pub unrest: u64,
    /// How many runs were repeated, with equal records.
    pub repeated: u64,
    /// Seeds whose repetition was not equal.
    pub unequal: Vec<Seed>,
    /// What was found, by signature: the first seed that showed it, and its shrunk run.
    pub findings: BTreeMap<Signature, Finding>,
}

/// What tells findings apart: the rule, and the shape of the shrunk schedule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    /// The broken rule.
    pub rule: RuleId,
    /// Who did what, in order, identities left out.
    pub shape: String,
}

/// One kind of violation.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The first seed that showed it.
    pub seed: Seed,
    /// Its shrunk run.
    pub shrunk: Judged,
    /// How many seeds shrank to the same shape.
    pub seeds: u64,
}

/// Runs that are tried for one shrinking.
const SHRINK_TRIES_MAX: u32 = 20_000;
/// Violations of one rule that are shrunk by one worker; further ones are only counted.
const SHRUNK_PER_RULE_MAX: u64 = 8;
/// Seeds that a worker takes at a time.
const BLOCK: u64 = 64;

/// Where workers and whoever watches them meet.
#[derive(Debug, Default)]
pub struct Progress {
    /// Runs so far.
    pub runs: AtomicU64,
    /// Violations so far, advice left out.
    pub violations: AtomicU64,
    /// Tells the workers to stop.
    pub stop: AtomicBool,
    next_block: AtomicU64,
    /// Workers that are through.
    finished: AtomicUsize,
}

impl Progress {
    /// Whether so many workers are through.
    #[must_use]
    pub fn is_done(&self, workers: usize) -> bool {
        self.finished.load(Ordering::Relaxed) >= workers
    }
}

/// Runs a campaign to its end, or until `progress.stop`. `watch` is called on the caller's thread
/// while the workers run.
pub fn run_campaign(plan: &Plan, progress: &Progress, watch: impl FnOnce(&Progress)) -> Tally {
    let workers = plan.jobs.max(1);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| worker(plan, progress)))
            .collect();
        watch(progress);
        let tallies = started.into_iter().filter_map(|worker| worker.join().ok());
        tallies.fold(Tally::default(), Tally::and)
    })
}

fn worker(plan: &Plan, progress: &Progress) -> Tally {
    let _through = Through(progress);
    work(plan, progress)
}

/// Counts a worker as through when it ends, however it ends.
struct Through<'a>(&'a Progress);

impl Drop for Through<'_> {
    fn drop(&mut self) {
        self.0.finished.fetch_add(1, Ordering::Relaxed);
    }
}

fn work(plan: &Plan, progress: &Progress) -> Tally {
    let mut tally = Tally::new();
    loop {
        let block = progress.next_block.fetch_add(1, Ordering::Relaxed);
        let begin = plan.from.saturating_add(block.saturating_mul(BLOCK));
        let end = begin.saturating_add(BLOCK).min(plan.to);
        if begin >= plan.to {
            return tally;
        }
        for seed in begin..end {
            if progress.stop.load(Ordering::Relaxed) {
                return tally;
            }
            tally.try_seed(Seed(seed), plan, progress);
        }
    }
}

impl Tally {
    fn new() -> Self {
        let none = vec![0; RULES.len()];
        Self {
            exercised: none.clone(),
            broken: none,
            ..Self::default()
        }
    }

    fn try_seed(&mut self, seed: Seed, plan: &Plan, progress: &Progress) {
        let judged = Judged::run(Random::new(seed), &plan.scenario);
        progress.runs.fetch_add(1, Ordering::Relaxed);
        self.runs += 1;
        self.records += judged.run.records.len() as u64;
        self.unrest += u64::from(judged.run.pending.is_some());
        add(&mut self.exercised, &judged.verdict.exercised);
        for violation in &judged.verdict.violations {
            self.broken[usize::from(violation.rule.0)] += 1;
        }
        if plan.repeat_every > 0 && seed.0.is_multiple_of(plan.repeat_every) {
            self.repeat(seed, &judged, plan);
        }
        if let Some(rule) = judged.broken() {
            progress.violations.fetch_add(1, Ordering::Relaxed);
            self.find(seed, rule, judged, plan);
        }
    }

    fn repeat(&mut self, seed: Seed, judged: &Judged, plan: &Plan) {
        let again = Judged::run(Random::new(seed), &plan.scenario);
        if again.run == judged.run {
            self.repeated += 1;
        } else {
            self.unequal.push(seed);
        }
    }

    fn find(&mut self, seed: Seed, rule: RuleId, judged: Judged, plan: &Plan) {
        if self.broken[usize::from(rule.0)] > SHRUNK_PER_RULE_MAX {
            return;
        }
        let shows = |judged: &Judged| judged.breaks(rule);
        let shrunk = shrink(judged, &plan.scenario, SHRINK_TRIES_MAX, shows).judged;
        let signature = Signature {
            rule,
            shape: shape(&shrunk),
        };
        self.add_finding(
            signature,
            Finding {
                seed,
                shrunk,
                seeds: 1,
            },
        );
    }

    fn add_finding(&mut self, signature: Signature, finding: Finding) {
        match self.findings.get_mut(&signature) {
            None => drop(self.findings.insert(signature, finding)),
            Some(known) => {
                let seeds = known.seeds + finding.seeds;
                if finding.seed < known.seed {
                    *known = finding;
                }
                known.seeds = seeds;
            }
        }
    }

    /// Both together, whichever worker ran what.
    #[must_use]
    fn and(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.records += other.records;
        self.unrest += other.unrest;
        self.repeated += other.repeated;
        self.unequal.extend(other.unequal);
        self.unequal.sort_unstable();
        add(&mut self.exercised, &other.exercised);
        add(&mut self.broken, &other.broken);
        for (signature, finding) in other.findings {
            self.add_finding(signature, finding);
        }
        self
    }
}

fn add(sum: &mut Vec<u64>, more: &[u64]) {
    sum.resize(sum.len().max(more.len()), 0);
    sum.iter_mut()
        .zip(more)
        .for_each(|(sum, more)| *sum += more);
}

/// Who did what in a run, in order, without identities.
fn shape(judged: &Judged) -> String {
    let acts = judged.run.records.iter().filter_map(|record| match record {
        Record::Act { op, .. } => Some(op.name().to_owned()),
        Record::React(op) => Some(format!("({})", op.name())),
        Record::Release { gate } => Some(format!("{gate}!")),
        _ => None,
    });
    acts.collect::<Vec<_>>().join(" ")
}
