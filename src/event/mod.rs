//! The vocabulary: durable and live events, messages, identities.
//!
//! Every other layer speaks in these types. They carry no behaviour: nothing here decides, orders
//! or checks anything, and this layer imports no other.
//!
//! A type's JSON is the wire format of DeepSeek Harness session logs. Reading is exact: what a
//! type does not know is carried along in [`Extra`], and an event whose shape no type fits is kept
//! whole as [`Body::Unread`], so that parse and print give back the same JSON value.
//!
//! [`Line`] reads and prints the lines of session files; [`catalog()`] and [`schema()`] list every
//! event with its members, generated from the types.

mod catalog;
mod chunk;
mod durable;
mod exact;
mod extra;
mod id;
mod line;
mod live;
mod message;
mod op;
pub mod plugin;
mod record;
mod wire;

pub use catalog::{Entry, Lasting, Member, Owner, catalog, schema};
pub use chunk::{Chunk, ChunkKind, Finish};
pub use durable::{
    AppendWord, AssistantSaid, Body, CancelCause, Chunked, EndReason, Event, Failure, InboxSpliced,
    LoggedCause, Outcome, ReplaceWord, RequestContext, RequestHeader, RequestReason, StepMark,
    Surface, SurfaceOp, ToolAnswered, ToolCalled, ToolError, TurnEnded, TurnStarted, Unread,
    UserSaid,
};
pub use extra::Extra;
pub use id::{CallId, MessageId, Seq, Step, Target, Time, Turn};
pub use line::{Header, Line, LineError, Packed, PackedCall, PackedRow, PackedTexts, Row};
pub use live::{Live, Status};
pub use message::{AssistantMessage, Block, Message, Source, ToolMessage, UserMessage};
pub use op::Op;
pub use plugin::Plugin;
pub use record::{Answer, Lists, Record, Refused, Resting, Returned};
