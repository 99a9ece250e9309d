//! What people see of a run. Reads runs and decides nothing.
//!
//! Not here: making runs, judging them, the command line.

pub mod timeline;
