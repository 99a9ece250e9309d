//! Shrinking: a shorter and calmer schedule that still shows the same thing.
//!
//! Shorter is fewer choices, then smaller picks, earlier ones first. Moves are removed in blocks
//! that get smaller, then every pick is lowered; both until nothing more can go. What is kept at
//! every step is a run that really happened, so the result replays strictly. Not here: what is to
//! be shown; the caller's predicate says.

use super::chooser::{Choice, Lenient};
use super::judged::Judged;
use super::scenario::Scenario;

/// A shrunk run, and what it took.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The shortest run that was found.
    pub judged: Judged,
    /// How many runs were tried.
    pub tries: u32,
}

/// Shrinks a run for as long as `shows` holds of it. `tries_max` bounds the runs; when it is hit,
/// the result may not be minimal.
#[must_use]
pub fn shrink(
    judged: Judged,
    scenario: &Scenario,
    tries_max: u32,
    shows: impl Fn(&Judged) -> bool,
) -> Shrunk {
    let mut shrinker = Shrinker {
        judged,
        scenario,
        tries: 0,
        tries_max,
        shows,
    };
    loop {
        let before = picks(&shrinker.judged);
        shrinker.remove_moves();
        shrinker.lower_picks();
        if picks(&shrinker.judged) == before || shrinker.is_spent() {
            return Shrunk {
                judged: shrinker.judged,
                tries: shrinker.tries,
            };
        }
    }
}

struct Shrinker<'a, F> {
    judged: Judged,
    scenario: &'a Scenario,
    tries: u32,
    tries_max: u32,
    shows: F,
}

impl<F: Fn(&Judged) -> bool> Shrinker<'_, F> {
    fn is_spent(&self) -> bool {
        self.tries >= self.tries_max
    }

    /// Tries picks; keeps their run when it still shows and is smaller.
    fn consider(&mut self, candidate: Vec<u32>) -> bool {
        if self.is_spent() {
            return false;
        }
        self.tries += 1;
        let judged = Judged::run(Lenient::new(candidate), self.scenario);
        let is_smaller = key(&picks(&judged)) < key(&picks(&self.judged));
        let keep = is_smaller && (self.shows)(&judged);
        if keep {
            self.judged = judged;
        }
        keep
    }

    /// No block of moves can be removed any more.
    fn remove_moves(&mut self) {
        let mut block = self.judged.run.moves.len();
        while block > 0 {
            let mut from = self.judged.run.moves.len().saturating_sub(block);
            loop {
                self.consider(self.without_moves(from, block));
                if from == 0 {
                    break;
                }
                from = from.min(self.judged.run.moves.len()).saturating_sub(block);
            }
            block /= 2;
        }
    }

    /// The picks without those of some moves.
    fn without_moves(&self, from: usize, count: usize) -> Vec<u32> {
        let picks = picks(&self.judged);
        let moves = &self.judged.run.moves;
        // The calm picks at the end are left out of `picks`, so a move may lie behind it.
        let place = |index: usize| {
            moves
                .get(index)
                .map_or(picks.len(), |at| picks.len().min(*at))
        };
        let (begin, end) = (place(from), place(from + count));
        [&picks[..begin], &picks[end..]].concat()
    }

    /// No pick can be 0, half of what it is, or one less.
    fn lower_picks(&mut self) {
        let mut place = 0;
        while let Some(choice) = self.judged.run.choices.get(place).copied() {
            let lower = [0, choice.picked / 2, choice.picked.saturating_sub(1)];
            let lowered = lower
                .into_iter()
                .filter(|pick| *pick < choice.picked)
                .any(|pick| {
                    let mut candidate = picks(&self.judged);
                    candidate[place] = pick;
                    self.consider(candidate)
                });
            if !lowered {
                place += 1;
            }
        }
    }
}

/// What was picked, without the calm picks at the end.
fn picks(judged: &Judged) -> Vec<u32> {
    let mut picks: Vec<u32> = judged
        .run
        .choices
        .iter()
        .map(|choice: &Choice| choice.picked)
        .collect();
    let used = picks
        .iter()
        .rposition(|pick| *pick > 0)
        .map_or(0, |last| last + 1);
    picks.truncate(used);
    picks
}

/// Shorter first, then smaller picks, earlier ones first.
fn key(picks: &[u32]) -> (usize, &[u32]) {
    (picks.len(), picks)
}
