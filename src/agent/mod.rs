//! The system: an inbox and a loop that a program can ship.
//!
//! This layer imports [`crate::event`] and nothing else of the crate.

mod answer;
pub mod inbox;
pub mod log;
pub mod machine;
pub mod shell;
