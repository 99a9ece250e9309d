//! Awaiting: what the machine waits for, as futures, and feeding their ends back to it.
//!
//! The futures belong to the agent, not to whoever polls it: dropping a driver future loses
//! nothing, the next one goes on. Not here: what an end leads to; the machine decides.

use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::host::Parts;
use super::plugin::{
    Ask, ChunkStream, FailedRequest, LocalFuture, ModelRequest, Next, Place, Rest, RouteProposal,
    StepProposal, TurnStopping,
};
use super::{Agent, State};
use crate::agent::machine::{Call, Decision, End, Machine, Point, Recovery};
use crate::event::Failure;

/// An awaited point under way, and its end once that is known.
pub(super) struct Awaited {
    point: Point,
    running: Running,
    ended: Option<End>,
}

/// What an awaited point waits for.
enum Running {
    Future(LocalFuture<End>),
    Stream(ChunkStream),
}

impl Running {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        match self {
            Self::Future(future) => future.as_mut().poll(cx),
            Self::Stream(stream) => stream.as_mut().poll_next(cx).map(|item| match item {
                Some(Ok(chunk)) => End::Chunk(chunk),
                Some(Err(failure)) => End::Streamed(Err(failure)),
                None => End::Streamed(Ok(())),
            }),
        }
    }
}

/// What one look at an agent came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// One awaited point ended, and its region ran.
    Moved,
    /// Everything that is awaited is pending.
    Waiting,
}

impl Agent {
    /// Whether an awaited point has ended whose region did not run yet. Takes up what is newly
    /// awaited, and looks at all that is, in the order in which it was begun; the loop's own pauses
    /// come last.
    pub fn is_ready(&self, cx: &mut Context<'_>) -> bool {
        if self.0.ended.borrow().is_none() {
            let looked_at = self.begin_points(cx);
            let ended = self.first_ended(looked_at, cx);
            *self.0.ended.borrow_mut() = ended;
        }
        self.0.ended.borrow().is_some()
    }

    /// Runs at most one region: that of the first awaited point that has ended. The executor of a
    /// simulation calls this; a program awaits [`Agent::drive`].
    pub fn advance(&self, cx: &mut Context<'_>) -> Advance {
        if !self.is_ready(cx) {
            return Advance::Waiting;
        }
        if let Some(end) = self.0.ended.take() {
            self.feed(end);
        }
        Advance::Moved
    }

    /// Takes up every open point that is not under way, and lets go of those that are closed. What
    /// is taken up begins at once, before the region of another point may run; gives the place of
    /// the first that did.
    fn begin_points(&self, cx: &mut Context<'_>) -> usize {
        let mut open = std::mem::take(&mut *self.0.open_points.borrow_mut());
        open.clear();
        self.0
            .state
            .borrow()
            .machine
            .for_each_point(|point| open.push(point));
        self.0
            .running
            .borrow_mut()
            .retain(|awaited| open.contains(&awaited.point));
        let first_new = self.0.running.borrow().len();
        for point in &open {
            let is_new = !self
                .0
                .running
                .borrow()
                .iter()
                .any(|other| other.point == *point);
            if is_new && let Some(running) = self.begin(*point) {
                let place = self.0.running.borrow().len();
                let awaited = Awaited {
                    point: *point,
                    running,
                    ended: None,
                };
                self.0.running.borrow_mut().push(awaited);
                self.poll(place, cx);
            }
        }
        *self.0.open_points.borrow_mut() = open;
        first_new
    }

    /// Looks at one awaited point whose end is not known.
    fn poll(&self, place: usize, cx: &mut Context<'_>) {
        // Taken out while it is polled: it may use the agent's handle.
        let mut awaited = self.0.running.borrow_mut().remove(place);
        if let Poll::Ready(end) = awaited.running.poll(cx) {
            awaited.ended = Some(end);
        }
        self.0.running.borrow_mut().insert(place, awaited);
    }

    /// The end of the first awaited point that has one; those from `looked_at` on were looked at
    /// just now. A piece of a stream leaves its point under way.
    fn first_ended(&self, looked_at: usize, cx: &mut Context<'_>) -> Option<End> {
        let count = self.0.running.borrow().len();
        for place in 0..count {
            let is_known = self.0.running.borrow()[place].ended.is_some();
            if !is_known && place < looked_at {
                self.poll(place, cx);
            }
            let ended = self.0.running.borrow_mut()[place].ended.take();
            if let Some(end) = ended {
                if !matches!(end, End::Chunk(_)) {
                    drop(self.0.running.borrow_mut().remove(place));
                }
                return Some(end);
            }
        }
        let pauses = self.0.state.borrow().machine.awaits(Point::Continue);
        pauses.then_some(End::Continued)
    }

    fn feed(&self, end: End) {
        let mut state = self.0.state.borrow_mut();
        let State { machine, host } = &mut *state;
        // Only ends of open points are ever polled.
        let fed = machine.end(host, end);
        debug_assert!(fed.is_ok(), "{fed:?}");
        drop(state);
        self.after_region();
    }

    /// Begins an awaited point; nothing for the loop's own pauses.
    fn begin(&self, point: Point) -> Option<Running> {
        let parts = self.0.parts.clone();
        let future = match point {
            Point::Continue => return None,
            Point::Model => return self.begin_stream(&parts),
            Point::Assemble => self.begin_assemble(&parts),
            Point::PreStep => self.begin_pre_step(&parts)?,
            Point::Request => self.begin_request(&parts),
            Point::RequestError => self.begin_request_error(&parts)?,
            Point::Prepare(index) => self.begin_prepare(&parts, index)?,
            Point::Tool(index) => self.begin_tool(&parts, index)?,
            Point::TurnStopping => {
                let stopping = stop_turn(parts.turn_stopping.clone(), self.place());
                map(Box::pin(stopping), End::Stopped)
            }
            Point::Maintenance => self.begin_maintenance(),
        };
        Some(Running::Future(future))
    }

    fn begin_assemble(&self, parts: &Parts) -> LocalFuture<End> {
        match &parts.assemble {
            None => Box::pin(ready(End::Assembled(Ok(None)))),
            Some(assemble) => {
                let mut place = self.place();
                place.step += 1;
                map(assemble.clone().assemble(place), End::Assembled)
            }
        }
    }

    fn begin_pre_step(&self, parts: &Parts) -> Option<LocalFuture<End>> {
        let proposal = {
            let state = self.0.state.borrow();
            let proposal = state.machine.proposal()?;
            let signal = self.signal();
            StepProposal {
                place: Place {
                    turn: proposal.turn,
                    step: proposal.step,
                    signal,
                },
                batch: proposal.batch.to_vec(),
                default_entry: proposal.default_entry(),
            }
        };
        let enter = |proposal: &StepProposal| Ok(Decision::Enter(proposal.default_entry.clone()));
        Some(map(
            waterfall(&parts.pre_step, proposal, enter),
            End::Decided,
        ))
    }

    fn begin_request(&self, parts: &Parts) -> LocalFuture<End> {
        let proposal = RouteProposal {
            place: self.place(),
            default_route: parts.route.clone(),
        };
        let route = |proposal: &RouteProposal| {
            let none = || Failure::coded("the agent has no route for its request", "NO_ROUTE");
            proposal.default_route.clone().ok_or_else(none)
        };
        map(waterfall(&parts.request, proposal, route), End::Requested)
    }

    fn begin_stream(&self, parts: &Parts) -> Option<Running> {
        let route = self.0.state.borrow().machine.streaming_route()?.clone();
        let request = ModelRequest {
            place: self.place(),
            route,
            agent: self.clone(),
        };
        Some(Running::Stream(parts.model.stream(request)))
    }

    fn begin_request_error(&self, parts: &Parts) -> Option<LocalFuture<End>> {
        let failure = self.0.state.borrow().machine.request_failure()?.clone();
        let failed = FailedRequest {
            place: self.place(),
            failure,
        };
        let fail = |_: &FailedRequest| Ok(Recovery::Fail);
        Some(map(
            waterfall(&parts.request_error, failed, fail),
            End::Recovered,
        ))
    }

    fn begin_prepare(&self, parts: &Parts, index: usize) -> Option<LocalFuture<End>> {
        let prepared = parts.tools.prepare(&self.call(index)?, &self.place());
        Some(map(prepared, move |result| End::Prepared(index, result)))
    }

    fn begin_tool(&self, parts: &Parts, index: usize) -> Option<LocalFuture<End>> {
        let ran = parts.tools.run(&self.call(index)?, &self.place());
        Some(map(ran, move |result| End::Ran(index, result)))
    }

    fn begin_maintenance(&self) -> LocalFuture<End> {
        match self.0.state.borrow_mut().host.jobs.started.take() {
            Some(job) => map(job, |()| End::Maintained),
            None => Box::pin(ready(End::Maintained)),
        }
    }

    fn call(&self, index: usize) -> Option<Call> {
        self.0.state.borrow().machine.call(index).cloned()
    }

    fn place(&self) -> Place {
        let state = self.0.state.borrow();
        let machine: &Machine = &state.machine;
        Place {
            turn: machine.turn(),
            step: machine.step(),
            signal: self.signal(),
        }
    }
}

/// Asks the listeners from the outermost in.
fn waterfall<Q: 'static, A: 'static>(
    listeners: &Rc<[Rc<Ask<Q, A>>]>,
    question: Q,
    innermost: fn(&Q) -> Result<A, Failure>,
) -> LocalFuture<Result<A, Failure>> {
    let rest = Rest {
        listeners: listeners.clone(),
        from: 0,
        innermost,
    };
    Next {
        question: Rc::new(question),
        rest,
    }
    .run()
}

async fn stop_turn(listeners: Rc<[Rc<dyn TurnStopping>]>, place: Place) -> Result<(), Failure> {
    for listener in listeners.iter() {
        listener.clone().turn_stopping(place.clone()).await?;
    }
    Ok(())
}

fn map<T: 'static>(
    future: LocalFuture<T>,
    end: impl FnOnce(T) -> End + 'static,
) -> LocalFuture<End> {
    Box::pin(async move { end(future.await) })
}

/// See [`Agent::drive`].
#[derive(Debug)]
pub struct Drive(pub(super) Agent);

impl Future for Drive {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while self.0.advance(cx) == Advance::Moved {}
        if self.0.is_disposed() {
            return Poll::Ready(());
        }
        self.0.wake_on_change(cx.waker());
        Poll::Pending
    }
}

/// See [`Agent::when_idle`].
#[derive(Debug)]
pub struct WhenIdle(pub(super) Agent);

impl Future for WhenIdle {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.is_quiet() {
            return Poll::Ready(());
        }
        self.0.wake_on_change(cx.waker());
        Poll::Pending
    }
}
