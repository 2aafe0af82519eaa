//! Decoded instructions that are ready to execute.

use super::super::operand::Half;
use super::kinds::Special;
use super::op::{ExecutorGroup, Op};

/// First row number of constants.
pub(in super::super) const FIRST_CONSTANT_ROW: u16 = 0x8000;

/// The layout of a warp's registers: a row holds one register of all 32 lanes.
///
/// The ordinary registers come first, then rows that read as zero and rows that discard writes (for RZ, as many as the widest access
/// needs), then the uniform registers, whose rows hold the same value in every lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Rows {
    /// Number of rows of ordinary registers.
    pub(in super::super) registers: u16,
    /// Number of rows of uniform registers.
    pub(in super::super) uniform: u16,
}

/// Registers of the widest operand.
const WIDEST_OPERAND_REGISTERS: u16 = 8;

impl Rows {
    /// Returns the first row that reads as zero.
    pub(in super::super) fn zero(self) -> u16 {
        self.registers
    }

    /// Returns the first row that discards writes.
    pub(in super::super) fn sink(self) -> u16 {
        self.registers + WIDEST_OPERAND_REGISTERS
    }

    /// Returns the row of the first uniform register.
    pub(in super::super) fn first_uniform(self) -> u16 {
        self.registers + 2 * WIDEST_OPERAND_REGISTERS
    }

    /// Returns the total number of rows.
    pub(in super::super) fn count(self) -> usize {
        usize::from(self.first_uniform() + self.uniform)
    }
}

/// A source operand: a row and its modifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Source {
    /// Row of a register, or of a constant from [`FIRST_CONSTANT_ROW`] on.
    pub(in super::super) row: u16,
    pub(in super::super) negate: bool,
    pub(in super::super) absolute: bool,
    pub(in super::super) invert: bool,
    pub(in super::super) half: Half,
    /// Byte of the register that a conversion reads.
    pub(in super::super) byte: u8,
}

impl Source {
    /// Returns true if the row is read without modifiers.
    pub(in super::super) fn plain(&self) -> bool {
        !self.negate && !self.absolute && !self.invert
    }
}

/// A source predicate: 0 to 7 are P0 to PT, 8 to 15 are UP0 to UPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PredicateSource {
    pub(in super::super) index: u8,
    pub(in super::super) invert: bool,
}

impl PredicateSource {
    /// The predicate PT, which is always true.
    pub(in super::super) const TRUE: Self = Self { index: 7, invert: false };
}

/// Index of the predicate that receives discarded results.
pub(in super::super) const PREDICATE_SINK: u8 = 16;

/// The address operand of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Address {
    /// Row of the register that is scaled and added.
    pub(in super::super) row: u16,
    /// True if the register is a 64-bit pair.
    pub(in super::super) wide: bool,
    pub(in super::super) scale: u8,
    /// Row of the uniform register that is added.
    pub(in super::super) uniform: u16,
    /// True if the uniform register is a 64-bit pair.
    pub(in super::super) uniform_wide: bool,
    pub(in super::super) offset: i64,
    /// Bank of a constant.
    pub(in super::super) bank: u8,
}

/// A decoded instruction that is ready to execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Inst {
    pub(in super::super) op: Op,
    /// Part of the executor that executes the instruction.
    pub(in super::super) group: ExecutorGroup,
    pub(in super::super) guard: PredicateSource,
    /// First row of the destination.
    pub(in super::super) dst: u16,
    /// Destination predicates.
    pub(in super::super) predicates: [u8; 2],
    pub(in super::super) src: [Source; 3],
    pub(in super::super) conditions: [PredicateSource; 3],
    pub(in super::super) address: Address,
    /// Immediate value, whose meaning depends on the opcode: a jump target, a shift amount, or a truth table.
    pub(in super::super) immediate: u32,
    /// True if the instruction executes once per warp, independent of the active lanes.
    pub(in super::super) uniform: bool,
    /// True for a load whose value a compare-and-swap at the same address checks: if other threads have changed the value, the swap fails.
    pub(in super::super) rechecked: bool,
}

impl Inst {
    /// Returns true if the instruction reads a clock or a timer.
    pub(in super::super) fn reads_clock(&self) -> bool {
        matches!(self.op, Op::Special(Special::Clock(_), _))
    }
}
