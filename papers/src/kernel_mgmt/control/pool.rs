//! More than two kernels (Section 4.6): two run at a time, and the others wait in a pool.
//!
//! In: profiles, in the order of arrival. Out: the two kernels that run first, and the kernel that replaces one that ended.
//!
//! The first two are chosen by type: kernel A is the first of type Down or Optimal, or else the first of all. Its partner is the first with
//! a complementary preference, or else the first of all.

use super::categories::{KernelProfile, KernelCategory};

/// The waiting kernels, in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct KernelPool {
    waiting: Vec<usize>,
}

impl KernelPool {
    pub(super) fn new(kernels: usize) -> Self {
        Self { waiting: (0..kernels).collect() }
    }

    /// Removes and returns the two kernels that run first, in the order of arrival.
    pub(super) fn take_pair(&mut self, profiles: &[KernelProfile]) -> Option<[usize; 2]> {
        let at = self.waiting.iter().position(|kernel| profiles[*kernel].category() != KernelCategory::Up).unwrap_or(0);
        let one = (at < self.waiting.len()).then(|| self.waiting.remove(at))?;
        let other = self.take_partner(one, profiles)?;
        Some([one.min(other), one.max(other)])
    }

    /// Removes and returns the kernel that runs beside `left`.
    pub(super) fn take_partner(&mut self, left: usize, profiles: &[KernelProfile]) -> Option<usize> {
        let wanted = profiles[left].is_memory_intensive().map(|memory| !memory);
        let complementary = |kernel: &usize| wanted.is_some() && profiles[*kernel].is_memory_intensive() == wanted;
        let at = self.waiting.iter().position(complementary).unwrap_or(0);
        (at < self.waiting.len()).then(|| self.waiting.remove(at))
    }

    /// Returns the waiting kernels.
    pub(super) fn waiting_kernels(&self) -> &[usize] {
        &self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::categories::tests::kernel_profile;
    use super::*;

    const COMPUTE_PREFERENCE: f64 = 4.0;
    const MEMORY_PREFERENCE: f64 = 0.3;

    fn of(opt: u32, preference: f64) -> KernelProfile {
        KernelProfile { preference, ..kernel_profile(256, 16, 0, opt, 6) }
    }

    #[test]
    fn the_first_kernel_is_down_or_optimal_and_the_other_complementary() {
        let profiles = [of(6, MEMORY_PREFERENCE), of(1, MEMORY_PREFERENCE), of(6, MEMORY_PREFERENCE), of(6, COMPUTE_PREFERENCE)];
        let mut pool = KernelPool::new(4);
        assert_eq!(pool.take_pair(&profiles), Some([1, 3]));
        assert_eq!(pool.waiting_kernels(), [0, 2]);
        // The remaining kernel is memory-intensive, and so are all waiting kernels: the order of arrival decides.
        assert_eq!((pool.take_partner(1, &profiles), pool.take_partner(1, &profiles), pool.take_partner(1, &profiles)), (Some(0), Some(2), None));
    }

    #[test]
    fn a_compute_intensive_kernel_is_joined_by_a_memory_intensive_one() {
        let profiles = [of(6, COMPUTE_PREFERENCE), of(6, COMPUTE_PREFERENCE), of(2, COMPUTE_PREFERENCE), of(6, MEMORY_PREFERENCE)];
        let mut pool = KernelPool::new(4);
        assert_eq!(pool.take_pair(&profiles), Some([2, 3]));
        assert_eq!(pool.take_partner(2, &profiles), Some(0));
    }

    #[test]
    fn without_preferences_the_order_of_arrival_decides() {
        let profiles = [of(6, 0.0), of(6, 0.0), of(6, 0.0)];
        let mut pool = KernelPool::new(3);
        assert_eq!((pool.take_pair(&profiles), pool.take_partner(0, &profiles)), (Some([0, 1]), Some(2)));
        assert_eq!(KernelPool::new(1).take_pair(&profiles), None);
    }
}
