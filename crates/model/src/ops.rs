//! The operations of models, and the Volta instructions that they represent.

use warpshard_isa::{Generation, Opcode};
use warpshard_workload::{MemKind, MemSpace};

/// Effects of an operation in addition to occupying an execution unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpEffect {
    /// No effect: arithmetic.
    None,
    /// A memory access.
    Memory(MemKind),
    /// The exit of the threads that execute it.
    Exit,
}

/// A row of the operation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpInfo {
    /// Name of the operation in models.
    pub(super) name: &'static str,
    /// The SASS mnemonic of Volta; memory operations append space, width and cache.
    pub(super) mnemonic: &'static str,
    /// 32-bit registers of the result; 0 without a result.
    pub(super) result: u8,
    /// Additional effect of the operation.
    pub(super) effect: OpEffect,
}

const fn alu(name: &'static str, mnemonic: &'static str, result: u8) -> OpInfo {
    OpInfo { name, mnemonic, result, effect: OpEffect::None }
}

/// All operations. Their classes follow from the mnemonics with the same opcode table as for recorded traces.
pub(super) const OPS: &[OpInfo] = &[
    alu("fadd", "FADD", 1),
    alu("fmul", "FMUL", 1),
    alu("ffma", "FFMA", 1),
    alu("fmnmx", "FMNMX", 1),
    alu("fsel", "FSEL", 1),
    alu("fsetp", "FSETP.GT.AND", 0),
    alu("hadd2", "HADD2", 1),
    alu("hmul2", "HMUL2", 1),
    alu("hfma2", "HFMA2", 1),
    alu("iadd", "IADD3", 1),
    alu("imad", "IMAD", 1),
    alu("imad_wide", "IMAD.WIDE", 2),
    alu("imnmx", "IMNMX", 1),
    alu("isetp", "ISETP.GE.AND", 0),
    alu("lea", "LEA", 1),
    alu("lop", "LOP3.LUT", 1),
    alu("shf", "SHF.R.U32.HI", 1),
    alu("popc", "POPC", 1),
    alu("mov", "MOV", 1),
    alu("sel", "SEL", 1),
    alu("prmt", "PRMT", 1),
    alu("s2r", "S2R", 1),
    alu("shfl", "SHFL.DOWN.PT", 1),
    alu("vote", "VOTE.ANY", 1),
    alu("i2f", "I2F", 1),
    alu("f2i", "F2I", 1),
    alu("ldc", "LDC", 1),
    alu("nop", "NOP", 0),
    alu("mufu", "MUFU.RCP", 1),
    alu("dadd", "DADD", 2),
    alu("dmul", "DMUL", 2),
    alu("dfma", "DFMA", 2),
    alu("dsetp", "DSETP.GT.AND", 0),
    alu("hmma", "HMMA.884.F32.F32.STEP0", 2),
    alu("bar", "BAR.SYNC", 0),
    alu("membar", "MEMBAR.SC.GPU", 0),
    alu("bssy", "BSSY", 0),
    alu("bra", "BRA", 0),
    alu("bsync", "BSYNC", 0),
    OpInfo { name: "load", mnemonic: "LD", result: 1, effect: OpEffect::Memory(MemKind::Load) },
    OpInfo { name: "store", mnemonic: "ST", result: 0, effect: OpEffect::Memory(MemKind::Store) },
    OpInfo { name: "atomic", mnemonic: "ATOM", result: 1, effect: OpEffect::Memory(MemKind::Atomic) },
    OpInfo { name: "reduction", mnemonic: "RED", result: 0, effect: OpEffect::Memory(MemKind::Reduction) },
    OpInfo { name: "exit", mnemonic: "EXIT", result: 0, effect: OpEffect::Exit },
];

/// Functions of atomic operations and reductions.
pub(super) const ATOMIC_FUNCTIONS: &[&str] = &["add", "min", "max", "and", "or", "xor", "exch", "cas"];

/// Returns the row of `name`.
pub(super) fn find(name: &str) -> Option<&'static OpInfo> {
    OPS.iter().find(|op| op.name == name)
}

/// Returns the row of an operation that the compiler emits.
pub(super) fn known_operation(name: &str) -> &'static OpInfo {
    find(name).unwrap_or_else(|| panic!("the operation table lacks {name}"))
}

/// Returns the mnemonic of a memory access of `width` bytes per lane; atomic operations access global or shared memory.
pub(super) fn memory_mnemonic(kind: MemKind, space: MemSpace, width: u8, skip_l1: bool, function: &str) -> String {
    let width = match width {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16 => ".128",
        _ => "",
    };
    let scope = if skip_l1 { ".STRONG.GPU" } else { ".SYS" };
    let function = function.to_uppercase();
    match (kind, space) {
        (MemKind::Load, MemSpace::Shared) => format!("LDS.U{width}"),
        (MemKind::Store, MemSpace::Shared) => format!("STS{width}"),
        (MemKind::Atomic, MemSpace::Shared) => format!("ATOMS.{function}{width}"),
        (MemKind::Load, MemSpace::Local) => format!("LDL{width}"),
        (MemKind::Store, MemSpace::Local) => format!("STL{width}"),
        (MemKind::Load, _) => format!("LDG.E{width}{scope}"),
        (MemKind::Store, _) => format!("STG.E{width}.SYS"),
        (MemKind::Atomic, _) => format!("ATOMG.E.{function}{width}.STRONG.GPU"),
        (MemKind::Reduction, _) => format!("RED.E.{function}{width}.STRONG.GPU"),
    }
}

/// Returns the entry of a mnemonic in Volta's opcode table.
pub(super) fn volta(mnemonic: &str) -> Opcode {
    let name = mnemonic.split('.').next().unwrap_or_default();
    Generation::Volta.opcode(name).unwrap_or_else(|| panic!("Volta's opcode table lacks {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_an_opcode_of_volta() {
        for op in OPS {
            match op.effect {
                OpEffect::Memory(kind) => {
                    let [global, shared, local] = [MemSpace::Global, MemSpace::Shared, MemSpace::Local];
                    for (space, width) in [(global, 1), (global, 4), (shared, 8), (shared, 16), (local, 4), (local, 16)] {
                        let atomic = matches!(kind, MemKind::Atomic | MemKind::Reduction);
                        if space == shared && kind == MemKind::Reduction || space == local && atomic {
                            continue;
                        }
                        let mnemonic = memory_mnemonic(kind, space, width, false, "add");
                        let access = volta(&mnemonic).mem.unwrap().access(&mnemonic);
                        assert_eq!((access.kind, access.width), (kind, width), "{mnemonic}");
                        // The opcode names the space of all accesses but atomic operations, whose name is generic.
                        assert!(access.space == space || atomic, "{mnemonic}");
                    }
                }
                _ => assert_eq!(volta(op.mnemonic).mem, None, "{}", op.name),
            }
        }
        assert!(volta("HFMA2").packed_half);
    }
}
