//! Phase-aware ("Workload-aware scheduling techniques", 3.4): the warp nearest to the end of its phase; ties go to the oldest.
//!
//! Warps about to wait for memory issue first, so that their latency is overlapped by warps with long remaining phases.

use super::super::warps::{MAX_WARPS, bits};

#[inline]
pub(super) fn pick(ready: u64, distance: &[u16; MAX_WARPS], age: &[u32; MAX_WARPS]) -> usize {
    let Some(warp) = bits(ready).min_by_key(|&warp| (distance[warp], age[warp])) else { unreachable!("no warp is ready") };
    warp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_to_the_end_of_the_phase_goes_first_and_of_equals_the_oldest() {
        let (mut distance, mut age) = ([0; MAX_WARPS], [0; MAX_WARPS]);
        distance[..4].copy_from_slice(&[40, 8, 8, 12]);
        age[..4].copy_from_slice(&[1, 9, 4, 2]);
        let order: Vec<usize> = [0b1111, 0b1011, 0b1001, 0b0001].into_iter().map(|ready| pick(ready, &distance, &age)).collect();
        assert_eq!(order, [2, 1, 3, 0]);
    }
}
