//! What is known about an opcode.

use warpshard_workload::{MemKind, MemSpace, OpClass};

/// What the tables know about an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Resource class.
    pub class: OpClass,
    /// What it does to memory, if it does; the width comes from the mnemonic.
    pub mem: Option<MemRow>,
    /// Two operations per lane, as HADD2 has.
    pub packed_half: bool,
}

/// The memory side of an opcode, as far as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemRow {
    /// The opcode.
    pub name: &'static str,
    /// Which memory.
    pub space: MemSpace,
    /// Load, store or atomic.
    pub kind: MemKind,
}
