//! The order in which a channel serves waiting requests, with one contract for both controllers.
//!
//! A controller stores the oldest request of each bank, and the oldest request for the row that the bank serves. The order decides which of
//! the two is served first, and whether only the oldest request of all may be served. The controller decides everything else: timing,
//! limits on hits and ages, the direction of the bus. An order that needs more information examines the whole queue and chooses a request:
//! it is a [`DramOrder`](warpshard_seam::DramOrder) behind a trait object.

mod fcfs;
mod fr_fcfs;
mod par_bs;
mod queue_order;

use warpshard_config::machine::DramScheduler;
use warpshard_seam::{BoxedDramOrder, DramSite, UserPolicies};

pub(super) use queue_order::{QueueOrder, check};

/// Returns true if only the oldest of all requests is served, so that banks need no separate queues.
#[inline]
pub(super) fn only_oldest(order: DramScheduler) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::ONLY_OLDEST,
        DramScheduler::FrFcfs => fr_fcfs::ONLY_OLDEST,
        DramScheduler::ParBs | DramScheduler::Own => false,
    }
}

/// Returns the order of a channel that examines the queue; `None` for the other orders.
///
/// # Panics
/// If the machine selects `own` and the calling program provided no order; the assembly of a machine rejects this case.
pub(super) fn order_of_queue(order: DramScheduler, site: &DramSite, own: &UserPolicies) -> Option<BoxedDramOrder> {
    match order {
        DramScheduler::ParBs => Some(BoxedDramOrder(Box::new(par_bs::ParBs::default()))),
        DramScheduler::Own => {
            let Some(maker) = &own.dram_order else { panic!("the calling program provided no order of DRAM requests") };
            Some(maker.create(site))
        }
        _ => None,
    }
}

/// Returns true if a controller keeps a row open for requests that are not younger than the request for another row. An order that examines
/// the queue decides this by itself.
pub(super) fn keeps_hits(order: DramScheduler) -> bool {
    !matches!(order, DramScheduler::ParBs | DramScheduler::Own) && serves_hit(order, true)
}

/// Returns true if a bank serves the oldest request for its row, which exists if `hit`, before the oldest of its requests.
#[inline(always)]
pub(super) fn serves_hit(order: DramScheduler, hit: bool) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::serves_hit(hit),
        DramScheduler::FrFcfs => fr_fcfs::serves_hit(hit),
        DramScheduler::ParBs | DramScheduler::Own => unreachable!("an order that examines the queue chooses by itself"),
    }
}
