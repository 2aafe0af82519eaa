//! The order in which a channel serves the requests that wait: one contract for both controllers.
//!
//! A controller keeps the oldest request of each bank, and the oldest one for the row that the bank serves. It asks the order which of
//! the two goes first, and whether any but the oldest of all may go. What else decides (timing, limits on hits and ages, the direction of
//! the bus) is the controller's.

mod fcfs;
mod fr_fcfs;

use warpshard_config::machine::DramScheduler;

/// Whether only the oldest of all requests is served, so that banks need no queues of their own.
#[inline]
pub(super) fn only_oldest(order: DramScheduler) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::ONLY_OLDEST,
        DramScheduler::FrFcfs => fr_fcfs::ONLY_OLDEST,
    }
}

/// Whether a bank serves the oldest request for its row, where there is one if `hit`, rather than the oldest of its requests.
#[inline(always)]
pub(super) fn serves_hit(order: DramScheduler, hit: bool) -> bool {
    match order {
        DramScheduler::Fcfs => fcfs::serves_hit(hit),
        DramScheduler::FrFcfs => fr_fcfs::serves_hit(hit),
    }
}
