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
//! | `scenario` | what of a run is fixed |
//! | `draw` | what a schedule leaves open, drawn from a chooser |
//! | `judged` | a run with the verdict of every rule |
//! | `shrink` | a shorter and calmer schedule that shows the same |
//! | `campaign` | many runs, with what was found told apart |
//! | `conform` | golden schedules against a world, observation by observation |
//! | `repairs` | golden repairs: logs cut at every event |
//! | `chooser` | the one funnel for every decision that is not forced |
//!
//! This layer imports `event`, `agent` and `rules`.

pub mod campaign;
pub mod chooser;
pub mod conform;
mod draw;
pub mod judged;
mod observation;
mod perform;
pub mod repairs;
pub mod run;
pub mod scenario;
pub mod schedule;
mod scripted;
pub mod shrink;
mod stage;
pub mod world;
