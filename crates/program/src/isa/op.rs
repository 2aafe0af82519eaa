//! Operations, and the executor group of each.

use super::super::operand::Half;
use super::kinds::{
    AtomicOp, AtomicType, Barrier, Bulk, Compare, Float, GroupProduct, Halves, Image, Logic, Mbarrier, MufuOp, Number, Pick, Round,
    ShuffleMode, Space, Special, Tensor, VoteMode,
};

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Op {
    Nop,
    // Integer operations.
    Mov,
    MovPair,
    /// The value of the first active lane; the predicate is true if other lanes have different values.
    ReadFirst,
    Add3 {
        extended: bool,
    },
    /// A sum of three 64-bit integers.
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
    /// A minimum or maximum of sums, of three numbers, or of halves, optionally with zero.
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
    /// A part of a word, zero- or sign-extended.
    Extract(Number),
    DotBytes {
        a: bool,
        b: bool,
    },
    /// Two products of 16-bit parts of one source and 8-bit parts of the other, of its upper half if `high`.
    DotHalves {
        a: bool,
        b: bool,
        high: bool,
    },
    AbsDifference {
        signed: bool,
    },
    /// Absolute differences of bytes, added up if `sum`.
    AbsDifferenceBytes {
        signed: bool,
        sum: bool,
    },
    /// All predicates as a byte of the register.
    PredicatesToRegister {
        byte: u8,
    },
    RegisterToPredicates,
    // Single-precision operations.
    FAdd(Float),
    FMul(Float),
    /// A product scaled by a power of two.
    FMulScaled(Float, i8),
    FFma(Float),
    /// A minimum or maximum; with `number` a number takes precedence over NaN.
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
    /// A MUFU function of half precision or bfloat.
    MufuHalf {
        op: MufuOp,
        bfloat: bool,
    },
    // Double-precision operations.
    DAdd(Round),
    DMul(Round),
    DFma(Round),
    CompareDouble {
        compare: Compare,
        logic: Logic,
    },
    /// The selection of the minimum or maximum of two numbers; a further predicate is true if both are NaN.
    PickDouble {
        max: bool,
    },
    // Half-precision operations.
    HAdd(Halves),
    /// The sum of the first two sources' low halves in single precision.
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
    /// An integer saturated to the range of a smaller type.
    IntToInt(Number),
    /// Two integers saturated to the range of a smaller type, below the low bits of a third word.
    PackIntegers(Number),
    // Cross-lane operations.
    Vote(VoteMode),
    Match {
        all: bool,
        /// True for 64-bit values in register pairs.
        wide: bool,
    },
    Shuffle(ShuffleMode),
    Reduce {
        op: AtomicOp,
        signed: bool,
    },
    Special(Special, bool),
    // Matrix operations.
    Tensor(Tensor),
    /// A step of Volta's matrix product: 8 x 4 by 4 x 8 in each of four groups of eight lanes.
    Quad {
        step: u8,
        half: bool,
        a_column: bool,
        b_column: bool,
    },
    TransposeMatrix,
    /// A texture or surface access.
    Image(Image),
    // Memory operations.
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
    /// A load of matrices of 8 x 8 halves from shared memory.
    LoadMatrix {
        count: u8,
        transposed: bool,
    },
    /// An asynchronous copy from device to shared memory (LDGSTS), which completes when the warp waits for it.
    CopyAsync {
        bytes: u8,
    },
    GroupCopies,
    WaitCopies,
    /// A store of matrices of 8 x 8 halves to shared memory.
    StoreMatrix {
        count: u8,
        transposed: bool,
    },
    /// An operation on a barrier object in shared memory.
    Mbarrier(Mbarrier),
    /// A copy by the tensor memory accelerator, of a linear piece or a box of a tensor.
    Bulk(Bulk),
    /// A matrix product of a warp group.
    GroupProduct(GroupProduct),
    /// A wait for the matrix products of the warp group.
    WaitProducts,
    // Operations of CTA clusters.
    ClusterArrive,
    ClusterWait,
    // Control operations.
    /// The election of the first active lane.
    Elect,
    /// A request for more registers, which always succeeds.
    RequestRegisters,
    /// A branch of all lanes if the predicate is true in any lane.
    BranchAny,
    Branch,
    /// A branch that depends on divergence: the active lanes are compared with a named mask, or with all lanes that have not exited. With
    /// `together` it is taken if they are equal, otherwise if they differ.
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
    /// A synchronisation of the lanes of a mask; with `exclusive` lanes with different masks continue on separate paths.
    WarpSync {
        exclusive: bool,
    },
    /// A synchronisation of all lanes that have not exited.
    WarpSyncAll,
    Call,
    /// A call of a runtime function by its address.
    CallRuntime,
    LoadPlace,
    /// A jump to a register value relative to a base address: a return, or a call through a pointer.
    JumpTo,
    Exit,
    Barrier(Barrier),
    BarrierResult,
    Yield,
    Trap,
}

/// The part of the executor that executes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ExecutorGroup {
    Integer,
    Float,
    Access,
    Branch,
    Image,
    /// Operations that add a separate payload to the stream.
    Payload,
    Other,
}

impl Op {
    /// Returns the executor group of the operation.
    pub(in super::super) fn group(self) -> ExecutorGroup {
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
            | Self::RegisterToPredicates => ExecutorGroup::Integer,
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
            | Self::SetHalf { .. } => ExecutorGroup::Float,
            Self::Load { .. }
            | Self::Store { .. }
            | Self::Atomic { .. }
            | Self::QuerySpace(_)
            | Self::LoadMatrix { .. }
            | Self::StoreMatrix { .. }
            | Self::CopyAsync { .. }
            | Self::GroupCopies
            | Self::WaitCopies => ExecutorGroup::Access,
            Self::Branch => ExecutorGroup::Branch,
            Self::Image(_) => ExecutorGroup::Image,
            Self::Mbarrier(_) | Self::Bulk(_) | Self::LoadConstant { .. } => ExecutorGroup::Payload,
            _ => ExecutorGroup::Other,
        }
    }

    /// Returns true for a matrix product.
    pub(in super::super) fn is_product(self) -> bool {
        matches!(self, Self::Tensor(_) | Self::Quad { .. } | Self::GroupProduct(_))
    }

    /// Returns true if numeric operands are floating-point numbers, whose bits are in the instruction word.
    pub(in super::super) fn has_float_operands(self) -> bool {
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
        ) || self.has_double_operands()
            || self.has_half_operands()
    }

    /// Returns true if the sources are pairs of 16-bit numbers.
    pub(in super::super) fn has_half_operands(self) -> bool {
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

    /// Returns true if a source may be any byte of a register.
    pub(in super::super) fn accepts_bytes(self) -> bool {
        matches!(self, Self::IntToFloat { from: Number::Integer(1, _), .. } | Self::RegisterToPredicates)
    }

    /// Returns true if a source may be half `part` of a register, or the whole register as a single-precision number.
    pub(in super::super) fn accepts_half(self, part: Half) -> bool {
        let halves = match self {
            Self::IntToFloat { from, .. } => matches!(from, Number::Integer(2, _)),
            Self::FloatToFloat { from, .. } | Self::FloatToInt { from, .. } => matches!(from, Number::Float(2) | Number::Bfloat),
            _ => matches!(self, Self::MufuHalf { .. }),
        };
        self.has_half_operands() || halves && part != Half::Single
    }

    /// Returns true if the sources have double precision.
    pub(in super::super) fn has_double_operands(self) -> bool {
        matches!(self, Self::DAdd(_) | Self::DMul(_) | Self::DFma(_) | Self::CompareDouble { .. } | Self::PickDouble { .. })
            || matches!(self, Self::FloatToFloat { from: Number::Float(8), .. } | Self::FloatToInt { from: Number::Float(8), .. })
    }
}
