//! The loop as a value: a step machine without async, I/O, clock or randomness.
//!
//! It takes an operation of a producer or the end of an awaited point, runs one atomic region to
//! the next awaited point, and speaks to its surroundings through [`Host`]. It can be cloned,
//! compared and hashed at every rest, so it can be forked, explored and replayed.
//!
//! | file | region |
//! | --- | --- |
//! | `operations` | what producers ask: send, inbox edits, cancel, maintenance, dispose |
//! | `turn` | driver, turn and step brackets, claim, decision |
//! | `step` | request, stream, recovery |
//! | `stream` | putting a stream's pieces together |
//! | `tools` | the scheduling of tool calls |
//!
//! Not here: awaiting anything (the shell does), the log itself, plugins.

mod host;
mod operations;
mod point;
mod step;
mod stream;
mod tools;
mod turn;

use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde_json::Value;

use super::inbox::Inbox;
use crate::event::{CancelCause, EndReason, RequestContext, Status, Step, Turn};

pub use host::{DuringDurable, Host, Overlap};
pub use operations::{Disposed, EditError, Keep, MaintenanceError};
pub use point::{
    Call, Decision, End, NotAwaited, Point, Proposal, Recovery, Route, ToolFailure, ToolOutput,
};
pub use turn::Ended;

use turn::At;

/// What bounds a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How many parallel tool calls may be in flight at once.
    pub parallel_calls_max: NonZeroUsize,
}

impl Default for Limits {
    /// Ten parallel calls.
    fn default() -> Self {
        const TEN: NonZeroUsize = NonZeroUsize::new(10).unwrap();
        Self {
            parallel_calls_max: TEN,
        }
    }
}

/// The loop: [`Core`] with the ends of its awaited points as inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine(Core);

/// Where a machine goes on from: what a log that was loaded says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// What is pending.
    pub inbox: Inbox,
    /// Number of the last `turn/start` anywhere in the log; 0 for none.
    pub last_turn: Turn,
    /// The last request that was logged.
    pub route: LoggedRoute,
}

/// What the log says of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoggedRoute {
    /// The last `request/header`.
    pub header: Option<Arc<Value>>,
    /// The last `request/context`.
    pub context: Option<RequestContext>,
    /// Whether this loop has logged a header itself.
    pub own: bool,
}

impl Machine {
    /// An idle machine for a new, empty log.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::resume(Origin::default(), limits)
    }

    /// An idle machine that goes on where a log ends. What is pending starts nothing by itself.
    #[must_use]
    pub fn resume(origin: Origin, limits: Limits) -> Self {
        let Origin {
            inbox,
            last_turn,
            route,
        } = origin;
        Self(Core {
            inbox,
            at: At::Idle,
            activity: Activity::default(),
            last_turn,
            step: 0,
            ended: None,
            owed: Owed::default(),
            clear_owed: false,
            life: Life::Alive,
            depth: 0,
            route,
            limits,
        })
    }

    /// Takes the end of an awaited point and runs one atomic region.
    ///
    /// # Errors
    /// When that point is not awaited; then nothing happens.
    pub fn end<H: Host + ?Sized>(&mut self, host: &mut H, end: End) -> Result<(), NotAwaited> {
        self.0.region(|core| core.end(host, end))
    }
}

impl Deref for Machine {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.0
    }
}

impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.0
    }
}

/// The state of the loop, with every operation of a producer. This is what an observer of a live
/// event is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core {
    inbox: Inbox,
    at: At,
    activity: Activity,
    last_turn: Turn,
    /// The last step opened in the current turn; 0 before the first.
    step: Step,
    /// How the turn has ended for the model, if it has.
    ended: Option<Ended>,
    owed: Owed,
    /// A broad cancel came while a durable event was published; its clearing follows.
    clear_owed: bool,
    life: Life,
    /// Regions that are under way, one inside another; 0 at rest.
    depth: u32,
    route: LoggedRoute,
    limits: Limits,
}

/// What a driver or a maintenance job carries; fresh while idle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Activity {
    /// The first cause given.
    aborted: Option<CancelCause>,
    /// A wake that is replayed when this activity is over.
    latch: bool,
}

/// Closings that the log refused. Nothing else of the loop is appended before them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Owed {
    step: Option<(Turn, Step)>,
    turn: Option<(Turn, EndReason)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Life {
    Alive,
    /// Disposal was asked for, and clears the lists.
    Clearing,
    /// Disposal began; nothing is latched any more.
    Disposing,
    /// It is complete; every operation is refused.
    Disposed,
}

impl Core {
    /// What is pending.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// What the agent says of itself: maintenance counts as idle.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.at {
            At::Idle | At::Maintaining => Status::Idle,
            _ => Status::Running,
        }
    }

    /// Whether neither a driver nor maintenance is left.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.at == At::Idle
    }

    /// Whether disposal is complete: every operation is refused.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.life == Life::Disposed
    }

    /// The first cause of the cancel that the current activity is under, if any.
    #[must_use]
    pub fn abort_cause(&self) -> Option<&CancelCause> {
        self.activity.aborted.as_ref()
    }

    /// The open turn, or the last one; 0 before the first.
    #[must_use]
    pub fn turn(&self) -> Turn {
        self.last_turn
    }

    /// The last step opened in that turn; 0 before the first.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    fn is_aborted(&self) -> bool {
        self.activity.aborted.is_some()
    }
}
