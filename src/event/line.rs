//! Lines of session files: header, event, packed chunks.
//!
//! Reading is exact: a line prints back as the same JSON value. Numbers are those of `serde_json`:
//! integers of 64 bits, else the nearest double. Of a member that is named twice the last counts.
//!
//! Not here: files, frames and torn tails (agent, trace); what a sequence of lines may say (rules).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::catalog::says;
use super::exact::exact;
use super::wire::take;
use super::{Body, CallId, Chunk, ChunkKind, Chunked, Event, Extra, Seq, Step, Time, Turn};

/// One line of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// `{"type":"session", …}`: what the first line says of the whole.
    Header(Header),
    /// A durable event.
    Event(Row),
    /// Several `assistant/chunk` events in one.
    Packed(PackedRow),
}

/// Why a text is no line of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LineError {
    /// No JSON, or beyond what is read: nested deeper than 127, or a number beyond a double.
    #[error("not JSON at column {column}: {what}")]
    NotJson {
        /// Where, in bytes from 1.
        column: usize,
        /// In the parser's words.
        what: String,
    },
    /// JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// An object without `type`.
    #[error("no `type`")]
    NoType,
    /// The `type` is no text.
    #[error("`type` is not a text")]
    TypeNotText,
    /// An event of a strict log lacks its place, or it is no number from 0.
    #[error("no `seq`")]
    NoSeq,
    /// An event of a strict log lacks its time, or it is no number from 0.
    #[error("no `time`")]
    NoTime,
    /// An event of a strict log has a member that no event has.
    #[error("unknown member `{0}` beside the event's data")]
    UnknownMember(String),
    /// A packed row needs one gap of time between each two pieces.
    #[error("{pieces} packed pieces with {gaps} gaps between them")]
    PackedGaps {
        /// How many pieces.
        pieces: usize,
        /// How many gaps.
        gaps: usize,
    },
    /// A piece of a packed row would have a place or a time out of range.
    #[error("packed piece {0} has no possible place or time")]
    PackedRange(usize),
}

/// The first line of a session file. Members that do not have their type stay in `extra`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type", rename = "session")]
#[schemars(rename = "Header", transform = says("type", "session"))]
pub struct Header {
    /// Format of the log: 0 to 4 are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Identity of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
    /// The session that this one was forked from, or that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<Arc<str>>,
    /// How many events were inherited; versions 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    /// Whether any event was inherited; from version 2 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_seeded: Option<bool>,
    /// Members not known here: `cwd`, `origin`, `delegationDepth`.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An event as a file holds it, where place and time may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Place in the log, if it is written and a number from 0.
    pub seq: Option<Seq>,
    /// When it was accepted, if it is written and a number from 0.
    pub time: Option<Time>,
    /// What happened.
    pub body: Body,
    /// Members of the envelope that do not belong there, whole; `surfaceOp` on a type that makes no
    /// message, a `seq` that is no number.
    pub extra: Extra,
}

/// A row that stands for several `assistant/chunk` events of one block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PackedRow {
    /// Place of the first piece, if it is written; the others follow without a gap.
    pub seq0: Option<Seq>,
    /// Time of the first piece, if it is written.
    pub time0: Option<Time>,
    /// The pieces.
    pub packed: Packed,
    /// Members of the envelope not known here.
    pub extra: Extra,
}

/// The pieces of a packed row; the variant is the row's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Packed {
    /// `text-chunks`: each a `text-delta`.
    Text(PackedTexts),
    /// `reasoning-chunks`: each a `reasoning-delta`.
    Reasoning(PackedTexts),
    /// `tool-call-chunks`: each a `tool-call-delta`.
    ToolCall(PackedCall),
}

/// Data of `text-chunks` and `reasoning-chunks`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PackedTexts {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// Which block of the attempt.
    pub index: u32,
    /// Milliseconds from each piece to the next, one fewer than pieces; may be negative.
    pub dt: Vec<i64>,
    /// What each piece adds.
    pub texts: Vec<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Data of `tool-call-chunks`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PackedCall {
    /// The open turn.
    pub turn: Turn,
    /// The open step.
    pub step: Step,
    /// Which block of the attempt.
    pub index: u32,
    /// Milliseconds from each piece to the next, one fewer than pieces; may be negative.
    pub dt: Vec<i64>,
    /// Identity of the call.
    pub id: CallId,
    /// Name of the tool.
    pub name: Arc<str>,
    /// The raw text of the arguments that each piece adds.
    pub args: Vec<Arc<str>>,
    /// Members not known here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Line {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    ///
    /// When it is not JSON, no object, or has no `type` that is a text; an empty line is not JSON.
    ///
    /// ```
    /// use prestep::event::{Body, Line};
    ///
    /// let line = Line::parse(r#"{"type":"turn/start","data":{"turn":1},"weather":"rain"}"#)?;
    /// let Line::Event(row) = line else { unreachable!() };
    /// assert!(matches!(row.body, Body::TurnStart(_)));
    /// assert_eq!(row.extra.get("weather"), Some(&"rain".into()));
    /// # Ok::<(), prestep::event::LineError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let value = serde_json::from_str(text).map_err(|error| LineError::not_json(&error))?;
        Self::from_value(value)
    }

    /// Reads one line that is JSON already.
    ///
    /// # Errors
    ///
    /// When it is no object, or has no `type` that is a text.
    pub fn from_value(value: Value) -> Result<Self, LineError> {
        let (kind, members) = envelope(value)?;
        Ok(match kind.as_str() {
            "session" => Self::Header(Header::from_members(members)),
            "text-chunks" | "reasoning-chunks" | "tool-call-chunks" => packed(&kind, members),
            _ => Self::Event(Row::from_members(&kind, members)),
        })
    }
}

impl LineError {
    fn not_json(error: &serde_json::Error) -> Self {
        let words = error.to_string();
        let what = words.rsplit_once(" at line ");
        Self::NotJson {
            column: error.column(),
            what: what.map_or(words.as_str(), |(what, _)| what).into(),
        }
    }
}

/// An object's `type` and its other members.
fn envelope(value: Value) -> Result<(String, Map<String, Value>), LineError> {
    let Value::Object(mut members) = value else {
        return Err(LineError::NotAnObject);
    };
    match members.remove("type") {
        Some(Value::String(kind)) => Ok((kind, members)),
        Some(_) => Err(LineError::TypeNotText),
        None => Err(LineError::NoType),
    }
}

/// A packed row, or, when its data does not fit, an event that nobody knows.
fn packed(kind: &str, mut members: Map<String, Value>) -> Line {
    let data = members.get("data");
    let Some(packed) = data.and_then(|data| Packed::read(kind, data)) else {
        return Line::Event(Row::from_members(kind, members));
    };
    members.remove("data");
    Line::Packed(PackedRow {
        seq0: take(&mut members, "seq0"),
        time0: take(&mut members, "time0"),
        packed,
        extra: members.into(),
    })
}

impl Header {
    /// The members of a header line, `type` left out.
    fn from_members(mut members: Map<String, Value>) -> Self {
        Self {
            version: take(&mut members, "version"),
            id: take(&mut members, "id"),
            created_at: take(&mut members, "createdAt"),
            parent_session: take(&mut members, "parentSession"),
            seed_length: take(&mut members, "seedLength"),
            is_seeded: take(&mut members, "isSeeded"),
            extra: members.into(),
        }
    }
}

impl Row {
    /// Reads an event that is JSON already, as [`Line::parse`] reads the line of an event.
    ///
    /// # Errors
    ///
    /// When it is no object, or has no `type` that is a text.
    pub fn from_value(value: Value) -> Result<Self, LineError> {
        let (kind, members) = envelope(value)?;
        Ok(Self::from_members(&kind, members))
    }

    /// The members of an event's envelope, `type` left out.
    fn from_members(kind: &str, mut members: Map<String, Value>) -> Self {
        let data = members.remove("data");
        Self {
            seq: take(&mut members, "seq"),
            time: take(&mut members, "time"),
            body: Body::from_json(kind, data, &mut members),
            extra: members.into(),
        }
    }

    /// The event, at its own place and time where they are written, else at `position` and time 0.
    /// Members that do not belong in the envelope are dropped.
    #[must_use]
    pub fn at(self, position: Seq) -> Event {
        Event {
            seq: self.seq.unwrap_or(position),
            time: self.time.unwrap_or(0),
            body: self.body,
        }
    }
}

impl Event {
    /// The event of a row of a strict log, where place and time are written and no member is
    /// unknown. An `ignorable` mark on a type that is known here has no meaning and is dropped.
    ///
    /// # Errors
    ///
    /// [`LineError::NoSeq`], [`LineError::NoTime`] or [`LineError::UnknownMember`].
    pub fn from_row(row: Row) -> Result<Self, LineError> {
        let seq = row.seq.ok_or(LineError::NoSeq)?;
        let time = row.time.ok_or(LineError::NoTime)?;
        match row.extra.iter().find(|(name, _)| *name != "ignorable") {
            Some((name, _)) => Err(LineError::UnknownMember(name.into())),
            None => Ok(Self {
                seq,
                time,
                body: row.body,
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Row::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
        Self::from_row(row).map_err(D::Error::custom)
    }
}

impl From<Event> for Row {
    fn from(event: Event) -> Self {
        Self {
            seq: Some(event.seq),
            time: Some(event.time),
            body: event.body,
            extra: Extra::NONE,
        }
    }
}

impl Packed {
    /// The type of the row.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text-chunks",
            Self::Reasoning(_) => "reasoning-chunks",
            Self::ToolCall(_) => "tool-call-chunks",
        }
    }

    fn read(kind: &str, data: &Value) -> Option<Self> {
        match kind {
            "text-chunks" => exact(data).map(Self::Text),
            "reasoning-chunks" => exact(data).map(Self::Reasoning),
            _ => exact(data).map(Self::ToolCall),
        }
    }

    /// The gaps between the pieces.
    fn gaps(&self) -> &[i64] {
        match self {
            Self::Text(packed) | Self::Reasoning(packed) => &packed.dt,
            Self::ToolCall(packed) => &packed.dt,
        }
    }

    /// The data of each piece's event.
    fn pieces(&self) -> Vec<Chunked> {
        match self {
            Self::Text(packed) => packed.pieces(|index, text| ChunkKind::TextDelta { index, text }),
            Self::Reasoning(packed) => {
                packed.pieces(|index, text| ChunkKind::ReasoningDelta { index, text })
            }
            Self::ToolCall(packed) => packed.pieces(),
        }
    }
}

impl PackedTexts {
    fn pieces(&self, piece: fn(u32, Arc<str>) -> ChunkKind) -> Vec<Chunked> {
        let texts = self.texts.iter();
        texts
            .map(|text| chunked(self.turn, self.step, piece(self.index, text.clone())))
            .collect()
    }
}

impl PackedCall {
    fn pieces(&self) -> Vec<Chunked> {
        let piece = |args: &Arc<str>| ChunkKind::ToolCallDelta {
            index: self.index,
            id: self.id.clone(),
            name: self.name.clone(),
            arguments_delta: args.clone(),
        };
        let args = self.args.iter();
        args.map(|args| chunked(self.turn, self.step, piece(args)))
            .collect()
    }
}

fn chunked(turn: Turn, step: Step, kind: ChunkKind) -> Chunked {
    Chunked {
        turn,
        step,
        chunk: Chunk::from(kind),
        extra: Extra::NONE,
    }
}

impl PackedRow {
    /// The events that the row stands for, in order; none for a row without pieces. Where the
    /// first place or time is not written, none is.
    ///
    /// # Errors
    ///
    /// [`LineError::PackedGaps`] unless there is one gap between each two pieces;
    /// [`LineError::PackedRange`] when a place or a time is below 0 or beyond 64 bits.
    pub fn expand(&self) -> Result<Vec<Row>, LineError> {
        let pieces = self.packed.pieces();
        let gaps = self.packed.gaps();
        if gaps.len() != pieces.len().saturating_sub(1) {
            return Err(LineError::PackedGaps {
                pieces: pieces.len(),
                gaps: gaps.len(),
            });
        }
        let mut place = Place {
            seq: self.seq0,
            time: self.time0,
        };
        let steps = std::iter::once(&0).chain(gaps).enumerate();
        let rows = pieces.into_iter().zip(steps).map(|(piece, (nth, gap))| {
            if nth > 0 {
                place = place.next(*gap).ok_or(LineError::PackedRange(nth))?;
            }
            Ok(place.row(Body::AssistantChunk(piece)))
        });
        rows.collect()
    }
}

/// Where and when a piece of a packed row stands, as far as it is written.
#[derive(Clone, Copy)]
struct Place {
    seq: Option<Seq>,
    time: Option<Time>,
}

impl Place {
    /// One further, `gap` milliseconds later; `None` when that is out of range.
    fn next(self, gap: i64) -> Option<Self> {
        let seq = self.seq.map(|seq| seq.checked_add(1).ok_or(()));
        let time = self.time.map(|time| time.checked_add_signed(gap).ok_or(()));
        Some(Self {
            seq: seq.transpose().ok()?,
            time: time.transpose().ok()?,
        })
    }

    fn row(self, body: Body) -> Row {
        Row {
            seq: self.seq,
            time: self.time,
            body,
            extra: Extra::NONE,
        }
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Header(header) => header.serialize(serializer),
            Self::Event(row) => row.serialize(serializer),
            Self::Packed(row) => row.serialize(serializer),
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.kind())?;
        print_some(&mut map, "seq", self.seq)?;
        print_some(&mut map, "time", self.time)?;
        self.body.print_rest(&mut map)?;
        print_extra(&mut map, &self.extra)?;
        map.end()
    }
}

impl Serialize for PackedRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.packed.kind())?;
        print_some(&mut map, "seq0", self.seq0)?;
        print_some(&mut map, "time0", self.time0)?;
        match &self.packed {
            Packed::Text(packed) | Packed::Reasoning(packed) => {
                map.serialize_entry("data", packed)?;
            }
            Packed::ToolCall(packed) => map.serialize_entry("data", packed)?,
        }
        print_extra(&mut map, &self.extra)?;
        map.end()
    }
}

fn print_some<M: SerializeMap>(
    map: &mut M,
    name: &str,
    number: Option<u64>,
) -> Result<(), M::Error> {
    match number {
        Some(number) => map.serialize_entry(name, &number),
        None => Ok(()),
    }
}

fn print_extra<M: SerializeMap>(map: &mut M, extra: &Extra) -> Result<(), M::Error> {
    let mut members = extra.iter();
    members.try_for_each(|(name, value)| map.serialize_entry(name, value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packed(value: Value) -> PackedRow {
        match Line::from_value(value) {
            Ok(Line::Packed(row)) => row,
            other => panic!("no packed row: {other:?}"),
        }
    }

    fn texts(seq0: u64, time0: u64, dt: &[i64], texts: &[&str]) -> PackedRow {
        packed(json!({
            "type": "text-chunks", "seq0": seq0, "time0": time0,
            "data": { "turn": 1, "step": 2, "index": 3, "dt": dt, "texts": texts },
        }))
    }

    fn row(value: Value) -> Row {
        Row::from_value(value).unwrap()
    }

    #[test]
    fn a_packed_row_stands_for_one_event_a_piece() {
        let rows = texts(7, 100, &[5, -2], &["a", "b", "c"]).expand().unwrap();
        let piece = |seq: u64, time: u64, text: &str| {
            row(json!({
                "type": "assistant/chunk", "seq": seq, "time": time,
                "data": {
                    "turn": 1, "step": 2,
                    "chunk": { "type": "text-delta", "index": 3, "text": text },
                },
            }))
        };
        assert_eq!(
            rows,
            [piece(7, 100, "a"), piece(8, 105, "b"), piece(9, 103, "c")]
        );
    }

    #[test]
    fn packed_reasoning_stands_for_reasoning_deltas() {
        let row = packed(json!({
            "type": "reasoning-chunks",
            "data": { "turn": 1, "step": 1, "index": 0, "dt": [], "texts": ["hm"] },
        }));
        let rows = serde_json::to_value(row.expand().unwrap()).unwrap();
        assert_eq!(
            rows[0]["data"]["chunk"],
            json!({ "type": "reasoning-delta", "index": 0, "text": "hm" })
        );
    }

    #[test]
    fn a_packed_call_stands_for_deltas_of_that_call() {
        let row = packed(json!({
            "type": "tool-call-chunks",
            "data": {
                "turn": 1, "step": 1, "index": 0, "dt": [0],
                "id": "c", "name": "read", "args": ["{", "}"],
            },
        }));
        let rows = serde_json::to_value(row.expand().unwrap()).unwrap();
        assert_eq!(
            rows[1]["data"]["chunk"],
            json!({
                "type": "tool-call-delta", "index": 0,
                "id": "c", "name": "read", "argumentsDelta": "}",
            })
        );
    }

    #[test]
    fn a_packed_row_without_a_place_gives_events_without_one() {
        let row = packed(json!({
            "type": "text-chunks",
            "data": { "turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"] },
        }));
        let rows = row.expand().unwrap();
        assert!(
            rows.iter()
                .all(|row| row.seq.is_none() && row.time.is_none())
        );
    }

    #[test]
    fn a_packed_row_without_pieces_stands_for_nothing() {
        assert_eq!(texts(0, 0, &[], &[]).expand(), Ok(Vec::new()));
    }

    #[test]
    fn a_packed_row_needs_a_gap_between_each_two_pieces() {
        let refused = texts(0, 0, &[1, 1], &["a", "b"]).expand();
        assert_eq!(refused, Err(LineError::PackedGaps { pieces: 2, gaps: 2 }));
    }

    #[test]
    fn a_packed_row_without_pieces_has_no_gap() {
        let refused = texts(0, 0, &[1], &[]).expand();
        assert_eq!(refused, Err(LineError::PackedGaps { pieces: 0, gaps: 1 }));
    }

    #[test]
    fn a_packed_time_before_the_epoch_is_refused() {
        let refused = texts(0, 1, &[-2], &["a", "b"]).expand();
        assert_eq!(refused, Err(LineError::PackedRange(1)));
    }

    #[test]
    fn a_packed_place_beyond_64_bits_is_refused() {
        let refused = texts(u64::MAX, 0, &[0], &["a", "b"]).expand();
        assert_eq!(refused, Err(LineError::PackedRange(1)));
    }

    #[test]
    fn a_packed_row_of_another_shape_is_an_event_kept_whole() {
        let line = Line::from_value(json!({ "type": "text-chunks", "data": { "turn": 1 } }));
        assert!(matches!(line, Ok(Line::Event(row)) if matches!(row.body, Body::Unread(_))));
    }

    #[test]
    fn a_header_keeps_members_of_a_wrong_type_aside() {
        let line = Line::from_value(json!({ "type": "session", "version": "one", "id": "s" }));
        let Ok(Line::Header(header)) = line else {
            panic!("no header: {line:?}");
        };
        assert_eq!(header.version, None);
        assert_eq!(header.id.as_deref(), Some("s"));
        assert_eq!(header.extra.get("version"), Some(&json!("one")));
    }

    #[test]
    fn a_row_without_a_place_takes_its_position() {
        let event = row(json!({ "type": "turn/start", "data": { "turn": 1 } })).at(5);
        assert_eq!((event.seq, event.time), (5, 0));
    }

    #[test]
    fn a_row_keeps_the_place_that_is_written() {
        let value = json!({ "type": "turn/start", "seq": 3, "time": 9, "data": { "turn": 1 } });
        let event = row(value).at(5);
        assert_eq!((event.seq, event.time), (3, 9));
    }

    #[test]
    fn a_place_on_the_surface_is_kept_aside_where_it_does_not_belong() {
        let value = json!({ "type": "turn/start", "data": { "turn": 1 }, "surfaceOp": "append" });
        let row = row(value);
        assert!(matches!(row.body, Body::TurnStart(_)));
        assert_eq!(row.extra.get("surfaceOp"), Some(&json!("append")));
    }

    #[test]
    fn a_strict_event_needs_its_place() {
        let value = json!({ "type": "turn/start", "time": 9, "data": { "turn": 1 } });
        assert_eq!(Event::from_row(row(value)), Err(LineError::NoSeq));
    }

    #[test]
    fn a_strict_event_needs_its_time() {
        let value = json!({ "type": "turn/start", "seq": 0, "time": -1, "data": { "turn": 1 } });
        assert_eq!(Event::from_row(row(value)), Err(LineError::NoTime));
    }

    #[test]
    fn a_strict_event_has_no_unknown_member_beside_its_data() {
        let value =
            json!({ "type": "turn/start", "seq": 0, "time": 0, "data": { "turn": 1 }, "x": 1 });
        let refused = Event::from_row(row(value));
        assert_eq!(refused, Err(LineError::UnknownMember("x".into())));
    }

    #[test]
    fn a_strict_event_of_a_known_type_may_be_marked_ignorable() {
        let value = json!({
            "type": "plan/mode", "seq": 0, "time": 0,
            "data": { "active": true }, "ignorable": true,
        });
        assert!(matches!(
            Event::from_row(row(value)),
            Ok(Event {
                body: Body::Plugin(_),
                ..
            })
        ));
    }
}
