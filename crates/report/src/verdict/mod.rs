//! A verdict on each kernel: what limits it, how far it is from each roof, and what to change.
//!
//! Every scheduler cycle has one reason ([`SCHEDULER_CYCLES`](crate::metrics::SCHEDULER_CYCLES)). A verdict charges the cycles without an
//! instruction to the resource that holds them up: a wait for memory is charged to the level that works at its roof, and to latency where none
//! does. The limiter is the resource with the most cycles. `tests/simulation/verdicts.rs` removes limiters and compares the gain.

mod charge;
mod measured;
mod terms;
mod uses;
mod words;

use warpshard_base::WARP_SIZE;
use warpshard_stats::{KernelStats, Outcome};

use super::facts::RunFacts;
use super::metrics::{Work, counter};

use self::charge::{Charges, Cycles, GRID};
use self::terms::rounded;
pub use self::terms::{Charge, Filling, Limiter, Roofline, Trust, Use, Verdict};
use self::uses::{DRAM, Uses, Waits, l1_accesses};
pub use super::measurements::{Measured, Measurements};
pub use super::roofs::{PipeRoof, Roofs};

/// What the verdicts on all kernels of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    facts: &'a RunFacts,
    outcome: &'a Outcome,
    /// Rows of DRAM opened for a sector that kernels moved.
    rows_per_sector: f64,
    /// Waits in the load/store units: those for banks for each access that [`crowded`] counts, those of instructions for each access.
    waits: Waits,
    /// Accesses to the LLC, and those of its busiest slice as a multiple of the mean.
    slices: (u64, f64),
}

impl<'a> Judge<'a> {
    /// For the kernels of a run.
    pub fn new(facts: &'a RunFacts, outcome: &'a Outcome) -> Self {
        let of_kind = |kind: &'static str, name: &'static str| {
            let components = outcome.components.iter().filter(move |component| component.kind == kind);
            components.filter_map(move |component| counter(&component.counters, name))
        };
        let moved: u64 = outcome.kernels.iter().flat_map(|kernel| DRAM.map(|name| kernel.counters.get(name).unwrap_or(0))).sum();
        let (count, sum, most) =
            of_kind("llc", "accesses").fold((0u64, 0, 0), |(count, sum, most), value| (count + 1, sum + value, value.max(most)));
        let hottest = if sum > 0 { most as f64 * count as f64 / sum as f64 } else { 1.0 };
        let rows_per_sector = if moved > 0 { of_kind("dram", "activates").sum::<u64>() as f64 / moved as f64 } else { 0.0 };
        Self { facts, outcome, rows_per_sector, waits: waits(facts, outcome), slices: (sum, hottest) }
    }

    /// Accesses of the busiest slice as a multiple of the mean, where nearly all accesses are the kernel's.
    fn hottest(&self, kernel: &KernelStats) -> Option<f64> {
        let own = kernel.counters.get("llc_accesses")?;
        let (all, hottest) = self.slices;
        (self.outcome.system.is_none() && all > 0 && own as f64 >= 0.8 * all as f64).then_some(hottest)
    }

    /// The verdict on a kernel of the run; `None` for one that has not issued anything, and without the roofs of its GPU.
    pub fn verdict(&self, kernel: &KernelStats) -> Option<Verdict> {
        let Self { facts, outcome, .. } = *self;
        let get = |name: &str| kernel.counters.get(name).unwrap_or(0) as f64;
        let gpu = outcome.system.as_ref().and_then(|system| system.kernel_gpus.get(kernel.index.index()).copied()).unwrap_or(0);
        let roofs = facts.roofs.get(usize::from(gpu))?;
        let work = Work::of_kernel(kernel, outcome);
        if work.cycles == 0 || work.warp_instructions == 0 {
            return None;
        }
        let alone = runs_alone(kernel, outcome);
        let hottest_slice = self.hottest(kernel);
        let launch = filling(facts, kernel, roofs);
        let cycles = Cycles::of(kernel, work.cycles, roofs, alone);
        let rows = self.rows_per_sector * DRAM.map(get).iter().sum::<f64>();
        let waits = Waits { banks: self.waits.banks * crowded(&get, roofs), unit: self.waits.unit * in_unit(&get) };
        let uses = Uses::of(&get, rows, waits, work.cycles as f64, roofs);
        let charges = Charges { get: &get, cycles: &cycles, uses: &uses, launch: &launch, roofs, hottest_slice }.all();
        let requests = get("load_instructions") + get("store_instructions") + get("atomic_instructions");
        let accesses = get("memory_accesses");
        let known = |whole: f64, value: f64| (whole > 0.0).then(|| rounded(value));
        let mut verdict = Verdict {
            limiter: charges.first().map_or(Limiter::Issue, |charge| charge.limiter),
            pipe: uses.pipe_name.to_owned(),
            charges,
            roofs: uses.list(),
            launch: Filling { idle: cycles.idle.map(rounded), ..launch },
            sectors_per_request: known(requests, accesses / requests),
            sector_use: known(accesses, (get("requested_bytes") / (accesses * 32.0)).min(1.0)).filter(|_| roofs.sectors),
            conflicts: known(get("shared_instructions"), get("shared_conflict_cycles") / get("shared_instructions")),
            lanes: rounded(work.thread_instructions as f64 / work.warp_instructions as f64),
            hottest_slice: hottest_slice.map(rounded),
            roofline: roofline(&get, work.cycles as f64, roofs),
            change: String::new(),
            trust: None,
        };
        verdict.trust = Trust::of(facts, work.cycles, &verdict.roofs, uses.llc_requests);
        verdict.change = words::change(&verdict, roofs, kernel);
        Some(verdict)
    }
}

impl Verdict {
    /// The verdict in at most six lines of at most 80 columns, for the kernel `name`.
    pub fn lines(&self, name: &str) -> Vec<String> {
        words::lines(self, name)
    }

    /// The limiter in words.
    pub fn label(&self) -> String {
        words::label(self, self.limiter)
    }
}

/// Whether no other kernel ran while this one did.
fn runs_alone(kernel: &KernelStats, outcome: &Outcome) -> bool {
    let end = |kernel: &KernelStats| kernel.ended.unwrap_or(outcome.cycles);
    let (from, until) = (kernel.started.unwrap_or(0), end(kernel));
    let (before, after) = outcome.kernels.split_at(kernel.index.index().min(outcome.kernels.len()));
    // Launches of a stream follow each other: of kernels far away in the order none is near in time, unless streams overlap.
    let near = before.iter().rev().take(NEAR).chain(after.iter().skip(1).take(NEAR));
    !near.filter_map(|other| Some((other.started?, end(other)))).any(|(start, stop)| start < until && stop > from)
}

/// Launches before and after one that are looked at for kernels that run at the same time: more than any machine runs at once.
const NEAR: usize = 128;

/// How the launch fills the SMs.
fn filling(facts: &RunFacts, kernel: &KernelStats, roofs: &Roofs) -> Filling {
    let launch = facts.launches.get(kernel.index.index()).copied().unwrap_or_default();
    let warps = launch.threads.div_ceil(WARP_SIZE).max(1);
    let held = kernel.ctas_per_sm.max(1);
    let of_grid = f64::from(kernel.ctas) / f64::from(roofs.sms.max(1));
    let (ctas, limited_by) =
        if of_grid < f64::from(held) { (of_grid.max(1.0).min(f64::from(held)), GRID) } else { (f64::from(held), launch.limited_by) };
    Filling {
        threads: launch.threads,
        registers: launch.registers,
        shared_bytes: launch.shared_bytes,
        occupancy: rounded((ctas * f64::from(warps) / f64::from(roofs.warps.max(1))).min(1.0)),
        limited_by: limited_by.to_owned(),
        waves: rounded(of_grid / f64::from(held)),
        idle: None,
    }
}

/// Waits in the load/store units of a run, for each access that kernels made. Waits behind an access that the L1 refused are none for a bank: what it
/// lacks is behind the L1.
fn waits(facts: &RunFacts, outcome: &Outcome) -> Waits {
    let (mut banks, mut unit) = (0, 0);
    for sm in outcome.components.iter().filter(|component| component.kind == "sm") {
        let get = |name: &str| counter(&sm.counters, name).unwrap_or(0);
        banks += get("l1_bank_conflicts").saturating_sub(get("l1_retries"));
        unit += get("memory_stall_cycles");
    }
    let (mut crowding, mut accesses) = (0.0, 0.0);
    for kernel in &outcome.kernels {
        let get = |name: &str| kernel.counters.get(name).unwrap_or(0) as f64;
        accesses += in_unit(&get);
        crowding += facts.roofs.first().map_or(0.0, |roofs| crowded(&get, roofs));
    }
    let each = |cycles: u64, of: f64| if of > 0.0 { cycles as f64 / of } else { 0.0 };
    Waits { banks: each(banks, crowding), unit: each(unit, accesses) }
}

/// Accesses of a kernel, of any memory, as far as they take a cycle of a load/store unit each.
fn in_unit(get: &dyn Fn(&str) -> f64) -> f64 {
    get("memory_accesses") + get("shared_instructions") + get("shared_conflict_cycles")
}

/// Accesses of a kernel to the L1 beyond one of each instruction to each bank, which fall on one bank.
fn crowded(get: &dyn Fn(&str) -> f64, roofs: &Roofs) -> f64 {
    let instructions = get("load_instructions") + get("store_instructions");
    (l1_accesses(get) - instructions * roofs.l1).max(0.0)
}

/// The roofline of a kernel: with the peak of the matrix units if the kernel uses them and their rate is known, else with that of single precision.
fn roofline(get: &dyn Fn(&str) -> f64, cycles: f64, roofs: &Roofs) -> Option<Roofline> {
    let operations = get("flops");
    let bytes = (get("dram_reads") + get("dram_writes")) * 32.0;
    let products = get("issued_tensor") > 0.0 && roofs.product_flops > 0.0;
    let (units, peak) = if products { ("tensor", roofs.product_flops) } else { ("FP32", roofs.flops) };
    (operations > 0.0 && peak > 0.0).then(|| Roofline {
        operations: operations as u64,
        units: units.to_owned(),
        of_peak: rounded(operations / cycles / peak),
        per_byte: (bytes > 0.0).then(|| rounded(operations / bytes)),
        ridge: rounded(peak / roofs.dram.max(f64::MIN_POSITIVE)),
    })
}
