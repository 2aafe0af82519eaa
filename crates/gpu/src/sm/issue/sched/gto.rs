//! Greedy, then oldest (Rogers et al., MICRO 2012): the same warp while it can issue, else the warp launched first.

use super::{SchedulerOrder, WarpView, oldest};

/// The warp that issued last.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Gto(Option<u8>);

impl SchedulerOrder for Gto {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        let warp = match self.0 {
            Some(greedy) if ready >> greedy & 1 != 0 => usize::from(greedy),
            _ => oldest(ready, view.age),
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
    fn a_warp_issues_until_it_stalls_and_then_the_oldest_does() {
        let mut age = [0; MAX_WARPS];
        age[..4].copy_from_slice(&[30, 10, 20, 5]);
        let view = WarpView { age: &age, distance: &NO_PHASES, cta: &[0; MAX_WARPS], kernels: &[] };
        let mut gto = Gto::default();
        // Warp 3 stalls after two issues, and warp 1 after one. Warp 3 becomes ready again, but warp 2 stays greedy.
        let order = [0b1111, 0b1111, 0b0111, 0b0101, 0b1101].map(|ready| gto.pick(ready, &view));
        assert_eq!(order, [3, 3, 1, 2, 2]);
    }
}
