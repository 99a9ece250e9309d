//! The file log survives real kills: of what a child process acknowledged nothing is lost, and the
//! file opens and goes on every time.
//!
//! The child is this program again, running [`child_that_appends`]. It is killed after a number of
//! acknowledgements that nobody can foresee, while it goes on appending. Not here: the loss of
//! power, which no test can make.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use prestep::agent::log::file::{FileLog, Opened, read};
use prestep::agent::log::{OpenError, Recovery, SessionLog, Storage};
use prestep::event::{Body, Event, Header, Seq, Surface, UserMessage, UserSaid};

/// Names the file to the child that appends; without it that child does nothing.
const FILE: &str = "PRESTEP_KILL_TEST_FILE";

/// Names the file to the child that appends one batch; without it that child does nothing.
const GIANT_FILE: &str = "PRESTEP_KILL_TEST_GIANT_FILE";

/// What the child says before the number of events that are committed.
const COMMITTED: &str = "committed: ";

const FILES_PER_FORM: u64 = 9;
const KILLS_PER_FILE: u64 = 12;

/// Letters of an event of the giant batch.
const GIANT: usize = 8_000_000;

/// Writes that are killed at most, and torn ones that are enough.
const WRITES_KILLED: usize = 20;
const WRITES_TORN: usize = 4;

/// Acknowledgements that are awaited before a kill.
const PATIENCE: u64 = 8;

/// A number that looks drawn, the same for the same `n`.
fn drawn(n: u64) -> u64 {
    let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

/// How many events the batch has that begins at this place.
fn batch_length(first: Seq) -> u64 {
    1 + drawn(first) % 4
}

/// The event of a place; now and then a long one.
fn body(seq: Seq) -> Body {
    let length = match drawn(seq) % 8 {
        0 => 3_000,
        _ => 30,
    };
    let letter = char::from(b'a' + u8::try_from(seq % 26).unwrap());
    body_of(seq, std::iter::repeat_n(letter, length).collect())
}

fn body_of(seq: Seq, text: String) -> Body {
    Body::UserMessage(UserSaid {
        message: UserMessage::text(format!("m{seq}"), text),
        surface: Surface::append(),
    })
}

/// A text that hardly compresses: each letter is one of 64, and looks drawn.
fn noise(seq: Seq, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const PER_NUMBER: u32 = 5;
    let numbers = (seq << 32..).map(drawn);
    let sixes = numbers.flat_map(|number| (0..PER_NUMBER).map(move |nth| number >> (6 * nth) & 63));
    let letters = sixes.map(|six| char::from(LETTERS[usize::try_from(six).unwrap()]));
    letters.take(length).collect()
}

/// Two events that take long enough to write, in either form, for a kill to fall between.
fn giant_batch() -> Vec<Event> {
    let event = |seq| Event {
        seq,
        time: 0,
        body: body_of(seq, noise(seq, GIANT)),
    };
    vec![event(0), event(1)]
}

#[allow(
    clippy::disallowed_methods,
    reason = "how the parent tells its child which file; not part of any run"
)]
fn told(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

#[test]
fn child_that_appends() {
    let Some(path) = told(FILE) else {
        return;
    };
    let Opened { log, events, .. } = open_once_free(&path);
    let mut log = SessionLog::resume(log, events).unwrap();
    let mut out = io::stdout();
    loop {
        let first = log.next_seq();
        let places = first..first + batch_length(first);
        log.commit(first, places.map(body).collect()).unwrap();
        // The parent may be gone; then there is nobody to append for.
        if writeln!(out, "\n{COMMITTED}{}", log.next_seq()).is_err() {
            return;
        }
    }
}

#[test]
fn child_that_appends_a_giant_batch() {
    let Some(path) = told(GIANT_FILE) else {
        return;
    };
    let mut log = open_once_free(&path).log;
    log.commit(&giant_batch()).unwrap();
}

/// Opens a file as soon as nobody holds it. A child that another test starts at the same moment
/// holds a copy of every open file, and its lock, until it becomes another program.
fn open_once_free(path: impl AsRef<Path>) -> Opened {
    const TRIES: u32 = 1_000_000;
    for _ in 0..TRIES {
        match FileLog::open(path.as_ref()) {
            Err(OpenError::Locked { .. }) => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
    panic!("{} is never free", path.as_ref().display());
}

fn child(name: &str, variable: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(variable, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a child, kills it after so many acknowledgements, and returns how many events it had
/// acknowledged when it was dead.
fn acknowledged_before_kill(path: &Path, patience: u64) -> u64 {
    let mut child = child("child_that_appends", FILE, path);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    let mut acknowledged = 0;
    while acknowledged < patience {
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "died early: {said}");
        acknowledged = said.matches(COMMITTED).count() as u64;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    out.read_to_string(&mut said).unwrap();
    let mut numbers = said.lines().filter_map(|line| line.strip_prefix(COMMITTED));
    numbers.next_back().unwrap().parse().unwrap()
}

/// The places after which batches end, from 0 to `last`; `last` must be one.
fn ends_a_batch(last: Seq) -> bool {
    let mut place = 0;
    while place < last {
        place += batch_length(place);
    }
    place == last
}

/// Reads the file as the kill left it; says what is torn.
fn check(path: &Path, acknowledged: u64) -> Recovery {
    let contents = read(path).unwrap();
    let events = contents.events;
    let length = events.len() as u64;
    assert!(length >= acknowledged, "{length} of {acknowledged} left");
    assert!(ends_a_batch(length), "half a batch of {length} events");
    for (seq, event) in (0..).zip(events) {
        assert_eq!(event.seq, seq);
        assert_eq!(event.body, body(seq));
    }
    contents.recovered
}

/// Kills many children that append to one file, one after the other; gives what was torn.
fn survives_kills(path: &Path, seed: u64) -> Vec<Recovery> {
    drop(FileLog::create(path, &Header::default()).unwrap());
    let kills = (0..KILLS_PER_FILE).map(|kill| {
        let patience = 1 + drawn(seed + kill) % PATIENCE;
        let acknowledged = acknowledged_before_kill(path, patience);
        check(path, acknowledged)
    });
    let recovered: Vec<_> = kills.collect();
    let opened = open_once_free(path);
    assert_eq!(Some(&opened.recovered), recovered.last());
    recovered
}

fn survives_kills_in_form(end: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |nth: u64| -> PathBuf { folder.path().join(format!("{nth}.{end}")) };
    let files = 0..FILES_PER_FORM;
    let recovered: Vec<_> = files
        .flat_map(|nth| survives_kills(&path(nth), nth * KILLS_PER_FILE))
        .collect();
    let torn = recovered.iter().filter(|left| **left != Recovery::Clean);
    let torn: Vec<_> = torn.map(ToString::to_string).collect();
    println!("{} kills; torn: {torn:#?}", recovered.len());
}

#[test]
fn plain_files_survive_kills() {
    survives_kills_in_form("jsonl");
}

#[test]
fn compressed_files_survive_kills() {
    survives_kills_in_form("jsonl.zst");
}

/// Kills a child as soon as its file grows, which is mostly in the middle of its write.
fn killed_while_writing(path: &Path) {
    let length = || fs::metadata(path).unwrap().len();
    let before = length();
    let mut child = child("child_that_appends_a_giant_batch", GIANT_FILE, path);
    while length() == before {
        if child.try_wait().unwrap().is_some() {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills writes until enough are torn, each in a file of its own; gives what was torn.
fn torn_by_kills(end: &str) -> Vec<Recovery> {
    let folder = tempfile::tempdir().unwrap();
    let kills = (0..WRITES_KILLED).map(|kill| {
        let path = folder.path().join(format!("{kill}.{end}"));
        drop(FileLog::create(&path, &Header::default()).unwrap());
        let header = fs::metadata(&path).unwrap().len();
        killed_while_writing(&path);
        let opened = open_once_free(&path);
        println!("a kill while writing: {}", opened.recovered);
        match opened.recovered {
            Recovery::Clean => assert_eq!(opened.events, giant_batch()),
            _ => assert_eq!(fs::metadata(&path).unwrap().len(), header),
        }
        opened.recovered
    });
    let torn = kills.filter(|left| *left != Recovery::Clean);
    torn.take(WRITES_TORN).collect()
}

/// A kill that comes late is no failure, but not all can; elsewhere a write may end in spite of it.
fn assert_torn(torn: &[Recovery], is_expected: impl Fn(&Recovery) -> bool) {
    assert!(torn.iter().all(is_expected), "{torn:#?}");
    assert!(!cfg!(target_os = "linux") || !torn.is_empty());
}

#[test]
fn a_plain_batch_whose_write_is_killed_is_there_whole_or_not_at_all() {
    let torn = torn_by_kills("jsonl");
    assert_torn(&torn, |left| !matches!(left, Recovery::TornFrame { .. }));
}

#[test]
fn a_compressed_batch_whose_write_is_killed_is_there_whole_or_not_at_all() {
    let torn = torn_by_kills("jsonl.zst");
    assert_torn(&torn, |left| matches!(left, Recovery::TornFrame { .. }));
}
