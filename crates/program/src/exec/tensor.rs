//! Products of matrices by a warp, whose elements lie in the registers of all lanes.
//!
//! The layouts are those of the PTX ISA, "Matrix Fragments for mma". PTX leaves the order and the precision of the sums open, from single
//! precision on; here products are exact, summed in double precision in ascending order of k, and rounded once. Sums of DMMA are fused
//! multiply-adds.

use super::super::isa::{Element, Inst, Op, Round, Tensor};
use super::half;
use super::lanes::{Lanes, Row};

/// Largest number of rows, and of columns of the second matrix.
const MOST_ROWS: usize = 16;
const COLUMNS: usize = 8;
/// Largest k.
const MOST_K: usize = 64;

/// Executes a tensor instruction; false when `inst` is none.
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[Row], mask: u32) -> bool {
    match inst.op {
        Op::Tensor(tensor) => match tensor.a {
            Element::Integer(..) => integers(inst, lanes, pool, mask, tensor),
            Element::Double => doubles(inst, lanes, pool, mask, tensor),
            _ => floats(inst, lanes, pool, mask, tensor),
        },
        Op::Quad { step, half, a_column, b_column } => quad(inst, lanes, pool, mask, (step, half, a_column, b_column)),
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

/// The parts of a register that hold an element each.
fn per_register(element: Element) -> usize {
    match element {
        Element::Half | Element::Bfloat => 2,
        Element::Tf32 | Element::Double => 1,
        Element::Integer(bits, _) => 32 / usize::from(bits),
    }
}

/// Calls `put(row, k, register, part, lane)` for all elements of the first matrix.
fn of_first(tensor: Tensor, mut put: impl FnMut(usize, usize, usize, usize, usize)) {
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

/// Calls `put(k, column, register, part, lane)` for all elements of the second matrix.
fn of_second(tensor: Tensor, mut put: impl FnMut(usize, usize, usize, usize, usize)) {
    let per = per_register(tensor.b);
    for register in 0..usize::from(tensor.k) / (4 * per) {
        for lane in 0..32 {
            for part in 0..per {
                put(4 * per * register + lane % 4 * per + part, lane / 4, register, part, lane);
            }
        }
    }
}

/// The place of an element of the sums: register `i` of a lane, as if each held one.
fn of_sum(i: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

/// An element of a word.
fn number(element: Element, word: u32, part: usize) -> f64 {
    let upper = (word >> (16 * part)) as u16;
    match element {
        Element::Bfloat => f64::from(f32::from_bits(u32::from(upper) << 16)),
        Element::Tf32 => f64::from(f32::from_bits(word & 0xffff_e000)),
        _ => half::to_f64(upper),
    }
}

fn floats(inst: &Inst, lanes: &mut Lanes, pool: &[Row], mask: u32, tensor: Tensor) {
    let mut a = [[0.0; 16]; MOST_ROWS];
    let mut b = [[0.0; COLUMNS]; 16];
    let word = |source: usize, register: usize, lane: usize| lanes.row(pool, inst.src[source].row + register as u16)[lane];
    of_first(tensor, |row, k, register, part, lane| a[row][k] = number(tensor.a, word(0, register, lane), part));
    of_second(tensor, |k, column, register, part, lane| b[k][column] = number(tensor.b, word(1, register, lane), part));
    let mut sums = [[0.0; COLUMNS]; MOST_ROWS];
    for lane in 0..32 {
        for i in 0..4 {
            let (row, column) = of_sum(i, lane);
            sums[row][column] = match tensor.half {
                true => number(Element::Half, word(2, i / 2, lane), i % 2),
                false => f64::from(f32::from_bits(word(2, i, lane))),
            };
        }
    }
    for (sums, a) in sums.iter_mut().zip(&a) {
        for (a, b) in a.iter().zip(&b).take(usize::from(tensor.k)) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    }
    let value = |i: usize, lane: usize| {
        let (row, column) = of_sum(i, lane);
        sums[row][column]
    };
    if tensor.half {
        for register in 0..2 {
            let part = |i: usize, lane: usize| u32::from(half::from_f64(value(2 * register + i, lane), Round::Near));
            let out = std::array::from_fn(|lane| part(0, lane) | part(1, lane) << 16);
            lanes.set(inst.dst + register as u16, mask, &out);
        }
    } else {
        for i in 0..4 {
            let out = std::array::from_fn(|lane| single(value(i, lane)));
            lanes.set(inst.dst + i as u16, mask, &out);
        }
    }
}

fn single(value: f64) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { (value as f32).to_bits() }
}

fn doubles(inst: &Inst, lanes: &mut Lanes, pool: &[Row], mask: u32, tensor: Tensor) {
    let mut a = [[0.0; 16]; MOST_ROWS];
    let mut b = [[0.0; COLUMNS]; 16];
    let wide = |source: usize, register: usize, lane: usize| {
        let row = inst.src[source].row + 2 * register as u16;
        f64::from_bits(u64::from(lanes.row(pool, row)[lane]) | u64::from(lanes.row(pool, row + 1)[lane]) << 32)
    };
    of_first(tensor, |row, k, register, _, lane| a[row][k] = wide(0, register, lane));
    of_second(tensor, |k, column, register, _, lane| b[k][column] = wide(1, register, lane));
    let mut out = [[0; 32]; 4];
    let count = usize::from(tensor.m) / 4;
    for (i, out) in out.iter_mut().enumerate().take(count) {
        for (lane, out) in out.iter_mut().enumerate() {
            let (row, column) = of_sum(i, lane);
            let sum = (0..usize::from(tensor.k)).fold(wide(2, i, lane), |sum, k| a[row][k].mul_add(b[k][column], sum));
            *out = sum.to_bits();
        }
    }
    for (i, out) in out.iter().enumerate().take(count) {
        lanes.set_pair(inst.dst + 2 * i as u16, mask, out);
    }
}

fn integers(inst: &Inst, lanes: &mut Lanes, pool: &[Row], mask: u32, tensor: Tensor) {
    let mut a = [[0; MOST_K]; MOST_ROWS];
    let mut b = [[0; COLUMNS]; MOST_K];
    let part = |element: Element, source: usize, register: usize, part: usize, lane: usize| {
        let word = lanes.row(pool, inst.src[source].row + register as u16)[lane];
        let Element::Integer(bits, signed) = element else { return 0 };
        let (bits, unused) = (u32::from(bits), 32 - u32::from(bits));
        let value = word >> (bits * part as u32) << unused;
        if signed { (value as i32) >> unused } else { (value >> unused) as i32 }
    };
    of_first(tensor, |row, k, register, i, lane| a[row][k] = part(tensor.a, 0, register, i, lane));
    of_second(tensor, |k, column, register, i, lane| b[k][column] = part(tensor.b, 1, register, i, lane));
    let mut out = [[0; 32]; 4];
    let count = usize::from(tensor.m) / 4;
    for (i, out) in out.iter_mut().enumerate().take(count) {
        for (lane, out) in out.iter_mut().enumerate() {
            let (row, column) = of_sum(i, lane);
            let first = i64::from(lanes.row(pool, inst.src[2].row + i as u16)[lane] as i32);
            let sum = (0..usize::from(tensor.k)).fold(first, |sum, k| sum + i64::from(a[row][k] * b[k][column]));
            *out = if tensor.saturate { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { sum as u32 };
        }
    }
    for (i, out) in out.iter().enumerate().take(count) {
        lanes.set(inst.dst + i as u16, mask, out);
    }
}

/// A step of Volta's m8n8k4: lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 multiply matrices of their own. A step makes the sums of two
/// registers.
fn quad(inst: &Inst, lanes: &mut Lanes, pool: &[Row], mask: u32, (step, halves, a_column, b_column): (u8, bool, bool, bool)) {
    let word = |source: usize, register: usize, lane: usize| lanes.row(pool, inst.src[source].row + register as u16)[lane];
    // Element `line` of four that a lane of eight holds, by its place in its matrix.
    let pick = |source: usize, lane: usize, i: usize| number(Element::Half, word(source, i / 2, lane), i % 2);
    let lane_of = |quad: usize, place: usize| 4 * quad + place % 4 + place / 4 * 16;
    let a = |quad: usize, row: usize, k: usize| match a_column {
        false => pick(0, lane_of(quad, row), k),
        true => pick(0, lane_of(quad, k + row / 4 * 4), row % 4),
    };
    let b = |quad: usize, k: usize, column: usize| match b_column {
        true => pick(1, lane_of(quad, column), k),
        false => pick(1, lane_of(quad, k + column / 4 * 4), column % 4),
    };
    let sum = |lane: usize, row: usize, column: usize, first: f64| {
        let quad = lane / 4 % 4;
        (0..4).fold(first, |sum, k| sum + a(quad, row, k) * b(quad, k, column))
    };
    let step = usize::from(step);
    let mut out = [[0; 32]; 2];
    for (register, out) in out.iter_mut().enumerate() {
        for (lane, out) in out.iter_mut().enumerate() {
            let upper = 4 * (lane / 16);
            *out = if halves {
                let one = |part: usize| {
                    let first = number(Element::Half, word(2, register, lane), part);
                    let value = sum(lane, lane % 4 + upper, 4 * step + 2 * register + part, first);
                    u32::from(half::from_f64(value, Round::Near))
                };
                one(0) | one(1) << 16
            } else {
                let i = 2 * step + register;
                let (row, column) = ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1));
                single(sum(lane, row, column, f64::from(f32::from_bits(word(2, register, lane)))))
            };
        }
    }
    lanes.set(inst.dst, mask, &out[0]);
    lanes.set(inst.dst + 1, mask, &out[1]);
}
