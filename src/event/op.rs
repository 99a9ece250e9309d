//! What may be asked of an agent, as data: schedules, reactions of observers and rules speak it.
//!
//! Messages are named by identity alone; their text is not part of an order of events. Not here:
//! carrying an operation out.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{CancelCause, MessageId, Target};

/// One operation of a producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Op {
    /// Send to next-turn, with a wake.
    Followup {
        /// The message.
        id: MessageId,
    },
    /// Send to next-step, with a wake.
    Steer {
        /// The message.
        id: MessageId,
    },
    /// Send to next-step, without a wake.
    Inject {
        /// The message.
        id: MessageId,
    },
    /// The general send.
    Send {
        /// The message.
        id: MessageId,
        /// Which list.
        target: Target,
        /// Whether it may start the driver.
        wakeup: bool,
    },
    /// Insert at the end of a list.
    Append {
        /// Which list.
        target: Target,
        /// The message.
        id: MessageId,
    },
    /// Insert at the head of a list.
    Prepend {
        /// Which list.
        target: Target,
        /// The message.
        id: MessageId,
    },
    /// Splice a list, in the coordinates of a standard array.
    Splice {
        /// Which list.
        target: Target,
        /// Where; negative counts from the end.
        #[serde(deserialize_with = "coordinate")]
        start: i64,
        /// How many messages go.
        #[serde(deserialize_with = "coordinate")]
        delete: i64,
        /// The messages that come.
        insert: Vec<MessageId>,
    },
    /// Exchange a pending message in its place.
    Replace {
        /// The message that goes.
        id: MessageId,
        /// The message that comes.
        with: MessageId,
    },
    /// Remove a pending message.
    Remove {
        /// The message.
        id: MessageId,
    },
    /// Empty both lists.
    Clear,
    /// Cancel what is going on.
    #[serde(rename_all = "camelCase")]
    Cancel {
        /// Why.
        cause: CancelCause,
        /// Whether pending messages stay.
        keep_inbox: bool,
    },
    /// Start a maintenance job.
    Maintenance,
    /// Wait until the agent is idle.
    WhenIdle,
    /// Dispose the agent.
    Dispose,
}

impl Op {
    /// The message that it names first, if it names one.
    #[must_use]
    pub fn message(&self) -> Option<&MessageId> {
        match self {
            Self::Followup { id }
            | Self::Steer { id }
            | Self::Inject { id }
            | Self::Send { id, .. }
            | Self::Append { id, .. }
            | Self::Prepend { id, .. }
            | Self::Replace { id, .. }
            | Self::Remove { id } => Some(id),
            Self::Splice { insert, .. } => insert.first(),
            Self::Clear
            | Self::Cancel { .. }
            | Self::Maintenance
            | Self::WhenIdle
            | Self::Dispose => None,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Followup { .. } => "followup",
            Self::Steer { .. } => "steer",
            Self::Inject { .. } => "inject",
            Self::Send { .. } => "send",
            Self::Append { .. } => "append",
            Self::Prepend { .. } => "prepend",
            Self::Splice { .. } => "splice",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
            Self::Clear => "clear",
            Self::Cancel { .. } => "cancel",
            Self::Maintenance => "maintenance",
            Self::WhenIdle => "when-idle",
            Self::Dispose => "dispose",
        }
    }
}

/// Reads a splice coordinate as an array does: a fraction is cut off, what is no number is 0,
/// what is too large is the largest.
fn coordinate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a cast saturates, as an array clamps"
    )]
    let whole = |number: f64| number as i64;
    Ok(value
        .as_i64()
        .or_else(|| value.as_f64().map(whole))
        .unwrap_or(0))
}
