//! A DRAM channel, resolved: its device, and the command-level controller that drives it when `mem.dram.controller` is "standard".

use warpshard_base::Frequency;
use warpshard_device::standard::{CommandBus, Organisation, Standard, StandardError, Timing, period_ps};
use warpshard_protocol::AddressMap;

use super::choices::DramScheduler;
pub use super::choices::{BankHash, DramPage, DramRefresh, RefreshWhen};

/// A DRAM channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dram {
    /// Banks.
    pub banks: u32,
    /// Bank groups; 1 where the device has none.
    pub bank_groups: u32,
    /// Whether neighbouring bank numbers lie in different groups.
    pub group_low_bits: bool,
    /// Bytes of the data bus.
    pub bus_bytes: u32,
    /// Beats of a burst.
    pub burst: u32,
    /// Data beats per command clock (2 for DDR).
    pub beats_per_clock: u32,
    /// Whether row and column commands have buses of their own (HBM).
    pub dual_command_bus: bool,
    /// The order in which requests are served.
    pub scheduler: DramScheduler,
    /// Requests that the scheduler sees.
    pub queue: u32,
    /// Answers that wait to leave.
    pub return_queue: u32,
    /// Timing in cycles of the DRAM command clock.
    pub timing: DramTiming,
    /// The command-level controller that takes the place of GPGPU-Sim's; `None` keeps that.
    pub control: Option<DramControl>,
}

impl Dram {
    /// Whether widths, banks and timing are the machine's own, and not those of a device that it names.
    pub fn has_own_device(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.standard.is_none())
    }

    /// The device that the command-level controllers drive at the command clock `clock`, where addresses lie as in `map`; `None`
    /// with GPGPU-Sim's channels.
    ///
    /// # Errors
    /// When the device is slower than the clock, or the machine's own table is no device; see [`Standard::check`].
    pub fn device(&self, map: &AddressMap, clock: Frequency) -> Result<Option<Standard>, StandardError> {
        let Some(control) = &self.control else { return Ok(None) };
        control.standard.map_or_else(|| self.own_device(map, clock), |standard| standard.at(clock)).map(Some)
    }

    /// Bytes of a burst, and bursts that a channel's data buses move in a command clock.
    pub fn burst(&self) -> (u64, f64) {
        match self.control.as_ref().and_then(|control| control.standard) {
            Some(standard) => (u64::from(standard.organisation.burst_bytes), standard.peak_per_clock()),
            None => {
                let bytes = u64::from(self.bus_bytes) * u64::from(self.burst);
                (bytes, f64::from(self.beats_per_clock) / f64::from(self.burst))
            }
        }
    }

    /// The machine's own widths and timing as a device.
    ///
    /// What GPGPU-Sim derives (`dram.cc`: an activate to a write is earlier by the write latency, a read to a write leaves two
    /// clocks on the bus) is derived here too.
    fn own_device(&self, map: &AddressMap, clock: Frequency) -> Result<Standard, StandardError> {
        let t = &self.timing;
        let more = self.control.as_ref().map(|control| control.own).unwrap_or_default();
        let burst_bytes = self.bus_bytes * self.burst;
        let burst = (self.burst / self.beats_per_clock.max(1)).max(1);
        let count = |mask: u64| 1u32 << mask.count_ones().min(31);
        let groups = self.bank_groups.max(1);
        let same_group = t.tCCDL.max(t.tCCD).max(burst);
        let standard = Standard {
            name: "machine",
            summary: "the machine's own widths and timing",
            source: "mem.dram and mem.dram.timing of the machine",
            clock_ps: period_ps(clock),
            organisation: Organisation {
                pseudo_channels: 1,
                bank_groups: groups,
                banks: self.banks / groups,
                rows: count(map.row_mask),
                columns: (count(map.column_mask) / burst_bytes.max(1)).max(1),
                burst_bytes,
            },
            bus: if self.dual_command_bus { CommandBus::Split } else { CommandBus::Shared },
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
                tRFCpb: 0,
                tRREFD: 0,
                activate_clocks: 1,
            },
        };
        standard.check().map(|()| standard)
    }
}

/// DRAM timing, data-sheet names, in cycles of the command clock.
#[allow(non_snake_case, reason = "data-sheet parameters keep their data-sheet names")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramTiming {
    /// Column to column, other bank group.
    pub tCCD: u32,
    /// Column to column, same bank group.
    pub tCCDL: u32,
    /// Activate to activate, other bank.
    pub tRRD: u32,
    /// Activate to column.
    pub tRCD: u32,
    /// Activate to precharge.
    pub tRAS: u32,
    /// Precharge to activate.
    pub tRP: u32,
    /// Activate to activate, same bank.
    pub tRC: u32,
    /// Read to data.
    pub tCL: u32,
    /// Write to data.
    pub tWL: u32,
    /// Last write data to read.
    pub tCDLR: u32,
    /// Last write data to precharge.
    pub tWR: u32,
    /// Read to precharge, same bank.
    pub tRTPL: u32,
}

/// A controller that drives a device by its data sheet's commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DramControl {
    /// The device; `None` takes the machine's own widths and timing for one.
    pub standard: Option<&'static Standard>,
    /// The order of address fields within a partition, highest first.
    pub mapping: String,
    /// How banks are mixed with rows.
    pub bank_hash: BankHash,
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
    /// Which banks a refresh takes.
    pub refresh_banks: DramRefresh,
    /// When a refresh of all banks that is due goes out.
    pub refresh_when: RefreshWhen,
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
