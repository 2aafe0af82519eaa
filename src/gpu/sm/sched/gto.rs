//! Greedy, then oldest (Rogers et al., MICRO 2012): the same warp while it can issue, else the one launched first.

use super::super::warps::{MAX_WARPS, oldest_of};

#[inline]
pub(super) fn pick(ready: u64, last: Option<u8>, age: &[u32; MAX_WARPS]) -> usize {
    match last {
        Some(greedy) if ready >> greedy & 1 != 0 => usize::from(greedy),
        _ => {
            let Some(warp) = oldest_of(ready, age) else { unreachable!("no warp is ready") };
            warp
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_issues_until_it_stalls_and_then_the_oldest_does() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let mut last = None;
        let mut order = Vec::new();
        // Warp 3 stalls after two issues, warp 1 after one; warp 3 comes back but warp 2 stays greedy.
        for ready in [0b1111, 0b1111, 0b0111, 0b0101, 0b1101] {
            let warp = pick(ready, last, &age);
            order.push(warp);
            last = Some(warp as u8);
        }
        assert_eq!(order, [3, 3, 1, 2, 2]);
    }
}
