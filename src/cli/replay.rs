//! `prestep replay`: saved traces, run again: the same events and the same verdict.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use prestep::event::Record;
use prestep::rules::RuleId;
use prestep::sim::chooser::{Divergence, Replay};
use prestep::sim::judged::Judged;
use prestep::sim::run::run;
use prestep::trace::Trace;

use super::{Exit, Format, complain, print, print_json};

/// Example: prestep replay traces/regressions/wake-inside-abort-window.jsonl
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Saved traces.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// What one trace came to.
#[derive(Debug, Serialize)]
struct Replayed {
    file: String,
    records: usize,
    /// Names of the rules that are broken, as saved; advice left out.
    broken: Vec<String>,
    /// Where it first went another way, in words with both sides.
    diverged: Option<String>,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    let mut exit = Exit::Held;
    let mut all = Vec::new();
    for path in &arguments.files {
        match Trace::load(path) {
            Err(error) => {
                complain(&format!("{}: {error}", path.display()));
                exit = exit.max(Exit::Unusable);
            }
            Ok(trace) => {
                let replayed = replay(path, &trace);
                exit = exit.max(match &replayed.diverged {
                    Some(_) => Exit::Diverged,
                    None if replayed.broken.is_empty() => Exit::Held,
                    None => Exit::Broken,
                });
                all.push(replayed);
            }
        }
    }
    match format {
        Format::Json => print_json(&all),
        Format::Text => print(&text(&all)),
    }
    exit
}

fn text(all: &[Replayed]) -> String {
    let mut text = String::new();
    for Replayed {
        file,
        records,
        broken,
        diverged,
    } in all
    {
        // Writing to a text does not fail.
        let _ = match (diverged, broken.as_slice()) {
            (Some(words), _) => writeln!(text, "{file}: diverged: {words}"),
            (None, []) => writeln!(text, "{file}: the same {records} records; all rules held"),
            (None, broken) => {
                writeln!(
                    text,
                    "{file}: the same {records} records; broken: {}",
                    broken.join(", ")
                )
            }
        };
    }
    text
}

fn replay(path: &Path, trace: &Trace) -> Replayed {
    let mut chooser = Replay::new(trace.choices.clone());
    let judged = Judged::of(run(&mut chooser, &trace.scenario));
    let again = Trace::of(&judged, &trace.scenario, trace.seed, trace.note.clone());
    let diverged = first_record(&trace.records, &again.records)
        .or_else(|| chooser.finish().map(choice_words))
        .or_else(|| verdict(trace, &again));
    let mut broken: Vec<String> = trace
        .violations
        .iter()
        .map(|violation| violation.rule.clone())
        .filter(|rule| !RuleId::named(rule).is_some_and(|rule| rule.about().advice))
        .collect();
    broken.dedup();
    Replayed {
        file: path.display().to_string(),
        records: trace.records.len(),
        broken,
        diverged,
    }
}

/// The first record that is not the saved one, with both sides.
fn first_record(saved: &[Record], again: &[Record]) -> Option<String> {
    let place =
        (0..saved.len().max(again.len())).find(|place| saved.get(*place) != again.get(*place))?;
    let side = |records: &[Record]| {
        let record = records.get(place).map(serde_json::to_string);
        record
            .and_then(Result::ok)
            .unwrap_or_else(|| "nothing more".into())
    };
    Some(format!(
        "record {place}: saved {}, now {}",
        side(saved),
        side(again)
    ))
}

fn choice_words(divergence: Divergence) -> String {
    let Divergence {
        at,
        expected,
        found,
    } = divergence;
    let expected = expected.map_or("no more choice".into(), |choice| {
        format!(
            "{} of {} at \"{}\"",
            choice.picked, choice.bound, choice.point
        )
    });
    let found = found.map_or("no more choice".into(), |(point, bound)| {
        format!("one of {bound} at \"{point}\"")
    });
    format!("choice {at}: saved {expected}, now {found}")
}

fn verdict(saved: &Trace, again: &Trace) -> Option<String> {
    if saved.violations != again.violations {
        let names = |trace: &Trace| {
            trace
                .violations
                .iter()
                .map(|found| found.rule.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        return Some(format!(
            "verdict: saved [{}], now [{}]",
            names(saved),
            names(again)
        ));
    }
    let rest = |trace: &Trace| trace.pending.clone().unwrap_or_else(|| "at rest".into());
    (saved.pending != again.pending)
        .then(|| format!("end: saved {}, now {}", rest(saved), rest(again)))
}
