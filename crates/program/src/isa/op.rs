//! Operations, and the part of the executor that each belongs to.

use super::super::operand::Half;
use super::kinds::{
    AtomicOp, AtomicType, Barrier, Bulk, Compare, Float, GroupProduct, Halves, Image, Logic, Mbarrier, MufuOp, Number, Pick, Round,
    ShuffleMode, Space, Special, Tensor, VoteMode,
};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Op {
    Nop,
    // Integers.
    Mov,
    MovPair,
    /// The value of the first lane, and whether others have different ones.
    ReadFirst,
    Add3 {
        extended: bool,
    },
    /// The sum of three numbers of 64 bits.
    AddPairs,
    MulAdd {
        extended: bool,
    },
    MulAddHigh {
        signed: bool,
        extended: bool,
    },
    MulAddWide {
        signed: bool,
        extended: bool,
    },
    CompareInt {
        compare: Compare,
        signed: bool,
        logic: Logic,
        extended: bool,
    },
    Logic3 {
        logic: Logic,
    },
    PredicateLogic,
    Shift {
        left: bool,
        high: bool,
        wrap: bool,
        wide: bool,
        signed: bool,
    },
    ShiftAdd {
        high: bool,
        extended: bool,
        sign: bool,
    },
    MinMax {
        signed: bool,
    },
    AddHalves,
    /// The minimum or maximum of sums, of three numbers, of halves, or of those and zero.
    Pick(Pick),
    Abs,
    PopCount,
    FindLeading {
        signed: bool,
        shift: bool,
    },
    Reverse,
    BitMask {
        wrap: bool,
    },
    SignExtend {
        signed: bool,
        wrap: bool,
    },
    Permute,
    Select,
    /// A part of a word, extended.
    Extract(Number),
    DotBytes {
        a: bool,
        b: bool,
    },
    /// Two products of 16 bits of one source and 8 of the other, of its upper half if `high`.
    DotHalves {
        a: bool,
        b: bool,
        high: bool,
    },
    AbsDifference {
        signed: bool,
    },
    /// Differences of bytes, and whether they are summed.
    AbsDifferenceBytes {
        signed: bool,
        sum: bool,
    },
    /// Into a byte of the register.
    PredicatesToRegister {
        byte: u8,
    },
    RegisterToPredicates,
    // Single precision.
    FAdd(Float),
    FMul(Float),
    /// A product times a power of two.
    FMulScaled(Float, i8),
    FFma(Float),
    /// `number`: a number is preferred to what is none.
    FMinMax {
        flush: bool,
        number: bool,
    },
    CompareFloat {
        compare: Compare,
        logic: Logic,
        flush: bool,
    },
    SetFloat {
        compare: Compare,
        logic: Logic,
        flush: bool,
        float: bool,
    },
    FSelect,
    CheckDivision,
    Mufu(MufuOp),
    /// The same of half precision or bfloats.
    MufuHalf {
        op: MufuOp,
        bfloat: bool,
    },
    // Double precision.
    DAdd(Round),
    DMul(Round),
    DFma(Round),
    CompareDouble {
        compare: Compare,
        logic: Logic,
    },
    /// Which of two numbers is the minimum or maximum, and whether neither is a number.
    PickDouble {
        max: bool,
    },
    // Half precision.
    HAdd(Halves),
    /// The first sources' low halves added in single precision.
    HAddSingle,
    HMul(Halves),
    HFma(Halves),
    HMinMax {
        bfloat: bool,
        number: bool,
    },
    CompareHalf {
        compare: Compare,
        logic: Logic,
        bfloat: bool,
    },
    SetHalf {
        compare: Compare,
        logic: Logic,
        bfloat: bool,
        float: bool,
    },
    // Conversions.
    FloatToFloat {
        to: Number,
        from: Number,
        round: Round,
        flush: bool,
        integral: Option<Round>,
    },
    FloatToInt {
        to: Number,
        from: Number,
        round: Round,
        flush: bool,
    },
    IntToFloat {
        to: Number,
        from: Number,
        round: Round,
    },
    PackHalves {
        bfloat: bool,
        round: Round,
        rectify: bool,
    },
    /// An integer limited to the range of a smaller one.
    IntToInt(Number),
    /// Two integers limited to the range of a smaller one, and the low bits of a third word above them.
    PackIntegers(Number),
    // Across lanes.
    Vote(VoteMode),
    Match {
        all: bool,
        /// Of pairs of registers.
        wide: bool,
    },
    Shuffle(ShuffleMode),
    Reduce {
        op: AtomicOp,
        signed: bool,
    },
    Special(Special, bool),
    // Matrices.
    Tensor(Tensor),
    /// A step of a product of Volta's: 8 x 4 by 4 x 8 in each of four groups of eight lanes.
    Quad {
        step: u8,
        half: bool,
        a_column: bool,
        b_column: bool,
    },
    TransposeMatrix,
    /// A texture or surface.
    Image(Image),
    // Memory.
    Load {
        space: Space,
        number: Number,
        words: u8,
    },
    Store {
        space: Space,
        bytes: u8,
    },
    LoadConstant {
        number: Number,
        words: u8,
    },
    Atomic {
        space: Space,
        op: AtomicOp,
        kind: AtomicType,
        returns: bool,
    },
    QuerySpace(Space),
    /// Matrices of 8 x 8 halves from shared memory.
    LoadMatrix {
        count: u8,
        transposed: bool,
    },
    /// A copy from device to shared memory that is complete when it is waited for.
    CopyAsync {
        bytes: u8,
    },
    GroupCopies,
    WaitCopies,
    /// Matrices of 8 x 8 halves to shared memory.
    StoreMatrix {
        count: u8,
        transposed: bool,
    },
    /// A barrier that is an object in shared memory.
    Mbarrier(Mbarrier),
    /// A copy by the tensor memory accelerator, of a linear piece or of a box of a tensor.
    Bulk(Bulk),
    /// A product of matrices by a warp group.
    GroupProduct(GroupProduct),
    /// The warps of a warp group wait for each other's products.
    WaitProducts,
    // Clusters of CTAs.
    ClusterArrive,
    ClusterWait,
    // Control.
    /// Whether the lane is the first active one.
    Elect,
    /// Asks for more registers, which are always there.
    TakeRegisters,
    /// All lanes go the same way if the predicate holds in any.
    BranchAny,
    Branch,
    /// Whether the lanes must be all that a word names, or all that have not exited, to go on, or to jump.
    BranchDiverged {
        together: bool,
    },
    BranchIndirect,
    SetSync,
    Sync,
    Break,
    BarrierToRegister {
        clear: bool,
    },
    RegisterToBarrier,
    /// Lanes meet; those with one mask go on alone where it is exclusive.
    WarpSync {
        exclusive: bool,
    },
    /// All lanes that have not exited meet.
    WarpSyncAll,
    Call,
    /// A function of the runtime, by its address.
    CallOutside,
    LoadPlace,
    /// To the place in a register, counted from the one that is named: a return, or a call through a pointer.
    JumpTo,
    Exit,
    Barrier(Barrier),
    BarrierResult,
    Yield,
    Trap,
}

/// Which part of the executor executes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Group {
    Integer,
    Float,
    Access,
    Branch,
    Image,
    /// What a stream tells in words of its own.
    Beside,
    Other,
}

impl Op {
    /// The part that executes it.
    pub(in super::super) fn group(self) -> Group {
        match self {
            Self::Mov
            | Self::MovPair
            | Self::ReadFirst
            | Self::Add3 { .. }
            | Self::AddPairs
            | Self::MulAdd { .. }
            | Self::MulAddHigh { .. }
            | Self::MulAddWide { .. }
            | Self::CompareInt { .. }
            | Self::Logic3 { .. }
            | Self::PredicateLogic
            | Self::Shift { .. }
            | Self::ShiftAdd { .. }
            | Self::MinMax { .. }
            | Self::Pick(_)
            | Self::Abs
            | Self::PopCount
            | Self::FindLeading { .. }
            | Self::Reverse
            | Self::BitMask { .. }
            | Self::SignExtend { .. }
            | Self::Extract(_)
            | Self::AddHalves
            | Self::DotHalves { .. }
            | Self::AbsDifferenceBytes { .. }
            | Self::IntToInt(_)
            | Self::PackIntegers(_)
            | Self::Permute
            | Self::Select
            | Self::FSelect
            | Self::DotBytes { .. }
            | Self::AbsDifference { .. }
            | Self::PredicatesToRegister { .. }
            | Self::RegisterToPredicates => Group::Integer,
            Self::FAdd(_)
            | Self::FMul(_)
            | Self::FMulScaled(..)
            | Self::FFma(_)
            | Self::FMinMax { .. }
            | Self::CompareFloat { .. }
            | Self::SetFloat { .. }
            | Self::CheckDivision
            | Self::Mufu(_)
            | Self::MufuHalf { .. }
            | Self::PickDouble { .. }
            | Self::DAdd(_)
            | Self::DMul(_)
            | Self::DFma(_)
            | Self::CompareDouble { .. }
            | Self::HAdd(_)
            | Self::HAddSingle
            | Self::HMul(_)
            | Self::HFma(_)
            | Self::HMinMax { .. }
            | Self::CompareHalf { .. }
            | Self::SetHalf { .. } => Group::Float,
            Self::Load { .. }
            | Self::Store { .. }
            | Self::Atomic { .. }
            | Self::QuerySpace(_)
            | Self::LoadMatrix { .. }
            | Self::StoreMatrix { .. }
            | Self::CopyAsync { .. }
            | Self::GroupCopies
            | Self::WaitCopies => Group::Access,
            Self::Branch => Group::Branch,
            Self::Image(_) => Group::Image,
            Self::Mbarrier(_) | Self::Bulk(_) | Self::LoadConstant { .. } => Group::Beside,
            _ => Group::Other,
        }
    }

    /// Whether it is a matrix product.
    pub(in super::super) fn is_product(self) -> bool {
        matches!(self, Self::Tensor(_) | Self::Quad { .. } | Self::GroupProduct(_))
    }

    /// Whether operands that are written as numbers are floating point, whose bits stand in the instruction word.
    pub(in super::super) fn takes_floats(self) -> bool {
        matches!(
            self,
            Self::FAdd(_)
                | Self::FMul(_)
                | Self::FMulScaled(..)
                | Self::FFma(_)
                | Self::FMinMax { .. }
                | Self::CompareFloat { .. }
                | Self::SetFloat { .. }
                | Self::FSelect
                | Self::CheckDivision
                | Self::Mufu(_)
                | Self::MufuHalf { .. }
                | Self::FloatToFloat { .. }
                | Self::FloatToInt { .. }
                | Self::PackHalves { .. }
        ) || self.takes_doubles()
            || self.takes_halves()
    }

    /// Whether its sources are pairs of numbers of 16 bits.
    pub(in super::super) fn takes_halves(self) -> bool {
        matches!(
            self,
            Self::HAdd(_)
                | Self::HAddSingle
                | Self::HMul(_)
                | Self::HFma(_)
                | Self::HMinMax { .. }
                | Self::CompareHalf { .. }
                | Self::SetHalf { .. }
        )
    }

    /// Whether a source may be a byte of a register that is not the lowest.
    pub(in super::super) fn takes_bytes(self) -> bool {
        matches!(self, Self::IntToFloat { from: Number::Integer(1, _), .. } | Self::RegisterToPredicates)
    }

    /// Whether a source may be that half of a register, or the whole as a number of single precision.
    pub(in super::super) fn takes_parts(self, part: Half) -> bool {
        let halves = match self {
            Self::IntToFloat { from, .. } => matches!(from, Number::Integer(2, _)),
            Self::FloatToFloat { from, .. } | Self::FloatToInt { from, .. } => matches!(from, Number::Float(2) | Number::Bfloat),
            _ => matches!(self, Self::MufuHalf { .. }),
        };
        self.takes_halves() || halves && part != Half::Single
    }

    /// Whether its sources are of double precision.
    pub(in super::super) fn takes_doubles(self) -> bool {
        matches!(self, Self::DAdd(_) | Self::DMul(_) | Self::DFma(_) | Self::CompareDouble { .. } | Self::PickDouble { .. })
            || matches!(self, Self::FloatToFloat { from: Number::Float(8), .. } | Self::FloatToInt { from: Number::Float(8), .. })
    }
}
