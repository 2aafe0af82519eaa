//! A verdict on each kernel: what limits it, how far it is from each roof, and what to change.
//!
//! Every scheduler cycle has one reason ([`SCHEDULER_CYCLES`](crate::metrics::SCHEDULER_CYCLES)). A verdict charges the cycles without an
//! instruction to the resource that holds them up: a wait for memory is charged to the level that works at its roof, and to latency where none
//! does. The limiter is the resource with the most cycles. `tests/simulation/verdicts.rs` removes limiters and compares the gain.

mod charge;
mod measured;
mod roofs;
mod words;

use serde::{Deserialize, Serialize};

use warpshard_base::WARP_SIZE;
use warpshard_stats::{KernelStats, Outcome};

use super::facts::RunFacts;
use super::metrics::{Work, counter};

use self::charge::{Charges, Cycles};
pub use self::measured::{Measured, Measurements, Trust};
pub use self::roofs::{PipeRoof, Roofs};

/// A resource that limits a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The schedulers issue nearly always.
    Issue,
    /// A kind of execution units.
    Pipe,
    /// Lanes that a branch or a partial warp leaves idle.
    Divergence,
    /// Waits for results of arithmetic.
    Dependency,
    /// Shared memory.
    SharedMemory,
    /// The L1 and the load/store unit before it.
    L1,
    /// The network between SMs and LLC.
    Network,
    /// The LLC.
    Llc,
    /// DRAM.
    Dram,
    /// Latency of memory, no level of which is at its roof.
    MemoryLatency,
    /// Too few resident warps to hide latency.
    Occupancy,
    /// Atomics.
    Atomics,
    /// Memory fences.
    Fence,
    /// CTA barriers.
    Barrier,
    /// Instruction fetch.
    Fetch,
    /// A controller that holds warps back.
    Throttle,
    /// SMs without CTAs: a grid that is too small, or the last CTAs.
    Tail,
}

/// A share of all scheduler cycles of a kernel that a resource is charged with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The resource.
    pub limiter: Limiter,
    /// The share, from 0 to 1.
    pub share: f64,
}

/// Use of a resource as a share of its roof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// The resource: "issue", the name of the busiest pipe, "shared", "L1", "network", "LLC", "DRAM" (its
    /// data), or "DRAM rows" (their opening).
    pub name: String,
    /// The share, from 0 to 1.
    pub share: f64,
}

/// How a launch fills the SMs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filling {
    /// Threads of a CTA.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u32,
    /// Resident warps as a share of the warp slots, as the launch allows.
    pub occupancy: f64,
    /// What limits the resident warps: a resource of the SM, or "grid".
    pub limited_by: String,
    /// CTAs as a multiple of those that all SMs hold at once.
    pub waves: f64,
    /// Share of the scheduler cycles without a resident warp; absent where other kernels ran at the same time.
    pub idle: Option<f64>,
}

/// The floating-point work of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Floating-point operations.
    pub operations: u64,
    /// Operations per core cycle as a share of fused multiply-adds in single precision on all lanes; above 1 where matrix units do more.
    pub of_peak: f64,
    /// Operations per byte of DRAM; absent where nothing was moved.
    pub per_byte: Option<f64>,
    /// Operations per byte from which DRAM is no longer the lower roof.
    pub ridge: f64,
}

/// The verdict on a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The resource with the most cycles.
    pub limiter: Limiter,
    /// The kind of the busiest units.
    pub pipe: String,
    /// Resources with their cycles, the most first; none below 0.5 %.
    pub charges: Vec<Charge>,
    /// Use of each resource.
    pub roofs: Vec<Use>,
    /// How the launch fills the SMs.
    pub launch: Filling,
    /// Sectors (lines, in L1s without sectors) per access of a warp to global and local memory; absent without accesses.
    pub sectors_per_request: Option<f64>,
    /// Bytes that lanes asked for as a share of the sectors that were accessed for them: low where neighbouring lanes touch distant addresses.
    pub sector_use: Option<f64>,
    /// Cycles of an access to shared memory beyond the first, on average; absent without accesses.
    pub conflicts: Option<f64>,
    /// Active lanes of an instruction, on average.
    pub lanes: f64,
    /// Accesses of the busiest LLC slice as a multiple of the mean; absent where other kernels have a part in it.
    pub hottest_slice: Option<f64>,
    /// Floating-point work; absent without any.
    pub roofline: Option<Roofline>,
    /// What to change.
    pub change: String,
    /// Which measured launches resemble it.
    pub trust: Option<Trust>,
}

/// The least share that is listed.
const LISTED: f64 = 0.005;

/// `value` with four decimals, so that files stay short.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// What the verdicts on all kernels of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    facts: &'a RunFacts,
    outcome: &'a Outcome,
    /// Rows of DRAM opened for a sector that kernels moved.
    rows_per_sector: f64,
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
        let moved: u64 = outcome.kernels.iter().flat_map(|kernel| DRAM.map(|name| counter(&kernel.counters, name).unwrap_or(0))).sum();
        let (count, sum, most) =
            of_kind("llc", "accesses").fold((0u64, 0, 0), |(count, sum, most), value| (count + 1, sum + value, value.max(most)));
        let hottest = if sum > 0 { most as f64 * count as f64 / sum as f64 } else { 1.0 };
        let rows_per_sector = if moved > 0 { of_kind("dram", "activates").sum::<u64>() as f64 / moved as f64 } else { 0.0 };
        Self { facts, outcome, rows_per_sector, slices: (sum, hottest) }
    }

    /// Accesses of the busiest slice as a multiple of the mean, where nearly all accesses are the kernel's.
    fn hottest(&self, kernel: &KernelStats) -> Option<f64> {
        let own = counter(&kernel.counters, "llc_accesses")?;
        let (all, hottest) = self.slices;
        (self.outcome.system.is_none() && all > 0 && own as f64 >= 0.8 * all as f64).then_some(hottest)
    }

    /// The verdict on a kernel of the run; `None` for one that has not issued anything, and without the roofs of its GPU.
    pub fn verdict(&self, kernel: &KernelStats) -> Option<Verdict> {
        let Self { facts, outcome, .. } = *self;
        let get = |name: &str| counter(&kernel.counters, name).unwrap_or(0) as f64;
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
        let uses = uses(&get, rows, work.cycles as f64, roofs);
        let charges = Charges { get: &get, cycles: &cycles, uses: &uses, launch: &launch, roofs, hottest_slice }.all();
        let requests = get("load_instructions") + get("store_instructions") + get("atomic_instructions");
        let accesses = get("memory_accesses");
        let known = |whole: f64, value: f64| (whole > 0.0).then(|| rounded(value));
        let mut verdict = Verdict {
            limiter: charges.first().map_or(Limiter::Issue, |charge| charge.limiter),
            pipe: uses[1].name.clone(),
            charges,
            roofs: uses.into_iter().map(|one| Use { share: rounded(one.share), ..one }).collect(),
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
        verdict.trust = Trust::of(facts, work.cycles, &verdict.roofs);
        verdict.change = words::change(&verdict, roofs, kernel);
        Some(verdict)
    }
}

impl Verdict {
    /// The verdict in at most six lines of at most 80 columns, for the kernel `name`.
    pub fn lines(&self, name: &str) -> Vec<String> {
        words::lines(self, name)
    }

    /// The use of a resource; 0 for an unknown one.
    fn used(&self, name: &str) -> f64 {
        self.roofs.iter().find(|one| one.name == name).map_or(0.0, |one| one.share)
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
        if of_grid < f64::from(held) { (of_grid.max(1.0).min(f64::from(held)), "grid") } else { (f64::from(held), launch.limited_by) };
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

/// The counters of a kernel's sectors of DRAM.
const DRAM: [&str; 2] = ["dram_reads", "dram_writes"];

/// Use of all resources over the kernel's cycles, in their order from issue to DRAM.
fn uses(get: &dyn Fn(&str) -> f64, rows: f64, cycles: f64, roofs: &Roofs) -> Vec<Use> {
    let sms = f64::from(roofs.sms);
    let of_pipe = |pipe: &PipeRoof| pipe.classes.iter().map(|(counter, each)| get(counter) * each).sum::<f64>() / sms;
    let busiest = roofs.pipes.iter().map(|pipe| (pipe.name, of_pipe(pipe))).max_by(|a, b| a.1.total_cmp(&b.1));
    let (pipe, pipe_cycles) = busiest.unwrap_or(("SP", 0.0));
    let llc = get("llc_accesses");
    let all = [
        ("issue", get("warp_instructions") / roofs.issue / sms),
        (pipe, pipe_cycles),
        ("shared", (get("shared_instructions") + get("shared_conflict_cycles")) / sms),
        ("L1", (get("memory_accesses") - get("l1_bypasses")).max(0.0) / roofs.l1 / sms + get("l1_bypasses") / sms),
        ("network", llc / roofs.network),
        ("LLC", llc / roofs.llc),
        ("DRAM", (get("dram_reads") + get("dram_writes")) * 32.0 / roofs.dram),
        ("DRAM rows", roofs.rows.map_or(0.0, |most| rows / most)),
    ];
    let share = |busy: f64| if cycles > 0.0 && busy.is_finite() { (busy / cycles).clamp(0.0, 1.0) } else { 0.0 };
    all.into_iter().map(|(name, busy)| Use { name: name.to_owned(), share: share(busy) }).collect()
}

/// Floating-point work against its roofs.
fn roofline(get: &dyn Fn(&str) -> f64, cycles: f64, roofs: &Roofs) -> Option<Roofline> {
    let operations = get("flops");
    let bytes = (get("dram_reads") + get("dram_writes")) * 32.0;
    (operations > 0.0 && roofs.flops > 0.0).then(|| Roofline {
        operations: operations as u64,
        of_peak: rounded(operations / cycles / roofs.flops),
        per_byte: (bytes > 0.0).then(|| rounded(operations / bytes)),
        ridge: rounded(roofs.flops / roofs.dram.max(f64::MIN_POSITIVE)),
    })
}
