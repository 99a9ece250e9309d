//! What opening a session file found: what was left out of its tail, or what is wrong with it.
//!
//! Not here: finding it (`lines`, `frames`).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::{LineError, Seq};

use super::StorageError;

/// What a crash left at the end of a session file. It is left out of the events, and cut off the
/// file when that is opened for appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Nothing.
    Clean,
    /// A line without its line end, be it whole JSON or not.
    TornLine {
        /// Its number, from 1.
        line: u64,
        /// Where it begins, in bytes from 0.
        offset: u64,
        /// How many bytes of it are there.
        bytes: u64,
    },
    /// A batch of several lines without its last; that one may be there in part.
    TornBatch {
        /// Number of its first line, from 1.
        line: u64,
        /// Where that begins, in bytes from 0.
        offset: u64,
        /// How many bytes of the batch are there.
        bytes: u64,
    },
    /// A compressed frame without its end.
    TornFrame {
        /// Where it begins, in bytes from 0.
        offset: u64,
        /// How many bytes of it are there.
        bytes: u64,
    },
}

impl Recovery {
    /// How many bytes were left out; 0 when clean.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Clean => 0,
            Self::TornLine { bytes, .. }
            | Self::TornBatch { bytes, .. }
            | Self::TornFrame { bytes, .. } => bytes,
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, what) = match self {
            Self::Clean => return f.write_str("nothing was left out"),
            Self::TornLine { line, offset, .. } => (offset, format!("line {line} has no end")),
            Self::TornBatch { line, offset, .. } => {
                (offset, format!("the batch from line {line} on has no end"))
            }
            Self::TornFrame { offset, .. } => (offset, "the frame there has no end".into()),
        };
        let bytes = self.bytes();
        write!(f, "left out {bytes} bytes from byte {offset} on: {what}")
    }
}

/// A session file cannot be created, opened or read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("{}: {words}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// For programs.
        kind: io::ErrorKind,
        /// For people.
        words: String,
    },
    /// Somebody else appends to it.
    #[error("{}: open for appending elsewhere", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It was to be created and holds something.
    #[error("{}: exists and is not empty", path.display())]
    NotEmpty {
        /// The file.
        path: PathBuf,
    },
    /// It was to be created, and its header could not be stored.
    #[error("{}: no header: {error}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Why.
        error: StorageError,
    },
    /// Something in it is not as it was written; nothing is skipped, nothing was cut.
    #[error("{}: {place}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// What.
        damage: Damage,
    },
}

impl OpenError {
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io {
            path: path.into(),
            kind: error.kind(),
            words: error.to_string(),
        }
    }
}

/// A place in a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A line.
    Line {
        /// Its number, from 1.
        line: u64,
    },
    /// A compressed frame.
    Frame {
        /// Where it begins, in bytes from 0.
        offset: u64,
    },
    /// A line of a compressed frame.
    FrameLine {
        /// Where the frame begins, in bytes from 0.
        offset: u64,
        /// Its number in the whole decompressed file, from 1.
        line: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line } => write!(f, "line {line}"),
            Self::Frame { offset } => write!(f, "frame at byte {offset}"),
            Self::FrameLine { offset, line } => write!(f, "line {line} (frame at byte {offset})"),
        }
    }
}

/// What is wrong in a session file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum Damage {
    /// It does not begin as a session file begins.
    #[error("not the beginning of a session file")]
    NoLog,
    /// A line is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A line says nothing that a session file says.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A header after the first line.
    #[error("a header where an event belongs")]
    LateHeader,
    /// Places are contiguous from 0.
    #[error("event {found} where event {expected} belongs")]
    OutOfOrder {
        /// The place that the event should have.
        expected: Seq,
        /// The place that it has.
        found: Seq,
    },
    /// A frame cannot be decompressed, or its checksum does not fit.
    #[error("{words}")]
    Frame {
        /// The decompressor's words.
        words: String,
    },
    /// A frame has no end, and yet another follows.
    #[error("the frame has no end, though whole ones follow")]
    Unended,
    /// A frame ends and the batch in it does not.
    #[error("the frame ends inside a batch")]
    OpenBatch,
}

/// Why reading stopped, before the file's name is added.
#[derive(Debug)]
pub(super) enum Trouble {
    Io(io::Error),
    Damaged(Place, Damage),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Trouble {
    pub(super) fn of(self, path: &Path) -> OpenError {
        match self {
            Self::Io(error) => OpenError::io(path, &error),
            Self::Damaged(place, damage) => OpenError::Damaged {
                path: path.into(),
                place,
                damage,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_says_what_was_left_out_and_where() {
        let (line, offset, bytes) = (7, 120, 31);
        let said = |recovery: Recovery| recovery.to_string();
        assert_eq!(said(Recovery::Clean), "nothing was left out");
        assert_eq!(
            said(Recovery::TornLine {
                line,
                offset,
                bytes
            }),
            "left out 31 bytes from byte 120 on: line 7 has no end"
        );
        assert_eq!(
            said(Recovery::TornBatch {
                line,
                offset,
                bytes
            }),
            "left out 31 bytes from byte 120 on: the batch from line 7 on has no end"
        );
        assert_eq!(
            said(Recovery::TornFrame { offset, bytes }),
            "left out 31 bytes from byte 120 on: the frame there has no end"
        );
    }

    #[test]
    fn damage_names_the_file_and_the_place() {
        let damaged = |place| Trouble::Damaged(place, Damage::NotUtf8).of(Path::new("a.jsonl"));
        let (line, offset) = (7, 120);
        let said = |place| damaged(place).to_string();
        assert_eq!(said(Place::Line { line }), "a.jsonl: line 7: not UTF-8");
        assert_eq!(
            said(Place::Frame { offset }),
            "a.jsonl: frame at byte 120: not UTF-8"
        );
        assert_eq!(
            said(Place::FrameLine { offset, line }),
            "a.jsonl: line 7 (frame at byte 120): not UTF-8"
        );
    }
}
