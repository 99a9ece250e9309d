//! Putting a stream's pieces together into one assistant message.
//!
//! Not here: when a stream is asked for, cut off or recovered (`step`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::event::{Block, CallId, Chunk, ChunkKind, Extra, Finish, Seq};

use super::{Call, Route};

/// One try of one request, as far as its stream has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    pub(super) route: Route,
    /// Places of this attempt's chunks in the log.
    pub(super) chunks: Vec<Seq>,
    /// Blocks by the stream's index.
    blocks: BTreeMap<u32, Draft>,
    pub(super) usage: Option<Value>,
    pub(super) finish: Option<Finish>,
}

/// A block while its pieces arrive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Draft {
    Open,
    Text(String),
    Reasoning(String),
    ToolCall {
        id: CallId,
        name: Arc<str>,
        arguments: String,
    },
    Done(Block),
}

impl Attempt {
    pub(super) fn new(route: Route) -> Self {
        Self {
            route,
            chunks: Vec::new(),
            blocks: BTreeMap::new(),
            usage: None,
            finish: None,
        }
    }

    /// Adds a piece that was logged at `seq`.
    pub(super) fn add(&mut self, seq: Seq, chunk: Chunk) {
        self.chunks.push(seq);
        match chunk.kind {
            ChunkKind::BlockStart { index, .. } => {
                self.blocks.entry(index).or_insert(Draft::Open);
            }
            ChunkKind::TextDelta { index, text } => {
                let draft = self.draft(index, || Draft::Text(String::new()));
                if let Draft::Text(so_far) = draft {
                    so_far.push_str(&text);
                }
            }
            ChunkKind::ReasoningDelta { index, text } => {
                let draft = self.draft(index, || Draft::Reasoning(String::new()));
                if let Draft::Reasoning(so_far) = draft {
                    so_far.push_str(&text);
                }
            }
            ChunkKind::ToolCallDelta {
                index,
                id,
                name,
                arguments_delta,
            } => {
                let empty = || Draft::ToolCall {
                    id,
                    name,
                    arguments: String::new(),
                };
                if let Draft::ToolCall { arguments, .. } = self.draft(index, empty) {
                    arguments.push_str(&arguments_delta);
                }
            }
            ChunkKind::BlockEnd { index, block } => {
                self.blocks.insert(index, Draft::Done(block));
            }
            ChunkKind::Usage { usage } => self.usage = Some(usage),
            ChunkKind::Finish { reason } => self.finish = Some(reason),
            ChunkKind::Other(_) => {}
        }
    }

    /// The block at `index`, begun as `begin` says if nothing of it came so far.
    fn draft(&mut self, index: u32, begin: impl FnOnce() -> Draft) -> &mut Draft {
        let draft = self.blocks.entry(index).or_insert(Draft::Open);
        if *draft == Draft::Open {
            *draft = begin();
        }
        draft
    }

    /// The blocks so far, in the stream's order; those of which nothing came are left out.
    pub(super) fn content(&self) -> Vec<Block> {
        self.blocks.values().filter_map(Draft::block).collect()
    }

    /// What a cancelled stream leaves: text and reasoning that arrived, no tool call. Empty when
    /// nothing visible came.
    pub(super) fn visible(&self) -> Vec<Block> {
        self.content().into_iter().filter(is_visible).collect()
    }
}

impl Draft {
    fn block(&self) -> Option<Block> {
        let extra = Extra::NONE;
        match self {
            Self::Open => None,
            Self::Text(text) => Some(Block::Text {
                text: text.as_str().into(),
                extra,
            }),
            Self::Reasoning(text) => Some(Block::Reasoning {
                text: text.as_str().into(),
                extra,
            }),
            Self::ToolCall {
                id,
                name,
                arguments,
            } => Some(Block::ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.as_str().into(),
                extra,
            }),
            Self::Done(block) => Some(block.clone()),
        }
    }
}

fn is_visible(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } | Block::Reasoning { text, .. } => !text.is_empty(),
        _ => false,
    }
}

/// The tool calls of a message, in the model's order.
pub(super) fn calls(content: &[Block]) -> Vec<Call> {
    content
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall {
                id,
                name,
                arguments,
                ..
            } => Some(Call {
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            }),
            _ => None,
        })
        .collect()
}
