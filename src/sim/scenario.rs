//! Scenarios: what of a run is fixed. Everything that one leaves out is drawn by the chooser.
//!
//! The empty scenario, `{}`, fixes nothing. Not here: running one (`run`).
//!
//! ```
//! use prestep::sim::chooser::{Random, Seed};
//! use prestep::sim::run::run;
//! use prestep::sim::scenario::Scenario;
//!
//! let scenario: Scenario = serde_json::from_str(
//!     r#"{
//!         "listeners": ["p"],
//!         "producers": [
//!             { "name": "user", "ops": [{ "op": "followup", "id": "a" }] },
//!             { "name": "timer", "any": 2 }
//!         ]
//!     }"#,
//! )?;
//! let run = run(Random::new(Seed(7)), &scenario);
//! assert_eq!(run.pending, None);
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::num::NonZeroUsize;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schedule::{Action, Reaction, Trigger};
use crate::event::Op;

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Scenario {
    /// Names of the pre-step listeners, the outermost first. Drawn: one to three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listeners: Option<Vec<Arc<str>>>,
    /// How many parallel tool calls may be in flight. Drawn: two to four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls_max: Option<NonZeroUsize>,
    /// Observers that act once, in the midst of a publication. Drawn: none to three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactions: Option<Vec<Reaction>>,
    /// Publications at which another observer fails, once each. Drawn together with the reactions:
    /// none to two; where those are fixed, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Vec<Trigger>>,
    /// Who asks, and what. Drawn: `user`, `plugin` and `timer`, with none to six operations each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producers: Option<Vec<Producer>>,
    /// Acts that are made first, each until nothing moves; then the producers begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Action>,
    /// What bounds the run.
    #[serde(skip_serializing_if = "Bounds::is_default")]
    pub bounds: Bounds,
}

impl Scenario {
    /// Every operation that it fixes, in no order of time.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let produced = self
            .producers
            .iter()
            .flatten()
            .flat_map(|producer| &producer.ops);
        let observed = self
            .reactions
            .iter()
            .flatten()
            .map(|reaction| &reaction.act);
        let scripted = self.script.iter().filter_map(|action| match action {
            Action::Op(op) => Some(op),
            Action::Release { .. } => None,
        });
        produced.chain(observed).chain(scripted)
    }
}

/// A concurrent task that asks one thing after another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// Its name.
    pub name: Arc<str>,
    /// What it asks, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<Op>,
    /// How many operations more it asks, each drawn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub any: usize,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What bounds a run, in moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Bounds {
    /// Moves in which anything may happen; afterwards producers are silent and every awaited point
    /// ends calmly, so that the run comes to rest.
    pub wild_moves: u32,
    /// Moves after which the run is given up. A run that comes that far is not at rest.
    pub moves_max: u32,
}

impl Bounds {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Bounds {
    /// 120 wild moves, 2,000 in all.
    fn default() -> Self {
        Self {
            wild_moves: 120,
            moves_max: 2_000,
        }
    }
}
