//! Modifiers of instructions: rounding modes, comparisons, data types, memory spaces.

/// How a result that lies between two numbers is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Round {
    #[default]
    Near,
    Zero,
    Down,
    Up,
}

/// Modifiers of arithmetic in floating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Float {
    /// Denormals count as zero.
    pub(in super::super) flush: bool,
    /// The result is limited to 0 to 1.
    pub(in super::super) saturate: bool,
    pub(in super::super) round: Round,
}

/// Modifiers of arithmetic on two numbers of 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Halves {
    pub(in super::super) bfloat: bool,
    /// The result is limited to 0 to 1.
    pub(in super::super) saturate: bool,
    /// What is negative becomes zero.
    pub(in super::super) rectify: bool,
}

/// A comparison: which of less, equal, greater and unordered make it true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Compare(pub(in super::super) u8);

impl Compare {
    pub(in super::super) const LESS: u8 = 1;
    pub(in super::super) const EQUAL: u8 = 2;
    pub(in super::super) const GREATER: u8 = 4;
    pub(in super::super) const UNORDERED: u8 = 8;

    /// The lanes in which it holds, given those in which a number is less than another, equal to it and greater.
    #[inline(always)]
    pub(in super::super) fn holds(self, less: u32, equal: u32, greater: u32) -> u32 {
        let wanted = |relation: u8, lanes: u32| if self.0 & relation != 0 { lanes } else { 0 };
        wanted(Self::LESS, less)
            | wanted(Self::EQUAL, equal)
            | wanted(Self::GREATER, greater)
            | wanted(Self::UNORDERED, !(less | equal | greater))
    }
}

/// How a comparison is combined with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    /// Combines 32 lanes at once.
    pub(in super::super) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// The kind of a number in a conversion or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Number {
    /// An integer: bytes, and whether it has a sign.
    Integer(u8, bool),
    /// Floating point of so many bytes.
    Float(u8),
    /// The 16-bit format with 8 bits of exponent.
    Bfloat,
}

/// The elements of a matrix that a tensor instruction multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Element {
    /// Half precision.
    Half,
    /// 8 bits of exponent and 7 of fraction.
    Bfloat,
    /// Single precision without the last 13 bits of the fraction.
    Tf32,
    Double,
    /// 4 bits of exponent and 3 of fraction; no infinities.
    E4m3,
    /// 5 bits of exponent and 2 of fraction.
    E5m2,
    /// Integers of so many bits, and whether they have a sign; those of one bit are multiplied by AND.
    Integer(u8, bool),
}

impl Element {
    /// Bits of an element in registers.
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

/// How an architecture's matrix unit adds products of floating point.
///
/// The rule and its figures are those of MMA-Sim (arXiv 2511.10909), whose results are the hardware's bits: the products of a chunk and
/// the sum so far are aligned to the largest exponent among them, truncated to `fraction` bits, and added exactly; the sum is truncated to
/// single precision or rounded to half precision, and goes into the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Rule {
    /// Bits of the fraction that are kept below the largest exponent.
    pub(in super::super) fraction: u8,
    /// Bytes of a row of the first matrix in a chunk.
    pub(in super::super) bytes: u8,
    /// The exponent that a zero has, with sums of half and of single precision.
    pub(in super::super) zeros: [i16; 2],
}

impl Rule {
    /// That of Volta, and of its instructions on Turing.
    pub(in super::super) const VOLTA: Self = Self { fraction: 23, bytes: 8, zeros: [-19, -131] };

    /// That of products of warp groups, of bytes or of larger elements.
    pub(in super::super) fn of_groups(bytes: bool) -> Self {
        Self { fraction: if bytes { 13 } else { 25 }, ..Self::of(90) }
    }

    /// That of an architecture: 80 for sm_80.
    pub(in super::super) fn of(arch: u32) -> Self {
        match arch {
            ..75 => Self::VOLTA,
            75..90 => Self { fraction: 24, bytes: 16, zeros: [-20, -132] },
            _ => Self { fraction: 25, bytes: 32, zeros: [-21, -133] },
        }
    }
}

/// A product of matrices by a warp: `m` x `k` by `k` x 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Tensor {
    /// Rows: 8 or 16.
    pub(in super::super) m: u8,
    pub(in super::super) k: u8,
    pub(in super::super) a: Element,
    pub(in super::super) b: Element,
    /// Sums of half precision.
    pub(in super::super) half: bool,
    /// Integer sums saturate at 32 bits.
    pub(in super::super) saturate: bool,
    /// How sums of floating point are made.
    pub(in super::super) rule: Rule,
}

/// A product of matrices by a warp group: 64 x k by k x n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct GroupProduct {
    pub(in super::super) n: u16,
    pub(in super::super) k: u16,
    pub(in super::super) a: Element,
    pub(in super::super) b: Element,
    /// Sums of half precision.
    pub(in super::super) half: bool,
    /// Integer sums saturate at 32 bits.
    pub(in super::super) saturate: bool,
    /// The first matrix lies in registers.
    pub(in super::super) registers: bool,
    /// The matrices lie with k as their slow dimension.
    pub(in super::super) transposed: [bool; 2],
    /// The matrices are taken with the other sign.
    pub(in super::super) negated: [bool; 2],
}

/// What is done with a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mbarrier {
    /// Its word is written, which initialises it.
    Write,
    /// Arrivals, then bytes that are expected, or with `complete` have come. `drops` lowers the number of arrivals of the next phases, too.
    Arrive { arrivals: Amount, bytes: Amount, complete: bool, drops: bool },
    /// Whether a phase is complete; `waits` until it is.
    Check { waits: bool },
    /// It is a barrier no longer.
    Invalidate,
    /// An arrival, or a byte, when the copies so far of the lane are complete.
    Copies { bytes: bool },
    /// An arrival at a barrier of Ampere's form; `copies`: when the copies so far are complete.
    Arrive80 { copies: bool },
}

/// How much of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Amount {
    None,
    One,
    /// What the register holds.
    Register,
}

/// A copy by the tensor memory accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Bulk {
    /// A box of a tensor of so many dimensions to shared memory, of several CTAs if `multicast`.
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
    /// A linear piece to shared memory.
    Load {
        multicast: bool,
    },
    Store,
    /// Between the shared memories of a cluster.
    Move,
    Reduce {
        op: AtomicOp,
        kind: BulkType,
    },
    /// Only moves data between caches.
    Prefetch,
}

/// The type of the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BulkType {
    Atomic(AtomicType),
    Half,
    Bfloat,
}

/// Which numbers a minimum or maximum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Picked {
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
    pub(in super::super) of: Picked,
    pub(in super::super) signed: bool,
    /// Of each half of a word.
    pub(in super::super) halves: bool,
    /// What is negative becomes zero.
    pub(in super::super) rectify: bool,
}

/// What MUFU computes.
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

/// What an atomic access does with memory.
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
    /// Compare and swap; returns 1 where it swapped, else 0.
    Cast,
    /// Adds one for each lane.
    Count,
}

impl AtomicOp {
    /// The operation that a modifier names.
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

/// The type of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum AtomicType {
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
    /// Two numbers of half precision.
    F16x2,
}

impl AtomicType {
    /// Whether it has 64 bits.
    pub(in super::super) fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::S64 | Self::F64)
    }
}

/// A texture or surface instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Image {
    pub(in super::super) access: ImageAccess,
    /// 1 to 3, without layers.
    pub(in super::super) dimensions: u8,
    /// The number of a layer precedes the coordinates of a texture, and follows those of a surface.
    pub(in super::super) layered: bool,
    /// The numbers of a texel that are wanted.
    pub(in super::super) mask: u8,
    /// Whether the object is a constant of the launch or uniform register, not the first of the second group.
    pub(in super::super) bound: bool,
    /// Whether a level of detail follows the coordinates.
    pub(in super::super) level: bool,
    /// How many coordinates the first group of registers holds.
    pub(in super::super) first: u8,
}

/// What is done with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ImageAccess {
    /// A texel at coordinates of floating point.
    Sample,
    /// A texel by its integer coordinates.
    Fetch,
    /// This number of the four texels around a place.
    Gather(u8),
    /// The sizes of an image.
    Query,
    /// Bytes of a surface, whose first coordinate counts bytes.
    Load {
        bytes: u8,
        signed: bool,
        beyond: Beyond,
    },
    Store {
        bytes: u8,
        beyond: Beyond,
    },
}

/// What an access beyond a surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Beyond {
    /// The program stops.
    Trap,
    /// It reads zeros and writes nothing.
    Zero,
    /// It takes the nearest place.
    Clamp,
}

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Space {
    Global,
    Shared,
    Local,
    /// Told apart by the windows of shared and local memory.
    Generic,
}

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Special {
    Zero,
    /// The thread's index in its CTA: dimension.
    Thread(u8),
    /// The CTA's index in the grid: dimension.
    Cta(u8),
    Lane,
    Warp,
    /// Instructions that the warp has executed: low or high word.
    Clock(u8),
    /// Lanes equal, below, up to, above, from the own one.
    LaneMask(u8),
    /// The high word of the window of shared memory.
    SharedWindow,
    /// The number of the CTA in its cluster.
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

/// What a barrier of the CTA does beyond waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Barrier {
    Sync,
    Arrive,
    /// Counts the threads whose condition holds.
    Count,
    And,
    Or,
}
