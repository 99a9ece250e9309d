//! One run: the agent, its scripted parts and its producers, moved as a chooser says.
//!
//! One move is one atomic region of the agent, one operation of a producer, or one gate let go.
//! After the moves in which anything may happen, producers are silent and every awaited point ends
//! calmly, so that the run comes to rest. Not here: judging it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::chooser::{Choice, Chooser, Recording};
use super::draw::Draw;
use super::scenario::{Producer, Scenario};
use super::schedule::{Gate, Outcome, Setting};
use super::world::World;
use crate::event::{Op, Record, Status};

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What the world was set up with.
    pub setting: Setting,
    /// Everything that was observed.
    pub records: Vec<Record>,
    /// Every choice that was made: the schedule.
    pub choices: Vec<Choice>,
    /// For each move, how many choices were made before it.
    pub moves: Vec<usize>,
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

/// A producer and what it has left to ask.
struct Asking {
    name: Arc<str>,
    ops: VecDeque<Op>,
    any: usize,
}

impl Asking {
    fn is_done(&self) -> bool {
        self.ops.is_empty() && self.any == 0
    }

    /// The next thing that it asks.
    fn next<C: Chooser>(&mut self, draw: &mut Draw<C>) -> Op {
        self.ops.pop_front().unwrap_or_else(|| {
            self.any = self.any.saturating_sub(1);
            draw.op()
        })
    }
}

impl From<Producer> for Asking {
    fn from(producer: Producer) -> Self {
        Self {
            name: producer.name,
            ops: producer.ops.into(),
            any: producer.any,
        }
    }
}

/// Runs once, as the chooser says.
pub fn run<C: Chooser>(chooser: C, scenario: &Scenario) -> Run {
    let mut draw = Draw::new(Recording::new(chooser), scenario);
    let setting = draw.setting(scenario);
    let mut producers: Vec<Asking> = draw
        .producers(scenario)
        .into_iter()
        .map(Asking::from)
        .collect();
    let mut world = World::new(&setting);
    scenario
        .script
        .iter()
        .for_each(|action| world.follow(action));
    let mut moves = Vec::new();
    let limit = usize::try_from(scenario.bounds.moves_max).unwrap_or(usize::MAX);
    while moves.len() < limit {
        let wild = moves.len() < scenario.bounds.wild_moves as usize;
        let ready = ready(&mut world, if wild { &producers } else { &[] });
        if ready.is_empty() {
            break;
        }
        moves.push(draw.chooser.choices().len());
        let next = if wild { draw.next(ready.len()) } else { 0 };
        make(&mut world, &ready[next], &mut producers, &mut draw, wild);
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

/// Makes one move.
fn make<C: Chooser>(
    world: &mut World,
    actor: &Actor,
    producers: &mut [Asking],
    draw: &mut Draw<C>,
    wild: bool,
) {
    world.clock().advance(1);
    match actor {
        Actor::Agent => drop(world.advance()),
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
            let op = producer.next(draw);
            world.ask(&producer.name, &op);
        }
    }
}

/// What can move, in a fixed order: the agent, then gates as they were held, then producers.
fn ready(world: &mut World, producers: &[Asking]) -> Vec<Actor> {
    let mut ready = Vec::new();
    if world.can_move() {
        ready.push(Actor::Agent);
    }
    ready.extend(world.held().into_iter().map(Actor::Gate));
    let left = producers
        .iter()
        .enumerate()
        .filter(|(_, producer)| !producer.is_done());
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
