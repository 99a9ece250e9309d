//! Where prestep decides otherwise than the reference: each decision by what happens.
//!
//! A test is named by its number in the table of decisions, and its comment says what the reference
//! was observed to do. `golden/doubtful.jsonl` holds the reference's own observations,
//! `golden/better.jsonl` the same schedules with ours. D-18 and D-17 hold by type: a doc test of the
//! plugin traits shows it. Not here: what both do alike.

#![allow(clippy::panic, reason = "a fixture that cannot be read ends its test")]

mod support;

use prestep::agent::machine::{End, ToolOutput};
use prestep::event::{Body, CancelCause, Op, Target};
use prestep::sim::conform::{Difference, Golden};
use serde_json::{Value, json};
use support::{Bench, cancel, cancel_for, cancel_keep, contexts, failure, followup, imbalance};

fn schedules(file: &str) -> Vec<Golden> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}"));
    file.lines().map(read).collect()
}

fn compare(file: &str, name: &str) -> Option<Difference> {
    let schedules = schedules(file);
    let schedule = schedules.iter().find(|schedule| schedule.name == name);
    let schedule = schedule.unwrap_or_else(|| panic!("no schedule is named {name}"));
    let compared = schedule.compare();
    compared.unwrap_or_else(|error| panic!("{error}"))
}

/// The reference's schedule differs from here on; ours is equal from beginning to end.
#[track_caller]
fn parts_ways(name: &str, action: usize, reference: Value, ours: Value) {
    let difference = compare(include_str!("golden/doubtful.jsonl"), name);
    let difference = difference.unwrap_or_else(|| panic!("{name} is as the reference has it"));
    assert_eq!(difference.action.map(|(action, _)| action), Some(action));
    assert_eq!(difference.expected, Some(reference));
    assert_eq!(difference.observed, Some(ours));
    assert_eq!(compare(include_str!("golden/better.jsonl"), name), None);
}

/// The reference: `b` stays parked, and the driver goes idle without it.
#[test]
fn d03_a_wake_in_the_region_after_turn_end_is_not_parked() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.skip();
    bench.followup("b");
    bench.go_on();
    bench.expect([
        "next-turn[0]+b",
        "inserted b",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
}

/// The reference: `next-step[0]-1` is logged, then `turn/end 1 error`: `a` is gone without a word.
#[test]
fn d05_a_claim_whose_second_splice_is_refused_claims_nothing() {
    let mut bench = Bench::new();
    bench.inject("a");
    bench.refuse("next-turn[0]-1", 1);
    bench.skip();
    bench.followup("b");
    bench.expect([
        "next-turn[0]+b",
        "inserted b",
        "running",
        "turn/start 1",
        "refused next-step[0]-1, next-turn[0]-1",
        "agent/error 1.0 log full",
        "turn/end 1 error log full",
    ]);
    assert_eq!(bench.pending(), [vec!["b"], vec!["a"]]);
}

#[test]
fn d05_what_a_refused_claim_left_is_claimed_whole_by_the_next_turn() {
    let mut bench = Bench::new();
    bench.inject("a");
    bench.refuse("next-step[0]-1", 1);
    bench.followup("b");
    bench.go_on();
    bench.skip();
    bench.steer("c");
    bench.expect_last([
        "turn/start 2",
        "next-step[0]-2",
        "next-turn[0]-1",
        "claimed a",
        "claimed c",
        "claimed b",
    ]);
}

/// The reference: the clearing is refused, and with it the abort: the turn runs to its end.
#[test]
fn d08_a_stop_that_clears_during_turn_start_stops_and_clears() {
    parts_ways(
        "cancel-and-clear-while-turn-start-is-published",
        2,
        json!({ "refused": "append-reentered" }),
        json!({ "reaction-end": "cancel" }),
    );
}

/// The reference: the stop hits the finished turn's signal, and the next turn starts.
#[test]
fn d08_a_stop_during_turn_end_stops_the_driver() {
    let turn_start = json!({ "type": "turn/start", "seq": 12, "data": { "turn": 2 } });
    parts_ways(
        "cancel-while-turn-end-is-published",
        5,
        json!({ "event": turn_start }),
        json!({ "live": "status", "status": "idle" }),
    );
}

#[test]
fn d08_a_stop_that_clears_during_turn_end_clears_the_next_turns_input() {
    let mut bench = Bench::new();
    bench.on("turn/end", cancel());
    bench.followup("a");
    bench.followup("b");
    bench.pass();
    bench.answer("hi");
    bench.skip();
    bench.stopping();
    bench.go_on();
    bench.expect([
        "turn/end 1 completed",
        "next-turn[0]-1 canceled",
        "discarded b",
        "idle",
    ]);
}

#[test]
fn d08_a_stop_in_the_region_after_turn_end_stops_the_driver() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.followup("b");
    bench.cancel_keep();
    bench.skip();
    bench.go_on();
    bench.expect(["idle"]);
    assert_eq!(bench.pending(), [vec!["b"], vec![]]);
}

/// The reference: `step/end` stays missing, and `turn/end` is appended inside the open step.
#[test]
fn d14_a_refused_step_end_is_tried_again_before_turn_end() {
    let mut bench = Bench::new();
    bench.refuse("step/end", 1);
    bench.followup("a");
    bench.pass();
    bench.say("hi");
    bench.skip();
    bench.finish(prestep::event::Finish::Stop);
    bench.expect([
        "assistant/chunk finish",
        "assistant/message hi",
        "refused step/end 1.1",
        "agent/error 1.1 log full",
        "step/end 1.1",
        "turn/end 1 error log full",
    ]);
    assert_eq!(imbalance(&bench.host.log), None);
}

/// The reference: `turn/start 2` comes while turn 1 is open.
#[test]
fn d14_a_refused_turn_end_is_tried_again_before_the_next_turn() {
    let mut bench = Bench::new();
    bench.refuse("turn/end", 1);
    bench.turn("a");
    bench.expect_last(["refused turn/end 1 completed", "agent/error 1.1 log full"]);
    bench.go_on();
    bench.followup("b");
    bench.expect([
        "idle",
        "next-turn[0]+b",
        "inserted b",
        "running",
        "turn/end 1 completed",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
}

#[test]
fn d14_until_the_closing_succeeds_no_turn_opens_and_each_refusal_is_reported() {
    let mut bench = Bench::new();
    bench.refuse("turn/end", 3);
    bench.turn("a");
    bench.go_on();
    bench.followup("b");
    bench.go_on();
    bench.skip();
    bench.followup("c");
    bench.expect([
        "next-turn[1]+c",
        "inserted c",
        "running",
        "refused turn/end 1 completed",
        "agent/error 1.0 log full",
    ]);
    bench.go_on();
    assert_eq!(bench.pending(), [vec!["b", "c"], vec![]]);
    bench.followup("d");
    bench.expect_last([
        "turn/end 1 completed",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
}

#[test]
fn d29_a_step_and_its_turn_that_are_both_owed_close_in_order() {
    let mut bench = Bench::new();
    bench.refuse("step/end", 2);
    bench.refuse("turn/end", 1);
    bench.followup("a");
    bench.pass();
    bench.answer("hi");
    bench.go_on();
    bench.followup("b");
    bench.go_on();
    bench.skip();
    bench.followup("c");
    bench.expect_last([
        "running",
        "turn/end 1 error log full",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
    assert_eq!(bench.count("step/end 1.1"), 1);
}

#[test]
fn d29_an_owed_closing_keeps_the_reason_that_the_turn_had() {
    let mut bench = Bench::new();
    bench.refuse("turn/end", 1);
    bench.followup("a");
    bench.cancel();
    bench.assemble();
    bench.go_on();
    bench.followup("b");
    assert_eq!(bench.count("turn/end 1 aborted user"), 1);
}

#[test]
fn d29_a_stop_while_an_owed_closing_is_published_opens_no_turn() {
    let mut bench = Bench::new();
    bench.refuse("turn/end", 1);
    bench.turn("a");
    bench.go_on();
    bench.on("turn/end", cancel_keep());
    bench.skip();
    bench.followup("b");
    bench.go_on();
    bench.expect_last(["running", "turn/end 1 completed", "idle"]);
    assert_eq!(bench.pending(), [vec!["b"], vec![]]);
}

/// The reference: the send is accepted, and the agent runs it.
#[test]
fn d16_a_send_after_disposal_is_refused() {
    parts_ways(
        "send-after-dispose",
        2,
        json!({ "live": "inserted", "id": "m1" }),
        json!({ "refused": "disposed" }),
    );
}

#[test]
fn d16_after_disposal_every_operation_is_refused() {
    let target = Target::NextStep;
    let [id, with] = ["a", "b"].map(prestep::event::MessageId::from);
    let splice = Op::Splice {
        target,
        start: 0,
        delete: 1,
        insert: vec![],
    };
    let every = [
        Op::Append {
            target,
            id: id.clone(),
        },
        Op::Prepend {
            target,
            id: id.clone(),
        },
        splice,
        Op::Replace {
            id: id.clone(),
            with,
        },
        Op::Remove { id },
        Op::Clear,
        cancel(),
        Op::Maintenance,
    ];
    for op in every {
        let mut bench = Bench::new();
        bench.act(&Op::Dispose);
        bench.act(&op);
        bench.expect(["refused the agent is disposed"]);
    }
}

#[test]
fn d16_while_disposal_converges_a_send_is_accepted_and_not_run() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.act(&Op::Dispose);
    bench.skip();
    bench.followup("b");
    bench.assemble();
    bench.go_on();
    bench.expect([
        "next-turn[0]+b",
        "inserted b",
        "turn/end 1 aborted disposed",
        "idle",
    ]);
    bench.followup("c");
    bench.expect(["refused the agent is disposed"]);
}

#[test]
fn d16_a_wake_sent_before_disposal_began_stays_as_it_was() {
    // The reference: the turn opens with nothing in it, and disposal is complete after it.
    let mut bench = Bench::new();
    bench.on("inserted a", Op::Dispose);
    bench.followup("a");
    bench.expect([
        "next-turn[0]+a",
        "inserted a",
        "next-turn[0]-1 canceled",
        "discarded a",
        "running",
        "turn/start 1",
    ]);
    assert!(!bench.machine.is_disposed());
}

/// What a publication inserts is not pending yet when an observer of it disposes.
#[test]
fn d16_disposal_while_an_insertion_is_published_clears_nothing_of_it() {
    let mut bench = Bench::new();
    bench.on("next-turn[0]+a", Op::Dispose);
    bench.followup("a");
    bench.expect_last(["running", "turn/start 1", "next-turn[0]-1", "claimed a"]);
    assert!(!bench.machine.is_disposed());
}

/// The reference: the wake is latched, because the first cause is not `disposed`.
#[test]
fn d31_once_disposal_began_no_wake_is_latched_whatever_cancelled_before() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.cancel();
    bench.act(&Op::Dispose);
    bench.followup("b");
    bench.skip();
    bench.assemble();
    bench.go_on();
    bench.expect(["turn/end 1 aborted user", "idle"]);
}

#[test]
fn d31_disposal_forgets_a_wake_that_was_latched_before() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.cancel_keep();
    bench.followup("b");
    bench.act(&Op::Dispose);
    bench.followup("c");
    bench.assemble();
    bench.go_on();
    bench.expect_last(["turn/end 1 aborted user", "idle"]);
}

#[test]
fn d31_disposal_during_a_publication_latches_nothing_either() {
    let mut bench = Bench::new();
    bench.on("turn/start", Op::Dispose);
    bench.on("discarded b", followup("c"));
    bench.inject("b");
    bench.followup("a");
    bench.go_on();
    bench.expect_last(["turn/end 1 aborted disposed", "idle"]);
}

/// The reference: the result stands, then `turn/end 1 error`.
#[test]
fn d36_a_context_that_is_pending_already_is_refused_and_the_turn_goes_on() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.calls(["c1"]);
    bench.steer("k1");
    bench.start_calls();
    bench.skip();
    bench.ran("c1", contexts(["k1", "k2"]));
    bench.expect([
        "tool/result c1",
        "agent/error 1.1 message \"k1\" is already pending",
        "next-step[1]+k2",
        "inserted k2",
        "step/end 1.1",
        "next-step[0]-2",
        "claimed k1",
        "claimed k2",
    ]);
}

#[test]
fn an_abort_cause_is_logged_with_its_documented_members_only() {
    let foreign = json!({ "kind": "hook", "reason": "no", "window": 7 });
    let op = json!({ "op": "cancel", "cause": foreign, "keepInbox": true });
    let mut bench = Bench::new();
    bench.followup("a");
    bench.act(&serde_json::from_value(op).unwrap());
    bench.assemble();
    let [Body::TurnEnd(closing)] = bench.logged("turn/end")[..] else {
        panic!("one turn ended");
    };
    let hook = json!({ "kind": "hook", "reason": "no" });
    let reason = json!({ "kind": "aborted", "reason": hook });
    assert_eq!(serde_json::to_value(&closing.reason).unwrap(), reason);
}

/// The reference's earlier versions: the step ends with the calls unanswered.
#[test]
fn a_failed_scheduler_answers_every_call_in_model_order_before_step_end() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2", "c3"]);
    bench.end(End::Prepared(0, Ok(())));
    bench.go_on();
    bench.end(End::Prepared(1, Err(failure("no ground"))));
    bench.skip();
    bench.ran("c1", contexts(["k1"]));
    bench.expect([
        "tool/result c1",
        "next-step[0]+k1",
        "inserted k1",
        "tool/result c2 TOOL_OUTCOME_UNKNOWN",
        "tool/result c3 TOOL_NOT_STARTED",
        "step/end 1.1",
        "agent/error 1.1 no ground",
        "turn/end 1 error no ground",
    ]);
}

#[test]
fn a_call_that_the_log_refused_counts_as_not_started() {
    let mut bench = Bench::new();
    bench.refuse("tool/call c2", 1);
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2"]);
    bench.start_calls();
    bench.skip();
    bench.tool("c1");
    bench.expect([
        "tool/result c1",
        "tool/result c2 TOOL_NOT_STARTED",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}

#[test]
fn a_drained_call_keeps_its_result_behind_one_that_failed() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2", "c3"]);
    bench.start_calls();
    bench.tool("c2");
    bench.refuse("tool/result c1", 2);
    bench.skip();
    bench.ran("c1", Ok(ToolOutput::default()));
    bench.expect(["refused tool/result c1"]);
    bench.tool("c3");
    bench.expect([
        "refused tool/result c1",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}

/// The reference's earlier versions: the wake is replayed, and a disposed agent runs.
#[test]
fn a_latched_wake_is_not_replayed_when_maintenance_ends_disposed() {
    let mut bench = Bench::new();
    bench.act(&Op::Maintenance);
    bench.followup("a");
    bench.act(&cancel_for(CancelCause::User, true));
    bench.act(&Op::Dispose);
    bench.followup("b");
    bench.skip();
    bench.end(End::Maintained);
    bench.expect([]);
    assert!(bench.machine.is_disposed() && bench.machine.is_quiet());
}
