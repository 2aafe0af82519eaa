//! The minimum distances between commands, from a device's timing table.

use warpshard_config::machine::Dram;

/// Minimum distances between two commands, in cycles of the command clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Timing {
    /// Column command to column command, in another bank group and in the same one.
    pub(super) column_to_column: [u64; 2],
    /// Activate to activate of another bank.
    pub(super) activate_to_activate: u64,
    /// Activate to read, and to write: writes may be sent earlier, because their data follows later (tRCD - WL - 1).
    pub(super) activate_to_read: u64,
    pub(super) activate_to_write: u64,
    /// Activate to precharge, precharge to activate, and activate to activate of one bank.
    pub(super) activate_to_precharge: u64,
    pub(super) precharge_to_activate: u64,
    pub(super) row_cycle: u64,
    /// Read to write and write to read of any bank, for the turnaround of the data bus.
    pub(super) read_to_write: u64,
    pub(super) write_to_read: u64,
    /// Read to precharge of the same bank, and of the same bank group.
    pub(super) read_to_precharge: u64,
    pub(super) group_read_to_precharge: u64,
    /// Write to precharge of the same bank.
    pub(super) write_to_precharge: u64,
    /// Cycles from a read command to its data.
    pub(super) read_latency: u64,
    pub(super) write_latency: u64,
    /// Command clocks of a burst on the data bus.
    pub(super) burst_cycles: u64,
    /// Bytes of a burst.
    pub(super) burst_bytes: u64,
}

impl Timing {
    pub(super) fn new(spec: &Dram) -> Self {
        let t = &spec.timing;
        let burst = spec.burst / spec.beats_per_clock.max(1);
        let cycles = |value: u32| u64::from(value);
        Self {
            column_to_column: [cycles(t.tCCD), cycles(t.tCCDL)],
            activate_to_activate: cycles(t.tRRD),
            activate_to_read: cycles(t.tRCD),
            activate_to_write: cycles(t.tRCD.saturating_sub(t.tWL + 1)),
            activate_to_precharge: cycles(t.tRAS),
            precharge_to_activate: cycles(t.tRP),
            row_cycle: cycles(t.tRC),
            read_to_write: cycles((t.tCL + burst + 2).saturating_sub(t.tWL)),
            write_to_read: cycles(t.tWL + burst + t.tCDLR),
            read_to_precharge: cycles(burst),
            group_read_to_precharge: cycles(t.tRTPL),
            write_to_precharge: cycles(t.tWL + burst + t.tWR),
            read_latency: cycles(t.tCL),
            write_latency: cycles(t.tWL),
            burst_cycles: cycles(burst).max(1),
            burst_bytes: cycles(spec.burst * spec.bus_bytes),
        }
    }
}
