//! The async shell: the waterfall, driver futures, signals, handles.
//!
//! Not here: order inside a turn; it is the machine's, and the other files have it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream;
use prestep::agent::machine::{Call, Decision, EditError, Keep, Overlap, ToolFailure, ToolOutput};
use prestep::agent::shell::{
    Agent, Assemble, Builder, ChunkStream, Clock, DurableObserver, DurableScope, LiveObserver,
    LiveScope, LocalFuture, Model, ModelRequest, Next, OperationError, Place, PreStep, Signal,
    StepProposal, Tools, TurnStopping,
};
use prestep::event::{
    Body, CancelCause, Chunk, ChunkKind, Event, Failure, Finish, Live, Message, Status, Time,
};

use crate::support::{call, failure, imbalance, line, message};

// Parts of an agent that pause at every await.

/// Is pending once, and asks to be looked at again.
fn pause() -> impl Future<Output = ()> {
    let mut paused = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

/// A model that asks for a tool at its first request, and says a word at all others.
#[derive(Default)]
struct Talker {
    requests: Cell<u32>,
}

impl Model for Talker {
    fn stream(&self, _: ModelRequest) -> ChunkStream {
        self.requests.set(self.requests.get() + 1);
        let (piece, reason) = if self.requests.get() == 1 {
            let block = call("c1");
            (ChunkKind::BlockEnd { index: 0, block }, Finish::ToolCalls)
        } else {
            let text = "hi".into();
            (ChunkKind::TextDelta { index: 0, text }, Finish::Stop)
        };
        let pieces = VecDeque::from([piece, ChunkKind::Finish { reason }]);
        Box::pin(Pieces {
            pieces,
            pause: Box::pin(pause()),
        })
    }
}

/// A stream that pauses before each piece.
struct Pieces {
    pieces: VecDeque<ChunkKind>,
    pause: LocalFuture<()>,
}

impl Stream for Pieces {
    type Item = Result<Chunk, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.pause.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.pause = Box::pin(pause());
        Poll::Ready(self.pieces.pop_front().map(|kind| Ok(kind.into())))
    }
}

/// A tool that pauses while it is prepared and while it runs.
struct Pausing;

impl Tools for Pausing {
    fn classify(&self, _: &Call) -> Overlap {
        Overlap::Parallel
    }

    fn prepare(&self, _: &Call, _: &Place) -> LocalFuture<Result<(), Failure>> {
        Box::pin(async {
            pause().await;
            Ok(())
        })
    }

    fn run(&self, _: &Call, _: &Place) -> LocalFuture<Result<ToolOutput, ToolFailure>> {
        Box::pin(async {
            pause().await;
            Ok(ToolOutput::default())
        })
    }
}

impl TurnStopping for Pausing {
    fn turn_stopping(self: Rc<Self>, _: Place) -> LocalFuture<Result<(), Failure>> {
        Box::pin(async {
            pause().await;
            Ok(())
        })
    }
}

impl Assemble for Pausing {
    fn assemble(self: Rc<Self>, _: Place) -> LocalFuture<Result<Option<Message>, Failure>> {
        Box::pin(async {
            pause().await;
            Ok(None)
        })
    }
}

/// A listener that pauses around its `next`, notes both, and puts its name behind the batch.
struct Named {
    name: &'static str,
    notes: Rc<RefCell<Vec<String>>>,
}

impl PreStep for Named {
    fn pre_step(
        self: Rc<Self>,
        _: Rc<StepProposal>,
        next: Next<StepProposal, Decision>,
    ) -> LocalFuture<Result<Decision, Failure>> {
        Box::pin(async move {
            self.note("in");
            pause().await;
            let inner = next.run().await?;
            pause().await;
            self.note("out");
            Ok(match inner {
                Decision::Enter(inner) => {
                    Decision::Enter([inner, vec![message(self.name)]].concat())
                }
                Decision::Reject => Decision::Reject,
            })
        })
    }
}

impl Named {
    fn note(&self, side: &str) {
        self.notes
            .borrow_mut()
            .push(format!("{} {side}", self.name));
    }
}

/// A listener, an observer or a tool made of a closure.
struct With<F>(F);

impl<F> PreStep for With<F>
where
    F: Fn(Rc<StepProposal>) -> LocalFuture<Result<Decision, Failure>>,
{
    fn pre_step(
        self: Rc<Self>,
        proposal: Rc<StepProposal>,
        _: Next<StepProposal, Decision>,
    ) -> LocalFuture<Result<Decision, Failure>> {
        (self.0)(proposal)
    }
}

impl<F: Fn(Place) -> LocalFuture<Result<Option<Message>, Failure>>> Assemble for With<F> {
    fn assemble(self: Rc<Self>, place: Place) -> LocalFuture<Result<Option<Message>, Failure>> {
        (self.0)(place)
    }
}

impl<F: Fn(&Event, &mut DurableScope<'_>)> DurableObserver for With<F> {
    fn on_durable(&self, event: &Event, scope: &mut DurableScope<'_>) -> Result<(), Failure> {
        (self.0)(event, scope);
        Err(failure("contained"))
    }
}

impl<F: Fn(&Live, &mut LiveScope<'_>)> LiveObserver for With<F> {
    fn on_live(&self, live: &Live, scope: &mut LiveScope<'_>) -> Result<(), Failure> {
        (self.0)(live, scope);
        Err(failure("contained"))
    }
}

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Time {
        7
    }
}

fn builder() -> Builder {
    Agent::builder(Rc::new(Talker::default()))
        .model_name("mock", "mock")
        .clock(Rc::new(Still))
}

/// An agent that pauses wherever it can.
fn pausing() -> Agent {
    let notes = Rc::default();
    let pausing = Rc::new(Pausing);
    builder()
        .pre_step(Rc::new(Named { name: "p", notes }))
        .tools(pausing.clone())
        .assemble(pausing.clone())
        .turn_stopping(pausing)
        .build()
}

// Polling.

/// Remembers whether it was woken.
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Drives for as long as the driver future asks to be looked at again.
fn drive(agent: &Agent) {
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let mut driver = pin!(agent.drive());
    while bell.take() {
        let _ = driver.as_mut().poll(&mut Context::from_waker(&waker));
    }
}

/// Looks at a future once.
fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn lines(agent: &Agent) -> Vec<String> {
    agent.read(|events| events.iter().map(|event| line(&event.body)).collect())
}

fn log(agent: &Agent) -> Vec<Event> {
    agent.read(<[Event]>::to_vec)
}

// The waterfall.

#[test]
fn listeners_nest_and_the_outermost_value_is_the_decision() {
    let notes = Rc::<RefCell<Vec<String>>>::default();
    let named = |name| {
        Rc::new(Named {
            name,
            notes: notes.clone(),
        })
    };
    let agent = builder()
        .pre_step(named("x"))
        .pre_step(named("y"))
        .pre_step(named("z"))
        .build();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    assert_eq!(
        notes.borrow()[..6],
        ["x in", "y in", "z in", "z out", "y out", "x out"]
    );
    let entered = [
        "user/message a",
        "user/message z",
        "user/message y",
        "user/message x",
    ];
    assert_eq!(lines(&agent)[4..8], entered);
}

#[test]
fn a_listener_that_does_not_call_next_is_the_innermost() {
    let notes = Rc::<RefCell<Vec<String>>>::default();
    let named = |name| {
        Rc::new(Named {
            name,
            notes: notes.clone(),
        })
    };
    let gate = With(|_| Box::pin(ready(Ok(Decision::Reject))) as LocalFuture<_>);
    let agent = builder()
        .pre_step(named("x"))
        .pre_step(Rc::new(gate))
        .pre_step(named("z"))
        .build();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    assert_eq!(*notes.borrow(), ["x in", "x out"]);
    assert_eq!(lines(&agent).last().unwrap(), "turn/end 1 blocked");
}

// Driver futures.

#[test]
fn a_driver_is_woken_until_the_agent_is_quiet() {
    let agent = pausing();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    assert!(agent.is_quiet());
    assert_eq!(lines(&agent).last().unwrap(), "turn/end 1 completed");
}

#[test]
fn a_driver_that_waits_is_woken_by_an_operation() {
    let agent = builder().build();
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let mut driver = agent.drive();
    let _ = Pin::new(&mut driver).poll(&mut Context::from_waker(&waker));
    bell.take();
    agent.followup(message("a")).unwrap();
    assert!(bell.take());
}

/// An agent that pauses wherever it can, with two turns to run.
fn pausing_over_two_turns() -> Agent {
    let agent = pausing();
    for id in ["a", "b"] {
        assert_eq!(agent.followup(message(id)), Ok(()));
    }
    agent
}

/// Drops the driver after so many looks, and goes on with another; gives the log, and whether the
/// first driver was still needed.
fn run_with_a_drop_after(looks: usize) -> (Vec<Event>, bool) {
    let agent = pausing_over_two_turns();
    let mut driver = agent.drive();
    for _ in 0..looks {
        let _ = poll(&mut driver);
    }
    drop(driver);
    let was_needed = !agent.is_quiet();
    drive(&agent);
    (log(&agent), was_needed)
}

#[test]
fn a_driver_future_that_is_dropped_at_any_await_loses_nothing() {
    let (undisturbed, _) = run_with_a_drop_after(0);
    for looks in 1.. {
        let (log, was_needed) = run_with_a_drop_after(looks);
        assert_eq!(log, undisturbed, "dropped after {looks} looks");
        if !was_needed {
            assert!(looks > 20, "the run has many awaits");
            return;
        }
    }
}

#[test]
fn a_driver_future_may_be_a_new_one_at_every_await() {
    let (undisturbed, _) = run_with_a_drop_after(0);
    let agent = pausing_over_two_turns();
    while !agent.is_quiet() {
        let _ = poll(&mut agent.drive());
    }
    assert_eq!(log(&agent), undisturbed);
}

#[test]
fn a_driver_is_over_after_disposal() {
    let agent = pausing();
    agent.followup(message("a")).unwrap();
    let mut driver = agent.drive();
    assert!(poll(&mut driver).is_pending());
    agent.dispose().unwrap();
    while !agent.is_quiet() {
        let _ = poll(&mut driver);
    }
    assert!(agent.is_disposed() && poll(&mut driver).is_ready());
    assert_eq!(agent.followup(message("b")), Err(OperationError::Disposed));
}

// Waiting for idle.

#[test]
fn waiting_for_idle_is_over_at_once_when_nothing_is_active() {
    assert!(poll(&mut builder().build().when_idle()).is_ready());
}

#[test]
fn waiting_for_idle_lasts_over_a_replayed_wake() {
    let agent = pausing();
    agent.followup(message("a")).unwrap();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    agent.followup(message("b")).unwrap();
    let mut waiting = agent.when_idle();
    let mut driver = agent.drive();
    while poll(&mut waiting).is_pending() {
        let _ = poll(&mut driver);
    }
    assert_eq!(lines(&agent).last().unwrap(), "turn/end 2 completed");
}

#[test]
fn waiting_for_idle_lasts_over_maintenance() {
    let agent = builder().build();
    agent.run_maintenance(|_| pause()).unwrap();
    let mut waiting = agent.when_idle();
    assert!(poll(&mut waiting).is_pending());
    drive(&agent);
    assert!(poll(&mut waiting).is_ready());
}

#[test]
fn whoever_waits_for_idle_is_woken() {
    let agent = pausing();
    agent.followup(message("a")).unwrap();
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let mut waiting = agent.when_idle();
    assert!(
        Pin::new(&mut waiting)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    bell.take();
    drive(&agent);
    assert!(bell.take());
}

// Signals.

/// A listener that waits for its signal and notes the cause.
fn until_stopped(causes: &Rc<RefCell<Vec<CancelCause>>>) -> Rc<dyn PreStep> {
    let causes = causes.clone();
    Rc::new(With(move |proposal: Rc<StepProposal>| {
        let causes = causes.clone();
        Box::pin(async move {
            let cause = proposal.place.signal.aborted().await;
            causes.borrow_mut().push(cause);
            Err(failure("stopped"))
        }) as LocalFuture<_>
    }))
}

#[test]
fn a_signal_resolves_with_the_first_cause() {
    let causes = Rc::default();
    let agent = builder().pre_step(until_stopped(&causes)).build();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    agent.cancel(CancelCause::Parent, Keep::Inbox).unwrap();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    drive(&agent);
    assert_eq!(*causes.borrow(), [CancelCause::Parent]);
    assert_eq!(lines(&agent).last().unwrap(), "turn/end 1 aborted parent");
}

#[test]
fn a_signal_wakes_the_driver_whose_listener_waits_for_it() {
    let causes = Rc::default();
    let agent = builder().pre_step(until_stopped(&causes)).build();
    agent.followup(message("a")).unwrap();
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let mut driver = agent.drive();
    let _ = Pin::new(&mut driver).poll(&mut Context::from_waker(&waker));
    bell.take();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    assert!(bell.take());
}

#[test]
fn each_turn_has_a_signal_of_its_own() {
    let causes = Rc::default();
    let agent = builder().pre_step(until_stopped(&causes)).build();
    for cause in [CancelCause::User, CancelCause::Parent] {
        agent.followup(message("a")).unwrap();
        drive(&agent);
        agent.cancel(cause, Keep::Nothing).unwrap();
        drive(&agent);
    }
    assert_eq!(*causes.borrow(), [CancelCause::User, CancelCause::Parent]);
}

#[test]
fn the_signal_of_a_turn_that_was_stopped_before_it_was_driven_says_so() {
    let assemble = |place: Place| {
        Box::pin(async move {
            place.signal.aborted().await;
            Err(failure("stopped"))
        }) as LocalFuture<_>
    };
    let agent = builder().assemble(Rc::new(With(assemble))).build();
    agent.followup(message("a")).unwrap();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    drive(&agent);
    assert_eq!(lines(&agent).last().unwrap(), "turn/end 1 aborted user");
}

/// An agent whose signals are kept, each once its decision was asked.
fn keeping_signals() -> (Agent, Rc<RefCell<Vec<Signal>>>) {
    let kept = Rc::<RefCell<Vec<Signal>>>::default();
    let keep = kept.clone();
    let listener = move |proposal: Rc<StepProposal>| {
        keep.borrow_mut().push(proposal.place.signal.clone());
        Box::pin(ready(Ok(Decision::Reject))) as LocalFuture<_>
    };
    (builder().pre_step(Rc::new(With(listener))).build(), kept)
}

#[test]
fn the_signal_of_a_turn_that_is_over_never_resolves() {
    let (agent, kept) = keeping_signals();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    agent.followup(message("b")).unwrap();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    drive(&agent);
    assert_eq!(kept.borrow().len(), 1);
    assert!(!kept.borrow()[0].is_aborted());
}

#[test]
fn the_signal_of_a_maintenance_job_that_is_over_never_resolves() {
    let (agent, _) = keeping_signals();
    let kept = Rc::new(RefCell::new(None));
    let keep = kept.clone();
    let job = move |signal: Signal| {
        *keep.borrow_mut() = Some(signal);
        ready(())
    };
    agent.run_maintenance(job).unwrap();
    drive(&agent);
    agent.followup(message("a")).unwrap();
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    drive(&agent);
    assert!(!kept.borrow().as_ref().unwrap().is_aborted());
}

#[test]
fn a_cancel_of_maintenance_reaches_its_job() {
    let agent = builder().build();
    let seen = Rc::new(RefCell::new(None));
    let see = seen.clone();
    let job = |signal: Signal| async move {
        *see.borrow_mut() = Some(signal.aborted().await);
    };
    agent.run_maintenance(job).unwrap();
    drive(&agent);
    agent.cancel(CancelCause::User, Keep::Inbox).unwrap();
    drive(&agent);
    assert_eq!(*seen.borrow(), Some(CancelCause::User));
    assert!(agent.is_quiet());
}

// Handles and observers.

/// What operations answered, in order.
type Answers = Rc<RefCell<Vec<Result<(), OperationError>>>>;

/// An agent whose observer of durable events holds its handle and notes what it answers.
fn observed_by_its_handle() -> (Agent, Answers) {
    let answers = Answers::default();
    let handle = Rc::<RefCell<Option<Agent>>>::default();
    let (noted, held) = (answers.clone(), handle.clone());
    let observer = move |_: &Event, _: &mut DurableScope<'_>| {
        if let Some(agent) = &*held.borrow() {
            noted.borrow_mut().push(agent.inject(message("b")));
            noted
                .borrow_mut()
                .push(agent.cancel(CancelCause::User, Keep::Nothing));
            noted.borrow_mut().push(agent.look(|_, _, _| ()));
        }
    };
    let agent = builder().observe_durable(Rc::new(With(observer))).build();
    *handle.borrow_mut() = Some(agent.clone());
    (agent, answers)
}

#[test]
fn a_handle_that_is_used_inside_an_observer_is_refused_and_changes_nothing() {
    let (agent, answers) = observed_by_its_handle();
    agent.inject(message("a")).unwrap();
    let refused = Err(OperationError::InPublication);
    assert_eq!(
        *answers.borrow(),
        [refused.clone(), refused.clone(), refused]
    );
    assert_eq!(lines(&agent), ["next-step[0]+a"]);
}

#[test]
fn an_observer_of_a_live_event_may_send_and_a_failing_one_stops_nobody() {
    let observer = |live: &Live, scope: &mut LiveScope<'_>| {
        let status = Status::Idle;
        if *live == (Live::Status { status }) && scope.events().len() < 20 {
            drop::<Result<(), EditError>>(scope.send(
                message("b"),
                prestep::event::Target::NextTurn,
                true,
            ));
        }
    };
    let observer = Rc::new(With(observer));
    let agent = builder()
        .observe_live(observer.clone())
        .observe_live(observer)
        .build();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    let bodies: Vec<Body> = log(&agent).into_iter().map(|event| event.body).collect();
    assert_eq!(imbalance(&bodies), None);
    assert!(lines(&agent).contains(&"turn/start 2".to_owned()));
}

#[test]
fn an_observer_of_a_durable_event_may_stop_and_a_failing_one_stops_nobody() {
    let observer = |event: &Event, scope: &mut DurableScope<'_>| {
        if matches!(event.body, Body::StepStart(_)) {
            let _ = scope.cancel(CancelCause::User, Keep::Inbox);
        }
    };
    let agent = builder().observe_durable(Rc::new(With(observer))).build();
    agent.followup(message("a")).unwrap();
    drive(&agent);
    let all = lines(&agent);
    assert_eq!(
        all[all.len() - 2..],
        ["step/end 1.1", "turn/end 1 aborted user"]
    );
}
