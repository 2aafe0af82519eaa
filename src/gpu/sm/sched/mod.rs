//! Warp orders: the choice of a scheduler among the warps that can issue.
//!
//! An order is called once per scheduler and cycle with the set of warps that can issue, which is not empty. It returns
//! one of them and changes nothing; the scheduler records the warp that issued. The two-level orders first reduce the set to the
//! warps of a small queue (`two_level.rs`).

mod gto;
mod lrr;
mod oldest;
mod phase;
mod phase_view;
mod two_level;

use crate::config::machine::WarpOrder;

use super::warps::MAX_WARPS;

pub(super) use phase_view::{NO_PHASES, PhaseView};
pub(super) use two_level::{Conditions, Sort, TwoLevel};

/// The warp that issues next.
///
/// `ready` is the set of candidates, `last` the slot that this scheduler issued from last, `age` the order of launch, and
/// `distance` the distances of the next instructions from the ends of their phases.
#[inline]
pub(super) fn pick(order: WarpOrder, ready: u64, last: Option<u8>, age: &[u32; MAX_WARPS], distance: &[u16; MAX_WARPS]) -> usize {
    match order {
        WarpOrder::Lrr | WarpOrder::TwoLevelLrr | WarpOrder::TwoLevelOldest | WarpOrder::TwoLevelPhase => lrr::pick(ready, last),
        WarpOrder::Gto => gto::pick(ready, last, age),
        WarpOrder::Oldest => oldest::pick(ready, age),
        WarpOrder::Phase => phase::pick(ready, distance, age),
    }
}

/// The sort key of a two-level order's active queue; `None` for orders of one level.
pub(super) fn sort(order: WarpOrder) -> Option<Sort> {
    match order {
        WarpOrder::Lrr | WarpOrder::Gto | WarpOrder::Oldest | WarpOrder::Phase => None,
        WarpOrder::TwoLevelLrr => Some(Sort::Arrival),
        WarpOrder::TwoLevelOldest => Some(Sort::Age),
        WarpOrder::TwoLevelPhase => Some(Sort::Phase),
    }
}
