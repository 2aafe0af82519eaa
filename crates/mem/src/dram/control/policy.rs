//! The parameters of a controller: order, queues, draining of writes, pages and refresh.

use super::{Order, Page, RefreshBanks, RefreshClose};

/// The rule that starts and ends the draining of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum WriteDrain {
    /// Watermarks: a drain begins if more than `above` writes wait or no read waits. It ends if fewer than `below` writes wait and a read
    /// waits.
    Marks {
        /// The high watermark, in writes.
        above: u32,
        /// The low watermark, in writes.
        below: u32,
    },
    /// Batches: a full write queue, or `idle` writes without a waiting read, begin a drain of the writes that wait at this time.
    Batch {
        /// The number of writes that begins a drain while no read waits.
        idle: u32,
    },
}

/// The policy of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct ControllerPolicy {
    /// The order of requests.
    #[state(fixed)]
    pub order: Order,
    /// True if a row is kept open while a request for it waits that is not younger than the request for another row.
    pub protect_hits: bool,
    /// The number of column commands to a row after which requests for it lose their priority.
    pub hit_cap: Option<u32>,
    /// Cycles after which the oldest request of a queue is served before all others, regardless of its row.
    pub age_cap: Option<u32>,
    /// The size of the read queue.
    pub read_queue: u32,
    /// The size of the write queue.
    pub write_queue: u32,
    /// The rule for the draining of writes.
    pub drain: WriteDrain,
    /// True if a write finishes one cycle after it was accepted, not with its command.
    pub posted_writes: bool,
    /// The page policy.
    #[state(fixed)]
    pub page: Page,
    /// True if banks are refreshed.
    pub refresh: bool,
    /// The banks that one refresh command covers.
    #[state(fixed)]
    pub refresh_banks: RefreshBanks,
    /// The way in which open rows are closed for a refresh.
    pub refresh_close: RefreshClose,
}

impl ControllerPolicy {
    /// The policy of Ramulator 2.1: `FRFCFS-RowHit`, open page, queues of 64, watermarks 0.8 and 0.2.
    pub const RAMULATOR2: Self = Self {
        order: Order::FrFcfs,
        protect_hits: true,
        hit_cap: None,
        age_cap: None,
        read_queue: 64,
        write_queue: 64,
        drain: WriteDrain::Marks { above: 51, below: 13 },
        posted_writes: false,
        page: Page::Open,
        refresh: true,
        refresh_banks: RefreshBanks::All,
        refresh_close: RefreshClose::AllBanks,
    };

    /// The policy of Ramulator 1: `FRFCFS_Cap` with 16 hits, open page, queues of 32, watermarks 0.8 and 0.2.
    pub const RAMULATOR1: Self = Self {
        protect_hits: false,
        hit_cap: Some(16),
        read_queue: 32,
        write_queue: 32,
        drain: WriteDrain::Marks { above: 25, below: 6 },
        ..Self::RAMULATOR2
    };

    /// The policy of DRAMsim3's controller: batches of writes, posted writes, refresh bank by bank. Its queue per bank behind the
    /// transaction queues is not modelled.
    pub const DRAMSIM3: Self = Self {
        protect_hits: true,
        read_queue: 32,
        write_queue: 32,
        drain: WriteDrain::Batch { idle: 8 },
        posted_writes: true,
        refresh_close: RefreshClose::EachBank,
        ..Self::RAMULATOR2
    };
}
