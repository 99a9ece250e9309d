//! Live events: published, never stored.
//!
//! They carry no placement, outcome or batch. Awaited extension points are no events; they are
//! the plugin traits of the agent.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Failure, Message, Step, Turn};

/// One live event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Live {
    /// A message became pending.
    #[serde(rename = "agent/inbox/inserted")]
    Inserted {
        /// The message.
        message: Message,
    },
    /// The loop took a message at a step boundary.
    #[serde(rename = "agent/inbox/claimed")]
    Claimed {
        /// The message.
        message: Message,
        /// The open turn.
        turn: Turn,
    },
    /// A pending message was removed by an ordinary operation.
    #[serde(rename = "agent/inbox/discarded")]
    Discarded {
        /// The message.
        message: Message,
    },
    /// The public status changed.
    #[serde(rename = "agent/status")]
    Status {
        /// The new status.
        status: Status,
    },
    /// A turn failed, or could not be opened or closed.
    #[serde(rename = "agent/error")]
    Error {
        /// The turn that failed; the last one when the next could not be opened.
        turn: Turn,
        /// Its last opened step; 0 before the first.
        step: Step,
        /// What went wrong.
        error: Failure,
    },
    /// A session is ready for use.
    #[serde(rename = "agent/session-start")]
    SessionStart {
        /// `startup` or `resume`.
        source: Arc<str>,
    },
    /// An agent entered its registry.
    #[serde(rename = "agent/created")]
    Created,
    /// An agent left its registry.
    #[serde(rename = "agent/disposed")]
    Disposed,
}

/// What an agent says of itself. Maintenance counts as idle.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// No turn is under way.
    Idle,
    /// The driver runs turns.
    Running,
}
