//! The choice of a command-level DRAM controller, resolved: what a machine says when `mem.dram.controller` is "standard".

pub use super::choices::DramPage;
use super::machine::Mem;
use crate::base::Frequency;
use crate::device::standard::{CommandBus, Organisation, Standard, StandardError, Timing, period_ps};

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

impl Mem {
    /// The device that the command-level controllers drive at the command clock `clock`; `None` with GPGPU-Sim's channels.
    ///
    /// # Errors
    /// When the device is slower than the clock, or the machine's own table is no device; see [`Standard::check`].
    pub fn device(&self, clock: Frequency) -> Result<Option<Standard>, StandardError> {
        let Some(control) = &self.dram.control else { return Ok(None) };
        control.standard.map_or_else(|| own_device(self, clock), |standard| standard.at(clock)).map(Some)
    }
}

/// The machine's own widths and timing as a device.
///
/// What GPGPU-Sim derives (`dram.cc`: an activate to a write is earlier by the write latency, a read to a write leaves two
/// clocks on the bus) is derived here too.
fn own_device(mem: &Mem, clock: Frequency) -> Result<Standard, StandardError> {
    let dram = &mem.dram;
    let t = &dram.timing;
    let more = dram.control.as_ref().map(|control| control.own).unwrap_or_default();
    let burst_bytes = dram.bus_bytes * dram.burst;
    let burst = (dram.burst / dram.beats_per_clock.max(1)).max(1);
    let count = |mask: u64| 1u32 << mask.count_ones().min(31);
    let groups = dram.bank_groups.max(1);
    let same_group = t.tCCDL.max(t.tCCD).max(burst);
    let standard = Standard {
        name: "machine",
        summary: "the machine's own widths and timing",
        source: "mem.dram and mem.dram.timing of the machine",
        clock_ps: period_ps(clock),
        organisation: Organisation {
            pseudo_channels: 1,
            bank_groups: groups,
            banks: dram.banks / groups,
            rows: count(mem.map.row_mask),
            columns: (count(mem.map.column_mask) / burst_bytes.max(1)).max(1),
            burst_bytes,
        },
        bus: if dram.dual_command_bus { CommandBus::Split } else { CommandBus::Shared },
        timing: Timing {
            tBL: burst,
            tCL: t.tCL,
            tCWL: t.tWL,
            tRCDRD: t.tRCD,
            tRCDWR: t.tRCD.saturating_sub(t.tWL + 1).max(1),
            tRP: t.tRP,
            tRAS: t.tRAS,
            tRC: t.tRC,
            tCCDS: t.tCCD,
            tCCDL: same_group,
            tRRDS: t.tRRD,
            tRRDL: t.tRRD,
            tFAW: more.four_activates,
            t32AW: 0,
            tPPD: 0,
            tRTP: t.tRTPL,
            tWR: t.tWR,
            tWTRS: t.tCDLR,
            tWTRL: t.tCDLR,
            tRTW: (t.tCL + burst + 2).saturating_sub(t.tWL),
            tRFC: more.refresh_cycle,
            tREFI: more.refresh_interval,
            activate_clocks: 1,
        },
    };
    standard.check().map(|()| standard)
}
