//! A static instruction: what all executions of one program counter have in common.

use super::control::Control;

/// The execution resource and behaviour class of an opcode. Latency and initiation interval per class belong to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, warpshard_state::State)]
#[repr(u8)]
pub enum OpClass {
    /// Single-precision floating point.
    Sp,
    /// Integer arithmetic.
    Int,
    /// Moves, conversions, votes, shuffles: run on the integer pipe where there is one.
    Alu,
    /// Special functions (MUFU).
    Sfu,
    /// Double precision.
    Dp,
    /// Matrix units.
    Tensor,
    /// Branches and convergence barriers.
    Branch,
    /// Texture.
    Texture,
    /// The uniform datapath of Turing and later.
    Uniform,
    /// Loads, and atomics that return a value.
    Load,
    /// Stores, and reductions.
    Store,
    /// Memory fences.
    Fence,
    /// CTA barriers.
    Barrier,
    /// Thread exit.
    Exit,
}

impl OpClass {
    /// How many classes there are; the length of a table indexed by class.
    pub const COUNT: usize = 14;
}

/// The memory that an instruction addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum MemSpace {
    /// Device memory.
    Global,
    /// Per-thread memory, interleaved over the lanes when it reaches the caches.
    Local,
    /// The CTA's scratchpad.
    Shared,
    /// Global, local or shared, distinguished by the address windows of the kernel.
    Generic,
    /// The constant bank.
    Constant,
    /// Textures.
    Texture,
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum MemKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, modifies and writes; returns the old value.
    Atomic,
    /// Reads, modifies and writes; returns nothing.
    Reduction,
}

/// Which caches an access may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum CachePolicy {
    /// L1 and LLC.
    All,
    /// LLC only (`.STRONG.GPU`, atomics).
    Global,
    /// What the machine says (`.STRONG.SYS`: volatile loads): `gpu.sm.l1.system_loads`.
    System,
}

/// The memory side of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct MemInst {
    /// Which memory.
    pub space: MemSpace,
    /// Load, store or atomic.
    pub kind: MemKind,
    /// Bytes per lane: 1, 2, 4, 8 or 16.
    pub width: u8,
    /// Caches that the access may use.
    pub cache: CachePolicy,
}

/// Stands for "no register" in register fields. (RZ, which SASS writes R255, is an ordinary number here: 255.)
pub const NO_REGISTER: u16 = u16::MAX;

/// An instruction of the program, decoded once per kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct StaticInst {
    /// Address of the instruction.
    pub pc: u32,
    /// Resource class.
    pub class: OpClass,
    /// Two operations per lane (HADD2, HFMA2, HMUL2): the initiation interval is halved.
    pub packed_half: bool,
    /// Floating-point operations of an active lane.
    pub flops: u16,
    /// The destination, the first register of it when it is wider, or [`NO_REGISTER`].
    pub dst: u16,
    /// The sources in the order of the trace; unused places hold [`NO_REGISTER`].
    pub src: [u16; 4],
    /// What it does to memory, if it does.
    pub mem: Option<MemInst>,
    /// The trailing immediate of tracer version 5 (DEPBAR's allowed number of outstanding groups), else 0.
    pub immediate: u32,
    /// What the code says about its dependences.
    pub control: Control,
    /// The registers that it names, as the hardware asks for them.
    pub registers: RegisterSets,
}

/// The registers that an instruction names, found once and used whenever it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct RegisterSets {
    /// Those below 64, as a set.
    pub low: u64,
    /// Bit i for those whose number is i modulo 64: of two such sets without a common bit it is known, before any number is
    /// compared, that they have no register in common.
    pub named: u64,
    /// The numbers of the sources modulo 64, a byte for each.
    pub low_bits: u32,
    /// Which sources are registers that none before them is, bit i for the i-th: those that are read.
    pub distinct: u8,
    /// How many these are.
    pub reads: u8,
}

impl RegisterSets {
    /// Those of an instruction with this destination and these sources.
    pub fn new(dst: u16, src: [u16; 4]) -> Self {
        let all = || src.into_iter().chain([dst]).filter(|&register| register != NO_REGISTER);
        let first = |i: usize| src[i] != NO_REGISTER && !src[..i].contains(&src[i]);
        let distinct = (0..src.len()).fold(0, |set, i| set | u8::from(first(i)) << i);
        Self {
            low: all().filter(|register| *register < 64).fold(0, |set, register| set | 1 << register),
            named: all().fold(0, |set, register| set | 1 << (register & 63)),
            low_bits: u32::from_le_bytes(src.map(|register| register as u8 & 63)),
            distinct,
            reads: distinct.count_ones() as u8,
        }
    }
}
