//! Parameters of a DRAM channel: its device, and the command-level controller used when `mem.dram.controller` is "standard".

use warpshard_base::Frequency;
use warpshard_device::standard::{CommandBus, Organisation, Standard, StandardError, Timing, period_ps};
use warpshard_protocol::AddressMap;

use super::choices::DramScheduler;
pub use super::choices::{BankHash, DramPage, DramRefresh, RefreshWhen};

/// A DRAM channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dram {
    /// Banks of the channel.
    pub banks: u32,
    /// Bank groups; 1 if the device has no bank groups.
    pub bank_groups: u32,
    /// `true` if consecutive bank numbers belong to different bank groups.
    pub group_low_bits: bool,
    /// Width of the data bus in bytes.
    pub bus_bytes: u32,
    /// Burst length in beats.
    pub burst: u32,
    /// Data beats per command clock (2 for DDR).
    pub beats_per_clock: u32,
    /// `true` if row and column commands have separate buses (HBM).
    pub dual_command_bus: bool,
    /// The order in which requests are served.
    pub scheduler: DramScheduler,
    /// Capacity of the scheduler's queue, in requests.
    pub queue: u32,
    /// Capacity of the return queue, in replies.
    pub return_queue: u32,
    /// Timing in cycles of the DRAM command clock.
    pub timing: DramTiming,
    /// The command-level controller that replaces GPGPU-Sim's channel model; `None` for GPGPU-Sim's model.
    pub control: Option<DramControl>,
}

impl Dram {
    /// Returns `true` if widths, banks and timing come from the machine's own table and not from a named device.
    pub fn has_own_device(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.standard.is_none())
    }

    /// Returns the device of the command-level controllers at the command clock `clock`, with the address map `map`; `None` for GPGPU-Sim's
    /// channels.
    ///
    /// # Errors
    /// The clock exceeds the device's maximum, or the machine's own table does not describe a valid device; see [`Standard::check`].
    pub fn device(&self, map: &AddressMap, clock: Frequency) -> Result<Option<Standard>, StandardError> {
        let Some(control) = &self.control else { return Ok(None) };
        control.standard.map_or_else(|| self.own_device(map, clock), |standard| standard.at(clock)).map(Some)
    }

    /// Returns the burst size in bytes, and the bursts per command clock that the channel's data buses transfer.
    pub fn burst(&self) -> (u64, f64) {
        match self.control.as_ref().and_then(|control| control.standard) {
            Some(standard) => (u64::from(standard.organisation.burst_bytes), standard.peak_per_clock()),
            None => {
                let bytes = u64::from(self.bus_bytes) * u64::from(self.burst);
                (bytes, f64::from(self.beats_per_clock) / f64::from(self.burst))
            }
        }
    }

    /// Builds a device from the machine's own widths and timing.
    ///
    /// Timing that GPGPU-Sim derives is derived here in the same way (`dram.cc`: the time from an activate to a write is shorter by the
    /// write latency; a read followed by a write leaves two clocks on the bus).
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

/// DRAM timing parameters with data-sheet names, in cycles of the command clock.
#[allow(non_snake_case, reason = "data-sheet parameters keep their data-sheet names")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramTiming {
    /// Column command to column command, other bank group.
    pub tCCD: u32,
    /// Column command to column command, same bank group.
    pub tCCDL: u32,
    /// Activate to activate, other bank.
    pub tRRD: u32,
    /// Activate to column command.
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

/// The parameters of a controller that drives a device by its data-sheet commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DramControl {
    /// The named device; `None` for the machine's own widths and timing.
    pub standard: Option<&'static Standard>,
    /// The order of the address fields within a partition, highest first.
    pub mapping: String,
    /// The hash of banks with rows.
    pub bank_hash: BankHash,
    /// Column commands to an open row after which row hits lose their priority; 0 for no limit.
    pub row_hit_cap: u32,
    /// Age in command-clock cycles at which the oldest request gets priority over all others; 0 for no limit.
    pub age_cap: u32,
    /// The row-buffer policy.
    pub page: DramPage,
    /// Capacity of the read queue in bursts.
    pub read_queue: u32,
    /// Capacity of the write queue in bursts.
    pub write_queue: u32,
    /// Fill level of the write queue, in percent, above which writes are drained.
    pub drain_high: u32,
    /// Fill level of the write queue, in percent, below which reads are served again.
    pub drain_low: u32,
    /// `true` if banks are refreshed.
    pub refresh: bool,
    /// The banks that one refresh blocks.
    pub refresh_banks: DramRefresh,
    /// The time at which a due refresh of all banks is issued.
    pub refresh_when: RefreshWhen,
    /// Timing parameters of the machine's own device that GPGPU-Sim does not have.
    pub own: OwnTiming,
}

/// Timing parameters of the command-level controller that GPGPU-Sim does not have, in cycles of the command clock; 0 disables a constraint.
/// They are read if the machine's own table is the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTiming {
    /// tFAW: window that contains at most four activates.
    pub four_activates: u32,
    /// tRFC: time from a refresh of all banks to the next command.
    pub refresh_cycle: u32,
    /// tREFI: average refresh interval.
    pub refresh_interval: u32,
}
