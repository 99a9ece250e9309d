//! The plain form of a session file: a header, then one event a line.
//!
//! A batch of several events is whole or gone: each of its lines but the last ends with one space
//! before the line end. JSON ignores the space; a file that ends after it lacks the rest of the
//! batch, and the batch does not count. Files of other programs have no such lines, and may have
//! packed rows, and events without place and time.
//!
//! A last line without its line end does not count, though it may be whole JSON: cut just before
//! its space, a line inside a batch looks like the last line of one, and half a batch would count.
//!
//! Not here: opening and cutting files (`file`), compression (`frames`).

use std::io::BufRead;

use crate::event::{Body, Event, Header, Line, Row, Seq};

use super::StorageError;
use super::found::{Damage, Place, Recovery, Trouble};

/// Before the line end: the batch goes on with the next line.
const GOES_ON: &[u8] = b" ";

/// How every header and every event begins.
const BEGINNING: &[u8] = br#"{"type":"#;

/// A text with fewer opening brackets cannot nest too deep to be read.
const SAFE_BRACKETS: usize = 100;

/// Prints the lines of one batch at the end of `text`.
///
/// After an error, part of it may be there.
pub(super) fn print(batch: &[Event], text: &mut Vec<u8>) -> Result<(), StorageError> {
    let last = batch.len().saturating_sub(1);
    for (nth, event) in batch.iter().enumerate() {
        let start = text.len();
        let printed = serde_json::to_writer(&mut *text, event);
        if printed.is_err() || !reads_back(event, &text[start..]) {
            let what = format!("event {}", event.seq);
            return Err(StorageError::Unreadable { what });
        }
        if nth < last {
            text.extend_from_slice(GOES_ON);
        }
        text.push(b'\n');
    }
    Ok(())
}

/// Prints the line of a header at the end of `text`, as [`print`] does.
pub(super) fn print_header(header: &Header, text: &mut Vec<u8>) -> Result<(), StorageError> {
    let start = text.len();
    let printed = serde_json::to_writer(&mut *text, header);
    if printed.is_err() || !matches!(parse(&text[start..]), Ok(Line::Header(_))) {
        let what = "the header".into();
        return Err(StorageError::Unreadable { what });
    }
    text.push(b'\n');
    Ok(())
}

/// Whether the printed event is read as an event again. A plugin's may have the type of another
/// kind of line, or nest too deep; all others are not tried, which would cost more than printing.
fn reads_back(event: &Event, printed: &[u8]) -> bool {
    let brackets = printed.iter().filter(|byte| matches!(byte, b'{' | b'['));
    let usual = !matches!(event.body, Body::Unread(_)) && brackets.count() < SAFE_BRACKETS;
    usual || matches!(parse(printed), Ok(Line::Event(_)))
}

fn parse(line: &[u8]) -> Result<Line, Damage> {
    let text = str::from_utf8(line).map_err(|_| Damage::NotUtf8)?;
    Ok(Line::parse(text)?)
}

/// Whether the batch of this line, given with its line end, goes on with the next.
pub(super) fn goes_on(line: &[u8]) -> bool {
    let content = line.strip_suffix(b"\n");
    content.is_some_and(|content| content.ends_with(GOES_ON))
}

/// What a session file holds.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) header: Option<Header>,
    pub(super) events: Vec<Event>,
    /// How many bytes are whole.
    pub(super) length: u64,
    /// Whether the last whole line lacks its end; what follows must begin with it.
    pub(super) unended: bool,
    pub(super) recovered: Recovery,
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    header: Option<Header>,
    events: Vec<Event>,
    lines: u64,
    /// Whether the last line lacks its end.
    unended: bool,
    whole: Whole,
}

/// How much of what was read are whole batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    events: usize,
    unended: bool,
}

impl Gathered {
    /// Takes one line, with its line end or without; or the line end that the last one lacks.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), Damage> {
        let ends_last = self.unended && line == b"\n";
        self.unended = !line.ends_with(b"\n");
        if ends_last {
            return Ok(());
        }
        self.lines += 1;
        match parse(line)? {
            Line::Header(header) if self.lines == 1 => self.header = Some(header),
            Line::Header(_) => return Err(Damage::LateHeader),
            Line::Event(row) => self.place(row)?,
            Line::Packed(row) => {
                let pieces = row.expand()?;
                pieces.into_iter().try_for_each(|row| self.place(row))?;
            }
        }
        Ok(())
    }

    fn place(&mut self, row: Row) -> Result<(), Damage> {
        let expected = self.events.len() as Seq;
        let event = row.at(expected);
        if event.seq != expected {
            let found = event.seq;
            return Err(Damage::OutOfOrder { expected, found });
        }
        self.events.push(event);
        Ok(())
    }

    /// How many lines were taken: the number of the last, from 1.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn whole(&self) -> Whole {
        self.whole
    }

    /// Everything taken so far is whole; it is as long as that.
    pub(super) fn is_whole(&mut self, bytes: u64) {
        self.whole = Whole {
            bytes,
            lines: self.lines,
            events: self.events.len(),
            unended: self.unended,
        };
    }

    /// Keeps the whole batches.
    pub(super) fn found(mut self, recovered: Recovery) -> Found {
        self.events.truncate(self.whole.events);
        Found {
            header: self.header.filter(|_| self.whole.lines > 0),
            events: self.events,
            length: self.whole.bytes,
            unended: self.whole.unended,
            recovered,
        }
    }
}

/// Reads a plain session file to its end. A file without a byte is clean and has no header.
pub(super) fn read(source: &mut impl BufRead) -> Result<Found, Trouble> {
    let mut all = Gathered::default();
    let mut line = Vec::new();
    let mut length = 0;
    loop {
        line.clear();
        length += source.read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            break;
        }
        let taken = all.take(&line);
        taken.map_err(|damage| damaged(all.lines(), damage))?;
        if !goes_on(&line) {
            all.is_whole(length);
        }
    }
    if all.lines() == 0 && !could_begin(&line) {
        return Err(damaged(1, Damage::NoLog));
    }
    let recovered = recovered(&all, length);
    Ok(all.found(recovered))
}

fn damaged(line: u64, damage: Damage) -> Trouble {
    Trouble::Damaged(Place::Line { line }, damage)
}

/// Whether a torn first line may be that of a session file. Any other file is not touched.
fn could_begin(line: &[u8]) -> bool {
    let common = line.len().min(BEGINNING.len());
    line[..common] == BEGINNING[..common]
}

fn recovered(all: &Gathered, length: u64) -> Recovery {
    let whole = all.whole();
    let (line, offset, bytes) = (whole.lines + 1, whole.bytes, length - whole.bytes);
    match bytes {
        0 => Recovery::Clean,
        _ if all.lines() > whole.lines => Recovery::TornBatch {
            line,
            offset,
            bytes,
        },
        _ => Recovery::TornLine {
            line,
            offset,
            bytes,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::agent::sketch::{log, turn_start};
    use crate::event::{ChunkKind, LineError, Unread};

    const HEADER: &str = r#"{"type":"session","version":0}"#;
    const START: &str = r#"{"type":"turn/start","data":{"turn":1}}"#;
    const PACKED: &str =
        r#"{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a","b"]}}"#;

    fn found(text: &str) -> Found {
        read(&mut text.as_bytes()).unwrap()
    }

    fn damage(text: impl AsRef<[u8]>) -> (u64, Damage) {
        match read(&mut text.as_ref()) {
            Err(Trouble::Damaged(Place::Line { line }, damage)) => (line, damage),
            other => panic!("{other:?}"),
        }
    }

    fn printed(batch: &[Event]) -> Result<String, StorageError> {
        let mut text = Vec::new();
        print(batch, &mut text).map(|()| String::from_utf8(text).unwrap())
    }

    fn plugin(kind: &str, data: Value) -> Vec<Event> {
        let unread = Unread {
            kind: kind.into(),
            data: Some(data),
            ignorable: true,
        };
        log([Body::Unread(Arc::new(unread))])
    }

    fn nested(depth: usize) -> Value {
        let wrap = |inner, _| Value::Array(vec![inner]);
        iter::repeat_n((), depth).fold(Value::Null, wrap)
    }

    #[test]
    fn one_event_is_one_line() {
        let line = r#"{"type":"turn/start","seq":0,"time":1000,"data":{"turn":1}}"#;
        assert_eq!(printed(&log([turn_start(1)])), Ok(format!("{line}\n")));
    }

    #[test]
    fn lines_that_the_batch_goes_on_after_end_in_a_space() {
        let text = printed(&log([turn_start(1), turn_start(2), turn_start(3)])).unwrap();
        let ends: Vec<_> = text.lines().map(|line| line.ends_with(' ')).collect();
        assert_eq!(ends, [true, true, false]);
    }

    #[test]
    fn a_batch_is_read_back() {
        let batch = log([turn_start(1), turn_start(2)]);
        let found = found(&printed(&batch).unwrap());
        assert_eq!(found.events, batch);
        assert_eq!(found.recovered, Recovery::Clean);
    }

    #[test]
    fn events_without_place_and_time_count_by_position() {
        let events = found(&format!("{HEADER}\n{START}\n{START}\n")).events;
        let placed: Vec<_> = events.iter().map(|event| (event.seq, event.time)).collect();
        assert_eq!(placed, [(0, 0), (1, 0)]);
    }

    #[test]
    fn packed_rows_stand_for_their_pieces() {
        let events = found(&format!("{START}\n{PACKED}\n{START}\n")).events;
        assert_eq!(events.len(), 4);
        assert_eq!(events[3].seq, 3);
        let Body::AssistantChunk(piece) = &events[2].body else {
            panic!("{:?}", events[2]);
        };
        let (index, text) = (0, "b".into());
        assert_eq!(piece.chunk.kind, ChunkKind::TextDelta { index, text });
    }

    #[test]
    fn a_file_needs_no_header() {
        let found = found(&format!("{START}\n"));
        assert_eq!(found.header, None);
        assert_eq!(found.events.len(), 1);
    }

    #[test]
    fn a_torn_line_is_left_out() {
        let whole = format!("{HEADER}\n{START}\n");
        let found = found(&format!("{whole}{{\"typ"));
        let offset = whole.len() as u64;
        let (line, bytes) = (3, 5);
        let torn = Recovery::TornLine {
            line,
            offset,
            bytes,
        };
        assert_eq!(found.recovered, torn);
        assert_eq!((found.length, found.events.len()), (offset, 1));
    }

    #[test]
    fn a_line_that_lacks_its_end_alone_is_torn() {
        assert!(found(START).events.is_empty());
    }

    #[test]
    fn a_batch_whose_first_line_lacks_its_mark_is_left_out_though_that_line_is_whole_json() {
        let text = printed(&log([turn_start(1), turn_start(2)])).unwrap();
        let (first, _) = text.split_once(" \n").unwrap();
        assert!(matches!(parse(first.as_bytes()), Ok(Line::Event(_))));
        assert!(found(first).events.is_empty());
    }

    #[test]
    fn a_torn_tail_need_not_be_text() {
        let torn = [START.as_bytes(), b"\n", &[0; 30]].concat();
        assert_eq!(read(&mut &torn[..]).unwrap().recovered.bytes(), 30);
    }

    #[test]
    fn a_batch_without_its_last_line_is_left_out_whole() {
        let whole = format!("{START}\n");
        let half = format!("{START} \n{START} \n");
        let found = found(&format!("{whole}{half}"));
        let torn = Recovery::TornBatch {
            line: 2,
            offset: whole.len() as u64,
            bytes: half.len() as u64,
        };
        assert_eq!(found.recovered, torn);
        assert_eq!(found.events.len(), 1);
    }

    #[test]
    fn a_batch_with_a_torn_last_line_is_left_out_whole() {
        let found = found(&format!("{START}\n{START} \n{START}"));
        assert!(matches!(
            found.recovered,
            Recovery::TornBatch { line: 2, .. }
        ));
        assert_eq!(found.events.len(), 1);
    }

    #[test]
    fn what_is_no_line_is_named() {
        let (line, damage) = damage(format!("{HEADER}\n{START}\n{{}}\n{START}\n"));
        assert_eq!((line, damage), (3, Damage::Line(LineError::NoType)));
    }

    #[test]
    fn the_last_line_is_damaged_when_it_has_its_end() {
        let (line, _) = damage(format!("{START}\n{{\"typ\n"));
        assert_eq!(line, 2);
    }

    #[test]
    fn a_line_that_is_not_text_is_named() {
        let bytes = [START.as_bytes(), b"\n\xff\n"].concat();
        assert_eq!(damage(bytes), (2, Damage::NotUtf8));
    }

    #[test]
    fn a_second_header_is_damage() {
        let text = format!("{HEADER}\n{HEADER}\n");
        assert_eq!(damage(text), (2, Damage::LateHeader));
    }

    #[test]
    fn an_event_at_another_place_is_damage() {
        let strayed = r#"{"type":"turn/start","seq":4,"data":{"turn":1}}"#;
        let (expected, found) = (1, 4);
        let gap = Damage::OutOfOrder { expected, found };
        assert_eq!(damage(format!("{START}\n{strayed}\n")), (2, gap));
    }

    #[test]
    fn another_kind_of_file_is_not_a_torn_log() {
        assert_eq!(damage(r#"{"name":"x"}"#), (1, Damage::NoLog));
    }

    #[test]
    fn an_event_of_a_plugin_is_printed() {
        let batch = plugin("todo/write", json!({ "items": [] }));
        assert_eq!(found(&printed(&batch).unwrap()).events, batch);
    }

    #[test]
    fn an_event_that_would_be_read_as_a_header_is_refused() {
        let what = "event 0".into();
        let unreadable = StorageError::Unreadable { what };
        assert_eq!(printed(&plugin("session", json!({}))), Err(unreadable));
    }

    #[test]
    fn an_event_is_printed_exactly_if_it_nests_no_deeper_than_can_be_read() {
        let deepest = (1..200).take_while(|depth| printed(&plugin("deep", nested(*depth))).is_ok());
        assert_eq!(deepest.last(), Some(126));
        let batch = plugin("deep", nested(126));
        assert_eq!(found(&printed(&batch).unwrap()).events, batch);
    }

    #[test]
    fn nesting_is_watched_in_known_events_too() {
        let mut batch = log([turn_start(1)]);
        let Body::TurnStart(started) = &mut batch[0].body else {
            unreachable!()
        };
        started.extra = started.extra.clone().with("deep", nested(150));
        assert!(printed(&batch).is_err());
    }
}
