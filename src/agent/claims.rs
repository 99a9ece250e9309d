//! Which claimed messages have not entered a step yet.
//!
//! A claim takes messages out of the inbox for good; between it and the last `user/message` of its
//! step they stand nowhere in the log. What a crash does to them is for `repair` and
//! `projection::consumed` to say. Not here: whether a claim was allowed.

use std::num::NonZeroU32;

use crate::event::{AppendWord, Body, Event, InboxSpliced, MessageId, Seq, SurfaceOp};

use super::inbox::Inbox;

/// Follows a log and holds the claimed messages that wait to enter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Claims {
    /// Splices before this place belong to an inherited prefix.
    origin: Seq,
    inbox: Inbox,
    waiting: Vec<MessageId>,
}

impl Claims {
    /// Nothing followed yet; the inbox is folded from `origin`.
    pub(super) fn new(origin: Seq) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Claimed at the last boundary and not entered, in the order of the claim.
    pub(super) fn waiting(&self) -> &[MessageId] {
        &self.waiting
    }

    /// Takes one more event. A splice that does not fit is passed over.
    pub(super) fn feed(&mut self, event: &Event) {
        match &event.body {
            Body::InboxSpliced(splice) if event.seq >= self.origin => self.splice(splice),
            Body::UserMessage(said) if said.surface.surface_op == APPEND => {
                self.forget(&said.message.id);
            }
            // The step goes on past its entry: what did not enter was decided away. Its end alone
            // does not say so; a repair may have written it.
            Body::TurnStart(_)
            | Body::TurnEnd(_)
            | Body::RequestHeader(_)
            | Body::RequestContext(_)
            | Body::AssistantChunk(_)
            | Body::AssistantMessage(_)
            | Body::ToolCall(_)
            | Body::ToolResult(_) => self.waiting.clear(),
            _ => {}
        }
    }

    fn splice(&mut self, splice: &InboxSpliced) {
        let Ok(removed) = self.inbox.apply(splice) else {
            return;
        };
        if is_claim(splice) {
            let ids = removed.iter().map(|message| message.id.clone());
            self.waiting.extend(ids);
        }
        // Its owner has put it back: it is not lost.
        for message in &splice.inserted {
            self.forget(&message.id);
        }
    }

    fn forget(&mut self, id: &MessageId) {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting == id) {
            self.waiting.remove(place);
        }
    }
}

pub(super) const APPEND: SurfaceOp = SurfaceOp::Append(AppendWord::Append);

/// Whether the loop took messages, rather than an ordinary operation removing them.
pub(super) fn is_claim(splice: &InboxSpliced) -> bool {
    removed_count(splice) > 0 && splice.outcome.is_none()
}

/// How many messages a splice removes.
pub(super) fn removed_count(splice: &InboxSpliced) -> u32 {
    splice.removed_count.map_or(0, NonZeroU32::get)
}
