//! The sampling periods of one SM (Section 4.3): the lifetime of TbA CTAs of one kernel and TbB of the other.
//!
//! In: what the SM counted since the last cut. Out: a [`Sample`] when a period ends. A period begins when the SM holds TbA and TbB CTAs and a
//! new number of bypassing CTAs can be in force: a CTA of the kernel has started for each more, and as many have ended as it has for each
//! less. It ends when TbA and TbB CTAs have ended in it. Where an SM cannot hold both numbers because its free warp slots do not lie
//! together, a period begins when as many CTAs have ended as it would hold.

use warpshard_control::{Observation, Table};

use super::tlp::Use;

/// What an SM counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Counted {
    /// Core cycles.
    pub(super) cycles: u64,
    /// Instructions of the SP pipelines, of the SM and of both kernels.
    sp: [u64; 3],
    /// Cycles that accesses take in the LD/ST pipeline, likewise.
    ldst: [u64; 3],
    /// Scheduler cycles that wait for a register.
    memory: u64,
    /// Scheduler cycles that wait for a unit.
    structural: u64,
    /// CTAs of both kernels that started and that ended.
    begun: [u64; 2],
    ended: [u64; 2],
}

/// A sampling period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) cycles: u64,
    pub(super) sm: Use,
    pub(super) kernels: [Use; 2],
    /// Memory stalls and structural stalls, in scheduler cycles.
    pub(super) memory: u64,
    pub(super) structural: u64,
}

/// Instructions that go to the SP pipelines on a Fermi.
const SP: [&str; 4] = ["issued_sp", "issued_int", "issued_alu", "issued_branch"];
/// Cycles in which the LD/ST pipeline has an access: one of each sector or line to memory, and of each conflict in shared memory.
const LDST: [&str; 3] = ["memory_accesses", "shared_instructions", "shared_conflict_cycles"];
/// Waiting for data: GPGPU-Sim counts a cycle so in which instructions are there and all wait for registers.
pub(super) const MEMORY_STALLS: [&str; 2] = ["stall_scoreboard_memory", "stall_scoreboard_alu"];
/// Waiting for a unit: it counts a cycle so in which an instruction is ready and the way to its unit is full.
pub(super) const STRUCTURAL_STALLS: [&str; 3] = ["stall_memory_pipeline", "stall_memory_collectors", "stall_pipeline"];

/// The columns that are read, of SMs and of applications by SM.
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
    pub(super) fn of(seen: &Observation<'_>) -> Self {
        fn all<const N: usize>(table: Table<'_>, names: [&str; N]) -> [usize; N] {
            names.map(|name| table.column(name).unwrap_or_else(|| panic!("SMs count {name}")))
        }
        let (sms, apps) = (seen.sms, seen.sm_applications);
        let [begun, ended] = all(apps, ["ctas_begun", "ctas"]);
        Self {
            sp: all(sms, SP),
            ldst: all(sms, LDST),
            memory: all(sms, MEMORY_STALLS),
            structural: all(sms, STRUCTURAL_STALLS),
            app_sp: all(apps, SP),
            app_ldst: all(apps, LDST),
            begun,
            ended,
        }
    }

    /// How many more CTAs of an application an SM holds, from its row.
    pub(super) fn resident_change(&self, app: &[u64]) -> i64 {
        app[self.begun] as i64 - app[self.ended] as i64
    }

    /// What an SM with this row, and with these rows of both kernels' applications, counted in so many cycles.
    pub(super) fn counted(&self, cycles: u64, sm: &[u64], apps: [&[u64]; 2]) -> Counted {
        let sum = |row: &[u64], columns: &[usize]| columns.iter().map(|column| row[*column]).sum();
        Counted {
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

/// The periods of an SM.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Periods {
    /// CTAs of both kernels that it holds.
    resident: [i64; 2],
    /// CTAs that have to end before a period begins; none while one is under way.
    waits: Option<[u64; 2]>,
    /// CTAs that ended since it began, or since it was asked to.
    ended: [u64; 2],
    since: Counted,
}

impl Periods {
    /// The SM holds so many CTAs of two kernels, and no period has begun.
    pub(super) fn new(resident: [i64; 2]) -> Self {
        Self { resident, waits: Some([0; 2]), ..Self::default() }
    }

    /// A period is to begin when so many CTAs have ended, and the SM holds what it should.
    pub(super) fn begin_after(&mut self, waits: [u64; 2]) {
        (self.waits, self.ended) = (Some(waits), [0; 2]);
    }

    /// Takes what the SM counted since the last cut, while it should hold `ctas` CTAs of both kernels; returns a period that ended. `peak` is
    /// what SP pipelines take per cycle.
    pub(super) fn take(&mut self, counted: &Counted, ctas: [u32; 2], peak: f64) -> Option<Sample> {
        for kernel in 0..2 {
            self.resident[kernel] += counted.begun[kernel] as i64 - counted.ended[kernel] as i64;
            self.ended[kernel] += counted.ended[kernel];
        }
        if let Some(waits) = self.waits {
            let turned = (0..2).all(|kernel| self.ended[kernel] >= waits[kernel] || ctas[kernel] == 0);
            let holds = (0..2).all(|kernel| self.resident[kernel] == i64::from(ctas[kernel]));
            let whole: u64 = ctas.iter().map(|ctas| u64::from(*ctas)).sum();
            if whole > 0 && turned && (holds || self.ended.iter().sum::<u64>() >= whole + waits.iter().sum::<u64>()) {
                (self.waits, self.ended, self.since) = (None, [0; 2], Counted::default());
            }
            return None;
        }
        self.since.add(counted);
        if (0..2).any(|kernel| self.ended[kernel] < u64::from(ctas[kernel])) {
            return None;
        }
        let Counted { cycles, sp, ldst, memory, structural, .. } = self.since;
        let of = |part: usize| Use { sp: sp[part] as f64 / (peak * cycles as f64), ldst: ldst[part] as f64 / cycles as f64 };
        self.begin_after([0; 2]);
        // The next period follows at once.
        let holds = (0..2).all(|kernel| self.resident[kernel] == i64::from(ctas[kernel]));
        if holds {
            (self.waits, self.since) = (None, Counted::default());
        }
        Some(Sample { cycles, sm: of(0), kernels: [of(1), of(2)], memory, structural })
    }
}

impl Counted {
    fn add(&mut self, other: &Self) {
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

    fn cut(begun: [u64; 2], ended: [u64; 2]) -> Counted {
        Counted { cycles: 100, sp: [60, 40, 20], ldst: [30, 10, 20], memory: 50, structural: 7, begun, ended }
    }

    #[test]
    fn a_period_lasts_until_as_many_ctas_ended_as_the_sm_holds() {
        let mut periods = Periods::new([0; 2]);
        assert_eq!(periods.take(&cut([1, 0], [0; 2]), [2, 1], 2.0), None, "one of three is there");
        assert_eq!(periods.take(&cut([1, 1], [0; 2]), [2, 1], 2.0), None, "the period begins");
        assert_eq!(periods.take(&cut([1, 2], [1, 2]), [2, 1], 2.0), None, "one of A is missing");
        let sample = periods.take(&cut([1, 1], [1, 1]), [2, 1], 2.0).unwrap();
        assert_eq!((sample.cycles, sample.memory, sample.structural), (200, 100, 14));
        assert_eq!(sample.sm, Use { sp: 120.0 / 400.0, ldst: 60.0 / 200.0 });
        assert_eq!(sample.kernels[1], Use { sp: 40.0 / 400.0, ldst: 40.0 / 200.0 });
        // The next one begins at once.
        let sample = periods.take(&cut([2, 1], [2, 1]), [2, 1], 2.0).unwrap();
        assert_eq!(sample.cycles, 100);
    }

    #[test]
    fn a_new_number_waits_until_the_sm_holds_it() {
        let mut periods = Periods::new([3, 1]);
        periods.begin_after([0; 2]);
        assert_eq!(periods.take(&cut([0, 0], [0, 0]), [2, 2], 2.0), None);
        assert_eq!(periods.take(&cut([0, 1], [1, 0]), [2, 2], 2.0), None, "now it begins");
        assert!(periods.take(&cut([2, 2], [2, 2]), [2, 2], 2.0).is_some());
    }

    #[test]
    fn a_cta_that_is_to_bypass_has_to_start_first() {
        let mut periods = Periods::new([2, 1]);
        periods.begin_after([1, 0]);
        assert_eq!(periods.take(&cut([0, 1], [0, 1]), [2, 1], 2.0), None);
        assert_eq!(periods.take(&cut([1, 0], [1, 0]), [2, 1], 2.0), None, "one of A has started anew");
        assert!(periods.take(&cut([2, 1], [2, 1]), [2, 1], 2.0).is_some());
    }

    #[test]
    fn an_sm_that_never_holds_both_is_sampled_all_the_same() {
        let mut periods = Periods::new([2, 0]);
        periods.begin_after([0; 2]);
        assert_eq!(periods.take(&cut([2, 0], [2, 0]), [2, 1], 2.0), None);
        assert_eq!(periods.take(&cut([1, 0], [1, 0]), [2, 1], 2.0), None, "three ended: it begins");
        assert_eq!(periods.ended, [0, 0]);
    }
}
