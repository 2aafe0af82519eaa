//! The contents of a verdict.

use serde::{Deserialize, Serialize};

/// Resources and conditions that can limit a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Issue slots: the schedulers issue in nearly all cycles.
    Issue,
    /// A kind of execution units.
    Pipe,
    /// Lanes that are idle because of a branch or a partial warp.
    Divergence,
    /// Waits for results of arithmetic instructions.
    Dependency,
    /// Shared-memory accesses.
    SharedMemory,
    /// The L1 and the load/store unit in front of it.
    L1,
    /// The network between SMs and LLC.
    Network,
    /// The last-level cache.
    Llc,
    /// DRAM bandwidth, of data or of row activations.
    Dram,
    /// Memory latency, if no level of memory is at its roof.
    MemoryLatency,
    /// Too few resident warps to hide latency.
    Occupancy,
    /// Atomic operations.
    Atomics,
    /// Memory fences.
    Fence,
    /// CTA barriers.
    Barrier,
    /// Instruction fetch.
    Fetch,
    /// A controller that throttles warps.
    Throttle,
    /// SMs without CTAs: a grid that is too small, or the last CTAs.
    Tail,
}

/// A share of all scheduler cycles of a kernel that is charged to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The charged resource.
    pub limiter: Limiter,
    /// The share, from 0 to 1.
    pub share: f64,
}

/// Utilisation of a resource relative to its roof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// The resource: "issue", the name of the busiest pipe, "shared", "L1", "network", "LLC", "DRAM" (data transfers), or "DRAM rows" (row
    /// activations).
    pub name: String,
    /// The utilisation, from 0 to 1.
    pub share: f64,
}

/// Occupancy of the SMs by a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchOccupancy {
    /// Threads per CTA.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per CTA.
    pub shared_bytes: u32,
    /// Resident warps that the launch allows, as a share of the warp slots.
    pub occupancy: f64,
    /// The limit of the resident warps: a resource of the SM, or "grid".
    pub limited_by: String,
    /// CTAs of the grid as a multiple of the CTAs that all SMs hold at the same time.
    pub waves: f64,
    /// Share of the scheduler cycles without a resident warp; absent if other kernels ran at the same time.
    pub idle: Option<f64>,
}

/// The floating-point work of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Floating-point operations.
    pub operations: u64,
    /// The units of the peak: `FP32` or `tensor`.
    pub units: String,
    /// Operations per core cycle as a share of the peak: single-precision multiply-adds on all lanes, or products of 16-bit elements by
    /// Hopper's matrix units. Above 1 if other units also contribute operations.
    pub of_peak: f64,
    /// Operations per byte of DRAM traffic; absent without DRAM traffic.
    pub per_byte: Option<f64>,
    /// Operations per byte above which DRAM is not the lower roof.
    pub ridge: f64,
}

/// The verdict on a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The resource with the largest charge.
    pub limiter: Limiter,
    /// The kind of the busiest execution units.
    pub pipe: String,
    /// Charged resources in descending order; charges below 0.5 % are omitted.
    pub charges: Vec<Charge>,
    /// Utilisation of each resource.
    pub roofs: Vec<Utilisation>,
    /// Occupancy of the SMs by the launch.
    pub launch: LaunchOccupancy,
    /// Sectors (or lines, in L1s without sectors) per warp access to global and local memory; absent without accesses.
    pub sectors_per_request: Option<f64>,
    /// Bytes that lanes requested as a share of the accessed sectors: low if neighbouring lanes access distant addresses.
    pub sector_use: Option<f64>,
    /// Mean additional cycles of a shared-memory access because of bank conflicts; absent without accesses.
    pub conflicts: Option<f64>,
    /// Mean number of active lanes per instruction.
    pub lanes: f64,
    /// Accesses of the busiest LLC slice as a multiple of the mean; absent if other kernels contribute accesses.
    pub hottest_slice: Option<f64>,
    /// Floating-point work; absent if the kernel has none.
    pub roofline: Option<Roofline>,
    /// Advice for a faster kernel.
    pub change: String,
    /// Measured launches that resemble the kernel.
    pub trust: Option<Confidence>,
}

impl Verdict {
    /// Returns the utilisation of a resource; 0 for an unknown resource.
    pub(super) fn used(&self, name: &str) -> f64 {
        self.roofs.iter().find(|one| one.name == name).map_or(0.0, |one| one.share)
    }
}

/// The measured launches that resemble a kernel: launches of the same class on the same machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The class of the kernel.
    pub class: String,
    /// The machine on which launches were measured.
    pub machine: String,
    /// Number of measured launches of this class; 0 if no launch resembles the kernel.
    pub launches: u32,
    /// Mean absolute error of these launches, in percent of the measured cycles.
    pub error_percent: Option<f64>,
    /// Largest absolute error of these launches, in percent of the measured cycles.
    pub worst_percent: Option<f64>,
}

/// Smallest share of a listed charge.
pub(super) const MIN_LISTED_SHARE: f64 = 0.005;

/// Rounds `value` to four decimals, so that files stay short.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
