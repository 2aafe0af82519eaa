//! Fast path for the sums of matrix units, which the host computes for eight columns in parallel.
//!
//! Each element is kept in single precision together with its exponent. The product of two elements is exact in single precision, and
//! scaling by a power of two keeps it exact; it is then truncated to an integer like in the matrix unit. Infinities, NaNs, very small and
//! very large numbers, and half-precision accumulators take the slow path, [`SumRow`](super::tensor::Sums). Both paths give the same bits.

use warpshard_base::{add_truncated, largest_sums};

use super::super::isa::{Element, SummationRule};
use super::tensor::COLUMNS;

/// Exponents of a sum for which all intermediate results are normal numbers.
const EXACT_EXPONENTS: std::ops::RangeInclusive<i16> = -90..=90;
/// Exponent of a zero: below all others, even after another exponent is added.
const ZERO_EXPONENT: i16 = -4000;

/// Elements of a matrix.
pub(super) struct FiniteMatrix<const ROWS: usize, const COLUMNS: usize> {
    values: [[f32; COLUMNS]; ROWS],
    exponents: [[i16; COLUMNS]; ROWS],
    /// True if all elements are finite.
    ordinary: bool,
}

/// Returns true if the fast path supports an element type.
pub(super) fn supports(element: Element) -> bool {
    matches!(element, Element::Half | Element::Bfloat | Element::Tf32 | Element::E4m3 | Element::E5m2)
}

impl<const ROWS: usize, const COLUMNS: usize> FiniteMatrix<ROWS, COLUMNS> {
    /// Converts a matrix; each word holds one element in its low bits.
    #[inline(always)]
    pub(super) fn of(words: &[[u32; COLUMNS]; ROWS], element: Element) -> Self {
        let mut plain = Self { values: [[0.0; COLUMNS]; ROWS], exponents: [[ZERO_EXPONENT; COLUMNS]; ROWS], ordinary: true };
        // The bits are shifted into the position of a single-precision number; the multiplication corrects the exponent's bias, also for subnormal numbers.
        let scaled = |magnitude: u32, up: u32, sign: u32| (f32::from_bits(magnitude) * f32::from_bits((127 + up) << 23)).to_bits() | sign;
        match element {
            Element::Half => {
                plain.fill(words, -14, |word| (scaled((word & 0x7fff) << 13, 112, (word & 0x8000) << 16), word & 0x7c00 == 0x7c00))
            }
            Element::E4m3 => plain.fill(words, -6, |word| (scaled((word & 0x7f) << 20, 120, (word & 0x80) << 24), word & 0x7f == 0x7f)),
            Element::E5m2 => plain.fill(words, -14, |word| (scaled((word & 0x7f) << 21, 112, (word & 0x80) << 24), word & 0x7c == 0x7c)),
            Element::Bfloat => plain.fill(words, -126, |word| (word << 16, word & 0x7f80 == 0x7f80)),
            _ => plain.fill(words, -126, |word| (word & 0xffff_e000, word & 0x7f80_0000 == 0x7f80_0000)),
        }
        plain
    }

    /// Converts all elements. `convert` gives an element's bits in single precision, and whether it is an infinity or NaN; `least` is the exponent of
    /// subnormal elements.
    #[inline(always)]
    fn fill(&mut self, words: &[[u32; COLUMNS]; ROWS], least: i32, convert: impl Fn(u32) -> (u32, bool)) {
        let mut strange = false;
        for (row, words) in words.iter().enumerate() {
            for (column, word) in words.iter().enumerate() {
                let (bits, none) = convert(*word);
                strange |= none;
                let exponent = ((bits >> 23 & 0xff) as i32 - 127).max(least);
                self.values[row][column] = f32::from_bits(bits);
                self.exponents[row][column] = if bits << 1 == 0 { ZERO_EXPONENT } else { exponent as i16 };
            }
        }
        self.ordinary = !strange;
    }

    /// Negates all elements.
    pub(super) fn negate(&mut self) {
        self.values.iter_mut().flatten().for_each(|value| *value = -*value);
    }
}

/// Adds the products of one chunk of k to single-precision sums. Returns which rows were computed; the others are unchanged and need the slow path.
#[inline(always)]
pub(super) fn add<const N: usize, const K: usize>(
    sums: &mut [[u32; COLUMNS]; N],
    rule: SummationRule,
    (a, b): (&FiniteMatrix<N, K>, &FiniteMatrix<K, COLUMNS>),
    chunk: (usize, usize),
) -> [bool; N] {
    let mut done = [a.ordinary && b.ordinary; N];
    if !done[0] {
        return done;
    }
    let mut most = [[0; COLUMNS]; N];
    for (most, bits) in most.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        *most = if bits << 1 == 0 { ZERO_EXPONENT } else { (bits >> 23 & 0xff) as i16 - 127 };
    }
    largest_sums(&mut most, &a.exponents, &b.exponents, chunk);
    let fraction = i16::from(rule.fraction);
    // Scales such that the last kept bit has the value 1.
    let mut scale = [[0.0; COLUMNS]; N];
    for (scale, most) in scale.as_flattened_mut().iter_mut().zip(most.as_flattened_mut()) {
        // If all products and the sum are zero, any scale is right.
        *most = if *most < ZERO_EXPONENT / 2 { 0 } else { *most };
        *scale = f32::from_bits((i32::from(fraction - *most + 127) as u32) << 23);
    }
    for (done, most) in done.iter_mut().zip(&most) {
        *done = most.iter().fold(true, |all, exponent| all & EXACT_EXPONENTS.contains(exponent));
    }
    // A scaled product is below 2^(fraction + 2), so that half a chunk fits into 32 bits.
    let mut totals = [[[0; COLUMNS]; N]; 2];
    let half = (chunk.0 + chunk.1).div_ceil(2);
    add_truncated(&mut totals[0], &a.values, &b.values, &scale, (chunk.0, half));
    add_truncated(&mut totals[1], &a.values, &b.values, &scale, (half, chunk.1));
    // Sums of bytes keep 13 bits of fraction.
    let kept = if fraction < 23 { !0x3ff } else { u32::MAX };
    for row in 0..N {
        if !done[row] {
            continue;
        }
        for column in 0..COLUMNS {
            let sum = (f32::from_bits(sums[row][column]) * scale[row][column]).trunc();
            let back = f64::from_bits(((i32::from(most[row][column] - fraction) + 1023) as u64) << 52);
            // Truncates to single precision; a zero result is positive.
            let exact = (f64::from(sum) + f64::from(totals[0][row][column]) + f64::from(totals[1][row][column])) * back;
            let bits = (f64::from_bits(exact.to_bits() & !((1 << 29) - 1)) as f32).to_bits() & kept;
            sums[row][column] = if bits << 1 == 0 { 0 } else { bits };
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use warpshard_base::Rng;

    use super::super::tensor::{SplitMatrix, SumRow};
    use super::*;

    #[test]
    fn ordinary_sums_are_those_of_any_numbers() {
        let mut random = Rng::keyed(5, &[]);
        let (mut done, mut left) = (0, 0);
        for round in 0..4000 {
            let element = [Element::Half, Element::Bfloat, Element::Tf32, Element::E4m3, Element::E5m2][round % 5];
            let bytes = matches!(element, Element::E4m3 | Element::E5m2);
            let rule = if bytes {
                SummationRule::of_groups(true)
            } else {
                [SummationRule::of(80), SummationRule::of(90), SummationRule::VOLTA][round / 5 % 3]
            };
            // Some rounds use arbitrary bit patterns; the others use numbers of similar size, and some zeros.
            let mut word = |wide: bool| {
                let bits = random.next_u64() as u32;
                let near = bits & 0x87ff_87ff | if element == Element::Half { 0x3800_3800 } else { 0x3f80_3f80 };
                match (wide, bits >> 20 & 15) {
                    (true, _) => bits,
                    (false, 0) => 0,
                    (false, _) if bytes => bits & 0xbf,
                    _ => near,
                }
            };
            // Every eighth row is all zeros.
            let (wide, zeros) = (round % 7 == 0, round % 8 == 3);
            let words: [[u32; 16]; 1] = [std::array::from_fn(|_| if zeros { 0 } else { word(wide) })];
            let others: [[u32; COLUMNS]; 16] = std::array::from_fn(|_| std::array::from_fn(|_| word(wide)));
            let (a, b) = (FiniteMatrix::of(&words, element), FiniteMatrix::of(&others, element));
            let (mut first, mut second) = (SplitMatrix::<1, 16>::new(), SplitMatrix::<16, COLUMNS>::new());
            for k in 0..16 {
                first.set_element(0, k, (element, words[0][k], 0));
                (0..COLUMNS).for_each(|column| second.set_element(k, column, (element, others[k][column], 0)));
            }
            let start = std::array::from_fn(|_| {
                if zeros {
                    0
                } else if wide {
                    random.next_u64() as u32
                } else {
                    random.next_u64() as u32 & 0x80ff_ffff | 0x3f00_0000
                }
            });
            let (mut bits, mut sums) = ([start], SumRow { bits: start, half: false });
            let k = (usize::from(rule.bytes) / 2).min(16);
            if add(&mut bits, rule, (&a, &b), (0, k))[0] {
                sums.add(rule, (&first, 0), &second, 0..k);
                assert_eq!(bits, [sums.bits], "round {round}");
                done += 1;
            } else {
                assert_eq!(bits, [start]);
                left += 1;
            }
        }
        assert!(done > 2000 && left > 100, "{done}, {left}");
    }
}
