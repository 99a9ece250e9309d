//! Every schedule within reach, each once: an odometer over the choices of a run.
//!
//! Not here: bounding a run; without a bound there may be no end to it.

use super::{ChoicePoint, Chooser};

/// Picks what it picked in the run before, up to the last choice that has another continuation.
#[derive(Clone, Debug, Default)]
pub struct Exhaustive {
    /// Pick and bound at each choice of the current run.
    path: Vec<(u32, u32)>,
    at: usize,
}

impl Exhaustive {
    /// Ends a run and turns to the next one; `false` when there is none.
    pub fn next_run(&mut self) -> bool {
        self.path.truncate(self.at);
        self.at = 0;
        while let Some((picked, bound)) = self.path.pop() {
            if picked + 1 < bound {
                self.path.push((picked + 1, bound));
                return true;
            }
        }
        false
    }
}

impl Chooser for Exhaustive {
    fn choose(&mut self, _: ChoicePoint, bound: u32) -> u32 {
        if self.at == self.path.len() {
            self.path.push((0, bound));
        }
        let (picked, _) = self.path[self.at];
        self.at += 1;
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_unequal_length_are_each_visited_once() {
        let mut chooser = Exhaustive::default();
        let mut runs = Vec::new();
        loop {
            let first = chooser.choose(ChoicePoint::Next, 3);
            let second = (first == 1).then(|| chooser.choose(ChoicePoint::Flag, 2));
            runs.push((first, second));
            if !chooser.next_run() {
                break;
            }
        }
        assert_eq!(runs, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
    }

    #[test]
    fn a_run_without_choices_is_the_only_one() {
        assert!(!Exhaustive::default().next_run());
    }
}
