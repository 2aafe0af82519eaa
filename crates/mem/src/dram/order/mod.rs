//! The order in which a channel serves the requests that wait: one contract for both controllers.
//!
//! A controller keeps the oldest request of each bank, and the oldest one for the row that the bank serves. It asks the order which of
//! the two goes first, and whether any but the oldest of all may go. What else decides (timing, limits on hits and ages, the direction of
//! the bus) is the controller's. An order that looks at more than that sees the whole queue and chooses from it: it is a
//! [`DramOrder`](warpshard_seam::DramOrder) behind a trait object.

mod fcfs;
mod fr_fcfs;
mod par_bs;
mod seeing;

use warpshard_config::machine::DramScheduler;
use warpshard_seam::{BoxedDramOrder, DramSite, Own};

pub(super) use seeing::{Seeing, check};

/// Whether only the oldest of all requests is served, so that banks need no queues of their own.
#[inline]
pub(super) fn only_oldest(order: DramScheduler) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::ONLY_OLDEST,
        DramScheduler::FrFcfs => fr_fcfs::ONLY_OLDEST,
        DramScheduler::ParBs | DramScheduler::Own => false,
    }
}

/// The order of a channel that sees the queue, where the channel has one.
///
/// # Panics
/// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
pub(super) fn seeing_queue(order: DramScheduler, site: &DramSite, own: &Own) -> Option<BoxedDramOrder> {
    match order {
        DramScheduler::ParBs => Some(BoxedDramOrder(Box::new(par_bs::ParBs::default()))),
        DramScheduler::Own => {
            let Some(maker) = &own.dram_order else { panic!("the calling program brought no order of DRAM requests") };
            Some(maker.make(site))
        }
        _ => None,
    }
}

/// Whether a controller keeps a row open for requests that are as old as the one that wants it closed. An order that sees the queue says that itself.
pub(super) fn keeps_hits(order: DramScheduler) -> bool {
    !matches!(order, DramScheduler::ParBs | DramScheduler::Own) && serves_hit(order, true)
}

/// Whether a bank serves the oldest request for its row, where there is one if `hit`, rather than the oldest of its requests.
#[inline(always)]
pub(super) fn serves_hit(order: DramScheduler, hit: bool) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::serves_hit(hit),
        DramScheduler::FrFcfs => fr_fcfs::serves_hit(hit),
        DramScheduler::ParBs | DramScheduler::Own => unreachable!("an order that sees the queue is asked for its choice"),
    }
}
