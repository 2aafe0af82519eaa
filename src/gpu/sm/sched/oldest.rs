//! Oldest first: the warp launched first of those that can issue. The thesis on phase-aware scheduling calls this GTO.

use super::super::warps::{MAX_WARPS, oldest_of};

#[inline]
pub(super) fn pick(ready: u64, age: &[u32; MAX_WARPS]) -> usize {
    let Some(warp) = oldest_of(ready, age) else { unreachable!("no warp is ready") };
    warp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_warp_that_comes_back_issues_before_the_one_that_issued_last() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let order: Vec<usize> = [0b1111, 0b0111, 0b0101, 0b1101].into_iter().map(|ready| pick(ready, &age)).collect();
        assert_eq!(order, [3, 1, 2, 3]);
    }
}
