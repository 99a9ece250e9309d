//! `prestep fuzz`: a campaign of random runs, every rule on.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use prestep::rules::RULES;
use prestep::sim::campaign::{Finding, Plan, Progress, Signature, Tally, run_campaign};
use prestep::sim::scenario::Scenario;
use prestep::trace::Trace;

use super::{Exit, Format, complain, print, print_json};

/// Example: prestep fuzz --seeds 0..1000
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The seeds to run: from A, up to and without B.
    #[arg(long, value_name = "A..B", conflicts_with = "time")]
    seeds: Option<Seeds>,
    /// How long to run, in seconds: 30s.
    #[arg(long, value_name = "TIME")]
    time: Option<Seconds>,
    /// A scenario: what is fixed in every run.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// How many runs go on at once; one for each core unless it is said.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Where traces of what is found are saved.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
struct Seeds(u64, u64);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bounds = text
            .split_once("..")
            .and_then(|(from, to)| Some(Self(from.trim().parse().ok()?, to.trim().parse().ok()?)));
        match bounds {
            Some(Self(from, to)) if from < to => Ok(Self(from, to)),
            Some(_) => Err("the first seed has to be smaller than the end".into()),
            None => Err("seeds are given as A..B, such as 0..1000".into()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Seconds(u64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('s').unwrap_or(text);
        number
            .parse()
            .map(Self)
            .map_err(|_| "a time is given in seconds, such as 30s".into())
    }
}

/// What `prestep` without a command does: the main job.
pub(super) fn main_job(format: Format) -> Exit {
    let arguments = Arguments {
        seeds: None,
        time: None,
        scenario: None,
        jobs: None,
        out: None,
    };
    main(&arguments, format)
}

/// How long a campaign runs that was given no bound.
const DEFAULT_SECONDS: u64 = 10;
/// One run in so many is repeated and compared.
const REPEAT_EVERY: u64 = 1_000;

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    match campaign(arguments, format) {
        Ok(exit) => exit,
        Err(words) => {
            complain(&words);
            Exit::Unusable
        }
    }
}

fn campaign(arguments: &Arguments, format: Format) -> Result<Exit, String> {
    let scenario = super::scenario(arguments.scenario.as_deref())?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let Seeds(from, to) = arguments.seeds.unwrap_or(Seeds(0, u64::MAX));
    let jobs = arguments.jobs.unwrap_or(cores).max(1);
    let plan = Plan {
        scenario,
        from,
        to,
        jobs,
        repeat_every: REPEAT_EVERY,
    };
    let seconds = match arguments.seeds {
        Some(_) => None,
        None => Some(
            arguments
                .time
                .map_or(DEFAULT_SECONDS, |Seconds(seconds)| seconds),
        ),
    };
    let progress = Progress::default();
    let tally = run_campaign(&plan, &progress, |progress| watch(progress, seconds, jobs));
    if let Some(out) = &arguments.out {
        save(out, &tally, &plan.scenario)?;
    }
    match format {
        Format::Text => print(&text(&tally, arguments.out.as_deref())),
        Format::Json => print_json(&summary(&tally)),
    }
    let broken = !tally.findings.is_empty() || !tally.unequal.is_empty();
    Ok(match (broken, tally.unrest) {
        (true, _) => Exit::Broken,
        (false, 0) => Exit::Held,
        (false, _) => Exit::BoundHit,
    })
}

/// Shows progress on a terminal until the time is over or all seeds are run.
#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the budget of a campaign is the wall clock's; no run sees it"
)]
fn watch(progress: &Progress, seconds: Option<u64>, jobs: usize) {
    let bar = ProgressBar::no_length();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    } else {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{elapsed} {pos} runs ({per_sec}) {msg}") {
        bar.set_style(style);
    }
    let begun = std::time::Instant::now();
    loop {
        let runs = progress.runs.load(Ordering::Relaxed);
        bar.set_position(runs);
        bar.set_message(format!(
            "{} violations",
            progress.violations.load(Ordering::Relaxed)
        ));
        let is_late = seconds.is_some_and(|seconds| begun.elapsed().as_secs() >= seconds);
        if is_late || progress.is_done(jobs) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    progress.stop.store(true, Ordering::Relaxed);
    bar.finish_and_clear();
}

fn save(out: &Path, tally: &Tally, scenario: &Scenario) -> Result<(), String> {
    let unsaved = |error: &dyn std::fmt::Display| format!("{}: {error}", out.display());
    std::fs::create_dir_all(out).map_err(|error| unsaved(&error))?;
    for (signature, finding) in &tally.findings {
        let note = format!("found with seed {}; {}", finding.seed, signature.shape);
        let trace = Trace::of(&finding.shrunk, scenario, Some(finding.seed.0), note);
        trace
            .save(&out.join(file_name(signature, finding)))
            .map_err(|error| unsaved(&error))?;
    }
    Ok(())
}

fn file_name(signature: &Signature, finding: &Finding) -> String {
    format!(
        "{}-seed-{}.jsonl",
        signature.rule.about().name,
        finding.seed
    )
}

fn summary(tally: &Tally) -> Value {
    let findings = tally.findings.iter().map(|(signature, finding)| {
        json!({
            "rule": signature.rule.about().name,
            "shape": signature.shape,
            "seed": finding.seed.0,
            "seeds": finding.seeds,
            "choices": finding.shrunk.run.choices.len(),
        })
    });
    json!({
        "runs": tally.runs,
        "records": tally.records,
        "exercised": counts(&tally.exercised),
        "broken": counts(&tally.broken),
        "unrest": tally.unrest,
        "repeated": tally.repeated,
        "unequal": tally.unequal.iter().map(|seed| seed.0).collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// The counts of all rules by name, those that are 0 included.
fn counts(counts: &[u64]) -> Value {
    let named = RULES
        .iter()
        .zip(counts)
        .map(|(about, count)| (about.name.into(), (*count).into()));
    Value::Object(named.collect())
}

fn text(tally: &Tally, out: Option<&Path>) -> String {
    let mut text = String::new();
    for (signature, finding) in &tally.findings {
        let Signature { rule, shape } = signature;
        let words = finding
            .shrunk
            .verdict
            .violations
            .iter()
            .find(|found| found.rule == *rule);
        let words = words.map_or("", |found| found.words.as_str());
        // Writing to a text does not fail.
        let _ = writeln!(text, "{}: {words}", rule.about().name);
        let _ = writeln!(text, "    {}", rule.about().sentence);
        let _ = writeln!(text, "    shrunk to: {shape}");
        let replay = match out {
            Some(out) => {
                format!(
                    "prestep replay {}",
                    out.join(file_name(signature, finding)).display()
                )
            }
            None => format!("prestep run --seed {}", finding.seed),
        };
        let _ = writeln!(text, "    again: {replay}\n");
    }
    let exercised = tally.exercised.iter().filter(|count| **count > 0).count();
    let _ = writeln!(
        text,
        "{} runs, {} records; {} of {} rules exercised; {} kinds of violation",
        tally.runs,
        tally.records,
        exercised,
        RULES.len(),
        tally.findings.len(),
    );
    let _ = writeln!(
        text,
        "{} runs repeated, {} not equal",
        tally.repeated,
        tally.unequal.len()
    );
    let idle: Vec<&str> = RULES
        .iter()
        .zip(&tally.exercised)
        .filter(|(_, count)| **count == 0)
        .map(|(about, _)| about.name)
        .collect();
    if !idle.is_empty() {
        let _ = writeln!(text, "never exercised: {}", idle.join(", "));
    }
    for (place, about) in RULES.iter().enumerate().filter(|(_, about)| about.advice) {
        let count = tally.broken.get(place).copied().unwrap_or(0);
        if count > 0 {
            let _ = writeln!(text, "advice: {} came up {count} times", about.name);
        }
    }
    if tally.unrest > 0 {
        let _ = writeln!(
            text,
            "{} runs did not come to rest within their bounds",
            tally.unrest
        );
    }
    text
}
