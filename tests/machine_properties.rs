//! Random schedules of operations and ends, with observers that act and a log that refuses.
//!
//! Not here: single behaviours (`machine`), the inbox alone (`inbox_properties`).

mod support;

use std::hash::{DefaultHasher, Hash, Hasher};

use prestep::agent::machine::{Decision, End, Point, Recovery, ToolFailure, ToolOutput};
use prestep::event::{Body, CancelCause, ChunkKind, Finish, MessageId, Op, Target};
use proptest::prelude::*;
use support::{Bench, call, failure, imbalance, message, route};

/// One move of a schedule.
#[derive(Clone, Debug)]
enum Move {
    Act(Op),
    /// The `pick`-th open point ends in the `way`-th of its ways.
    End {
        pick: usize,
        way: usize,
    },
}

fn play(bench: &mut Bench, moves: &[Move]) {
    for step in moves {
        match step {
            Move::Act(op) => bench.act(op),
            Move::End { pick, way } => {
                let open = bench.open();
                if !open.is_empty() {
                    let end = end_of(bench, open[pick % open.len()], *way);
                    bench.end(end);
                }
            }
        }
    }
}

/// Ends everything calmly until nothing is going on, at most so many times.
fn calm_down(bench: &mut Bench) {
    for _ in 0..400 {
        match bench.open().first() {
            None => return,
            Some(Point::Model) => bench.end(End::Streamed(Ok(()))),
            Some(point) => {
                let end = end_of(bench, *point, 0);
                bench.end(end);
            }
        }
    }
}

/// Ways in which a point may end; the first is the calm one.
fn end_of(bench: &Bench, point: Point, way: usize) -> End {
    let no = || failure("no");
    match point {
        Point::Continue => End::Continued,
        Point::Maintenance => End::Maintained,
        Point::Assemble => End::Assembled(pick(
            way,
            [Ok(None), Ok(Some(message("context"))), Err(no())],
        )),
        Point::PreStep => End::Decided(decision(bench, way)),
        Point::Request => End::Requested(pick(
            way,
            [Ok(route("mock", 1)), Ok(route("mock", 2)), Err(no())],
        )),
        Point::Model => piece(way),
        Point::RequestError => End::Recovered(pick(
            way,
            [Ok(Recovery::Fail), Ok(Recovery::Retry), Err(no())],
        )),
        Point::Prepare(index) => {
            End::Prepared(index, pick(way, [Ok(()), Ok(()), Ok(()), Err(no())]))
        }
        Point::Tool(index) => End::Ran(index, output(way)),
        Point::TurnStopping => End::Stopped(pick(way, [Ok(()), Ok(()), Err(no())])),
    }
}

fn pick<T, const N: usize>(way: usize, ways: [T; N]) -> T {
    let mut ways: Vec<T> = ways.into();
    ways.swap_remove(way % N)
}

fn decision(bench: &Bench, way: usize) -> Result<Decision, prestep::event::Failure> {
    let entry = bench
        .machine
        .proposal()
        .map(|proposal| proposal.default_entry());
    let pass = || Ok(Decision::Enter(entry.clone().unwrap_or_default()));
    let ways = [
        pass(),
        pass(),
        pass(),
        Ok(Decision::Reject),
        Ok(Decision::Enter(Vec::new())),
        Err(failure("no")),
    ];
    pick(way, ways)
}

fn piece(way: usize) -> End {
    let chunk = |kind: ChunkKind| End::Chunk(kind.into());
    let finish = |reason| chunk(ChunkKind::Finish { reason });
    let asks = |index: u32, id: &str| {
        chunk(ChunkKind::BlockEnd {
            index,
            block: call(id),
        })
    };
    let text = ChunkKind::TextDelta {
        index: 0,
        text: "hi".into(),
    };
    let failure = failure("no");
    let ways = [
        End::Streamed(Ok(())),
        chunk(text),
        asks(1, "c1"),
        asks(2, "c2"),
        asks(3, "alone"),
        finish(Finish::MaxTokens),
        finish(Finish::Error {
            failure: failure.clone(),
        }),
        End::Streamed(Err(failure)),
    ];
    pick(way, ways)
}

fn output(way: usize) -> Result<ToolOutput, ToolFailure> {
    let contexts = vec![message("k1"), message("k2")];
    let ways = [
        Ok(ToolOutput::default()),
        Ok(ToolOutput {
            contexts,
            ..ToolOutput::default()
        }),
        Ok(ToolOutput {
            concludes: true,
            ..ToolOutput::default()
        }),
        Err(ToolFailure::text("no")),
    ];
    pick(way, ways)
}

// Strategies.

fn id() -> impl Strategy<Value = MessageId> {
    "[a-e]".prop_map(MessageId::from)
}

fn op() -> impl Strategy<Value = Op> {
    let cause = prop_oneof![Just(CancelCause::User), Just(CancelCause::Parent)];
    prop_oneof![
        4 => id().prop_map(|id| Op::Followup { id }),
        4 => id().prop_map(|id| Op::Steer { id }),
        3 => id().prop_map(|id| Op::Inject { id }),
        1 => id().prop_map(|id| Op::Prepend { target: Target::NextTurn, id }),
        1 => id().prop_map(|id| Op::Remove { id }),
        1 => (id(), id()).prop_map(|(id, with)| Op::Replace { id, with }),
        2 => (cause, any::<bool>()).prop_map(|(cause, keep_inbox)| Op::Cancel { cause, keep_inbox }),
        1 => Just(Op::Maintenance),
    ]
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let end = (0..4_usize, 0..24_usize).prop_map(|(pick, way)| Move::End { pick, way });
    let step = prop_oneof![2 => op().prop_map(Move::Act), 5 => end];
    prop::collection::vec(step, 0..60)
}

/// Beginnings of lines at which observers act or the log refuses.
fn beginning() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "user/message",
        "assistant/",
        "tool/call",
        "tool/result",
        "request/",
        "next-turn",
        "next-step",
        "inserted",
        "discarded",
        "claimed",
        "running",
        "idle",
        "agent/error",
    ])
}

/// A new bench whose observers are about to act.
fn bench() -> impl Strategy<Value = Bench> {
    prop::collection::vec((beginning(), op()), 0..4).prop_map(|reactions| {
        let mut bench = Bench::with_pool(2);
        reactions
            .into_iter()
            .for_each(|(beginning, op)| bench.on(beginning, op));
        bench
    })
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Calls of each assistant message that have no result before its step ends.
fn unanswered(log: &[Body]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut left = Vec::new();
    for body in log {
        match body {
            Body::AssistantMessage(said) => {
                let calls = said.message.content.iter().filter_map(|block| match block {
                    prestep::event::Block::ToolCall { id, .. } => Some(id.to_string()),
                    _ => None,
                });
                open = calls.collect();
            }
            Body::ToolResult(_) if !open.is_empty() => drop(open.remove(0)),
            Body::StepEnd(_) => left.append(&mut open),
            _ => {}
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_quiet_machine_leaves_a_balanced_log(mut bench in bench(), moves in moves()) {
        for step in moves {
            play(&mut bench, &[step]);
            if bench.machine.is_quiet() {
                prop_assert_eq!(imbalance(&bench.host.log), None);
            }
        }
        calm_down(&mut bench);
        prop_assert!(bench.machine.is_quiet());
        prop_assert_eq!(imbalance(&bench.host.log), None);
        prop_assert_eq!(unanswered(&bench.host.log), Vec::<String>::new());
    }

    #[test]
    fn once_a_log_accepts_again_everything_that_it_refused_to_close_is_closed(
        mut bench in bench(),
        refusals in prop::collection::vec((beginning(), 1..3_usize), 0..4),
        moves in moves(),
    ) {
        refusals.into_iter().for_each(|(beginning, times)| bench.refuse(beginning, times));
        play(&mut bench, &moves);
        calm_down(&mut bench);
        bench.host.accept_all();
        bench.followup("last");
        calm_down(&mut bench);
        prop_assert!(bench.machine.is_quiet());
        prop_assert_eq!(imbalance(&bench.host.log), None);
    }

    #[test]
    fn a_disposed_machine_is_quiet_balanced_and_appends_nothing_more(
        mut bench in bench(),
        moves in moves(),
        more in moves(),
    ) {
        play(&mut bench, &moves);
        bench.act(&Op::Dispose);
        calm_down(&mut bench);
        prop_assert!(bench.machine.is_quiet() && bench.machine.is_disposed());
        prop_assert_eq!(imbalance(&bench.host.log), None);
        let log = bench.host.log.clone();
        play(&mut bench, &more);
        prop_assert_eq!(bench.host.log, log);
    }

    #[test]
    fn a_clone_that_is_fed_the_same_stays_equal(
        mut bench in bench(),
        before in moves(),
        after in moves(),
    ) {
        play(&mut bench, &before);
        let mut other = bench.clone();
        prop_assert_eq!(hash(&bench), hash(&other));
        for step in after {
            play(&mut bench, std::slice::from_ref(&step));
            play(&mut other, &[step]);
            prop_assert_eq!(&bench, &other);
            prop_assert_eq!(hash(&bench.machine), hash(&other.machine));
        }
    }
}
