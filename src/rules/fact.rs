//! What rules are fed: one borrowed fact for each event, light enough for a log of any length.
//!
//! A durable event is reduced to what some rule needs; everything else of a run is its record.
//! Not here: reading facts from a file (`trace`).

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use crate::event::{
    AssistantSaid, Block, Body, CancelCause, ChunkKind, EndReason, Event, Finish, InboxSpliced,
    Live, Message, MessageId, Record, Seq, Source, Step, Surface, SurfaceOp, Target, ToolAnswered,
    Turn,
};

use super::finding::Mark;

/// A fact at its place.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its number among all facts.
    pub mark: Mark,
    /// Its sequence number, for a durable event that has one.
    pub seq: Option<Seq>,
    /// What happened.
    pub fact: Fact<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// `agent/inbox/spliced`.
    Spliced(Spliced<'a>),
    /// `turn/start`.
    TurnStart {
        /// The turn.
        turn: Turn,
    },
    /// `turn/end`.
    TurnEnd {
        /// The turn.
        turn: Turn,
        /// Why.
        end: EndKind,
        /// The cause of an aborted turn, where it is known.
        cause: Option<&'a CancelCause>,
    },
    /// `step/start`.
    StepStart(Place),
    /// `step/end`.
    StepEnd(Place),
    /// `user/message`.
    UserMessage {
        /// Its identity.
        id: &'a str,
        /// Its place on the surface.
        surface: OnSurface<'a>,
    },
    /// `assistant/chunk`, or several in one row.
    Chunk {
        /// Where it says that it belongs.
        place: Place,
        /// How many events it stands for, at least 1.
        count: u32,
        /// How the stream ends with it, if it does.
        finish: Option<FinishKind>,
    },
    /// `assistant/message`.
    AssistantMessage(Said<'a>),
    /// `tool/call`.
    ToolCall {
        /// Where it says that it belongs.
        place: Place,
        /// The call.
        call: &'a str,
    },
    /// `tool/result`.
    ToolResult {
        /// Where it says that it belongs.
        place: Place,
        /// The call.
        call: &'a str,
        /// The code of an answer given in the tool's stead.
        error: Option<&'a str>,
        /// Its place on the surface.
        surface: OnSurface<'a>,
    },
    /// `request/header` or `request/context`.
    Request,
    /// `session/end-seed`.
    EndSeed,
    /// Any other durable event.
    Other {
        /// Its type on the wire.
        kind: &'a str,
    },
    /// A durable event of a known type in a shape that cannot be read.
    Odd {
        /// Its type on the wire.
        kind: &'a str,
        /// What is wrong with it.
        oddity: Oddity,
    },
    /// A live event.
    Live(&'a Live),
    /// Anything else that was observed of a run.
    Observed(&'a Record),
}

/// A turn and a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The turn.
    pub turn: Turn,
    /// The step.
    pub step: Step,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.turn, self.step)
    }
}

/// A splice.
#[derive(Clone, Copy, Debug)]
pub struct Spliced<'a> {
    /// Which list.
    pub target: Target,
    /// Where it begins.
    pub start: u32,
    /// How many messages go.
    pub removed: u32,
    /// The messages that come.
    pub inserted: Ids<'a>,
    /// Whether it says `canceled`.
    pub canceled: bool,
}

impl Spliced<'_> {
    /// Whether it is the loop's: a removal that does not say `canceled`.
    #[must_use]
    pub fn is_claim(&self) -> bool {
        self.removed > 0 && !self.canceled
    }
}

/// What an assistant message says, as far as rules care.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Where it says that it belongs.
    pub place: Place,
    /// Whether it is marked interrupted.
    pub interrupted: bool,
    /// Whether it shows any text or reasoning.
    pub visible: bool,
    /// Its tool calls, in order.
    pub calls: Ids<'a>,
    /// Its place on the surface.
    pub surface: OnSurface<'a>,
}

/// Why a turn ended, and whether the reason carries what its kind needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the kinds of the wire")]
pub enum EndKind {
    Completed,
    Blocked,
    MaxTokens,
    Interrupted,
    Aborted { with_cause: bool },
    Error { with_error: bool },
    Forked,
    Unknown,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishKind {
    /// With an answer.
    Answer,
    /// With an answer that hit the ceiling of tokens.
    MaxTokens,
    /// With a failure, or because the provider gave up.
    Failure,
}

/// Where a message-producing event stands on the surface.
#[derive(Clone, Copy, Debug)]
pub struct OnSurface<'a> {
    /// Whether it takes the place of other nodes.
    pub replaces: bool,
    /// What it was made from, if it says so.
    pub sources: Option<&'a [Seq]>,
}

/// What is wrong with an event whose type is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Oddity {
    /// A splice with a coordinate that is negative, fractional or no number.
    Coordinate,
    /// A splice whose `removedCount` is 0 instead of absent.
    ZeroRemoved,
    /// An event without turn or step number where its type needs one.
    NoPlace,
    /// A message without identity, role, source or content of its kind.
    Message,
    /// Anything else.
    Shape,
}

/// Identities, borrowed from wherever they are.
#[derive(Clone, Copy, Debug)]
pub enum Ids<'a> {
    /// Of messages.
    Messages(&'a [Message]),
    /// Of messages, by themselves.
    Ids(&'a [MessageId]),
    /// As a file holds them.
    Texts(&'a [Cow<'a, str>]),
    /// Of the tool calls among these blocks.
    Calls(&'a [Block]),
}

impl<'a> Ids<'a> {
    /// The identities, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let (messages, ids, texts, blocks): (&[_], &[_], &[_], &[_]) = match self {
            Self::Messages(messages) => (messages, &[], &[], &[]),
            Self::Ids(ids) => (&[], ids, &[], &[]),
            Self::Texts(texts) => (&[], &[], texts, &[]),
            Self::Calls(blocks) => (&[], &[], &[], blocks),
        };
        let messages = messages.iter().map(|message| message.id.as_str());
        let ids = ids.iter().map(MessageId::as_str);
        let texts = texts.iter().map(Cow::as_ref);
        let calls = blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        });
        messages.chain(ids).chain(texts).chain(calls)
    }

    /// How many there are.
    #[must_use]
    pub fn count(self) -> usize {
        self.iter().count()
    }
}

/// The kinds of facts, to say which of them a rule reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    missing_docs,
    reason = "named as the facts and records that they are the kinds of"
)]
#[repr(u8)]
pub enum Kind {
    Spliced,
    TurnStart,
    TurnEnd,
    StepStart,
    StepEnd,
    UserMessage,
    Chunk,
    AssistantMessage,
    ToolCall,
    ToolResult,
    Request,
    EndSeed,
    Other,
    Odd,
    Inserted,
    Claimed,
    Discarded,
    Status,
    Error,
    OtherLive,
    Lists,
    React,
    ReactEnd,
    Act,
    Release,
    Asked,
    Decided,
    PreStep,
    PreStepResult,
    Settled,
    ModelAsked,
    ToolBegun,
    ToolEnded,
    TurnStopping,
    Gate,
    Returned,
    Refused,
    Idle,
    Disposed,
    Maintenance,
    Opened,
    ActEnd,
    Dispatched,
    ObserverFailed,
    AppendRefused,
    Surplus,
    Rest,
    Crashed,
    Resumed,
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u64);

impl Kinds {
    /// These kinds.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Self {
        let mut set = 0;
        let mut place = 0;
        while place < kinds.len() {
            set |= 1 << kinds[place] as u64;
            place += 1;
        }
        Self(set)
    }

    /// Every durable event.
    pub const DURABLE: Self = Self((1 << Kind::Inserted as u64) - 1);

    /// Everything.
    pub const ALL: Self = Self(u64::MAX);

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether the kind is among them.
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u64) != 0
    }
}

impl<'a> Fact<'a> {
    /// The fact of a record.
    #[must_use]
    pub fn of_record(record: &'a Record) -> Self {
        match record {
            Record::Durable(event) => Self::of_event(event),
            Record::Live(live) => Self::Live(live),
            record => Self::Observed(record),
        }
    }

    /// The fact of a durable event.
    #[must_use]
    pub fn of_event(event: &'a Event) -> Self {
        match &event.body {
            Body::InboxSpliced(splice) => Self::Spliced(splice.into()),
            Body::TurnStart(started) => Self::TurnStart { turn: started.turn },
            Body::TurnEnd(ended) => Self::TurnEnd {
                turn: ended.turn,
                end: EndKind::of(&ended.reason),
                cause: cause(&ended.reason),
            },
            Body::StepStart(mark) => Self::StepStart(Place {
                turn: mark.turn,
                step: mark.step,
            }),
            Body::StepEnd(mark) => Self::StepEnd(Place {
                turn: mark.turn,
                step: mark.step,
            }),
            Body::UserMessage(said) => Self::UserMessage {
                id: said.message.id.as_str(),
                surface: OnSurface::of(&said.surface),
            },
            Body::AssistantChunk(chunked) => Self::Chunk {
                place: Place {
                    turn: chunked.turn,
                    step: chunked.step,
                },
                count: 1,
                finish: finish(&chunked.chunk.kind),
            },
            Body::AssistantMessage(said) => Self::AssistantMessage(said.into()),
            Body::ToolCall(called) => Self::ToolCall {
                place: Place {
                    turn: called.turn,
                    step: called.step,
                },
                call: called.call_id.as_str(),
            },
            Body::ToolResult(answered) => Self::of_result(answered),
            Body::RequestHeader(_) | Body::RequestContext(_) => Self::Request,
            Body::EndSeed(_) => Self::EndSeed,
            body => Self::Other { kind: body.kind() },
        }
    }

    fn of_result(answered: &'a ToolAnswered) -> Self {
        let call = match &answered.message.source {
            Source::Tool { call_id, .. } => call_id.as_str(),
            _ => "",
        };
        Self::ToolResult {
            place: Place {
                turn: answered.turn,
                step: answered.step,
            },
            call,
            error: answered.error.as_ref().map(|error| error.code.as_ref()),
            surface: OnSurface::of(&answered.surface),
        }
    }

    /// How many events it stands for, at least 1.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Chunk { count, .. } => *count,
            _ => 1,
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Spliced(_) => Kind::Spliced,
            Self::TurnStart { .. } => Kind::TurnStart,
            Self::TurnEnd { .. } => Kind::TurnEnd,
            Self::StepStart(_) => Kind::StepStart,
            Self::StepEnd(_) => Kind::StepEnd,
            Self::UserMessage { .. } => Kind::UserMessage,
            Self::Chunk { .. } => Kind::Chunk,
            Self::AssistantMessage(_) => Kind::AssistantMessage,
            Self::ToolCall { .. } => Kind::ToolCall,
            Self::ToolResult { .. } => Kind::ToolResult,
            Self::Request => Kind::Request,
            Self::EndSeed => Kind::EndSeed,
            Self::Other { .. } => Kind::Other,
            Self::Odd { .. } => Kind::Odd,
            Self::Live(live) => kind_of_live(live),
            Self::Observed(record) => kind_of_record(record),
        }
    }
}

fn kind_of_live(live: &Live) -> Kind {
    match live {
        Live::Inserted { .. } => Kind::Inserted,
        Live::Claimed { .. } => Kind::Claimed,
        Live::Discarded { .. } => Kind::Discarded,
        Live::Status { .. } => Kind::Status,
        Live::Error { .. } => Kind::Error,
        Live::SessionStart { .. } | Live::Created | Live::Disposed => Kind::OtherLive,
    }
}

fn kind_of_record(record: &Record) -> Kind {
    match record {
        Record::Durable(_) => Kind::Other,
        Record::Live(live) => kind_of_live(live),
        Record::Lists(_) => Kind::Lists,
        Record::React(_) => Kind::React,
        Record::ReactEnd(_) => Kind::ReactEnd,
        Record::Act { .. } => Kind::Act,
        Record::Release { .. } => Kind::Release,
        Record::Asked { .. } => Kind::Asked,
        Record::Decided(_) => Kind::Decided,
        Record::PreStep { .. } => Kind::PreStep,
        Record::PreStepResult { .. } => Kind::PreStepResult,
        Record::Settled { .. } => Kind::Settled,
        Record::ModelAsked { .. } => Kind::ModelAsked,
        Record::ToolBegun { .. } => Kind::ToolBegun,
        Record::ToolEnded { .. } => Kind::ToolEnded,
        Record::TurnStopping { .. } => Kind::TurnStopping,
        Record::Gate { .. } => Kind::Gate,
        Record::Returned(_) => Kind::Returned,
        Record::Refused(_) => Kind::Refused,
        Record::Idle(_) => Kind::Idle,
        Record::Disposed => Kind::Disposed,
        Record::Maintenance(_) => Kind::Maintenance,
        Record::Opened { .. } => Kind::Opened,
        Record::ActEnd => Kind::ActEnd,
        Record::Dispatched { .. } => Kind::Dispatched,
        Record::ObserverFailed => Kind::ObserverFailed,
        Record::AppendRefused => Kind::AppendRefused,
        Record::Surplus { .. } => Kind::Surplus,
        Record::Rest(_) => Kind::Rest,
        Record::Crashed => Kind::Crashed,
        Record::Resumed { .. } => Kind::Resumed,
    }
}

impl<'a> From<&'a InboxSpliced> for Spliced<'a> {
    fn from(splice: &'a InboxSpliced) -> Self {
        Self {
            target: splice.target,
            start: splice.start,
            removed: splice.removed_count.map_or(0, NonZeroU32::get),
            inserted: Ids::Messages(&splice.inserted),
            canceled: splice.outcome.is_some(),
        }
    }
}

impl<'a> From<&'a AssistantSaid> for Said<'a> {
    fn from(said: &'a AssistantSaid) -> Self {
        let content = &said.message.content;
        let visible = content.iter().any(|block| match block {
            Block::Text { text, .. } | Block::Reasoning { text, .. } => !text.is_empty(),
            _ => false,
        });
        Self {
            place: Place {
                turn: said.turn,
                step: said.step,
            },
            interrupted: said.interrupted,
            visible,
            calls: Ids::Calls(content),
            surface: OnSurface::of(&said.surface),
        }
    }
}

impl<'a> OnSurface<'a> {
    fn of(surface: &'a Surface) -> Self {
        Self {
            replaces: !matches!(surface.surface_op, SurfaceOp::Append(_)),
            sources: surface.source_event_seqs.as_deref(),
        }
    }
}

impl EndKind {
    fn of(reason: &EndReason) -> Self {
        match reason {
            EndReason::Completed => Self::Completed,
            EndReason::Blocked => Self::Blocked,
            EndReason::MaxTokens => Self::MaxTokens,
            EndReason::Interrupted => Self::Interrupted,
            EndReason::Aborted { .. } => Self::Aborted { with_cause: true },
            EndReason::Error { .. } => Self::Error { with_error: true },
            EndReason::Other(reason) => match reason["kind"].as_str() {
                Some("forked") => Self::Forked,
                Some("aborted") => Self::Aborted {
                    with_cause: reason["reason"]["kind"].is_string(),
                },
                Some("error") => Self::Error {
                    with_error: reason["error"]["message"].is_string(),
                },
                _ => Self::Unknown,
            },
        }
    }
}

fn cause(reason: &EndReason) -> Option<&CancelCause> {
    match reason {
        EndReason::Aborted { reason } => Some(&reason.cause),
        _ => None,
    }
}

fn finish(kind: &ChunkKind) -> Option<FinishKind> {
    let ChunkKind::Finish { reason } = kind else {
        return None;
    };
    Some(match reason {
        Finish::Error { .. } | Finish::Aborted { .. } => FinishKind::Failure,
        Finish::MaxTokens => FinishKind::MaxTokens,
        Finish::Stop | Finish::ToolCalls | Finish::Other(_) => FinishKind::Answer,
    })
}
