//! The sampling periods of one SM (Section 4.3): the lifetime of TbA CTAs of one kernel and TbB CTAs of the other.
//!
//! In: the counts of the SM since the last cut. Out: a [`PeriodSample`] at the end of a period. A period begins when the SM holds TbA and TbB
//! CTAs and a new number of bypassing CTAs can be in effect: for each additional bypassing CTA a CTA of the kernel has started, and after a
//! decrease all CTAs of the kernel have ended. A period ends when TbA and TbB CTAs have ended in it. If an SM cannot hold both numbers
//! because its free warp slots are not contiguous, a period begins when that many CTAs have ended.

use warpshard_control::{Observation, ObservationTable};

use super::tlp::Utilisation;

/// Counts of an SM between two cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct PeriodCounts {
    /// Core cycles.
    pub(super) cycles: u64,
    /// Instructions of the SP pipelines, of the SM and of both kernels.
    sp: [u64; 3],
    /// Cycles in which the LD/ST pipeline has an access, of the SM and of both kernels.
    ldst: [u64; 3],
    /// Scheduler cycles that wait for a register.
    memory: u64,
    /// Scheduler cycles that wait for a unit.
    structural: u64,
    /// CTAs of both kernels that started; `ended` counts the CTAs that ended.
    begun: [u64; 2],
    ended: [u64; 2],
}

/// Measurements of a sampling period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PeriodSample {
    pub(super) cycles: u64,
    pub(super) sm: Utilisation,
    pub(super) kernels: [Utilisation; 2],
    /// Memory stalls and structural stalls, in scheduler cycles.
    pub(super) memory: u64,
    pub(super) structural: u64,
}

/// Counters of the instructions that a Fermi issues to the SP pipelines.
const SP_COUNTERS: [&str; 4] = ["issued_sp", "issued_int", "issued_alu", "issued_branch"];
/// Counters of the cycles in which the LD/ST pipeline has an access: one per sector or line to memory, and one per conflict in shared
/// memory.
const LDST_COUNTERS: [&str; 3] = ["memory_accesses", "shared_instructions", "shared_conflict_cycles"];
/// Counters of memory stalls. GPGPU-Sim counts a memory stall in a cycle in which all available instructions wait for registers.
pub(super) const MEMORY_STALL_COUNTERS: [&str; 2] = ["stall_scoreboard_memory", "stall_scoreboard_alu"];
/// Counters of structural stalls. GPGPU-Sim counts a structural stall in a cycle in which an instruction is ready but the path to its unit
/// is full.
pub(super) const STRUCTURAL_STALL_COUNTERS: [&str; 3] = ["stall_memory_pipeline", "stall_memory_collectors", "stall_pipeline"];

/// Columns of the counters that the controller reads, of SMs and of applications by SM.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Columns {
    sp: [usize; 4],
    ldst: [usize; 3],
    memory: [usize; 2],
    structural: [usize; 3],
    app_sp: [usize; 4],
    app_ldst: [usize; 3],
    begun: usize,
    ended: usize,
}

impl Columns {
    pub(super) fn from_observation(seen: &Observation<'_>) -> Self {
        fn columns_of<const N: usize>(table: ObservationTable<'_>, names: [&str; N]) -> [usize; N] {
            names.map(|name| table.column(name).unwrap_or_else(|| panic!("SMs count {name}")))
        }
        let (sms, apps) = (seen.sms, seen.sm_applications);
        let [begun, ended] = columns_of(apps, ["ctas_begun", "ctas"]);
        Self {
            sp: columns_of(sms, SP_COUNTERS),
            ldst: columns_of(sms, LDST_COUNTERS),
            memory: columns_of(sms, MEMORY_STALL_COUNTERS),
            structural: columns_of(sms, STRUCTURAL_STALL_COUNTERS),
            app_sp: columns_of(apps, SP_COUNTERS),
            app_ldst: columns_of(apps, LDST_COUNTERS),
            begun,
            ended,
        }
    }

    /// Returns the change of the resident CTAs of an application on an SM, from the application's row.
    pub(super) fn resident_change(&self, app: &[u64]) -> i64 {
        app[self.begun] as i64 - app[self.ended] as i64
    }

    /// Returns the counts of an SM over `cycles`, from its row and the rows of both kernels' applications.
    pub(super) fn period_counts(&self, cycles: u64, sm: &[u64], apps: [&[u64]; 2]) -> PeriodCounts {
        let sum = |row: &[u64], columns: &[usize]| columns.iter().map(|column| row[*column]).sum();
        PeriodCounts {
            cycles,
            sp: [sum(sm, &self.sp), sum(apps[0], &self.app_sp), sum(apps[1], &self.app_sp)],
            ldst: [sum(sm, &self.ldst), sum(apps[0], &self.app_ldst), sum(apps[1], &self.app_ldst)],
            memory: sum(sm, &self.memory),
            structural: sum(sm, &self.structural),
            begun: apps.map(|row| row[self.begun]),
            ended: apps.map(|row| row[self.ended]),
        }
    }
}

/// The state of the sampling periods of an SM.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Periods {
    /// Resident CTAs of both kernels.
    resident: [i64; 2],
    /// CTAs of both kernels that have to end before a period begins; `None` during a period.
    awaited_ends: Option<[u64; 2]>,
    /// CTAs that ended since the period began, or since its begin was requested.
    ended: [u64; 2],
    counts: PeriodCounts,
}

impl Periods {
    /// Creates the state of an SM that holds `resident` CTAs of two kernels, before the first period.
    pub(super) fn new(resident: [i64; 2]) -> Self {
        Self { resident, awaited_ends: Some([0; 2]), ..Self::default() }
    }

    /// Requests a period that begins after `waits` CTAs of each kernel have ended and the SM holds the required CTAs.
    pub(super) fn begin_after(&mut self, waits: [u64; 2]) {
        (self.awaited_ends, self.ended) = (Some(waits), [0; 2]);
    }

    /// Takes the counts of an SM since the last cut, while it is to hold `ctas` CTAs of both kernels; returns a period that ended. `peak`
    /// is the peak of the SP pipelines in instructions per cycle.
    pub(super) fn add_counts(&mut self, counted: &PeriodCounts, ctas: [u32; 2], peak: f64) -> Option<PeriodSample> {
        for kernel in 0..2 {
            self.resident[kernel] += counted.begun[kernel] as i64 - counted.ended[kernel] as i64;
            self.ended[kernel] += counted.ended[kernel];
        }
        if let Some(waits) = self.awaited_ends {
            let turned = (0..2).all(|kernel| self.ended[kernel] >= waits[kernel] || ctas[kernel] == 0);
            let holds = (0..2).all(|kernel| self.resident[kernel] == i64::from(ctas[kernel]));
            let whole: u64 = ctas.iter().map(|ctas| u64::from(*ctas)).sum();
            if whole > 0 && turned && (holds || self.ended.iter().sum::<u64>() >= whole + waits.iter().sum::<u64>()) {
                (self.awaited_ends, self.ended, self.counts) = (None, [0; 2], PeriodCounts::default());
            }
            return None;
        }
        self.counts.add_counts_of(counted);
        if (0..2).any(|kernel| self.ended[kernel] < u64::from(ctas[kernel])) {
            return None;
        }
        let PeriodCounts { cycles, sp, ldst, memory, structural, .. } = self.counts;
        let of = |part: usize| Utilisation { sp: sp[part] as f64 / (peak * cycles as f64), ldst: ldst[part] as f64 / cycles as f64 };
        self.begin_after([0; 2]);
        // The next period begins immediately.
        let holds = (0..2).all(|kernel| self.resident[kernel] == i64::from(ctas[kernel]));
        if holds {
            (self.awaited_ends, self.counts) = (None, PeriodCounts::default());
        }
        Some(PeriodSample { cycles, sm: of(0), kernels: [of(1), of(2)], memory, structural })
    }
}

impl PeriodCounts {
    fn add_counts_of(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.memory += other.memory;
        self.structural += other.structural;
        self.sp.iter_mut().zip(other.sp).for_each(|(sum, part)| *sum += part);
        self.ldst.iter_mut().zip(other.ldst).for_each(|(sum, part)| *sum += part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_counts(begun: [u64; 2], ended: [u64; 2]) -> PeriodCounts {
        PeriodCounts { cycles: 100, sp: [60, 40, 20], ldst: [30, 10, 20], memory: 50, structural: 7, begun, ended }
    }

    #[test]
    fn a_period_lasts_until_as_many_ctas_ended_as_the_sm_holds() {
        let mut periods = Periods::new([0; 2]);
        assert_eq!(periods.add_counts(&example_counts([1, 0], [0; 2]), [2, 1], 2.0), None, "one of three CTAs is resident");
        assert_eq!(periods.add_counts(&example_counts([1, 1], [0; 2]), [2, 1], 2.0), None, "the period begins");
        assert_eq!(periods.add_counts(&example_counts([1, 2], [1, 2]), [2, 1], 2.0), None, "one CTA of A has not ended");
        let sample = periods.add_counts(&example_counts([1, 1], [1, 1]), [2, 1], 2.0).unwrap();
        assert_eq!((sample.cycles, sample.memory, sample.structural), (200, 100, 14));
        assert_eq!(sample.sm, Utilisation { sp: 120.0 / 400.0, ldst: 60.0 / 200.0 });
        assert_eq!(sample.kernels[1], Utilisation { sp: 40.0 / 400.0, ldst: 40.0 / 200.0 });
        // The next period begins immediately.
        let sample = periods.add_counts(&example_counts([2, 1], [2, 1]), [2, 1], 2.0).unwrap();
        assert_eq!(sample.cycles, 100);
    }

    #[test]
    fn a_new_number_waits_until_the_sm_holds_it() {
        let mut periods = Periods::new([3, 1]);
        periods.begin_after([0; 2]);
        assert_eq!(periods.add_counts(&example_counts([0, 0], [0, 0]), [2, 2], 2.0), None);
        assert_eq!(periods.add_counts(&example_counts([0, 1], [1, 0]), [2, 2], 2.0), None, "the period begins");
        assert!(periods.add_counts(&example_counts([2, 2], [2, 2]), [2, 2], 2.0).is_some());
    }

    #[test]
    fn a_bypassing_cta_has_to_start_first() {
        let mut periods = Periods::new([2, 1]);
        periods.begin_after([1, 0]);
        assert_eq!(periods.add_counts(&example_counts([0, 1], [0, 1]), [2, 1], 2.0), None);
        assert_eq!(periods.add_counts(&example_counts([1, 0], [1, 0]), [2, 1], 2.0), None, "a CTA of A has started");
        assert!(periods.add_counts(&example_counts([2, 1], [2, 1]), [2, 1], 2.0).is_some());
    }

    #[test]
    fn an_sm_that_cannot_hold_both_numbers_is_sampled() {
        let mut periods = Periods::new([2, 0]);
        periods.begin_after([0; 2]);
        assert_eq!(periods.add_counts(&example_counts([2, 0], [2, 0]), [2, 1], 2.0), None);
        assert_eq!(periods.add_counts(&example_counts([1, 0], [1, 0]), [2, 1], 2.0), None, "three CTAs ended: the period begins");
        assert_eq!(periods.ended, [0, 0]);
    }
}
