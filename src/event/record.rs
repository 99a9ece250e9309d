//! What can be observed of a run: durable and live events, questions and answers, operations.
//!
//! One stream of these is what a run is: rules judge it, traces hold it, reports show it, and two
//! systems are equal when it is. Not here: making or comparing it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, Event, Live, MessageId, Op, Status, Step, Turn};

/// One observation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// A world opens: what rules must know of how it was set up.
    Opened {
        /// Pre-step listeners, the outermost first.
        listeners: Vec<Arc<str>>,
        /// How many parallel tool calls may be in flight.
        parallel_calls_max: usize,
    },
    /// A durable event is published.
    Durable(Event),
    /// Both lists as an observer of the splice just published sees them.
    Lists(Lists),
    /// A live event is published.
    Live(Live),
    /// An observer begins to act, in the midst of a publication.
    React(Op),
    /// It is done.
    ReactEnd(Op),
    /// A producer asks.
    Act {
        /// Its name.
        by: Arc<str>,
        /// What it asks.
        op: Op,
    },
    /// It is done.
    ActEnd,
    /// An awaited point is let go.
    Release {
        /// The gate that held it.
        gate: Arc<str>,
    },
    /// One pre-step decision is asked, of whoever takes part in it.
    Asked {
        /// The claimed batch.
        messages: Vec<MessageId>,
        /// The open turn.
        turn: Turn,
        /// The proposed step.
        step: Step,
    },
    /// The decision is reached.
    Decided(Answer),
    /// A pre-step listener is asked.
    PreStep {
        /// Its name.
        listener: Arc<str>,
        /// The batch that it is shown.
        messages: Vec<MessageId>,
        /// The open turn.
        turn: Turn,
        /// The proposed step.
        step: Step,
    },
    /// What a listener's `next` gave it.
    PreStepResult {
        /// The listener that called it.
        listener: Arc<str>,
        /// The messages that would enter; `None` is a reject.
        entry: Option<Vec<MessageId>>,
    },
    /// A listener settles.
    Settled {
        /// The listener.
        listener: Arc<str>,
        /// Its own answer.
        answer: Answer,
    },
    /// The model is asked.
    ModelAsked {
        /// The open turn.
        turn: Turn,
        /// The open step.
        step: Step,
    },
    /// The body of a tool call begins.
    ToolBegun {
        /// The call.
        call: CallId,
        /// Whether nothing may run beside it.
        exclusive: bool,
    },
    /// The body of a tool call is over.
    ToolEnded {
        /// The call.
        call: CallId,
        /// Whether its result ends the turn for the model.
        concludes: bool,
    },
    /// The plugins have the last word on this turn.
    TurnStopping {
        /// The turn.
        turn: Turn,
    },
    /// An awaited point is held.
    Gate {
        /// The gate that holds it.
        gate: Arc<str>,
    },
    /// The operation answered.
    Returned(Returned),
    /// The operation was refused.
    Refused(Refused),
    /// The n-th wait for idle is over, from 1.
    Idle(u32),
    /// Disposal is complete.
    Disposed,
    /// The maintenance job is over; the failure's words, if it failed.
    Maintenance(Option<Arc<str>>),
    /// An extension point is dispatched to its listeners, who are awaited.
    Dispatched {
        /// Its name on the wire.
        point: Arc<str>,
    },
    /// An observer that comes before whoever records fails at the publication that comes next.
    ObserverFailed,
    /// The storage refuses a batch.
    AppendRefused,
    /// A live event carries a member that is not of its type.
    Surplus {
        /// Its type on the wire.
        live: Arc<str>,
        /// The member.
        member: Arc<str>,
    },
    /// Nothing of the agent can move.
    Rest(Resting),
    /// The process is gone; nothing but the log is left.
    Crashed,
    /// An agent goes on with a log.
    Resumed {
        /// What it has pending.
        lists: Lists,
        /// The last turn that it knows of; 0 for none.
        last_turn: Turn,
    },
}

/// Where an agent rests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Resting {
    /// Both lists.
    pub lists: Lists,
    /// What the agent says of itself.
    pub status: Status,
    /// Whether neither a driver nor maintenance is left.
    pub quiet: bool,
    /// The gates that are held, in the order in which they were.
    pub held: Vec<Arc<str>>,
}

/// What a listener, or the whole waterfall, answers to a pre-step decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// These messages enter, in order.
    Enter(Vec<MessageId>),
    /// No step.
    Reject,
    /// It failed.
    Failed(Arc<str>),
}

/// Both lists by identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lists {
    /// Waiting for a turn.
    pub next_turn: Vec<MessageId>,
    /// Waiting for a step.
    pub next_step: Vec<MessageId>,
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Returned {
    /// Whether the message was pending.
    Pending(bool),
    /// The messages that a splice removed.
    Removed(Vec<MessageId>),
}

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// An identity would be pending twice.
    AlreadyPending(MessageId),
    /// An append while another event is being published.
    AppendReentered,
    /// Maintenance while something is active.
    Busy,
    /// The gate is not held.
    NoGate(Arc<str>),
    /// The agent is disposed.
    Disposed,
    /// The log refused the event.
    Log(Arc<str>),
}
