//! Cache bypassing (Section 4.4) on one SM: learns which kernel bypasses the L1, and with how many of its CTAs.
//!
//! In: the stalls of a sampling period. Out: the bypassing CTAs of both kernels in the next period. The steps are the paper's: no CTA; one
//! CTA of A; one CTA of B; then more CTAs of the kernel with the fewest stalls, one at a time, while stalls fall.

/// The stages of the learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum LearningStage {
    /// No CTA bypasses.
    None,
    /// One CTA of A bypasses, then one of B.
    Tries(usize),
    /// One more CTA of the chosen kernel bypasses.
    Grows(usize),
    Done,
}

/// The learning on one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Learning {
    stage: LearningStage,
    /// Bypassing CTAs of both kernels in the current period.
    ctas: [u32; 2],
    /// Stalls without bypassing; `stalls_with_one` has the stalls with one bypassing CTA of each kernel, `u64::MAX` for a kernel without CTAs.
    stalls_without: u64,
    stalls_with_one: [u64; 2],
    /// The fewest stalls so far with the chosen kernel.
    fewest_stalls: u64,
}

impl Learning {
    pub(super) fn new() -> Self {
        Self { stage: LearningStage::None, ctas: [0; 2], stalls_without: 0, stalls_with_one: [u64::MAX; 2], fewest_stalls: u64::MAX }
    }

    /// Returns the bypassing CTAs of both kernels for the next period.
    pub(super) fn bypassing_ctas(&self) -> [u32; 2] {
        self.ctas
    }

    pub(super) fn is_done(&self) -> bool {
        self.stage == LearningStage::Done
    }

    /// Ends a period with `stalls`, in which the kernels have `resident` CTAs.
    pub(super) fn end_period(&mut self, stalls: u64, resident: [u32; 2]) {
        match self.stage {
            LearningStage::None => {
                self.stalls_without = stalls;
                self.try_next_kernel(0, resident);
            }
            LearningStage::Tries(kernel) => {
                self.stalls_with_one[kernel] = stalls;
                self.try_next_kernel(kernel + 1, resident);
            }
            LearningStage::Grows(kernel) if stalls < self.fewest_stalls => self.try_one_more(kernel, stalls, resident),
            LearningStage::Grows(kernel) => {
                self.ctas[kernel] -= 1;
                self.stage = LearningStage::Done;
            }
            LearningStage::Done => {}
        }
    }

    /// Tries one CTA of the first kernel from `from` on that has CTAs; without such a kernel, compares the stalls.
    fn try_next_kernel(&mut self, from: usize, resident: [u32; 2]) {
        self.ctas = [0; 2];
        if let Some(kernel) = (from..2).find(|kernel| resident[*kernel] > 0) {
            self.ctas[kernel] = 1;
            self.stage = LearningStage::Tries(kernel);
            return;
        }
        let kernel = usize::from(self.stalls_with_one[1] < self.stalls_with_one[0]);
        if self.stalls_without <= self.stalls_with_one[kernel] {
            self.stage = LearningStage::Done;
            return;
        }
        self.ctas[kernel] = 1;
        self.try_one_more(kernel, self.stalls_with_one[kernel], resident);
    }

    /// Records the current number of bypassing CTAs as the best so far, and tries one more if the kernel has one.
    fn try_one_more(&mut self, kernel: usize, stalls: u64, resident: [u32; 2]) {
        self.fewest_stalls = stalls;
        self.stage = if self.ctas[kernel] < resident[kernel] {
            self.ctas[kernel] += 1;
            LearningStage::Grows(kernel)
        } else {
            LearningStage::Done
        };
    }

    /// Limits the bypassing CTAs to the `resident` CTAs of each kernel.
    pub(super) fn limit_to(&mut self, resident: [u32; 2]) {
        self.ctas.iter_mut().zip(resident).for_each(|(ctas, resident)| *ctas = (*ctas).min(resident));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bypassing CTAs of each period and true if the learning is over, given the stalls of the periods; the last entry is for
    /// the periods that follow.
    fn run_learning(resident: [u32; 2], stalls: &[u64]) -> (Vec<[u32; 2]>, bool) {
        let mut learning = Learning::new();
        let mut tried = vec![learning.bypassing_ctas()];
        for stalls in stalls {
            learning.end_period(*stalls, resident);
            tried.push(learning.bypassing_ctas());
        }
        (tried, learning.is_done())
    }

    #[test]
    fn figure_9_kernel_b_bypasses_with_one_cta() {
        // A has three CTAs and B has two. One bypassing CTA of B has the fewest stalls; two are not better.
        let (tried, done) = run_learning([3, 2], &[100, 90, 80, 85]);
        assert_eq!(tried, [[0, 0], [1, 0], [0, 1], [0, 2], [0, 1]]);
        assert!(done);
    }

    #[test]
    fn no_cta_bypasses_if_bypassing_does_not_reduce_stalls() {
        assert_eq!(run_learning([3, 2], &[80, 90, 85]), (vec![[0, 0], [1, 0], [0, 1], [0, 0]], true));
        assert_eq!(run_learning([3, 2], &[80, 80, 85]).0[3], [0, 0], "equal is not better");
    }

    #[test]
    fn bypassing_ctas_increase_while_stalls_fall_up_to_all_ctas() {
        assert_eq!(run_learning([3, 2], &[100, 70, 80, 60, 65]), (vec![[0, 0], [1, 0], [0, 1], [2, 0], [3, 0], [2, 0]], true));
        assert_eq!(run_learning([2, 2], &[100, 70, 80, 60]), (vec![[0, 0], [1, 0], [0, 1], [2, 0], [2, 0]], true));
        assert_eq!(run_learning([1, 2], &[100, 70, 80]), (vec![[0, 0], [1, 0], [0, 1], [1, 0]], true));
    }

    #[test]
    fn a_kernel_without_ctas_is_not_tried() {
        assert_eq!(run_learning([6, 0], &[100, 90, 95]), (vec![[0, 0], [1, 0], [2, 0], [1, 0]], true));
        assert_eq!(run_learning([0, 0], &[100]), (vec![[0, 0], [0, 0]], true));
    }

    #[test]
    fn bypassing_ctas_are_limited_to_resident_ctas() {
        let mut learning = Learning::new();
        [100, 70, 80, 60].iter().for_each(|stalls| learning.end_period(*stalls, [2, 2]));
        learning.limit_to([1, 3]);
        assert_eq!(learning.bypassing_ctas(), [1, 0]);
    }
}
