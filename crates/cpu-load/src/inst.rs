//! Memory instructions of a CPU core.

use warpshard_base::Addr;

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum CpuOp {
    /// Reads; holds its place in the window until the data is there.
    Load,
    /// Writes; the store buffer takes it, so that it never holds up retirement.
    Store,
    /// A dirty line that a cache in front of the trace gave up; takes no place in the window.
    WriteBack,
}

/// A memory instruction and the other instructions before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CpuInst {
    /// Instructions before this one that do not touch memory.
    pub bubbles: u64,
    /// The byte address, within the core's own address space and below 2^48.
    pub addr: Addr,
    /// What it does.
    pub op: CpuOp,
    /// Whether a load's address needs the data of the dependent load before it, as in a pointer chase.
    pub dependent: bool,
}
