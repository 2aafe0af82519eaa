//! Oldest first: the warp launched first of all warps that can issue. The thesis on phase-aware scheduling calls this GTO.

use super::{SchedulerOrder, WarpView, oldest};

/// Oldest first, without state.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Oldest;

impl SchedulerOrder for Oldest {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        oldest(ready, view.age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::core::MAX_WARPS;
    use crate::sm::phases::NO_PHASES;

    #[test]
    fn an_older_ready_warp_issues_before_the_last_issued_one() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let view = WarpView { age: &age, distance: &NO_PHASES, cta: &[0; MAX_WARPS], kernels: &[] };
        let order = [0b1111, 0b0111, 0b0101, 0b1101].map(|ready| Oldest.pick(ready, &view));
        assert_eq!(order, [3, 1, 2, 3]);
    }
}
