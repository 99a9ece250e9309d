//! Commands: reading arguments, and turning results into text, JSON and an exit status.
//!
//! Results go to standard output, notes and complaints to standard error. Not here: any judgement.

mod catalog;
mod conform;
mod fuzz;
mod replay;
mod rules;
mod run;
mod shrink;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand, ValueEnum};

use prestep::sim::scenario::Scenario;

/// Deterministic simulation and verification of agent loops.
#[derive(Debug, Parser)]
#[command(name = "prestep", version, about, after_help = EXIT_HELP)]
struct Arguments {
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Without one: a campaign of ten seconds on all cores, every rule on.
    #[command(subcommand)]
    command: Option<Command>,
}

const EXIT_HELP: &str = "Exit status: 0 all held, 1 a rule was broken or an observation differs, \
    2 bad usage or unreadable input, 3 a replay diverged, 4 a bound was hit before the end.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs golden schedules on the built-in system and compares every observation.
    #[command(after_help = "Example: prestep conform tests/golden/named.jsonl")]
    Conform(conform::Arguments),
    /// Runs one schedule drawn from a seed and shows it as a timeline.
    #[command(after_help = "Example: prestep run --seed 7")]
    Run(run::Arguments),
    /// Runs many schedules drawn at random, every rule on.
    #[command(after_help = "Example: prestep fuzz --seeds 0..1000")]
    Fuzz(fuzz::Arguments),
    /// Runs saved traces again: the same events, the same verdict.
    #[command(after_help = "Example: prestep replay traces/regressions/tool-fails.jsonl")]
    Replay(replay::Arguments),
    /// Finds a shorter schedule with the same violation.
    #[command(after_help = "Example: prestep shrink found.jsonl --out shorter.jsonl")]
    Shrink(shrink::Arguments),
    /// Lists the rules, or shows one with its examples.
    #[command(after_help = "Example: prestep rules turns-never-overlap")]
    Rules(rules::Arguments),
    /// Lists every event and its members, generated from the types.
    #[command(after_help = "Example: prestep catalog --schema")]
    Catalog(catalog::Arguments),
}

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exit {
    /// All held.
    Held = 0,
    /// A rule was broken or an observation differs.
    Broken = 1,
    /// Bad usage or unreadable input.
    Unusable = 2,
    /// A replay diverged.
    Diverged = 3,
    /// A bound was hit before the end.
    BoundHit = 4,
}

pub(crate) fn main() -> ExitCode {
    let Arguments { format, command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are results; everything else is bad usage.
            let code = u8::try_from(error.exit_code()).unwrap_or(Exit::Unusable as u8);
            // Nobody is left to tell when even that cannot be written.
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let exit = match command {
        None => fuzz::main_job(format),
        Some(Command::Conform(arguments)) => conform::main(&arguments, format),
        Some(Command::Run(arguments)) => run::main(&arguments, format),
        Some(Command::Fuzz(arguments)) => fuzz::main(&arguments, format),
        Some(Command::Replay(arguments)) => replay::main(&arguments, format),
        Some(Command::Shrink(arguments)) => shrink::main(&arguments, format),
        Some(Command::Rules(arguments)) => rules::main(&arguments, format),
        Some(Command::Catalog(arguments)) => catalog::main(&arguments, format),
    };
    let exit = if LOST.load(Ordering::Relaxed) {
        Exit::Unusable
    } else {
        exit
    };
    ExitCode::from(exit as u8)
}

/// Whether a result could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes a result. A reader that has gone away has seen enough; anything else is complained of.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("the result cannot be written: {error}"));
            LOST.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
}

/// Writes a complaint: a sentence on standard error.
fn complain(sentence: &str) {
    let sentence = one_line(sentence);
    drop(writeln!(io::stderr().lock(), "prestep: {sentence}"));
}

/// The scenario of a file; the one that fixes nothing without one.
fn scenario(path: Option<&Path>) -> Result<Scenario, String> {
    let Some(path) = path else {
        return Ok(Scenario::default());
    };
    let file = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{file}: cannot be read: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{file}: is no scenario: {error}"))
}

/// The text on one line: names in foreign files may hold line feeds and what steers a terminal.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

/// Writes a result as one JSON document.
fn print_json(value: &impl serde::Serialize) {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    print(&text);
}
