//! What lines read as and print as.
//!
//! Not here: every line of recorded files (`tests/exact_reading.rs`).

use serde_json::json;

use super::*;

fn packed(value: Value) -> PackedRow {
    match Line::from_value(value) {
        Ok(Line::Packed(row)) => row,
        other => panic!("no packed row: {other:?}"),
    }
}

fn texts(seq0: u64, time0: u64, dt: &[i64], texts: &[&str]) -> PackedRow {
    packed(json!({
        "type": "text-chunks", "seq0": seq0, "time0": time0,
        "data": { "turn": 1, "step": 2, "index": 3, "dt": dt, "texts": texts },
    }))
}

fn row(value: Value) -> Row {
    Row::from_value(value).unwrap()
}

#[test]
fn a_packed_row_stands_for_one_event_a_piece() {
    let rows = texts(7, 100, &[5, -2], &["a", "b", "c"]).expand().unwrap();
    let piece = |seq: u64, time: u64, text: &str| {
        row(json!({
            "type": "assistant/chunk", "seq": seq, "time": time,
            "data": {
                "turn": 1, "step": 2,
                "chunk": { "type": "text-delta", "index": 3, "text": text },
            },
        }))
    };
    assert_eq!(
        rows,
        [piece(7, 100, "a"), piece(8, 105, "b"), piece(9, 103, "c")]
    );
}

#[test]
fn packed_reasoning_stands_for_reasoning_deltas() {
    let row = packed(json!({
        "type": "reasoning-chunks",
        "data": { "turn": 1, "step": 1, "index": 0, "dt": [], "texts": ["hm"] },
    }));
    let rows = serde_json::to_value(row.expand().unwrap()).unwrap();
    assert_eq!(
        rows[0]["data"]["chunk"],
        json!({ "type": "reasoning-delta", "index": 0, "text": "hm" })
    );
}

#[test]
fn a_packed_call_stands_for_deltas_of_that_call() {
    let row = packed(json!({
        "type": "tool-call-chunks",
        "data": {
            "turn": 1, "step": 1, "index": 0, "dt": [0],
            "id": "c", "name": "read", "args": ["{", "}"],
        },
    }));
    let rows = serde_json::to_value(row.expand().unwrap()).unwrap();
    assert_eq!(
        rows[1]["data"]["chunk"],
        json!({
            "type": "tool-call-delta", "index": 0,
            "id": "c", "name": "read", "argumentsDelta": "}",
        })
    );
}

#[test]
fn a_packed_row_without_a_place_gives_events_without_one() {
    let row = packed(json!({
        "type": "text-chunks",
        "data": { "turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"] },
    }));
    let rows = row.expand().unwrap();
    assert!(
        rows.iter()
            .all(|row| row.seq.is_none() && row.time.is_none())
    );
}

#[test]
fn a_packed_row_without_pieces_stands_for_nothing() {
    assert_eq!(texts(0, 0, &[], &[]).expand(), Ok(Vec::new()));
}

#[test]
fn a_packed_row_needs_a_gap_between_each_two_pieces() {
    let refused = texts(0, 0, &[1, 1], &["a", "b"]).expand();
    assert_eq!(refused, Err(LineError::PackedGaps { pieces: 2, gaps: 2 }));
}

#[test]
fn a_packed_row_without_pieces_has_no_gap() {
    let refused = texts(0, 0, &[1], &[]).expand();
    assert_eq!(refused, Err(LineError::PackedGaps { pieces: 0, gaps: 1 }));
}

#[test]
fn a_packed_time_before_the_epoch_is_refused() {
    let refused = texts(0, 1, &[-2], &["a", "b"]).expand();
    assert_eq!(refused, Err(LineError::PackedRange(1)));
}

#[test]
fn a_packed_place_beyond_64_bits_is_refused() {
    let refused = texts(u64::MAX, 0, &[0], &["a", "b"]).expand();
    assert_eq!(refused, Err(LineError::PackedRange(1)));
}

#[test]
fn a_packed_row_of_another_shape_is_an_event_kept_whole() {
    let line = Line::from_value(json!({ "type": "text-chunks", "data": { "turn": 1 } }));
    assert!(matches!(line, Ok(Line::Event(row)) if matches!(row.body, Body::Unread(_))));
}

#[test]
fn a_header_keeps_members_of_a_wrong_type_aside() {
    let line = Line::from_value(json!({ "type": "session", "version": "one", "id": "s" }));
    let Ok(Line::Header(header)) = line else {
        panic!("no header: {line:?}");
    };
    assert_eq!(header.version, None);
    assert_eq!(header.id.as_deref(), Some("s"));
    assert_eq!(header.extra.get("version"), Some(&json!("one")));
}

#[test]
fn a_row_without_a_place_takes_its_position() {
    let event = row(json!({ "type": "turn/start", "data": { "turn": 1 } })).at(5);
    assert_eq!((event.seq, event.time), (5, 0));
}

#[test]
fn a_row_keeps_the_place_that_is_written() {
    let value = json!({ "type": "turn/start", "seq": 3, "time": 9, "data": { "turn": 1 } });
    let event = row(value).at(5);
    assert_eq!((event.seq, event.time), (3, 9));
}

#[test]
fn a_place_on_the_surface_is_kept_aside_where_it_does_not_belong() {
    let value = json!({ "type": "turn/start", "data": { "turn": 1 }, "surfaceOp": "append" });
    let row = row(value);
    assert!(matches!(row.body, Body::TurnStart(_)));
    assert_eq!(row.extra.get("surfaceOp"), Some(&json!("append")));
}

#[test]
fn a_strict_event_needs_its_place() {
    let value = json!({ "type": "turn/start", "time": 9, "data": { "turn": 1 } });
    assert_eq!(Event::from_row(row(value)), Err(LineError::NoSeq));
}

#[test]
fn a_strict_event_needs_its_time() {
    let value = json!({ "type": "turn/start", "seq": 0, "time": -1, "data": { "turn": 1 } });
    assert_eq!(Event::from_row(row(value)), Err(LineError::NoTime));
}

#[test]
fn a_strict_event_has_no_unknown_member_beside_its_data() {
    let value = json!({ "type": "turn/start", "seq": 0, "time": 0, "data": { "turn": 1 }, "x": 1 });
    let refused = Event::from_row(row(value));
    assert_eq!(refused, Err(LineError::UnknownMember("x".into())));
}

#[test]
fn a_strict_event_of_a_known_type_may_be_marked_ignorable() {
    let value = json!({
        "type": "plan/mode", "seq": 0, "time": 0,
        "data": { "active": true }, "ignorable": true,
    });
    assert!(matches!(
        Event::from_row(row(value)),
        Ok(Event {
            body: Body::Plugin(_),
            ..
        })
    ));
}
