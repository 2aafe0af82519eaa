//! More than two kernels (Section 4.6): two at a time, from a pool.
//!
//! In: profiles, in the order in which the kernels came. Out: which two run first, and which joins the one that is left.
//!
//! The first two are chosen by type: kernel A is Down or Optimal, if one is. The other is the first whose preference is complementary,
//! else the first.

use super::categories::{Profile, Type};

/// The kernels that wait, in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Pool {
    waiting: Vec<usize>,
}

impl Pool {
    pub(super) fn new(kernels: usize) -> Self {
        Self { waiting: (0..kernels).collect() }
    }

    /// The two that run first, in the order in which they came.
    pub(super) fn first(&mut self, profiles: &[Profile]) -> Option<[usize; 2]> {
        let at = self.waiting.iter().position(|kernel| profiles[*kernel].kind() != Type::Up).unwrap_or(0);
        let one = (at < self.waiting.len()).then(|| self.waiting.remove(at))?;
        let other = self.next(one, profiles)?;
        Some([one.min(other), one.max(other)])
    }

    /// The kernel that joins `left`.
    pub(super) fn next(&mut self, left: usize, profiles: &[Profile]) -> Option<usize> {
        let wanted = profiles[left].is_memory_intensive().map(|memory| !memory);
        let complementary = |kernel: &usize| wanted.is_some() && profiles[*kernel].is_memory_intensive() == wanted;
        let at = self.waiting.iter().position(complementary).unwrap_or(0);
        (at < self.waiting.len()).then(|| self.waiting.remove(at))
    }

    /// The kernels that wait.
    pub(super) fn waiting(&self) -> &[usize] {
        &self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::categories::tests::kernel;
    use super::*;

    const COMPUTE: f64 = 4.0;
    const MEMORY: f64 = 0.3;

    fn of(opt: u32, preference: f64) -> Profile {
        Profile { preference, ..kernel(256, 16, 0, opt, 6) }
    }

    #[test]
    fn the_first_kernel_is_down_or_optimal_and_the_other_complementary() {
        let profiles = [of(6, MEMORY), of(1, MEMORY), of(6, MEMORY), of(6, COMPUTE)];
        let mut pool = Pool::new(4);
        assert_eq!(pool.first(&profiles), Some([1, 3]));
        assert_eq!(pool.waiting(), [0, 2]);
        // The memory-intensive one is left; only memory-intensive ones wait: first come, first served.
        assert_eq!((pool.next(1, &profiles), pool.next(1, &profiles), pool.next(1, &profiles)), (Some(0), Some(2), None));
    }

    #[test]
    fn a_compute_intensive_kernel_is_joined_by_a_memory_intensive_one() {
        let profiles = [of(6, COMPUTE), of(6, COMPUTE), of(2, COMPUTE), of(6, MEMORY)];
        let mut pool = Pool::new(4);
        assert_eq!(pool.first(&profiles), Some([2, 3]));
        assert_eq!(pool.next(2, &profiles), Some(0));
    }

    #[test]
    fn without_preferences_the_first_comes_first() {
        let profiles = [of(6, 0.0), of(6, 0.0), of(6, 0.0)];
        let mut pool = Pool::new(3);
        assert_eq!((pool.first(&profiles), pool.next(0, &profiles)), (Some([0, 1]), Some(2)));
        assert_eq!(Pool::new(1).first(&profiles), None);
    }
}
