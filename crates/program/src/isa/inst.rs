//! An instruction that is ready to execute.

use super::super::operand::Half;
use super::kinds::Special;
use super::op::{Group, Op};

/// Rows of the table of constants begin here.
pub(in super::super) const POOL: u16 = 0x8000;

/// How the registers of a warp are laid out: a row holds one register of all 32 lanes.
///
/// First come the registers, then rows that read as zero and rows that swallow writes (for RZ, as wide as the widest access), then the
/// uniform registers, whose rows hold the same value in every lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Rows {
    /// Rows of ordinary registers.
    pub(in super::super) registers: u16,
    /// Rows of uniform registers.
    pub(in super::super) uniform: u16,
}

/// Registers of the widest operand.
const WIDEST: u16 = 8;

impl Rows {
    /// The first row that reads as zero.
    pub(in super::super) fn zero(self) -> u16 {
        self.registers
    }

    /// The first row that swallows writes.
    pub(in super::super) fn sink(self) -> u16 {
        self.registers + WIDEST
    }

    /// The row of the first uniform register.
    pub(in super::super) fn first_uniform(self) -> u16 {
        self.registers + 2 * WIDEST
    }

    /// Rows in all.
    pub(in super::super) fn count(self) -> usize {
        usize::from(self.first_uniform() + self.uniform)
    }
}

/// A source: a row, and how its value is changed when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Source {
    /// A register's row, or from [`POOL`] on a constant's.
    pub(in super::super) row: u16,
    pub(in super::super) negate: bool,
    pub(in super::super) absolute: bool,
    pub(in super::super) invert: bool,
    pub(in super::super) half: Half,
    /// Which byte a conversion reads.
    pub(in super::super) byte: u8,
}

impl Source {
    /// Whether the row is read as it is.
    pub(in super::super) fn plain(&self) -> bool {
        !self.negate && !self.absolute && !self.invert
    }
}

/// A predicate that is read: 0 to 7 are P0 to PT, 8 to 15 UP0 to UPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PredicateSource {
    pub(in super::super) index: u8,
    pub(in super::super) invert: bool,
}

impl PredicateSource {
    /// PT.
    pub(in super::super) const TRUE: Self = Self { index: 7, invert: false };
}

/// Predicates are written here when nobody wants them.
pub(in super::super) const PREDICATE_SINK: u8 = 16;

/// The address of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Address {
    /// The row of the register that is added, scaled.
    pub(in super::super) row: u16,
    /// Whether that register is a pair of 64 bits.
    pub(in super::super) wide: bool,
    pub(in super::super) scale: u8,
    /// The row of the uniform register that is added.
    pub(in super::super) uniform: u16,
    /// Whether the uniform register is a pair of 64 bits.
    pub(in super::super) uniform_wide: bool,
    pub(in super::super) offset: i64,
    /// The bank of a constant.
    pub(in super::super) bank: u8,
}

/// An instruction that is ready to execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Inst {
    pub(in super::super) op: Op,
    /// The part of the executor that executes it.
    pub(in super::super) group: Group,
    pub(in super::super) guard: PredicateSource,
    /// The first row that is written.
    pub(in super::super) dst: u16,
    /// Predicates that are written.
    pub(in super::super) predicates: [u8; 2],
    pub(in super::super) src: [Source; 3],
    pub(in super::super) conditions: [PredicateSource; 3],
    pub(in super::super) address: Address,
    /// A place to jump to, a shift, a truth table: what the opcode says.
    pub(in super::super) immediate: u32,
    /// Executed once for the warp, whatever lanes are active.
    pub(in super::super) uniform: bool,
    /// A load whose value a compare-and-swap at the same address checks: when others have changed it, the swap fails.
    pub(in super::super) rechecked: bool,
}

impl Inst {
    /// Whether it reads a clock or a timer.
    pub(in super::super) fn reads_clock(&self) -> bool {
        matches!(self.op, Op::Special(Special::Clock(_), _))
    }
}
