//! Whatever line a session file holds, reading and printing gives back the same JSON value.
//!
//! Not here: what the types mean; how single types read (unit tests beside them).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod lines;

use std::collections::{BTreeMap, BTreeSet};

use lines::{TYPED, is_typed, recorded};
use prestep::event::{Body, Event, Lasting, Line, LineError, Row, catalog};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Lines of forms that no type fits, or that carry more than a type knows.
const ODD: &[&str] = &[
    // Members that nobody knows, at each level.
    r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"weather":"rain"}"#,
    r#"{"type":"turn/start","data":{"turn":1,"trigger":{"kind":"message"}}}"#,
    r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed","late":true}}}"#,
    r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"error","error":{"message":"m","code":"c","x":{}}}}}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"user","content":[{"type":"text","text":"t","x":1}],"source":{"kind":"user","x":1},"x":1},"surfaceOp":"append"}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"user","content":[],"source":{"kind":"user"}},"surfaceOp":{"op":"replace","start":1,"end":2,"x":3}}"#,
    r#"{"type":"session","version":0,"weather":{"wind":"west"}}"#,
    r#"{"type":"text-chunks","x":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"],"x":1}}"#,
    // Wrong types.
    r#"{"type":"turn/start","seq":"0","time":-1,"data":{"turn":1}}"#,
    r#"{"type":"turn/start","seq":1.0,"time":1e3,"data":{"turn":1}}"#,
    r#"{"type":"turn/start","data":{"turn":"1"}}"#,
    r#"{"type":"turn/start","data":{"turn":1.0}}"#,
    r#"{"type":"turn/start","data":[1]}"#,
    r#"{"type":"turn/end","data":{"turn":1,"reason":"completed"}}"#,
    r#"{"type":"turn/end","data":{"turn":1,"reason":{"kind":"aborted"}}}"#,
    r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":"text"}}"#,
    r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":-1}}}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"assistant","content":[],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    r#"{"type":"tool/result","data":{"turn":1,"step":1,"message":{"id":"m","role":["tool"],"content":[],"source":5}},"surfaceOp":"append"}"#,
    r#"{"type":"session","version":"new","id":7,"createdAt":1.5,"seedLength":-1,"isSeeded":"yes"}"#,
    r#"{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[0.5],"texts":["a",1]}}"#,
    r#"{"type":"tool-call-chunks","data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}"#,
    // Members that are null, false or zero where they are left out.
    r#"{"type":"assistant/message","data":{"turn":1,"step":1,"message":{"id":"m","role":"assistant","content":[],"source":{"kind":"user"}},"usage":null},"surfaceOp":"append"}"#,
    r#"{"type":"assistant/message","data":{"turn":1,"step":1,"message":{"id":"m","role":"assistant","content":[],"source":{"kind":"user"}},"interrupted":false},"surfaceOp":"append"}"#,
    r#"{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"removedCount":0,"inserted":[]}}"#,
    r#"{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[{"role":"user","content":[],"source":{"kind":"user"}}]}}"#,
    r#"{"type":"compaction/start","data":{"compactionId":"z"}}"#,
    r#"{"type":"turn/start","seq":null,"time":null,"data":null,"ignorable":null}"#,
    r#"{"type":"text-chunks","seq0":null,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":[]}}"#,
    // Numbers at the edge.
    r#"{"type":"turn/start","seq":18446744073709551615,"time":18446744073709551616,"data":{"turn":4294967296}}"#,
    r#"{"type":"weather/report","data":{"a":-9223372036854775808,"b":1e308,"c":-0.0,"d":123456789012345678901234567890}}"#,
    r#"{"type":"hook/result","data":{"turn":1,"point":"Stop","handlerId":"h","decision":"pass","durationMs":0.1}}"#,
    // A member named twice: the last counts.
    r#"{"type":"turn/start","data":{"turn":1,"turn":2},"data":{"turn":3}}"#,
    r#"{"type":"turn/end","type":"turn/start","data":{"turn":1}}"#,
    // Data that is empty or missing.
    r#"{"type":"turn/start","data":{}}"#,
    r#"{"type":"turn/start"}"#,
    r#"{"type":"session/end-seed"}"#,
    r#"{"type":"session/end-seed","data":[]}"#,
    r#"{"type":"text-chunks"}"#,
    r#"{"type":"session"}"#,
    r#"{"type":""}"#,
    // Places on the surface where they do not belong, or missing where they do.
    r#"{"type":"turn/start","data":{"turn":1},"surfaceOp":"append","sourceEventSeqs":[1]}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"user","content":[],"source":{"kind":"user"}}}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"user","content":[],"source":{"kind":"user"}},"surfaceOp":null,"sourceEventSeqs":null}"#,
    r#"{"type":"user/message","data":{"id":"m","role":"user","content":[],"source":{"kind":"user"}},"surfaceOp":7,"sourceEventSeqs":[-1]}"#,
    // Marks of a reader that does not know the type.
    r#"{"type":"weather/report","data":{},"ignorable":true}"#,
    r#"{"type":"weather/report","data":{},"ignorable":"yes"}"#,
    r#"{"type":"plan/mode","data":{"active":true},"ignorable":true}"#,
    // Words and signs.
    r#"{"type":"weather/report","data":{"\u0000":"\ud83c\udf27","":"\"\\"}}"#,
];

/// What a line prints; fails where a member is printed twice.
fn printed(line: &Line) -> Value {
    let text = serde_json::to_string(line).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.len(), value.to_string().len(), "printed twice: {text}");
    value
}

fn assert_survives(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let line = Line::parse(text).unwrap();
    assert_eq!(printed(&line), value, "{text}");
    assert_eq!(Line::parse(&value.to_string()), Ok(line), "{text}");
}

#[test]
fn a_typed_line_prints_back() {
    TYPED.lines().for_each(assert_survives);
}

#[test]
fn a_typed_line_is_read_as_its_type() {
    for text in TYPED.lines() {
        assert!(is_typed(&Line::parse(text).unwrap()), "{text}");
    }
}

#[test]
fn every_durable_type_has_a_typed_line() {
    let mut missing: BTreeSet<String> = catalog()
        .into_iter()
        .filter(|entry| entry.lasting == Lasting::Durable)
        .map(|entry| entry.name)
        .collect();
    for text in TYPED.lines() {
        let value: Value = serde_json::from_str(text).unwrap();
        missing.remove(value["type"].as_str().unwrap());
    }
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn a_typed_line_without_its_data_is_kept_whole() {
    for text in TYPED.lines() {
        let mut value: Value = serde_json::from_str(text).unwrap();
        if value.as_object_mut().unwrap().remove("data").is_some() {
            let line = Line::from_value(value.clone()).unwrap();
            assert!(!is_typed(&line), "{value}");
            assert_eq!(printed(&line), value);
        }
    }
}

#[test]
fn a_typed_event_prints_back_at_its_place() {
    for text in TYPED.lines() {
        let Line::Event(row) = Line::parse(text).unwrap() else {
            continue;
        };
        let event = row.at(7);
        let printed = serde_json::to_value(&event).unwrap();
        let row = Row::from_value(printed).unwrap();
        assert_eq!(Event::from_row(row), Ok(event), "{text}");
    }
}

#[test]
fn the_types_that_make_a_message_have_a_place_on_the_surface() {
    for text in TYPED.lines() {
        if let Line::Event(row) = Line::parse(text).unwrap() {
            let has_place = row.body.surface().is_some();
            assert_eq!(has_place, Body::makes_message(row.body.kind()), "{text}");
        }
    }
}

#[test]
fn an_odd_line_prints_back() {
    ODD.iter().copied().for_each(assert_survives);
}

#[test]
fn what_is_no_line_says_why() {
    let why = |text: &str| Line::parse(text).unwrap_err().to_string();
    assert!(why("").starts_with("not JSON at column 0: "));
    assert!(why("{\"type\":").starts_with("not JSON at column 8: "));
    assert!(why("\u{0}\u{1}\u{fffd}").starts_with("not JSON at column 1: "));
    assert!(why("{\"type\":\"a\"} {}").starts_with("not JSON at column 14: "));
    assert!(why("{\"type\":\"a\",\"data\":1e400}").contains("number out of range"));
    assert_eq!(why("[]"), "not a JSON object");
    assert_eq!(why("null"), "not a JSON object");
    assert_eq!(why("{}"), "no `type`");
    assert_eq!(why("{\"type\":null}"), "`type` is not a text");
}

#[test]
fn a_line_nested_too_deep_is_refused() {
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("{{\"type\":\"weather/report\",\"data\":{open}{close}}}")
    };
    assert_survives(&deep(100));
    for depth in [128, 100_000] {
        let refused = Line::parse(&deep(depth));
        assert!(matches!(refused, Err(LineError::NotJson { .. })), "{depth}");
    }
}

#[test]
fn tool_results_nested_deep_are_read() {
    let mut block = json!({ "type": "text", "text": "core" });
    for _ in 0..50 {
        block = json!({ "type": "tool-result", "toolCallId": "c", "isError": false, "content": [block] });
    }
    let message =
        json!({ "id": "m", "role": "user", "content": [block], "source": { "kind": "user" } });
    let line = json!({ "type": "user/message", "data": message, "surfaceOp": "append" });
    assert_survives(&line.to_string());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_with_a_type_prints_back(kind in any_kind(), members in any_object(3)) {
        let mut members = members;
        members.insert("type".into(), kind.into());
        assert_survives(&Value::Object(members).to_string());
    }

    #[test]
    fn a_typed_line_prints_back_however_it_is_damaged(
        text in proptest::sample::select(TYPED.lines().collect::<Vec<_>>()),
        path in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        piece in any_json(2),
    ) {
        let mut value: Value = serde_json::from_str(text).unwrap();
        *at(&mut value, &path) = piece;
        if value["type"].is_string() {
            assert_survives(&value.to_string());
        }
    }

    #[test]
    fn any_text_is_a_line_or_refused(text in ".*") {
        let _ = Line::parse(&text);
    }
}

/// Walks into a value, by turns as the path says, as deep as it goes.
fn at<'a>(value: &'a mut Value, path: &[prop::sample::Index]) -> &'a mut Value {
    let size = value.as_object().map_or(0, Map::len) + value.as_array().map_or(0, Vec::len);
    let Some((first, rest)) = path.split_first().filter(|_| size > 0) else {
        return value;
    };
    let nth = first.index(size);
    let inner = match value {
        Value::Object(members) => members.values_mut().nth(nth),
        Value::Array(items) => items.get_mut(nth),
        _ => None,
    };
    at(inner.unwrap(), rest)
}

fn any_kind() -> impl Strategy<Value = String> {
    let known = TYPED.lines().map(|text| {
        let value: Value = serde_json::from_str(text).unwrap();
        value["type"].as_str().unwrap().to_owned()
    });
    prop_oneof![
        3 => proptest::sample::select(known.collect::<Vec<_>>()),
        1 => ".{0,8}",
    ]
}

/// Names that types know, so that random objects come near them.
fn any_name() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "seq",
        "time",
        "data",
        "surfaceOp",
        "sourceEventSeqs",
        "ignorable",
        "turn",
        "step",
        "reason",
        "kind",
        "id",
        "role",
        "content",
        "source",
        "chunk",
        "index",
        "texts",
        "dt",
    ];
    prop_oneof![
        3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => ".{0,4}",
    ]
}

fn any_object(depth: u32) -> impl Strategy<Value = Map<String, Value>> {
    let members = prop::collection::btree_map(any_name(), any_json(depth), 0..6);
    members.prop_map(|members| members.into_iter().collect())
}

fn any_json(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0..3_u64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(vec!["user", "assistant", "append", "replace", "completed"])
            .prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 32, 5, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let members = prop::collection::btree_map(any_name(), inner, 0..5);
        prop_oneof![
            items,
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn a_recorded_line_prints_back() {
    for (_, text) in recorded().iter().flatten() {
        assert_survives(text);
    }
}

#[test]
fn a_recorded_packed_row_expands() {
    for (place, text) in recorded().iter().flatten() {
        if let Line::Packed(row) = Line::parse(text).unwrap() {
            assert!(!row.expand().unwrap().is_empty(), "{place}");
        }
    }
}

#[test]
fn every_recorded_event_since_the_inbox_is_typed() {
    for file in recorded() {
        let lines = file.iter().map(|(_, text)| Line::parse(text).unwrap());
        let lines: Vec<_> = lines.collect();
        if lines.iter().any(|line| is_of(line, "agent/inbox/spliced")) {
            for ((place, text), line) in file.iter().zip(&lines) {
                assert!(is_typed(line), "{place}: {text}");
            }
        }
    }
}

fn is_of(line: &Line, kind: &str) -> bool {
    matches!(line, Line::Event(row) if row.body.kind() == kind)
}

/// Before the inbox, messages had no identity; those stay whole. Nothing else does.
#[test]
fn what_is_recorded_and_not_typed_is_a_message_of_old() {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (_, text) in recorded().iter().flatten() {
        let line = Line::parse(text).unwrap();
        if let Line::Event(row) = &line {
            let count = counts.entry(row.body.kind().to_owned()).or_default();
            count.0 += usize::from(is_typed(&line));
            count.1 += usize::from(!is_typed(&line));
        }
    }
    for (kind, (typed, unread)) in &counts {
        println!("{typed:5} typed {unread:3} unread  {kind}");
        let old = ["user/message", "assistant/message", "tool/result"].contains(&kind.as_str());
        assert!(old || *unread == 0, "{kind}");
    }
}
