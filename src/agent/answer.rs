//! What a `tool/result` says: a tool's own words, or those given in its stead.
//!
//! Not here: which call gets which answer; the scheduler and repair decide.

use std::sync::Arc;

use crate::event::{
    Block, Body, CallId, Extra, MessageId, Seq, Source, Step, Surface, ToolAnswered, ToolError,
    ToolMessage, Turn,
};

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Answer {
    content: Vec<Block>,
    is_error: bool,
    error: Option<ToolError>,
    extra: Extra,
}

impl Answer {
    /// What the tool gave.
    pub(super) fn given(content: Vec<Block>, extra: Extra) -> Self {
        Self {
            content,
            is_error: false,
            error: None,
            extra,
        }
    }

    /// The tool's own error.
    pub(super) fn failed(content: Vec<Block>) -> Self {
        Self {
            content,
            is_error: true,
            error: None,
            extra: Extra::NONE,
        }
    }

    /// The tool ran, but the turn was cancelled before its result counted.
    pub(super) fn aborted() -> Self {
        Self::instead(
            "AbortError",
            "ABORTED",
            "The turn was cancelled while this ran.",
        )
    }

    /// The turn was cancelled before the tool began.
    pub(super) fn not_dispatched() -> Self {
        let words = "The turn was cancelled before this began.";
        Self::instead("AbortError", "ABORTED_BEFORE_DISPATCH", words)
    }

    /// The call is on record, its outcome is not.
    pub(super) fn outcome_unknown() -> Self {
        let words = "What came of this call is not known; it may have had effects.";
        Self::instead("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", words)
    }

    /// The model asked for the call, and it never began.
    pub(super) fn not_started() -> Self {
        Self::instead(
            "ToolNotStartedError",
            "TOOL_NOT_STARTED",
            "This call was never started.",
        )
    }

    fn instead(name: &str, code: &str, words: &str) -> Self {
        let error = ToolError {
            name: Some(name.into()),
            code: code.into(),
            extra: Extra::NONE,
        };
        Self {
            error: Some(error),
            ..Self::failed(vec![Block::text(words)])
        }
    }

    /// The `tool/result` of a call, citing its `tool/call` where there is one.
    pub(super) fn result(
        self,
        id: MessageId,
        (turn, step): (Turn, Step),
        call: &CallId,
        called: Option<Seq>,
    ) -> Body {
        let result = Block::ToolResult {
            tool_call_id: call.clone(),
            content: self.content,
            is_error: self.is_error,
            extra: Extra::NONE,
        };
        let source = Source::Tool {
            call_id: call.clone(),
            extra: Extra::NONE,
        };
        let message = ToolMessage {
            id,
            content: vec![result],
            source,
            extra: Extra::NONE,
        };
        Body::ToolResult(ToolAnswered {
            turn,
            step,
            message: Arc::new(message),
            error: self.error,
            extra: self.extra,
            surface: Surface {
                source_event_seqs: called.map(|seq| vec![seq]),
                ..Surface::append()
            },
        })
    }
}
