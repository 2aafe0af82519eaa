//! The operations that models write, and the Volta instructions that they stand for.

use crate::frontend::{CachePolicy, MemInst, MemKind, MemSpace, OpClass};

/// What an operation does beyond occupying a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing: arithmetic.
    None,
    /// Accesses memory.
    Memory(MemKind),
    /// Ends the threads that execute it.
    Exit,
}

/// A row of the operation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpInfo {
    /// The word in the model.
    pub(super) name: &'static str,
    /// The SASS mnemonic of Volta; memory operations complete it with space, width and cache.
    pub(super) mnemonic: &'static str,
    /// Resource class.
    pub(super) class: OpClass,
    /// 32-bit registers that the result takes; 0 when there is none.
    pub(super) result: u8,
    /// What else it does.
    pub(super) effect: Effect,
}

const fn alu(name: &'static str, mnemonic: &'static str, class: OpClass, result: u8) -> OpInfo {
    OpInfo { name, mnemonic, class, result, effect: Effect::None }
}

/// All operations. Mnemonics and classes follow the Volta table of Accel-Sim's trace front end.
pub(super) const OPS: &[OpInfo] = &[
    alu("fadd", "FADD", OpClass::Sp, 1),
    alu("fmul", "FMUL", OpClass::Sp, 1),
    alu("ffma", "FFMA", OpClass::Sp, 1),
    alu("fmnmx", "FMNMX", OpClass::Sp, 1),
    alu("fsel", "FSEL", OpClass::Sp, 1),
    alu("fsetp", "FSETP.GT.AND", OpClass::Sp, 0),
    alu("hadd2", "HADD2", OpClass::Sp, 1),
    alu("hmul2", "HMUL2", OpClass::Sp, 1),
    alu("hfma2", "HFMA2", OpClass::Sp, 1),
    alu("iadd", "IADD3", OpClass::Int, 1),
    alu("imad", "IMAD", OpClass::Int, 1),
    alu("imad_wide", "IMAD.WIDE", OpClass::Int, 2),
    alu("imnmx", "IMNMX", OpClass::Int, 1),
    alu("isetp", "ISETP.GE.AND", OpClass::Int, 0),
    alu("lea", "LEA", OpClass::Int, 1),
    alu("lop", "LOP3.LUT", OpClass::Int, 1),
    alu("shf", "SHF.R.U32.HI", OpClass::Int, 1),
    alu("popc", "POPC", OpClass::Int, 1),
    alu("mov", "MOV", OpClass::Alu, 1),
    alu("sel", "SEL", OpClass::Alu, 1),
    alu("prmt", "PRMT", OpClass::Alu, 1),
    alu("s2r", "S2R", OpClass::Alu, 1),
    alu("shfl", "SHFL.DOWN.PT", OpClass::Alu, 1),
    alu("vote", "VOTE.ANY", OpClass::Alu, 1),
    alu("i2f", "I2F", OpClass::Alu, 1),
    alu("f2i", "F2I", OpClass::Alu, 1),
    alu("ldc", "LDC", OpClass::Alu, 1),
    alu("nop", "NOP", OpClass::Alu, 0),
    alu("mufu", "MUFU.RCP", OpClass::Sfu, 1),
    alu("dadd", "DADD", OpClass::Dp, 2),
    alu("dmul", "DMUL", OpClass::Dp, 2),
    alu("dfma", "DFMA", OpClass::Dp, 2),
    alu("dsetp", "DSETP.GT.AND", OpClass::Dp, 0),
    alu("hmma", "HMMA.884.F32.F32.STEP0", OpClass::Tensor, 2),
    alu("bar", "BAR.SYNC", OpClass::Barrier, 0),
    alu("membar", "MEMBAR.SC.GPU", OpClass::Fence, 0),
    alu("bssy", "BSSY", OpClass::Branch, 0),
    alu("bra", "BRA", OpClass::Branch, 0),
    alu("bsync", "BSYNC", OpClass::Branch, 0),
    OpInfo { name: "load", mnemonic: "LD", class: OpClass::Load, result: 1, effect: Effect::Memory(MemKind::Load) },
    OpInfo { name: "store", mnemonic: "ST", class: OpClass::Store, result: 0, effect: Effect::Memory(MemKind::Store) },
    OpInfo { name: "atomic", mnemonic: "ATOM", class: OpClass::Load, result: 1, effect: Effect::Memory(MemKind::Atomic) },
    OpInfo { name: "reduction", mnemonic: "RED", class: OpClass::Store, result: 0, effect: Effect::Memory(MemKind::Reduction) },
    OpInfo { name: "exit", mnemonic: "EXIT", class: OpClass::Exit, result: 0, effect: Effect::Exit },
];

/// Functions of atomics and reductions.
pub(super) const FUNCTIONS: &[&str] = &["add", "min", "max", "and", "or", "xor", "exch", "cas"];

/// The row of `name`.
pub(super) fn find(name: &str) -> Option<&'static OpInfo> {
    OPS.iter().find(|op| op.name == name)
}

/// The row of a name that the compiler itself emits.
pub(super) fn known(name: &str) -> &'static OpInfo {
    find(name).unwrap_or_else(|| panic!("the operation table lacks {name}"))
}

/// The mnemonic of a memory access.
pub(super) fn memory_mnemonic(mem: MemInst, function: &str) -> String {
    let shared = mem.space == MemSpace::Shared;
    let width = match mem.width {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16 => ".128",
        _ => "",
    };
    let scope = if mem.cache == CachePolicy::Global { ".STRONG.GPU" } else { ".SYS" };
    let function = function.to_uppercase();
    match (mem.kind, shared) {
        (MemKind::Load, false) => format!("LDG.E{width}{scope}"),
        (MemKind::Load, true) => format!("LDS.U{width}"),
        (MemKind::Store, false) => format!("STG.E{width}{scope}"),
        (MemKind::Store, true) => format!("STS{width}"),
        (MemKind::Atomic, false) => format!("ATOMG.E.{function}{width}.STRONG.GPU"),
        (MemKind::Atomic, true) => format!("ATOMS.{function}{width}"),
        (MemKind::Reduction, _) => format!("RED.E.{function}{width}.STRONG.GPU"),
    }
}
