//! Seeded random numbers. Their keys name their purpose, so that they do not depend on the order of calls.

/// A SplitMix64 generator (Steele, Lea and Flood, OOPSLA 2014). It has one word of state, so that a generator per warp is cheap.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Rng(u64);

impl Rng {
    /// Returns the generator of one object. The same words give the same numbers; different words give independent numbers.
    pub fn keyed(seed: u64, key: &[u64]) -> Self {
        let mut state = Self(seed);
        for word in key {
            state.0 ^= word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state.0 = state.next_u64();
        }
        state
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `bound`, which is at least 1.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_give_equal_numbers_and_other_keys_others() {
        let draw = |key: &[u64]| (0..4).scan(Rng::keyed(1, key), |r, _| Some(r.next_u64())).collect::<Vec<_>>();
        assert_eq!(draw(&[3, 4]), draw(&[3, 4]));
        assert_ne!(draw(&[3, 4]), draw(&[4, 3]));
    }

    #[test]
    fn random_numbers_stay_below_their_bound() {
        let mut rng = Rng::keyed(7, &[]);
        assert!((0..1000).all(|_| rng.below(10) < 10));
    }
}
