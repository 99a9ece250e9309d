//! Golden schedules against a world: every observation must be equal.
//!
//! Within one act, the settlements `idle`, `disposed` and `maintenance` are compared as a set;
//! everything else in order. Not here: repaired logs (`repairs`), printing (the edge).

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use thiserror::Error;

use super::observation::Observer;
use super::schedule::{Action, Gate, Reaction, Setting};
use super::world::{Rest, World};
use crate::agent::log::{Memory, SessionLog, Storage};
use crate::agent::machine::Limits;
use crate::agent::resume::{Resumed, resume};
use crate::event::{Event, Record, Refused};

/// A golden schedule, with what the reference was measured to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// Its name, unique in its file.
    pub name: String,
    listeners: Vec<Arc<str>>,
    #[serde(rename = "maxParallel")]
    parallel_calls_max: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "numbered_events")]
    seed: Option<Vec<Event>>,
    /// Where a resumed log was cut before it was repaired; told for the reader.
    #[allow(
        dead_code,
        reason = "a member of the format that the comparison has no use for"
    )]
    crashed: Option<u64>,
    #[serde(default, deserialize_with = "numbered_reactions")]
    reactions: Vec<Reaction>,
    #[serde(deserialize_with = "numbered_actions")]
    actions: Vec<Action>,
    observations: Vec<Vec<Value>>,
    end: Value,
}

/// Why a golden schedule cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoldenError {
    /// Two listeners of one name.
    #[error("listener \"{0}\" is named twice")]
    DuplicateListener(Arc<str>),
    /// There must be as many lists of observations as there are actions.
    #[error("{actions} actions, but {observations} lists of observations")]
    Unequal {
        /// How many actions.
        actions: usize,
        /// How many lists.
        observations: usize,
    },
    /// Its seed is not a log that an agent could go on with.
    #[error("its seed cannot be continued: {0}")]
    Seed(String),
    /// An act lets go of a gate that is not held, and nothing observed so far says why.
    #[error("action {action} releases gate \"{gate}\", which is not held{}", held_words(.held))]
    NoGate {
        /// The act, from 1.
        action: usize,
        /// The gate.
        gate: Arc<str>,
        /// The gates that are held.
        held: Vec<Arc<str>>,
    },
}

fn held_words(held: &[Arc<str>]) -> String {
    if held.is_empty() {
        return "; no gate is".into();
    }
    format!("; held: {}", held.join(", "))
}

/// The first observation that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The act, from 1, and what it was; none for the end of the schedule.
    pub action: Option<(usize, String)>,
    /// The place in the act's list, from 1.
    pub place: usize,
    /// What the golden schedule holds; none where it holds nothing more.
    pub expected: Option<Value>,
    /// What was observed; none where nothing more was.
    pub observed: Option<Value>,
}

impl Golden {
    /// Checks what the format cannot say.
    ///
    /// # Errors
    /// See [`GoldenError`].
    pub fn validate(&self) -> Result<(), GoldenError> {
        let mut names = self.listeners.iter().enumerate();
        if let Some((_, twice)) = names.find(|(at, name)| self.listeners[..*at].contains(name)) {
            return Err(GoldenError::DuplicateListener(twice.clone()));
        }
        let (actions, observations) = (self.actions.len(), self.observations.len());
        if actions != observations {
            return Err(GoldenError::Unequal {
                actions,
                observations,
            });
        }
        Ok(())
    }

    /// How many acts it has.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.actions.len()
    }

    /// Runs it on the built-in system; gives the first difference, if there is one.
    ///
    /// # Errors
    /// See [`GoldenError`].
    pub fn compare(&self) -> Result<Option<Difference>, GoldenError> {
        self.validate()?;
        let mut world = self.world()?;
        let mut observer = Observer::default();
        for (at, (action, expected)) in self.actions.iter().zip(&self.observations).enumerate() {
            let held = world.rest().gates;
            let records = world.act(action);
            let observed = records
                .iter()
                .filter_map(|record| observer.observe(record))
                .collect();
            if let Some(difference) = first_difference(expected, observed) {
                self.refuse_unheld(at, &records, &difference, &held)?;
                let action = Some((at + 1, describe(action)));
                return Ok(Some(Difference {
                    action,
                    ..difference
                }));
            }
        }
        let end = end(&world.rest());
        Ok((self.end != end).then(|| Difference {
            action: None,
            place: 1,
            expected: Some(self.end.clone()),
            observed: Some(end),
        }))
    }

    /// Runs it on the built-in system; gives everything that was observed, after its seed.
    ///
    /// # Errors
    /// See [`GoldenError`].
    pub fn records(&self) -> Result<Vec<Record>, GoldenError> {
        self.validate()?;
        let mut world = self.world()?;
        let seed = world.agent().read(<[Event]>::to_vec);
        let mut records: Vec<_> = seed.into_iter().map(Record::Durable).collect();
        for action in &self.actions {
            records.extend(world.act(action));
        }
        Ok(records)
    }

    fn world(&self) -> Result<World, GoldenError> {
        let parallel_calls_max = self
            .parallel_calls_max
            .unwrap_or(Limits::default().parallel_calls_max);
        let setting = Setting {
            listeners: self.listeners.clone(),
            parallel_calls_max,
            reactions: self.reactions.clone(),
            failing: Vec::new(),
        };
        let Some(seed) = &self.seed else {
            return Ok(World::new(&setting));
        };
        let unusable = |words: String| GoldenError::Seed(words);
        let resumed = resume(seed.clone(), 0).map_err(|error| unusable(error.to_string()))?;
        let Resumed { log, origin, .. } = resumed;
        let storage: Box<dyn Storage> = Box::new(Memory::default());
        let log = SessionLog::resume(storage, log).map_err(|error| unusable(error.to_string()))?;
        Ok(World::with_log(&setting, log, origin))
    }

    /// A release of a gate that is not held is a fault of the schedule, unless it says so itself.
    fn refuse_unheld(
        &self,
        at: usize,
        records: &[Record],
        difference: &Difference,
        held: &[Gate],
    ) -> Result<(), GoldenError> {
        let refused = records.iter().find_map(|record| match record {
            Record::Refused(Refused::NoGate(gate)) => Some(gate),
            _ => None,
        });
        match refused {
            Some(gate) if difference.place == 1 => {
                let held = held.iter().map(Gate::name).collect();
                Err(GoldenError::NoGate {
                    action: at + 1,
                    gate: gate.clone(),
                    held,
                })
            }
            _ => Ok(()),
        }
    }
}

/// The first observation in which two lists differ.
fn first_difference(expected: &[Value], observed: Vec<Value>) -> Option<Difference> {
    let (expected, observed) = (settled(expected.to_vec()), settled(observed));
    let place = (0..expected.len().max(observed.len()))
        .find(|place| expected.get(*place) != observed.get(*place))?;
    Some(Difference {
        action: None,
        place: place + 1,
        expected: expected.get(place).cloned(),
        observed: observed.get(place).cloned(),
    })
}

/// Puts the settlements of one act behind everything else, in an order of their own.
fn settled(list: Vec<Value>) -> Vec<Value> {
    let is_settlement = |value: &Value| {
        ["idle", "disposed", "maintenance"]
            .iter()
            .any(|name| value.get(name).is_some())
    };
    let (mut settlements, mut rest): (Vec<_>, Vec<_>) = list.into_iter().partition(is_settlement);
    settlements.sort_by_key(Value::to_string);
    rest.append(&mut settlements);
    rest
}

fn end(rest: &Rest) -> Value {
    let gates: Vec<_> = rest.gates.iter().map(Gate::name).collect();
    json!({
        "next-turn": rest.lists.next_turn,
        "next-step": rest.lists.next_step,
        "status": rest.status,
        "gates": gates,
    })
}

fn describe(action: &Action) -> String {
    match action {
        Action::Op(op) => op.name().into(),
        Action::Release { gate, .. } => format!("release {}", gate.name()),
    }
}

fn numbered_actions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Action>, D::Error> {
    numbered("action", deserializer)
}

fn numbered_reactions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Reaction>, D::Error> {
    numbered("reaction", deserializer)
}

fn numbered_events<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Event>>, D::Error> {
    numbered("seed event", deserializer).map(Some)
}

/// Reads a list; the error of a member says which one it is, from 1.
fn numbered<'de, D, T>(what: &str, deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let values = Vec::<Value>::deserialize(deserializer)?;
    let read = |(place, value): (usize, Value)| {
        T::deserialize(value).map_err(|error| D::Error::custom(format!("{what} {place}: {error}")))
    };
    (1..).zip(values).map(read).collect()
}
