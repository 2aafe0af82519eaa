//! The parameters of a controller: order, queues, draining of writes, pages, refresh.

use super::{Order, Page, RefreshBanks, RefreshClose};

/// When waiting writes are drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Drain {
    /// Between marks: more waiting writes than `above`, or no waiting read, begin a drain; fewer than `below` end it when reads
    /// wait.
    Marks {
        /// The high mark.
        above: u32,
        /// The low mark.
        below: u32,
    },
    /// In batches: a full write queue, or `idle` writes without a waiting read, begin a drain of the writes that wait then.
    Batch {
        /// Writes that are worth a drain while no read waits.
        idle: u32,
    },
}

/// A controller's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Policy {
    /// The order.
    #[state(fixed)]
    pub order: Order,
    /// Whether a row is kept open while a request for it waits that is as old as, or older than, the one that wants it closed.
    pub protect_hits: bool,
    /// Column commands to a row after which requests for it lose their advantage.
    pub hit_cap: Option<u32>,
    /// Cycles after which the oldest request of a queue is served before all others, whatever row it wants.
    pub age_cap: Option<u32>,
    /// Reads that wait.
    pub read_queue: u32,
    /// Writes that wait.
    pub write_queue: u32,
    /// When waiting writes are drained.
    pub drain: Drain,
    /// Whether a write is finished one cycle after it was taken, not with its command.
    pub posted_writes: bool,
    /// What happens to open rows.
    #[state(fixed)]
    pub page: Page,
    /// Whether banks are refreshed.
    pub refresh: bool,
    /// Which banks a refresh takes.
    #[state(fixed)]
    pub refresh_banks: RefreshBanks,
    /// How open rows are closed for a refresh.
    pub refresh_close: RefreshClose,
}

impl Policy {
    /// Ramulator 2.1: `FRFCFS-RowHit`, open page, queues of 64, watermarks 0.8 and 0.2.
    pub const RAMULATOR2: Self = Self {
        order: Order::FrFcfs,
        protect_hits: true,
        hit_cap: None,
        age_cap: None,
        read_queue: 64,
        write_queue: 64,
        drain: Drain::Marks { above: 51, below: 13 },
        posted_writes: false,
        page: Page::Open,
        refresh: true,
        refresh_banks: RefreshBanks::All,
        refresh_close: RefreshClose::AllBanks,
    };

    /// Ramulator 1: `FRFCFS_Cap` with 16 hits, open page, queues of 32, watermarks 0.8 and 0.2.
    pub const RAMULATOR1: Self = Self {
        protect_hits: false,
        hit_cap: Some(16),
        read_queue: 32,
        write_queue: 32,
        drain: Drain::Marks { above: 25, below: 6 },
        ..Self::RAMULATOR2
    };

    /// What of DRAMsim3's controller is a policy here: batches of writes, posted writes, refresh bank by bank. Its queue per
    /// bank behind the transaction queues is not.
    pub const DRAMSIM3: Self = Self {
        protect_hits: true,
        read_queue: 32,
        write_queue: 32,
        drain: Drain::Batch { idle: 8 },
        posted_writes: true,
        refresh_close: RefreshClose::EachBank,
        ..Self::RAMULATOR2
    };
}
