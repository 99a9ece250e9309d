//! Appending bytes to a file, whole or not at all.
//!
//! After a failed or short write the file is cut back to what was whole before. Not here: what the
//! bytes mean; cutting what a crash left (`file`).

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use super::StorageError;

/// What can be appended to and cut: a file, or in tests something that fails on command.
pub(super) trait Medium {
    /// Writes all bytes at the end. After an error any number of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Drops everything from `length` on; what is appended next stands there.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Makes everything durable.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A medium, how long its whole part is, and whether it can still be trusted.
#[derive(Debug)]
pub(super) struct Appender<M> {
    medium: M,
    length: u64,
    closed: Option<String>,
}

impl<M: Medium> Appender<M> {
    /// Goes on after `length` whole bytes, where the medium stands already.
    pub(super) fn new(medium: M, length: u64) -> Self {
        Self {
            medium,
            length,
            closed: None,
        }
    }

    /// Appends all bytes, or, after an error, none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.refuse_when_closed()?;
        match self.medium.append(bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(error) => Err(self.cut_back(&error)),
        }
    }

    /// Makes everything appended so far durable. A failure closes for good: the system may have
    /// dropped what it could not write, and a second try would not notice.
    pub(super) fn flush(&mut self) -> Result<(), StorageError> {
        self.refuse_when_closed()?;
        let synced = self.medium.sync();
        synced.map_err(|error| self.close(format!("a flush failed ({error})")))
    }

    fn cut_back(&mut self, cause: &io::Error) -> StorageError {
        match self.medium.cut(self.length) {
            Ok(()) => cause.into(),
            Err(error) => self.close(format!(
                "a write failed ({cause}), and then cutting back to byte {} ({error})",
                self.length
            )),
        }
    }

    fn close(&mut self, reason: String) -> StorageError {
        self.closed = Some(reason.clone());
        StorageError::Closed { reason }
    }

    fn refuse_when_closed(&self) -> Result<(), StorageError> {
        match self.closed.clone() {
            Some(reason) => Err(StorageError::Closed { reason }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in memory; the next write stops short, the next cut or sync fails, when so told.
    #[derive(Default)]
    struct Flaky {
        bytes: Vec<u8>,
        short_write: Option<usize>,
        cut_fails: bool,
        sync_fails: bool,
    }

    impl Medium for Flaky {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let written = self.short_write.take();
            self.bytes.extend(&bytes[..written.unwrap_or(bytes.len())]);
            match written {
                Some(_) => Err(io::ErrorKind::StorageFull.into()),
                None => Ok(()),
            }
        }

        fn cut(&mut self, length: u64) -> io::Result<()> {
            if self.cut_fails {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            if self.sync_fails {
                return Err(io::ErrorKind::Other.into());
            }
            Ok(())
        }
    }

    fn appender() -> Appender<Flaky> {
        let mut appender = Appender::new(Flaky::default(), 0);
        appender.append(b"whole ").unwrap();
        appender
    }

    fn closed(error: &StorageError) -> bool {
        matches!(error, StorageError::Closed { .. })
    }

    #[test]
    fn a_short_write_is_cut_back_and_told() {
        let mut appender = appender();
        appender.medium.short_write = Some(3);
        let error = appender.append(b"broken").unwrap_err();
        let kind = io::ErrorKind::StorageFull;
        assert!(matches!(error, StorageError::Io { kind: is, .. } if is == kind));
        assert_eq!(appender.medium.bytes, b"whole ");
    }

    #[test]
    fn appending_goes_on_after_a_short_write() {
        let mut appender = appender();
        appender.medium.short_write = Some(3);
        appender.append(b"broken").unwrap_err();
        appender.append(b"again").unwrap();
        assert_eq!(appender.medium.bytes, b"whole again");
    }

    #[test]
    fn what_cannot_be_cut_back_closes() {
        let mut appender = appender();
        appender.medium.short_write = Some(3);
        appender.medium.cut_fails = true;
        assert!(closed(&appender.append(b"broken").unwrap_err()));
        assert!(closed(&appender.append(b"again").unwrap_err()));
        assert_eq!(appender.medium.bytes, b"whole bro");
    }

    #[test]
    fn a_closed_storage_says_why() {
        let mut appender = appender();
        appender.medium.short_write = Some(0);
        appender.medium.cut_fails = true;
        let words = appender.append(b"broken").unwrap_err().to_string();
        let expected = "closed: a write failed (no storage space), \
            and then cutting back to byte 6 (permission denied)";
        assert_eq!(words, expected);
    }

    #[test]
    fn a_failed_flush_closes() {
        let mut appender = appender();
        appender.medium.sync_fails = true;
        assert!(closed(&appender.flush().unwrap_err()));
        appender.medium.sync_fails = false;
        assert!(closed(&appender.flush().unwrap_err()));
        assert!(closed(&appender.append(b"again").unwrap_err()));
    }
}
