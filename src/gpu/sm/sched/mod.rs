//! Warp orders: which of the warps that could issue a scheduler takes.
//!
//! A strategy is called once per scheduler and cycle with the set of warps that can issue, which is not empty. It returns
//! one of them and changes nothing; the scheduler notes who issued.

mod gto;
mod lrr;

use crate::config::machine::WarpOrder;

use super::warps::MAX_WARPS;

/// The warp that issues next.
///
/// `ready` is the set of candidates, `last` the slot that this scheduler issued from last, `age` the order of launch.
#[inline]
pub(super) fn pick(order: WarpOrder, ready: u64, last: Option<u8>, age: &[u32; MAX_WARPS]) -> usize {
    match order {
        WarpOrder::Lrr => lrr::pick(ready, last),
        WarpOrder::Gto => gto::pick(ready, last, age),
    }
}
