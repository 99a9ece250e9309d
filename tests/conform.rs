//! `prestep conform` as a user meets it: what passes, what differs, and what cannot be judged.
//!
//! Not here: what the schedules show; the golden files say that themselves.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use prestep::sim::conform::Golden;
use prestep::sim::repairs::GoldenRepairs;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What a call came to.
struct Called {
    exit: i32,
    out: String,
    complaints: String,
}

fn conform<P: AsRef<Path>>(files: impl IntoIterator<Item = P>, more: &[&str]) -> Called {
    let files = files.into_iter().map(|file| file.as_ref().to_owned());
    let output = cargo_bin_cmd!("prestep")
        .arg("conform")
        .args(files)
        .args(more)
        .output()
        .unwrap();
    Called {
        exit: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        complaints: String::from_utf8(output.stderr).unwrap(),
    }
}

fn golden(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/golden").join(name).with_extension("jsonl")
}

/// The named schedules, one a line.
fn named() -> Vec<String> {
    let text = fs::read_to_string(golden("named")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The first line of the named schedules, with a change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut schedule: Value = serde_json::from_str(&named()[0]).unwrap();
    change(&mut schedule);
    schedule.to_string()
}

/// A folder of its own with one file in it.
fn file(content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedules.jsonl");
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// Calls with a file whose second of three lines is this one; both others are schedules that pass.
fn with_second_line(line: impl AsRef<[u8]>) -> (String, Called) {
    let named = named();
    let lines = [named[1].as_bytes(), line.as_ref(), named[2].as_bytes()];
    let (_folder, path) = file(lines.join(&b'\n'));
    let called = conform([&path], &[]);
    (format!("{}:2", path.display()), called)
}

/// The second line is complained of in one sentence that begins so; both others are judged.
#[track_caller]
fn refuses(line: impl AsRef<[u8]>, words: &str) {
    let (place, called) = with_second_line(line);
    let sentence = called.complaints;
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    let begin = format!("prestep: {place}: {words}");
    assert!(sentence.starts_with(&begin), "{sentence}\nis not\n{begin}");
    assert_eq!(called.out, "2 passed, 0 failed\n");
    assert_eq!(called.exit, 2);
}

/// The second line differs, in one line that ends so; both others pass.
#[track_caller]
fn differs(line: &str, words: &str) {
    let (place, called) = with_second_line(line);
    let shown = format!("{place}: inject-idle-waits-for-a-wake: {words}\n2 passed, 1 failed\n");
    assert_eq!(called.out, shown);
    assert_eq!(called.complaints, "");
    assert_eq!(called.exit, 1);
}

#[test]
fn every_golden_schedule_and_repair_passes() {
    let files = ["named", "walks", "resumed", "repairs"].map(golden);
    let called = conform(files, &[]);
    assert_eq!(called.out, "632 passed, 0 failed\n");
    assert_eq!(called.complaints, "");
    assert_eq!(called.exit, 0);
}

#[test]
fn what_was_measured_on_the_reference_since_is_observed_as_well() {
    let called = conform([golden("measured")], &[]);
    assert_eq!(called.out, "16 passed, 0 failed\n");
}

#[test]
fn an_altered_observation_is_shown_with_what_was_observed() {
    let line = changed(|schedule| schedule["observations"][0][2]["id"] = json!("b"));
    differs(
        &line,
        "act 1 (inject), observation 3: expected {\"id\":\"b\",\"live\":\"inserted\"}, \
         observed {\"id\":\"a\",\"live\":\"inserted\"}",
    );
}

#[test]
fn an_observation_too_many_is_expected_and_not_observed() {
    let line = changed(|schedule| {
        let list = schedule["observations"][0].as_array_mut().unwrap();
        list.push(json!({ "idle": 1 }));
    });
    differs(
        &line,
        "act 1 (inject), observation 4: expected {\"idle\":1}, observed nothing",
    );
}

#[test]
fn an_observation_left_out_is_observed_and_not_expected() {
    let line = changed(|schedule| {
        let list = schedule["observations"][0].as_array_mut().unwrap();
        list.pop();
    });
    differs(
        &line,
        "act 1 (inject), observation 3: expected nothing, \
         observed {\"id\":\"a\",\"live\":\"inserted\"}",
    );
}

#[test]
fn another_end_is_a_difference() {
    let line = changed(|schedule| schedule["end"]["gates"] = json!(["model"]));
    differs(
        &line,
        "at the end: expected \
         {\"gates\":[\"model\"],\"next-step\":[],\"next-turn\":[],\"status\":\"idle\"}, observed \
         {\"gates\":[],\"next-step\":[],\"next-turn\":[],\"status\":\"idle\"}",
    );
}

#[test]
fn another_closer_of_a_cut_is_a_difference() {
    let text = fs::read_to_string(golden("repairs")).unwrap();
    let mut repairs: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    repairs["cuts"][0]["consumed"]["turn"] = json!(9);
    let name = repairs["name"].as_str().unwrap().to_owned();
    let (place, called) = with_second_line(repairs.to_string());
    let shown = format!(
        "{place}: {name}: cut at 0, consumed: expected {{\"droppedUnrun\":false,\"turn\":9}}, \
         observed {{\"droppedUnrun\":false,\"turn\":null}}\n2 passed, 1 failed\n"
    );
    assert_eq!((called.out, called.exit), (shown, 1));
}

#[test]
fn in_json_a_difference_has_its_place_and_both_sides() {
    let line = changed(|schedule| schedule["observations"][0][2]["id"] = json!("b"));
    let (_folder, path) = file(line);
    let called = conform([&path], &["--format", "json"]);
    let shown: Value = serde_json::from_str(&called.out).unwrap();
    let difference = json!({
        "file": path,
        "line": 1,
        "name": "inject-idle-waits-for-a-wake",
        "at": "act 1 (inject), observation 3",
        "expected": { "live": "inserted", "id": "b" },
        "observed": { "live": "inserted", "id": "a" },
    });
    let summary = json!({ "passed": 0, "failed": 1, "differences": [difference], "unusable": [] });
    assert_eq!((shown, called.exit), (summary, 1));
}

#[test]
fn in_json_what_cannot_be_judged_is_listed() {
    let (_folder, path) = file("{\n");
    let called = conform([&path], &["--format", "json"]);
    let shown: Value = serde_json::from_str(&called.out).unwrap();
    let sentence = called.complaints.trim_end().strip_prefix("prestep: ");
    assert_eq!(shown["unusable"], json!([sentence]));
    assert_eq!(called.exit, 2);
}

/// The file is complained of in one sentence that begins so; the file named after it is judged.
#[track_caller]
fn refuses_file(path: &Path, words: &str) {
    let called = conform([path, &golden("named")], &[]);
    let begin = format!("prestep: {}: {words}", path.display());
    let sentence = called.complaints;
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    assert!(sentence.starts_with(&begin), "{sentence}\nis not\n{begin}");
    assert_eq!(called.out, "84 passed, 0 failed\n");
    assert_eq!(called.exit, 2);
}

#[test]
fn a_missing_file_cannot_be_read() {
    refuses_file(Path::new("no/such.jsonl"), "cannot be read: ");
}

#[test]
fn a_folder_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    refuses_file(folder.path(), "cannot be read: ");
}

#[test]
fn an_empty_file_holds_no_schedule() {
    let (_folder, path) = file("");
    refuses_file(&path, "holds no schedule");
}

#[test]
fn a_file_of_empty_lines_holds_no_schedule() {
    let (_folder, path) = file("\n \r\n\n");
    refuses_file(&path, "holds no schedule");
}

#[test]
fn every_unusable_file_of_a_call_is_complained_of() {
    let (_one, empty) = file("");
    let (_other, broken) = file("{");
    let called = conform([&broken, &empty, &empty], &[]);
    assert_eq!(
        called.complaints.lines().count(),
        3,
        "{}",
        called.complaints
    );
    assert_eq!(
        (called.out.as_str(), called.exit),
        ("0 passed, 0 failed\n", 2)
    );
}

#[test]
fn a_difference_beside_unusable_input_is_still_shown() {
    let line = changed(|schedule| schedule["end"] = json!(null));
    let (_folder, path) = file(format!("{line}\n{{"));
    let called = conform([&path], &[]);
    assert!(
        called.out.ends_with("0 passed, 1 failed\n"),
        "{}",
        called.out
    );
    assert_eq!(called.exit, 2);
}

#[test]
fn a_line_that_is_not_utf_8() {
    refuses(b"{\"name\":\"\xff\"}", "is not UTF-8: ");
}

#[test]
fn a_broken_line() {
    refuses("{\"name\":\"a\",", "is not JSON at column 12: EOF");
}

#[test]
fn a_line_of_deeply_nested_json() {
    let deep = "[".repeat(100_000);
    refuses(deep, "is not JSON at column 128: recursion limit exceeded");
}

#[test]
fn a_number_too_large_for_json() {
    let line = changed(|_| ()).replace("\"turn\":1", "\"turn\":1e999");
    refuses(line, "is not JSON at column ");
}

#[test]
fn a_number_too_large_for_its_place() {
    let line = changed(|schedule| schedule["maxParallel"] = json!(1e300));
    refuses(line, "is no golden schedule: invalid type: floating point");
}

#[test]
fn json_that_is_no_schedule() {
    refuses("[]", "is no golden schedule: ");
    refuses("7", "is no golden schedule: ");
    refuses("{}", "is no golden schedule: missing field `name`");
}

#[test]
fn an_unknown_member() {
    let line = changed(|schedule| schedule["listner"] = json!("p"));
    refuses(line, "is no golden schedule: unknown field `listner`");
}

#[test]
fn an_unknown_op_is_named_with_its_action() {
    let line = changed(|schedule| schedule["actions"][1]["op"] = json!("shout"));
    let words = "is no golden schedule: action 2: unknown variant `shout`, expected one of";
    refuses(line, words);
}

#[test]
fn an_unknown_op_of_a_reaction_is_named_with_its_reaction() {
    let reaction = json!({ "on": { "event": "turn/start" }, "do": { "op": "shout" } });
    let line = changed(|schedule| schedule["reactions"] = json!([reaction]));
    refuses(
        line,
        "is no golden schedule: reaction 1: unknown variant `shout`",
    );
}

#[test]
fn an_unknown_outcome_is_named_with_its_action() {
    let line = changed(|schedule| schedule["actions"][2]["do"] = json!({ "shrug": true }));
    refuses(
        line,
        "is no golden schedule: action 3: unknown field `shrug`",
    );
}

#[test]
fn an_outcome_that_its_gate_cannot_have() {
    let line = changed(|schedule| schedule["actions"][3]["do"] = json!({ "retry": true }));
    refuses(
        line,
        "is no golden schedule: action 4: gate \"model\" cannot end as",
    );
}

#[test]
fn an_unknown_gate() {
    let line = changed(|schedule| schedule["actions"][3]["gate"] = json!("modal"));
    refuses(
        line,
        "is no golden schedule: action 4: no gate is named \"modal\"",
    );
}

#[test]
fn a_release_of_a_gate_that_is_not_held() {
    let line = changed(|schedule| schedule["actions"][2]["gate"] = json!("model"));
    let words = "action 3 releases gate \"model\", which is not held; held: p:in\n";
    refuses(line, words);
}

#[test]
fn a_release_while_no_gate_is_held() {
    let release = json!({ "op": "release", "gate": "model", "do": {} });
    let line = changed(|schedule| schedule["actions"][0] = release);
    let words = "action 1 releases gate \"model\", which is not held; no gate is\n";
    refuses(line, words);
}

#[test]
fn a_release_that_is_expected_to_be_refused_passes() {
    let release = json!({ "op": "release", "gate": "model", "do": {} });
    let refused = json!([{ "refused": "no-gate", "gate": "model" }]);
    let line = changed(|schedule| {
        schedule["actions"]
            .as_array_mut()
            .unwrap()
            .insert(0, release);
        let observations = schedule["observations"].as_array_mut().unwrap();
        observations.insert(0, refused);
    });
    let (_, called) = with_second_line(line);
    assert_eq!(
        (called.out.as_str(), called.exit),
        ("3 passed, 0 failed\n", 0)
    );
}

#[test]
fn a_name_that_is_taken() {
    refuses(
        &named()[1],
        "\"steer-idle-opens-a-turn\" is the name of line 1 already\n",
    );
}

#[test]
fn a_listener_that_is_named_twice() {
    let line = changed(|schedule| schedule["listeners"] = json!(["p", "q", "p"]));
    refuses(line, "listener \"p\" is named twice\n");
}

#[test]
fn more_actions_than_lists_of_observations() {
    let line = changed(|schedule| {
        schedule["observations"].as_array_mut().unwrap().pop();
    });
    refuses(line, "5 actions, but 4 lists of observations\n");
}

#[test]
fn no_parallel_call_at_all() {
    let line = changed(|schedule| schedule["maxParallel"] = json!(0));
    refuses(line, "is no golden schedule: invalid value: integer `0`");
}

#[test]
fn a_seed_that_is_no_log() {
    let line = changed(|schedule| schedule["seed"] = json!([{ "type": 7 }]));
    refuses(line, "is no golden schedule: seed event 1: ");
}

#[test]
fn a_seed_that_cannot_be_continued() {
    let splice = json!({ "target": "next-turn", "start": 3, "removedCount": 1, "inserted": [] });
    let event = json!({ "seq": 0, "time": 0, "type": "agent/inbox/spliced", "data": splice });
    let line = changed(|schedule| schedule["seed"] = json!([event]));
    refuses(line, "its seed cannot be continued: ");
}

#[test]
fn a_seed_that_holds_the_last_turn_number_is_judged() {
    let start = json!({ "type": "turn/start", "seq": 0, "time": 0, "data": { "turn": u32::MAX } });
    let line = changed(|schedule| schedule["seed"] = json!([start]));
    let (_, called) = with_second_line(line);
    assert!(
        called.out.ends_with("2 passed, 1 failed\n"),
        "{}",
        called.out
    );
}

#[test]
fn a_name_that_would_break_the_line_is_shown_on_one() {
    let line = changed(|schedule| {
        schedule["name"] = json!("two\nlines\u{1b}[31m");
        schedule["end"] = json!(null);
    });
    let (place, called) = with_second_line(line);
    let begin = format!("{place}: two\\nlines\\u{{1b}}[31m: at the end: ");
    assert!(called.out.starts_with(&begin), "{}", called.out);
    assert_eq!(called.out.lines().count(), 2);
}

#[test]
fn a_complaint_about_words_that_would_break_the_line_is_one_sentence() {
    let line = changed(|schedule| schedule["actions"][0]["op"] = json!("a\nb"));
    refuses(
        line,
        "is no golden schedule: action 1: unknown variant `a\\nb`",
    );
}

/// Every node of a JSON value, as a pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(list) => {
            for (index, member) in list.iter().enumerate() {
                pointers(member, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(map) => {
            for (name, member) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(member, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Values that stand where they were not meant.
fn odd() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(u32::MAX),
        json!(1e300),
        json!(""),
        json!("m1"),
        json!("model"),
        json!("p:in"),
        json!([]),
        json!([[]]),
        json!(["m1", "m1"]),
        json!({}),
        json!({ "op": "dispose" }),
        json!({ "op": "maintenance" }),
        json!({ "op": "followup", "id": "m1" }),
    ]
}

/// Does what the command does with a line. What it answers is not of interest, only that it does.
fn judge(line: Value) {
    if line.get("cuts").is_some() {
        if let Ok(repairs) = serde_json::from_value::<GoldenRepairs>(line) {
            drop(repairs.compare());
        }
    } else if let Ok(golden) = serde_json::from_value::<Golden>(line) {
        drop(golden.compare());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands wherever in a line, it is judged or refused, and nothing panics.
    #[test]
    fn a_line_with_anything_anywhere_gets_an_answer(
        name in select(vec!["named", "resumed", "repairs"]),
        line in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), select(odd())), 1..4),
    ) {
        let text = fs::read_to_string(golden(name)).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let mut schedule: Value = serde_json::from_str(lines[line.index(lines.len())]).unwrap();
        for (place, value) in changes {
            let mut found = Vec::new();
            pointers(&schedule, "", &mut found);
            *schedule.pointer_mut(&found[place.index(found.len())]).unwrap() = value;
        }
        judge(schedule);
    }
}
