//! The traces that speed is measured on, and where a trace comes from.

use std::fmt;

use crate::TraceRun;

/// Where a trace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Recorded on a GPU.
    Recorded,
    /// Written by the generator.
    Generated,
    /// Recorded while the simulator executed a program.
    Executed,
}

impl Origin {
    pub(crate) fn of(trace: &str) -> Self {
        match trace.split_once('-') {
            Some(("real", _)) => Self::Recorded,
            Some(("prog", _)) => Self::Executed,
            _ => Self::Generated,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recorded => "recorded",
            Self::Generated => "generated",
            Self::Executed => "executed",
        })
    }
}

/// What bounds a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Issue slots and execution units.
    Compute,
    /// The memory system's bandwidth.
    Memory,
    /// One access after the other.
    Latency,
}

impl Class {
    /// The work that bounds a trace of the class.
    pub(super) fn work(self, run: &TraceRun) -> u64 {
        match self {
            Self::Compute => run.warp_instructions,
            Self::Memory => run.llc_accesses,
            Self::Latency => run.cycles,
        }
    }

    /// What that work is counted in.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Compute => "warp instructions",
            Self::Memory => "LLC sectors",
            Self::Latency => "core cycles",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Latency => "latency",
        })
    }
}

/// The standard set, by class: the traces that a reference simulator has been measured on.
pub(crate) const STANDARD_SET: &[(&str, Class)] = &[
    ("gen-ffma_ind8_full", Class::Compute),
    ("gen-dfma_ind8_full", Class::Compute),
    ("gen-smem_conflict1", Class::Compute),
    ("gen-smem_conflict8", Class::Compute),
    ("gen-gemm_512x512x32", Class::Compute),
    ("gen-vecadd_4096x256", Class::Memory),
    ("real-vecadd-f64-100k-volta", Class::Memory),
    ("gen-stride2", Class::Memory),
    ("gen-stride8", Class::Memory),
    ("gen-gather_delta", Class::Memory),
    ("real-bfs-rodinia-3.1-4096", Class::Memory),
    ("gen-pchase_l1_2048", Class::Latency),
    ("gen-pchase_dram_192", Class::Latency),
    ("gen-atomic_same", Class::Latency),
];

/// Traces of programs whose SMs do not run in lock-step: CTAs of different lengths, branches that depend on data. They count in the rates
/// of their class; no reference simulator has figures for them.
pub(super) const IRREGULAR_SET: &[(&str, Class)] = &[("prog-tpacf", Class::Compute), ("prog-dxtc", Class::Compute)];

/// All traces that rates are measured on.
pub(super) fn all_traces() -> impl Iterator<Item = &'static (&'static str, Class)> {
    STANDARD_SET.iter().chain(IRREGULAR_SET)
}
