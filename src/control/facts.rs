//! What is known before a run begins and never changes: sizes that controllers compute with.

use crate::base::AppId;

/// What is known of a kernel launch before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// The kernel's name.
    pub name: String,
    /// The application that launches it.
    pub app: AppId,
    /// CTAs of the launch.
    pub ctas: u32,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// CTAs that an SM holds at once when nothing else is on it, at least 1.
    pub ctas_per_sm: u32,
}

/// What the machine issues and moves at most, per core cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Warp instructions that an SM issues.
    pub issue: f64,
    /// Bytes of an access to the LLC.
    pub access_bytes: f64,
    /// Bytes that the reply network moves across its bisection.
    pub noc_bytes: f64,
    /// Bytes that all LLC slices deliver, where they hit.
    pub llc_bytes: f64,
    /// Bytes that all DRAM channels move.
    pub dram_bytes: f64,
}

/// The machine and its workload in a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// SMs of the machine.
    pub sms: u32,
    /// Warp slots of an SM.
    pub warps_per_sm: u32,
    /// Warp schedulers of an SM.
    pub schedulers_per_sm: u32,
    /// What it issues and moves at most.
    pub peaks: Peaks,
    /// Kernel launches, by `KernelIndex`; with those that applications launch again.
    pub kernels: Vec<KernelFacts>,
    /// The names of the applications, by `AppId`.
    pub applications: Vec<String>,
}
