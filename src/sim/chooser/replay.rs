//! Picking what was picked before.
//!
//! Strict replay remembers the first difference; lenient replay makes do, for shrinking. Not here:
//! where the choices come from.

use super::{Choice, ChoicePoint, Chooser};

/// The first choice at which a run was not the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Which choice, from 0.
    pub at: usize,
    /// What was recorded; none when the record had ended.
    pub expected: Option<Choice>,
    /// Where the run asked, and of how many; none when it asked no more.
    pub found: Option<(ChoicePoint, u32)>,
}

/// Strict replay. After a divergence it picks 0.
#[derive(Clone, Debug)]
pub struct Replay {
    choices: Vec<Choice>,
    at: usize,
    divergence: Option<Divergence>,
}

impl Replay {
    /// Replays these choices.
    #[must_use]
    pub fn new(choices: Vec<Choice>) -> Self {
        Self {
            choices,
            at: 0,
            divergence: None,
        }
    }

    /// Ends the run: the first divergence, also when choices are left over.
    #[must_use]
    pub fn finish(self) -> Option<Divergence> {
        let left = self.choices.get(self.at).map(|expected| Divergence {
            at: self.at,
            expected: Some(*expected),
            found: None,
        });
        self.divergence.or(left)
    }
}

impl Chooser for Replay {
    fn choose(&mut self, point: ChoicePoint, bound: u32) -> u32 {
        if self.divergence.is_some() {
            return 0;
        }
        let expected = self.choices.get(self.at).copied();
        match expected {
            Some(choice) if (choice.point, choice.bound) == (point, bound) => {
                self.at += 1;
                choice.picked
            }
            _ => {
                let found = Some((point, bound));
                self.divergence = Some(Divergence {
                    at: self.at,
                    expected,
                    found,
                });
                0
            }
        }
    }
}

/// Lenient replay: a pick that is out of range becomes the largest, and what is not recorded is 0.
#[derive(Clone, Debug)]
pub struct Lenient {
    picks: Vec<u32>,
    at: usize,
}

impl Lenient {
    /// Replays these picks as well as it goes.
    #[must_use]
    pub fn new(picks: Vec<u32>) -> Self {
        Self { picks, at: 0 }
    }
}

impl Chooser for Lenient {
    fn choose(&mut self, _: ChoicePoint, bound: u32) -> u32 {
        let picked = self.picks.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        picked.min(bound.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(picked: u32, bound: u32) -> Choice {
        Choice {
            point: ChoicePoint::Next,
            picked,
            bound,
        }
    }

    #[test]
    fn the_recorded_picks_come_back() {
        let mut replay = Replay::new(vec![choice(2, 3), choice(0, 2)]);
        assert_eq!(replay.choose(ChoicePoint::Next, 3), 2);
        assert_eq!(replay.choose(ChoicePoint::Next, 2), 0);
        assert_eq!(replay.finish(), None);
    }

    #[test]
    fn another_bound_is_a_divergence_with_both_sides() {
        let mut replay = Replay::new(vec![choice(2, 3)]);
        assert_eq!(replay.choose(ChoicePoint::Next, 4), 0);
        let expected = Some(choice(2, 3));
        let found = Some((ChoicePoint::Next, 4));
        assert_eq!(
            replay.finish(),
            Some(Divergence {
                at: 0,
                expected,
                found
            })
        );
    }

    #[test]
    fn choices_left_over_are_a_divergence() {
        let replay = Replay::new(vec![choice(1, 2)]);
        let expected = Some(choice(1, 2));
        assert_eq!(
            replay.finish(),
            Some(Divergence {
                at: 0,
                expected,
                found: None
            })
        );
    }

    #[test]
    fn lenient_replay_clamps_and_then_is_calm() {
        let mut lenient = Lenient::new(vec![7]);
        assert_eq!(lenient.choose(ChoicePoint::Next, 3), 2);
        assert_eq!(lenient.choose(ChoicePoint::Next, 3), 0);
    }
}
