//! Identities and coordinates: what messages, calls and places in a log are called.
//!
//! Not here: anything that hands identities out. Who makes a message names it.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Position in a session log: contiguous from 0.
pub type Seq = u64;

/// Milliseconds since the Unix epoch; of a virtual clock in simulation.
pub type Time = u64;

/// Number of a turn: 1, 2, 3 … over the whole log. 0 is "before the first".
pub type Turn = u32;

/// Number of a step inside its turn: 1, 2, 3 …; 0 is "before the first".
pub type Step = u32;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text of the identity.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// Identity of a message; addresses it while it is pending. Any text, the empty one included.
    MessageId
}

text_id! {
    /// Identity of a tool call, given by the model. Any text, the empty one included.
    CallId
}

/// One of the two lists of the inbox.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Waits for a turn of its own; one message is claimed at a turn's first boundary.
    NextTurn,
    /// Waits for the next step boundary, of whatever turn; all of it is claimed there.
    NextStep,
}

impl Target {
    /// The name on the wire: `next-turn` or `next-step`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NextTurn => "next-turn",
            Self::NextStep => "next-step",
        }
    }
}
