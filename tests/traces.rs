//! Saved traces: they replay strictly, to the same records and the same verdict.
//!
//! `traces/regressions` holds runs in which every rule must hold, the named golden schedules among
//! them; `traces/violations` holds runs that break the rule in their name, recorded from a defect.
//! Not here: what single rules mean.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;

/// The traces of one folder, by name; none where there is no such folder.
fn traces(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("traces")
        .join(folder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut traces: Vec<_> = entries.map(|entry| entry.path()).collect();
    traces.sort();
    traces
}

#[test]
fn every_regression_replays_and_holds() {
    let regressions = traces("regressions");
    assert!(
        regressions.len() >= 83,
        "the named golden schedules are among them"
    );
    let output = cargo_bin_cmd!("prestep")
        .arg("replay")
        .args(&regressions)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let astray: Vec<&str> = printed
        .lines()
        .filter(|line| !line.ends_with("all rules held"))
        .collect();
    assert_eq!(astray, Vec::<&str>::new());
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_changed_record_is_a_divergence_with_both_sides() {
    let trace = traces("regressions")
        .into_iter()
        .find(|path| path.ends_with("tool-fails.jsonl"));
    let text = fs::read_to_string(trace.unwrap()).unwrap();
    let changed = text.replacen("\"turn\":1,\"step\":1", "\"turn\":1,\"step\":2", 1);
    assert_ne!(changed, text);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.jsonl");
    fs::write(&path, changed).unwrap();
    let output = cargo_bin_cmd!("prestep")
        .arg("replay")
        .arg(&path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(": diverged: record "), "{printed}");
    assert!(
        printed.contains("saved {") && printed.contains(", now {"),
        "{printed}"
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_is_no_trace_is_a_sentence_and_the_others_are_replayed() {
    let good = traces("regressions").swap_remove(0);
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.jsonl");
    fs::write(&bad, "{\"trace\":1}\n").unwrap();
    let output = cargo_bin_cmd!("prestep")
        .arg("replay")
        .arg(&bad)
        .arg(&good)
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("bad.jsonl: it ends before its verdict"),
        "{complaint}"
    );
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("all rules held")
    );
    assert_eq!(output.status.code(), Some(2));
}
