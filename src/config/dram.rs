//! The choice of a command-level DRAM controller, resolved: what a machine says when `mem.dram.controller` is "standard".

use crate::mem::dram::standard::Standard;

/// A controller that drives a device by its data sheet's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DramControl {
    /// The device; `None` takes the machine's own widths and timing for one.
    pub standard: Option<&'static Standard>,
    /// The order of address fields within a partition, highest first.
    pub mapping: String,
    /// Column commands to an open row after which its requests lose their advantage; 0 for no limit.
    pub row_hit_cap: u32,
    /// Cycles (command clock) after which the oldest request goes before all others; 0 for no limit.
    pub age_cap: u32,
    /// What happens to an open row.
    pub page: DramPage,
    /// Reads that wait, in bursts.
    pub read_queue: u32,
    /// Writes that wait, in bursts.
    pub write_queue: u32,
    /// Percentage of the write queue above which writes are drained.
    pub drain_high: u32,
    /// Percentage of the write queue below which reads get their turn again.
    pub drain_low: u32,
    /// Whether banks are refreshed.
    pub refresh: bool,
    /// What the machine's own timing table has beyond GPGPU-Sim's.
    pub own: OwnTiming,
}

/// Timing that a command-level controller knows and GPGPU-Sim's does not, in cycles of the command clock; 0 where there is
/// no such constraint. Read when the machine's own table is the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTiming {
    /// tFAW: the window in which at most four activates fall.
    pub four_activates: u32,
    /// tRFC: from a refresh of all banks to the next command.
    pub refresh_cycle: u32,
    /// tREFI: the mean interval of refreshes.
    pub refresh_interval: u32,
}

/// What happens to an open row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DramPage {
    /// It stays open until another row of its bank is wanted.
    Open,
    /// The last queued request for it closes it.
    Closed,
}

impl DramControl {
    /// A controller none of whose keys has been read.
    pub(super) const NONE: Self = Self {
        standard: None,
        mapping: String::new(),
        row_hit_cap: 0,
        age_cap: 0,
        page: DramPage::Open,
        read_queue: 0,
        write_queue: 0,
        drain_high: 0,
        drain_low: 0,
        refresh: false,
        own: OwnTiming { four_activates: 0, refresh_cycle: 0, refresh_interval: 0 },
    };
}
