//! `prestep shrink`: a shorter schedule with the same violation.

use std::path::PathBuf;

use clap::Args;

use prestep::rules::RuleId;
use prestep::sim::chooser::Replay;
use prestep::sim::judged::Judged;
use prestep::sim::shrink::shrink;
use prestep::trace::Trace;

use super::{Exit, Format, complain, print, print_json};

/// Example: prestep shrink found.jsonl --out shorter.jsonl
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A saved trace that breaks a rule.
    file: PathBuf,
    /// Where the shorter trace is saved; it is only told about without.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs that are tried before the shrinking is given up.
const TRIES_MAX: u32 = 200_000;

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    match try_main(arguments, format) {
        Ok(exit) => exit,
        Err(words) => {
            complain(&format!("{}: {words}", arguments.file.display()));
            Exit::Unusable
        }
    }
}

fn try_main(arguments: &Arguments, format: Format) -> Result<Exit, String> {
    let trace = Trace::load(&arguments.file).map_err(|error| error.to_string())?;
    let judged = Judged::run(Replay::new(trace.choices.clone()), &trace.scenario);
    let rule = shown(&trace, &judged)?;
    let name = rule.about().name;
    let before = judged.run.choices.len();
    let shrunk = shrink(judged, &trace.scenario, TRIES_MAX, |judged| {
        judged.breaks(rule)
    });
    let after = shrunk.judged.run.choices.len();
    let shorter = Trace::of(&shrunk.judged, &trace.scenario, trace.seed, trace.note);
    if let Some(out) = &arguments.out {
        shorter
            .save(out)
            .map_err(|error| format!("cannot be saved as {}: {error}", out.display()))?;
    }
    match format {
        Format::Text => print(&format!(
            "{name}: {before} choices before, {after} now, after {} tries\n",
            shrunk.tries
        )),
        Format::Json => print_json(&serde_json::json!({
            "rule": name, "before": before, "after": after, "tries": shrunk.tries,
        })),
    }
    Ok(Exit::Broken)
}

/// The rule that the trace shows, if it still does.
fn shown(trace: &Trace, judged: &Judged) -> Result<RuleId, String> {
    let saved = trace
        .violations
        .iter()
        .filter_map(|found| RuleId::named(&found.rule));
    let saved: Vec<RuleId> = saved.collect();
    match saved.iter().find(|rule| judged.breaks(**rule)) {
        Some(rule) => Ok(*rule),
        None if saved.is_empty() => Err("it breaks no rule".into()),
        None => Err("run again, it breaks no rule any more".into()),
    }
}
