//! Registers and predicates of a warp: each register is a row with the values of all 32 lanes.

use super::super::isa::{Inst, PredicateSource, Rows, Source};
use super::super::operand::Half;
use super::half;

/// The values of a register in all lanes.
pub(super) type RegisterRow = [u32; 32];
/// The values of a register pair in all lanes.
pub(super) type RegisterPair = [u64; 32];

/// First row number of constants.
const FIRST_CONSTANT_ROW: u16 = 0x8000;

/// The registers and predicates of a warp.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    rows: Vec<RegisterRow>,
    layout: Rows,
    /// P0 to PT, UP0 to UPT and a sink for discarded results; one bit per lane.
    predicates: [u32; 17],
}

impl Lanes {
    pub(super) fn new(layout: Rows) -> Self {
        let mut predicates = [0; 17];
        (predicates[7], predicates[15]) = (u32::MAX, u32::MAX);
        Self { rows: vec![[0; 32]; layout.count()], layout, predicates }
    }

    /// Returns true if the register file has the layout `layout`.
    pub(super) fn fits(&self, layout: Rows) -> bool {
        self.layout == layout
    }

    /// Clears all registers and predicates.
    pub(super) fn reset(&mut self) {
        self.rows.fill([0; 32]);
        self.predicates = [0; 17];
        (self.predicates[7], self.predicates[15]) = (u32::MAX, u32::MAX);
    }

    /// Returns a row without modifiers.
    #[inline(always)]
    pub(super) fn row<'a>(&'a self, pool: &'a [RegisterRow], row: u16) -> &'a RegisterRow {
        if row < FIRST_CONSTANT_ROW { &self.rows[usize::from(row)] } else { &pool[usize::from(row - FIRST_CONSTANT_ROW)] }
    }

    /// Returns a source as an integer, with its modifiers applied.
    #[inline(always)]
    pub(super) fn int<'a>(&'a self, pool: &'a [RegisterRow], source: &Source, buffer: &'a mut RegisterRow) -> &'a RegisterRow {
        let row = self.row(pool, source.row);
        if source.plain() {
            return row;
        }
        for (out, value) in buffer.iter_mut().zip(row) {
            let mut value = *value;
            if source.absolute {
                value = (value as i32).unsigned_abs();
            }
            if source.invert {
                value = !value;
            }
            *out = if source.negate { value.wrapping_neg() } else { value };
        }
        buffer
    }

    /// Returns a source as a single-precision number, with its modifiers applied.
    #[inline(always)]
    pub(super) fn float<'a>(&'a self, pool: &'a [RegisterRow], source: &Source, buffer: &'a mut RegisterRow) -> &'a RegisterRow {
        let row = self.row(pool, source.row);
        if source.plain() {
            return row;
        }
        let (keep, flip) = sign(source, 0x8000_0000);
        for (out, value) in buffer.iter_mut().zip(row) {
            *out = value & keep ^ flip;
        }
        buffer
    }

    /// Returns a pair of rows as 64-bit integers.
    #[inline(always)]
    pub(super) fn int_pair(&self, pool: &[RegisterRow], source: &Source) -> RegisterPair {
        let (low, high) = (self.row(pool, source.row), self.row(pool, source.row + 1));
        let mut out = [0; 32];
        for (lane, value) in out.iter_mut().enumerate() {
            *value = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            if source.invert {
                *value = !*value;
            }
            if source.negate {
                *value = value.wrapping_neg();
            }
        }
        out
    }

    /// Returns a pair of rows as double-precision numbers.
    #[inline(always)]
    pub(super) fn double(&self, pool: &[RegisterRow], source: &Source) -> RegisterPair {
        let (low, high) = (self.row(pool, source.row), self.row(pool, source.row + 1));
        let (keep, flip) = sign(source, 0x8000_0000);
        let mut out = [0; 32];
        for (lane, value) in out.iter_mut().enumerate() {
            *value = u64::from(low[lane]) | u64::from(high[lane] & keep ^ flip) << 32;
        }
        out
    }

    /// Returns the two halves of a source as numbers, the low half first.
    #[inline(always)]
    pub(super) fn halves(&self, pool: &[RegisterRow], source: &Source, lane: usize, bfloat: bool) -> [f64; 2] {
        let word = self.row(pool, source.row)[lane];
        let (low, high) = if bfloat {
            (f64::from(f32::from_bits(word << 16)), f64::from(f32::from_bits(word & 0xffff_0000)))
        } else {
            (half::to_f64(word as u16), half::to_f64((word >> 16) as u16))
        };
        let picked = match source.half {
            Half::Both => [low, high],
            Half::Low => [low; 2],
            Half::High => [high; 2],
            Half::Single => [f64::from(f32::from_bits(word)); 2],
        };
        picked.map(|value| {
            let value = if source.absolute { value.abs() } else { value };
            if source.negate { -value } else { value }
        })
    }

    /// Returns true if the row belongs to a uniform register.
    #[inline(always)]
    pub(super) fn is_uniform(&self, row: u16) -> bool {
        row >= self.layout.first_uniform()
    }

    /// Writes a row in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn set(&mut self, row: u16, mask: u32, values: &RegisterRow) {
        let place = &mut self.rows[usize::from(row)];
        if mask == u32::MAX {
            *place = *values;
        } else {
            for lane in 0..32 {
                let chosen = (mask >> lane & 1).wrapping_neg();
                place[lane] = place[lane] & !chosen | values[lane] & chosen;
            }
        }
    }

    /// Writes a pair of rows in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn set_pair(&mut self, row: u16, mask: u32, values: &RegisterPair) {
        self.set(row, mask, &values.map(|value| value as u32));
        self.set(row + 1, mask, &values.map(|value| (value >> 32) as u32));
    }

    /// Writes one lane's value of a row.
    #[inline(always)]
    pub(super) fn set_lane(&mut self, row: u16, lane: usize, value: u32) {
        self.rows[usize::from(row)][lane] = value;
    }

    /// Returns a predicate as a mask of lanes.
    #[inline(always)]
    pub(super) fn predicate(&self, source: PredicateSource) -> u32 {
        let value = self.predicates[usize::from(source.index)];
        if source.invert { !value } else { value }
    }

    /// Writes a predicate in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn set_predicate(&mut self, index: u8, mask: u32, value: u32) {
        let place = &mut self.predicates[usize::from(index)];
        *place = *place & !mask | value & mask;
    }

    /// Returns P0 to P6, or UP0 to UP6 if `first` is 8, of a lane as a word.
    pub(super) fn all_predicates(&self, first: usize, lane: usize) -> u32 {
        (0..7).fold(0, |word, index| word | (self.predicates[first + index] >> lane & 1) << index)
    }

    /// Returns the lanes of `active` in which the guard of `inst` is true.
    #[inline(always)]
    pub(super) fn guarded(&self, inst: &Inst, active: u32) -> u32 {
        active & self.predicate(inst.guard)
    }
}

/// Returns the bits of a word to keep and the bits to flip for the sign modifiers of a source.
#[inline(always)]
fn sign(source: &Source, bit: u32) -> (u32, u32) {
    (if source.absolute { !bit } else { u32::MAX }, if source.negate { bit } else { 0 })
}
