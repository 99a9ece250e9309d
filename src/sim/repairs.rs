//! Golden repairs: logs cut at every event, with what the reference derives from each prefix.
//!
//! Not here: schedules (`conform`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::observation::without_error_words;
use super::stage::lists;
use crate::agent::inbox::Inbox;
use crate::agent::projection::consumed::consumed_work;
use crate::agent::projection::history::surface;
use crate::agent::repair::repair;
use crate::event::Event;

/// A log and what is derived from each of its prefixes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenRepairs {
    /// Its name, unique in its file.
    pub name: String,
    log: Vec<Event>,
    cuts: Vec<Cut>,
}

/// What the reference derives from the first `at` events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cut {
    at: usize,
    closers: Value,
    lists: Value,
    consumed: Value,
    surface: Value,
}

/// The first derivation that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct CutDifference {
    /// How many events the prefix has.
    pub at: usize,
    /// Which derivation: `closers`, `lists`, `consumed` or `surface`.
    pub what: &'static str,
    /// What the golden line holds.
    pub expected: Value,
    /// What this program derives; words, where it cannot.
    pub derived: Value,
}

impl GoldenRepairs {
    /// Derives everything from every cut; gives the first difference, if there is one.
    #[must_use]
    pub fn compare(&self) -> Option<CutDifference> {
        self.cuts.iter().find_map(|cut| self.compare_cut(cut))
    }

    fn compare_cut(&self, cut: &Cut) -> Option<CutDifference> {
        let prefix = &self.log[..cut.at.min(self.log.len())];
        let closers = repair(prefix).closers;
        let repaired = [prefix, &closers].concat();
        let derivations = [
            (
                "closers",
                &cut.closers,
                closers.iter().map(closer).collect(),
            ),
            ("lists", &cut.lists, pending(prefix)),
            ("consumed", &cut.consumed, consumed(&repaired)),
            ("surface", &cut.surface, on_surface(&repaired)),
        ];
        let differs = derivations
            .into_iter()
            .find(|(_, expected, derived)| *expected != derived);
        differs.map(|(what, expected, derived)| CutDifference {
            at: cut.at,
            what,
            expected: expected.clone(),
            derived,
        })
    }
}

fn closer(event: &Event) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    without_error_words(&mut value["data"]);
    value
}

fn pending(prefix: &[Event]) -> Value {
    match Inbox::fold(prefix) {
        Ok(inbox) => {
            let lists = lists(&inbox);
            json!([lists.next_turn, lists.next_step])
        }
        Err(error) => error.to_string().into(),
    }
}

fn consumed(repaired: &[Event]) -> Value {
    let consumed = consumed_work(repaired);
    json!({ "turn": consumed.turn, "droppedUnrun": consumed.dropped_unrun })
}

fn on_surface(repaired: &[Event]) -> Value {
    match surface(repaired) {
        Ok(seqs) => json!(seqs),
        Err(error) => error.to_string().into(),
    }
}
