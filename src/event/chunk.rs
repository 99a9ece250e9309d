//! The pieces of a model's stream.
//!
//! Not here: putting them together; the loop does that.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::exact::{Whole, exact_or_whole, known_and_extra};
use super::{Block, CallId, Extra, Failure};

/// One piece of a model's stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Chunk {
    /// What it is.
    #[serde(flatten)]
    pub kind: ChunkKind,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, extra) = known_and_extra(deserializer)?;
        Ok(Self { kind, extra })
    }
}

impl From<ChunkKind> for Chunk {
    fn from(kind: ChunkKind) -> Self {
        Self {
            kind,
            extra: Extra::NONE,
        }
    }
}

/// What a piece of a stream is. `index` numbers the blocks of one attempt from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ChunkKind {
    /// A block opens.
    #[serde(rename_all = "camelCase")]
    BlockStart {
        /// Which block.
        index: u32,
        /// `text`, `reasoning` or `tool-call`.
        block_type: Arc<str>,
    },
    /// More text of a text block.
    TextDelta {
        /// Which block.
        index: u32,
        /// The text that is added.
        text: Arc<str>,
    },
    /// More text of a reasoning block.
    ReasoningDelta {
        /// Which block.
        index: u32,
        /// The text that is added.
        text: Arc<str>,
    },
    /// More of a tool call's arguments.
    #[serde(rename_all = "camelCase")]
    ToolCallDelta {
        /// Which block.
        index: u32,
        /// Identity of the call.
        id: CallId,
        /// Name of the tool.
        name: Arc<str>,
        /// The raw text that is added.
        arguments_delta: Arc<str>,
    },
    /// A block is complete.
    BlockEnd {
        /// Which block.
        index: u32,
        /// The whole block.
        block: Block,
    },
    /// What the call cost so far.
    Usage {
        /// The provider's figures, whole.
        usage: Value,
    },
    /// The stream is over.
    Finish {
        /// Why.
        #[serde(deserialize_with = "exact_or_whole")]
        reason: Finish,
    },
    /// Any other piece, whole.
    #[serde(untagged)]
    Other(Value),
}

/// Why a stream is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finish {
    /// The model has said what it had to say.
    Stop,
    /// The model wants its tools run.
    ToolCalls,
    /// The ceiling of tokens was hit.
    MaxTokens,
    /// The provider failed.
    Error {
        /// How.
        failure: Failure,
    },
    /// The provider gave up, without a cancel from here.
    Aborted {
        /// How.
        failure: Failure,
    },
    /// Any other reason, whole.
    #[serde(untagged)]
    Other(Value),
}

impl Whole for Finish {
    fn whole(value: Value) -> Self {
        Self::Other(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Chunk {
        Chunk::deserialize(value).unwrap()
    }

    #[test]
    fn a_piece_of_ours_reads_back_equal() {
        let chunk = Chunk::from(ChunkKind::TextDelta {
            index: 1,
            text: "a".into(),
        });
        let printed = serde_json::to_value(&chunk).unwrap();
        assert_eq!(read(&printed), chunk);
    }

    #[test]
    fn unknown_members_of_a_piece_are_carried_along() {
        let chunk = read(&json!({ "type": "usage", "usage": 1, "x": 2 }));
        let names: Vec<_> = chunk.extra.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["x"]);
    }

    #[test]
    fn an_unknown_piece_is_kept_whole() {
        let value = json!({ "type": "heartbeat", "beat": 3 });
        assert_eq!(read(&value), Chunk::from(ChunkKind::Other(value)));
    }

    #[test]
    fn a_piece_that_is_no_object_is_refused() {
        assert!(Chunk::deserialize(&json!("text")).is_err());
    }

    #[test]
    fn an_unknown_end_of_a_stream_is_kept_whole() {
        let reason = json!({ "kind": "stop", "detail": "length" });
        let chunk = read(&json!({ "type": "finish", "reason": reason }));
        let expected = ChunkKind::Finish {
            reason: Finish::Other(reason),
        };
        assert_eq!(chunk.kind, expected);
    }
}
