//! Modifiers of instructions: rounding modes, comparisons, data types, memory spaces.

/// The rounding mode of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Round {
    #[default]
    Near,
    Zero,
    Down,
    Up,
}

/// The modifiers of floating-point arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Float {
    /// True if denormals are flushed to zero.
    pub(in super::super) flush: bool,
    /// True if the result saturates to the range 0 to 1.
    pub(in super::super) saturate: bool,
    pub(in super::super) round: Round,
}

/// The modifiers of arithmetic on pairs of 16-bit numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Halves {
    pub(in super::super) bfloat: bool,
    /// True if the result saturates to the range 0 to 1.
    pub(in super::super) saturate: bool,
    /// True if negative results become zero.
    pub(in super::super) rectify: bool,
}

/// A comparison as the set of outcomes that make it true: less, equal, greater, unordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Compare(pub(in super::super) u8);

impl Compare {
    pub(in super::super) const LESS_BIT: u8 = 1;
    pub(in super::super) const EQUAL_BIT: u8 = 2;
    pub(in super::super) const GREATER_BIT: u8 = 4;
    pub(in super::super) const UNORDERED_BIT: u8 = 8;

    /// Returns the lanes in which the comparison is true, given the lanes in which the first number is less than, equal to and greater than
    /// the second.
    #[inline(always)]
    pub(in super::super) fn holds(self, less: u32, equal: u32, greater: u32) -> u32 {
        let wanted = |relation: u8, lanes: u32| if self.0 & relation != 0 { lanes } else { 0 };
        wanted(Self::LESS_BIT, less)
            | wanted(Self::EQUAL_BIT, equal)
            | wanted(Self::GREATER_BIT, greater)
            | wanted(Self::UNORDERED_BIT, !(less | equal | greater))
    }
}

/// The logic function that combines a comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    /// Applies the function to 32 lanes in parallel.
    pub(in super::super) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// The number format of a conversion or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Number {
    /// An integer with its number of bytes; `true` if it is signed.
    Integer(u8, bool),
    /// A floating-point number with its number of bytes.
    Float(u8),
    /// The 16-bit format with 8 exponent bits (bfloat).
    Bfloat,
}

/// The element type of a tensor instruction's matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Element {
    /// Half precision.
    Half,
    /// The 16-bit format with 8 exponent bits and 7 fraction bits.
    Bfloat,
    /// Single precision without the last 13 fraction bits.
    Tf32,
    Double,
    /// The 8-bit format with 4 exponent bits and 3 fraction bits, without infinities.
    E4m3,
    /// The 8-bit format with 5 exponent bits and 2 fraction bits.
    E5m2,
    /// An integer with its number of bits; `true` if it is signed. One-bit integers are multiplied by AND.
    Integer(u8, bool),
}

impl Element {
    /// Returns the bits of an element in registers.
    pub(in super::super) fn bits(self) -> usize {
        match self {
            Self::Double => 64,
            Self::Tf32 => 32,
            Self::Half | Self::Bfloat => 16,
            Self::E4m3 | Self::E5m2 => 8,
            Self::Integer(bits, _) => usize::from(bits),
        }
    }
}

/// The summation rule of an architecture's matrix unit for floating-point products.
///
/// The rule and its parameters follow MMA-Sim (arXiv 2511.10909), whose results equal the hardware's bits. The products of a chunk and the
/// running sum are aligned to the largest exponent among them, truncated to `fraction` bits, and added exactly. The sum is truncated to
/// single precision or rounded to half precision, and enters the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct SummationRule {
    /// Fraction bits that are kept below the largest exponent.
    pub(in super::super) fraction: u8,
    /// Bytes of a row of the first matrix per chunk.
    pub(in super::super) bytes: u8,
    /// Exponents of a zero for half-precision and for single-precision sums.
    pub(in super::super) zeros: [i16; 2],
}

impl SummationRule {
    /// The rule of Volta, and of Volta's instructions on Turing.
    pub(in super::super) const VOLTA: Self = Self { fraction: 23, bytes: 8, zeros: [-19, -131] };

    /// Returns the rule of warp-group products of byte-sized or larger elements.
    pub(in super::super) fn of_groups(bytes: bool) -> Self {
        Self { fraction: if bytes { 13 } else { 25 }, ..Self::of(90) }
    }

    /// Returns the rule of an architecture: 80 for sm_80.
    pub(in super::super) fn of(arch: u32) -> Self {
        match arch {
            ..75 => Self::VOLTA,
            75..90 => Self { fraction: 24, bytes: 16, zeros: [-20, -132] },
            _ => Self { fraction: 25, bytes: 32, zeros: [-21, -133] },
        }
    }
}

/// A matrix product of a warp: `m` x `k` by `k` x 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Tensor {
    /// Rows of the product: 8 or 16.
    pub(in super::super) m: u8,
    pub(in super::super) k: u8,
    pub(in super::super) a: Element,
    pub(in super::super) b: Element,
    /// True if sums have half precision.
    pub(in super::super) half: bool,
    /// True if integer sums saturate at 32 bits.
    pub(in super::super) saturate: bool,
    /// Rule of floating-point sums.
    pub(in super::super) rule: SummationRule,
}

/// A matrix product of a warp group: 64 x k by k x n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct GroupProduct {
    pub(in super::super) n: u16,
    pub(in super::super) k: u16,
    pub(in super::super) a: Element,
    pub(in super::super) b: Element,
    /// True if sums have half precision.
    pub(in super::super) half: bool,
    /// True if integer sums saturate at 32 bits.
    pub(in super::super) saturate: bool,
    /// True if the first matrix is in registers.
    pub(in super::super) registers: bool,
    /// For each matrix, `true` if k is its slow dimension.
    pub(in super::super) transposed: [bool; 2],
    /// For each matrix, `true` if its elements are negated.
    pub(in super::super) negated: [bool; 2],
}

/// An operation on a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mbarrier {
    /// A write of the barrier's word, which initialises it.
    Write,
    /// Arrivals and expected bytes; with `complete` the bytes have arrived. `drops` also lowers the number of arrivals of the next phases.
    Arrive { arrivals: Amount, bytes: Amount, complete: bool, drops: bool },
    /// A test for a complete phase; `waits` is true if the instruction waits for completion.
    Check { waits: bool },
    /// Invalidation of the barrier.
    Invalidate,
    /// An arrival, or a byte, at the completion of the lane's previous copies.
    Copies { bytes: bool },
    /// An arrival at a barrier in Ampere's format; with `copies` at the completion of the previous copies.
    Arrive80 { copies: bool },
}

/// The amount of arrivals or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Amount {
    None,
    One,
    /// The value of a register.
    Register,
}

/// A copy by the tensor memory accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Bulk {
    /// A load of a box of a tensor with `rank` dimensions to shared memory, of several CTAs if `multicast`.
    LoadTensor {
        rank: u8,
        multicast: bool,
    },
    StoreTensor {
        rank: u8,
    },
    ReduceTensor {
        rank: u8,
        op: AtomicOp,
    },
    /// A load of a linear piece to shared memory.
    Load {
        multicast: bool,
    },
    Store,
    /// A copy between the shared memories of a cluster.
    Move,
    Reduce {
        op: AtomicOp,
        kind: BulkType,
    },
    /// A prefetch, which only moves data between caches.
    Prefetch,
}

/// The element type of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BulkType {
    Atomic(AtomicType),
    Half,
    Bfloat,
}

/// The operands of a minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum MinMaxOperands {
    /// The first two sources.
    Two,
    /// Three sources.
    Three,
    /// The sum of the first two sources, and the third.
    Sum,
}

/// A minimum or maximum of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Pick {
    pub(in super::super) of: MinMaxOperands,
    pub(in super::super) signed: bool,
    /// True if each half of a word is processed separately.
    pub(in super::super) halves: bool,
    /// True if negative results become zero.
    pub(in super::super) rectify: bool,
}

/// The functions of MUFU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum MufuOp {
    Rcp,
    Rsq,
    Sqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    Rcp64,
    Rsq64,
}

/// The operation of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    /// Compare and swap; returns the old value.
    Swap,
    /// Compare and swap; returns 1 if it swapped, otherwise 0.
    Cast,
    /// Adds one for each active lane.
    Count,
}

impl AtomicOp {
    /// Returns the operation that a modifier names.
    pub(in super::super) fn named(part: &str) -> Option<Self> {
        Some(match part {
            "ADD" | "SUM" => Self::Add,
            "MIN" => Self::Min,
            "MAX" => Self::Max,
            "INC" => Self::Inc,
            "DEC" => Self::Dec,
            "AND" => Self::And,
            "OR" => Self::Or,
            "XOR" => Self::Xor,
            "EXCH" => Self::Exchange,
            "CAS" => Self::Swap,
            "CAST" => Self::Cast,
            _ => return None,
        })
    }
}

/// The operand type of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum AtomicType {
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
    /// A pair of half-precision numbers.
    F16x2,
}

impl AtomicType {
    /// Returns true if the type has 64 bits.
    pub(in super::super) fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::S64 | Self::F64)
    }
}

/// A texture or surface instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Image {
    pub(in super::super) access: ImageAccess,
    /// Number of dimensions, 1 to 3, without layers.
    pub(in super::super) dimensions: u8,
    /// True if there are layers; the layer number precedes the coordinates of a texture and follows the coordinates of a surface.
    pub(in super::super) layered: bool,
    /// Mask of the requested components of a texel.
    pub(in super::super) mask: u8,
    /// True if the object is a constant of the launch or a uniform register; otherwise it is the first register of the second group.
    pub(in super::super) bound: bool,
    /// True if a level of detail follows the coordinates.
    pub(in super::super) level: bool,
    /// Number of coordinates in the first group of registers.
    pub(in super::super) first: u8,
}

/// The kind of an image access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ImageAccess {
    /// A sample at floating-point coordinates.
    Sample,
    /// A texel at integer coordinates.
    Fetch,
    /// One component of the four texels around a coordinate.
    Gather(u8),
    /// A query of the image's sizes.
    Query,
    /// A load of bytes from a surface; the first coordinate counts bytes.
    Load {
        bytes: u8,
        signed: bool,
        beyond: SurfaceOverrun,
    },
    Store {
        bytes: u8,
        beyond: SurfaceOverrun,
    },
}

/// The behaviour of an access beyond a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum SurfaceOverrun {
    /// The access traps and stops the program.
    Trap,
    /// The access reads zeros and writes nothing.
    Zero,
    /// The access uses the nearest coordinates inside.
    Clamp,
}

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Space {
    Global,
    Shared,
    Local,
    /// The generic space; the windows of shared and local memory determine the actual space.
    Generic,
}

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Special {
    Zero,
    /// Index of the thread in its CTA, in one dimension.
    Thread(u8),
    /// Index of the CTA in the grid, in one dimension.
    Cta(u8),
    Lane,
    Warp,
    /// Instructions that the warp has executed: low or high word of their number.
    Clock(u8),
    /// Masks of lanes relative to the lane itself: equal, less, less or equal, greater, greater or equal.
    LaneMask(u8),
    /// High word of the address of the shared-memory window.
    SharedWindow,
    /// Rank of the CTA in its cluster.
    ClusterRank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum VoteMode {
    All,
    Any,
    Equal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ShuffleMode {
    Index,
    Up,
    Down,
    Butterfly,
}

/// The kind of a CTA barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Barrier {
    Sync,
    Arrive,
    /// A barrier that counts the threads whose predicate is true.
    Count,
    And,
    Or,
}
