//! Memory instructions of a CPU core.

use warpshard_base::Addr;

/// The operation of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CpuOp {
    /// A read, which keeps its window entry until its data arrives.
    Load,
    /// A write, which the store buffer accepts, so that it never delays retirement.
    Store,
    /// A dirty line evicted by a cache in front of the trace; it takes no window entry.
    WriteBack,
}

/// A memory instruction with the other instructions that precede it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CpuInst {
    /// Number of preceding instructions that do not access memory.
    pub bubbles: u64,
    /// The byte address in the core's address space, below 2^48.
    pub addr: Addr,
    /// The operation.
    pub op: CpuOp,
    /// `true` if a load's address depends on the data of the preceding dependent load, as in a pointer chase.
    pub dependent: bool,
}
