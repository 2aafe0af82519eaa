//! What a verdict says.

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Floating-point operations.
    pub operations: u64,
    /// The units of the peak: `FP32` or `tensor`.
    pub units: String,
    /// Operations per core cycle as a share of the peak: single-precision multiply-adds on all lanes, or products of 16-bit elements by Hopper's matrix
    /// units. Above 1 if other units do more.
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

impl Verdict {
    /// The use of a resource; 0 for an unknown one.
    pub(super) fn used(&self, name: &str) -> f64 {
        self.roofs.iter().find(|one| one.name == name).map_or(0.0, |one| one.share)
    }
}

/// The measured launches that resemble a kernel: those of its class on its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// The class of the kernel.
    pub class: String,
    /// The machine that launches were measured on.
    pub machine: String,
    /// Measured launches of that class; 0 where none resembles the kernel.
    pub launches: u32,
    /// The mean magnitude of their errors, in percent of the measured cycles.
    pub error_percent: Option<f64>,
    /// The largest magnitude.
    pub worst_percent: Option<f64>,
}

/// The least share that is listed.
pub(super) const LISTED: f64 = 0.005;

/// `value` with four decimals, so that files stay short.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
