//! A device at a lower clock than that of its speed grade.
//!
//! A data sheet gives most spans in time; at a lower clock they take fewer cycles, rounded up. Bursts, distances on one bus
//! and the clocks of a command are given in clocks and do not change. A device never runs faster than its grade.

use warpshard_base::Frequency;

use super::{Standard, StandardError, Timing};

/// Picoseconds times kilohertz that make a cycle.
const CYCLE: u64 = 1_000_000_000;

/// Picoseconds of a clock's cycle, rounded up.
pub fn period_ps(clock: Frequency) -> u32 {
    CYCLE.div_ceil(clock.0.max(1)) as u32
}

impl Standard {
    /// The fastest command clock of the device.
    pub fn fastest(&self) -> Frequency {
        // A period rounded to a picosecond represents every clock that rounds to it.
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
            // The bus turnaround is a number of clocks between the end of one burst and the start of the next.
            tRTW: (cl + t.tBL).saturating_sub(cwl) + turn,
            tRFC: up(t.tRFC),
            tRFCpb: up(t.tRFCpb),
            tRREFD: up(t.tRREFD),
            // Rounded down: rows lose their data when a refresh is late.
            tREFI: (u64::from(t.tREFI) * grade / CYCLE) as u32,
            ..t
        };
        let scaled = Self { clock_ps: period_ps(clock), timing, ..self.clone() };
        scaled.check().map(|()| scaled)
    }

    /// The command clock of the device's speed grade, to a megahertz.
    pub fn grade(&self) -> Frequency {
        Frequency((CYCLE / u64::from(self.clock_ps) + 500) / 1000 * 1000)
    }
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
