//! The lost-locality scores of warps, and the set of warps that are held back.
//!
//! A warp that loses locality gets the score `hits x k_throttle x cutoff / instructions` (Equation 1 of the paper). The cutoff is the base
//! score times the active warps, and hits and instructions are totals over the resident warps. The score falls by one every cycle down to
//! the base score. Scores are stacked from the highest down, ties by ascending slot; warps whose score starts at or above the cutoff are
//! held back. If no score exceeds the base score, the stack is as high as the cutoff and no warp is held back.
//!
//! Invariant: a score is stored as the cycle in which it is back at the base score, so it need not be updated as time passes.

use warpshard_base::Cycle;

use super::super::core::{MAX_WARPS, bits};

/// The scores of the warps of an SM, and the counts from which they are computed.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct LocalityScores {
    base: u64,
    k_throttle: u64,
    /// The cycle in which the score of each warp is back at the base score.
    return_cycle: [Cycle; MAX_WARPS],
    hits: [u64; MAX_WARPS],
    instructions: [u64; MAX_WARPS],
    all_hits: u64,
    all_instructions: u64,
}

impl LocalityScores {
    /// Creates scores with all warps at the base score.
    pub(super) fn new(base: u64, k_throttle: u64) -> Self {
        Self {
            base,
            k_throttle,
            return_cycle: [Cycle(0); MAX_WARPS],
            hits: [0; MAX_WARPS],
            instructions: [0; MAX_WARPS],
            all_hits: 0,
            all_instructions: 0,
        }
    }

    /// Records that a warp issued an instruction.
    #[inline]
    pub(super) fn record_issue(&mut self, warp: usize) {
        self.instructions[warp] += 1;
        self.all_instructions += 1;
    }

    /// Clears the score and the counts of a warp slot.
    pub(super) fn clear(&mut self, warp: usize) {
        self.all_hits -= std::mem::take(&mut self.hits[warp]);
        self.all_instructions -= std::mem::take(&mut self.instructions[warp]);
        self.return_cycle[warp] = Cycle(0);
    }

    /// Records that a warp lost locality in cycle `now`, with `active` warps that had instructions to issue.
    pub(super) fn record_loss(&mut self, warp: usize, active: u32, now: Cycle) {
        self.hits[warp] += 1;
        self.all_hits += 1;
        let cutoff = self.base * u64::from(active);
        let score = self.all_hits * self.k_throttle * cutoff / self.all_instructions.max(1);
        self.return_cycle[warp] = now.after(score.saturating_sub(self.base));
    }

    /// Returns the difference between the score of a warp and the base score.
    #[inline]
    fn excess(&self, warp: usize, now: Cycle) -> u64 {
        self.return_cycle[warp].0.saturating_sub(now.0)
    }

    /// Returns the warps of `active` that are held back at cycle `now`, and the first cycle in which this set may change without further
    /// lost locality.
    pub(super) fn held_warps(&self, active: u64, now: Cycle) -> (u64, Cycle) {
        let mut stack = [0u8; MAX_WARPS];
        let (mut count, mut raised) = (0, false);
        for warp in bits(active) {
            stack[count] = warp as u8;
            count += 1;
            raised |= self.return_cycle[warp] > now;
        }
        if !raised {
            return (0, Cycle::NEVER);
        }
        let stack = &mut stack[..count];
        // The sort keeps the order of slots among equal scores.
        stack.sort_unstable_by_key(|&warp| (std::cmp::Reverse(self.return_cycle[usize::from(warp)].max(now)), warp));
        let cutoff = self.base * count as u64;
        let (mut height, mut falling) = (0, 0);
        let mut allowed = 0;
        for &warp in &*stack {
            if height >= cutoff {
                break;
            }
            let excess = self.excess(usize::from(warp), now);
            height += self.base + excess;
            falling += u64::from(excess > 0);
            allowed |= 1u64 << warp;
        }
        let held = active & !allowed;
        if held == 0 {
            return (0, Cycle::NEVER);
        }
        // The stack of allowed warps falls by at most `falling` per cycle: another warp is added once the stack is below the cutoff.
        let lower = now.after((height - cutoff) / falling + 1);
        // A warp whose score is back at the base score is ordered by its slot among the others.
        let back = bits(active).map(|warp| self.return_cycle[warp]).filter(|until| *until > now).min().unwrap_or(Cycle::NEVER);
        (held, lower.min(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the scores of four warps with base scores of 100 that issued 25 instructions each.
    fn scores_of_four_warps() -> LocalityScores {
        let mut scores = LocalityScores::new(100, 8);
        for warp in 0..4 {
            (0..25).for_each(|_| scores.record_issue(warp));
        }
        scores
    }

    #[test]
    fn no_warp_is_held_without_lost_locality() {
        assert_eq!(scores_of_four_warps().held_warps(0b1111, Cycle(7)), (0, Cycle::NEVER));
    }

    #[test]
    fn lost_locality_raises_a_score_by_equation_1_and_pushes_the_last_warps_over_the_cutoff() {
        let mut scores = scores_of_four_warps();
        // The cutoff is 400. The first four hits give scores of 1..4 x 8 x 400 / 100 = 32, 64, 96, 128.
        for _ in 0..3 {
            scores.record_loss(2, 4, Cycle(1000));
            assert_eq!(scores.held_warps(0b1111, Cycle(1000)), (0, Cycle::NEVER), "the base score is the least");
        }
        scores.record_loss(2, 4, Cycle(1000));
        assert_eq!(scores.excess(2, Cycle(1000)), 28);
        // The stack is 128, 228, 328, 428: warp 3 starts below the cutoff and is not held.
        assert_eq!(scores.held_warps(0b1111, Cycle(1000)), (0, Cycle::NEVER));
        // Nine hits: 288. The stack is 288, 388, 488, and warp 3 starts above the cutoff.
        (0..5).for_each(|_| scores.record_loss(2, 4, Cycle(1000)));
        let (held, next) = scores.held_warps(0b1111, Cycle(1000));
        assert_eq!((held, next), (0b1000, Cycle(1089)), "the stack of three is 88 above the cutoff and falls by one a cycle");
        assert_eq!(scores.held_warps(0b1111, Cycle(1088)).0, 0b1000);
        assert_eq!(scores.held_warps(0b1111, Cycle(1089)), (0, Cycle::NEVER));
    }

    #[test]
    fn two_warps_that_lose_locality_share_the_cache() {
        let mut scores = scores_of_four_warps();
        (0..7).for_each(|_| scores.record_loss(2, 4, Cycle(0)));
        // The scores are 7 x 32 = 224 for warp 2, then 8 x 32 = 256 for warp 0: the stack is 256, 480.
        scores.record_loss(0, 4, Cycle(0));
        assert_eq!(scores.held_warps(0b1111, Cycle(0)), (0b1010, Cycle(41)), "two scores fall: 80 points in 40 cycles");
        assert_eq!(scores.held_warps(0b1111, Cycle(40)).0, 0b1010);
        // The stack is 215, 398, and warp 1 fits.
        assert_eq!(scores.held_warps(0b1111, Cycle(41)).0, 0b1000);
    }

    #[test]
    fn the_predicted_cycle_is_never_after_the_change() {
        let mut scores = LocalityScores::new(10, 20);
        for warp in 0..8 {
            (0..5 + warp).for_each(|_| scores.record_issue(warp));
        }
        for (warp, at) in [(5, 0), (1, 3), (5, 9), (7, 10), (2, 10), (1, 14), (6, 31)] {
            scores.record_loss(warp, 8, Cycle(at));
        }
        let (mut held, mut next) = scores.held_warps(0xff, Cycle(31));
        let mut changes = 0;
        for at in 32..300 {
            let now = scores.held_warps(0xff, Cycle(at));
            if Cycle(at) < next {
                assert_eq!(now.0, held, "cycle {at} is before {next}");
            } else {
                changes += u32::from(now.0 != held);
                (held, next) = now;
            }
        }
        assert!(changes > 2 && held == 0, "{changes} changes");
    }

    #[test]
    fn clearing_a_warp_removes_its_hits_and_instructions() {
        let mut scores = scores_of_four_warps();
        (0..9).for_each(|_| scores.record_loss(2, 4, Cycle(0)));
        scores.clear(2);
        assert_eq!(scores.held_warps(0b1111, Cycle(0)), (0, Cycle::NEVER));
        // One hit and 75 instructions remain: 1 x 8 x 400 / 75.
        (0..4).for_each(|_| scores.record_loss(0, 4, Cycle(0)));
        assert_eq!(scores.excess(0, Cycle(0)), 4 * 8 * 400 / 75 - 100);
    }

    #[test]
    fn a_single_warp_is_never_held() {
        let mut scores = scores_of_four_warps();
        (0..90).for_each(|_| scores.record_loss(1, 1, Cycle(0)));
        assert_eq!(scores.held_warps(0b10, Cycle(0)).0, 0);
    }
}
