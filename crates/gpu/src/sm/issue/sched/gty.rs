//! Greedy, then youngest (Huerta et al., MICRO 2025, Section 5.1.2): the same warp while it can issue, else the warp launched last.

use super::super::super::core::bits;
use super::{SchedulerOrder, WarpView};

/// The warp that issued last.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Gty(Option<u8>);

impl SchedulerOrder for Gty {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        let warp = match self.0 {
            Some(greedy) if ready >> greedy & 1 != 0 => usize::from(greedy),
            _ => bits(ready).max_by_key(|warp| view.age[*warp]).unwrap_or_default(),
        };
        self.0 = Some(warp as u8);
        warp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::core::MAX_WARPS;
    use crate::sm::phases::NO_PHASES;

    #[test]
    fn a_warp_issues_until_it_stalls_and_then_the_youngest_does() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let view = WarpView { age: &age, distance: &NO_PHASES, cta: &[0; MAX_WARPS], kernels: &[] };
        let mut gty = Gty::default();
        let order = [0b1111, 0b1110, 0b1111, 0b1010, 0b1000].map(|ready| gty.pick(ready, &view));
        assert_eq!(order, [0, 2, 2, 1, 3]);
    }
}
