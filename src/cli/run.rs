//! `prestep run`: one run drawn from a seed, as a timeline.
//!
//! Not here: running (`sim::run`) and drawing the timeline (`report::timeline`).

use clap::Args;
use serde_json::json;

use prestep::report::timeline;
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::run::{Bounds, Run, run};

use super::{Exit, Format, print, print_json};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The seed that the schedule is drawn from: a decimal number, or 0x and hexadecimal digits.
    #[arg(long, default_value_t = Seed(0))]
    seed: Seed,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    let run = run(Random::new(arguments.seed), Bounds::default());
    match format {
        Format::Text => print(&text(arguments.seed, &run)),
        Format::Json => print_json(&json!({
            "seed": arguments.seed.0,
            "listeners": run.setting.listeners,
            "parallelCallsMax": run.setting.parallel_calls_max,
            "moves": run.moves,
            "choices": run.choices.iter().map(|choice| choice.picked).collect::<Vec<_>>(),
            "records": run.records,
            "pending": run.pending.as_ref().map(ToString::to_string),
        })),
    }
    if run.pending.is_some() {
        Exit::BoundHit
    } else {
        Exit::Held
    }
}

fn text(seed: Seed, run: &Run) -> String {
    let setting = &run.setting;
    let end = match &run.pending {
        None => "at rest".into(),
        Some(pending) => format!("not at rest: {pending}"),
    };
    format!(
        "seed {seed}: listeners {}, at most {} parallel calls, {} observers that act\n\n{}\n\
         {} moves, {} choices, {} records; {end}\n",
        setting.listeners.join(" "),
        setting.parallel_calls_max,
        setting.reactions.len(),
        timeline::render(&run.records),
        run.moves,
        run.choices.len(),
        run.records.len(),
    )
}
