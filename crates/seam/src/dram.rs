//! The order in which a DRAM channel serves its requests.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId, Rng};
use warpshard_state::State;

use super::boxed;

/// A request that waits in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct QueuedRequest {
    /// Sequence number of the arrival, unique within a channel.
    pub number: u64,
    /// The cycle of the command clock in which the request arrived.
    pub arrived: Cycle,
    /// The bank.
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// True if the request is a write.
    pub write: bool,
    /// True if the row of the request is open.
    pub row_hit: bool,
    /// True if the request can be served in this cycle: its next command may be issued or, in a channel whose banks hold requests, its bank
    /// is free.
    pub can_issue: bool,
    /// The port of the requester. The write-back of a line has the port of the request that evicted the line.
    pub port: PortId,
    /// The kernel of the requester. The write-back of a line has the kernel of the request that evicted the line.
    pub kernel: KernelIndex,
}

/// The channel for which an order is made.
#[derive(Clone, Debug)]
pub struct DramSite {
    /// The number of its partition.
    pub partition: u16,
    /// The number of banks.
    pub banks: u32,
    /// The largest number of waiting requests.
    pub queue: u32,
    /// A random number generator for this channel only.
    pub rng: Rng,
}

/// The key that distinguishes these random numbers from others.
const SEED: u64 = 0x7365_616d_2064_7261;

impl DramSite {
    /// Returns the site of a partition's channel.
    pub fn new(partition: u16, banks: u32, queue: u32) -> Self {
        Self { partition, banks, queue, rng: Rng::keyed(SEED, &[u64::from(partition)]) }
    }
}

/// An order of DRAM requests.
///
/// *When it is called.* [`DramOrder::arrived`] is called when a request enters the queue, and [`DramOrder::choose`] whenever a request can
/// be served: once or several times per cycle, and again in later cycles. [`DramOrder::served`] is called when the chosen request leaves
/// the queue. In `gpgpu-sim` channels the bank takes it and keeps it until its last burst. In command-level controllers its column command
/// is issued, after the commands that close and open rows, which are chosen in the same way.
///
/// *What it sees.* All waiting requests in the order of their arrival. A command-level controller shows only the requests of the present
/// direction, reads or writes, which its watermarks select.
///
/// *What it may change.* Its own state, when a request arrives or was served. An action at fixed times, such as a reset every 10,000
/// cycles, is done in the first of these calls after such a time, and [`DramOrder::choose`] compares the time with the state.
///
/// *What must hold.* The chosen request can be served; any other choice causes a panic that names the order. After `None` nothing is served
/// in this cycle, and the order is called again in the next one: an order that never chooses causes a deadlock.
pub trait DramOrder: State + Debug + Send + Sync + CopiedDramOrder {
    /// Returns the name of the order, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Notifies the order that a request, the last of `queue`, arrived in cycle `now` of the command clock.
    fn arrived(&mut self, now: Cycle, queue: &[QueuedRequest]) {
        let _ = (now, queue);
    }

    /// Returns the index in `queue` of the request that is served in cycle `now` of the command clock.
    fn choose(&self, now: Cycle, queue: &[QueuedRequest]) -> Option<usize>;

    /// Notifies the order that a request was served in cycle `now` and removed from `queue`.
    fn served(&mut self, now: Cycle, request: &QueuedRequest, queue: &[QueuedRequest]) {
        let _ = (now, request, queue);
    }
}

boxed! {
    /// A boxed request order of a DRAM channel.
    BoxedDramOrder of DramOrder, copied by CopiedDramOrder
}
