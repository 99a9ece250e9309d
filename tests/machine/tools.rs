//! Barriers, pool, order and fate of tool calls.
//!
//! Not here: what a failed scheduler answers (`decisions`), cancels of single calls (`cancels`).

use prestep::agent::machine::{End, Point, ToolFailure, ToolOutput};

use crate::support::{Bench, contexts, failure};

/// A step whose model asked for these calls; every one that may start has started.
fn calling<const N: usize>(pool: usize, ids: [&str; N]) -> Bench {
    let mut bench = Bench::with_pool(pool);
    bench.followup("a");
    bench.pass();
    bench.calls(ids);
    bench.start_calls();
    bench
}

#[test]
fn parallel_calls_run_together() {
    let mut bench = calling(10, ["c1", "c2", "c3"]);
    bench.expect_last(["tool/call c1", "tool/call c2", "tool/call c3"]);
    assert_eq!(
        bench.open(),
        [Point::Tool(0), Point::Tool(1), Point::Tool(2)]
    );
}

#[test]
fn a_body_begins_before_the_next_call_starts() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2"]);
    bench.end(End::Prepared(0, Ok(())));
    bench.expect_last(["assistant/message call c1 call c2", "tool/call c1"]);
    assert_eq!(bench.open(), [Point::Tool(0), Point::Continue]);
}

#[test]
fn results_are_committed_in_the_models_order() {
    let mut bench = calling(10, ["c1", "c2"]);
    bench.skip();
    bench.tool("c2");
    bench.expect([]);
    bench.tool("c1");
    bench.expect(["tool/result c1", "tool/result c2", "step/end 1.1"]);
}

#[test]
fn an_exclusive_call_waits_for_those_before_it_and_holds_those_behind_it() {
    let mut bench = calling(10, ["c1", "alone", "c2"]);
    bench.expect_last([
        "assistant/message call c1 call alone call c2",
        "tool/call c1",
    ]);
    bench.tool("c1");
    bench.start_calls();
    bench.expect(["tool/result c1", "tool/call alone"]);
    bench.tool("alone");
    bench.expect(["tool/result alone", "tool/call c2"]);
}

#[test]
fn the_pool_holds_no_more_calls_than_it_has_room_for() {
    let mut bench = calling(2, ["c1", "c2", "c3", "c4"]);
    bench.expect_last(["tool/call c1", "tool/call c2"]);
    bench.tool("c1");
    bench.start_calls();
    bench.expect(["tool/result c1", "tool/call c3"]);
    assert_eq!(bench.open(), [Point::Tool(1), Point::Tool(2)]);
}

#[test]
fn a_call_that_waits_for_its_place_in_the_order_takes_no_room() {
    let mut bench = calling(2, ["c1", "c2", "c3"]);
    bench.skip();
    bench.tool("c2");
    bench.start_calls();
    bench.expect(["tool/call c3"]);
}

#[test]
fn a_pool_of_one_runs_call_by_call() {
    let mut bench = calling(1, ["c1", "c2"]);
    bench.tool("c1");
    bench.tool("c2");
    bench.expect_last([
        "tool/call c1",
        "tool/result c1",
        "tool/call c2",
        "tool/result c2",
        "step/end 1.1",
    ]);
}

#[test]
fn a_failed_tool_is_an_error_result_and_the_turn_goes_on() {
    let mut bench = calling(10, ["c1"]);
    bench.ran("c1", Err(ToolFailure::text("broken")));
    bench.pass();
    bench.expect_last(["tool/result c1 failed", "step/end 1.1", "step/start 1.2"]);
}

#[test]
fn contexts_follow_their_own_result_and_enter_the_next_step() {
    let mut bench = calling(10, ["c1", "c2"]);
    bench.ran("c2", contexts(["k2"]));
    bench.skip();
    bench.ran("c1", contexts(["k1"]));
    bench.expect([
        "tool/result c1",
        "next-step[0]+k1",
        "inserted k1",
        "tool/result c2",
        "next-step[1]+k2",
        "inserted k2",
        "step/end 1.1",
        "next-step[0]-2",
        "claimed k1",
        "claimed k2",
    ]);
}

fn concludes() -> Result<ToolOutput, ToolFailure> {
    Ok(ToolOutput {
        concludes: true,
        ..ToolOutput::default()
    })
}

#[test]
fn a_concluding_result_ends_the_turn_without_another_request() {
    let mut bench = calling(10, ["c1"]);
    bench.skip();
    bench.ran("c1", concludes());
    bench.stopping();
    bench.expect(["tool/result c1", "step/end 1.1", "turn/end 1 completed"]);
}

#[test]
fn a_concluding_result_still_lets_every_other_call_run() {
    let mut bench = calling(1, ["c1", "c2"]);
    bench.ran("c1", concludes());
    bench.tool("c2");
    bench.stopping();
    bench.expect_last(["tool/result c2", "step/end 1.1", "turn/end 1 completed"]);
}

#[test]
fn steering_beside_a_concluding_result_gets_a_step_of_the_same_turn() {
    let mut bench = calling(10, ["c1"]);
    bench.steer("b");
    bench.ran("c1", concludes());
    bench.pass();
    bench.expect_last([
        "step/end 1.1",
        "next-step[0]-1",
        "claimed b",
        "step/start 1.2",
        "user/message b",
    ]);
}

#[test]
fn a_result_that_waited_for_its_place_when_the_stop_came_counts_as_aborted() {
    let mut bench = calling(10, ["c1", "c2"]);
    bench.ran("c2", contexts(["k2"]));
    bench.cancel_keep();
    bench.skip();
    bench.tool("c1");
    bench.expect([
        "tool/result c1 ABORTED",
        "tool/result c2 ABORTED",
        "next-step[0]+k2",
        "inserted k2",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn a_context_that_is_refused_after_the_stop_is_not_reported() {
    let mut bench = calling(10, ["c1"]);
    bench.inject("k1");
    bench.cancel_keep();
    bench.skip();
    bench.ran("c1", contexts(["k1"]));
    bench.expect([
        "tool/result c1 ABORTED",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn a_stop_in_the_midst_of_the_pool_drains_it_and_then_answers_the_rest() {
    let mut bench = calling(2, ["c1", "c2", "c3"]);
    bench.cancel_keep();
    bench.skip();
    bench.tool("c1");
    bench.tool("c2");
    bench.expect([
        "tool/result c1 ABORTED",
        "tool/result c2 ABORTED",
        "tool/call c3",
        "tool/result c3 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn a_stop_while_a_call_is_logged_keeps_its_body_from_beginning() {
    let mut bench = Bench::new();
    bench.on("tool/call c1", crate::support::cancel_keep());
    bench.followup("a");
    bench.pass();
    bench.calls(["c1"]);
    bench.expect_last([
        "tool/call c1",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

/// A call that is prepared while the turn is stopped.
fn stopped_while_preparing() -> Bench {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2"]);
    bench.cancel_keep();
    bench.skip();
    bench
}

const NOT_DISPATCHED: [&str; 5] = [
    "tool/result c1 ABORTED_BEFORE_DISPATCH",
    "tool/call c2",
    "tool/result c2 ABORTED_BEFORE_DISPATCH",
    "step/end 1.1",
    "turn/end 1 aborted user",
];

#[test]
fn a_stop_while_a_call_is_prepared_keeps_its_body_from_beginning() {
    let mut bench = stopped_while_preparing();
    bench.end(End::Prepared(0, Ok(())));
    bench.expect(NOT_DISPATCHED);
}

#[test]
fn a_preparation_that_fails_because_of_the_stop_is_no_failure_of_the_scheduling() {
    let mut bench = stopped_while_preparing();
    bench.end(End::Prepared(0, Err(failure("stopped"))));
    bench.expect(NOT_DISPATCHED);
}

#[test]
fn a_call_that_is_prepared_while_the_scheduling_fails_does_not_begin() {
    let mut bench = Bench::new();
    bench.refuse("tool/result c1", 1);
    bench.followup("a");
    bench.pass();
    bench.calls(["c1", "c2"]);
    bench.end(End::Prepared(0, Ok(())));
    bench.go_on();
    bench.end(End::Ran(0, Ok(ToolOutput::default())));
    bench.skip();
    bench.end(End::Prepared(1, Ok(())));
    bench.expect([
        "tool/result c1",
        "tool/result c2 TOOL_OUTCOME_UNKNOWN",
        "step/end 1.1",
        "agent/error 1.1 log full",
        "turn/end 1 error log full",
    ]);
}
