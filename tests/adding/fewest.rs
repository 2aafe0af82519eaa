//! Fewest first: the warp slot with the fewest issues from this scheduler; ties go to the oldest warp.

use super::super::super::core::{MAX_WARPS, bits};
use super::{SchedulerOrder, WarpView};

/// Issues per warp slot.
#[derive(Clone, Debug, warpshard_state::State)]
pub(crate) struct Fewest(Box<[u32; MAX_WARPS]>);

impl Default for Fewest {
    fn default() -> Self {
        Self(Box::new([0; MAX_WARPS]))
    }
}

impl SchedulerOrder for Fewest {
    #[inline]
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
        let fewest = bits(ready).min_by_key(|&warp| (self.0[warp], view.age[warp]));
        let Some(warp) = fewest else { unreachable!("no warp is ready") };
        self.0[warp] += 1;
        warp
    }
}
