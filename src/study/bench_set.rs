//! The traces that speed is measured on, and where a trace comes from.

use std::fmt;

/// Where a trace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Recorded on a GPU.
    Recorded,
    /// Written by the generator.
    Generated,
}

impl Origin {
    pub(super) fn of(trace: &str) -> Self {
        if trace.starts_with("real-") { Self::Recorded } else { Self::Generated }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recorded => "recorded",
            Self::Generated => "generated",
        })
    }
}

/// What bounds a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Issue slots and execution units.
    Compute,
    /// The memory system's bandwidth.
    Memory,
    /// One access after the other.
    Latency,
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

/// The standard set, by class.
pub(super) const STANDARD_SET: &[(&str, Class)] = &[
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
