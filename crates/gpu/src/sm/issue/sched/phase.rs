//! Phase-aware order ("Workload-aware scheduling techniques", 3.4): the warp nearest to the end of its phase; ties go to the oldest.
//!
//! Warps about to wait for memory issue first, so that warps with long remaining phases overlap their latency.

use super::super::super::core::bits;
use super::{SchedulerOrder, WarpView};

/// The phase-aware order, without state.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Phase;

impl SchedulerOrder for Phase {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        let nearest = bits(ready).min_by_key(|&warp| (view.distance[warp], view.age[warp]));
        let Some(warp) = nearest else { unreachable!("no warp is ready") };
        warp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::core::MAX_WARPS;

    #[test]
    fn the_shortest_phase_distance_issues_first_ties_to_the_oldest() {
        let (mut distance, mut age) = ([0; MAX_WARPS], [0; MAX_WARPS]);
        distance[..4].copy_from_slice(&[40, 8, 8, 12]);
        age[..4].copy_from_slice(&[1, 9, 4, 2]);
        let view = WarpView { age: &age, distance: &distance, cta: &[0; MAX_WARPS], kernels: &[] };
        let order = [0b1111, 0b1011, 0b1001, 0b0001].map(|ready| Phase.pick(ready, &view));
        assert_eq!(order, [2, 1, 3, 0]);
    }
}
