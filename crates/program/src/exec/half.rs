//! Half-precision conversions, and rounding modes that the host's arithmetic does not offer.

use super::super::isa::Round;

/// Converts a half-precision number.
#[inline(always)]
pub(super) fn to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // The exponents of the two formats differ by 112; the product is also exact for denormals.
    let value = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 31 << 23 { 0x7f80_0000 } else { 0 };
    f32::from_bits(value.to_bits() | special | u32::from(bits & 0x8000) << 16)
}

/// Converts a half-precision number.
#[inline(always)]
pub(in super::super) fn to_f64(bits: u16) -> f64 {
    f64::from(to_f32(bits))
}

/// Returns 2^`exponent`, which must be a normal number.
#[inline(always)]
pub(super) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Rounds a number to half precision; NaN becomes 0x7fff.
pub(in super::super) fn from_f64(value: f64, round: Round) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    let away = match round {
        Round::Up => !value.is_sign_negative(),
        Round::Down => value.is_sign_negative(),
        Round::Near | Round::Zero => false,
    };
    if magnitude == f64::INFINITY {
        return sign | 0x7c00;
    }
    // The distance between neighbouring numbers is a power of two, so the division is exact.
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let step = power(exponent.max(-14) - 10);
    let steps = magnitude / step;
    let whole = match round {
        Round::Near => steps.round_ties_even(),
        _ if away => steps.ceil(),
        _ => steps.floor(),
    };
    let rounded = whole * step;
    if rounded > 65504.0 {
        let largest = matches!(round, Round::Zero) || matches!(round, Round::Up | Round::Down) && !away;
        return sign | if largest { 0x7bff } else { 0x7c00 };
    }
    let exponent = ((rounded.to_bits() >> 52) as i32 - 1023).max(-15);
    let bits = if exponent < -14 {
        (rounded * power(24)) as u16
    } else {
        ((exponent + 15) as u16) << 10 | (rounded * power(10 - exponent)) as u16 & 0x3ff
    };
    sign | bits
}

/// Rounds a number to the 16-bit format with 8 exponent bits (bfloat); NaN becomes 0x7fff.
pub(in super::super) fn bfloat(value: f64, round: Round) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    // Rounds towards zero with a sticky last bit, so that the second rounding is exact.
    let cut = single(value, Round::Zero);
    let bits = cut.to_bits() | u32::from(f64::from(cut) != value);
    let (rest, kept) = (bits & 0xffff, (bits >> 16) as u16);
    let up = match round {
        Round::Near => rest > 0x8000 || rest == 0x8000 && kept & 1 == 1,
        Round::Up => rest != 0 && value > 0.0,
        Round::Down => rest != 0 && value < 0.0,
        Round::Zero => false,
    };
    kept + u16::from(up && cut.is_finite())
}

/// Rounds a number to one of the 16-bit formats.
pub(super) fn pack(value: f64, is_bfloat: bool, round: Round) -> u32 {
    u32::from(if is_bfloat { bfloat(value, round) } else { from_f64(value, round) })
}

/// Returns the sum of two numbers, rounded to odd: its last bit is 1 if it is not exact. Rounding it again to a format with at least two
/// bits less gives the same result as a single rounding.
pub(super) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if (error > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}

/// Rounds a number to single precision.
pub(super) fn single(value: f64, round: Round) -> f32 {
    let near = value as f32;
    let (below, above) = (f64::from(near) < value, f64::from(near) > value);
    match round {
        Round::Up if below => near.next_up(),
        Round::Down if above => near.next_down(),
        Round::Zero if above && value > 0.0 => near.next_down(),
        Round::Zero if below && value < 0.0 => near.next_up(),
        _ => near,
    }
}

/// Corrects `near`, a result rounded to nearest, to another rounding mode, given the sign of its rounding error.
pub(super) fn directed(near: f64, error: f64, round: Round) -> f64 {
    match round {
        Round::Up if error > 0.0 => near.next_up(),
        Round::Down if error < 0.0 => near.next_down(),
        Round::Zero if error < 0.0 && near > 0.0 => near.next_down(),
        Round::Zero if error > 0.0 && near < 0.0 => near.next_up(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            if value.is_nan() {
                continue;
            }
            for round in [Round::Near, Round::Zero, Round::Up, Round::Down] {
                assert_eq!(from_f64(value, round), bits, "{bits:#06x} {round:?}");
            }
        }
    }

    #[test]
    fn halves_round_to_the_nearer_neighbour_and_ties_to_even() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (to_f64(bits), to_f64(bits + 1));
            let middle = (low + high) / 2.0;
            assert_eq!(from_f64(middle, Round::Near), bits + (bits & 1), "{bits:#06x}");
            assert_eq!(from_f64(middle.next_up(), Round::Near), bits + 1);
            assert_eq!(from_f64(middle.next_down(), Round::Near), bits);
            assert_eq!((from_f64(middle, Round::Up), from_f64(middle, Round::Down)), (bits + 1, bits));
            assert_eq!((from_f64(-middle, Round::Up), from_f64(-middle, Round::Zero)), (0x8000 | bits, 0x8000 | bits));
        }
        assert_eq!((from_f64(65519.9, Round::Near), from_f64(65520.0, Round::Near)), (0x7bff, 0x7c00));
        assert_eq!((from_f64(1e9, Round::Zero), from_f64(-1e9, Round::Up)), (0x7bff, 0xfbff));
    }

    #[test]
    fn bfloats_round_to_the_nearer_neighbour_and_ties_to_even() {
        let value = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
        for bits in 0..0x7f7f_u16 {
            let middle = f64::midpoint(value(bits), value(bits + 1));
            assert_eq!(bfloat(value(bits), Round::Near), bits, "{bits:#06x}");
            assert_eq!(bfloat(middle, Round::Near), bits + (bits & 1), "{bits:#06x}");
            assert_eq!((bfloat(middle.next_up(), Round::Near), bfloat(middle.next_down(), Round::Near)), (bits + 1, bits));
            assert_eq!((bfloat(middle, Round::Up), bfloat(middle, Round::Zero)), (bits + 1, bits));
            assert_eq!((bfloat(-middle, Round::Up), bfloat(-middle, Round::Down)), (0x8000 | bits, 0x8000 | (bits + 1)));
        }
        assert_eq!(
            (bfloat(1e39, Round::Near), bfloat(f64::INFINITY, Round::Zero), bfloat(f64::NAN, Round::Near)),
            (0x7f80, 0x7f80, 0x7fff)
        );
        assert_eq!(bfloat(1e39, Round::Zero), 0x7f7f);
    }

    #[test]
    fn single_precision_is_bracketed_by_its_directions() {
        for value in [1.0 / 3.0, -1.0 / 3.0, 1e-45, -1e-45, 1e39, -1e39, 0.0] {
            let [up, down, zero] = [Round::Up, Round::Down, Round::Zero].map(|round| single(value, round));
            assert!(f64::from(down) <= value && value <= f64::from(up), "{value}");
            assert!(f64::from(zero).abs() <= value.abs());
        }
    }
}
