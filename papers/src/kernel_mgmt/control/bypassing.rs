//! Cache bypassing (Section 4.4) on one SM: which kernel bypasses the L1, and with how many of its CTAs.
//!
//! In: the stalls of a sampling period. Out: how many CTAs of both kernels bypass in the next. The steps are the paper's: none; one of A;
//! one of B; of the one with the least stalls one more as long as stalls fall.

/// How far the learning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Stage {
    /// No CTA bypasses.
    None,
    /// One CTA of A, then of B.
    Tries(usize),
    /// A CTA more of the chosen kernel.
    Grows(usize),
    Done,
}

/// The learning on one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Learning {
    stage: Stage,
    /// CTAs that bypass in the present period.
    ctas: [u32; 2],
    /// Stalls with none, and with one CTA of each kernel; `u64::MAX` where it has no CTAs.
    none: u64,
    one: [u64; 2],
    /// The least stalls of the chosen kernel.
    least: u64,
}

impl Learning {
    pub(super) fn new() -> Self {
        Self { stage: Stage::None, ctas: [0; 2], none: 0, one: [u64::MAX; 2], least: u64::MAX }
    }

    /// CTAs of both kernels that are to bypass.
    pub(super) fn ctas(&self) -> [u32; 2] {
        self.ctas
    }

    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// A period with so many stalls ended; the kernels have `resident` CTAs.
    pub(super) fn sampled(&mut self, stalls: u64, resident: [u32; 2]) {
        match self.stage {
            Stage::None => {
                self.none = stalls;
                self.attempt(0, resident);
            }
            Stage::Tries(kernel) => {
                self.one[kernel] = stalls;
                self.attempt(kernel + 1, resident);
            }
            Stage::Grows(kernel) if stalls < self.least => self.grow(kernel, stalls, resident),
            Stage::Grows(kernel) => {
                self.ctas[kernel] -= 1;
                self.stage = Stage::Done;
            }
            Stage::Done => {}
        }
    }

    /// One CTA of the first kernel from number `from` on that has one; if there is none, compares.
    fn attempt(&mut self, from: usize, resident: [u32; 2]) {
        self.ctas = [0; 2];
        if let Some(kernel) = (from..2).find(|kernel| resident[*kernel] > 0) {
            self.ctas[kernel] = 1;
            self.stage = Stage::Tries(kernel);
            return;
        }
        let kernel = usize::from(self.one[1] < self.one[0]);
        if self.none <= self.one[kernel] {
            self.stage = Stage::Done;
            return;
        }
        self.ctas[kernel] = 1;
        self.grow(kernel, self.one[kernel], resident);
    }

    /// The present number of CTAs is the best so far: tries one more, if there is one.
    fn grow(&mut self, kernel: usize, stalls: u64, resident: [u32; 2]) {
        self.least = stalls;
        self.stage = if self.ctas[kernel] < resident[kernel] {
            self.ctas[kernel] += 1;
            Stage::Grows(kernel)
        } else {
            Stage::Done
        };
    }

    /// The kernels have `resident` CTAs from now on, of which at most all bypass.
    pub(super) fn limit(&mut self, resident: [u32; 2]) {
        self.ctas.iter_mut().zip(resident).for_each(|(ctas, resident)| *ctas = (*ctas).min(resident));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What bypasses in each period, given the stalls of the periods; the last entry stays.
    fn learn(resident: [u32; 2], stalls: &[u64]) -> (Vec<[u32; 2]>, bool) {
        let mut learning = Learning::new();
        let mut tried = vec![learning.ctas()];
        for stalls in stalls {
            learning.sampled(*stalls, resident);
            tried.push(learning.ctas());
        }
        (tried, learning.is_done())
    }

    #[test]
    fn figure_9_kernel_b_bypasses_with_one_cta() {
        // Three CTAs of A and two of B. None, then one of A, then one of B, which stalls least; two of B are not better.
        let (tried, done) = learn([3, 2], &[100, 90, 80, 85]);
        assert_eq!(tried, [[0, 0], [1, 0], [0, 1], [0, 2], [0, 1]]);
        assert!(done);
    }

    #[test]
    fn nothing_bypasses_where_that_stalls_least() {
        assert_eq!(learn([3, 2], &[80, 90, 85]), (vec![[0, 0], [1, 0], [0, 1], [0, 0]], true));
        assert_eq!(learn([3, 2], &[80, 80, 85]).0[3], [0, 0], "equal is not better");
    }

    #[test]
    fn the_chosen_kernel_goes_on_while_stalls_fall_and_no_further_than_its_ctas() {
        assert_eq!(learn([3, 2], &[100, 70, 80, 60, 65]), (vec![[0, 0], [1, 0], [0, 1], [2, 0], [3, 0], [2, 0]], true));
        assert_eq!(learn([2, 2], &[100, 70, 80, 60]), (vec![[0, 0], [1, 0], [0, 1], [2, 0], [2, 0]], true));
        assert_eq!(learn([1, 2], &[100, 70, 80]), (vec![[0, 0], [1, 0], [0, 1], [1, 0]], true));
    }

    #[test]
    fn a_kernel_without_ctas_is_not_tried() {
        assert_eq!(learn([6, 0], &[100, 90, 95]), (vec![[0, 0], [1, 0], [2, 0], [1, 0]], true));
        assert_eq!(learn([0, 0], &[100]), (vec![[0, 0], [0, 0]], true));
    }

    #[test]
    fn no_more_ctas_bypass_than_there_are() {
        let mut learning = Learning::new();
        [100, 70, 80, 60].iter().for_each(|stalls| learning.sampled(*stalls, [2, 2]));
        learning.limit([1, 3]);
        assert_eq!(learning.ctas(), [1, 0]);
    }
}
