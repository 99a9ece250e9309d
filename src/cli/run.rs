//! `prestep run`: one run drawn from a seed, as a timeline.
//!
//! Not here: running (`sim::run`) and drawing the timeline (`report::timeline`).

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use prestep::report::timeline;
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::judged::Judged;

use prestep::trace::Trace;

use super::{Exit, Format, complain, print, print_json};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The seed that the schedule is drawn from: a decimal number, or 0x and hexadecimal digits.
    #[arg(long, default_value_t = Seed(0))]
    seed: Seed,
    /// A scenario: what of the run is fixed.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Where the run is saved as a trace.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    match try_main(arguments, format) {
        Ok(exit) => exit,
        Err(words) => {
            complain(&words);
            Exit::Unusable
        }
    }
}

fn try_main(arguments: &Arguments, format: Format) -> Result<Exit, String> {
    let scenario = super::scenario(arguments.scenario.as_deref())?;
    let judged = Judged::run(Random::new(arguments.seed), &scenario);
    if let Some(out) = &arguments.out {
        let note = format!("one run of seed {}", arguments.seed);
        let trace = Trace::of(&judged, &scenario, Some(arguments.seed.0), note);
        trace
            .save(out)
            .map_err(|error| format!("{}: {error}", out.display()))?;
    }
    match format {
        Format::Text => print(&text(arguments.seed, &judged)),
        Format::Json => print_json(&to_json(arguments.seed, &judged)),
    }
    Ok(match (judged.broken(), &judged.run.pending) {
        (Some(_), _) => Exit::Broken,
        (None, Some(_)) => Exit::BoundHit,
        (None, None) => Exit::Held,
    })
}

fn to_json(seed: Seed, judged: &Judged) -> Value {
    let run = &judged.run;
    let broken = judged
        .verdict
        .violations
        .iter()
        .map(|found| found.rule.about().name);
    json!({
        "seed": seed.0,
        "listeners": run.setting.listeners,
        "parallelCallsMax": run.setting.parallel_calls_max,
        "moves": run.moves.len(),
        "choices": run.choices.iter().map(|choice| choice.picked).collect::<Vec<_>>(),
        "records": run.records,
        "broken": broken.collect::<Vec<_>>(),
        "pending": run.pending.as_ref().map(ToString::to_string),
    })
}

fn text(seed: Seed, judged: &Judged) -> String {
    let run = &judged.run;
    let setting = &run.setting;
    let end = match &run.pending {
        None => "at rest".into(),
        Some(pending) => format!("not at rest: {pending}"),
    };
    format!(
        "seed {seed}: listeners {}, at most {} parallel calls, {} observers that act\n\n{}\n\
         {}{} moves, {} choices, {} records; {end}\n",
        setting.listeners.join(" "),
        setting.parallel_calls_max,
        setting.reactions.len(),
        timeline::render(&run.records),
        violations(judged),
        run.moves.len(),
        run.choices.len(),
        run.records.len(),
    )
}

/// A paragraph for each broken rule; nothing when all held.
fn violations(judged: &Judged) -> String {
    let mut text = String::new();
    for found in &judged.verdict.violations {
        let about = found.rule.about();
        let kind = if about.advice { "advice" } else { "broken" };
        text.push_str(&format!(
            "{kind}: {}: {}\n    {}\n",
            about.name, found.words, about.sentence
        ));
    }
    text
}
