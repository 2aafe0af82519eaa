//! Static instructions: the common properties of all executions of a program counter.

use super::control::Control;

/// The execution resource and behaviour class of an opcode. The machine defines latency and initiation interval per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, warpshard_state::State)]
#[repr(u8)]
pub enum OpClass {
    /// Single-precision floating point.
    Sp,
    /// Integer arithmetic.
    Int,
    /// Moves, conversions, votes and shuffles, which run on the integer pipe if there is one.
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
    /// Number of classes; the length of a table indexed by class.
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

/// The kind of a memory instruction.
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

/// The caches that an access may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub enum CachePolicy {
    /// L1 and LLC.
    All,
    /// LLC only (`.STRONG.GPU`, atomics).
    Global,
    /// The caches that the machine defines for `.STRONG.SYS` accesses (volatile loads): `gpu.sm.l1.system_loads`.
    System,
}

/// The memory operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct MemInst {
    /// The accessed memory space.
    pub space: MemSpace,
    /// Load, store or atomic.
    pub kind: MemKind,
    /// Bytes per lane: 1, 2, 4, 8 or 16.
    pub width: u8,
    /// Caches that the access may use.
    pub cache: CachePolicy,
}

/// Value of register fields that means no register. (RZ, which SASS writes as R255, is an ordinary number here: 255.)
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
    /// The destination register, or its first register if it is wider, or [`NO_REGISTER`].
    pub dst: u16,
    /// The source registers in the order of the trace; unused positions hold [`NO_REGISTER`].
    pub src: [u16; 4],
    /// The memory operation, if any.
    pub mem: Option<MemInst>,
    /// The trailing immediate of tracer version 5 (DEPBAR's allowed number of outstanding groups), else 0.
    pub immediate: u32,
    /// Dependence information from the code.
    pub control: Control,
    /// The registers of the instruction, as sets.
    pub registers: RegisterSets,
}

/// The registers of an instruction, computed once and used at each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct RegisterSets {
    /// Registers below 64, as a bit set.
    pub low: u64,
    /// Bit i for registers whose number is i modulo 64. If two such sets have no common bit, the instructions have no common register, and
    /// no register numbers need to be compared.
    pub named: u64,
    /// The numbers of the sources modulo 64, one byte each.
    pub low_bits: u32,
    /// Sources that are registers and differ from all previous sources, bit i for the i-th: the registers that are read.
    pub distinct: u8,
    /// Number of bits in `distinct`.
    pub reads: u8,
}

impl RegisterSets {
    /// Computes the register sets of an instruction from its destination and sources.
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
