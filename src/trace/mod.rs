//! Files: the saved run, and session logs from elsewhere.
//!
//! Not here: running or judging anything.

mod file;

pub use file::{SavedViolation, Trace, TraceError, VERSION};
