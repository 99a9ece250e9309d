//! `prestep fuzz` as a user meets it.
//!
//! Not here: what the rules find (their own tests do).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

fn summary(arguments: &[&str]) -> Value {
    let output = cargo_bin_cmd!("prestep").args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_campaign_over_the_unchanged_agent_holds_whatever_the_number_of_workers() {
    let one = summary(&[
        "fuzz", "--seeds", "0..400", "--jobs", "1", "--format", "json",
    ]);
    let two = summary(&[
        "fuzz", "--seeds", "0..400", "--jobs", "2", "--format", "json",
    ]);
    assert_eq!(one, two);
    assert_eq!(one["runs"], 400);
    assert_eq!(one["findings"], Value::Array(Vec::new()));
}

#[test]
fn a_scenario_fixes_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("scenario.json");
    let fixed = r#"{ "listeners": ["only"], "producers": [
        { "name": "user", "ops": [{ "op": "followup", "id": "a" }] } ], "reactions": [] }"#;
    fs::write(&scenario, fixed).unwrap();
    let scenario = scenario.to_str().unwrap();
    let run = summary(&[
        "run",
        "--seed",
        "5",
        "--scenario",
        scenario,
        "--format",
        "json",
    ]);
    assert_eq!(run["listeners"], serde_json::json!(["only"]));
    let acts: Vec<_> = run["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r.get("act").is_some())
        .collect();
    assert_eq!(acts.len(), 1);
}

#[test]
fn bad_bounds_and_scenarios_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.json");
    fs::write(&path, r#"{ "listener": [] }"#).unwrap();
    let path = path.to_str().unwrap();
    for (arguments, words) in [
        (["--seeds", "9..3"], "has to be smaller"),
        (["--seeds", "many"], "A..B"),
        (["--time", "soon"], "in seconds"),
        (
            ["--scenario", path],
            "is no scenario: unknown field `listener`",
        ),
        (["--scenario", "/nowhere/at/all"], "cannot be read"),
    ] {
        let output = cargo_bin_cmd!("prestep")
            .arg("fuzz")
            .args(arguments)
            .output()
            .unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains(words), "{complaint}");
        assert_eq!(output.status.code(), Some(2));
    }
}
