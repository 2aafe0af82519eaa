//! Elements of buffers: conversion between numbers and bytes.

use std::path::Path;

use warpshard_base::Rng;

use super::exec::half;
use super::expression::Formula;
use super::isa::Round;
use super::schema::{Contents, Kind, Number};

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Unsigned(usize),
    Signed(usize),
    /// IEEE 754 half precision with 16 bits.
    Half,
    /// The 16-bit format with the exponent range of single precision.
    Bfloat,
    Single,
    Double,
}

impl Element {
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::U8 => Self::Unsigned(1),
            Kind::U16 => Self::Unsigned(2),
            Kind::U32 => Self::Unsigned(4),
            Kind::U64 => Self::Unsigned(8),
            Kind::I8 => Self::Signed(1),
            Kind::I16 => Self::Signed(2),
            Kind::I32 => Self::Signed(4),
            Kind::I64 => Self::Signed(8),
            Kind::F16 => Self::Half,
            Kind::Bf16 => Self::Bfloat,
            Kind::F32 => Self::Single,
            Kind::F64 => Self::Double,
        }
    }

    /// Returns the name of the element type.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unsigned(1) | Self::Signed(1) => "u8",
            Self::Unsigned(2) | Self::Signed(2) => "u16",
            Self::Unsigned(4) => "u32",
            Self::Signed(4) => "i32",
            Self::Unsigned(_) => "u64",
            Self::Signed(_) => "i64",
            Self::Half => "f16",
            Self::Bfloat => "bf16",
            Self::Single => "f32",
            Self::Double => "f64",
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::Half | Self::Bfloat => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Half | Self::Bfloat | Self::Single | Self::Double)
    }

    /// Appends a number, rounded for a floating-point type.
    ///
    /// # Errors
    /// The type is an integer type that cannot represent the number.
    fn append_number(self, number: Number, out: &mut Vec<u8>) -> Result<(), String> {
        let (name, bytes) = match self {
            Self::Unsigned(bytes) => ('u', bytes),
            Self::Signed(bytes) => ('i', bytes),
            Self::Half | Self::Bfloat | Self::Single | Self::Double => {
                let number = match number {
                    Number::Integer(number) => number as f64,
                    Number::Float(number) => number,
                };
                self.append_rounded(std::iter::once(number), out);
                return Ok(());
            }
        };
        let bits = bytes as u32 * 8;
        let integer = match number {
            Number::Integer(number) => i128::from(number),
            Number::Float(number) if number.fract() == 0.0 && number.abs() < 2f64.powi(64) => number as i128,
            Number::Float(number) => return Err(format!("{number} is not an integer, as {name}{bits} requires")),
        };
        let (least, most) = if name == 'u' { (0, (1_i128 << bits) - 1) } else { (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1) };
        if !(least..=most).contains(&integer) {
            return Err(format!("{integer} is out of range of {name}{bits}, which is from {least} to {most}"));
        }
        out.extend_from_slice(&integer.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// Appends numbers, rounded to the type.
    fn append_rounded(self, values: impl Iterator<Item = f64>, out: &mut Vec<u8>) {
        match self {
            Self::Unsigned(bytes) => values.for_each(|value| out.extend_from_slice(&(value as u64).to_le_bytes()[..bytes])),
            Self::Signed(bytes) => values.for_each(|value| out.extend_from_slice(&(value as i64).to_le_bytes()[..bytes])),
            Self::Half => values.for_each(|value| out.extend_from_slice(&half::from_f64(value, Round::Near).to_le_bytes())),
            Self::Bfloat => values.for_each(|value| out.extend_from_slice(&half::bfloat(value, Round::Near).to_le_bytes())),
            Self::Single => values.for_each(|value| out.extend_from_slice(&(value as f32).to_le_bytes())),
            Self::Double => values.for_each(|value| out.extend_from_slice(&value.to_le_bytes())),
        }
    }

    /// Appends integers; values beyond the range of the type lose their high bits.
    fn append_integers(self, values: impl Iterator<Item = i64>, out: &mut Vec<u8>) {
        match self {
            Self::Unsigned(4) | Self::Signed(4) => values.for_each(|value| out.extend_from_slice(&(value as u32).to_le_bytes())),
            Self::Unsigned(bytes) | Self::Signed(bytes) => values.for_each(|value| out.extend_from_slice(&value.to_le_bytes()[..bytes])),
            _ => self.append_rounded(values.map(|value| value as f64), out),
        }
    }

    /// Returns the first element of `bytes` as a number; integers beyond 53 bits are rounded.
    pub(super) fn first_as_number(self, bytes: &[u8]) -> f64 {
        let word = bytes[..self.bytes()].iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        match self {
            Self::Unsigned(_) => word as f64,
            Self::Signed(size) => ((word << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as f64,
            Self::Half => half::to_f64(word as u16),
            Self::Bfloat => f64::from(f32::from_bits((word as u32) << 16)),
            Self::Single => f64::from(f32::from_bits(word as u32)),
            Self::Double => f64::from_bits(word),
        }
    }

    /// Returns the first element of `bytes` as text.
    pub(super) fn first_as_text(self, bytes: &[u8]) -> String {
        let word = bytes[..self.bytes()].iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        match self {
            Self::Unsigned(_) => word.to_string(),
            Self::Signed(size) => ((word << (64 - 8 * size)) as i64 >> (64 - 8 * size)).to_string(),
            Self::Half | Self::Bfloat => self.first_as_number(bytes).to_string(),
            Self::Single => f32::from_bits(word as u32).to_string(),
            Self::Double => f64::from_bits(word).to_string(),
        }
    }
}

/// Returns the bytes of a buffer of `count` elements.
///
/// # Errors
/// A description of the problem: a file that cannot be read or has another size, a wrong formula, or more values than elements.
pub(super) fn bytes(
    contents: &Contents,
    element: Element,
    count: usize,
    (folder, parameters): (&Path, &[(String, i64)]),
) -> Result<Vec<u8>, String> {
    check_random(contents, element)?;
    let size = count * element.bytes();
    if matches!(contents, Contents::None | Contents::Constant(Number::Integer(0) | Number::Float(0.0))) {
        // The operating system provides zeroed pages on first access.
        return Ok(vec![0; size]);
    }
    let mut out = Vec::with_capacity(size);
    match contents {
        Contents::None => {}
        Contents::Constant(value) => {
            element.append_number(*value, &mut out)?;
            out = out.repeat(count);
        }
        Contents::Sequence([first, step]) => element.append_rounded((0..count).map(|i| first + i as f64 * step), &mut out),
        Contents::Uniform { low, high, seed } => {
            let mut random = Rng::keyed(*seed, &[]);
            let value = |_| low + random_fraction(&mut random) * (high - low);
            if element.is_float() {
                element.append_rounded((0..count).map(value), &mut out);
            } else {
                element.append_integers((0..count).map(value).map(floor_to_integer), &mut out);
            }
        }
        Contents::Normal { mean, deviation, seed } => {
            let mut random = Rng::keyed(*seed, &[]);
            let value = |_| mean + random_normal(&mut random) * deviation;
            if element.is_float() {
                element.append_rounded((0..count).map(value), &mut out);
            } else {
                element.append_integers((0..count).map(value).map(|value| floor_to_integer(value + 0.5)), &mut out);
            }
        }
        Contents::Integer { low, high, seed } => {
            let mut random = Rng::keyed(*seed, &[]);
            let mut draw = || match high.abs_diff(*low).checked_add(1) {
                Some(numbers) => low.wrapping_add_unsigned(random.below(numbers)),
                None => random.next_u64() as i64,
            };
            element.append_integers((0..count).map(|_| draw()), &mut out);
        }
        Contents::Formula(text) | Contents::Scaled(text, _) => {
            let of = |name: &str| parameters.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
            let formula = Formula::parse(text, Some("i"), &of)?;
            let mut problem = None;
            let values = formula.values(count).enumerate().map_while(|(i, value)| match value {
                Ok(value) => Some(value),
                Err(what) => {
                    problem = Some(format!("`{text}`, element {i}: {what}"));
                    None
                }
            });
            match contents {
                Contents::Scaled(_, scale) => element.append_rounded(values.map(|value| value as f64 * scale), &mut out),
                _ => element.append_integers(values, &mut out),
            }
            if let Some(problem) = problem {
                return Err(problem);
            }
        }
        Contents::Values(values) => {
            if values.len() > count {
                return Err(format!("{} values for {count} elements", values.len()));
            }
            values.iter().try_for_each(|value| element.append_number(*value, &mut out))?;
            out.resize(size, 0);
        }
        Contents::File(name) => {
            let path = folder.join(name);
            out = warpshard_config::input::read(&path, size as u64).map_err(|error| format!("{}: {error}", path.display()))?;
            if out.len() != size {
                return Err(format!("{} has {} bytes instead of {size}", path.display(), out.len()));
            }
        }
    }
    Ok(out)
}

/// Checks that bounds, mean and deviation of random contents are possible.
///
/// # Errors
/// A description of the impossible value.
pub(super) fn check_random(contents: &Contents, element: Element) -> Result<(), String> {
    let exact = |number: &Number| element.append_number(*number, &mut Vec::with_capacity(8));
    match *contents {
        Contents::Constant(ref number) => exact(number),
        Contents::Values(ref numbers) => numbers.iter().try_for_each(exact),
        Contents::Integer { low, high, .. } if low > high => Err(format!("the lowest integer is {low} and the highest {high}")),
        Contents::Uniform { low, high, .. } if !low.is_finite() || !high.is_finite() || low > high => {
            Err(format!("the lowest number is {low} and the highest {high}"))
        }
        Contents::Normal { mean, deviation, .. } if !mean.is_finite() || !deviation.is_finite() || deviation < 0.0 => {
            Err(format!("the mean is {mean} and the deviation {deviation}, expected finite numbers and a deviation of 0 or more"))
        }
        _ => Ok(()),
    }
}

/// Returns the largest integer not above a number, or the nearest 64-bit integer if it is out of range.
fn floor_to_integer(value: f64) -> i64 {
    let near = value as i64;
    near.saturating_sub(i64::from(near as f64 > value))
}

/// Returns a random number from 0 to below 1 with 53 bits.
fn random_fraction(random: &mut Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a normally distributed random number, by Marsaglia's polar method (SIAM Review 6, 1964). The logarithm is computed in software
/// so that it is identical on all hosts.
fn random_normal(random: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * random_fraction(random) - 1.0, 2.0 * random_fraction(random) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_integer_types_are_exact_or_refused() {
        let of = |number, kind| bytes(&Contents::Values(vec![number]), Element::of(kind), 1, (Path::new("."), &[]));
        let large = (1_i64 << 53) + 1;
        assert_eq!(of(Number::Integer(large), Kind::U64).unwrap(), large.to_le_bytes());
        assert_eq!(of(Number::Integer(-large), Kind::I64).unwrap(), (-large).to_le_bytes());
        assert_eq!(of(Number::Integer(-1), Kind::I16).unwrap(), [255, 255]);
        assert_eq!(of(Number::Float(3.0), Kind::U8).unwrap(), [3]);
        assert_eq!(of(Number::Integer(-1), Kind::U32).unwrap_err(), "-1 is out of range of u32, which is from 0 to 4294967295");
        assert_eq!(of(Number::Integer(128), Kind::I8).unwrap_err(), "128 is out of range of i8, which is from -128 to 127");
        let constant = bytes(&Contents::Constant(Number::Integer(-1)), Element::of(Kind::U8), 2, (Path::new("."), &[]));
        assert_eq!(constant.unwrap_err(), "-1 is out of range of u8, which is from 0 to 255");
        assert_eq!(of(Number::Float(1.5), Kind::I32).unwrap_err(), "1.5 is not an integer, as i32 requires");
    }

    #[test]
    fn contents_become_bytes_of_their_type() {
        let of = |contents: Contents, kind, count| bytes(&contents, Element::of(kind), count, (Path::new("."), &[]));
        assert_eq!(of(Contents::Sequence([1.0, 2.0]), Kind::U16, 3).unwrap(), [1, 0, 3, 0, 5, 0]);
        assert_eq!(of(Contents::Constant(Number::Integer(-1)), Kind::I8, 2).unwrap(), [255, 255]);
        assert_eq!(of(Contents::Values(vec![Number::Float(1.0)]), Kind::F32, 2).unwrap(), [0, 0, 128, 63, 0, 0, 0, 0]);
        assert_eq!(of(Contents::Formula("i * i".into()), Kind::U8, 4).unwrap(), [0, 1, 4, 9]);
        assert_eq!(of(Contents::Scaled("i".into(), 0.5), Kind::F64, 2).unwrap()[8..], 0.5_f64.to_le_bytes());
        assert!(of(Contents::Formula("1 / i".into()), Kind::U8, 4).is_err());
        assert!(of(Contents::Values(vec![Number::Integer(1); 3]), Kind::F32, 2).is_err());
        let drawn = of(Contents::Uniform { low: 3.0, high: 7.0, seed: 1 }, Kind::U8, 1000).unwrap();
        assert!((3..7).all(|value| drawn.contains(&value)) && drawn.iter().all(|value| (3..7).contains(value)));
        let drawn = of(Contents::Integer { low: -3, high: 2, seed: 1 }, Kind::I8, 1000).unwrap();
        assert!((-3..=2).all(|value: i8| drawn.contains(&(value as u8))) && drawn.iter().all(|&value| (-3..=2).contains(&(value as i8))));
        assert!(of(Contents::Integer { low: i64::MIN, high: i64::MAX, seed: 1 }, Kind::I64, 10).is_ok());
        assert!(of(Contents::Integer { low: 1, high: 0, seed: 1 }, Kind::I64, 10).is_err());
        assert_eq!(of(Contents::Formula("(1 << 62) + i".into()), Kind::U64, 2).unwrap()[8..], ((1_u64 << 62) + 1).to_le_bytes());
        assert_eq!(Element::Signed(2).first_as_text(&[254, 255]), "-2");
        assert_eq!(of(Contents::Values(vec![Number::Integer(1), Number::Float(-0.5)]), Kind::F16, 2).unwrap(), [0, 0x3c, 0, 0xb8]);
        assert_eq!(of(Contents::Values(vec![Number::Float(1.0)]), Kind::Bf16, 1).unwrap(), [0x80, 0x3f]);
        assert_eq!((Element::Half.first_as_text(&[0, 0xb8]), Element::Bfloat.first_as_text(&[0x80, 0x3f])), ("-0.5".into(), "1".into()));
        assert_eq!(Element::Single.first_as_text(&1.5_f32.to_le_bytes()), "1.5");
    }

    #[test]
    fn normal_numbers_have_their_mean_and_deviation() {
        let contents = Contents::Normal { mean: 10.0, deviation: 2.0, seed: 5 };
        let drawn = bytes(&contents, Element::Double, 40_000, (Path::new("."), &[])).unwrap();
        let drawn: Vec<f64> = drawn.chunks_exact(8).map(|bytes| Element::Double.first_as_number(bytes)).collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let moment = |power: i32| drawn.iter().map(|value| ((value - mean) / 2.0).powi(power)).sum::<f64>() / count;
        assert!((mean - 10.0).abs() < 0.05, "{mean}");
        assert!((moment(2) - 1.0).abs() < 0.03 && moment(3).abs() < 0.05 && (moment(4) - 3.0).abs() < 0.15, "{} {}", moment(2), moment(4));
        // The bytes must be identical on every host.
        let bits: Vec<u64> = drawn[..2].iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, [4621109599871788996, 4621577380759159728]);
    }
}
