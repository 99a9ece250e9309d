//! What consumers derive from a session log, each followed one event at a time.
//!
//! | file | for whom |
//! | --- | --- |
//! | `queue` | who shows or edits everything that is pending, and may connect late |
//! | `tracker` | who waits for one message |
//! | `consumed` | who asks whether the work that was accepted was done |
//! | `history` | who talks to the model |
//!
//! None of them decides anything, and none depends on live events: an observer that acts in the
//! midst of a publication makes later notices stale, the log never is.

pub mod consumed;
pub mod history;
pub mod queue;
pub mod tracker;
