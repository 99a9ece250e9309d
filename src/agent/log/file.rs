//! The session log's storage in a file: plain lines, or compressed frames.
//!
//! The form of a file is that of its first bytes; a new file is compressed when its name ends in
//! `.zst` or `.zstd`. Whoever appends holds an exclusive advisory lock on the file. Not here: the
//! two forms (`lines`, `frames`), what a failed write leaves (`append`), repairing the session.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::event::{Event, Header, Seq};

use super::append::{Appender, Medium};
use super::found::{Damage, OpenError, Place, Recovery, Trouble};
use super::frames::{self, MAGIC, Packer};
use super::lines::{self, Found};
use super::{Storage, StorageError, misplaced};

/// Large enough that reading a file is a matter of parsing.
const READ_BUFFER: usize = 64 * 1024;

/// A session file that is open for appending. A committed batch survives the end of the process, a
/// flushed one the loss of power.
#[derive(Debug)]
pub struct FileLog {
    file: Appender<File>,
    printer: Printer,
    next: Seq,
}

/// A session file that was opened for appending.
#[derive(Debug)]
pub struct Opened {
    /// Goes on after `events`.
    pub log: FileLog,
    /// The first line, unless that is an event; `None` for a file without a whole line.
    pub header: Option<Header>,
    /// Every event of a whole batch.
    pub events: Vec<Event>,
    /// What a crash had left at the end, now cut off.
    pub recovered: Recovery,
}

/// What a session file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The first line, unless that is an event; `None` for a file without a whole line.
    pub header: Option<Header>,
    /// Every event of a whole batch.
    pub events: Vec<Event>,
    /// What a crash, or a writer at work, left at the end; still there.
    pub recovered: Recovery,
}

/// Reads a session file and touches nothing; another process may be appending. An empty file has no
/// header and no events.
///
/// # Errors
/// When the file cannot be read, or is damaged before its tail.
pub fn read(path: impl AsRef<Path>) -> Result<Contents, OpenError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| OpenError::io(path, &error))?;
    let (_, found) = scan(&file, path).map_err(|trouble| trouble.of(path))?;
    Ok(Contents {
        header: found.header,
        events: found.events,
        recovered: found.recovered,
    })
}

impl FileLog {
    /// Creates a session file with a header and no events; both the file and its name are durable
    /// then. An empty file of that name, which a crash may have left, is taken.
    ///
    /// # Errors
    /// When the system refuses, somebody else has the file open for appending, it is not empty, or
    /// the header would not be read back.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let io = |error: io::Error| OpenError::io(path, &error);
        let stored = |error| OpenError::Header {
            path: path.into(),
            error,
        };
        let mut printer = Printer::new(Form::of_name(path)).map_err(io)?;
        let bytes = printer.header(header).map_err(stored)?;
        let file = lock(path, OpenOptions::new().create(true).truncate(false))?;
        if file.metadata().map_err(io)?.len() > 0 {
            return Err(OpenError::NotEmpty { path: path.into() });
        }
        let file = begun(file, bytes).map_err(stored)?;
        sync_name(path).map_err(io)?;
        Ok(Self {
            file,
            printer,
            next: 0,
        })
    }

    /// Opens a session file to go on with it. What a crash left of a batch is cut off and told; a
    /// file without a whole line is then empty, and goes on without a header.
    ///
    /// # Errors
    /// When the system refuses, somebody else has the file open for appending, or it is damaged
    /// before its tail; the file is then as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Opened, OpenError> {
        let path = path.as_ref();
        let mut file = lock(path, &mut OpenOptions::new())?;
        let (form, found) = scan(&file, path).map_err(|trouble| trouble.of(path))?;
        let ready = cut_tail(&mut file, &found).and_then(|()| Printer::new(form));
        let mut printer = ready.map_err(|error| OpenError::io(path, &error))?;
        printer.after_unended = found.unended;
        Ok(Opened {
            log: Self {
                file: Appender::new(file, found.length),
                printer,
                next: found.events.len() as Seq,
            },
            header: found.header,
            events: found.events,
            recovered: found.recovered,
        })
    }
}

impl Storage for FileLog {
    fn commit(&mut self, batch: &[Event]) -> Result<(), StorageError> {
        if let Some((expected, found)) = misplaced(self.next, batch) {
            return Err(StorageError::OutOfOrder { expected, found });
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.file.append(self.printer.batch(batch)?)?;
        self.printer.after_unended = false;
        self.next += batch.len() as Seq;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        self.file.flush()
    }
}

/// A new file that holds these bytes, durably.
fn begun(file: File, bytes: &[u8]) -> Result<Appender<File>, StorageError> {
    let mut file = Appender::new(file, 0);
    file.append(bytes)?;
    file.flush()?;
    Ok(file)
}

/// Opens a file for reading and writing, with the lock of the one who appends.
fn lock(path: &Path, options: &mut OpenOptions) -> Result<File, OpenError> {
    let io = |error: io::Error| OpenError::io(path, &error);
    let file = options.read(true).write(true).open(path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.into() }),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Makes a new file's name durable, where a directory can be synced.
fn sync_name(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Drops what a crash left, durably, and goes to where the whole part ends.
fn cut_tail(file: &mut File, found: &Found) -> io::Result<()> {
    if found.recovered == Recovery::Clean {
        return file.seek(SeekFrom::Start(found.length)).map(drop);
    }
    file.cut(found.length)?;
    file.sync()
}

fn scan(file: &File, path: &Path) -> Result<(Form, Found), Trouble> {
    let mut source = BufReader::with_capacity(READ_BUFFER, file);
    let form = match source.fill_buf()? {
        [] => Form::of_name(path),
        beginning => Form::of_beginning(beginning)?,
    };
    let found = match form {
        Form::Lines => lines::read(&mut source),
        Form::Frames => frames::read(&mut source),
    };
    Ok((form, found?))
}

/// The two forms of a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Lines,
    Frames,
}

impl Form {
    fn of_name(path: &Path) -> Self {
        let compressed = |end: &OsStr| end == "zst" || end == "zstd";
        match path.extension() {
            Some(end) if compressed(end) => Self::Frames,
            _ => Self::Lines,
        }
    }

    /// Any other beginning is that of another kind of file, which must not be cut.
    fn of_beginning(bytes: &[u8]) -> Result<Self, Trouble> {
        let magic = &MAGIC[..bytes.len().min(MAGIC.len())];
        if bytes.starts_with(magic) {
            return Ok(Self::Frames);
        }
        if bytes.starts_with(b"{") {
            return Ok(Self::Lines);
        }
        Err(Trouble::Damaged(Place::Line { line: 1 }, Damage::NoLog))
    }
}

/// Makes the bytes of a file in one of the two forms.
#[derive(Debug)]
struct Printer {
    text: Vec<u8>,
    packer: Option<Packer>,
    /// Whether what stands before the next batch lacks its line end.
    after_unended: bool,
}

impl Printer {
    fn new(form: Form) -> io::Result<Self> {
        let packer = match form {
            Form::Lines => None,
            Form::Frames => Some(Packer::new()?),
        };
        Ok(Self {
            text: Vec::new(),
            packer,
            after_unended: false,
        })
    }

    fn batch(&mut self, batch: &[Event]) -> Result<&[u8], StorageError> {
        self.text.clear();
        if self.after_unended {
            self.text.push(b'\n');
        }
        lines::print(batch, &mut self.text)?;
        self.packed().map_err(|error| (&error).into())
    }

    fn header(&mut self, header: &Header) -> Result<&[u8], StorageError> {
        self.text.clear();
        lines::print_header(header, &mut self.text)?;
        self.packed().map_err(|error| (&error).into())
    }

    fn packed(&mut self) -> io::Result<&[u8]> {
        match &mut self.packer {
            None => Ok(&self.text),
            Some(packer) => packer.pack(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::agent::log::SessionLog;
    use crate::agent::sketch::{log, turn_start};
    use crate::event::{Body, Unread};

    const NAMES: [&str; 3] = ["a.jsonl", "a.jsonl.zst", "a.jsonl.zstd"];

    fn header() -> Header {
        Header {
            version: Some(0),
            id: Some("s".into()),
            ..Header::default()
        }
    }

    fn folder() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    /// A file with a header and two events in one batch.
    fn written(folder: &TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        let mut file = FileLog::create(&path, &header()).unwrap();
        file.commit(&two()).unwrap();
        path
    }

    fn two() -> Vec<Event> {
        log([turn_start(1), turn_start(2)])
    }

    fn holding(folder: &TempDir, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = folder.path().join("held.jsonl");
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn what_is_committed_is_read_in_either_form() {
        for name in NAMES {
            let folder = folder();
            let contents = read(written(&folder, name)).unwrap();
            assert_eq!(contents.header, Some(header()), "{name}");
            assert_eq!(contents.events, two(), "{name}");
            assert_eq!(contents.recovered, Recovery::Clean, "{name}");
        }
    }

    #[test]
    fn the_form_goes_by_the_name_of_a_new_file() {
        let folder = folder();
        let begins = |name| fs::read(written(&folder, name)).unwrap()[..4].to_vec();
        assert_eq!(begins("a.jsonl"), b"{\"ty");
        assert_eq!(begins("a.jsonl.zst"), MAGIC);
        assert_eq!(begins("a.jsonl.zstd"), MAGIC);
    }

    #[test]
    fn the_form_of_a_file_goes_by_its_beginning() {
        let folder = folder();
        let path = written(&folder, "a.jsonl.zst");
        let renamed = folder.path().join("b.log");
        fs::rename(path, &renamed).unwrap();
        let mut opened = FileLog::open(&renamed).unwrap();
        let three = log([turn_start(1), turn_start(2), turn_start(3)]);
        opened.log.commit(&three[2..]).unwrap();
        assert_eq!(read(&renamed).unwrap().events, three);
    }

    #[test]
    fn a_session_goes_on_where_it_stopped() {
        for name in NAMES {
            let folder = folder();
            let path = written(&folder, name);
            let opened = FileLog::open(&path).unwrap();
            let mut log = SessionLog::resume(opened.log, opened.events).unwrap();
            assert_eq!(log.commit(5, vec![turn_start(3)]), Ok(2), "{name}");
            log.flush().unwrap();
            assert_eq!(read(&path).unwrap().events, log.events(), "{name}");
        }
    }

    /// A compressed file of another program: its last line has no end.
    fn without_last_line_end(folder: &TempDir) -> PathBuf {
        let lines = "{\"type\":\"session\"}\n{\"type\":\"turn/start\",\"data\":{\"turn\":1}}";
        holding(folder, zstd::encode_all(lines.as_bytes(), 3).unwrap())
    }

    fn decompressed(path: &Path) -> String {
        String::from_utf8(zstd::decode_all(&fs::read(path).unwrap()[..]).unwrap()).unwrap()
    }

    #[test]
    fn a_last_line_without_its_end_gets_it_before_the_next_batch() {
        let folder = folder();
        let path = without_last_line_end(&folder);
        let before = decompressed(&path);
        let opened = FileLog::open(&path).unwrap();
        let mut log = SessionLog::resume(opened.log, opened.events).unwrap();
        log.commit(5, vec![turn_start(2)]).unwrap();
        log.commit(6, vec![turn_start(3)]).unwrap();
        let mut expected = format!("{before}\n").into_bytes();
        lines::print(&log.events()[1..2], &mut expected).unwrap();
        lines::print(&log.events()[2..], &mut expected).unwrap();
        assert_eq!(decompressed(&path).as_bytes(), expected);
        assert_eq!(read(&path).unwrap().events, log.events());
    }

    #[test]
    fn a_missing_line_end_is_still_missing_after_a_batch_that_was_refused() {
        let folder = folder();
        let path = without_last_line_end(&folder);
        let mut file = FileLog::open(&path).unwrap().log;
        let batch = two().split_off(1);
        let mut unreadable = batch.clone();
        let header = Unread {
            kind: "session".into(),
            data: None,
            ignorable: true,
        };
        unreadable[0].body = Body::Unread(Arc::new(header));
        file.commit(&unreadable).unwrap_err();
        file.commit(&batch).unwrap();
        assert_eq!(decompressed(&path).lines().count(), 3);
    }

    #[test]
    fn opening_adds_no_missing_line_end() {
        let folder = folder();
        let path = without_last_line_end(&folder);
        let before = fs::read(&path).unwrap();
        drop(FileLog::open(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_second_writer_is_refused() {
        let folder = folder();
        let path = written(&folder, "a.jsonl");
        let first = FileLog::open(&path).unwrap();
        let locked = OpenError::Locked { path: path.clone() };
        assert_eq!(FileLog::open(&path).unwrap_err(), locked);
        drop(first);
        FileLog::open(&path).unwrap();
    }

    #[test]
    fn a_reader_is_not_kept_out() {
        let folder = folder();
        let path = written(&folder, "a.jsonl");
        let _writer = FileLog::open(&path).unwrap();
        assert_eq!(read(&path).unwrap().events, two());
    }

    #[test]
    fn a_file_that_holds_something_is_not_created_again() {
        let folder = folder();
        let path = written(&folder, "a.jsonl");
        let error = FileLog::create(&path, &header()).unwrap_err();
        assert_eq!(error, OpenError::NotEmpty { path: path.clone() });
        assert_eq!(read(&path).unwrap().events, two());
    }

    #[test]
    fn an_empty_file_can_be_created_again() {
        let folder = folder();
        let path = holding(&folder, "");
        FileLog::create(&path, &header()).unwrap();
        assert_eq!(read(&path).unwrap().header, Some(header()));
    }

    #[test]
    fn an_empty_file_has_no_header_and_no_events() {
        let folder = folder();
        let opened = FileLog::open(holding(&folder, "")).unwrap();
        assert_eq!(opened.header, None);
        assert!(opened.events.is_empty());
        assert_eq!(opened.recovered, Recovery::Clean);
    }

    #[test]
    fn a_file_may_hold_its_header_alone() {
        let folder = folder();
        let path = folder.path().join("a.jsonl");
        drop(FileLog::create(&path, &header()).unwrap());
        let opened = FileLog::open(&path).unwrap();
        assert_eq!(opened.header, Some(header()));
        assert!(opened.events.is_empty());
    }

    #[test]
    fn a_torn_header_leaves_a_file_that_can_be_created_again() {
        let folder = folder();
        let path = holding(&folder, r#"{"type":"sess"#);
        let opened = FileLog::open(&path).unwrap();
        assert_eq!(opened.header, None);
        assert_eq!(opened.recovered.bytes(), 13);
        drop(opened);
        FileLog::create(&path, &header()).unwrap();
    }

    #[test]
    fn opening_cuts_what_a_crash_left() {
        let folder = folder();
        let path = written(&folder, "a.jsonl");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"type\":"].concat()).unwrap();
        assert_eq!(FileLog::open(&path).unwrap().recovered.bytes(), 8);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn reading_touches_nothing() {
        let folder = folder();
        let path = written(&folder, "a.jsonl");
        let torn = [&fs::read(&path).unwrap()[..], b"{\"type\":"].concat();
        fs::write(&path, &torn).unwrap();
        assert_eq!(read(&path).unwrap().recovered.bytes(), 8);
        assert_eq!(fs::read(&path).unwrap(), torn);
    }

    #[test]
    fn a_file_of_another_kind_is_refused_and_left_alone() {
        let package = r#"{"name":"prestep"}"#;
        for bytes in ["P", "just words", package] {
            let folder = folder();
            let path = holding(&folder, bytes);
            let error = FileLog::open(&path).unwrap_err();
            assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn damage_leaves_the_file_alone() {
        let folder = folder();
        let bytes = "{\"type\":\"turn/start\"}\nnonsense\n{\"type\":";
        let path = holding(&folder, bytes);
        let error = FileLog::open(&path).unwrap_err();
        assert!(
            error.to_string().contains("held.jsonl: line 2: "),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
    }

    #[test]
    fn a_file_that_is_not_there_is_told() {
        let path = folder().path().join("none.jsonl");
        let error = FileLog::open(path).unwrap_err();
        let missing = io::ErrorKind::NotFound;
        assert!(matches!(error, OpenError::Io { kind, .. } if kind == missing));
    }

    #[test]
    fn an_event_out_of_order_is_not_stored() {
        let folder = folder();
        let path = folder.path().join("a.jsonl");
        let mut file = FileLog::create(&path, &header()).unwrap();
        let (expected, found) = (0, 1);
        let gap = StorageError::OutOfOrder { expected, found };
        assert_eq!(file.commit(&two()[1..]), Err(gap));
        assert_eq!(read(&path).unwrap().events, []);
    }

    #[test]
    fn a_batch_that_is_refused_leaves_the_file_as_it_was() {
        let folder = folder();
        let path = folder.path().join("a.jsonl");
        let mut file = FileLog::create(&path, &header()).unwrap();
        let mut batch = two();
        batch[1].seq = 7;
        file.commit(&batch).unwrap_err();
        file.commit(&two()).unwrap();
        assert_eq!(read(&path).unwrap().events, two());
    }
}
