//! Whatever line a session file holds, reading and printing gives back the same JSON value.
//!
//! Not here: what the types mean.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use prestep::event::Line;
use serde_json::Value;

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

/// Every line of the recorded files, with where it stands.
fn recorded_lines() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for file in recorded_files() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for (at, line) in text.lines().enumerate() {
            lines.push((format!("{name}:{}", at + 1), line.to_owned()));
        }
    }
    lines
}

/// What a line prints as; fails where a member is printed twice.
fn printed(line: &Line) -> Value {
    let text = serde_json::to_string(line).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.len(), value.to_string().len(), "printed twice: {text}");
    value
}

#[test]
fn every_recorded_line_prints_back() {
    for (place, text) in recorded_lines() {
        let line = Line::parse(&text).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(printed(&line), value, "{place}");
    }
}
