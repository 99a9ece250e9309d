//! Properties of what is derived from a log: random edits of an inbox, and logs that are nonsense.
//!
//! Not here: what the reference derives (`repairs`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeSet;

use prestep::agent::inbox::Inbox;
use prestep::agent::projection::consumed::consumed_work;
use prestep::agent::projection::history::surface;
use prestep::agent::projection::queue::QueueMirror;
use prestep::agent::projection::tracker::MessageTracker;
use prestep::agent::repair::repair;
use prestep::agent::resume::resume;
use prestep::event::{Body, Event, InboxSpliced, MessageId, Target, UserMessage};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a producer or the loop does with the inbox.
#[derive(Clone, Debug)]
enum Edit {
    Append(Target, MessageId),
    Splice(Target, i64, i64, Vec<MessageId>),
    Replace(MessageId, MessageId),
    Remove(MessageId),
    Clear(Target),
    Claim(Target),
}

/// Few identities, so that they meet.
const IDS: [&str; 4] = ["a", "b", "c", "d"];

fn an_id() -> impl Strategy<Value = MessageId> {
    proptest::sample::select(&IDS).prop_map(MessageId::from)
}

fn a_target() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::NextTurn), Just(Target::NextStep)]
}

fn an_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (a_target(), an_id()).prop_map(|(target, id)| Edit::Append(target, id)),
        2 => (a_target(), -3..5_i64, -1..4_i64, vec(an_id(), 0..3))
            .prop_map(|(target, start, delete, ids)| Edit::Splice(target, start, delete, ids)),
        1 => (an_id(), an_id()).prop_map(|(old, new)| Edit::Replace(old, new)),
        1 => an_id().prop_map(Edit::Remove),
        1 => a_target().prop_map(Edit::Clear),
        2 => a_target().prop_map(Edit::Claim),
    ]
}

fn message(id: &MessageId) -> prestep::event::Message {
    UserMessage::text(id.as_str(), id.as_str())
}

/// What an edit would log; nothing where it is refused or changes nothing.
fn splices(inbox: &Inbox, edit: &Edit) -> Vec<InboxSpliced> {
    let planned = match edit {
        Edit::Append(target, id) => inbox.plan_append(*target, message(id)).ok(),
        Edit::Splice(target, start, delete, ids) => {
            let inserted = ids.iter().map(message).collect();
            let planned = inbox.plan_splice(*target, *start, *delete, inserted);
            planned.ok().flatten()
        }
        Edit::Replace(old, new) => inbox.plan_replace(old, message(new)).ok().flatten(),
        Edit::Remove(id) => inbox.plan_remove(id),
        Edit::Clear(target) => inbox.plan_clear(*target),
        Edit::Claim(target) => return inbox.plan_claim(*target),
    };
    planned.into_iter().collect()
}

/// The log of these edits, and the lists after each event.
fn edited(edits: &[Edit]) -> (Vec<Event>, Vec<Inbox>) {
    let (mut log, mut lists) = (Vec::new(), vec![Inbox::default()]);
    let mut live = Inbox::default();
    for edit in edits {
        for splice in splices(&live, edit) {
            live.apply(&splice).unwrap();
            lists.push(live.clone());
            log.push(Event {
                seq: log.len() as u64,
                time: 0,
                body: Body::InboxSpliced(splice),
            });
        }
    }
    (log, lists)
}

proptest! {
    #[test]
    fn folding_a_log_gives_the_live_lists(edits in vec(an_edit(), 0..40)) {
        let (log, lists) = edited(&edits);
        for (at, live) in lists.iter().enumerate() {
            prop_assert_eq!(&Inbox::fold(&log[..at]).unwrap(), live);
        }
    }

    #[test]
    fn a_late_subscriber_sees_what_an_early_one_sees(
        edits in vec(an_edit(), 0..40),
        at in any::<prop::sample::Index>(),
        again in 0..10_usize,
    ) {
        let (log, lists) = edited(&edits);
        let at = at.index(lists.len());
        let mut late = QueueMirror::of(&log[..at], 0).unwrap().baseline();
        for event in &log[at.saturating_sub(again)..] {
            late.feed(event).unwrap();
            let seen = at.max(event.seq as usize + 1);
            prop_assert_eq!(late.lists(), &lists[seen]);
        }
    }

    #[test]
    fn a_tracker_knows_the_place_that_the_lists_show(edits in vec(an_edit(), 0..40)) {
        let (log, lists) = edited(&edits);
        for id in IDS {
            let mut tracker = MessageTracker::new(id.into());
            for (event, live) in log.iter().zip(&lists[1..]) {
                tracker.feed(event);
                prop_assert_eq!(tracker.place(), live.find(&id.into()));
            }
        }
    }
}

/// An event that fits its neighbours by chance only.
fn an_event() -> impl Strategy<Value = Value> {
    let place = || (1..3_u32, 1..3_u32);
    let call = || proptest::sample::select(&IDS);
    let surface = || {
        prop_oneof![
            4 => Just(json!("append")),
            1 => (0..8_u64, 0..8_u64)
                .prop_map(|(start, end)| json!({ "op": "replace", "start": start, "end": end })),
        ]
    };
    prop_oneof![
        (1..3_u32).prop_map(|turn| json!({ "type": "turn/start", "data": { "turn": turn } })),
        (1..3_u32).prop_map(|turn| json!({
            "type": "turn/end", "data": { "turn": turn, "reason": { "kind": "completed" } },
        })),
        place().prop_map(|(turn, step)| json!({
            "type": "step/start", "data": { "turn": turn, "step": step },
        })),
        place().prop_map(|(turn, step)| json!({
            "type": "step/end", "data": { "turn": turn, "step": step },
        })),
        (place(), vec(call(), 0..3), surface()).prop_map(asked),
        (place(), call()).prop_map(|((turn, step), id)| json!({
            "type": "tool/call",
            "data": { "turn": turn, "step": step, "callId": id, "name": "t", "arguments": "" },
        })),
        (place(), call(), surface()).prop_map(answered),
        (
            a_target(),
            0..3_u32,
            0..3_u32,
            vec(call(), 0..3),
            any::<bool>()
        )
            .prop_map(spliced),
        (call(), surface()).prop_map(|(id, op)| json!({
            "type": "user/message", "data": said(id), "surfaceOp": op,
        })),
    ]
}

fn asked(((turn, step), ids, op): ((u32, u32), Vec<&str>, Value)) -> Value {
    let call = |id| json!({ "type": "tool-call", "id": id, "name": "t", "arguments": "" });
    let content: Vec<Value> = ids.into_iter().map(call).collect();
    let source = json!({ "kind": "model", "provider": "p", "model": "m" });
    let message = json!({ "id": "i", "role": "assistant", "content": content, "source": source });
    json!({
        "type": "assistant/message",
        "data": { "turn": turn, "step": step, "message": message },
        "surfaceOp": op,
    })
}

fn answered(((turn, step), id, op): ((u32, u32), &str, Value)) -> Value {
    let source = json!({ "kind": "tool", "callId": id });
    let message = json!({ "id": "i", "role": "user", "content": [], "source": source });
    json!({
        "type": "tool/result",
        "data": { "turn": turn, "step": step, "message": message },
        "surfaceOp": op,
    })
}

fn spliced((target, start, removed, ids, canceled): (Target, u32, u32, Vec<&str>, bool)) -> Value {
    let inserted: Vec<Value> = ids.into_iter().map(said).collect();
    let mut data = json!({ "target": target, "start": start, "inserted": inserted });
    if removed > 0 {
        data["removedCount"] = json!(removed);
    }
    if canceled {
        data["outcome"] = json!("canceled");
    }
    json!({ "type": "agent/inbox/spliced", "data": data })
}

fn said(id: &str) -> Value {
    json!({ "id": id, "role": "user", "content": [], "source": { "kind": "user" } })
}

fn nonsense(events: Vec<Value>) -> Vec<Event> {
    let place = |(seq, mut event): (u64, Value)| {
        event["seq"] = json!(seq);
        event["time"] = json!(0);
        serde_json::from_value::<Event>(event).unwrap()
    };
    (0..).zip(events).map(place).collect()
}

proptest! {
    #[test]
    fn a_repair_of_any_log_is_repaired_by_nothing(events in vec(an_event(), 0..30)) {
        let mut log = nonsense(events);
        let closers = repair(&log).closers;
        log.extend(closers);
        prop_assert!(repair(&log).is_empty());
    }

    #[test]
    fn an_account_names_a_turn_that_the_log_closed(events in vec(an_event(), 0..30)) {
        let log = nonsense(events);
        if let Some(turn) = consumed_work(&log).turn {
            let closes =
                |event: &Event| matches!(&event.body, Body::TurnEnd(ended) if ended.turn == turn);
            prop_assert!(log.iter().any(closes));
        }
    }

    #[test]
    fn no_message_stands_on_a_surface_twice(events in vec(an_event(), 0..30)) {
        let live = surface(&nonsense(events)).unwrap_or_default();
        let distinct: BTreeSet<_> = live.iter().collect();
        prop_assert_eq!(distinct.len(), live.len());
    }

    #[test]
    fn a_log_that_cannot_be_folded_is_refused_and_no_other(events in vec(an_event(), 0..30)) {
        let log = nonsense(events);
        prop_assert_eq!(resume(log.clone(), 0).is_ok(), Inbox::fold(&log).is_ok());
    }
}
