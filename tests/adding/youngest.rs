//! Youngest first: the warp launched last of those that can issue.

use super::super::warps::MAX_WARPS;

#[inline]
pub(super) fn pick(ready: u64, age: &[u32; MAX_WARPS]) -> usize {
    let warps = (0..MAX_WARPS).filter(|warp| ready >> warp & 1 != 0);
    let Some(warp) = warps.max_by_key(|warp| age[*warp]) else { unreachable!("no warp is ready") };
    warp
}
