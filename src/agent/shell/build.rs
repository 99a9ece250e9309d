//! Building an agent from its parts.
//!
//! Not here: what the parts are for (`plugin`).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::host::{Jobs, Parts, ShellHost};
use super::plugin::{
    Ask, Assemble, Clock, DurableObserver, FailedRequest, LiveObserver, LocalFuture, Model, Place,
    PreStep, Request, RequestError, RouteProposal, StepProposal, Tools, TurnStopping,
};
use super::{Agent, Inner, State};
use crate::agent::log::{Memory, SessionLog, Storage};
use crate::agent::machine::{
    Call, Decision, Limits, Machine, Origin, Overlap, Recovery, Route, ToolFailure, ToolOutput,
};
use crate::event::{Extra, RequestContext, Time};

/// Collects the parts of an agent. Listeners and observers are asked in the order in which they
/// are added here; the first of a waterfall is its outermost.
pub struct Builder {
    pre_step: Vec<Rc<Ask<StepProposal, Decision>>>,
    request: Vec<Rc<Ask<RouteProposal, Route>>>,
    request_error: Vec<Rc<Ask<FailedRequest, Recovery>>>,
    turn_stopping: Vec<Rc<dyn TurnStopping>>,
    assemble: Option<Rc<dyn Assemble>>,
    durable: Vec<Rc<dyn DurableObserver>>,
    live: Vec<Rc<dyn LiveObserver>>,
    model: Rc<dyn Model>,
    tools: Rc<dyn Tools>,
    clock: Rc<dyn Clock>,
    route: Option<Route>,
    limits: Limits,
    origin: Origin,
    log: SessionLog<Box<dyn Storage>>,
}

impl Agent {
    /// Begins an agent around a model: no plugin, no tool, a log in memory, the system's clock.
    #[must_use]
    pub fn builder(model: Rc<dyn Model>) -> Builder {
        Builder {
            pre_step: Vec::new(),
            request: Vec::new(),
            request_error: Vec::new(),
            turn_stopping: Vec::new(),
            assemble: None,
            durable: Vec::new(),
            live: Vec::new(),
            model,
            tools: Rc::new(NoTools),
            clock: Rc::new(SystemClock),
            route: None,
            limits: Limits::default(),
            origin: Origin::default(),
            log: SessionLog::new(Box::new(Memory::default())),
        }
    }
}

impl Builder {
    /// Adds a listener of the pre-step decision.
    #[must_use]
    pub fn pre_step(mut self, listener: Rc<dyn PreStep>) -> Self {
        self.pre_step.push(Rc::new(move |question, next| {
            listener.clone().pre_step(question, next)
        }));
        self
    }

    /// Adds a listener of the choice of route.
    #[must_use]
    pub fn request(mut self, listener: Rc<dyn Request>) -> Self {
        self.request.push(Rc::new(move |question, next| {
            listener.clone().request(question, next)
        }));
        self
    }

    /// Adds a listener of failed requests.
    #[must_use]
    pub fn request_error(mut self, listener: Rc<dyn RequestError>) -> Self {
        self.request_error.push(Rc::new(move |question, next| {
            listener.clone().request_error(question, next)
        }));
        self
    }

    /// Adds a listener that is asked before a turn closes.
    #[must_use]
    pub fn turn_stopping(mut self, listener: Rc<dyn TurnStopping>) -> Self {
        self.turn_stopping.push(listener);
        self
    }

    /// Says who puts the loop's own context together.
    #[must_use]
    pub fn assemble(mut self, assemble: Rc<dyn Assemble>) -> Self {
        self.assemble = Some(assemble);
        self
    }

    /// Adds an observer of durable events.
    #[must_use]
    pub fn observe_durable(mut self, observer: Rc<dyn DurableObserver>) -> Self {
        self.durable.push(observer);
        self
    }

    /// Adds an observer of live events.
    #[must_use]
    pub fn observe_live(mut self, observer: Rc<dyn LiveObserver>) -> Self {
        self.live.push(observer);
        self
    }

    /// Says who runs tool calls.
    #[must_use]
    pub fn tools(mut self, tools: Rc<dyn Tools>) -> Self {
        self.tools = tools;
        self
    }

    /// Says what time events are stamped with.
    #[must_use]
    pub fn clock(mut self, clock: Rc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Names the model that is asked when no plugin says otherwise.
    #[must_use]
    pub fn model_name(self, provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        let (provider, model) = (provider.into(), model.into());
        let context = RequestContext {
            provider,
            model,
            context_window: None,
            extra: Extra::NONE,
        };
        self.route(Route {
            context,
            header: Arc::new(Value::Object(serde_json::Map::new())),
        })
    }

    /// The whole route of requests when no plugin says otherwise.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.route = Some(route);
        self
    }

    /// Bounds the agent.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The session log to write, and what it says already.
    #[must_use]
    pub fn log(mut self, log: SessionLog<Box<dyn Storage>>, origin: Origin) -> Self {
        self.log = log;
        self.origin = origin;
        self
    }

    /// The agent, idle. What its log left pending starts nothing by itself.
    #[must_use]
    pub fn build(self) -> Agent {
        let parts = Rc::new(Parts {
            pre_step: self.pre_step.into(),
            request: self.request.into(),
            request_error: self.request_error.into(),
            turn_stopping: self.turn_stopping.into(),
            assemble: self.assemble,
            durable: self.durable,
            live: self.live,
            model: self.model,
            tools: self.tools,
            clock: self.clock,
            route: self.route,
        });
        let host = ShellHost {
            log: self.log,
            parts: parts.clone(),
            jobs: Jobs::default(),
        };
        let machine = Machine::resume(self.origin, self.limits);
        Agent(Rc::new(Inner {
            state: RefCell::new(State { machine, host }),
            parts,
            running: RefCell::default(),
            ended: RefCell::default(),
            open_points: RefCell::default(),
            signal_turn: Cell::default(),
            signal: RefCell::default(),
            waiting: RefCell::default(),
        }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// An agent without tools: whatever the model asks for fails, in words.
#[derive(Debug)]
struct NoTools;

impl Tools for NoTools {
    fn classify(&self, _: &Call) -> Overlap {
        Overlap::Parallel
    }

    fn run(&self, call: &Call, _: &Place) -> LocalFuture<Result<ToolOutput, ToolFailure>> {
        let words = format!("there is no tool named \"{}\"", call.name);
        Box::pin(ready(Err(ToolFailure::text(words))))
    }
}

/// The wall clock.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_types,
        reason = "the one clock of a real program; no run has it"
    )]
    fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(Time::MAX)
        })
    }
}
