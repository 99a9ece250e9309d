//! Putting together, cutting off and retrying a model's stream; when its route is logged.
//!
//! Not here: the calls that a stream asks for (`tools`).

use std::sync::Arc;

use prestep::agent::machine::{End, Limits, LoggedRoute, Origin, Recovery};
use prestep::event::{Body, ChunkKind, Finish, Seq};
use serde_json::json;

use crate::support::{Bench, call, cancel_keep, enter, failure, route};

/// A step of `a` whose model is asked.
fn streaming() -> Bench {
    let mut bench = Bench::new();
    bench.followup("a");
    bench.pass();
    bench.route();
    bench.skip();
    bench
}

fn overloaded() -> Finish {
    let failure = failure("overloaded");
    Finish::Error { failure }
}

fn reasoning(text: &str) -> ChunkKind {
    let text = text.into();
    ChunkKind::ReasoningDelta { index: 0, text }
}

/// A piece of a call, in the block after the text.
fn part_of(id: &str) -> ChunkKind {
    ChunkKind::ToolCallDelta {
        index: 1,
        id: id.into(),
        name: "shared".into(),
        arguments_delta: "{".into(),
    }
}

/// Where the only assistant message of a log says that it was made from.
fn sources(bench: &Bench) -> Vec<Seq> {
    match bench.logged("assistant/message")[..] {
        [Body::AssistantMessage(said)] => {
            said.surface.source_event_seqs.clone().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Where the chunks with this text stand in the log.
fn places(bench: &Bench, text: &str) -> Vec<Seq> {
    let line = format!("assistant/chunk {text}");
    let log = (0..).zip(&bench.host.log);
    let meant = log.filter(|(_, body)| crate::support::line(body) == line);
    meant.map(|(place, _)| place).collect()
}

#[test]
fn deltas_of_one_block_become_one_text() {
    let mut bench = streaming();
    bench.say("hel");
    bench.answer("lo");
    bench.expect_last([
        "assistant/chunk finish",
        "assistant/message hello",
        "step/end 1.1",
    ]);
}

#[test]
fn a_message_cites_every_chunk_of_its_attempt() {
    let mut bench = streaming();
    bench.answer("hi");
    let expected = [places(&bench, "hi"), places(&bench, "finish")].concat();
    assert_eq!(sources(&bench), expected);
}

#[test]
fn a_retry_stays_in_its_step_and_only_the_last_attempt_is_cited() {
    let mut bench = streaming();
    bench.say("hel");
    bench.finish(overloaded());
    bench.recover(Recovery::Retry);
    bench.skip();
    bench.answer("bye");
    bench.expect([
        "assistant/chunk bye",
        "assistant/chunk finish",
        "assistant/message bye",
        "step/end 1.1",
    ]);
    let last = places(&bench, "bye")[0];
    assert_eq!(sources(&bench), [last, last + 1]);
}

#[test]
fn a_retry_may_go_on_a_changed_route() {
    let mut bench = streaming();
    bench.finish(overloaded());
    bench.recover(Recovery::Retry);
    bench.skip();
    bench.end(End::Requested(Ok(route("spare", 1))));
    bench.expect(["request/context spare"]);
}

#[test]
fn a_failure_that_nobody_retries_leaves_no_message_and_fails_the_turn() {
    let mut bench = streaming();
    bench.say("hel");
    bench.finish(overloaded());
    bench.skip();
    bench.recover(Recovery::Fail);
    bench.expect([
        "step/end 1.1",
        "agent/error 1.1 overloaded",
        "turn/end 1 error overloaded",
    ]);
}

#[test]
fn a_recovery_that_fails_itself_is_the_failure_of_the_turn() {
    let mut bench = streaming();
    bench.finish(overloaded());
    bench.end(End::Recovered(Err(failure("worse"))));
    bench.expect_last(["agent/error 1.1 worse", "turn/end 1 error worse"]);
}

#[test]
fn a_stream_that_breaks_is_logged_as_one_that_finished_with_an_error() {
    let mut bench = streaming();
    bench.end(End::Streamed(Err(failure("cut"))));
    bench.expect(["assistant/chunk finish"]);
    assert_eq!(bench.machine.request_failure(), Some(&failure("cut")));
}

#[test]
fn a_provider_that_gives_up_fails_the_turn_with_a_code() {
    let mut bench = streaming();
    bench.finish(Finish::Aborted {
        failure: failure("gave up"),
    });
    assert_eq!(bench.machine.request_failure(), Some(&failure("gave up")));
}

#[test]
fn a_stream_without_a_finish_counts_as_completed() {
    let mut bench = streaming();
    bench.say("hi");
    bench.end(End::Streamed(Ok(())));
    bench.stopping();
    bench.expect_last([
        "assistant/message hi",
        "step/end 1.1",
        "turn/end 1 completed",
    ]);
}

#[test]
fn an_empty_answer_leaves_an_empty_message() {
    let mut bench = streaming();
    bench.finish(Finish::Stop);
    bench.expect([
        "assistant/chunk finish",
        "assistant/message ",
        "step/end 1.1",
    ]);
}

#[test]
fn a_cut_off_stream_keeps_reasoning_alone() {
    let mut bench = streaming();
    bench.chunk(reasoning("hm"));
    bench.cancel_keep();
    bench.end(End::Streamed(Ok(())));
    bench.expect_last([
        "assistant/message (hm) interrupted",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
    assert_eq!(sources(&bench), places(&bench, "hm"));
}

#[test]
fn a_cut_off_stream_drops_half_a_call_and_keeps_the_text() {
    let mut bench = streaming();
    bench.say("hi");
    bench.chunk(part_of("c1"));
    bench.cancel_keep();
    bench.end(End::Streamed(Ok(())));
    bench.expect_last([
        "assistant/message hi interrupted",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn a_cut_off_stream_drops_a_whole_call_as_well() {
    let mut bench = streaming();
    bench.on("assistant/chunk call c1", cancel_keep());
    let block = call("c1");
    bench.chunk(ChunkKind::BlockEnd { index: 0, block });
    bench.end(End::Streamed(Ok(())));
    bench.expect([
        "assistant/chunk call c1",
        "step/end 1.1",
        "turn/end 1 aborted user",
    ]);
}

#[test]
fn a_cut_off_stream_of_empty_text_leaves_no_message() {
    let mut bench = streaming();
    bench.say("");
    bench.cancel_keep();
    bench.end(End::Streamed(Ok(())));
    bench.expect_last(["step/end 1.1", "turn/end 1 aborted user"]);
    assert_eq!(bench.count("assistant/message"), 0);
}

#[test]
fn the_ceiling_of_tokens_ends_the_turn_so() {
    let mut bench = streaming();
    bench.say("hi");
    bench.finish(Finish::MaxTokens);
    bench.stopping();
    bench.expect_last([
        "assistant/message hi",
        "step/end 1.1",
        "turn/end 1 max-tokens",
    ]);
}

#[test]
fn the_ceiling_of_tokens_drops_the_calls_that_it_cut_off() {
    let mut bench = streaming();
    bench.say("hi");
    bench.chunk(part_of("c1"));
    bench.finish(Finish::MaxTokens);
    bench.expect_last([
        "assistant/chunk finish",
        "assistant/message hi",
        "step/end 1.1",
    ]);
}

#[test]
fn the_ceiling_of_tokens_sticks_over_a_later_completed_step() {
    let mut bench = streaming();
    bench.finish(Finish::MaxTokens);
    bench.steer("b");
    bench.stopping();
    bench.pass();
    bench.answer("hi");
    bench.stopping();
    bench.expect_last(["step/end 1.2", "turn/end 1 max-tokens"]);
}

#[test]
fn the_ceiling_of_tokens_does_not_reach_the_next_turn() {
    let mut bench = streaming();
    bench.followup("b");
    bench.finish(Finish::MaxTokens);
    bench.stopping();
    bench.go_on();
    bench.pass();
    bench.answer("hi");
    bench.stopping();
    bench.expect_last(["step/end 2.1", "turn/end 2 completed"]);
}

#[test]
fn an_emptied_later_entry_ends_the_turn_as_it_had_ended() {
    let mut bench = streaming();
    bench.steer("b");
    bench.answer("hi");
    bench.skip();
    bench.decide(enter([]));
    bench.expect(["turn/end 1 completed"]);
}

#[test]
fn steering_during_the_last_word_goes_on_with_the_same_turn() {
    let mut bench = streaming();
    bench.answer("hi");
    bench.steer("b");
    bench.skip();
    bench.stopping();
    bench.pass();
    bench.expect([
        "next-step[0]-1",
        "claimed b",
        "step/start 1.2",
        "user/message b",
    ]);
}

#[test]
fn a_new_session_logs_its_route_once() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.go_on();
    bench.turn("b");
    assert_eq!(bench.count("request/header initial"), 1);
    assert_eq!(bench.count("request/"), 2);
}

#[test]
fn a_changed_header_is_logged_as_a_change_and_an_equal_context_is_not() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.go_on();
    bench.followup("b");
    bench.pass();
    bench.skip();
    bench.end(End::Requested(Ok(route("mock", 2))));
    bench.expect(["request/header change"]);
}

#[test]
fn a_changed_context_is_logged_and_an_equal_header_is_not() {
    let mut bench = Bench::new();
    bench.turn("a");
    bench.go_on();
    bench.followup("b");
    bench.pass();
    bench.skip();
    bench.end(End::Requested(Ok(route("other", 1))));
    bench.expect(["request/context other"]);
}

#[test]
fn a_resumed_loop_logs_its_first_header_though_it_is_equal() {
    let logged = LoggedRoute {
        header: Some(Arc::new(json!({ "version": 1 }))),
        context: Some(route("mock", 1).context),
        own: false,
    };
    let origin = Origin {
        route: logged,
        ..Origin::default()
    };
    let mut bench = Bench::resumed(origin, Limits::default());
    bench.followup("a");
    bench.pass();
    bench.skip();
    bench.route();
    bench.expect(["request/header resume"]);
}
