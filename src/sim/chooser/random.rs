//! Random choice from a seed, the same on every machine.
//!
//! The generator is PCG XSL 128/64 (MCG). Seeding and bounded draws are our own, because those of a
//! library may change between its versions. This is the only file that knows `rand`.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::{ChoicePoint, Chooser};

/// What a random schedule is drawn from. Shown and read as a decimal number; read as `0x…`, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Seed {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).map(Self),
            None => text.parse().map(Self),
        }
    }
}

/// Picks uniformly.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The chooser of a seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let mut state = seed.0;
        let high = u128::from(split_mix(&mut state));
        let low = u128::from(split_mix(&mut state));
        Self(Pcg64Mcg::new(high << 64 | low))
    }

    /// A number below `bound`, each as likely as the others; `bound` is at least 1. The widening
    /// product of Lemire, with rejection.
    fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.0.next_u64()) * u128::from(bound);
        let unfair = bound.wrapping_neg() % bound;
        while low(product) < unfair {
            product = u128::from(self.0.next_u64()) * u128::from(bound);
        }
        high(product)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(product: u128) -> u64 {
    product as u64
}

#[allow(clippy::cast_possible_truncation, reason = "the high half fits")]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

impl Chooser for Random {
    fn choose(&mut self, _: ChoicePoint, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound.max(1)))).unwrap_or(0)
    }
}

/// Spreads one number over many, so that neighbouring seeds have nothing in common.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(seed: u64, bound: u32, count: usize) -> Vec<u32> {
        let mut random = Random::new(Seed(seed));
        (0..count)
            .map(|_| random.choose(ChoicePoint::Next, bound))
            .collect()
    }

    #[test]
    fn a_seed_draws_the_same_picks_on_every_machine() {
        assert_eq!(picks(7, 10, 12), [1, 6, 3, 8, 6, 3, 2, 8, 9, 9, 0, 8]);
    }

    #[test]
    fn neighbouring_seeds_have_nothing_in_common() {
        assert_ne!(picks(7, 1000, 4), picks(8, 1000, 4));
    }

    #[test]
    fn every_pick_below_the_bound_comes_up() {
        let mut seen = picks(1, 7, 200);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn seeds_are_read_in_decimal_and_hexadecimal() {
        assert_eq!("255".parse(), Ok(Seed(255)));
        assert_eq!("0xff".parse(), Ok(Seed(255)));
        assert!("seven".parse::<Seed>().is_err());
    }
}
