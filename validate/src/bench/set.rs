//! The traces whose simulation speed is measured, and the origins of traces.

use std::fmt;

use crate::TraceRun;

/// Origin of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceOrigin {
    /// A trace recorded on a GPU.
    Recorded,
    /// A trace written by the generator.
    Generated,
    /// A trace recorded while the simulator executed a program.
    Executed,
}

impl TraceOrigin {
    pub(crate) fn from_name(trace: &str) -> Self {
        match trace.split_once('-') {
            Some(("real", _)) => Self::Recorded,
            Some(("prog", _)) => Self::Executed,
            _ => Self::Generated,
        }
    }
}

impl fmt::Display for TraceOrigin {
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
pub(crate) enum TraceClass {
    /// Bound by issue slots and execution units.
    Compute,
    /// Bound by the memory system's bandwidth.
    Memory,
    /// Bound by latency: each access waits for the previous one.
    Latency,
}

impl TraceClass {
    /// Returns the amount of the work that bounds a trace of the class.
    pub(super) fn work_amount(self, run: &TraceRun) -> u64 {
        match self {
            Self::Compute => run.warp_instructions,
            Self::Memory => run.llc_accesses,
            Self::Latency => run.cycles,
        }
    }

    /// Returns the unit of the work that bounds a trace of the class.
    pub(super) fn work_unit(self) -> &'static str {
        match self {
            Self::Compute => "warp instructions",
            Self::Memory => "LLC sectors",
            Self::Latency => "core cycles",
        }
    }
}

impl fmt::Display for TraceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Latency => "latency",
        })
    }
}

/// Traces of the standard set, by class. A reference simulator has results for each of them.
pub(crate) const STANDARD_SET: &[(&str, TraceClass)] = &[
    ("gen-ffma_ind8_full", TraceClass::Compute),
    ("gen-dfma_ind8_full", TraceClass::Compute),
    ("gen-smem_conflict1", TraceClass::Compute),
    ("gen-smem_conflict8", TraceClass::Compute),
    ("gen-gemm_512x512x32", TraceClass::Compute),
    ("gen-vecadd_4096x256", TraceClass::Memory),
    ("real-vecadd-f64-100k-volta", TraceClass::Memory),
    ("gen-stride2", TraceClass::Memory),
    ("gen-stride8", TraceClass::Memory),
    ("gen-gather_delta", TraceClass::Memory),
    ("real-bfs-rodinia-3.1-4096", TraceClass::Memory),
    ("gen-pchase_l1_2048", TraceClass::Latency),
    ("gen-pchase_dram_192", TraceClass::Latency),
    ("gen-atomic_same", TraceClass::Latency),
];

/// Traces of programs whose SMs do not run in lock-step: CTAs of different lengths, branches that depend on data. They count in the rates
/// of their class; no reference simulator has results for them.
pub(super) const IRREGULAR_SET: &[(&str, TraceClass)] = &[("prog-tpacf", TraceClass::Compute), ("prog-dxtc", TraceClass::Compute)];

/// Iterates over all traces that contribute to the rates.
pub(super) fn all_traces() -> impl Iterator<Item = &'static (&'static str, TraceClass)> {
    STANDARD_SET.iter().chain(IRREGULAR_SET)
}
