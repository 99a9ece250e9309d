//! The compressed form of a session file: zstd frames, one after the other, of whole lines.
//!
//! A batch is one frame with a checksum of its content, so it is whole or not there; the lines are
//! those of the plain form, and decompressing the file gives it. Frames of other programs may hold
//! many batches, and lack the checksum or the last line end; the next frame may begin with that.
//!
//! Not here: what the lines say (`lines`), opening and cutting files (`file`).

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{CParameter, DCtx};

use super::found::{Damage, Place, Recovery, Trouble};
use super::lines::{Found, Gathered, goes_on};

/// How every frame begins.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Length of a frame's checksum, in bytes.
const CHECKSUM: u64 = 4;

/// Higher levels gain little on texts as short as a batch.
const LEVEL: i32 = 1;

/// Makes a frame of each text.
pub(super) struct Packer {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        let frame = Vec::new();
        Ok(Self { compressor, frame })
    }

    pub(super) fn pack(&mut self, text: &[u8]) -> io::Result<&[u8]> {
        self.frame.clear();
        self.frame.reserve(zstd::compress_bound(text.len()));
        self.compressor.compress_to_buffer(text, &mut self.frame)?;
        Ok(&self.frame)
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Reads a compressed session file to its end.
pub(super) fn read(source: &mut (impl BufRead + Seek)) -> Result<Found, Trouble> {
    let context = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory);
    let mut context = context.map_err(io::Error::from)?;
    let mut all = Gathered::default();
    while !source.fill_buf()?.is_empty() {
        match read_frame(source, &mut context, &mut all) {
            Ok(Frame::Whole) => all.is_whole(source.stream_position()?),
            Ok(Frame::Torn) => return torn(source, all),
            Err(Trouble::Damaged(_, Damage::Frame { .. }))
                if ends_in_zeros(source, all.whole().bytes)? =>
            {
                return torn(source, all);
            }
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(all.found(Recovery::Clean))
}

/// How a frame ended.
enum Frame {
    Whole,
    Torn,
}

fn read_frame(
    source: &mut impl BufRead,
    context: &mut DCtx<'static>,
    all: &mut Gathered,
) -> Result<Frame, Trouble> {
    let offset = all.whole().bytes;
    let mut text = BufReader::new(Decoder::with_context(source, context).single_frame());
    // What is wrong with a line counts once the frame has proved to be as it was written.
    let mut lines = Ok(());
    let mut line = Vec::new();
    let mut open = false;
    loop {
        line.clear();
        match text.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => open = goes_on(&line),
            Err(error) => return not_whole(offset, error, lines),
        }
        if lines.is_ok() {
            lines = all.take(&line).map_err(|damage| {
                let line = all.lines();
                Trouble::Damaged(Place::FrameLine { offset, line }, damage)
            });
        }
    }
    lines?;
    if open {
        return Err(damaged(offset, Damage::OpenBatch));
    }
    Ok(Frame::Whole)
}

/// Tells a frame that ends with the file from one that is damaged. A torn one has no wrong lines.
fn not_whole(offset: u64, error: io::Error, lines: Result<(), Trouble>) -> Result<Frame, Trouble> {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return lines.map(|()| Frame::Torn);
    }
    if error.raw_os_error().is_some() {
        return Err(error.into());
    }
    let words = error.to_string();
    Err(damaged(offset, Damage::Frame { words }))
}

fn damaged(offset: u64, damage: Damage) -> Trouble {
    Trouble::Damaged(Place::Frame { offset }, damage)
}

/// Whether the file holds nothing but zeros from `start` on, or ends in some, as a power loss
/// leaves one whose length was written before its content. Fewer than a checksum has may be part
/// of one.
fn ends_in_zeros(source: &mut (impl BufRead + Seek), start: u64) -> io::Result<bool> {
    let end = source.seek(SeekFrom::End(0))?;
    let length = end.saturating_sub(start).min(CHECKSUM);
    source.seek(SeekFrom::Start(end - length))?;
    let mut tail = Vec::new();
    source.take(length).read_to_end(&mut tail)?;
    Ok(tail.iter().all(|byte| *byte == 0))
}

/// A frame that seems to go on beyond the end of the file: torn, unless another follows, which says
/// that a length in it is wrong.
fn torn(source: &mut (impl BufRead + Seek), all: Gathered) -> Result<Found, Trouble> {
    let offset = all.whole().bytes;
    source.seek(SeekFrom::Start(offset))?;
    let mut rest = Vec::new();
    source.read_to_end(&mut rest)?;
    if holds_whole_frame(rest.get(1..).unwrap_or_default()) {
        return Err(damaged(offset, Damage::Unended));
    }
    let bytes = rest.len() as u64;
    Ok(all.found(Recovery::TornFrame { offset, bytes }))
}

fn holds_whole_frame(bytes: &[u8]) -> bool {
    let mut places = bytes.windows(MAGIC.len()).enumerate();
    places.any(|(at, here)| here == MAGIC && begins_with_frame(&bytes[at..]))
}

fn begins_with_frame(bytes: &[u8]) -> bool {
    Decoder::with_buffer(bytes)
        .and_then(|frame| io::copy(&mut frame.single_frame(), &mut io::sink()))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::agent::log::lines;
    use crate::agent::sketch::{log, turn_start};
    use crate::event::{Event, Header};

    const HEADER: &str = r#"{"type":"session","version":0}"#;
    const FIRST: &str = r#"{"type":"turn/start","data":{"turn":1}}"#;
    const SECOND: &str = r#"{"type":"turn/start","data":{"turn":2}}"#;

    fn frame(text: &str) -> Vec<u8> {
        Packer::new().unwrap().pack(text.as_bytes()).unwrap().into()
    }

    /// One frame for each line.
    fn framed(lines: &[&str]) -> Vec<u8> {
        let frames = lines.iter().map(|line| frame(&format!("{line}\n")));
        frames.collect::<Vec<_>>().concat()
    }

    fn found(bytes: &[u8]) -> Found {
        read(&mut Cursor::new(bytes)).unwrap()
    }

    fn damage(bytes: &[u8]) -> (Place, Damage) {
        match read(&mut Cursor::new(bytes)) {
            Err(Trouble::Damaged(place, damage)) => (place, damage),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn frames_are_read_one_after_the_other() {
        let found = found(&framed(&[HEADER, FIRST, SECOND]));
        assert_eq!(found.header.unwrap().version, Some(0));
        assert_eq!(found.events.len(), 2);
        assert_eq!(found.recovered, Recovery::Clean);
    }

    #[test]
    fn a_frame_may_hold_many_lines() {
        let found = found(&frame(&format!("{HEADER}\n{FIRST}\n{SECOND}\n")));
        assert!(found.header.is_some());
        assert_eq!(found.events.len(), 2);
    }

    #[test]
    fn the_last_line_of_a_whole_frame_needs_no_end() {
        assert_eq!(found(&frame(FIRST)).events.len(), 1);
    }

    #[test]
    fn a_frame_may_begin_with_the_line_end_that_the_last_one_lacks() {
        let bytes = [frame(FIRST), frame(&format!("\n{SECOND}\n"))].concat();
        assert_eq!(found(&bytes).events.len(), 2);
    }

    #[test]
    fn an_empty_line_that_ends_no_other_is_damage() {
        let bytes = [frame(&format!("{FIRST}\n")), frame("\n")].concat();
        assert!(matches!(damage(&bytes).1, Damage::Line(_)));
    }

    #[test]
    fn whether_the_last_line_lacks_its_end_goes_by_the_whole_frames() {
        let torn = |text: &str| frame(text)[..20].to_vec();
        let next = torn(&format!("\n{SECOND}\n"));
        assert!(found(&[frame(FIRST), next].concat()).unended);
        assert!(!found(&[framed(&[FIRST]), torn(SECOND)].concat()).unended);
    }

    #[test]
    fn a_frame_without_a_checksum_is_read() {
        let text = format!("{FIRST}\n");
        let bare = zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        assert_eq!(found(&bare).events.len(), 1);
    }

    #[test]
    fn a_frame_bears_a_checksum() {
        let bare = zstd::bulk::compress(FIRST.as_bytes(), LEVEL).unwrap();
        assert_eq!(frame(FIRST).len(), bare.len() + 4);
    }

    #[test]
    fn a_torn_frame_is_left_out_wherever_it_is_torn() {
        let whole = framed(&[HEADER, FIRST]);
        let torn = frame(SECOND);
        let offset = whole.len() as u64;
        for length in 1..torn.len() {
            let found = found(&[&whole[..], &torn[..length]].concat());
            let bytes = length as u64;
            assert_eq!(found.recovered, Recovery::TornFrame { offset, bytes });
            assert_eq!((found.length, found.events.len()), (offset, 1));
        }
    }

    #[test]
    fn events_of_a_torn_frame_are_left_out_though_they_can_be_read() {
        let mut text = format!("{FIRST}\n");
        while text.len() < 400_000 {
            text.push_str(&format!("{SECOND}\n"));
        }
        let frame = frame(&text);
        assert!(found(&frame[..frame.len() - 1]).events.is_empty());
    }

    #[test]
    fn a_damaged_frame_is_named() {
        let first = frame(FIRST).len();
        let mut bytes = framed(&[FIRST, SECOND]);
        *bytes.last_mut().unwrap() ^= 1;
        let (place, damage) = damage(&bytes);
        // The line end makes the frame longer by one.
        let offset = first as u64 + 1;
        assert_eq!(place, Place::Frame { offset });
        assert!(matches!(damage, Damage::Frame { .. }));
    }

    #[test]
    fn a_flipped_bit_before_the_last_frame_is_found_unless_it_says_nothing() {
        let whole = framed(&[HEADER, FIRST, SECOND]);
        let events = found(&whole).events;
        let last = framed(&[SECOND]).len();
        for bit in 0..(whole.len() - last) * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // The format has one bit a frame that readers ignore.
            if let Ok(found) = read(&mut Cursor::new(&bytes)) {
                assert_eq!(found.events, events, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_torn_frame_with_whole_ones_behind_it_is_damage() {
        let torn = &frame(FIRST)[..20];
        let bytes = [&framed(&[HEADER])[..], torn, &frame(SECOND)].concat();
        let offset = framed(&[HEADER]).len() as u64;
        assert_eq!(damage(&bytes).0, Place::Frame { offset });
    }

    #[test]
    fn a_frame_is_torn_wherever_zeros_stand_for_its_end() {
        let whole = framed(&[HEADER, FIRST]);
        let torn = frame(SECOND);
        for zeros in [4, 5, 15, 16, 4096] {
            for length in 0..torn.len() {
                let found = found(&[&whole[..], &torn[..length], &vec![0; zeros]].concat());
                assert_eq!(found.length, whole.len() as u64, "{length}, {zeros} zeros");
                assert_eq!(found.events.len(), 1, "{length}, {zeros} zeros");
            }
        }
    }

    #[test]
    fn zeros_alone_are_torn_however_few() {
        let whole = framed(&[HEADER, FIRST]);
        for zeros in 1..6 {
            let found = found(&[&whole[..], &vec![0; zeros]].concat());
            let (offset, bytes) = (whole.len() as u64, zeros as u64);
            assert_eq!(found.recovered, Recovery::TornFrame { offset, bytes });
        }
    }

    #[test]
    fn zeros_with_a_whole_frame_among_them_are_damage() {
        let zeros = [0; 40];
        let bytes = [&framed(&[HEADER])[..], &zeros, &frame(FIRST), &zeros].concat();
        let offset = framed(&[HEADER]).len() as u64;
        assert_eq!(damage(&bytes), (Place::Frame { offset }, Damage::Unended));
    }

    #[test]
    fn a_wrong_line_is_named_by_its_frame_and_its_number() {
        let bytes = framed(&[HEADER, FIRST, "nonsense"]);
        let (offset, line) = (framed(&[HEADER, FIRST]).len() as u64, 3);
        assert_eq!(damage(&bytes).0, Place::FrameLine { offset, line });
    }

    #[test]
    fn a_frame_that_ends_inside_a_batch_is_damage() {
        let bytes = frame(&format!("{FIRST} \n"));
        let place = Place::Frame { offset: 0 };
        assert_eq!(damage(&bytes), (place, Damage::OpenBatch));
    }

    #[test]
    fn decompressing_gives_the_plain_form() {
        let events: Vec<Event> = log([turn_start(1), turn_start(2)]);
        let mut text = Vec::new();
        lines::print_header(&Header::default(), &mut text).unwrap();
        lines::print(&events, &mut text).unwrap();
        let packed = frame(str::from_utf8(&text).unwrap());
        assert_eq!(zstd::decode_all(&packed[..]).unwrap(), text);
    }
}
