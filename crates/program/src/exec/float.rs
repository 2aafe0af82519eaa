//! Floating-point arithmetic in single, double and half precision.
//!
//! Results follow IEEE 754 with the rounding mode of the instruction. A single-precision NaN result is 0x7fffffff, as on the hardware.

use super::super::isa::{Compare, Float, Halves, Inst, Logic, Op, Round};
use super::half;
use super::lanes::{Lanes, RegisterRow};
use super::mufu::{mufu, mufu_half};

/// Bit pattern of a NaN result in single precision.
pub(super) const NOT_A_NUMBER: u32 = 0x7fff_ffff;

/// Executes a floating-point operation in the lanes of `mask`; returns false if `inst` is not one. Sources with modifiers are stored in
/// `buffers`.
#[inline(always)]
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, buffers: &mut [RegisterRow; 3]) -> bool {
    let [ba, bb, bc] = buffers;
    let [sa, sb, sc] = &inst.src;
    match inst.op {
        Op::FFma(mode) if mode == Float::default() => {
            let (a, b, c) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb), lanes.float(pool, sc, bc));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = clean(f32::from_bits(a[lane]).mul_add(f32::from_bits(b[lane]), f32::from_bits(c[lane])).to_bits());
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::FAdd(mode) if mode == Float::default() => {
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = clean((f32::from_bits(a[lane]) + f32::from_bits(b[lane])).to_bits());
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::FMul(mode) if mode == Float::default() => {
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = clean((f32::from_bits(a[lane]) * f32::from_bits(b[lane])).to_bits());
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::FFma(mode) | Op::FAdd(mode) | Op::FMul(mode) if mode.round == Round::Near => {
            let (a, b, c) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb), lanes.float(pool, sc, bc));
            let part = |row: &RegisterRow, lane: usize| f32::from_bits(flushed(row[lane], mode.flush));
            let end = |value: f32| {
                let limited = if value > 0.0 { value.min(1.0) } else { 0.0 };
                clean(flushed(if mode.saturate { limited } else { value }.to_bits(), mode.flush))
            };
            let mut out = [0; 32];
            match inst.op {
                Op::FAdd(_) => {
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = end(part(a, lane) + part(b, lane));
                    }
                }
                Op::FMul(_) => {
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = end(part(a, lane) * part(b, lane));
                    }
                }
                _ => {
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = end(part(a, lane).mul_add(part(b, lane), part(c, lane)));
                    }
                }
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::FFma(mode) | Op::FAdd(mode) | Op::FMul(mode) | Op::FMulScaled(mode, _) => execute_directed(inst, lanes, pool, mask, mode),
        Op::FMinMax { flush, number } => {
            let low = lanes.predicate(inst.conditions[0]);
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = min_max(flushed(a[lane], flush), flushed(b[lane], flush), low >> lane & 1 != 0, number);
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::CompareFloat { compare, logic, flush } => {
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let holds = compare_singles(compare, flush, a, b);
            set_comparison(inst, lanes, mask, logic, holds);
        }
        Op::SetFloat { compare, logic, flush, float } => {
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let holds = compare_singles(compare, flush, a, b);
            let holds = logic.apply(holds, lanes.predicate(inst.conditions[0]));
            let one = if float { 1.0_f32.to_bits() } else { u32::MAX };
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                *out = if holds >> lane & 1 != 0 { one } else { 0 };
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::CheckDivision => {
            let (a, b) = (lanes.float(pool, sa, ba), lanes.float(pool, sb, bb));
            let slow = bits(|lane| needs_slow_division(a[lane], b[lane]));
            lanes.set_predicate(inst.predicates[0], mask, slow);
        }
        Op::Mufu(op) => {
            let a = lanes.float(pool, sa, ba);
            let out = a.map(|value| mufu(op, value));
            lanes.set(inst.dst, mask, &out);
        }
        Op::DAdd(_) | Op::DMul(_) | Op::DFma(_) => execute_double(inst, lanes, pool, mask),
        Op::CompareDouble { compare, logic } => {
            let (a, b) = (lanes.double(pool, sa), lanes.double(pool, sb));
            let holds = compare_numbers(compare, |lane| (f64::from_bits(a[lane]), f64::from_bits(b[lane])));
            set_comparison(inst, lanes, mask, logic, holds);
        }
        Op::PickDouble { max } => {
            let (a, b) = (lanes.double(pool, sa).map(f64::from_bits), lanes.double(pool, sb).map(f64::from_bits));
            let first = bits(|lane| {
                let (a, b) = (a[lane], b[lane]);
                let less = if a == b { a.is_sign_negative() } else { a < b };
                b.is_nan() && !a.is_nan() || !a.is_nan() && less != max
            });
            lanes.set_predicate(inst.predicates[0], mask, first);
            lanes.set_predicate(inst.predicates[1], mask, bits(|lane| a[lane].is_nan() && b[lane].is_nan()));
        }
        Op::MufuHalf { op, bfloat } => {
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                let value = lanes.halves(pool, sa, lane, bfloat)[0];
                *out = u32::from(mufu_half(op, (value as f32).to_bits(), bfloat));
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::HAddSingle => {
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                let sum = lanes.halves(pool, sa, lane, false)[0] + lanes.halves(pool, sb, lane, false)[0];
                *out = clean((sum as f32).to_bits());
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::HAdd(mode) => execute_halves(inst, lanes, pool, mask, mode, |a, b, _| half::add_odd(a, b)),
        Op::HMul(mode) => execute_halves(inst, lanes, pool, mask, mode, |a, b, _| a * b),
        Op::HFma(mode) => execute_halves(inst, lanes, pool, mask, mode, |a, b, c| half::add_odd(a * b, c)),
        Op::HMinMax { bfloat, number } => {
            let low = lanes.predicate(inst.conditions[0]);
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                let (a, b) = (lanes.halves(pool, sa, lane, bfloat), lanes.halves(pool, sb, lane, bfloat));
                let one = |i: usize| {
                    let chosen = min_max((a[i] as f32).to_bits(), (b[i] as f32).to_bits(), low >> lane & 1 != 0, number);
                    half::pack(f64::from(f32::from_bits(chosen)), bfloat, Round::Near)
                };
                *out = one(0) | one(1) << 16;
            }
            lanes.set(inst.dst, mask, &out);
        }
        Op::CompareHalf { compare, logic, bfloat } => {
            let other = lanes.predicate(inst.conditions[0]);
            for (i, holds) in compare_halves(inst, lanes, pool, compare, bfloat).into_iter().enumerate() {
                lanes.set_predicate(inst.predicates[i], mask, logic.apply(holds, other));
            }
        }
        Op::SetHalf { compare, logic, bfloat, float } => {
            let other = lanes.predicate(inst.conditions[0]);
            let holds = compare_halves(inst, lanes, pool, compare, bfloat).map(|holds| logic.apply(holds, other));
            let one = match (float, bfloat) {
                (false, _) => 0xffff,
                (true, false) => 0x3c00,
                (true, true) => 0x3f80,
            };
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                *out = ((holds[0] >> lane & 1) * one) | ((holds[1] >> lane & 1) * (one << 16));
            }
            lanes.set(inst.dst, mask, &out);
        }
        _ => return false,
    }
    true
}

fn bits(holds: impl Fn(usize) -> bool) -> u32 {
    (0..32).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}

#[inline(always)]
fn compare_singles(compare: Compare, flush: bool, a: &RegisterRow, b: &RegisterRow) -> u32 {
    compare_numbers(compare, |lane| (f32::from_bits(flushed(a[lane], flush)), f32::from_bits(flushed(b[lane], flush))))
}

#[inline(always)]
fn compare_numbers<T: PartialOrd>(compare: Compare, pair: impl Fn(usize) -> (T, T)) -> u32 {
    let (mut less, mut equal, mut greater) = (0, 0, 0);
    for lane in 0..32 {
        let (a, b) = pair(lane);
        less |= u32::from(a < b) << lane;
        equal |= u32::from(a == b) << lane;
        greater |= u32::from(a > b) << lane;
    }
    compare.holds(less, equal, greater)
}

#[inline(always)]
fn set_comparison(inst: &Inst, lanes: &mut Lanes, mask: u32, logic: Logic, holds: u32) {
    let other = lanes.predicate(inst.conditions[0]);
    lanes.set_predicate(inst.predicates[0], mask, logic.apply(holds, other));
    lanes.set_predicate(inst.predicates[1], mask, logic.apply(!holds, other));
}

#[inline(always)]
fn clean(value: u32) -> u32 {
    if value & 0x7fff_ffff > 0x7f80_0000 { NOT_A_NUMBER } else { value }
}

/// Returns the value, with denormals flushed to zero of the same sign if `flush`.
#[inline(always)]
fn flushed(value: u32, flush: bool) -> u32 {
    if flush && value & 0x7f80_0000 == 0 { value & 0x8000_0000 } else { value }
}

pub(super) fn number(value: u32, flush: bool) -> f64 {
    f64::from(f32::from_bits(flushed(value, flush)))
}

/// Executes single-precision arithmetic with a directed rounding mode.
fn execute_directed(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, mode: Float) {
    let mut buffers = [[0; 32]; 3];
    let [ba, bb, bc] = &mut buffers;
    let a = lanes.float(pool, &inst.src[0], ba);
    let b = lanes.float(pool, &inst.src[1], bb);
    let c = lanes.float(pool, &inst.src[2], bc);
    let mut out = [0; 32];
    for lane in 0..32 {
        let (a, b, c) = (number(a[lane], mode.flush), number(b[lane], mode.flush), number(c[lane], mode.flush));
        // Products of single precision are exact in double precision.
        let exact = match inst.op {
            Op::FAdd(_) => half::add_odd(a, b),
            Op::FMul(_) => a * b,
            Op::FMulScaled(_, exponent) => a * b * half::power(i32::from(exponent)),
            _ => half::add_odd(a * b, c),
        };
        let mut value = half::single(exact, mode.round);
        // The rounding direction determines the sign of an exact zero sum.
        if value == 0.0 && exact == 0.0 && mode.round == Round::Down && !matches!(inst.op, Op::FMul(_) | Op::FMulScaled(..)) {
            let parts = if matches!(inst.op, Op::FAdd(_)) { (a, b) } else { (a * b, c) };
            if parts.0 == -parts.1 && (parts.0 != 0.0 || parts.0.is_sign_negative() != parts.1.is_sign_negative()) {
                value = -0.0;
            }
        }
        if mode.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        out[lane] = clean(flushed(value.to_bits(), mode.flush));
    }
    lanes.set(inst.dst, mask, &out);
}

/// Returns the smaller or larger of two numbers. If one is NaN, returns the other one if `number`.
#[inline(always)]
fn min_max(a: u32, b: u32, low: bool, number: bool) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NOT_A_NUMBER,
        (true, _) | (_, true) if !number => NOT_A_NUMBER,
        (true, false) => b,
        (false, true) => a,
        _ => {
            let first = if x == y { x.is_sign_negative() } else { x < y };
            if first == low { a } else { b }
        }
    }
}

/// Returns true if a division needs the slow path because operands or intermediate results exceed the range of the fast path.
fn needs_slow_division(a: u32, b: u32) -> bool {
    let (ea, eb) = ((a >> 23 & 0xff) as i32, (b >> 23 & 0xff) as i32);
    let odd = |exponent: i32| exponent == 0 || exponent == 255;
    odd(ea) || odd(eb) || !(2..=252).contains(&eb) || ea < 25 || !(-124..=125).contains(&(ea - eb))
}

#[inline(always)]
fn execute_double(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32) {
    let (a, b) = (lanes.double(pool, &inst.src[0]), lanes.double(pool, &inst.src[1]));
    let mut out = [0; 32];
    let round = match inst.op {
        Op::DAdd(round) => {
            for lane in 0..32 {
                out[lane] = (f64::from_bits(a[lane]) + f64::from_bits(b[lane])).to_bits();
            }
            round
        }
        Op::DMul(round) => {
            for lane in 0..32 {
                out[lane] = (f64::from_bits(a[lane]) * f64::from_bits(b[lane])).to_bits();
            }
            round
        }
        Op::DFma(round) => {
            let c = lanes.double(pool, &inst.src[2]);
            for lane in 0..32 {
                out[lane] = f64::from_bits(a[lane]).mul_add(f64::from_bits(b[lane]), f64::from_bits(c[lane])).to_bits();
            }
            round
        }
        _ => Round::Near,
    };
    if round != Round::Near {
        let c = lanes.double(pool, &inst.src[2]);
        for lane in 0..32 {
            let [x, y, z, near] = [a[lane], b[lane], c[lane], out[lane]].map(f64::from_bits);
            if near.is_finite() {
                out[lane] = half::directed(near, rounding_error(inst.op, x, y, z, near), round).to_bits();
            }
        }
    }
    let mut odd = false;
    for &bits in &out {
        odd |= f64::from_bits(bits).is_nan();
    }
    for lane in 0..32 {
        if odd && f64::from_bits(out[lane]).is_nan() {
            let quiet = [a[lane], b[lane]].into_iter().find(|&bits| f64::from_bits(bits).is_nan());
            out[lane] = quiet.unwrap_or(0xfff8_0000_0000_0000) | 0x8_0000_0000_0000;
        }
    }
    lanes.set_pair(inst.dst, mask, &out);
}

/// Returns the error of rounding to nearest; its sign is exact.
fn rounding_error(op: Op, a: f64, b: f64, c: f64, near: f64) -> f64 {
    let sum_error = |a: f64, b: f64, sum: f64| {
        let part = sum - a;
        (a - (sum - part)) + (b - part)
    };
    match op {
        Op::DAdd(_) => sum_error(a, b, near),
        Op::DMul(_) => a.mul_add(b, -near),
        _ => {
            // Boldo and Muller, "Exact and approximated error of the FMA", IEEE Transactions on Computers 2011.
            let product = a * b;
            let product_error = a.mul_add(b, -product);
            let first = c + product_error;
            let first_error = sum_error(c, product_error, first);
            let second = product + first;
            let second_error = sum_error(product, first, second);
            (second - near) + second_error + first_error
        }
    }
}

/// Executes arithmetic on pairs of 16-bit numbers; the result of `f` is exact or rounded to odd.
#[inline(always)]
fn execute_halves(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32, mode: Halves, f: impl Fn(f64, f64, f64) -> f64) {
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        let [a, b, c] = [0, 1, 2].map(|i| lanes.halves(pool, &inst.src[i], lane, mode.bfloat));
        let one = |i: usize| {
            let value = f(a[i], b[i], c[i]);
            let value = match mode {
                Halves { saturate: true, .. } if value > 0.0 => value.min(1.0),
                Halves { saturate: true, .. } => 0.0,
                Halves { rectify: true, .. } if value < 0.0 => 0.0,
                _ => value,
            };
            half::pack(value, mode.bfloat, Round::Near)
        };
        *out = one(0) | one(1) << 16;
    }
    lanes.set(inst.dst, mask, &out);
}

/// Returns the lanes in which a comparison is true, for the low and the high halves.
fn compare_halves(inst: &Inst, lanes: &Lanes, pool: &[RegisterRow], compare: Compare, bfloat: bool) -> [u32; 2] {
    [0, 1].map(|i| {
        let value = |source: usize, lane: usize| lanes.halves(pool, &inst.src[source], lane, bfloat)[i];
        compare_numbers(compare, |lane| (value(0, lane), value(1, lane)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_prefer_numbers_and_order_the_zeros() {
        let (zero, minus, nan, one) = (0, 0x8000_0000, 0x7fc0_0000, 1.0_f32.to_bits());
        assert_eq!((min_max(zero, minus, true, true), min_max(zero, minus, false, true)), (minus, zero));
        assert_eq!(
            (min_max(nan, one, true, true), min_max(one, nan, false, true), min_max(nan, nan, true, true)),
            (one, one, NOT_A_NUMBER)
        );
    }
}
