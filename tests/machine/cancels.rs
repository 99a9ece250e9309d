//! Which events follow a cancel, by the moment at which it lands.
//!
//! Broad cancels clear what is pending, keeping ones leave it. Not here: cancels during `turn/start`
//! and `turn/end` (`decisions`).

use prestep::agent::machine::{End, Recovery, ToolFailure, ToolOutput};
use prestep::event::{CancelCause, Finish};

use crate::support::{
    Bench, cancel, cancel_for, cancel_keep, contexts, enter, failure, followup, reject,
};

const NONE: Vec<&str> = Vec::new();

/// A turn that decides about `a`, with `b` queued behind.
fn deciding() -> Bench {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.followup("b");
    bench.assemble();
    bench.skip();
    bench
}

/// A step of `a` whose model is asked, with `b` queued behind.
fn streaming() -> Bench {
    let mut bench = deciding();
    bench.pass();
    bench.route();
    bench.skip();
    bench
}

#[test]
fn at_idle_with_nothing_pending_it_does_nothing() {
    let mut bench = Bench::new();
    let before = bench.clone();
    bench.cancel();
    assert_eq!(bench, before);
    bench.followup("a");
    bench.expect_last(["running", "turn/start 1", "next-turn[0]-1", "claimed a"]);
}

#[test]
fn at_idle_it_clears_next_step_and_then_next_turn() {
    let mut bench = Bench::new();
    bench.inject("a");
    bench.act(&prestep::event::Op::Append {
        target: prestep::event::Target::NextTurn,
        id: "b".into(),
    });
    bench.skip();
    bench.cancel();
    bench.expect([
        "next-step[0]-1 canceled",
        "discarded a",
        "next-turn[0]-1 canceled",
        "discarded b",
    ]);
}

#[test]
fn while_the_waking_message_is_announced_it_leaves_an_empty_turn() {
    let mut bench = Bench::new();
    bench.on("inserted a", cancel());
    bench.followup("a");
    bench.decide(enter([]));
    bench.go_on();
    bench.expect([
        "next-turn[0]+a",
        "inserted a",
        "next-turn[0]-1 canceled",
        "discarded a",
        "running",
        "turn/start 1",
        "turn/end 1 completed",
        "idle",
    ]);
}

#[test]
fn while_running_is_announced_no_turn_opens() {
    let mut bench = Bench::new();
    bench.on("running", cancel());
    bench.followup("a");
    bench.go_on();
    bench.expect_last(["running", "next-turn[0]-1 canceled", "discarded a", "idle"]);
}

#[test]
fn while_running_is_announced_a_keeping_one_parks_the_message() {
    let mut bench = Bench::new();
    bench.on("running", cancel_keep());
    bench.followup("a");
    bench.go_on();
    bench.expect_last(["running", "idle"]);
    assert_eq!(bench.pending(), [vec!["a"], NONE]);
}

#[test]
fn right_after_the_send_the_claimed_message_is_gone_even_with_keep() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.skip();
    bench.cancel_keep();
    bench.assemble();
    bench.go_on();
    bench.expect(["turn/end 1 aborted user", "idle"]);
    assert_eq!(bench.pending(), [NONE, NONE]);
}

#[test]
fn while_claims_are_announced_the_remaining_ones_still_are() {
    let mut bench = Bench::new();
    bench.on("claimed a", cancel());
    bench.inject("a");
    bench.followup("b");
    bench.assemble();
    bench.expect_last(["claimed a", "claimed b", "turn/end 1 aborted user"]);
}

#[test]
fn while_the_assembly_is_awaited_its_result_is_ignored() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.skip();
    bench.cancel();
    bench.end(End::Assembled(Err(failure("stopped"))));
    bench.expect(["turn/end 1 aborted user"]);
}

#[test]
fn while_the_decision_is_awaited_a_broad_one_discards_the_queue_and_beats_an_entry() {
    let mut bench = deciding();
    bench.cancel();
    bench.decide(enter(["a"]));
    bench.go_on();
    bench.expect([
        "next-turn[0]-1 canceled",
        "discarded b",
        "turn/end 1 aborted user",
        "idle",
    ]);
}

#[test]
fn while_the_decision_is_awaited_a_keeping_one_parks_the_queue_and_beats_a_reject() {
    let mut bench = deciding();
    bench.cancel_keep();
    bench.decide(reject());
    bench.go_on();
    bench.expect(["turn/end 1 aborted user", "idle"]);
    assert_eq!(bench.pending(), [vec!["b"], NONE]);
}

#[test]
fn while_the_decision_is_awaited_its_failure_is_not_reported() {
    let mut bench = deciding();
    bench.cancel_keep();
    bench.decide(Err(failure("stopped")));
    bench.expect(["turn/end 1 aborted user"]);
}

#[test]
fn while_step_start_is_published_the_messages_enter_and_no_model_is_asked() {
    let mut bench = Bench::new();
    bench.on("step/start", cancel());
    bench.followup("a");
    bench.skip();
    bench.pass();
    bench.expect([
        "step/start 1.1",
        "user/message a",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn while_step_start_is_published_a_broad_one_discards_the_queue() {
    let mut bench = deciding();
    bench.on("step/start", cancel());
    bench.pass();
    bench.expect([
        "step/start 1.1",
        "next-turn[0]-1 canceled",
        "discarded b",
        "user/message a",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn while_the_route_is_awaited_no_request_is_logged() {
    let mut bench = deciding();
    bench.pass();
    bench.skip();
    bench.cancel_keep();
    bench.route();
    bench.expect(["step/end 1.1", "turn/end 1 aborted user"]);
}

#[test]
fn while_the_model_speaks_what_was_visible_stays() {
    let mut bench = streaming();
    bench.say("hel");
    bench.skip();
    bench.cancel_keep();
    bench.say("lo");
    bench.expect([
        "assistant/message hel interrupted",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
    assert_eq!(bench.pending(), [vec!["b"], NONE]);
}

#[test]
fn while_the_model_is_silent_it_leaves_no_message() {
    let mut bench = streaming();
    bench.cancel_keep();
    bench.end(End::Streamed(Err(failure("stopped"))));
    bench.expect(["step/end 1.1", "turn/end 1 aborted user"]);
}

#[test]
fn while_the_last_chunk_is_published_the_complete_answer_counts_as_interrupted() {
    let mut bench = streaming();
    bench.on("assistant/chunk finish", cancel_keep());
    bench.answer("hi");
    bench.expect_last([
        "assistant/message hi interrupted",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn while_recovery_is_awaited_a_retry_is_ignored() {
    let mut bench = streaming();
    let failure = failure("overloaded");
    bench.finish(Finish::Error { failure });
    bench.skip();
    bench.cancel_keep();
    bench.recover(Recovery::Retry);
    bench.expect(["step/end 1.1", "turn/end 1 aborted user"]);
}

#[test]
fn while_the_assistant_message_is_published_its_calls_get_error_pairs() {
    let mut bench = streaming();
    bench.on("assistant/message", cancel_keep());
    bench.calls(["c1", "c2"]);
    bench.expect_last([
        "assistant/message call c1 call c2",
        "tool/call c1",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn while_a_tool_runs_its_success_counts_as_aborted_and_its_contexts_survive() {
    let mut bench = streaming();
    bench.calls(["c1"]);
    bench.start_calls();
    bench.skip();
    bench.cancel();
    bench.ran("c1", contexts(["k1"]));
    bench.expect([
        "next-turn[0]-1 canceled",
        "discarded b",
        "tool/result c1 ABORTED",
        "next-step[0]+k1",
        "inserted k1",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
    assert_eq!(bench.pending(), [NONE, vec!["k1"]]);
}

#[test]
fn while_a_tool_runs_its_own_failure_stands() {
    let mut bench = streaming();
    bench.calls(["c1"]);
    bench.start_calls();
    bench.cancel_keep();
    bench.skip();
    bench.ran("c1", Err(ToolFailure::text("broken")));
    bench.expect([
        "tool/result c1 failed",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn while_plugins_have_the_last_word_the_turn_ends_aborted_after_its_step() {
    let mut bench = streaming();
    bench.answer("hi");
    bench.skip();
    bench.cancel_keep();
    bench.stopping();
    bench.go_on();
    bench.expect(["turn/end 1 aborted user", "idle"]);
    assert_eq!(bench.pending(), [vec!["b"], NONE]);
}

#[test]
fn while_step_end_is_published_plugins_have_no_last_word() {
    let mut bench = streaming();
    bench.on("step/end", cancel_keep());
    bench.answer("hi");
    bench.expect_last(["step/end 1.1", "turn/end 1 aborted user"]);
}

#[test]
fn a_second_one_does_not_change_the_cause() {
    let mut bench = deciding();
    bench.cancel_keep();
    bench.act(&cancel_for(CancelCause::Parent, true));
    bench.decide(reject());
    bench.expect(["turn/end 1 aborted user"]);
}

#[test]
fn a_second_broad_one_clears_the_queue_and_the_latched_wake() {
    let mut bench = deciding();
    bench.cancel_keep();
    bench.followup("c");
    bench.skip();
    bench.cancel();
    bench.decide(reject());
    bench.go_on();
    bench.expect([
        "next-turn[0]-2 canceled",
        "discarded b",
        "discarded c",
        "turn/end 1 aborted user",
        "idle",
    ]);
}

#[test]
fn a_second_broad_one_forgets_the_wake_though_something_is_pending_again() {
    let mut bench = deciding();
    bench.cancel_keep();
    bench.followup("c");
    bench.cancel();
    bench.inject("d");
    bench.decide(reject());
    bench.go_on();
    bench.expect_last(["turn/end 1 aborted user", "idle"]);
}

#[test]
fn whose_clearing_is_refused_stops_all_the_same() {
    let mut bench = deciding();
    bench.refuse("next-turn[0]-1 canceled", 1);
    bench.cancel();
    bench.decide(reject());
    bench.expect([
        "refused next-turn[0]-1 canceled",
        "refused the log refused: log full",
        "turn/end 1 aborted user",
    ]);
    assert_eq!(bench.pending(), [vec!["b"], NONE]);
}

/// What an observer of a discard sends comes before the abort.
#[test]
fn whose_discard_is_answered_with_a_send_keeps_that_send() {
    let mut bench = deciding();
    bench.on("discarded b", followup("c"));
    bench.cancel();
    bench.decide(reject());
    bench.go_on();
    bench.expect_last([
        "next-turn[0]+c",
        "inserted c",
        "turn/end 1 aborted user",
        "idle",
    ]);
    assert_eq!(bench.pending(), [vec!["c"], NONE]);
}

#[test]
fn after_the_tools_answered_the_next_boundary_is_not_reached() {
    let mut bench = streaming();
    bench.on("tool/result c1", cancel_keep());
    bench.calls(["c1"]);
    bench.steer("d");
    bench.start_calls();
    bench.skip();
    bench.ran("c1", Ok(ToolOutput::default()));
    bench.expect(["tool/result c1", "step/end 1.1", "turn/end 1 aborted user"]);
    assert_eq!(bench.pending(), [vec!["b"], vec!["d"]]);
}
