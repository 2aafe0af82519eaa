//! Sums of matrix units for ordinary numbers, in a form that the host computes for eight columns at once.
//!
//! An element is a number of single precision beside its exponent. A product of two is exact in single precision, and so is its multiple by a power
//! of two, which is then truncated to a whole number as the matrix unit truncates. What is not finite, very small or very large, sums of half precision
//! and those of bytes are left to [`Sums`](super::tensor::Sums), whose results these are, bit for bit.

use super::super::isa::{Element, Rule};
use super::tensor::COLUMNS;

/// Largest exponents of a sum for which every intermediate number is a normal one.
const RANGE: std::ops::RangeInclusive<i16> = -90..=90;
/// The exponent of a zero: far below all others, also with another one added.
const NONE: i16 = -4000;

/// Elements of a matrix.
pub(super) struct Plain<const ROWS: usize, const COLUMNS: usize> {
    values: [[f32; COLUMNS]; ROWS],
    exponents: [[i16; COLUMNS]; ROWS],
    /// Whether all elements are ones that have a place here.
    ordinary: bool,
}

impl<const ROWS: usize, const COLUMNS: usize> Plain<ROWS, COLUMNS> {
    pub(super) fn new() -> Self {
        Self { values: [[0.0; COLUMNS]; ROWS], exponents: [[NONE; COLUMNS]; ROWS], ordinary: true }
    }

    /// Whether elements of a type have a place here.
    pub(super) fn takes(element: Element) -> bool {
        matches!(element, Element::Half | Element::Bfloat | Element::Tf32)
    }

    /// An element: part of a word.
    #[inline]
    pub(super) fn put(&mut self, row: usize, column: usize, (element, word, part): (Element, u32, usize)) {
        let half = word >> (16 * part as u32 % 32) & 0xffff;
        let (value, exponent) = match element {
            Element::Half => {
                // The exponent's bias is changed by a product, which is right for subnormal numbers, too.
                let magnitude = f32::from_bits((half & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
                let field = (half >> 10 & 0x1f) as i16;
                self.ordinary &= field != 0x1f;
                (f32::from_bits(magnitude.to_bits() | (half & 0x8000) << 16), field.max(1) - 15)
            }
            _ => {
                let bits = if element == Element::Bfloat { half << 16 } else { word & 0xffff_e000 };
                let field = (bits >> 23 & 0xff) as i16;
                self.ordinary &= field != 0xff;
                (f32::from_bits(bits), field.max(1) - 127)
            }
        };
        self.values[row][column] = value;
        self.exponents[row][column] = if value == 0.0 { NONE } else { exponent };
    }

    /// Turns the sign of all elements.
    pub(super) fn negate(&mut self) {
        self.values.iter_mut().flatten().for_each(|value| *value = -*value);
    }
}

/// A number of less than 2^28 without its fraction, of which it has at most 24 bits with those before it. Rounding what is less by nearly a half to a
/// whole number truncates, and the host does that for several numbers at once, which it does not for conversions to integers.
#[inline]
fn truncated(number: f32) -> f64 {
    const NEARLY_HALF: f64 = 0.5 - 1.0 / 33_554_432.0;
    /// 1.5 * 2^52: the last bit of a number of this size is 1.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    ((f64::from(number.abs()) - NEARLY_HALF + WHOLE) - WHOLE).copysign(f64::from(number))
}

/// Adds the products of a chunk, of part of a row of the first matrix and as many rows of the second, to sums of single precision; false where this is
/// not possible, and nothing has changed.
#[inline]
pub(super) fn add<const N: usize, const K: usize>(
    sums: &mut [u32; COLUMNS],
    rule: Rule,
    (a, row): (&Plain<N, K>, usize),
    b: &Plain<K, COLUMNS>,
    chunk: std::ops::Range<usize>,
) -> bool {
    if !a.ordinary || !b.ordinary {
        return false;
    }
    let (values, exponents) = (&a.values[row][chunk.clone()], &a.exponents[row][chunk.clone()]);
    let (others, other_exponents) = (&b.values[chunk.clone()], &b.exponents[chunk]);
    let mut most = sums.map(|bits| (bits >> 23 & 0xff) as i16 - 127);
    for (exponent, others) in exponents.iter().zip(other_exponents) {
        for column in 0..COLUMNS {
            most[column] = most[column].max(exponent + others[column]);
        }
    }
    if !most.iter().all(|exponent| RANGE.contains(exponent)) {
        return false;
    }
    let fraction = i16::from(rule.fraction);
    // Units of the last bit that is kept, and back.
    let scale = most.map(|most| f32::from_bits(((fraction - most + 127) as u32) << 23));
    let back = most.map(|most| f64::from_bits(((most - fraction + 1023) as u64) << 52));
    let mut total = [0.0_f64; COLUMNS];
    for column in 0..COLUMNS {
        // Not put in its place, since a sum of zeros is positive.
        total[column] += truncated(f32::from_bits(sums[column]) * scale[column]);
    }
    for (value, others) in values.iter().zip(others) {
        for column in 0..COLUMNS {
            total[column] += truncated(value * others[column] * scale[column]);
        }
    }
    for column in 0..COLUMNS {
        // Without the bits that single precision has no room for; a zero is positive.
        let exact = (total[column] * back[column]).to_bits() & !((1 << 29) - 1);
        sums[column] = (f64::from_bits(exact) as f32).to_bits();
    }
    true
}

#[cfg(test)]
mod tests {
    use warpshard_base::Rng;

    use super::super::tensor::{Split, Sums};
    use super::*;

    #[test]
    fn ordinary_sums_are_those_of_any_numbers() {
        let mut random = Rng::keyed(5, &[]);
        let (mut done, mut left) = (0, 0);
        for round in 0..4000 {
            let element = [Element::Half, Element::Bfloat, Element::Tf32][round % 3];
            let rule = [Rule::of(80), Rule::of(90), Rule::VOLTA][round / 3 % 3];
            let (mut a, mut b) = (Plain::<1, 16>::new(), Plain::<16, COLUMNS>::new());
            let (mut first, mut second) = (Split::<1, 16>::new(), Split::<16, COLUMNS>::new());
            // Some rounds with all bit patterns, else numbers of similar size, with some zeros.
            let mut word = |wide: bool| {
                let bits = random.next_u64() as u32;
                let near = bits & 0x87ff_87ff | if element == Element::Half { 0x3800_3800 } else { 0x3f80_3f80 };
                match (wide, bits >> 20 & 15) {
                    (true, _) => bits,
                    (false, 0) => 0,
                    _ => near,
                }
            };
            let wide = round % 7 == 0;
            for k in 0..16 {
                let w = word(wide);
                a.put(0, k, (element, w, 0));
                first.put(0, k, (element, w, 0));
                for column in 0..COLUMNS {
                    let w = word(wide);
                    b.put(k, column, (element, w, 0));
                    second.put(k, column, (element, w, 0));
                }
            }
            let start = std::array::from_fn(|_| if wide { word(true) } else { word(false) & 0xc0ff_ffff });
            let (mut bits, mut sums) = (start, Sums { bits: start, half: false });
            let k = usize::from(rule.bytes) / 2;
            if add(&mut bits, rule, (&a, 0), &b, 0..k) {
                sums.add(rule, (&first, 0), &second, 0..k);
                assert_eq!(bits, sums.bits, "round {round}");
                done += 1;
            } else {
                assert_eq!(bits, start);
                left += 1;
            }
        }
        assert!(done > 2000 && left > 100, "{done}, {left}");
    }
}
