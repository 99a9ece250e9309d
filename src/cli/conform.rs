//! `prestep conform`: golden schedules on the built-in system.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use prestep::sim::conform::{Difference, Golden};
use prestep::sim::repairs::{CutDifference, GoldenRepairs};

use super::{Exit, Format, complain, print, print_json};

/// Example: prestep conform tests/golden/named.jsonl
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files of golden schedules or repairs, one a line.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// What all files came to.
#[derive(Debug, Default, Serialize)]
struct Summary {
    passed: usize,
    failed: usize,
    differences: Vec<Differs>,
    /// Lines and files that could not be judged.
    unusable: Vec<String>,
}

/// A schedule that differs, with its first difference.
#[derive(Debug, Serialize)]
struct Differs {
    file: String,
    line: usize,
    name: String,
    /// Where in the schedule, in words.
    at: String,
    expected: Option<Value>,
    observed: Option<Value>,
}

/// One line of a golden file.
enum Entry {
    Schedule(Box<Golden>),
    Repairs(Box<GoldenRepairs>),
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    let mut summary = Summary::default();
    for file in &arguments.files {
        judge_file(file, &mut summary);
    }
    match format {
        Format::Text => print(&text(&summary)),
        Format::Json => print_json(&summary),
    }
    match (summary.unusable.is_empty(), summary.failed) {
        (false, _) => Exit::Unusable,
        (true, 0) => Exit::Held,
        (true, _) => Exit::Broken,
    }
}

fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for differs in &summary.differences {
        let Differs {
            file,
            line,
            name,
            at,
            expected,
            observed,
        } = differs;
        let or_nothing = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "nothing".into(), Value::to_string)
        };
        let (expected, observed) = (or_nothing(expected), or_nothing(observed));
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{file}:{line}: {name}: {at}: expected {expected}, observed {observed}"
        );
    }
    let _ = writeln!(text, "{} passed, {} failed", summary.passed, summary.failed);
    text
}

impl Summary {
    fn complain(&mut self, sentence: String) {
        complain(&sentence);
        self.unusable.push(sentence);
    }
}

fn judge_file(path: &Path, summary: &mut Summary) {
    let file = path.display();
    let opened = match File::open(path) {
        Ok(opened) => opened,
        Err(error) => return summary.complain(format!("{file}: cannot be read: {error}")),
    };
    let mut names = BTreeMap::new();
    for (line, text) in (1..).zip(BufReader::new(opened).lines()) {
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                return summary.complain(format!("{file}:{line}: cannot be read: {error}"));
            }
        };
        if text.trim().is_empty() {
            continue;
        }
        let judged = read(&text).and_then(|entry| {
            let name = entry.name().to_owned();
            if let Some(first) = names.insert(name.clone(), line) {
                return Err(format!("\"{name}\" is the name of line {first} already"));
            }
            judge(&entry).map(|differs| (name, differs))
        });
        match judged {
            Err(words) => summary.complain(format!("{file}:{line}: {words}")),
            Ok((_, None)) => summary.passed += 1,
            Ok((name, Some((at, expected, observed)))) => {
                let file = file.to_string();
                summary.failed += 1;
                summary.differences.push(Differs {
                    file,
                    line,
                    name,
                    at,
                    expected,
                    observed,
                });
            }
        }
    }
    if names.is_empty() && summary.unusable.is_empty() {
        summary.complain(format!("{file}: holds no schedule"));
    }
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Schedule(golden) => &golden.name,
            Self::Repairs(repairs) => &repairs.name,
        }
    }
}

fn read(text: &str) -> Result<Entry, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        format!(
            "is not JSON at column {}: {}",
            error.column(),
            without_place(&error)
        )
    })?;
    let unfit = |error: serde_json::Error| format!("is no golden schedule: {error}");
    if value.get("cuts").is_some() {
        serde_json::from_value(value).map(|repairs| Entry::Repairs(Box::new(repairs)))
    } else {
        serde_json::from_value(value).map(|golden| Entry::Schedule(Box::new(golden)))
    }
    .map_err(unfit)
}

/// The words of a JSON error; its place is that of the line.
fn without_place(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words
        .rsplit_once(" at line ")
        .map_or(words.clone(), |(words, _)| words.into())
}

type Judged = Option<(String, Option<Value>, Option<Value>)>;

fn judge(entry: &Entry) -> Result<Judged, String> {
    match entry {
        Entry::Schedule(golden) => {
            let difference = golden.compare().map_err(|error| error.to_string())?;
            Ok(difference.map(
                |Difference {
                     action,
                     place,
                     expected,
                     observed,
                 }| {
                    let at = match action {
                        Some((act, name)) => format!("act {act} ({name}), observation {place}"),
                        None => "at the end".into(),
                    };
                    (at, expected, observed)
                },
            ))
        }
        Entry::Repairs(repairs) => Ok(repairs.compare().map(
            |CutDifference {
                 at,
                 what,
                 expected,
                 derived,
             }| {
                (
                    format!("cut at {at}, {what}"),
                    Some(expected),
                    Some(derived),
                )
            },
        )),
    }
}
