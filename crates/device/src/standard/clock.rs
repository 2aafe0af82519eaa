//! A device at a lower clock than the clock of its speed grade.
//!
//! A data sheet gives most spans in nanoseconds; at a lower clock they take fewer cycles, rounded up. Burst lengths, distances on one bus
//! and the clocks of a command are given in clocks and do not change. A device never runs faster than its grade.

use warpshard_base::Frequency;

use super::{Standard, StandardError, Timing};

/// The product of the period in picoseconds and the frequency in kilohertz.
const PS_KHZ_PER_CYCLE: u64 = 1_000_000_000;

/// Returns the period of a clock in picoseconds, rounded up.
pub fn period_ps(clock: Frequency) -> u32 {
    PS_KHZ_PER_CYCLE.div_ceil(clock.0.max(1)) as u32
}

impl Standard {
    /// Returns the fastest command clock of the device.
    pub fn fastest(&self) -> Frequency {
        // A period rounded to a picosecond stands for every clock that rounds to it.
        Frequency(PS_KHZ_PER_CYCLE / (u64::from(self.clock_ps) - 1).max(1))
    }

    /// Returns the device at a slower command clock; at the clock of its grade it is unchanged.
    ///
    /// # Errors
    /// Fails if the clock is faster than the device's clock.
    pub fn at(&self, clock: Frequency) -> Result<Self, StandardError> {
        if clock > self.fastest() {
            let problem = format!("a command clock of {clock}, faster than the device's {}", self.grade());
            return Err(StandardError { standard: self.name, problem });
        }
        if PS_KHZ_PER_CYCLE.abs_diff(u64::from(self.clock_ps) * clock.0) < clock.0 {
            return Ok(self.clone());
        }
        let grade = u64::from(self.clock_ps) * clock.0;
        let up = |cycles: u32| (u64::from(cycles) * grade).div_ceil(PS_KHZ_PER_CYCLE) as u32;
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
            // tREFI is rounded down: rows lose their data if a refresh is late.
            tREFI: (u64::from(t.tREFI) * grade / PS_KHZ_PER_CYCLE) as u32,
            ..t
        };
        let scaled = Self { clock_ps: period_ps(clock), timing, ..self.clone() };
        scaled.check().map(|()| scaled)
    }

    /// Returns the command clock of the device's speed grade, to a megahertz.
    pub fn grade(&self) -> Frequency {
        Frequency((PS_KHZ_PER_CYCLE / u64::from(self.clock_ps) + 500) / 1000 * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::STANDARDS;
    use super::*;

    #[test]
    fn a_slower_clock_scales_spans_but_not_bus_clocks() {
        let device = Standard::named("hbm2-2000").unwrap();
        let slow = device.at(Frequency::mhz(850)).unwrap();
        let t = slow.timing;
        // 14 ns are 11.9 clocks, 34 ns 28.9, 48 ns 40.8, 15 ns 12.75 and 3900 ns 3315: the values of SM7_QV100 at this clock.
        assert_eq!((t.tCL, t.tRCDRD, t.tRP, t.tRAS, t.tRC, t.tFAW, t.tREFI), (12, 12, 12, 29, 41, 13, 3315));
        assert_eq!((t.tBL, t.tCCDS, t.tCCDL, t.activate_clocks), (2, 2, 4, 2));
        // At tCL = 14 and tCWL = 5, tRTW = 13 leaves two idle clocks on the bus: 14 + 2 - 5 = 11. The slower clock keeps these two clocks.
        assert_eq!(t.tRTW, 12 + 2 - 5 + 2);
    }

    #[test]
    fn a_device_is_unchanged_at_its_grade_and_rejected_above_it() {
        for device in STANDARDS {
            assert_eq!(device.at(device.grade()).as_ref(), Ok(*device));
            let faster = Frequency(device.grade().0 * 102 / 100);
            assert!(device.at(faster).unwrap_err().to_string().contains("faster than the device's"), "{}", device.name);
        }
        assert_eq!(Standard::named("gddr5-fermi").unwrap().at(Frequency::mhz(925)).unwrap().timing.tRC, 40);
    }

    #[test]
    fn every_device_stays_valid_at_any_slower_clock() {
        for device in STANDARDS {
            for percent in 20..100 {
                let clock = Frequency(device.grade().0 * percent / 100);
                let slow = device.at(clock).unwrap_or_else(|error| panic!("{clock}: {error}"));
                let time = |standard: &Standard, cycles: u32| u64::from(cycles) * u64::from(standard.clock_ps);
                // A period that is rounded up to a picosecond may lengthen a span by one picosecond per cycle.
                assert!(time(&slow, slow.timing.tRC) >= time(device, device.timing.tRC), "{} at {clock}", device.name);
                assert!(slow.timing.tREFI <= device.timing.tREFI);
            }
        }
    }
}
