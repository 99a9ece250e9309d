//! The simulator: the real agent under a chooser, deterministically.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `schedule` | schedules as data: who acts next and how each awaited point ends |
//! | `stage` | what the scripted parts of a run share: gates, reactions, the record |
//! | `scripted` | a model, tools and plugins whose every awaited point is a gate |
//! | `perform` | carrying an operation out, from a producer or inside a publication |
//! | `world` | one agent among scripted parts, moved one act at a time |
//! | `observation` | records in the vocabulary of the golden schedules |
//! | `run` | one run, as a chooser says |
//! | `draw` | what a schedule leaves open, drawn from a chooser |
//! | `conform` | golden schedules against a world, observation by observation |
//! | `repairs` | golden repairs: logs cut at every event |
//! | `chooser` | the one funnel for every decision that is not forced |
//!
//! This layer imports `event`, `agent` and `rules`.

pub mod chooser;
pub mod conform;
mod draw;
mod observation;
mod perform;
pub mod repairs;
pub mod run;
pub mod schedule;
mod scripted;
mod stage;
pub mod world;
