//! The off-SM bandwidth model (Section 4.1.2): the bandwidth that the SMs would demand without stalls, against the bandwidth that network,
//! LLC and DRAM supply.
//!
//! In: the peaks of the machine, and an application's instructions, LLC accesses and LLC hits in a profile. Out: both bandwidths.

use warpshard_control::Peaks;

/// Counts of an application over a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ApplicationProfile {
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Accesses to the LLC.
    pub(super) accesses: u64,
    /// LLC accesses that hit a line, valid or pending.
    pub(super) hits: u64,
}

/// Bandwidths in bytes per core cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bandwidths {
    /// Equation 1: demand of all SMs if they issued at their peak.
    pub(super) demand: f64,
    /// Equation 2: supply of the off-SM system.
    pub(super) supply: f64,
}

impl Bandwidths {
    /// Computes the bandwidths of an application on `sms` SMs; DRAM reaches the fraction `utilisation` of its peak.
    ///
    /// An application without accesses has no demand.
    pub(super) fn compute(peaks: &Peaks, sms: u32, utilisation: f64, seen: ApplicationProfile) -> Self {
        let per_instruction = seen.accesses as f64 / seen.instructions.max(1) as f64;
        let hit_rate = if seen.accesses == 0 { 1.0 } else { seen.hits as f64 / seen.accesses as f64 };
        let below = peaks.llc_bytes * hit_rate + peaks.dram_bytes * (1.0 - hit_rate) * utilisation;
        Self { demand: peaks.issue * per_instruction * peaks.access_bytes * f64::from(sms), supply: peaks.noc_bytes.min(below) }
    }

    /// Returns true if the performance saturates with more SMs.
    pub(super) fn is_memory_intensive(self) -> bool {
        self.demand > self.supply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_PEAKS: Peaks = Peaks { issue: 2.0, access_bytes: 128.0, noc_bytes: 300.0, llc_bytes: 400.0, dram_bytes: 200.0 };

    fn example_bandwidths(accesses: u64, hits: u64) -> Bandwidths {
        Bandwidths::compute(&TEST_PEAKS, 24, 0.5, ApplicationProfile { instructions: 10_000, accesses, hits })
    }

    #[test]
    fn demand_is_the_traffic_of_all_sms_at_their_peak() {
        // 20 accesses per 1000 instructions: 2 x 0.02 x 128 x 24.
        assert!((example_bandwidths(200, 100).demand - 122.88).abs() < 1e-9);
    }

    #[test]
    fn supply_is_the_lower_of_network_and_llc_with_dram() {
        assert_eq!(example_bandwidths(1000, 1000).supply, 300.0, "the network limits what hits");
        assert_eq!(example_bandwidths(1000, 500).supply, 400.0 * 0.5 + 200.0 * 0.5 * 0.5);
        assert_eq!(example_bandwidths(1000, 0).supply, 100.0);
    }

    #[test]
    fn an_application_that_hits_in_the_llc_may_still_be_memory_intensive() {
        // LAVAMD of the paper causes no DRAM traffic, but more accesses than the LLC serves.
        assert!(example_bandwidths(1000, 1000).is_memory_intensive());
        // MERGE of the paper has misses, but few accesses.
        assert!(!example_bandwidths(10, 0).is_memory_intensive());
        assert!(!example_bandwidths(0, 0).is_memory_intensive());
    }
}
