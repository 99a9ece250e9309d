//! Which events follow when something fails or is refused.
//!
//! Not here: closings that are refused and tried again (`decisions`).

use prestep::agent::machine::{End, Limits, Origin};

use crate::support::{Bench, enter, failure, imbalance, steer};

#[test]
fn a_refused_send_queues_nothing_and_wakes_nobody() {
    let mut bench = Bench::new();
    bench.refuse("next-turn[0]+a", 1);
    bench.followup("a");
    bench.expect([
        "refused next-turn[0]+a",
        "refused the log refused: log full",
    ]);
    assert_eq!(bench.pending(), [vec![""; 0], vec![]]);
}

#[test]
fn a_send_of_a_pending_identity_is_refused_by_name_and_wakes_nobody() {
    let mut bench = Bench::new();
    bench.inject("a");
    bench.skip();
    bench.followup("a");
    bench.expect(["refused message \"a\" is already pending"]);
}

#[test]
fn a_refused_turn_start_leaves_the_message_queued_and_its_number_free() {
    let mut bench = Bench::new();
    bench.refuse("turn/start", 1);
    bench.followup("a");
    bench.go_on();
    bench.expect([
        "next-turn[0]+a",
        "inserted a",
        "running",
        "refused turn/start 1",
        "agent/error 0.0 log full",
        "idle",
    ]);
    bench.steer("b");
    bench.expect_last([
        "turn/start 1",
        "next-step[0]-1",
        "next-turn[0]-1",
        "claimed b",
        "claimed a",
    ]);
}

#[test]
fn a_refused_claim_ends_the_turn_and_leaves_everything_queued() {
    let mut bench = Bench::new();
    bench.refuse("next-turn[0]-1", 1);
    bench.followup("a");
    bench.expect_last([
        "turn/start 1",
        "refused next-turn[0]-1",
        "agent/error 1.0 log full",
        "turn/end 1 error log full",
    ]);
    assert_eq!(bench.pending(), [vec!["a"], vec![]]);
}

#[test]
fn a_failed_assembly_ends_the_turn_with_its_batch_gone() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.skip();
    bench.end(End::Assembled(Err(failure("no prompt"))));
    bench.expect(["agent/error 1.0 no prompt", "turn/end 1 error no prompt"]);
    assert_eq!(bench.pending(), [vec![""; 0], vec![]]);
}

#[test]
fn a_failed_decision_ends_the_turn_and_parks_what_is_queued() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.followup("b");
    bench.skip();
    bench.decide(Err(failure("no")));
    bench.go_on();
    bench.expect(["agent/error 1.0 no", "turn/end 1 error no", "idle"]);
    assert_eq!(bench.pending(), [vec!["b"], vec![]]);
}

#[test]
fn a_failed_later_decision_names_the_last_opened_step() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.steer("b");
    bench.answer("hi");
    bench.skip();
    bench.decide(Err(failure("no")));
    bench.expect(["agent/error 1.1 no", "turn/end 1 error no"]);
}

#[test]
fn a_refused_step_start_ends_the_turn_without_a_step() {
    let mut bench = Bench::new();
    bench.refuse("step/start", 1);
    bench.followup("a");
    bench.skip();
    bench.pass();
    bench.expect([
        "refused step/start 1.1",
        "agent/error 1.0 log full",
        "turn/end 1 error log full",
    ]);
}

#[test]
fn a_refused_user_message_ends_the_step_with_those_before_it() {
    let mut bench = Bench::new();
    bench.refuse("user/message b", 1);
    bench.followup("a");
    bench.skip();
    bench.decide(enter(["a", "b", "c"]));
    bench.expect([
        "step/start 1.1",
        "user/message a",
        "refused user/message b",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}

#[test]
fn a_failed_route_ends_step_and_turn_without_a_request() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.skip();
    bench.end(End::Requested(Err(failure("no route"))));
    bench.expect([
        "step/end 1.1",
        "agent/error 1.1 no route",
        "turn/end 1 error no route",
    ]);
}

#[test]
fn a_refused_header_is_logged_by_the_next_request() {
    let mut bench = Bench::new();
    bench.refuse("request/header", 1);
    bench.followup("a");
    bench.pass();
    bench.route();
    bench.go_on();
    bench.followup("b");
    bench.pass();
    bench.skip();
    bench.route();
    bench.expect(["request/header initial", "request/context mock"]);
}

#[test]
fn a_refused_chunk_ends_the_turn_and_asks_for_no_recovery() {
    let mut bench = Bench::new();
    bench.refuse("assistant/chunk there", 1);
    bench.followup("a");
    bench.pass();
    bench.say("hi");
    bench.skip();
    bench.say("there");
    bench.expect([
        "refused assistant/chunk there",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}

#[test]
fn a_refused_assistant_message_runs_no_tool() {
    let mut bench = Bench::new();
    bench.refuse("assistant/message", 1);
    bench.followup("a");
    bench.pass();
    bench.calls(["c1"]);
    bench.expect_last([
        "refused assistant/message call c1",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}

#[test]
fn a_failed_turn_stopping_parks_the_steering_that_it_left() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.answer("hi");
    bench.steer("b");
    bench.skip();
    bench.end(End::Stopped(Err(failure("no"))));
    bench.go_on();
    bench.expect(["agent/error 1.1 no", "turn/end 1 error no", "idle"]);
    assert_eq!(bench.pending(), [vec![], vec!["b"]]);
}

#[test]
fn a_refused_context_of_a_tool_is_reported_and_its_result_stands() {
    let mut bench = Bench::new();
    bench.refuse("next-step[0]+k1", 1);
    bench.followup("a");
    bench.pass();
    bench.calls(["c1"]);
    bench.start_calls();
    bench.skip();
    bench.ran("c1", crate::support::contexts(["k1", "k2"]));
    bench.expect_last([
        "tool/result c1",
        "refused next-step[0]+k1",
        "agent/error 1.1 log full",
        "next-step[0]+k2",
        "inserted k2",
        "step/end 1.1",
        "next-step[0]-1",
        "claimed k2",
    ]);
}

#[test]
fn an_observer_of_the_error_may_steer_and_the_turn_ends_all_the_same() {
    let mut bench = Bench::new();
    bench.on("agent/error", steer("b"));
    bench.followup("a");
    bench.decide(Err(failure("no")));
    bench.go_on();
    bench.expect_last([
        "agent/error 1.0 no",
        "next-step[0]+b",
        "inserted b",
        "turn/end 1 error no",
        "idle",
    ]);
    assert_eq!(imbalance(&bench.host.log), None);
}

#[test]
fn an_end_that_nobody_waits_for_changes_nothing() {
    let mut bench = Bench::new();
    bench.followup("a");
    let before = bench.clone();
    let refused = bench.machine.end(&mut bench.host, End::Stopped(Ok(())));
    assert!(refused.is_err());
    assert_eq!(bench, before);
}

#[test]
fn when_no_turn_number_is_left_the_message_stays_queued() {
    let origin = Origin {
        last_turn: u32::MAX,
        ..Origin::default()
    };
    let mut bench = Bench::resumed(origin, Limits::default());
    bench.followup("a");
    bench.go_on();
    bench.expect_last([
        "running",
        "agent/error 4294967295.0 no turn number is left",
        "idle",
    ]);
    assert_eq!(bench.pending(), [vec!["a"], vec![]]);
}
