//! A device at a machine's clock, and a machine's own timing table as a device.
//!
//! A data sheet gives most spans in time; at a slower clock they take fewer cycles, rounded up. Bursts, distances on one bus
//! and the clocks of a command are counted in clocks whatever their length. A device never runs faster than its grade.

use crate::base::Frequency;
use crate::config::machine::Mem;

use super::{CommandBus, Organisation, Standard, StandardError, Timing};

/// Picoseconds times kilohertz that make a cycle.
const CYCLE: u64 = 1_000_000_000;

impl Standard {
    /// The device that a memory's command-level controller drives, at the machine's command clock.
    ///
    /// # Errors
    /// When the device is slower than that, or the machine's own table is no device; see [`Standard::check`].
    ///
    /// # Panics
    /// When the memory has no command-level controller.
    pub fn of(mem: &Mem, clock: Frequency) -> Result<Self, StandardError> {
        let Some(control) = &mem.dram.control else { panic!("a machine with GPGPU-Sim's DRAM channel is asked for its device") };
        control.standard.map_or_else(|| own(mem, clock), |standard| standard.at(clock))
    }

    /// The fastest command clock of the device.
    pub fn fastest(&self) -> Frequency {
        // A period rounded to a picosecond stands for every clock that rounds to it.
        Frequency(CYCLE / (u64::from(self.clock_ps) - 1).max(1))
    }

    /// The device at a slower command clock; at its own it stays as it is.
    ///
    /// # Errors
    /// When the clock is faster than the device's.
    pub fn at(&self, clock: Frequency) -> Result<Self, StandardError> {
        if clock > self.fastest() {
            let problem = format!("a command clock of {clock}, faster than the device's {}", self.grade());
            return Err(StandardError { standard: self.name, problem });
        }
        if CYCLE.abs_diff(u64::from(self.clock_ps) * clock.0) < clock.0 {
            return Ok(self.clone());
        }
        let grade = u64::from(self.clock_ps) * clock.0;
        let up = |cycles: u32| (u64::from(cycles) * grade).div_ceil(CYCLE) as u32;
        let t = self.timing;
        let turn = t.tRTW.saturating_sub((t.tCL + t.tBL).saturating_sub(t.tCWL));
        let (cl, cwl) = (up(t.tCL), up(t.tCWL));
        let timing = Timing {
            tCL: cl,
            tCWL: cwl,
            tRCDRD: up(t.tRCDRD),
            tRCDWR: up(t.tRCDWR),
            tRP: up(t.tRP),
            tRAS: up(t.tRAS),
            tRC: up(t.tRC),
            tRRDS: up(t.tRRDS),
            tRRDL: up(t.tRRDL),
            tFAW: up(t.tFAW),
            t32AW: up(t.t32AW),
            tRTP: up(t.tRTP),
            tWR: up(t.tWR),
            tWTRS: up(t.tWTRS),
            tWTRL: up(t.tWTRL),
            // The bus is turned around in clocks of its own between the end of one burst and the start of the next.
            tRTW: (cl + t.tBL).saturating_sub(cwl) + turn,
            tRFC: up(t.tRFC),
            // Rounded down: rows lose their data when a refresh is late.
            tREFI: (u64::from(t.tREFI) * grade / CYCLE) as u32,
            ..t
        };
        let clock_ps = CYCLE.div_ceil(clock.0) as u32;
        let scaled = Self { clock_ps, timing, ..self.clone() };
        scaled.check().map(|()| scaled)
    }

    /// The command clock of the device's speed grade, to a megahertz.
    pub fn grade(&self) -> Frequency {
        Frequency((CYCLE / u64::from(self.clock_ps) + 500) / 1000 * 1000)
    }
}

/// The machine's own widths and timing as a device.
///
/// What GPGPU-Sim derives (`dram.cc`: an activate to a write is earlier by the write latency, a read to a write leaves two
/// clocks on the bus) is derived here too.
fn own(mem: &Mem, clock: Frequency) -> Result<Standard, StandardError> {
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
        clock_ps: CYCLE.div_ceil(clock.0.max(1)) as u32,
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

#[cfg(test)]
mod tests {
    use super::super::STANDARDS;
    use super::*;

    #[test]
    fn a_slower_clock_takes_fewer_cycles_for_the_same_time_and_as_many_for_the_bus() {
        let device = Standard::named("hbm2-2000").unwrap();
        let slow = device.at(Frequency::mhz(850)).unwrap();
        let t = slow.timing;
        // 14 ns are 11.9 clocks, 34 ns 28.9, 48 ns 40.8, 15 ns 12.75, 3900 ns 3315: what SM7_QV100 has at this clock.
        assert_eq!((t.tCL, t.tRCDRD, t.tRP, t.tRAS, t.tRC, t.tFAW, t.tREFI), (12, 12, 12, 29, 41, 13, 3315));
        assert_eq!((t.tBL, t.tCCDS, t.tCCDL, t.activate_clocks), (2, 2, 4, 2));
        // Read to write leaves the two idle clocks on the bus that 14 + 2 - 5 = 11 of 13 leave.
        assert_eq!(t.tRTW, 12 + 2 - 5 + 2);
    }

    #[test]
    fn at_its_own_clock_a_device_is_itself_and_above_it_is_refused() {
        for device in STANDARDS {
            assert_eq!(device.at(device.grade()).as_ref(), Ok(*device));
            let faster = Frequency(device.grade().0 * 102 / 100);
            assert!(device.at(faster).unwrap_err().to_string().contains("faster than the device's"), "{}", device.name);
        }
        assert_eq!(Standard::named("gddr5-fermi").unwrap().at(Frequency::mhz(925)).unwrap().timing.tRC, 40);
    }

    #[test]
    fn every_device_remains_one_at_any_slower_clock() {
        for device in STANDARDS {
            for percent in 20..100 {
                let clock = Frequency(device.grade().0 * percent / 100);
                let slow = device.at(clock).unwrap_or_else(|error| panic!("{clock}: {error}"));
                let time = |standard: &Standard, cycles: u32| u64::from(cycles) * u64::from(standard.clock_ps);
                // A period rounded up to a picosecond may lengthen a span by a picosecond per cycle.
                assert!(time(&slow, slow.timing.tRC) >= time(device, device.timing.tRC), "{} at {clock}", device.name);
                assert!(slow.timing.tREFI <= device.timing.tREFI);
            }
        }
    }
}
