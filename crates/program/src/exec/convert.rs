//! Conversions between number formats.

use super::super::isa::{Inst, Number, Op, Round, Source};
use super::super::operand::Half;
use super::half;
use super::lanes::{Lanes, RegisterRow};

/// Executes a conversion in the lanes of `mask`; returns false if `inst` is not a conversion.
pub(super) fn execute(inst: &Inst, lanes: &mut Lanes, pool: &[RegisterRow], mask: u32) -> bool {
    match inst.op {
        Op::FloatToFloat { to, from, round, flush, integral } => {
            let out = float_sources(inst, lanes, pool, from, flush).map(|value| {
                let value = integral.map_or(value, |round| integer_part(value, round));
                float_bits(value, to, round, flush)
            });
            store_results(inst, lanes, mask, &out, to == Number::Float(8));
        }
        Op::FloatToInt { to, from, round, flush } => {
            let Number::Integer(bytes, signed) = to else { return false };
            let double = from == Number::Float(8);
            let out = float_sources(inst, lanes, pool, from, flush).map(|value| to_integer(value, bytes, signed, round, double));
            store_results(inst, lanes, mask, &out, bytes == 8);
        }
        Op::IntToFloat { to, from, round } => {
            let Number::Integer(bytes, signed) = from else { return false };
            let source = &inst.src[0];
            let values = match bytes {
                8 => lanes.int_pair(pool, source),
                4 => {
                    let mut buffer = [0; 32];
                    lanes.int(pool, source, &mut buffer).map(u64::from)
                }
                _ => lanes.row(pool, source.row).map(|word| u64::from(word >> part_offset(source))),
            };
            let mut out = [0; 32];
            for (out, value) in out.iter_mut().zip(values) {
                let shift = 64 - 8 * u32::from(bytes);
                let value = if signed { i128::from((value << shift) as i64 >> shift) } else { i128::from(value << shift >> shift) };
                // The absolute value applies to the selected part of a register.
                let value = if bytes < 4 && source.absolute { value.abs() } else { value };
                *out = integer_bits(if bytes < 4 && source.negate { -value } else { value }, to, round);
            }
            store_results(inst, lanes, mask, &out, to == Number::Float(8));
        }
        Op::PackHalves { bfloat, round, rectify } => {
            let [mut ba, mut bb] = [[0; 32]; 2];
            let (high, low) = (lanes.float(pool, &inst.src[0], &mut ba), lanes.float(pool, &inst.src[1], &mut bb));
            let pack = |word: u32| {
                let value = f64::from(f32::from_bits(word));
                half::pack(if rectify && value < 0.0 { 0.0 } else { value }, bfloat, round)
            };
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = pack(low[lane]) | pack(high[lane]) << 16;
            }
            lanes.set(inst.dst, mask, &out);
        }
        _ => return false,
    }
    true
}

/// Returns the bit offset of the selected part of a source register.
fn part_offset(source: &Source) -> u32 {
    match source.half {
        Half::High => 16,
        _ => 8 * u32::from(source.byte),
    }
}

fn store_results(inst: &Inst, lanes: &mut Lanes, mask: u32, values: &[u64; 32], wide: bool) {
    if wide {
        lanes.set_pair(inst.dst, mask, values);
    } else {
        lanes.set(inst.dst, mask, &values.map(|value| value as u32));
    }
}

/// Returns the source as numbers in double precision, which represents all smaller formats exactly.
fn float_sources(inst: &Inst, lanes: &Lanes, pool: &[RegisterRow], from: Number, flush: bool) -> [f64; 32] {
    let source = &inst.src[0];
    match from {
        Number::Float(8) => lanes.double(pool, source).map(f64::from_bits),
        Number::Float(2) | Number::Bfloat => std::array::from_fn(|lane| lanes.halves(pool, source, lane, from == Number::Bfloat)[0]),
        _ => {
            let mut buffer = [0; 32];
            lanes.float(pool, source, &mut buffer).map(|bits| {
                let value = f32::from_bits(bits);
                f64::from(if flush && value.is_subnormal() { 0.0_f32.copysign(value) } else { value })
            })
        }
    }
}

fn float_bits(value: f64, to: Number, round: Round, flush: bool) -> u64 {
    match to {
        Number::Float(8) => value.to_bits(),
        Number::Float(2) => u64::from(half::from_f64(value, round)),
        Number::Bfloat => u64::from(half::bfloat(value, round)),
        _ => {
            let single = half::single(value, round);
            let single = if flush && single.is_subnormal() { 0.0_f32.copysign(single) } else { single };
            u64::from(if single.is_nan() { 0x7fff_ffff } else { single.to_bits() })
        }
    }
}

fn integer_part(value: f64, round: Round) -> f64 {
    match round {
        Round::Near => value.round_ties_even(),
        Round::Zero => value.trunc(),
        Round::Down => value.floor(),
        Round::Up => value.ceil(),
    }
}

/// Converts a number to an integer and saturates it to the integer's range. NaN becomes zero, or, for 64-bit integers or double-precision
/// sources, the integer with only the highest bit set, as PTX defines it.
fn to_integer(value: f64, bytes: u8, signed: bool, round: Round, double: bool) -> u64 {
    let bits = 8 * u32::from(bytes);
    if value.is_nan() {
        return if double || bytes == 8 { 1 << (bits - 1) } else { 0 };
    }
    let whole = integer_part(value, round);
    if signed {
        let most = i64::MAX >> (64 - bits);
        (whole as i64).clamp(-most - 1, most) as u64
    } else {
        (whole as u64).min(u64::MAX >> (64 - bits))
    }
}

/// Converts an integer to floating point with a single rounding.
fn integer_bits(value: i128, to: Number, round: Round) -> u64 {
    let error = |near: f64| {
        // Only the rounded number itself can be outside of the 64-bit range.
        value - near as i128
    };
    match to {
        Number::Float(8) => {
            let near = value as f64;
            half::directed(near, error(near) as f64, round).to_bits()
        }
        // For half and bfloat results of a 64-bit integer, the bits beyond 53 are kept as a sticky last bit.
        Number::Float(2) | Number::Bfloat => {
            let near = value as f64;
            let left = value - near as i128;
            let odd = if left == 0 || near.to_bits() & 1 == 1 {
                near
            } else {
                half::directed(near, left as f64, if left > 0 { Round::Up } else { Round::Down })
            };
            u64::from(half::pack(odd, to == Number::Bfloat, round))
        }
        _ => {
            let near = value as f32;
            let left = error(f64::from(near));
            let rounded = match round {
                Round::Up if left > 0 => near.next_up(),
                Round::Down if left < 0 => near.next_down(),
                Round::Zero if left < 0 && value > 0 => near.next_down(),
                Round::Zero if left > 0 && value < 0 => near.next_up(),
                _ => near,
            };
            u64::from(rounded.to_bits())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_rounded_once_in_every_direction() {
        for value in [16_777_217_i128, -16_777_217, i128::from(u64::MAX), i128::from(i64::MIN) + 1, 0, 33_554_435] {
            let single = |round| f32::from_bits(integer_bits(value, Number::Float(4), round) as u32);
            let exact = |x: f32| f64::from(x) as i128;
            assert!(exact(single(Round::Down)) <= value && value <= exact(single(Round::Up)), "{value}");
            assert!(exact(single(Round::Zero)).abs() <= value.abs());
            assert_eq!(single(Round::Near), value as f32);
        }
    }

    #[test]
    fn numbers_outside_of_an_integers_range_are_limited() {
        assert_eq!(to_integer(3e9, 4, true, Round::Zero, false) as u32, 0x7fff_ffff);
        assert_eq!(to_integer(-3e9, 4, true, Round::Zero, false) as u32, 0x8000_0000);
        assert_eq!(to_integer(-1.0, 4, false, Round::Zero, false), 0);
        assert_eq!(to_integer(300.0, 1, false, Round::Zero, false), 255);
        assert_eq!(to_integer(f64::NAN, 4, true, Round::Zero, false), 0);
        assert_eq!(to_integer(f64::NAN, 8, true, Round::Zero, false), 1 << 63);
        assert_eq!(to_integer(f64::INFINITY, 8, false, Round::Zero, true), u64::MAX);
        assert_eq!([2.5, 3.5, -2.5].map(|x| to_integer(x, 4, true, Round::Near, false) as i32), [2, 4, -2]);
        assert_eq!([Round::Up, Round::Down].map(|round| to_integer(-0.5, 4, true, round, false) as i32), [0, -1]);
    }
}
