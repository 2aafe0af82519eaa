//! A verdict on each kernel: its limiter, its utilisation of each resource, and advice.
//!
//! Every scheduler cycle has one reason ([`SCHEDULER_CYCLES`](crate::metrics::SCHEDULER_CYCLES)). A verdict charges the cycles without an
//! instruction to the resource that causes them: a wait for memory is charged to the level that works at its roof, and to latency if no
//! level does. The limiter is the resource with the most cycles. `tests/simulation/verdicts.rs` removes limiters and compares the gain.

mod charge;
mod measured;
mod terms;
mod uses;
mod words;

use warpshard_base::WARP_SIZE;
use warpshard_stats::{KernelStats, Outcome};

use super::facts::RunFacts;
use super::metrics::{WorkTotals, counter};

use self::charge::{Charges, GRID_LIMIT, KernelCycles};
use self::terms::rounded;
pub use self::terms::{Charge, Confidence, LaunchOccupancy, Limiter, Roofline, Utilisation, Verdict};
use self::uses::{DRAM_COUNTERS, Utilisations, Waits, l1_accesses};
pub use super::measurements::{MeasuredError, Measurements};
pub use super::roofs::{PipeRoof, Roofs};

/// A builder of the verdicts on the kernels of a run, with the data that they share.
#[derive(Clone, Copy, Debug)]
pub struct VerdictBuilder<'a> {
    facts: &'a RunFacts,
    outcome: &'a Outcome,
    /// DRAM row activations per sector that kernels moved.
    rows_per_sector: f64,
    /// Waits in the load/store units: waits for banks per access that [`excess_l1_accesses`] counts, and waits of instructions per access.
    waits: Waits,
    /// Accesses to the LLC, and accesses of its busiest slice as a multiple of the mean.
    slices: (u64, f64),
}

impl<'a> VerdictBuilder<'a> {
    /// Collects the shared data of a run.
    pub fn new(facts: &'a RunFacts, outcome: &'a Outcome) -> Self {
        let of_kind = |kind: &'static str, name: &'static str| {
            let components = outcome.components.iter().filter(move |component| component.kind == kind);
            components.filter_map(move |component| counter(&component.counters, name))
        };
        let moved: u64 = outcome.kernels.iter().flat_map(|kernel| DRAM_COUNTERS.map(|name| kernel.counters.get(name).unwrap_or(0))).sum();
        let (count, sum, most) =
            of_kind("llc", "accesses").fold((0u64, 0, 0), |(count, sum, most), value| (count + 1, sum + value, value.max(most)));
        let hottest = if sum > 0 { most as f64 * count as f64 / sum as f64 } else { 1.0 };
        let rows_per_sector = if moved > 0 { of_kind("dram", "activates").sum::<u64>() as f64 / moved as f64 } else { 0.0 };
        Self { facts, outcome, rows_per_sector, waits: waits(facts, outcome), slices: (sum, hottest) }
    }

    /// Returns the accesses of the busiest slice as a multiple of the mean, if nearly all accesses are from this kernel.
    fn hottest(&self, kernel: &KernelStats) -> Option<f64> {
        let own = kernel.counters.get("llc_accesses")?;
        let (all, hottest) = self.slices;
        (self.outcome.system.is_none() && all > 0 && own as f64 >= 0.8 * all as f64).then_some(hottest)
    }

    /// Returns the verdict on a kernel of the run; `None` if the kernel has issued no instruction or the roofs of its GPU are unknown.
    pub fn verdict(&self, kernel: &KernelStats) -> Option<Verdict> {
        let Self { facts, outcome, .. } = *self;
        let get = |name: &str| kernel.counters.get(name).unwrap_or(0) as f64;
        let gpu = outcome.system.as_ref().and_then(|system| system.kernel_gpus.get(kernel.index.index()).copied()).unwrap_or(0);
        let roofs = facts.roofs.get(usize::from(gpu))?;
        let work = WorkTotals::of_kernel(kernel, outcome);
        if work.cycles == 0 || work.warp_instructions == 0 {
            return None;
        }
        let alone = runs_alone(kernel, outcome);
        let hottest_slice = self.hottest(kernel);
        let launch = launch_occupancy(facts, kernel, roofs);
        let cycles = KernelCycles::of(kernel, work.cycles, roofs, alone);
        let rows = self.rows_per_sector * DRAM_COUNTERS.map(get).iter().sum::<f64>();
        let waits = Waits { banks: self.waits.banks * excess_l1_accesses(&get, roofs), unit: self.waits.unit * in_unit(&get) };
        let uses = Utilisations::of(&get, rows, waits, work.cycles as f64, roofs);
        let charges = Charges { counter: &get, cycles: &cycles, utilisations: &uses, launch: &launch, roofs, hottest_slice }.all();
        let requests = get("load_instructions") + get("store_instructions") + get("atomic_instructions");
        let accesses = get("memory_accesses");
        let known = |whole: f64, value: f64| (whole > 0.0).then(|| rounded(value));
        let mut verdict = Verdict {
            limiter: charges.first().map_or(Limiter::Issue, |charge| charge.limiter),
            pipe: uses.pipe_name.to_owned(),
            charges,
            roofs: uses.list(),
            launch: LaunchOccupancy { idle: cycles.idle.map(rounded), ..launch },
            sectors_per_request: known(requests, accesses / requests),
            sector_use: known(accesses, (get("requested_bytes") / (accesses * 32.0)).min(1.0)).filter(|_| roofs.sectors),
            conflicts: known(get("shared_instructions"), get("shared_conflict_cycles") / get("shared_instructions")),
            lanes: rounded(work.thread_instructions as f64 / work.warp_instructions as f64),
            hottest_slice: hottest_slice.map(rounded),
            roofline: roofline(&get, work.cycles as f64, roofs),
            change: String::new(),
            trust: None,
        };
        verdict.trust = Confidence::of(facts, work.cycles, &verdict.roofs, uses.llc_requests);
        verdict.change = words::advice(&verdict, roofs, kernel);
        Some(verdict)
    }
}

impl Verdict {
    /// Formats the verdict on the kernel `name` in at most six lines of at most 80 columns.
    pub fn lines(&self, name: &str) -> Vec<String> {
        words::lines(self, name)
    }

    /// Returns the name of the limiter for reports.
    pub fn label(&self) -> String {
        words::label(self, self.limiter)
    }
}

/// Returns true if no other kernel ran at the same time.
fn runs_alone(kernel: &KernelStats, outcome: &Outcome) -> bool {
    let end = |kernel: &KernelStats| kernel.ended.unwrap_or(outcome.cycles);
    let (from, until) = (kernel.started.unwrap_or(0), end(kernel));
    let (before, after) = outcome.kernels.split_at(kernel.index.index().min(outcome.kernels.len()));
    // Launches of a stream run one after the other: launches that are far apart in the order do not overlap in time, unless streams
    // overlap.
    let near = before.iter().rev().take(OVERLAP_CHECK_LAUNCHES).chain(after.iter().skip(1).take(OVERLAP_CHECK_LAUNCHES));
    !near.filter_map(|other| Some((other.started?, end(other)))).any(|(start, stop)| start < until && stop > from)
}

/// Launches before and after a launch that are checked for overlap in time: more than any machine runs at the same time.
const OVERLAP_CHECK_LAUNCHES: usize = 128;

/// Computes how the launch fills the SMs.
fn launch_occupancy(facts: &RunFacts, kernel: &KernelStats, roofs: &Roofs) -> LaunchOccupancy {
    let launch = facts.launches.get(kernel.index.index()).copied().unwrap_or_default();
    let warps = launch.threads.div_ceil(WARP_SIZE).max(1);
    let held = kernel.ctas_per_sm.max(1);
    let of_grid = f64::from(kernel.ctas) / f64::from(roofs.sms.max(1));
    let (ctas, limited_by) =
        if of_grid < f64::from(held) { (of_grid.max(1.0).min(f64::from(held)), GRID_LIMIT) } else { (f64::from(held), launch.limited_by) };
    LaunchOccupancy {
        threads: launch.threads,
        registers: launch.registers,
        shared_bytes: launch.shared_bytes,
        occupancy: rounded((ctas * f64::from(warps) / f64::from(roofs.warps.max(1))).min(1.0)),
        limited_by: limited_by.to_owned(),
        waves: rounded(of_grid / f64::from(held)),
        idle: None,
    }
}

/// Returns the waits in the load/store units of a run, per access of the kernels. Waits after an access that the L1 rejected are not waits
/// for a bank: the missing resource is behind the L1.
fn waits(facts: &RunFacts, outcome: &Outcome) -> Waits {
    let (mut banks, mut unit) = (0, 0);
    for sm in outcome.components.iter().filter(|component| component.kind == "sm") {
        let get = |name: &str| counter(&sm.counters, name).unwrap_or(0);
        banks += get("l1_bank_conflicts").saturating_sub(get("l1_retries"));
        unit += get("memory_stall_cycles");
    }
    let (mut excess, mut accesses) = (0.0, 0.0);
    for kernel in &outcome.kernels {
        let get = |name: &str| kernel.counters.get(name).unwrap_or(0) as f64;
        accesses += in_unit(&get);
        excess += facts.roofs.first().map_or(0.0, |roofs| excess_l1_accesses(&get, roofs));
    }
    let each = |cycles: u64, of: f64| if of > 0.0 { cycles as f64 / of } else { 0.0 };
    Waits { banks: each(banks, excess), unit: each(unit, accesses) }
}

/// Returns the accesses of a kernel to any memory that take a cycle of a load/store unit each.
fn in_unit(get: &dyn Fn(&str) -> f64) -> f64 {
    get("memory_accesses") + get("shared_instructions") + get("shared_conflict_cycles")
}

/// Returns the L1 accesses of a kernel in excess of one access per instruction and bank.
fn excess_l1_accesses(get: &dyn Fn(&str) -> f64, roofs: &Roofs) -> f64 {
    let instructions = get("load_instructions") + get("store_instructions");
    (l1_accesses(get) - instructions * roofs.l1).max(0.0)
}

/// Returns the roofline of a kernel: with the peak of the matrix units if the kernel uses them and their rate is known, otherwise with the
/// single-precision peak.
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
