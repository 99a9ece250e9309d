//! The file of a run: enough to run it again and to see that nothing changed.
//!
//! JSON Lines, in this order (one line each, `…` repeats):
//!
//! ```text
//! trace    = head choices record… verdict
//! head     = {"trace": 1, "note": text, "seed": number or null, "scenario": Scenario}
//! choices  = {"choices": [[point, picked, bound], …]}
//! record   = Record                                  (see event::Record)
//! verdict  = {"verdict": {"violations": [{"rule": name, "at": place, "witnesses": [place, …],
//!             "words": text}, …], "pending": text or null}}
//! point    = "next" | "outcome" | "op" | "message" | "target" | "coordinate" | "cause" | "flag"
//!          | "count" | "trigger"
//! ```
//!
//! A place is the number of a record, from 0. The choices and the scenario are the truth of the
//! run; records and verdict are what they led to when the trace was saved. Not here: running it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::event::Record;
use crate::sim::chooser::{Choice, ChoicePoint};
use crate::sim::judged::Judged;
use crate::sim::scenario::Scenario;

/// The version of the format that is written; no other is read.
pub const VERSION: u32 = 1;

/// A saved run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What a reader should know: what was wrong, where it comes from. May be empty.
    pub note: String,
    /// The seed that the run was found with, if any.
    pub seed: Option<u64>,
    /// What was fixed.
    pub scenario: Scenario,
    /// What was chosen.
    pub choices: Vec<Choice>,
    /// What was observed.
    pub records: Vec<Record>,
    /// What the rules said.
    pub violations: Vec<SavedViolation>,
    /// Why the run was not at rest, in words, if it was not.
    pub pending: Option<String>,
}

/// A violation as a trace holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedViolation {
    /// Name of the rule.
    pub rule: String,
    /// Place of the record that breaks it.
    pub at: u64,
    /// Places of the records that prove it.
    pub witnesses: Vec<u64>,
    /// What was found, in words.
    pub words: String,
}

/// Why a trace cannot be read or written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is not what the grammar has there.
    #[error("line {line}: {words}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        words: String,
    },
    /// Its version is not known here.
    #[error("line 1: trace version {found}; this program reads version {VERSION}")]
    Version {
        /// The version.
        found: u64,
    },
    /// It ends before its verdict.
    #[error("it ends before its verdict, after {lines} lines")]
    Torn {
        /// How many lines there are.
        lines: usize,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    trace: u64,
    note: String,
    seed: Option<u64>,
    scenario: Scenario,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choices {
    choices: Vec<(ChoicePoint, u32, u32)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictLine {
    verdict: VerdictBody,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictBody {
    violations: Vec<SavedViolation>,
    pending: Option<String>,
}

impl Trace {
    /// The trace of a judged run.
    #[must_use]
    pub fn of(judged: &Judged, scenario: &Scenario, seed: Option<u64>, note: String) -> Self {
        let violations = judged
            .verdict
            .violations
            .iter()
            .map(|found| SavedViolation {
                rule: found.rule.about().name.into(),
                at: found.at.0,
                witnesses: found.witnesses.iter().map(|mark| mark.0).collect(),
                words: found.words.clone(),
            });
        Self {
            note,
            seed,
            scenario: scenario.clone(),
            choices: judged.run.choices.clone(),
            records: judged.run.records.clone(),
            violations: violations.collect(),
            pending: judged.run.pending.as_ref().map(ToString::to_string),
        }
    }

    /// Prints the whole file.
    #[must_use]
    pub fn print(&self) -> String {
        let head = Head {
            trace: u64::from(VERSION),
            note: self.note.clone(),
            seed: self.seed,
            scenario: self.scenario.clone(),
        };
        let choices = self
            .choices
            .iter()
            .map(|choice| (choice.point, choice.picked, choice.bound));
        let choices = Choices {
            choices: choices.collect(),
        };
        let verdict = VerdictLine {
            verdict: VerdictBody {
                violations: self.violations.clone(),
                pending: self.pending.clone(),
            },
        };
        let mut text = String::new();
        line(&mut text, &head);
        line(&mut text, &choices);
        self.records
            .iter()
            .for_each(|record| line(&mut text, record));
        line(&mut text, &verdict);
        text
    }

    /// Reads what [`Trace::print`] printed.
    ///
    /// # Errors
    /// See [`TraceError`]; never [`TraceError::Io`].
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let lines: Vec<&str> = text.lines().collect();
        let [head, choices, records @ .., verdict] = lines.as_slice() else {
            return Err(TraceError::Torn { lines: lines.len() });
        };
        let head = read_head(head)?;
        let choices: Choices = read(2, choices)?;
        let choices = choices.choices.into_iter();
        let records = (3..).zip(records).map(|(at, record)| read(at, record));
        let records = records.collect::<Result<_, _>>()?;
        let verdict: VerdictLine =
            read(lines.len(), verdict).map_err(|_| TraceError::Torn { lines: lines.len() })?;
        Ok(Self {
            note: head.note,
            seed: head.seed,
            scenario: head.scenario,
            choices: choices
                .map(|(point, picked, bound)| Choice {
                    point,
                    picked,
                    bound,
                })
                .collect(),
            records,
            violations: verdict.verdict.violations,
            pending: verdict.verdict.pending,
        })
    }

    /// Whether a text begins as a trace does.
    #[must_use]
    pub fn is_trace(text: &str) -> bool {
        text.starts_with("{\"trace\":")
    }

    /// Saves the trace, whole or not at all: it is written beside its place and then renamed.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), TraceError> {
        // A device or a folder is not to be replaced by a file.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let words = format!("{} is no ordinary file", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, words).into());
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let mut file = fs::File::create(&beside)?;
        file.write_all(self.print().as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        Ok(())
    }

    /// Loads a trace.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        Self::parse(&fs::read_to_string(path)?)
    }
}

fn line(text: &mut String, value: &impl Serialize) {
    // A value of these types always prints.
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
    text.push('\n');
}

fn read<'a, T: Deserialize<'a>>(line: usize, text: &'a str) -> Result<T, TraceError> {
    serde_json::from_str(text).map_err(|error| TraceError::Line {
        line,
        words: error.to_string(),
    })
}

fn read_head(text: &str) -> Result<Head, TraceError> {
    /// The version alone, which says whether the rest can be read.
    #[derive(Deserialize)]
    struct Version {
        trace: u64,
    }
    let Version { trace } = read(1, text)?;
    if trace != u64::from(VERSION) {
        return Err(TraceError::Version { found: trace });
    }
    read(1, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::chooser::{Random, Seed};

    fn trace(seed: u64) -> Trace {
        let scenario = Scenario::default();
        let judged = Judged::run(Random::new(Seed(seed)), &scenario);
        Trace::of(&judged, &scenario, Some(seed), "a note".into())
    }

    #[test]
    fn a_trace_is_read_back_as_it_was_printed() {
        for seed in 0..50 {
            let trace = trace(seed);
            assert_eq!(Trace::parse(&trace.print()).unwrap(), trace, "seed {seed}");
        }
    }

    #[test]
    fn a_trace_cut_anywhere_is_refused_with_a_sentence() {
        let text = trace(7).print();
        for end in (0..text.len() - 1).filter(|end| text.is_char_boundary(*end)) {
            assert!(Trace::parse(&text[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let text = trace(7).print().replacen("\"trace\":1", "\"trace\":2", 1);
        let error = Trace::parse(&text).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 1: trace version 2; this program reads version 1"
        );
    }
}
