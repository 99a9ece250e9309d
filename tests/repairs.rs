//! The golden cuts: 30 logs, each cut after every event, with what the reference derives.
//!
//! Not here: whole schedules over a repaired log; the conformance tests run those.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use prestep::agent::inbox::Inbox;
use prestep::agent::projection::consumed::consumed_work;
use prestep::agent::projection::history::surface;
use prestep::agent::projection::queue::QueueMirror;
use prestep::agent::projection::tracker::{Fate, fates};
use prestep::agent::repair::repair;
use prestep::agent::resume::resume;
use prestep::event::{Body, Event, MessageId, Row, Target};
use serde_json::{Value, json};

/// One log and what the reference derives from each of its prefixes.
struct Session {
    name: String,
    log: Vec<Event>,
    cuts: Vec<Value>,
}

fn sessions() -> Vec<Session> {
    let golden = include_str!("golden/repairs.jsonl");
    golden.lines().map(session).collect()
}

fn session(line: &str) -> Session {
    let golden: Value = serde_json::from_str(line).unwrap();
    let event = |event: &Value| Row::from_value(event.clone()).unwrap().at(0);
    Session {
        name: golden["name"].as_str().unwrap().into(),
        log: golden["log"]
            .as_array()
            .unwrap()
            .iter()
            .map(event)
            .collect(),
        cuts: golden["cuts"].as_array().unwrap().clone(),
    }
}

/// Every prefix of every log, the empty and the whole one included.
fn each_prefix(mut check: impl FnMut(&Session, &[Event])) {
    for session in sessions() {
        for at in 0..=session.log.len() {
            check(&session, &session.log[..at]);
        }
    }
}

fn repaired(prefix: &[Event]) -> Vec<Event> {
    [prefix, &repair(prefix).closers].concat()
}

/// Fails with every cut for which `derive` gives other than the member `name` holds.
fn assert_cuts(name: &str, derive: impl Fn(&[Event]) -> Value) {
    let mut differences = Vec::new();
    for session in sessions() {
        for (at, cut) in session.cuts.iter().enumerate() {
            let (derived, golden) = (derive(&session.log[..at]), &cut[name]);
            if derived != *golden {
                let session = &session.name;
                differences.push(format!("{session} cut at {at}: {derived}, not {golden}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The words of error results are free; the golden file leaves them out.
fn without_words(event: &Event) -> Value {
    let mut json = serde_json::to_value(event).unwrap();
    if let Some(words) = json.pointer_mut("/data/message/content/0/content") {
        *words = json!([]);
    }
    json
}

fn ids(inbox: &Inbox, target: Target) -> Vec<&str> {
    let list = inbox.list(target).iter();
    list.map(|message| message.id.as_str()).collect()
}

#[test]
fn the_file_holds_every_prefix_of_its_30_logs() {
    let sessions = sessions();
    assert_eq!(sessions.len(), 30);
    assert_eq!(
        sessions
            .iter()
            .map(|session| session.cuts.len())
            .sum::<usize>(),
        1037
    );
    for session in sessions {
        let cuts = session.cuts.iter().map(|cut| cut["at"].as_u64().unwrap());
        assert!(cuts.eq(0..=session.log.len() as u64), "{}", session.name);
    }
}

#[test]
fn every_event_of_the_file_is_read_as_its_type() {
    for session in sessions() {
        let unread = |event: &&Event| matches!(event.body, Body::Unread(_));
        assert_eq!(session.log.iter().find(unread), None, "{}", session.name);
    }
}

#[test]
fn every_cut_is_closed_as_the_reference_closes_it() {
    assert_cuts("closers", |prefix| {
        repair(prefix).closers.iter().map(without_words).collect()
    });
}

#[test]
fn every_cut_leaves_pending_what_the_reference_leaves() {
    assert_cuts("lists", |prefix| {
        let inbox = Inbox::fold(prefix).unwrap();
        json!([ids(&inbox, Target::NextTurn), ids(&inbox, Target::NextStep)])
    });
}

#[test]
fn every_cut_is_accounted_for_as_in_the_reference() {
    assert_cuts("consumed", |prefix| {
        let consumed = consumed_work(&repaired(prefix));
        json!({ "turn": consumed.turn, "droppedUnrun": consumed.dropped_unrun })
    });
}

#[test]
fn every_cut_has_the_surface_of_the_reference() {
    assert_cuts("surface", |prefix| {
        json!(surface(&repaired(prefix)).unwrap())
    });
}

#[test]
fn a_second_repair_adds_nothing() {
    each_prefix(|session, prefix| {
        assert!(
            repair(&repaired(prefix)).is_empty(),
            "{} cut at {}",
            session.name,
            prefix.len()
        );
    });
}

#[test]
fn a_repaired_log_is_balanced() {
    each_prefix(|session, prefix| {
        let repaired = repaired(prefix);
        assert_eq!(
            imbalance(&repaired),
            None,
            "{} cut at {}",
            session.name,
            prefix.len()
        );
    });
}

/// What is open at the end of a log, or opened twice; told apart from the repair's own view.
fn imbalance(log: &[Event]) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for event in log {
        let (opens, name) = match &event.body {
            Body::TurnStart(started) => (true, format!("turn {}", started.turn)),
            Body::TurnEnd(ended) => (false, format!("turn {}", ended.turn)),
            Body::StepStart(mark) => (true, format!("step {}.{}", mark.turn, mark.step)),
            Body::StepEnd(mark) => (false, format!("step {}.{}", mark.turn, mark.step)),
            _ => continue,
        };
        if opens {
            open.push(name);
        } else if open.pop().as_ref() != Some(&name) {
            return Some(format!(
                "event {} closes {name}, which is not open",
                event.seq
            ));
        }
    }
    open.pop()
}

#[test]
fn a_resumed_log_keeps_what_was_loaded_and_counts_on() {
    each_prefix(|session, prefix| {
        let resumed = resume(prefix.to_vec(), 0).unwrap();
        assert_eq!(resumed.log[..prefix.len()], *prefix, "{}", session.name);
        let seqs = resumed.log.iter().map(|event| event.seq);
        assert!(seqs.eq(0..resumed.log.len() as u64), "{}", session.name);
    });
}

#[test]
fn a_resume_brings_back_what_was_pending_and_nothing_else() {
    each_prefix(|session, prefix| {
        let resumed = resume(prefix.to_vec(), 0).unwrap();
        let pending = Inbox::fold(prefix).unwrap();
        assert_eq!(
            resumed.origin.inbox,
            pending,
            "{} cut at {}",
            session.name,
            prefix.len()
        );
    });
}

#[test]
fn what_a_crash_loses_was_claimed_and_is_not_pending() {
    each_prefix(|session, prefix| {
        let pending = Inbox::fold(prefix).unwrap();
        for id in repair(prefix).lost {
            let at = format!("{id} in {} cut at {}", session.name, prefix.len());
            assert_eq!(pending.find(&id), None, "{at}");
            let last = fates(id, prefix).pop();
            assert!(matches!(last, Some(Fate::Claimed { .. })), "{at}");
        }
    });
}

#[test]
fn repair_and_account_name_the_same_losses() {
    each_prefix(|session, prefix| {
        let lost = repair(prefix).lost;
        if !lost.is_empty() {
            let named = consumed_work(&repaired(prefix)).lost;
            assert_eq!(named, lost, "{} cut at {}", session.name, prefix.len());
        }
    });
}

#[test]
fn a_client_that_connects_at_any_place_sees_what_an_early_one_sees() {
    each_prefix(|session, prefix| {
        let mut late = QueueMirror::of(prefix, 0).unwrap().baseline();
        let mut early = Inbox::fold(prefix).unwrap();
        for event in &session.log[prefix.len()..] {
            late.feed(event).unwrap();
            early.follow(event).unwrap();
            assert_eq!(
                *late.lists(),
                early,
                "{} from {}",
                session.name,
                prefix.len()
            );
        }
    });
}

#[test]
fn a_tracked_message_is_pending_exactly_while_a_list_holds_it() {
    each_prefix(|session, prefix| {
        let inbox = Inbox::fold(prefix).unwrap();
        for id in inserted_ids(&session.log) {
            let pending = fates(id.clone(), prefix).pop() == Some(Fate::Pending);
            assert_eq!(
                pending,
                inbox.find(&id).is_some(),
                "{id} in {}",
                session.name
            );
        }
    });
}

fn inserted_ids(log: &[Event]) -> Vec<MessageId> {
    let splices = log.iter().filter_map(|event| match &event.body {
        Body::InboxSpliced(splice) => Some(&splice.inserted),
        _ => None,
    });
    splices
        .flatten()
        .map(|message| message.id.clone())
        .collect()
}
