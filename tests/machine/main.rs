//! What the loop machine and its async shell do, one behaviour a test.
//!
//! | file | about |
//! | --- | --- |
//! | `failures` | which events follow when something fails or is refused |
//! | `cancels` | which events follow a cancel, by the moment at which it lands |
//! | `streams` | putting together, cutting off and retrying a model's stream; routes |
//! | `tools` | barriers, pool, order and fate of tool calls |
//! | `latches` | maintenance, late wakes, the way back to idle |
//! | `shell` | the waterfall, driver futures, signals, handles |
//!
//! Not here: decisions that differ from the reference (`decisions`), properties over random
//! schedules (`machine_properties`).

#[path = "../support/mod.rs"]
mod support;

mod cancels;
mod failures;
mod latches;
mod shell;
mod streams;
mod tools;
