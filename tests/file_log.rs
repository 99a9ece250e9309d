//! Whatever a session file goes through, opening it recovers the whole batches, tells what it left
//! out, and goes on; or it names what is damaged.
//!
//! Not here: real crashes (`kill`), single forms of files (the unit tests of the log).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use prestep::agent::log::file::{Contents, FileLog, Opened, read};
use prestep::agent::log::{OpenError, Place, Recovery, SessionLog};
use prestep::event::{Body, Event, Extra, Header, Surface, TurnStarted, UserMessage, UserSaid};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tempfile::TempDir;

/// Texts of messages, batch by batch.
type Batches = Vec<Vec<String>>;

fn batches() -> impl Strategy<Value = Batches> {
    vec(vec("(?s).{0,30}", 1..4), 1..7)
}

fn names() -> impl Strategy<Value = &'static str> {
    select(vec!["a.jsonl", "a.jsonl.zstd"])
}

fn said(text: &str) -> Body {
    Body::UserMessage(UserSaid {
        message: UserMessage::text("m", text),
        surface: Surface::append(),
    })
}

/// A place in a file where a batch, or the header, has ended.
#[derive(Clone, Copy, Debug, Default)]
struct Boundary {
    bytes: usize,
    events: usize,
    header: bool,
}

/// A session file, what was committed to it, and where each commit ended.
struct Written {
    /// Dropped, it takes the file with it.
    _folder: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    events: Vec<Event>,
    boundaries: Vec<Boundary>,
}

impl Written {
    fn new(name: &str, batches: &Batches) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut log = SessionLog::new(FileLog::create(&path, &Header::default()).unwrap());
        let boundary = |events| Boundary {
            bytes: fs::read(&path).unwrap().len(),
            events,
            header: true,
        };
        let mut boundaries = vec![Boundary::default(), boundary(0)];
        for (time, batch) in (0..).zip(batches) {
            log.commit(time, batch.iter().map(|text| said(text)).collect())
                .unwrap();
            boundaries.push(boundary(log.events().len()));
        }
        Self {
            bytes: fs::read(&path).unwrap(),
            events: log.events().to_vec(),
            _folder: folder,
            path,
            boundaries,
        }
    }

    /// The last boundary that is not beyond a place.
    fn before(&self, place: usize) -> Boundary {
        let mut boundaries = self.boundaries.iter().rev();
        *boundaries.find(|one| one.bytes <= place).unwrap()
    }

    /// What must be told when the file ends at `cut`.
    fn torn(&self, cut: usize) -> Recovery {
        let boundary = self.before(cut).bytes;
        let rest = &self.bytes[boundary..cut];
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let line = lines(&self.bytes[..boundary]) + 1;
        let (offset, bytes) = (boundary as u64, rest.len() as u64);
        match (rest, self.path.extension().unwrap().to_str()) {
            ([], _) => Recovery::Clean,
            (_, Some("zstd")) => Recovery::TornFrame { offset, bytes },
            (rest, _) if lines(rest) == 0 => Recovery::TornLine {
                line,
                offset,
                bytes,
            },
            _ => Recovery::TornBatch {
                line,
                offset,
                bytes,
            },
        }
    }
}

/// Commits one more batch and reads the file: nothing but that batch is new.
fn goes_on(path: &Path, opened: Opened) {
    let mut expected = opened.events.clone();
    let mut log = SessionLog::resume(opened.log, opened.events).unwrap();
    let extra = Extra::NONE;
    let more = vec![Body::TurnStart(TurnStarted { turn: 1, extra }); 2];
    log.commit(7, more).unwrap();
    expected.extend_from_slice(&log.events()[expected.len()..]);
    let contents = read(path).unwrap();
    assert_eq!(contents.events, expected);
    assert_eq!(contents.recovered, Recovery::Clean);
    let places = (0..).zip(&contents.events);
    assert!(places.into_iter().all(|(seq, event)| event.seq == seq));
}

proptest! {
    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_batches_and_goes_on(
        name in names(),
        batches in batches(),
        cut in any::<Index>(),
    ) {
        let written = Written::new(name, &batches);
        let cut = cut.index(written.bytes.len() + 1);
        fs::write(&written.path, &written.bytes[..cut]).unwrap();
        let contents = read(&written.path).unwrap();
        let opened = FileLog::open(&written.path).unwrap();

        let whole = written.before(cut);
        prop_assert_eq!(opened.header.is_some(), whole.header);
        prop_assert_eq!(&opened.events, &written.events[..whole.events]);
        prop_assert_eq!(opened.recovered, written.torn(cut));
        prop_assert_eq!(fs::read(&written.path).unwrap().len(), whole.bytes);
        let Contents { header, events, recovered } = contents;
        prop_assert_eq!(&header, &opened.header);
        prop_assert_eq!(&events, &opened.events);
        prop_assert_eq!(recovered, opened.recovered);
        goes_on(&written.path, opened);
    }

    #[test]
    fn zeros_instead_of_an_end_cost_no_whole_batch(
        name in names(),
        batches in batches(),
        cut in any::<Index>(),
        zeros in prop_oneof![4..20_usize, 20..5_000_usize],
    ) {
        let written = Written::new(name, &batches);
        let header = written.boundaries[1].bytes;
        let cut = header + cut.index(written.bytes.len() - header + 1);
        let bytes = [&written.bytes[..cut], &vec![0; zeros]].concat();
        fs::write(&written.path, &bytes).unwrap();
        let opened = FileLog::open(&written.path).unwrap();

        // What was written may have had zeros after the cut, too.
        let pairs = bytes.iter().zip(&written.bytes);
        let whole = written.before(pairs.take_while(|(is, was)| is == was).count());
        prop_assert_eq!(&opened.events, &written.events[..whole.events]);
        prop_assert_eq!(opened.recovered.bytes(), (bytes.len() - whole.bytes) as u64);
        prop_assert_eq!(fs::read(&written.path).unwrap().len(), whole.bytes);
        goes_on(&written.path, opened);
    }

    #[test]
    fn a_line_that_is_spoilt_before_the_last_batch_is_named(
        batches in batches(),
        place in any::<Index>(),
    ) {
        let written = Written::new("a.jsonl", &batches);
        let last = written.boundaries[written.boundaries.len() - 2];
        let place = place.index(last.bytes);
        let mut bytes = written.bytes.clone();
        // The high bit makes it something else than UTF-8, whatever it was.
        bytes[place] ^= 0x80;
        fs::write(&written.path, &bytes).unwrap();

        let before = written.bytes[..place].iter().filter(|byte| **byte == b'\n');
        let line = before.count() as u64 + 1;
        let Err(OpenError::Damaged { path, place, .. }) = FileLog::open(&written.path) else {
            return Err(TestCaseError::fail("not found"));
        };
        prop_assert_eq!(&path, &written.path);
        prop_assert_eq!(place, Place::Line { line });
        prop_assert_eq!(fs::read(&written.path).unwrap(), bytes);
    }

    #[test]
    fn a_frame_with_a_flipped_bit_before_the_last_is_named(
        batches in batches(),
        place in any::<Index>(),
        bit in 0..8u32,
    ) {
        let written = Written::new("a.jsonl.zst", &batches);
        let last = written.boundaries[written.boundaries.len() - 2];
        let place = place.index(last.bytes);
        let mut bytes = written.bytes.clone();
        bytes[place] ^= 1_u8 << bit;
        fs::write(&written.path, &bytes).unwrap();

        let start = written.before(place).bytes as u64;
        let end = written.boundaries.iter().find(|one| one.bytes > place).unwrap().bytes as u64;
        match FileLog::open(&written.path) {
            // The format has one bit a frame that readers ignore.
            Ok(opened) => prop_assert_eq!(opened.events, written.events),
            Err(OpenError::Damaged { place, .. }) => match place {
                Place::Frame { offset } | Place::FrameLine { offset, .. } => {
                    prop_assert!((start..end).contains(&offset), "{place}");
                }
                // Without its first four bytes it is no compressed file.
                Place::Line { line } => prop_assert_eq!((line, start), (1, 0)),
            },
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
        prop_assert_eq!(fs::read(&written.path).unwrap(), bytes);
    }
}

/// The session files beside the project, or none.
fn recorded_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/logs");
    let mut files: Vec<_> = [folder.join("versions"), folder]
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    if files.is_empty() {
        println!("left out: no recorded session files beside the project");
    }
    files
}

/// Compresses a file as other programs do: a frame for every `lines` lines.
fn framed(text: &str, lines: usize) -> Vec<u8> {
    let all: Vec<_> = text.split_inclusive('\n').collect();
    let texts = all.chunks(lines).map(|chunk| chunk.concat());
    let frames = texts.map(|text| zstd::encode_all(text.as_bytes(), 3).unwrap());
    frames.collect::<Vec<_>>().concat()
}

#[test]
fn every_recorded_file_is_opened_and_goes_on_in_either_form() {
    for recorded in recorded_files() {
        let text = fs::read_to_string(&recorded).unwrap();
        let plain = read(&recorded).unwrap();
        assert!(plain.header.is_some(), "{recorded:?}");
        for bytes in [text.clone().into(), framed(&text, 3), framed(&text, 10_000)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            fs::write(&path, bytes).unwrap();
            let opened = FileLog::open(&path).unwrap();
            assert_eq!(opened.header, plain.header, "{recorded:?}");
            assert_eq!(opened.events, plain.events, "{recorded:?}");
            goes_on(&path, opened);
        }
    }
}

/// A power loss may leave a file with its new length and without its new content.
#[test]
fn a_tail_of_zeros_is_cut_and_said_in_either_form() {
    for name in ["log.jsonl", "log.jsonl.zst"] {
        for begun in [0, 12] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            let mut log = SessionLog::new(FileLog::create(&path, &Header::default()).unwrap());
            log.commit(0, vec![said("first")]).unwrap();
            let good = fs::read(&path).unwrap();
            log.commit(0, vec![said("second")]).unwrap();
            drop(log);
            let whole = fs::read(&path).unwrap();
            let tail = &whole[good.len()..good.len() + begun];
            fs::write(&path, [&good, tail, &[0; 4096][..]].concat()).unwrap();

            let opened = FileLog::open(&path).unwrap();
            assert_eq!(
                opened.events.len(),
                1,
                "{name}, {begun} bytes of the next batch"
            );
            assert_ne!(opened.recovered, Recovery::Clean);
            drop(opened);
            assert_eq!(fs::read(&path).unwrap(), good);
        }
    }
}
