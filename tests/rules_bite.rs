//! Every rule about a log bites: a run that keeps it, doctored in one place, breaks it.
//!
//! Not here: the shortest logs that a rule refuses; they stand beside it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::ptr_arg,
    reason = "a helper of a test fails as the test does, and all doctors have one type"
)]

mod judging;

use std::num::NonZeroU32;

use judging::{breaks, judge_events, judge_records};
use prestep::event::{Body, EndReason, Event, InboxSpliced, Live, Op, Record, Seq, Target};
use prestep::rules::example::{end_seed, insert, message, splice, user_message};
use prestep::rules::{RULES, Scope};
use prestep::sim::chooser::{Random, Seed};
use prestep::sim::run::run;
use prestep::sim::scenario::Scenario;
use serde_json::json;

/// Doctors the records of a run; `None` where they hold nothing to doctor.
type Doctor = fn(&mut Vec<Record>) -> Option<()>;

/// What is done to a run, and the rule that must say so.
const DOCTORED: [(&str, Doctor); 36] = [
    ("seq-is-contiguous", lose_a_number),
    ("turns-never-overlap", drop_an_inner_turn_end),
    ("turn-numbers-follow", skip_a_turn_number),
    ("steps-nest-in-turns", drop_a_step_start),
    ("step-numbers-follow", skip_a_step_number),
    ("step-closes-before-turn", close_a_step_after_its_turn),
    ("turn-ends-once", close_a_turn_twice),
    ("turn-end-has-a-reason", forget_a_reason),
    ("max-tokens-sticks", weaken_the_ceiling),
    ("answer-owed", end_at_the_ceiling_after_tools),
    ("model-events-inside-their-step", drop_a_step_start),
    ("assistant-message-cites-its-chunks", forget_a_chunk),
    ("tool-results-pair", drop_a_tool_call),
    ("tool-results-in-model-order", swap_two_results),
    ("no-dangling-tool-call", drop_a_result),
    ("contexts-after-results", enter_between_results),
    (
        "interrupted-message-only-when-aborted",
        complete_a_stopped_turn,
    ),
    ("interrupted-only-by-repair", interrupt_a_turn),
    ("seed-boundary-once", mark_twice),
    ("repair-is-idempotent", mark_inside_a_turn),
    ("splice-in-range", insert_beyond_the_end),
    ("splice-is-normalised", splice_nothing),
    ("pending-identity-is-unique", insert_twice),
    ("removal-says-canceled", remove_without_a_word),
    ("claim-is-a-pure-deletion", claim_and_insert),
    ("claim-inside-an-open-turn", claim_before_the_turn),
    ("claim-before-its-step", claim_inside_the_step),
    ("turn-start-before-claim", claim_before_the_turn),
    ("claim-takes-all-of-next-step", leave_one_of_next_step),
    ("claim-takes-one-next-turn", claim_two_of_next_turn),
    ("claim-is-atomic", insert_between_the_splices_of_a_claim),
    ("one-claim-per-boundary", claim_again),
    ("claimed-never-returns", put_back),
    ("entered-after-step-start", enter_before_the_step),
    ("list-order-is-kept", claim_the_second),
    ("consumed-work-accounts", drop_an_inner_turn_end),
];

/// Judged as a fork, below.
const BY_FORK: &str = "fork-starts-empty";

fn records(seed: u64) -> Vec<Record> {
    run(Random::new(Seed(seed)), &Scenario::default()).records
}

#[test]
fn every_rule_about_a_log_has_its_doctor() {
    let known = |name: &str| DOCTORED.iter().any(|(rule, _)| *rule == name) || name == BY_FORK;
    let mut rules = RULES.iter().filter(|about| about.scope == Scope::Log);
    assert_eq!(
        rules
            .find(|about| !known(about.name))
            .map(|about| about.name),
        None
    );
}

#[test]
fn every_doctored_run_breaks_its_rule() {
    let mut healthy = Vec::new();
    for (rule, doctor) in DOCTORED {
        let mut found = 0;
        for seed in 0..5_000 {
            let mut records = records(seed);
            if doctor(&mut records).is_none() {
                continue;
            }
            found += 1;
            if rule != "seq-is-contiguous" {
                renumber(&mut records);
            }
            if !breaks(&judge_records(&records), rule) {
                healthy.push(format!("{rule}, seed {seed}"));
            }
            if found == 20 {
                break;
            }
        }
        assert!(found > 0, "{rule}: no run could be doctored");
    }
    assert!(healthy.is_empty(), "not found: {}", healthy.join("; "));
}

#[test]
fn a_child_that_goes_on_with_its_parents_inbox_breaks_the_rule_about_forks() {
    let mut found = 0;
    for seed in 0..100 {
        let log: Vec<Event> = records(seed).iter().filter_map(event).cloned().collect();
        // The first message is sent while nothing is open; its parent's turn claims it.
        let Some(first) = log.first() else { continue };
        let sent = splice_of(&first.body).is_some_and(|splice| splice.inserted.len() == 1);
        let claims = log
            .iter()
            .filter_map(|event| splice_of(&event.body))
            .any(is_claim);
        if sent && claims {
            found += 1;
            assert!(breaks(&judge_events(1, &log).0, BY_FORK), "seed {seed}");
            assert!(!breaks(&judge_events(0, &log).0, BY_FORK), "seed {seed}");
        }
    }
    assert!(found > 3);
}

fn event(record: &Record) -> Option<&Event> {
    match record {
        Record::Durable(event) => Some(event),
        _ => None,
    }
}

fn body(record: &Record) -> Option<&Body> {
    event(record).map(|event| &event.body)
}

fn body_mut(record: &mut Record) -> &mut Body {
    match record {
        Record::Durable(event) => &mut event.body,
        _ => panic!("only durable events are doctored"),
    }
}

fn renumber(records: &mut [Record]) {
    let mut next: Seq = 0;
    for record in records {
        if let Record::Durable(event) = record {
            event.seq = next;
            next += 1;
        }
    }
}

/// The first record from there on whose body fits.
fn find(records: &[Record], from: usize, fits: impl Fn(&Body) -> bool) -> Option<usize> {
    let mut rest = records.iter().enumerate().skip(from);
    rest.find(|(_, record)| body(record).is_some_and(&fits))
        .map(|(at, _)| at)
}

fn splice_of(body: &Body) -> Option<&InboxSpliced> {
    match body {
        Body::InboxSpliced(splice) => Some(splice),
        _ => None,
    }
}

fn splice_at(records: &mut [Record], at: usize) -> &mut InboxSpliced {
    match body_mut(&mut records[at]) {
        Body::InboxSpliced(splice) => splice,
        _ => panic!("found as a splice"),
    }
}

fn is_claim(splice: &InboxSpliced) -> bool {
    splice.removed_count.is_some() && splice.outcome.is_none()
}

fn find_splice(
    records: &[Record],
    from: usize,
    fits: impl Fn(&InboxSpliced) -> bool,
) -> Option<usize> {
    find(records, from, |body| splice_of(body).is_some_and(&fits))
}

fn find_claim(records: &[Record], target: Target) -> Option<usize> {
    find_splice(records, 0, |splice| {
        is_claim(splice) && splice.target == target
    })
}

fn turn_start(body: &Body) -> bool {
    matches!(body, Body::TurnStart(_))
}

fn turn_end(body: &Body) -> bool {
    matches!(body, Body::TurnEnd(_))
}

fn step_start(body: &Body) -> bool {
    matches!(body, Body::StepStart(_))
}

fn step_end(body: &Body) -> bool {
    matches!(body, Body::StepEnd(_))
}

fn tool_result(body: &Body) -> bool {
    matches!(body, Body::ToolResult(_))
}

fn reason(body: &Body) -> Option<&EndReason> {
    match body {
        Body::TurnEnd(ended) => Some(&ended.reason),
        _ => None,
    }
}

fn set_reason(records: &mut [Record], at: usize, reason: EndReason) {
    if let Body::TurnEnd(ended) = body_mut(&mut records[at]) {
        ended.reason = reason;
    }
}

/// A finding that ends the search, or none.
fn given(holds: bool) -> Option<()> {
    holds.then_some(())
}

fn lose_a_number(records: &mut Vec<Record>) -> Option<()> {
    records.remove(find(records, 0, turn_start)?);
    Some(())
}

fn drop_an_inner_turn_end(records: &mut Vec<Record>) -> Option<()> {
    let step = find(records, 0, step_end)?;
    let end = find(records, step, turn_end)?;
    find(records, end, turn_start)?;
    records.remove(end);
    Some(())
}

fn skip_a_turn_number(records: &mut Vec<Record>) -> Option<()> {
    let at = find(records, 0, turn_start)?;
    if let Body::TurnStart(started) = body_mut(&mut records[at]) {
        started.turn += 1;
    }
    Some(())
}

fn drop_a_step_start(records: &mut Vec<Record>) -> Option<()> {
    let at = find(records, 0, step_start)?;
    let next = find(records, at + 1, |body| {
        matches!(body, Body::RequestHeader(_) | Body::StepEnd(_))
    })?;
    given(!step_end(body(&records[next])?))?;
    records.remove(at);
    Some(())
}

fn skip_a_step_number(records: &mut Vec<Record>) -> Option<()> {
    let at = find(records, 0, step_start)?;
    if let Body::StepStart(mark) = body_mut(&mut records[at]) {
        mark.step += 1;
    }
    Some(())
}

fn close_a_step_after_its_turn(records: &mut Vec<Record>) -> Option<()> {
    let step = find(records, 0, step_end)?;
    let end = find(records, step, |body| turn_end(body) || step_start(body))?;
    given(turn_end(body(&records[end])?))?;
    let closing = records.remove(step);
    records.insert(end, closing);
    Some(())
}

fn close_a_turn_twice(records: &mut Vec<Record>) -> Option<()> {
    let end = find(records, 0, turn_end)?;
    records.insert(end, records[end].clone());
    Some(())
}

fn forget_a_reason(records: &mut Vec<Record>) -> Option<()> {
    let end = find(records, 0, |body| {
        matches!(reason(body), Some(EndReason::Aborted { .. }))
    })?;
    set_reason(records, end, EndReason::Other(json!({ "kind": "aborted" })));
    Some(())
}

fn weaken_the_ceiling(records: &mut Vec<Record>) -> Option<()> {
    let end = find(records, 0, |body| {
        reason(body) == Some(&EndReason::MaxTokens)
    })?;
    set_reason(records, end, EndReason::Completed);
    Some(())
}

fn end_at_the_ceiling_after_tools(records: &mut Vec<Record>) -> Option<()> {
    let result = find(records, 0, tool_result)?;
    let end = find(records, result, |body| turn_end(body) || step_start(body))?;
    given(turn_end(body(&records[end])?))?;
    set_reason(records, end, EndReason::MaxTokens);
    Some(())
}

fn forget_a_chunk(records: &mut Vec<Record>) -> Option<()> {
    let at = find(records, 0, |body| match body {
        Body::AssistantMessage(said) => said.surface.source_event_seqs.iter().flatten().count() > 1,
        _ => false,
    })?;
    if let Body::AssistantMessage(said) = body_mut(&mut records[at]) {
        said.surface.source_event_seqs.as_mut()?.pop();
    }
    Some(())
}

fn drop_a_tool_call(records: &mut Vec<Record>) -> Option<()> {
    records.remove(find(records, 0, |body| matches!(body, Body::ToolCall(_)))?);
    Some(())
}

fn swap_two_results(records: &mut Vec<Record>) -> Option<()> {
    let first = find(records, 0, tool_result)?;
    let second = find(records, first + 1, |body| {
        tool_result(body) || step_end(body)
    })?;
    given(tool_result(body(&records[second])?))?;
    // Both calls run before the first is answered.
    let call = find(records, first, |body| matches!(body, Body::ToolCall(_)));
    given(call.is_none_or(|call| call > second))?;
    records.swap(first, second);
    Some(())
}

fn drop_a_result(records: &mut Vec<Record>) -> Option<()> {
    let result = find(records, 0, tool_result)?;
    let end = find(records, result, turn_end)?;
    given(!matches!(
        reason(body(&records[end])?),
        Some(EndReason::Error { .. })
    ))?;
    records.remove(result);
    Some(())
}

fn enter_between_results(records: &mut Vec<Record>) -> Option<()> {
    records.insert(find(records, 0, tool_result)?, user_message("early"));
    Some(())
}

fn complete_a_stopped_turn(records: &mut Vec<Record>) -> Option<()> {
    let cut = find(
        records,
        0,
        |body| matches!(body, Body::AssistantMessage(said) if said.interrupted),
    )?;
    let end = find(records, cut, turn_end)?;
    set_reason(records, end, EndReason::Completed);
    Some(())
}

fn interrupt_a_turn(records: &mut Vec<Record>) -> Option<()> {
    let end = find(records, 0, turn_end)?;
    find(records, end + 1, |_| true)?;
    set_reason(records, end, EndReason::Interrupted);
    Some(())
}

fn mark_twice(records: &mut Vec<Record>) -> Option<()> {
    let end = find(records, 0, turn_end)?;
    records.splice(end..end, [end_seed(), end_seed()]);
    Some(())
}

fn mark_inside_a_turn(records: &mut Vec<Record>) -> Option<()> {
    records.insert(find(records, 0, turn_end)?, end_seed());
    Some(())
}

fn insert_beyond_the_end(records: &mut Vec<Record>) -> Option<()> {
    let at = find_splice(records, 0, |_| true)?;
    splice_at(records, at).start += 1;
    Some(())
}

fn splice_nothing(records: &mut Vec<Record>) -> Option<()> {
    let at = find(records, 0, turn_end)?;
    records.insert(at, splice(Target::NextTurn, 0, 0, &[], false));
    Some(())
}

fn insert_twice(records: &mut Vec<Record>) -> Option<()> {
    let at = find_splice(records, 0, |splice| !splice.inserted.is_empty())?;
    records.insert(at, records[at].clone());
    Some(())
}

fn remove_without_a_word(records: &mut Vec<Record>) -> Option<()> {
    let at = find_splice(records, 0, |splice| splice.outcome.is_some())?;
    // Outside a turn it cannot pass for a claim.
    let opened = records[..at]
        .iter()
        .filter_map(body)
        .filter(|body| turn_start(body))
        .count();
    let closed = records[..at]
        .iter()
        .filter_map(body)
        .filter(|body| turn_end(body))
        .count();
    given(opened == closed)?;
    splice_at(records, at).outcome = None;
    Some(())
}

fn claim_and_insert(records: &mut Vec<Record>) -> Option<()> {
    let at = find_splice(records, 0, is_claim)?;
    splice_at(records, at).inserted.push(message("new"));
    Some(())
}

fn claim_before_the_turn(records: &mut Vec<Record>) -> Option<()> {
    let turn = find(records, 0, turn_start)?;
    let claim = find(records, turn + 1, |_| true)?;
    given(splice_of(body(&records[claim])?).is_some_and(is_claim))?;
    records.swap(turn, claim);
    Some(())
}

fn claim_inside_the_step(records: &mut Vec<Record>) -> Option<()> {
    let step = find(records, 0, step_start)?;
    let mut earlier = (0..step).rev();
    let claim = earlier.find(|at| {
        body(&records[*at])
            .and_then(splice_of)
            .is_some_and(is_claim)
    })?;
    records.swap(claim, step);
    Some(())
}

fn leave_one_of_next_step(records: &mut Vec<Record>) -> Option<()> {
    let at = find_claim(records, Target::NextStep)?;
    let splice = splice_at(records, at);
    splice.removed_count = NonZeroU32::new(splice.removed_count?.get() - 1);
    given(splice.removed_count.is_some())
}

fn claim_two_of_next_turn(records: &mut Vec<Record>) -> Option<()> {
    let at = find_claim(records, Target::NextTurn)?;
    splice_at(records, at).removed_count = NonZeroU32::new(2);
    Some(())
}

fn insert_between_the_splices_of_a_claim(records: &mut Vec<Record>) -> Option<()> {
    let first = find_claim(records, Target::NextStep)?;
    let second = find(records, first + 1, |_| true)?;
    given(splice_of(body(&records[second])?).is_some_and(is_claim))?;
    records.insert(second, insert(Target::NextStep, 0, &["late"]));
    Some(())
}

fn claim_again(records: &mut Vec<Record>) -> Option<()> {
    let at = find_splice(records, 0, is_claim)?;
    records.insert(at, records[at].clone());
    Some(())
}

fn put_back(records: &mut Vec<Record>) -> Option<()> {
    let at = records
        .iter()
        .position(|record| matches!(record, Record::Live(Live::Claimed { .. })))?;
    let Record::Live(Live::Claimed { message, .. }) = &records[at] else {
        return None;
    };
    let id = message.id.clone();
    let end = find(records, at, turn_end)?;
    // The batch is the turn's last, and nobody sends it anew.
    given(find_splice(&records[..end], at, is_claim).is_none())?;
    let between = records[at..end].iter();
    let sent = |record: &&Record| match record {
        Record::Act { op, .. } | Record::React(op) => {
            op.message() == Some(&id) || matches!(op, Op::Splice { .. } | Op::Replace { .. })
        }
        Record::Durable(event) => tool_result(&event.body),
        _ => false,
    };
    given(between.filter(sent).count() == 0)?;
    records.insert(end, insert(Target::NextTurn, 0, &[id.as_str()]));
    Some(())
}

fn enter_before_the_step(records: &mut Vec<Record>) -> Option<()> {
    let step = find(records, 0, step_start)?;
    let entered = find(records, step + 1, |_| true)?;
    given(matches!(body(&records[entered])?, Body::UserMessage(_)))?;
    records.swap(step, entered);
    Some(())
}

fn claim_the_second(records: &mut Vec<Record>) -> Option<()> {
    let at = find_claim(records, Target::NextTurn)?;
    let before = records[..at].iter().rev().find_map(|record| match record {
        Record::Lists(lists) => Some(lists.next_turn.len()),
        _ => None,
    });
    given(before? > 2)?;
    splice_at(records, at).start = 1;
    Some(())
}
