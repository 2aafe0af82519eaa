//! What a controller may be told: order, queues, draining of writes, pages, refresh.

/// The order in which requests get commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Only the oldest request of the queue.
    Fcfs,
    /// Requests whose command is allowed now, the oldest first.
    FrFcfs,
}

/// What happens to an open row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// It stays open until another row of its bank is wanted.
    Open,
    /// The last queued request for it closes it.
    Closed,
}

/// A controller's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The order.
    pub order: Order,
    /// Whether a row is kept open while a request for it waits that is as old as, or older than, the one that wants it closed.
    pub protect_hits: bool,
    /// Column commands to a row after which requests for it lose their advantage.
    pub hit_cap: Option<u32>,
    /// Reads that wait.
    pub read_queue: u32,
    /// Writes that wait.
    pub write_queue: u32,
    /// More waiting writes than this begin a drain.
    pub drain_above: u32,
    /// A drain ends with fewer waiting writes than this, when reads wait.
    pub drain_below: u32,
    /// What happens to open rows.
    pub page: Page,
    /// Whether banks are refreshed.
    pub refresh: bool,
}

impl Policy {
    /// Ramulator 2.1: `FRFCFS-RowHit`, open page, queues of 64, watermarks 0.8 and 0.2.
    pub const RAMULATOR2: Self = Self {
        order: Order::FrFcfs,
        protect_hits: true,
        hit_cap: None,
        read_queue: 64,
        write_queue: 64,
        drain_above: 51,
        drain_below: 13,
        page: Page::Open,
        refresh: true,
    };

    /// Ramulator 1: `FRFCFS_Cap` with 16 hits, open page, queues of 32, watermarks 0.8 and 0.2.
    pub const RAMULATOR1: Self = Self {
        protect_hits: false,
        hit_cap: Some(16),
        read_queue: 32,
        write_queue: 32,
        drain_above: 25,
        drain_below: 6,
        ..Self::RAMULATOR2
    };
}
