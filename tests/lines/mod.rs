//! Lines of session files to test with.
//!
//! Not here: what they are tested for.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use prestep::event::{Body, Line, Row};

/// Lines of our own, at least one of every type, each in a form that its type fits.
pub(crate) const TYPED: &str = include_str!("typed.jsonl");

/// Whether a line has a type of its own here.
pub(crate) fn is_typed(line: &Line) -> bool {
    let unread = |row: &Row| matches!(row.body, Body::Unread(_));
    !matches!(line, Line::Event(row) if unread(row))
}

/// The session files beside the project, or none.
fn recorded_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/logs");
    let mut files: Vec<_> = [folder.join("versions"), folder]
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    if files.is_empty() {
        println!("left out: no recorded session files beside the project");
    }
    files
}

/// Every line of the recorded files, file by file, with where it stands.
pub(crate) fn recorded() -> Vec<Vec<(String, String)>> {
    let lines = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let place = |(at, line): (usize, &str)| (format!("{name}:{}", at + 1), line.to_owned());
        text.lines().enumerate().map(place).collect()
    };
    recorded_files().iter().map(lines).collect()
}
