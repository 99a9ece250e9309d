//! `prestep conform`: golden schedules on the built-in system.
//!
//! Not here: comparing (`sim::conform`, `sim::repairs`).

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use prestep::sim::conform::{Difference, Golden};
use prestep::sim::repairs::{CutDifference, GoldenRepairs};

use super::{Exit, Format, complain, one_line, print, print_json};

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

/// A schedule that differs.
#[derive(Debug, Serialize)]
struct Differs {
    file: String,
    line: usize,
    name: String,
    #[serde(flatten)]
    difference: FirstDifference,
}

/// Where a schedule differs first, and how.
#[derive(Debug, Serialize)]
struct FirstDifference {
    /// Where in the schedule, in words.
    at: String,
    /// `None` where nothing more was expected.
    expected: Option<Value>,
    /// `None` where nothing more was observed.
    observed: Option<Value>,
}

/// Where a line stands.
struct Place<'a> {
    file: &'a str,
    /// From 1.
    line: usize,
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
        text.push_str(&one_line(&differs.to_string()));
        text.push('\n');
    }
    // Writing to a text does not fail.
    let _ = writeln!(text, "{} passed, {} failed", summary.passed, summary.failed);
    text
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file, line, name, ..
        } = self;
        let at = &self.difference.at;
        let expected = or_nothing(self.difference.expected.as_ref());
        let observed = or_nothing(self.difference.observed.as_ref());
        write!(
            f,
            "{file}:{line}: {name}: {at}: expected {expected}, observed {observed}"
        )
    }
}

fn or_nothing(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".into(), Value::to_string)
}

impl Summary {
    fn complain(&mut self, sentence: String) {
        complain(&sentence);
        self.unusable.push(sentence);
    }
}

/// Judges every line of a file; what cannot be judged is told, and the rest goes on.
fn judge_file(path: &Path, summary: &mut Summary) {
    let file = path.display().to_string();
    let content = match fs::read(path) {
        Ok(content) => content,
        Err(error) => return summary.complain(format!("{file}: cannot be read: {error}")),
    };
    let mut names = BTreeMap::new();
    let lines = (1..).zip(content.split(|byte| *byte == b'\n'));
    for (line, text) in lines.filter(|(_, text)| !text.trim_ascii().is_empty()) {
        let place = Place { file: &file, line };
        if let Err(words) = judge_line(&place, text, &mut names, summary) {
            summary.complain(format!("{file}:{line}: {words}"));
        }
    }
    if content.trim_ascii().is_empty() {
        summary.complain(format!("{file}: holds no schedule"));
    }
}

fn judge_line(
    place: &Place<'_>,
    text: &[u8],
    names: &mut BTreeMap<String, usize>,
    summary: &mut Summary,
) -> Result<(), String> {
    let entry = read(text)?;
    let name = entry.name().to_owned();
    if let Some(first) = names.get(&name) {
        return Err(format!("{name:?} is the name of line {first} already"));
    }
    names.insert(name.clone(), place.line);
    match judge(&entry)? {
        None => summary.passed += 1,
        Some(difference) => {
            summary.failed += 1;
            summary.differences.push(Differs {
                file: place.file.into(),
                line: place.line,
                name,
                difference,
            });
        }
    }
    Ok(())
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Schedule(golden) => &golden.name,
            Self::Repairs(repairs) => &repairs.name,
        }
    }
}

fn read(text: &[u8]) -> Result<Entry, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("is not UTF-8: {error}"))?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let words = without_place(&error);
        format!("is not JSON at column {}: {words}", error.column())
    })?;
    let entry = if value.get("cuts").is_some() {
        serde_json::from_value(value).map(|repairs| Entry::Repairs(Box::new(repairs)))
    } else {
        serde_json::from_value(value).map(|golden| Entry::Schedule(Box::new(golden)))
    };
    entry.map_err(|error| format!("is no golden schedule: {error}"))
}

/// The words of a JSON error; its place is that of the line.
fn without_place(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match words.rsplit_once(" at line ") {
        Some((words, _)) => words.into(),
        None => words,
    }
}

fn judge(entry: &Entry) -> Result<Option<FirstDifference>, String> {
    match entry {
        Entry::Schedule(golden) => {
            let difference = golden.compare().map_err(|error| error.to_string())?;
            Ok(difference.map(FirstDifference::from))
        }
        Entry::Repairs(repairs) => Ok(repairs.compare().map(FirstDifference::from)),
    }
}

impl From<Difference> for FirstDifference {
    fn from(difference: Difference) -> Self {
        let place = difference.place;
        let at = match difference.action {
            Some((act, name)) => format!("act {act} ({name}), observation {place}"),
            None => "at the end".into(),
        };
        Self {
            at,
            expected: difference.expected,
            observed: difference.observed,
        }
    }
}

impl From<CutDifference> for FirstDifference {
    fn from(difference: CutDifference) -> Self {
        Self {
            at: format!("cut at {}, {}", difference.at, difference.what),
            expected: Some(difference.expected),
            observed: Some(difference.derived),
        }
    }
}
