//! The order in which a DRAM channel serves its requests.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId, Rng};
use warpshard_state::State;

use super::boxed;

/// A request that waits in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Waiting {
    /// Its number: the smaller, the earlier it arrived. No two requests of a channel have the same.
    pub number: u64,
    /// The cycle of the command clock in which it arrived.
    pub arrived: Cycle,
    /// The bank.
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// Whether it writes.
    pub write: bool,
    /// Whether its row is open.
    pub row_hit: bool,
    /// Whether its next command, or for a channel whose banks keep their requests its bank, could take it in this cycle.
    pub may_go: bool,
    /// The port of the requester. A line that is written back has that of the request which it made room for.
    pub port: PortId,
    /// The kernel of the requester, as above.
    pub kernel: KernelIndex,
}

/// A channel, for which an order is made.
#[derive(Clone, Debug)]
pub struct DramSite {
    /// The number of its partition.
    pub partition: u16,
    /// Banks.
    pub banks: u32,
    /// Requests that wait at most.
    pub queue: u32,
    /// Random numbers of this channel alone.
    pub rng: Rng,
}

/// Keys these draws apart from others.
const SEED: u64 = 0x7365_616d_2064_7261;

impl DramSite {
    /// The site of a partition's channel.
    pub fn new(partition: u16, banks: u32, queue: u32) -> Self {
        Self { partition, banks, queue, rng: Rng::keyed(SEED, &[u64::from(partition)]) }
    }
}

/// An order of DRAM requests.
///
/// *When it is called.* [`DramOrder::arrived`] when a request enters the queue. [`DramOrder::choose`] whenever a request may go: once or several
/// times in a cycle, or in later cycles again. [`DramOrder::served`] when the request that it chose was taken: by its bank (`gpgpu-sim` channels,
/// where the bank then keeps it until its last burst), or by its column command (command-level controllers, where commands that open and close
/// rows go before that, each chosen alike).
///
/// *What it sees.* All requests that wait, in the order of their arrival. A command-level controller shows those of the present direction, reads or
/// writes, which its marks choose.
///
/// *What it may change.* Its own state, when a request arrives or was taken. What an order does at fixed times, such as to forget every 10,000 cycles,
/// it does at the first of these calls after such a time, and [`DramOrder::choose`] compares the time with what the state holds.
///
/// *What must hold.* The choice is one of those that may go; any other is a panic that names the order. With `None` nothing is served in this
/// cycle, and the order is asked again in the next one: an order that never chooses makes the machine stand still.
pub trait DramOrder: State + Debug + Send + Sync + CopiedDramOrder {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// A request, the last of `queue`, has arrived, in cycle `now` of the command clock.
    fn arrived(&mut self, now: Cycle, queue: &[Waiting]) {
        let _ = (now, queue);
    }

    /// The place in `queue` of the request that goes in cycle `now` of the command clock.
    fn choose(&self, now: Cycle, queue: &[Waiting]) -> Option<usize>;

    /// A request was taken in cycle `now`, and is no longer among those of `queue`.
    fn served(&mut self, now: Cycle, request: &Waiting, queue: &[Waiting]) {
        let _ = (now, request, queue);
    }
}

boxed! {
    /// An order of requests in a channel.
    BoxedDramOrder of DramOrder, copied by CopiedDramOrder
}
