//! The traces whose simulation speed is measured, and the origins of traces.

use std::fmt;

use crate::TraceRun;

/// Origin of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A trace recorded on a GPU.
    Recorded,
    /// A trace written by the generator.
    Generated,
    /// A trace recorded while the simulator executed a program.
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

/// The resource that bounds a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Bound by issue slots and execution units.
    Compute,
    /// Bound by the memory system's bandwidth.
    Memory,
    /// Bound by latency: each access waits for the previous one.
    Latency,
}

impl Class {
    /// Returns the amount of the work that bounds a trace of the class.
    pub(super) fn work(self, run: &TraceRun) -> u64 {
        match self {
            Self::Compute => run.warp_instructions,
            Self::Memory => run.llc_accesses,
            Self::Latency => run.cycles,
        }
    }

    /// Returns the unit of the work that bounds a trace of the class.
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

/// Traces of the standard set, by class. A reference simulator has results for each of them.
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
/// of their class; no reference simulator has results for them.
pub(super) const IRREGULAR_SET: &[(&str, Class)] = &[("prog-tpacf", Class::Compute), ("prog-dxtc", Class::Compute)];

/// Iterates over all traces that contribute to the rates.
pub(super) fn all_traces() -> impl Iterator<Item = &'static (&'static str, Class)> {
    STANDARD_SET.iter().chain(IRREGULAR_SET)
}
