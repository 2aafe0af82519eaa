//! The functions of MUFU (transcendental unit).
//!
//! All are computed like the hardware from the rows of [`Table`]. They have the hardware's bits on every input of the sweeps over whole
//! mantissas from which the tables were derived, and of sweeps over all magnitudes and both signs.

use super::super::isa::{MufuOp, Round};
use super::float::NOT_A_NUMBER;
use super::half::{from_f64, power};
use super::mufu_log_tables::{LG2, SIN, TANH, TANH_BITS};
use super::mufu_tables::{EX2, RCP, RSQ, SQRT, Table};

/// Upper bits of a square that the squarer keeps.
const SQUARE_BITS: u32 = 15;
/// Magnitude in units of 2^-23 from which the input of EX2 is out of range.
const EX2_LIMIT: i64 = 256 << 23;
const SIGN_BIT: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
/// Exponent bits of a double-precision infinity in its upper word.
const WIDE_INFINITY: u32 = 0x7ff0_0000;

impl<const ROWS: usize> Table<ROWS> {
    /// Returns the polynomial of a row with `scale` extra bits below the last bit of the result.
    fn sum(&self, first_row: u32, mantissa: u32) -> i64 {
        let row = first_row + (mantissa >> self.low);
        let argument = mantissa & ((1 << self.low) - 1);
        let [constant, first, second] = self.rows[row as usize % ROWS].map(i64::from);
        let square = i64::from(square(argument, self.low));
        (constant << self.unit) + self.bias + first * i64::from(argument) + second * square
    }

    /// Returns the truncated polynomial of a row.
    fn result(&self, first_row: u32, mantissa: u32) -> i64 {
        self.sum(first_row, mantissa) >> self.scale
    }
}

/// Returns the upper bits of the square of a number of `bits` bits. The squarer omits the partial products of the lower columns.
fn square(argument: u32, bits: u32) -> u32 {
    let columns = 2 * bits - SQUARE_BITS;
    let argument = u64::from(argument);
    let mut left_out = 0;
    for i in (0..columns.div_ceil(2)).filter(|i| argument >> i & 1 != 0) {
        // Partial products of bit i in the omitted columns: with itself, and with each higher bit.
        let others = argument & ((1 << (columns - 1 - i)) - 1);
        left_out += (1 << (2 * i)) + (others >> (i + 1) << (2 * i + 2));
    }
    ((argument * argument - left_out) >> columns) as u32
}

/// Returns `value * 2^exponent` in single precision; subnormal results become zero.
fn scale_to_single(value: i64, exponent: i32) -> u32 {
    let single = (value as f64 * power(exponent)) as f32;
    if single.is_subnormal() { 0 } else { single.to_bits() }
}

/// Returns the function of a single-precision number, or of the upper word of a double-precision number.
pub(super) fn mufu(op: MufuOp, bits: u32) -> u32 {
    let (sign, field, fraction) = (bits & SIGN_BIT, bits >> 23 & 0xff, bits & 0x7f_ffff);
    let exponent = field as i32 - 127;
    let (odd, half_exponent) = (exponent & 1, exponent >> 1);
    match op {
        MufuOp::Rcp64 | MufuOp::Rsq64 => return mufu_wide(op, bits),
        _ if field == 0xff && fraction != 0 => return NOT_A_NUMBER,
        _ => {}
    }
    // Denormal inputs are treated as zero.
    let (zero, infinite) = (field == 0, field == 0xff);
    match op {
        MufuOp::Tanh => sign | tanh(exponent, bits & !SIGN_BIT),
        MufuOp::Lg2 if zero => SIGN_BIT | INFINITY,
        MufuOp::Lg2 if sign != 0 => NOT_A_NUMBER,
        MufuOp::Lg2 if infinite => INFINITY,
        // The logarithm is exact only for the input 1.
        MufuOp::Lg2 if fraction == 0 && exponent == 0 => 0,
        MufuOp::Lg2 => {
            let whole = (i64::from(exponent) << LG2.scale) + LG2.sum(0, fraction);
            // A negative number becomes the complement of its magnitude; bits below 2^-36 are dropped.
            let magnitude = if whole < 0 { !whole } else { whole } & !3;
            u32::from(whole < 0) << 31 | truncate_scaled(magnitude, -(LG2.scale as i32))
        }
        MufuOp::Sin | MufuOp::Cos if infinite => NOT_A_NUMBER,
        MufuOp::Sin => sine(quarter_turns(bits), sign),
        MufuOp::Cos => sine(quarter_turns(bits) + (1 << 23), 0),
        MufuOp::Rcp if zero => sign | INFINITY,
        MufuOp::Rcp if infinite => sign,
        MufuOp::Rcp => sign | scale_to_single(RCP.result(0, fraction), -24 - exponent),
        MufuOp::Rsq if zero => sign | INFINITY,
        MufuOp::Sqrt if zero => sign,
        MufuOp::Rsq | MufuOp::Sqrt if sign != 0 => NOT_A_NUMBER,
        MufuOp::Rsq if infinite => 0,
        MufuOp::Sqrt if infinite => INFINITY,
        // The result for a power of four is exact.
        MufuOp::Rsq if fraction == 0 && odd == 0 => scale_to_single(1, -half_exponent),
        MufuOp::Rsq => scale_to_single(RSQ.result(64 * odd as u32, fraction), -24 - half_exponent),
        MufuOp::Sqrt => scale_to_single(SQRT.result(64 * odd as u32, fraction), half_exponent - 23),
        _ => {
            // Converts to fixed point with 23 fraction bits by truncation; a negative number that is not an integer becomes the complement
            // of its magnitude.
            let magnitude = f64::from(f32::from_bits(bits & !SIGN_BIT)) * power(23);
            match (if zero { 0 } else { magnitude as i64 }, sign != 0) {
                (EX2_LIMIT.., true) => 0,
                (EX2_LIMIT.., false) => INFINITY,
                (whole, negative) => {
                    let fixed = match whole & 0x7f_ffff {
                        0 if negative => -whole,
                        _ if negative => !whole,
                        _ => whole,
                    };
                    scale_to_single(EX2.result(0, (fixed & 0x7f_ffff) as u32), (fixed >> 23) as i32 - 23)
                }
            }
        }
    }
}

/// Returns the function of a half or bfloat: the single-precision result is truncated, and results beyond the range of a half are infinite.
pub(super) fn mufu_half(op: MufuOp, bits: u32, bfloat: bool) -> u16 {
    /// Twice the highest power of two of a half.
    const BEYOND_HALVES: f32 = 65536.0;
    let single = mufu(op, bits);
    let value = f32::from_bits(single);
    match bfloat {
        true => (single >> 16) as u16,
        false if value.abs() >= BEYOND_HALVES => from_f64(f64::INFINITY.copysign(f64::from(value)), Round::Zero),
        false => from_f64(f64::from(value), Round::Zero),
    }
}

/// Returns the upper word of a double-precision result from the upper word of the input; table results are truncated to 20 fraction bits.
fn mufu_wide(op: MufuOp, bits: u32) -> u32 {
    let (sign, field, fraction) = (bits & SIGN_BIT, bits >> 20 & 0x7ff, bits & 0xf_ffff);
    let exponent = field as i32 - 1023;
    let (odd, half_exponent) = (exponent & 1, exponent >> 1);
    let mantissa = fraction << 3;
    let (result, exponent) = match (op, field) {
        (_, 0x7ff) if fraction != 0 => return NOT_A_NUMBER,
        (_, 0) => return sign | WIDE_INFINITY,
        (MufuOp::Rsq64, _) if sign != 0 => return NOT_A_NUMBER,
        (_, 0x7ff) => return sign,
        (MufuOp::Rsq64, _) if fraction == 0 && odd == 0 => (1 << 21, -half_exponent),
        (MufuOp::Rsq64, _) => (RSQ.sum(64 * odd as u32, mantissa) >> (RSQ.scale + 3), -half_exponent),
        _ => (RCP.sum(0, mantissa) >> (RCP.scale + 3), -exponent),
    };
    // The result is between 2^20 and 2^21 in units of 2^-21.
    let whole = result >> 21;
    let field = exponent - 1 + whole as i32 + 1023;
    if field <= 0 { sign } else { sign | (field as u32) << 20 | (result as u32 & 0xf_ffff) }
}

/// Returns `value * 2^exponent` truncated to single precision.
fn truncate_scaled(value: i64, exponent: i32) -> u32 {
    let beyond = (64 - value.leading_zeros()).saturating_sub(24);
    scale_to_single(value >> beyond << beyond, exponent)
}

/// Returns the fractional turns of an angle's magnitude, in units of 2^-23 of a quarter turn.
fn quarter_turns(bits: u32) -> u32 {
    let turns = f64::from(f32::from_bits(bits & !SIGN_BIT));
    ((turns - turns.floor()) * power(25)) as u32
}

/// Returns the sine of an angle in units of 2^-23 of a quarter turn; `sign` flips its sign.
fn sine(angle: u32, sign: u32) -> u32 {
    let within = angle & 0x7f_ffff;
    // Every second quarter turn runs backwards.
    let within = if angle >> 23 & 1 != 0 { 0x7f_ffff - within } else { within };
    (sign ^ (angle >> 24 & 1) << 31) | truncate_scaled(SIN.sum(0, within), -(SIN.scale as i32))
}

/// Returns the hyperbolic tangent of a non-negative number with exponent `exponent`.
fn tanh(exponent: i32, bits: u32) -> u32 {
    let Ok(place) = usize::try_from(exponent + 8) else { return bits };
    let Some(&kept) = TANH_BITS.get(place) else { return 1.0_f32.to_bits() };
    let first: u32 = TANH_BITS[..place].iter().map(|bits| 1 << (bits - TANH.low)).sum();
    truncate_scaled(TANH.sum(first, (bits & 0x7f_ffff) >> (23 - kept)), exponent.min(0) - TANH.scale as i32)
}

#[cfg(test)]
mod tests {
    use super::super::half::to_f64;
    use super::*;

    #[test]
    fn mufu_is_within_its_documented_error() {
        let ulps = |got: u32, wanted: f64| (f64::from(f32::from_bits(got)) - wanted).abs() / (wanted.abs() * f64::from(f32::EPSILON));
        for i in 1..2000 {
            let x = f64::from(i) * 0.37;
            let bits = (x as f32).to_bits();
            let x = f64::from(x as f32);
            assert!(ulps(mufu(MufuOp::Rcp, bits), 1.0 / x) < 1.0);
            assert!(ulps(mufu(MufuOp::Rsq, bits), 1.0 / x.sqrt()) < 1.0);
            assert!(ulps(mufu(MufuOp::Sqrt, bits), x.sqrt()) < 1.0);
            // PTX specifies a maximum error of 2^-22, absolute from 0.5 to 2, otherwise relative.
            let error = (f64::from(f32::from_bits(mufu(MufuOp::Lg2, bits))) - x.log2()).abs();
            assert!(error < 2_f64.powi(-22) * x.log2().abs().max(1.0));
        }
        // The CUDA C programming guide gives error bounds of 2 ulp plus a part of the argument for ex2, and 2^-20.9 within half a turn for
        // sin and cos; PTX gives 2^-11 for tanh. The high words of doubles have 20 fraction bits.
        for i in -2000..=2000 {
            let x = f64::from(i) * 0.013;
            let bits = (x as f32).to_bits();
            let x = f64::from(x as f32);
            assert!(ulps(mufu(MufuOp::Ex2, bits), x.exp2()) < 2.0 + 1.173 * x.abs());
            let number = |op| f64::from(f32::from_bits(mufu(op, bits)));
            assert!((number(MufuOp::Tanh) - x.tanh()).abs() <= x.tanh().abs() * 2_f64.powi(-11));
            let angle = x * std::f64::consts::TAU;
            assert!(
                (number(MufuOp::Sin) - angle.sin()).abs() < 2_f64.powi(-20) && (number(MufuOp::Cos) - angle.cos()).abs() < 2_f64.powi(-20)
            );
            let high = (x.abs() + 1e-3).to_bits() >> 32;
            let wide = |word: u32| f64::from_bits(u64::from(word) << 32);
            let relative = |got: f64, wanted: f64| (got / wanted - 1.0).abs();
            assert!(relative(wide(mufu(MufuOp::Rcp64, high as u32)), 1.0 / wide(high as u32)) < 2_f64.powi(-20));
            assert!(relative(wide(mufu(MufuOp::Rsq64, high as u32)), 1.0 / wide(high as u32).sqrt()) < 2_f64.powi(-20));
        }
        assert_eq!(mufu(MufuOp::Rcp, 0x8000_0001), f32::NEG_INFINITY.to_bits());
        assert_eq!(mufu(MufuOp::Rsq, (-1.0_f32).to_bits()), NOT_A_NUMBER);
        assert_eq!(mufu(MufuOp::Sin, f32::INFINITY.to_bits()), NOT_A_NUMBER);
        assert_eq!(mufu(MufuOp::Ex2, (-200.0_f32).to_bits()), 0);
    }

    /// Returns the CRC-32 of the results for every 257th of `count` inputs that are `step` apart from `first` on, limited to inputs for
    /// which `keeps` is true.
    fn results_crc(op: MufuOp, first: u32, step: u32, count: u32, keeps: impl Fn(u32) -> bool) -> u32 {
        let mut hash = crc32fast::Hasher::new();
        for i in (0..count).step_by(257) {
            let input = first.wrapping_add(i.wrapping_mul(step));
            if keeps(input) {
                hash.update(&mufu(op, input).to_le_bytes());
            }
        }
        hash.finalize()
    }

    #[test]
    fn results_are_those_of_an_h100() {
        // The expected values are CRC-32s of the results of an NVIDIA H100 80GB HBM3 for these inputs (driver 580.159.04, CUDA 13.0).
        let whole = |op, first| results_crc(op, first, 1, 1 << 23, |_| true);
        assert_eq!(whole(MufuOp::Rcp, 0x3f80_0000), 0x58d4_6daa);
        assert_eq!([whole(MufuOp::Rsq, 0x3f80_0000), whole(MufuOp::Rsq, 0x4000_0000)], [0xd452_09d1, 0x9862_7c23]);
        assert_eq!([whole(MufuOp::Sqrt, 0x3f80_0000), whole(MufuOp::Sqrt, 0x4000_0000)], [0xe6e8_d76d, 0xf620_abcd]);
        assert_eq!([whole(MufuOp::Ex2, 0x3f80_0000), whole(MufuOp::Ex2, 0x3f00_0000)], [0x4752_c519, 0x846b_7b1c]);
        // Inputs of every magnitude and both signs.
        let small = |bits: u32| f32::from_bits(bits).abs() < 120.0;
        assert_eq!(results_crc(MufuOp::Ex2, 0x3000_0000, 511, 1 << 23, small), 0xb26a_42a5);
        let high = |op| results_crc(op, 0x3ff0_0000, 1, 1 << 20, |_| true);
        assert_eq!([high(MufuOp::Rcp64), high(MufuOp::Rsq64)], [0xa0d3_22da, 0x552f_38ec]);
    }

    /// Returns the product with 1 / (2 pi), truncated, which `sin.approx.ftz` computes before MUFU.
    fn fraction_of_turns(bits: u32) -> u32 {
        let flushed = |number: f32| if number.is_subnormal() { 0.0_f32.copysign(number) } else { number };
        let exact = f64::from(flushed(f32::from_bits(bits))) * f64::from(f32::from_bits(0x3e22_f983));
        let near = exact as f32;
        flushed(if f64::from(near).abs() > exact.abs() { f32::from_bits(near.to_bits() - 1) } else { near }).to_bits()
    }

    #[test]
    fn functions_of_angles_and_logarithms_are_those_of_an_h100() {
        // The expected values are CRC-32s of H100 results; sweeps over all bit patterns have steps of 8191, or 4099 in the upper words of
        // doubles.
        let all = |op| results_crc(op, 0, 8191, 1 << 19, |_| true);
        assert_eq!([MufuOp::Lg2, MufuOp::Tanh, MufuOp::Ex2].map(all), [0x80be_84f6, 0xcc4c_fd5d, 0xfb74_2ea5]);
        assert_eq!([MufuOp::Rcp, MufuOp::Rsq, MufuOp::Sqrt].map(all), [0xb501_30c2, 0xb1e5_13d5, 0x5e02_a4c8]);
        let wide = |op| results_crc(op, 0, 4099, 1 << 20, |_| true);
        assert_eq!([MufuOp::Rsq64, MufuOp::Rcp64].map(wide), [0xe996_45a8, 0xf6c9_6806]);
        assert_eq!(results_crc(MufuOp::Lg2, 0x4000_0000, 4, 1 << 21, |_| true), 0xd3b3_5eae);
        assert_eq!(results_crc(MufuOp::Lg2, 0x3f00_0000, 1, 8_388_253, |_| true), 0xda6b_44d3);
        assert_eq!(results_crc(MufuOp::Tanh, 0x3f80_0000, 1, 1 << 23, |_| true), 0x5362_cdf2);
        assert_eq!(results_crc(MufuOp::Tanh, 0x4000_0000, 12, 1 << 21, |_| true), 0x37e8_a1dc);
        let angles = |op, first: u32, step: u32, count: u32| {
            let results = (0..count).step_by(257).map(|i| mufu(op, fraction_of_turns(first.wrapping_add(i.wrapping_mul(step)))));
            crc32fast::hash(&results.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
        };
        assert_eq!([MufuOp::Sin, MufuOp::Cos].map(|op| angles(op, 0, 8191, 1 << 19)), [0xdd73_9030, 0x7c06_be8a]);
        assert_eq!(angles(MufuOp::Sin, 0x3f80_0000, 1, 1 << 23), 0xb6d7_75df);
        assert_eq!(angles(MufuOp::Cos, 0x4000_0000, 1, 1 << 23), 0xd3c3_bbbe);
    }

    #[test]
    fn functions_of_halves_and_bfloats_are_those_of_an_h100() {
        let all = |op, bfloat: bool| {
            let single = |bits: u16| if bfloat { u32::from(bits) << 16 } else { (to_f64(bits) as f32).to_bits() };
            let results = (0..=u16::MAX).map(|bits| mufu_half(op, single(bits), bfloat));
            crc32fast::hash(&results.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
        };
        assert_eq!([all(MufuOp::Ex2, false), all(MufuOp::Tanh, false)], [0xd535_0e3b, 0x4fdb_ebf7]);
        assert_eq!([all(MufuOp::Ex2, true), all(MufuOp::Tanh, true)], [0xeab0_2565, 0xa137_3044]);
    }

    #[test]
    fn special_inputs_have_specified_results() {
        let (minus, one) = (SIGN_BIT, 1.0_f32.to_bits());
        for (op, expected) in [
            (MufuOp::Rcp, [INFINITY, minus | INFINITY, 0, minus, NOT_A_NUMBER, one]),
            (MufuOp::Rsq, [INFINITY, minus | INFINITY, 0, NOT_A_NUMBER, NOT_A_NUMBER, one]),
            (MufuOp::Sqrt, [0, minus, INFINITY, NOT_A_NUMBER, NOT_A_NUMBER, one]),
            (MufuOp::Ex2, [one, one, INFINITY, 0, NOT_A_NUMBER, 2.0_f32.to_bits()]),
            (MufuOp::Lg2, [minus | INFINITY, minus | INFINITY, INFINITY, NOT_A_NUMBER, NOT_A_NUMBER, 0]),
            (MufuOp::Tanh, [0, minus, one, minus | one, NOT_A_NUMBER, 0x3f42_f848]),
        ] {
            let inputs = [0, minus, INFINITY, minus | INFINITY, 0x7fc0_0000, one];
            assert_eq!(inputs.map(|bits| mufu(op, bits)), expected, "{op:?}");
        }
    }
}
