//! Commands: reading arguments, and turning results into text, JSON and an exit status.
//!
//! Results go to standard output, notes and complaints to standard error. Not here: any judgement.

mod catalog;
mod conform;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Deterministic simulation and verification of agent loops.
#[derive(Debug, Parser)]
#[command(name = "prestep", version, about, after_help = EXIT_HELP)]
struct Arguments {
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(subcommand)]
    command: Command,
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
        Command::Conform(arguments) => conform::main(&arguments, format),
        Command::Run(arguments) => run::main(&arguments, format),
        Command::Catalog(arguments) => catalog::main(&arguments, format),
    };
    ExitCode::from(exit as u8)
}

/// Writes a result. A reader that has gone away has seen enough.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes a complaint: a sentence on standard error.
fn complain(sentence: &str) {
    let sentence = one_line(sentence);
    drop(writeln!(io::stderr().lock(), "prestep: {sentence}"));
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
