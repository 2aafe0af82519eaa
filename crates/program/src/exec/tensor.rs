//! Matrix products of a warp, with the elements in the registers of all lanes.
//!
//! The layouts follow the PTX ISA, "Matrix Fragments for mma". PTX specifies neither the order nor the precision of the sums beyond single
//! precision; here they follow the [`SummationRule`] of the architecture, bit for bit. Sums of DMMA are fused multiply-adds in ascending order of k.

use std::ops::Range;

use warpshard_base::{VectorTask, wide};

use super::super::isa::{Element, Inst, Op, Round, SummationRule, Tensor};
use super::half;
use super::lanes::{Lanes, RegisterRow};
use super::plain::{self, FiniteMatrix};

/// Maximum rows of the first matrix and columns of the second.
const MAX_ROWS: usize = 16;
pub(super) const COLUMNS: usize = 8;
/// Maximum k.
const MAX_K: usize = 64;

/// Executes a tensor instruction; returns false if `inst` is not one.
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32) -> bool {
    match inst.op {
        Op::Tensor(tensor) => match tensor.a {
            Element::Integer(..) => execute_integers(inst, lanes, pool, mask, tensor),
            Element::Double => execute_doubles(inst, lanes, pool, mask, tensor),
            _ => execute_floats(inst, lanes, pool, mask, tensor),
        },
        Op::Quad { step, half, a_column, b_column } => execute_quad(inst, lanes, pool, mask, (step, half, a_column, b_column)),
        Op::TransposeMatrix => {
            let source = lanes.row(pool, inst.src[0].row);
            let element = |row: usize, column: usize| source[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
            let out = std::array::from_fn(|lane| element(2 * (lane % 4), lane / 4) | element(2 * (lane % 4) + 1, lane / 4) << 16);
            lanes.set(inst.dst, mask, &out);
        }
        _ => return false,
    }
    true
}

/// Returns the elements per register; 1 also for elements that take two registers.
pub(super) fn per_register(element: Element) -> usize {
    (32 / element.bits()).max(1)
}

/// Calls `put(row, k, register, part, lane)` for all elements of the first matrix.
fn for_each_of_first(tensor: Tensor, mut put: impl FnMut(usize, usize, usize, usize, usize)) {
    let (per, blocks) = (per_register(tensor.a), usize::from(tensor.m) / 8);
    for register in 0..blocks * usize::from(tensor.k) / (4 * per) {
        let (row, k) = (8 * (register % blocks), register / blocks * 4 * per);
        for lane in 0..32 {
            for part in 0..per {
                put(row + lane / 4, k + lane % 4 * per + part, register, part, lane);
            }
        }
    }
}

/// Calls `put(line, position, bits)` for the `per` elements of each lane of a register. Four lanes hold a line of the matrix, and a
/// register holds eight lines.
#[inline(always)]
fn for_each_part(words: &RegisterRow, per: usize, mut put: impl FnMut(usize, usize, u32)) {
    for (lane, word) in words.iter().enumerate() {
        for part in 0..per {
            put(lane / 4, lane % 4 * per + part, word >> (32 / per * part));
        }
    }
}

/// Calls `put(k, column, register, part, lane)` for all elements of the second matrix.
fn for_each_of_second(tensor: Tensor, mut put: impl FnMut(usize, usize, usize, usize, usize)) {
    let per = per_register(tensor.b);
    for register in 0..usize::from(tensor.k) / (4 * per) {
        for lane in 0..32 {
            for part in 0..per {
                put(4 * per * register + lane % 4 * per + part, lane / 4, register, part, lane);
            }
        }
    }
}

/// Returns row and column of the sum in register `i` of a lane, for one sum per register.
pub(super) fn sum_position(i: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

/// Returns a number as `significand * 2^(exponent - 10)`, or `None` for infinities and NaN.
fn split(element: Element, word: u32, part: usize) -> Option<(i32, i32)> {
    let half = word >> (16 * part % 32) & 0xffff;
    let byte = word >> (8 * part % 32) & 0xff;
    let (sign, field, fraction, most, bias) = match element {
        // All bit patterns except one are numbers.
        Element::E4m3 if byte & 0x7f == 0x7f => return None,
        Element::E4m3 => (byte >> 7, byte >> 3 & 0xf, (byte & 7) << 7, u32::MAX, 7),
        Element::E5m2 => (byte >> 7, byte >> 2 & 0x1f, (byte & 3) << 8, 0x1f, 15),
        Element::Bfloat => (half >> 15, half >> 7 & 0xff, (half & 0x7f) << 3, 0xff, 127),
        Element::Tf32 => (word >> 31, word >> 23 & 0xff, word >> 13 & 0x3ff, 0xff, 127),
        _ => (half >> 15, half >> 10 & 0x1f, half & 0x3ff, 0x1f, 15),
    };
    if field == most {
        return None;
    }
    // A subnormal number has the minimum exponent and no leading one.
    let significand = (fraction | u32::from(field != 0) << 10) as i32;
    Some((if sign == 1 { -significand } else { significand }, field.max(1) as i32 - bias))
}

/// Returns the value of an element of a word.
fn number(element: Element, word: u32, part: usize) -> f64 {
    let upper = (word >> (16 * part % 32)) as u16;
    match element {
        Element::Bfloat => f64::from(f32::from_bits(u32::from(upper) << 16)),
        Element::Tf32 => f64::from(f32::from_bits(word & 0xffff_e000)),
        Element::E5m2 => half::to_f64(((word >> (8 * part)) as u16) << 8),
        Element::E4m3 => match split(element, word, part) {
            Some((significand, exponent)) => f64::from(significand) * half::power(exponent - 10),
            None => f64::NAN,
        },
        _ => half::to_f64(upper),
    }
}

/// The elements of a matrix with separate significands and exponents, and a flag that is true if all of them are finite.
pub(super) struct SplitMatrix<const ROWS: usize, const COLUMNS: usize> {
    pub(super) significands: [[i32; COLUMNS]; ROWS],
    exponents: [[i32; COLUMNS]; ROWS],
    /// Values of the elements, if some are not finite.
    pub(super) values: [[f64; COLUMNS]; ROWS],
    finite: bool,
}

impl<const ROWS: usize, const COLUMNS: usize> SplitMatrix<ROWS, COLUMNS> {
    pub(super) fn new() -> Self {
        let (significands, exponents, values) = ([[0; COLUMNS]; ROWS], [[0; COLUMNS]; ROWS], [[0.0; COLUMNS]; ROWS]);
        Self { significands, exponents, values, finite: true }
    }

    pub(super) fn set_element(&mut self, row: usize, column: usize, (element, word, part): (Element, u32, usize)) {
        match split(element, word, part) {
            Some((significand, exponent)) => {
                self.significands[row][column] = significand;
                self.exponents[row][column] = exponent;
            }
            None => self.finite = false,
        }
        self.values[row][column] = number(element, word, part);
    }
}

/// A row of sums while a matrix unit adds to them.
#[derive(Clone, Copy)]
pub(super) struct SumRow {
    /// Bits of each sum, in half precision if `half`.
    pub(super) bits: [u32; COLUMNS],
    pub(super) half: bool,
}

impl SumRow {
    fn value(self, column: usize) -> f64 {
        if self.half { half::to_f64(self.bits[column] as u16) } else { f64::from(f32::from_bits(self.bits[column])) }
    }

    /// Returns a sum as `significand * 2^(exponent - 23)`.
    fn split(self, column: usize) -> Option<(i32, i32)> {
        let bits = self.bits[column];
        if self.half {
            return split(Element::Half, bits, 0).map(|(significand, exponent)| (significand << 13, exponent));
        }
        let field = bits >> 23 & 0xff;
        if field == 0xff {
            return None;
        }
        let significand = (bits & 0x7f_ffff | u32::from(field != 0) << 23) as i32;
        Some((if bits >> 31 == 1 { -significand } else { significand }, field.max(1) as i32 - 127))
    }

    /// Adds the products of a chunk: a part of a row of the first matrix times the corresponding rows of the second.
    pub(super) fn add<const N: usize, const K: usize>(
        &mut self,
        rule: SummationRule,
        a: (&SplitMatrix<N, K>, usize),
        b: &SplitMatrix<K, COLUMNS>,
        chunk: Range<usize>,
    ) {
        let (a, row) = a;
        let zero = i32::from(rule.zeros[usize::from(!self.half)]);
        let (mut sums, mut most) = ([0; COLUMNS], [0; COLUMNS]);
        let (mut addends, mut finite) = ([(0, 0); COLUMNS], a.finite && b.finite);
        for column in 0..COLUMNS {
            let addend = self.split(column);
            finite &= addend.is_some();
            let (significand, exponent) = addend.unwrap_or_default();
            addends[column] = (significand, if significand == 0 { zero } else { exponent });
            most[column] = addends[column].1;
        }
        let (mut products, mut exponents) = ([[0; COLUMNS]; K], [[0; COLUMNS]; K]);
        for k in chunk.clone() {
            let (significand, exponent) = (a.significands[row][k], a.exponents[row][k]);
            for column in 0..COLUMNS {
                let product = significand * b.significands[k][column];
                let exponent = if product == 0 { zero } else { exponent + b.exponents[k][column] };
                products[k][column] = product;
                exponents[k][column] = exponent;
                most[column] = most[column].max(exponent);
            }
        }
        // Truncates towards zero.
        let fraction = u32::from(rule.fraction);
        let align = |value: i32, bits: u32, below: i32| {
            let down = below as u32 + bits.saturating_sub(fraction);
            let magnitude = (value.unsigned_abs() << fraction.saturating_sub(bits) >> down.min(31)) as i32;
            if value < 0 { -magnitude } else { magnitude }
        };
        let mut narrow = [0_i32; COLUMNS];
        // Eight products of less than 2^27 fit into a word.
        for (number, k) in chunk.clone().enumerate() {
            for column in 0..COLUMNS {
                narrow[column] += align(products[k][column], 20, most[column] - exponents[k][column]);
            }
            if number % 8 == 7 || k + 1 == chunk.end {
                for column in 0..COLUMNS {
                    sums[column] += i64::from(narrow[column]);
                    narrow[column] = 0;
                }
            }
        }
        for column in 0..COLUMNS {
            let (significand, exponent) = addends[column];
            let sum = sums[column] + i64::from(align(significand, 23, most[column] - exponent));
            if !finite {
                let values = chunk.clone().map(|k| a.values[row][k] * b.values[k][column]);
                let value = values.fold(self.value(column), |sum, product| sum + product);
                if !value.is_finite() {
                    self.bits[column] = match self.half {
                        true => u32::from(half::from_f64(value, Round::Near)),
                        false if value.is_nan() => 0x7fff_ffff,
                        false => (value as f32).to_bits(),
                    };
                    continue;
                }
            }
            let exponent = most[column] - fraction as i32;
            self.bits[column] = match self.half {
                true => round_to_half(sum, exponent),
                // Sums of bytes keep 13 bits of fraction.
                false if fraction < 23 => match truncate_to_single(sum, exponent) & !0x3ff {
                    0x8000_0000 => 0,
                    bits => bits,
                },
                false => truncate_to_single(sum, exponent),
            };
        }
    }
}

/// Returns `sum * 2^exponent` rounded to half precision; a zero is positive.
fn round_to_half(sum: i64, exponent: i32) -> u32 {
    let bits = half::from_f64(sum as f64 * half::power(exponent), Round::Near);
    if bits == 0x8000 { 0 } else { u32::from(bits) }
}

/// Returns `sum * 2^exponent` truncated to single precision; a zero is positive, and an overflow is infinite.
fn truncate_to_single(sum: i64, exponent: i32) -> u32 {
    let magnitude = sum.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let top = 63 - magnitude.leading_zeros() as i32;
    // In a subnormal number the bits below the minimum exponent are cut off.
    let least = (exponent + top).max(-126);
    let shift = least - 23 - exponent;
    let kept = match shift {
        64.. => 0,
        0.. => magnitude >> shift,
        _ => magnitude << -shift,
    };
    let bits = match least {
        128.. => 0x7f80_0000,
        // The leading one of a number that is not subnormal adds one to the exponent.
        _ => kept as u32 + (((least + 126) as u32) << 23),
    };
    if sum < 0 && bits != 0 { bits | 0x8000_0000 } else { bits }
}

fn execute_floats(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, tensor: Tensor) {
    // Elements with separate exponents, computed only if sums need them.
    let mut apart: Option<(SplitMatrix<MAX_ROWS, 16>, SplitMatrix<16, COLUMNS>)> = None;
    let word = |source: usize, register: usize, lane: usize| lanes.row(pool, inst.src[source].row + register as u16)[lane];
    let plain = (!tensor.half && plain::supports(tensor.a) && plain::supports(tensor.b)).then(|| {
        let (mut a, mut b) = ([[0; 16]; MAX_ROWS], [[0; COLUMNS]; 16]);
        // The layout of `of_first` and `of_second`, processed one register at a time, which is faster.
        let (per, blocks) = (per_register(tensor.a), usize::from(tensor.m) / 8);
        for register in 0..blocks * usize::from(tensor.k) / (4 * per) {
            let words = lanes.row(pool, inst.src[0].row + register as u16);
            let (row, k) = (8 * (register % blocks), register / blocks * 4 * per);
            for_each_part(words, per, |line, place, word| a[(row + line) % MAX_ROWS][(k + place) % 16] = word);
        }
        let per = per_register(tensor.b);
        for register in 0..usize::from(tensor.k) / (4 * per) {
            let words = lanes.row(pool, inst.src[1].row + register as u16);
            for_each_part(words, per, |line, place, word| b[(4 * per * register + place) % 16][line] = word);
        }
        wide(MatrixConversion { a: &a, b: &b, tensor })
    });
    let mut sums = [[0; COLUMNS]; MAX_ROWS];
    let registers = if tensor.half { 2 } else { 4 };
    unpack_sums(std::array::from_fn(|i| lanes.row(pool, inst.src[2].row + (i % registers) as u16)), tensor.half, &mut sums);
    let k = usize::from(tensor.k);
    let chunk = usize::from(tensor.rule.bytes) * per_register(tensor.a) / 4;
    for start in (0..k).step_by(chunk) {
        let chunk = start..(start + chunk).min(k);
        let done = match &plain {
            Some((a, b)) => wide(ChunkProduct { sums: &mut sums, rule: tensor.rule, a, b, chunk: chunk.clone() }),
            None => [false; MAX_ROWS],
        };
        if done == [true; MAX_ROWS] {
            continue;
        }
        let (a, b) = apart.get_or_insert_with(|| {
            let (mut a, mut b) = (SplitMatrix::new(), SplitMatrix::new());
            for_each_of_first(tensor, |row, k, register, part, lane| a.set_element(row, k, (tensor.a, word(0, register, lane), part)));
            for_each_of_second(tensor, |k, column, register, part, lane| {
                b.set_element(k, column, (tensor.b, word(1, register, lane), part))
            });
            (a, b)
        });
        for (row, bits) in sums.iter_mut().enumerate().filter(|(row, _)| !done[*row]) {
            let mut sums = SumRow { bits: *bits, half: tensor.half };
            sums.add(tensor.rule, (a, row), b, chunk.clone());
            *bits = sums.bits;
        }
    }
    for (i, out) in pack_sums(&sums, tensor.half).iter().enumerate().take(registers) {
        lanes.set(inst.dst + i as u16, mask, out);
    }
}

/// Unpacks the accumulator registers of eight columns. Half-precision accumulators take two registers, each with two sums per lane.
pub(super) fn unpack_sums(words: [&RegisterRow; 4], half: bool, sums: &mut [[u32; COLUMNS]; MAX_ROWS]) {
    let (upper, lower) = sums.split_at_mut(MAX_ROWS / 2);
    for (lane, place) in (0..32).map(|lane| (lane, lane % 4 * 2)) {
        for (half_of, rows) in [&mut *upper, &mut *lower].into_iter().enumerate() {
            let row = &mut rows[lane / 4];
            (row[place], row[place + 1]) = match half {
                true => (words[half_of][lane] & 0xffff, words[half_of][lane] >> 16),
                false => (words[2 * half_of][lane], words[2 * half_of + 1][lane]),
            };
        }
    }
}

/// Packs the accumulators of eight columns into registers; half-precision accumulators leave the last two unused.
pub(super) fn pack_sums(sums: &[[u32; COLUMNS]; MAX_ROWS], half: bool) -> [RegisterRow; 4] {
    let mut out = [[0; 32]; 4];
    let (upper, lower) = sums.split_at(MAX_ROWS / 2);
    for (lane, place) in (0..32).map(|lane| (lane, lane % 4 * 2)) {
        for (half_of, rows) in [upper, lower].into_iter().enumerate() {
            let row = &rows[lane / 4];
            match half {
                true => out[half_of][lane] = row[place] | row[place + 1] << 16,
                false => (out[2 * half_of][lane], out[2 * half_of + 1][lane]) = (row[place], row[place + 1]),
            }
        }
    }
    out
}

/// Converts two matrices for [`plain::add`].
struct MatrixConversion<'a> {
    a: &'a [[u32; 16]; MAX_ROWS],
    b: &'a [[u32; COLUMNS]; 16],
    tensor: Tensor,
}

impl VectorTask for MatrixConversion<'_> {
    type Output = (FiniteMatrix<MAX_ROWS, 16>, FiniteMatrix<16, COLUMNS>);

    #[inline(always)]
    fn run(self) -> Self::Output {
        (FiniteMatrix::of(self.a, self.tensor.a), FiniteMatrix::of(self.b, self.tensor.b))
    }
}

/// The fast path of one chunk of a product.
struct ChunkProduct<'a> {
    sums: &'a mut [[u32; COLUMNS]; MAX_ROWS],
    rule: SummationRule,
    a: &'a FiniteMatrix<MAX_ROWS, 16>,
    b: &'a FiniteMatrix<16, COLUMNS>,
    chunk: Range<usize>,
}

impl VectorTask for ChunkProduct<'_> {
    /// For each row, `true` if it was computed.
    type Output = [bool; MAX_ROWS];

    #[inline(always)]
    fn run(self) -> Self::Output {
        plain::add(self.sums, self.rule, (self.a, self.b), (self.chunk.start, self.chunk.end))
    }
}

fn execute_doubles(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, tensor: Tensor) {
    let mut a = [[0.0; 16]; MAX_ROWS];
    let mut b = [[0.0; COLUMNS]; 16];
    let wide = |source: usize, register: usize, lane: usize| {
        let row = inst.src[source].row + 2 * register as u16;
        f64::from_bits(u64::from(lanes.row(pool, row)[lane]) | u64::from(lanes.row(pool, row + 1)[lane]) << 32)
    };
    for_each_of_first(tensor, |row, k, register, _, lane| a[row][k] = wide(0, register, lane));
    for_each_of_second(tensor, |k, column, register, _, lane| b[k][column] = wide(1, register, lane));
    let mut out = [[0; 32]; 4];
    let count = usize::from(tensor.m) / 4;
    for (i, out) in out.iter_mut().enumerate().take(count) {
        for (lane, out) in out.iter_mut().enumerate() {
            let (row, column) = sum_position(i, lane);
            let sum = (0..usize::from(tensor.k)).fold(wide(2, i, lane), |sum, k| a[row][k].mul_add(b[k][column], sum));
            *out = sum.to_bits();
        }
    }
    for (i, out) in out.iter().enumerate().take(count) {
        lanes.set_pair(inst.dst + 2 * i as u16, mask, out);
    }
}

fn execute_integers(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, tensor: Tensor) {
    let mut a = [[0; MAX_K]; MAX_ROWS];
    let mut b = [[0; COLUMNS]; MAX_K];
    let part = |element: Element, source: usize, register: usize, part: usize, lane: usize| {
        let word = lanes.row(pool, inst.src[source].row + register as u16)[lane];
        let Element::Integer(bits, signed) = element else { return 0 };
        let (bits, unused) = (u32::from(bits), 32 - u32::from(bits));
        let value = word >> (bits * part as u32) << unused;
        if signed { (value as i32) >> unused } else { (value >> unused) as i32 }
    };
    for_each_of_first(tensor, |row, k, register, i, lane| a[row][k] = part(tensor.a, 0, register, i, lane));
    for_each_of_second(tensor, |k, column, register, i, lane| b[k][column] = part(tensor.b, 1, register, i, lane));
    let mut out = [[0; 32]; 4];
    let count = usize::from(tensor.m) / 4;
    for (i, out) in out.iter_mut().enumerate().take(count) {
        for (lane, out) in out.iter_mut().enumerate() {
            let (row, column) = sum_position(i, lane);
            let first = i64::from(lanes.row(pool, inst.src[2].row + i as u16)[lane] as i32);
            let sum = (0..usize::from(tensor.k)).fold(first, |sum, k| sum + i64::from(a[row][k] * b[k][column]));
            *out = if tensor.saturate { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { sum as u32 };
        }
    }
    for (i, out) in out.iter().enumerate().take(count) {
        lanes.set(inst.dst + i as u16, mask, out);
    }
}

/// Executes a step of Volta's m8n8k4: lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 multiply separate matrices. A step computes the sums of two
/// registers.
fn execute_quad(
    inst: &Inst,
    lanes: &mut Lanes,
    pool: &[RegisterRow],
    mask: u32,
    (step, halves, a_column, b_column): (u8, bool, bool, bool),
) {
    let word = |source: usize, register: usize, lane: usize| lanes.row(pool, inst.src[source].row + register as u16)[lane];
    // Returns word and half of element `i` of the four that a lane holds.
    let pick = |source: usize, lane: usize, i: usize| (word(source, i / 2, lane), i % 2);
    let lane_of = |quad: usize, place: usize| 4 * quad + place % 4 + place / 4 * 16;
    let a = |quad: usize, row: usize, k: usize| match a_column {
        false => pick(0, lane_of(quad, row), k),
        true => pick(0, lane_of(quad, k + row / 4 * 4), row % 4),
    };
    let b = |quad: usize, k: usize, column: usize| match b_column {
        true => pick(1, lane_of(quad, column), k),
        false => pick(1, lane_of(quad, k + column / 4 * 4), column % 4),
    };
    let sum = |lane: usize, row: usize, column: usize, first: u32| {
        let quad = lane / 4 % 4;
        let (mut first_matrix, mut second) = (SplitMatrix::<1, 16>::new(), SplitMatrix::<16, COLUMNS>::new());
        for k in 0..4 {
            let ((word, part), (other, other_part)) = (a(quad, row, k), b(quad, k, column));
            first_matrix.set_element(0, k, (Element::Half, word, part));
            second.set_element(k, 0, (Element::Half, other, other_part));
        }
        let mut sums = SumRow { bits: [first, 0, 0, 0, 0, 0, 0, 0], half: halves };
        sums.add(SummationRule::VOLTA, (&first_matrix, 0), &second, 0..4);
        sums.bits[0]
    };
    let step = usize::from(step);
    let mut out = [[0; 32]; 2];
    for (register, out) in out.iter_mut().enumerate() {
        for (lane, out) in out.iter_mut().enumerate() {
            let upper = 4 * (lane / 16);
            *out = if halves {
                let one = |part: usize| {
                    let first = word(2, register, lane) >> (16 * part) & 0xffff;
                    sum(lane, lane % 4 + upper, 4 * step + 2 * register + part, first)
                };
                one(0) | one(1) << 16
            } else {
                let i = 2 * step + register;
                let (row, column) = ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1));
                sum(lane, row, column, word(2, register, lane))
            };
        }
    }
    lanes.set(inst.dst, mask, &out[0]);
    lanes.set(inst.dst + 1, mask, &out[1]);
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// Returns a dot product with an addend, and true if the fast path also computed it; checks that both paths agree.
    fn checked_dot_product(rule: SummationRule, (element, half): (Element, bool), a: &[u32], b: &[u32], addend: u32) -> (u32, bool) {
        let (mut first, mut second) = (SplitMatrix::<1, 16>::new(), SplitMatrix::<16, COLUMNS>::new());
        let (mut words, mut others) = ([[0; 16]; 1], [[0; COLUMNS]; 16]);
        for (k, (a, b)) in a.iter().zip(b).enumerate() {
            first.set_element(0, k, (element, *a, 0));
            second.set_element(k, 0, (element, *b, 0));
            (words[0][k], others[k][0]) = (*a, *b);
        }
        let mut sums = SumRow { bits: [addend, 0, 0, 0, 0, 0, 0, 0], half };
        let (first_plain, second_plain) = (FiniteMatrix::of(&words, element), FiniteMatrix::of(&others, element));
        let mut quick = (!half).then_some([sums.bits]);
        let chunk = usize::from(rule.bytes) * per_register(element) / 4;
        for start in (0..a.len()).step_by(chunk) {
            let chunk = start..(start + chunk).min(a.len());
            sums.add(rule, (&first, 0), &second, chunk.clone());
            quick = quick.and_then(|mut bits| {
                plain::add(&mut bits, rule, (&first_plain, &second_plain), (chunk.start, chunk.end))[0].then_some(bits)
            });
        }
        if let Some([bits]) = quick {
            assert_eq!(bits[0], sums.bits[0], "{element:?} {a:x?} {b:x?} {addend:x}");
        }
        (sums.bits[0], quick.is_some())
    }

    /// Returns a dot product of 32 bytes with an addend as computed by warp groups; the element types are given by name.
    fn dot_product_of_bytes((first, second): (&str, &str), half: bool, a: &[u32], b: &[u32], addend: u32) -> u32 {
        let element = |name: &str| if name == "e4m3" { Element::E4m3 } else { Element::E5m2 };
        let (mut rows, mut columns) = (SplitMatrix::<1, 32>::new(), SplitMatrix::<32, COLUMNS>::new());
        for k in 0..32 {
            rows.set_element(0, k, (element(first), a[k], 0));
            columns.set_element(k, 0, (element(second), b[k], 0));
        }
        let mut sums = SumRow { bits: [addend, 0, 0, 0, 0, 0, 0, 0], half };
        sums.add(SummationRule::of_groups(true), (&rows, 0), &columns, 0..32);
        sums.bits[0]
    }

    #[test]
    fn sums_of_bytes_keep_thirteen_bits_of_fraction() {
        // The file contains dot products of 32 bytes by MMA-Sim's rule in rational arithmetic: types, bits of the sum, factors, addend and
        // result.
        let text = include_str!("../../../../tests/data/programs/byte_sums.txt");
        for line in text.lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            let of = |hex: &str| (0..32).map(|at| u32::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect::<Vec<u32>>();
            let [addend, expected] = [parts[5], parts[6]].map(|word| u32::from_str_radix(word, 16).unwrap());
            let got = dot_product_of_bytes((parts[0], parts[1]), parts[2] == "16", &of(parts[3]), &of(parts[4]), addend);
            assert_eq!(got, expected, "{got:x} instead of the last word of {line}");
        }
        assert_eq!(text.lines().count(), 96);
    }

    #[test]
    fn dot_products_are_those_of_the_hardware() {
        // The file contains lines of `programs/tools/matrix_sums.py`; tests/matrix.sh makes it write a million lines of each rule into the
        // file that this variable names.
        let few = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/programs/matrix_sums.txt");
        let file = std::env::var("WARPSHARD_MATRIX_SUMS").unwrap_or_else(|_| few.into());
        let lines = BufReader::new(std::fs::File::open(&file).unwrap_or_else(|error| panic!("{file}: {error}"))).lines();
        let (mut checked, mut quick) = (0, 0);
        for line in lines {
            let line = line.unwrap();
            let mut parts = line.split(' ');
            let mut next = || parts.next().unwrap();
            let (arch, kinds, half) = (next().parse().unwrap(), next(), next() == "16");
            let words: Vec<u32> = parts.map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
            let k = (words.len() - 2) / 2;
            let (a, b, addend, expected) = (&words[..k], &words[k..2 * k], words[2 * k], words[2 * k + 1]);
            let (got, quickly) = match kinds {
                "f16" => checked_dot_product(SummationRule::of(arch), (Element::Half, half), a, b, addend),
                "bf16" => checked_dot_product(SummationRule::of(arch), (Element::Bfloat, half), a, b, addend),
                "tf32" => checked_dot_product(SummationRule::of(arch), (Element::Tf32, half), a, b, addend),
                _ => (dot_product_of_bytes(kinds.split_once(':').unwrap(), half, a, b, addend), false),
            };
            assert_eq!(got, expected, "{got:x} instead of the last word of {line}");
            checked += 1;
            quick += u32::from(quickly);
        }
        assert!(file != few || checked == 480 && quick >= 100, "{checked} lines, {quick} of them quickly");
        assert!(checked > 0, "{file} is empty");
    }
}
