//! Loose round robin: the first ready slot after the one that issued last.

use warpshard_base::WarpMask;

use super::{SchedulerOrder, WarpView};

/// The slot at which the next search begins.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Lrr(u32);

impl Lrr {
    /// Returns the first slot of the set `ready` in this order, without other criteria.
    #[inline]
    pub(super) fn first_in_turn(&mut self, ready: u64) -> usize {
        let Some(warp) = WarpMask(ready).first_from(self.0) else { unreachable!("no warp is ready") };
        self.0 = (warp as u32 + 1) & 63;
        warp
    }
}

impl SchedulerOrder for Lrr {
    #[inline]
    fn pick(&mut self, ready: u64, _: &WarpView<'_>) -> usize {
        self.first_in_turn(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::core::MAX_WARPS;
    use crate::sm::phases::NO_PHASES;

    const VIEW: WarpView<'_> = WarpView { age: &[0; MAX_WARPS], distance: &NO_PHASES, cta: &[0; MAX_WARPS], kernels: &[] };

    #[test]
    fn slots_rotate_and_unready_slots_are_skipped() {
        let mut lrr = Lrr::default();
        assert_eq!([0b1110, 0b1110, 0b1010, 0b1010, 0b0001].map(|ready| lrr.pick(ready, &VIEW)), [1, 2, 3, 1, 0]);
    }

    #[test]
    fn the_turn_wraps_at_the_last_slot() {
        let mut lrr = Lrr(63);
        assert_eq!([1 << 63 | 1; 2].map(|ready| lrr.pick(ready, &VIEW)), [63, 0]);
    }
}
