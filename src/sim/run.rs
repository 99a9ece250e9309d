//! One run: the agent, its scripted parts and its producers, moved as a chooser says.
//!
//! One move is one atomic region of the agent, one operation of a producer, or one gate let go.
//! After the moves in which anything may happen, producers are silent and every awaited point ends
//! calmly, so that the run comes to rest. Not here: judging it.

use std::fmt;
use std::sync::Arc;

use super::chooser::{Choice, Chooser, Recording};
use super::draw::Draw;
use super::schedule::{Gate, Outcome, Setting};
use super::world::World;
use crate::event::{Record, Status};

/// What bounds a run, in moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Moves in which anything may happen; afterwards all is calm.
    pub wild_moves: u32,
    /// Moves after which the run is given up. A run that comes that far is not at rest.
    pub moves_max: u32,
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

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What the world was set up with.
    pub setting: Setting,
    /// Everything that was observed.
    pub records: Vec<Record>,
    /// Every choice that was made: the schedule.
    pub choices: Vec<Choice>,
    /// How many moves it took.
    pub moves: u32,
    /// Why the run is not at rest; `None` when it is.
    pub pending: Option<Pending>,
}

/// Why a world is not at rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// The agent can still move.
    Moving,
    /// An awaited point is held.
    Held(Gate),
    /// Nothing can move and nothing is held, and the agent says that it runs.
    Stuck,
    /// The agent is quiet, and a wait for idle or a disposal did not end.
    Waiting,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moving => f.write_str("the agent can still move"),
            Self::Held(gate) => write!(f, "gate {gate} is held"),
            Self::Stuck => f.write_str("the agent says that it runs, and nothing can move"),
            Self::Waiting => f.write_str("a wait for idle or a disposal did not end"),
        }
    }
}

/// What may move next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Actor {
    Agent,
    Gate(Gate),
    Producer(usize),
}

/// A producer and how many operations it has left.
struct Producer {
    name: Arc<str>,
    left: usize,
}

/// Runs once, as the chooser says.
pub fn run<C: Chooser>(chooser: C, bounds: Bounds) -> Run {
    let mut draw = Draw::new(Recording::new(chooser));
    let setting = draw.setting();
    let mut producers: Vec<_> = ["user", "plugin", "timer"]
        .into_iter()
        .map(|name| Producer {
            name: name.into(),
            left: draw.count(1, 6),
        })
        .collect();
    let mut world = World::new(&setting);
    let mut moves = 0;
    while moves < bounds.moves_max {
        let wild = moves < bounds.wild_moves;
        let ready = ready(&mut world, if wild { &producers } else { &[] });
        if ready.is_empty() {
            break;
        }
        let next = if wild { draw.next(ready.len()) } else { 0 };
        match &ready[next] {
            Actor::Agent => {
                world.advance();
            }
            Actor::Gate(gate) => {
                let outcome = if wild {
                    draw.outcome(gate)
                } else {
                    Outcome::Calm
                };
                world.let_go(gate, outcome);
            }
            Actor::Producer(index) => {
                let producer = &mut producers[*index];
                producer.left -= 1;
                world.ask(&producer.name, &draw.op());
            }
        }
        moves += 1;
    }
    let pending = pending(&mut world);
    let (_, choices) = draw.chooser.into_parts();
    Run {
        setting,
        records: world.take_records(),
        choices,
        moves,
        pending,
    }
}

/// What can move, in a fixed order: the agent, then gates as they were held, then producers.
fn ready(world: &mut World, producers: &[Producer]) -> Vec<Actor> {
    let mut ready = Vec::new();
    if world.can_move() {
        ready.push(Actor::Agent);
    }
    ready.extend(world.held().into_iter().map(Actor::Gate));
    let left = producers
        .iter()
        .enumerate()
        .filter(|(_, producer)| producer.left > 0);
    ready.extend(left.map(|(index, _)| Actor::Producer(index)));
    ready
}

/// The reason why a world is not at rest, if it is not.
fn pending(world: &mut World) -> Option<Pending> {
    if world.can_move() {
        return Some(Pending::Moving);
    }
    let rest = world.rest();
    match rest.gates.into_iter().next() {
        Some(gate) => Some(Pending::Held(gate)),
        None if rest.status == Status::Running => Some(Pending::Stuck),
        None if world.waits() => Some(Pending::Waiting),
        None => None,
    }
}
