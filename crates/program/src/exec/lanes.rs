//! The registers and predicates of a warp, a row per register with the values of all 32 lanes.

use super::super::isa::{Inst, PredicateSource, Rows, Source};
use super::super::operand::Half;
use super::half;

/// One register of all lanes.
pub(super) type Row = [u32; 32];
/// A pair of registers of all lanes.
pub(super) type Pair = [u64; 32];

/// Rows from here on are constants.
const POOL: u16 = 0x8000;

/// The registers and predicates of a warp.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    rows: Vec<Row>,
    layout: Rows,
    /// P0 to PT, UP0 to UPT and a place for what nobody wants; a bit per lane.
    predicates: [u32; 17],
}

impl Lanes {
    pub(super) fn new(layout: Rows) -> Self {
        let mut predicates = [0; 17];
        (predicates[7], predicates[15]) = (u32::MAX, u32::MAX);
        Self { rows: vec![[0; 32]; layout.count()], layout, predicates }
    }

    /// Whether the registers are laid out as `layout` says.
    pub(super) fn fits(&self, layout: Rows) -> bool {
        self.layout == layout
    }

    /// Makes all registers zero and all predicates false.
    pub(super) fn reset(&mut self) {
        self.rows.fill([0; 32]);
        self.predicates = [0; 17];
        (self.predicates[7], self.predicates[15]) = (u32::MAX, u32::MAX);
    }

    /// A row as it is.
    #[inline(always)]
    pub(super) fn row<'a>(&'a self, pool: &'a [Row], row: u16) -> &'a Row {
        if row < POOL { &self.rows[usize::from(row)] } else { &pool[usize::from(row - POOL)] }
    }

    /// A source as an integer.
    #[inline(always)]
    pub(super) fn int<'a>(&'a self, pool: &'a [Row], source: &Source, buffer: &'a mut Row) -> &'a Row {
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

    /// A source as a number of single precision.
    #[inline(always)]
    pub(super) fn float<'a>(&'a self, pool: &'a [Row], source: &Source, buffer: &'a mut Row) -> &'a Row {
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

    /// A pair of rows as integers.
    #[inline(always)]
    pub(super) fn int_pair(&self, pool: &[Row], source: &Source) -> Pair {
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

    /// A pair of rows as numbers of double precision.
    #[inline(always)]
    pub(super) fn double(&self, pool: &[Row], source: &Source) -> Pair {
        let (low, high) = (self.row(pool, source.row), self.row(pool, source.row + 1));
        let (keep, flip) = sign(source, 0x8000_0000);
        let mut out = [0; 32];
        for (lane, value) in out.iter_mut().enumerate() {
            *value = u64::from(low[lane]) | u64::from(high[lane] & keep ^ flip) << 32;
        }
        out
    }

    /// The two halves of a source as numbers, low first.
    #[inline(always)]
    pub(super) fn halves(&self, pool: &[Row], source: &Source, lane: usize, bfloat: bool) -> [f64; 2] {
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

    /// Whether a row is that of a uniform register.
    #[inline(always)]
    pub(super) fn is_uniform(&self, row: u16) -> bool {
        row >= self.layout.first_uniform()
    }

    /// Writes a row in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn set(&mut self, row: u16, mask: u32, values: &Row) {
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
    pub(super) fn set_pair(&mut self, row: u16, mask: u32, values: &Pair) {
        self.set(row, mask, &values.map(|value| value as u32));
        self.set(row + 1, mask, &values.map(|value| (value >> 32) as u32));
    }

    /// Writes one lane's value of a row.
    #[inline(always)]
    pub(super) fn put(&mut self, row: u16, lane: usize, value: u32) {
        self.rows[usize::from(row)][lane] = value;
    }

    /// A predicate in all lanes.
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

    /// P0 to P6, or from 8 on UP0 to UP6, of a lane as a word.
    pub(super) fn all_predicates(&self, first: usize, lane: usize) -> u32 {
        (0..7).fold(0, |word, index| word | (self.predicates[first + index] >> lane & 1) << index)
    }

    /// The lanes in which `inst` has an effect, given those that execute it.
    #[inline(always)]
    pub(super) fn guarded(&self, inst: &Inst, active: u32) -> u32 {
        active & self.predicate(inst.guard)
    }
}

/// What to keep and what to flip of a word with a sign bit.
#[inline(always)]
fn sign(source: &Source, bit: u32) -> (u32, u32) {
    (if source.absolute { !bit } else { u32::MAX }, if source.negate { bit } else { 0 })
}
