//! Maintenance, wakes that come after an abort, and the way back to idle.
//!
//! Not here: disposal (`decisions`).

use prestep::agent::machine::{End, Point};
use prestep::event::{Op, Status};

use crate::support::{Bench, cancel_keep, enter, followup, reject, remove};

/// A turn of `a` under a keeping cancel, deciding.
fn converging() -> Bench {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.assemble();
    bench.cancel_keep();
    bench.skip();
    bench
}

fn maintaining() -> Bench {
    let mut bench = Bench::new();
    bench.act(&Op::Maintenance);
    bench
}

#[test]
fn a_late_steer_goes_to_the_tail_of_next_turn_and_runs_when_the_stop_is_through() {
    let mut bench = converging();
    bench.steer("b");
    bench.decide(reject());
    bench.go_on();
    bench.expect([
        "next-turn[0]+b",
        "inserted b",
        "turn/end 1 aborted user",
        "idle",
        "running",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
}

#[test]
fn a_late_inject_keeps_its_list_and_wakes_nobody() {
    let mut bench = converging();
    bench.inject("b");
    bench.decide(reject());
    bench.go_on();
    bench.expect([
        "next-step[0]+b",
        "inserted b",
        "turn/end 1 aborted user",
        "idle",
    ]);
}

#[test]
fn a_late_wake_takes_what_was_parked_with_it() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.followup("b");
    bench.cancel_keep();
    bench.followup("c");
    bench.assemble();
    bench.go_on();
    bench.expect_last(["running", "turn/start 2", "next-turn[0]-1", "claimed b"]);
    assert_eq!(bench.pending(), [vec!["c"], vec![]]);
}

#[test]
fn a_late_wake_whose_message_was_removed_starts_nothing() {
    let mut bench = converging();
    bench.steer("b");
    bench.act(&remove("b"));
    bench.decide(reject());
    bench.go_on();
    bench.expect_last(["turn/end 1 aborted user", "idle"]);
}

#[test]
fn a_send_whose_insertion_is_answered_with_a_stop_is_not_late() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.on("inserted b", cancel_keep());
    bench.steer("b");
    bench.assemble();
    bench.go_on();
    bench.expect_last([
        "next-step[0]+b",
        "inserted b",
        "turn/end 1 aborted user",
        "idle",
    ]);
}

#[test]
fn a_wake_from_the_idle_notice_starts_the_next_driver() {
    let mut bench = Bench::new();
    bench.on("idle", followup("b"));
    bench.turn("a");
    bench.skip();
    bench.go_on();
    bench.expect([
        "idle",
        "next-turn[0]+b",
        "inserted b",
        "running",
        "turn/start 2",
        "next-turn[0]-1",
        "claimed b",
    ]);
}

#[test]
fn what_is_queued_is_drained_by_one_driver() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.inject("b");
    bench.skip();
    bench.go_on();
    bench.expect(["turn/start 2", "next-step[0]-1", "claimed b"]);
}

#[test]
fn a_rejected_turn_parks_what_is_queued() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.followup("b");
    bench.skip();
    bench.decide(reject());
    bench.go_on();
    bench.expect(["turn/end 1 blocked", "idle"]);
}

#[test]
fn an_emptied_first_entry_parks_what_is_queued() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.followup("b");
    bench.skip();
    bench.decide(enter([]));
    bench.go_on();
    bench.expect(["turn/end 1 completed", "idle"]);
}

#[test]
fn maintenance_counts_as_idle_and_is_not_quiet() {
    let bench = maintaining();
    assert_eq!(bench.machine.status(), Status::Idle);
    assert!(!bench.machine.is_quiet());
    assert_eq!(bench.open(), [Point::Maintenance]);
}

#[test]
fn maintenance_holds_a_wake_back_until_it_is_over() {
    let mut bench = maintaining();
    bench.followup("a");
    bench.end(End::Maintained);
    bench.expect([
        "next-turn[0]+a",
        "inserted a",
        "running",
        "turn/start 1",
        "next-turn[0]-1",
        "claimed a",
    ]);
}

#[test]
fn maintenance_that_ends_without_a_wake_starts_nothing() {
    let mut bench = maintaining();
    bench.inject("a");
    bench.skip();
    bench.end(End::Maintained);
    bench.expect([]);
    assert!(bench.machine.is_quiet());
}

#[test]
fn a_wake_during_maintenance_whose_message_was_removed_starts_nothing() {
    let mut bench = maintaining();
    bench.followup("a");
    bench.act(&remove("a"));
    bench.skip();
    bench.end(End::Maintained);
    bench.expect([]);
}

#[test]
fn a_broad_cancel_of_maintenance_forgets_the_wake_and_a_later_one_counts() {
    let mut bench = maintaining();
    bench.followup("a");
    bench.cancel();
    bench.followup("b");
    bench.skip();
    bench.end(End::Maintained);
    bench.expect(["running", "turn/start 1", "next-turn[0]-1", "claimed b"]);
}

#[test]
fn a_broad_cancel_of_maintenance_forgets_the_wake_though_something_is_pending_again() {
    let mut bench = maintaining();
    bench.followup("a");
    bench.cancel();
    bench.inject("b");
    bench.skip();
    bench.end(End::Maintained);
    bench.expect([]);
}

#[test]
fn a_keeping_cancel_of_maintenance_leaves_the_wake() {
    let mut bench = maintaining();
    bench.followup("a");
    bench.cancel_keep();
    bench.skip();
    bench.end(End::Maintained);
    bench.expect(["running", "turn/start 1", "next-turn[0]-1", "claimed a"]);
}

#[test]
fn maintenance_is_refused_while_something_is_active() {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.skip();
    bench.act(&Op::Maintenance);
    bench.expect(["refused the agent is active already"]);
    let mut bench = maintaining();
    bench.act(&Op::Maintenance);
    bench.expect(["refused the agent is active already"]);
}

#[test]
fn maintenance_may_start_while_a_splice_is_published_and_then_holds_its_wake_back() {
    let mut bench = Bench::new();
    bench.on("next-turn[0]+a", Op::Maintenance);
    bench.followup("a");
    bench.expect(["next-turn[0]+a", "inserted a"]);
    bench.end(End::Maintained);
    bench.expect(["running", "turn/start 1", "next-turn[0]-1", "claimed a"]);
}
