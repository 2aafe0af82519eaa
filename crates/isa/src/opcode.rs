//! Properties of an opcode.

use warpshard_workload::{MemKind, MemSpace, OpClass};

/// Properties of an opcode in the opcode tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Resource class of the opcode.
    pub class: OpClass,
    /// Memory access of the opcode, if it has one; the width comes from the mnemonic.
    pub mem: Option<MemoryOpcode>,
    /// True if the opcode executes two operations per lane, as HADD2 does.
    pub packed_half: bool,
}

/// A memory access as far as the opcode name determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOpcode {
    /// Name of the opcode.
    pub name: &'static str,
    /// Memory space of the access.
    pub space: MemSpace,
    /// Kind of the access: load, store, atomic or reduction.
    pub kind: MemKind,
}
