//! The system: an inbox and a loop that a program can ship.
//!
//! This layer imports [`crate::event`] and nothing else of the crate.

mod answer;
mod claims;
pub mod fork;
pub mod inbox;
pub mod log;
pub mod machine;
pub mod projection;
pub mod repair;
pub mod resume;
pub mod shell;
#[cfg(test)]
mod sketch;
