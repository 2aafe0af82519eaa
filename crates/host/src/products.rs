//! The inner loops of matrix products with eight columns: one version for x86-64 processors with AVX2, and one for all others.
//!
//! A host vector holds one row of the second matrix. The compiler vectorises the other dimension instead, which is four times slower.

/// Columns of the second matrix.
const COLUMNS: usize = 8;

/// Replaces each element of `most` by the maximum of it and all `a[row][k] + b[k][column]` for `k` in `first..end`.
///
/// # Panics
/// `end` is more than `K`, or `first` is more than `end`.
#[inline]
pub fn largest_sums<const R: usize, const K: usize>(
    most: &mut [[i16; COLUMNS]; R],
    a: &[[i16; K]; R],
    b: &[[i16; COLUMNS]; K],
    (first, end): (usize, usize),
) {
    let b = &b[first..end];
    #[cfg(target_arch = "x86_64")]
    if super::wide::has_vectors() {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::largest_sums(most, a, b, first) };
    }
    plain::largest_sums(most, a, b, first);
}

/// Adds to each total all `a[row][k] * b[k][column] * scale[row][column]` for `k` in `first..end`, rounded to single precision after each
/// multiplication and then truncated to an integer. The result is unspecified if a product is 2^31 or more.
///
/// # Panics
/// `end` is more than `K`, or `first` is more than `end`.
#[inline]
pub fn add_truncated<const R: usize, const K: usize>(
    totals: &mut [[i32; COLUMNS]; R],
    a: &[[f32; K]; R],
    b: &[[f32; COLUMNS]; K],
    scale: &[[f32; COLUMNS]; R],
    (first, end): (usize, usize),
) {
    let b = &b[first..end];
    #[cfg(target_arch = "x86_64")]
    if super::wide::has_vectors() {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::add_truncated(totals, a, b, scale, first) };
    }
    plain::add_truncated(totals, a, b, scale, first);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::COLUMNS;

    #[target_feature(enable = "avx2")]
    pub(super) fn largest_sums<const R: usize, const K: usize>(
        most: &mut [[i16; COLUMNS]; R],
        a: &[[i16; K]; R],
        b: &[[i16; COLUMNS]],
        first: usize,
    ) {
        for (most, a) in most.iter_mut().zip(a) {
            // SAFETY: an array of eight 16-bit numbers has the 16 bytes that are read.
            let mut largest = unsafe { _mm_loadu_si128(most.as_ptr().cast()) };
            for (a, b) in a[first..].iter().zip(b) {
                // SAFETY: the row of eight 16-bit numbers has the 16 bytes that are read.
                let b = unsafe { _mm_loadu_si128(b.as_ptr().cast()) };
                largest = _mm_max_epi16(largest, _mm_add_epi16(_mm_set1_epi16(*a), b));
            }
            // SAFETY: the array of eight 16-bit numbers has the 16 bytes that are written.
            unsafe { _mm_storeu_si128(most.as_mut_ptr().cast(), largest) };
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_truncated<const R: usize, const K: usize>(
        totals: &mut [[i32; COLUMNS]; R],
        a: &[[f32; K]; R],
        b: &[[f32; COLUMNS]],
        scale: &[[f32; COLUMNS]; R],
        first: usize,
    ) {
        for (row, total) in totals.iter_mut().enumerate() {
            // SAFETY: arrays of eight 32-bit numbers have the 32 bytes that are read.
            let (mut sum, scale) = unsafe { (_mm256_loadu_si256(total.as_ptr().cast()), _mm256_loadu_ps(scale[row].as_ptr())) };
            for (a, b) in a[row][first..].iter().zip(b) {
                // SAFETY: the row of eight 32-bit numbers has the 32 bytes that are read.
                let b = unsafe { _mm256_loadu_ps(b.as_ptr()) };
                let product = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(*a), b), scale);
                sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(product));
            }
            // SAFETY: the array of eight 32-bit numbers has the 32 bytes that are written.
            unsafe { _mm256_storeu_si256(total.as_mut_ptr().cast(), sum) };
        }
    }
}

mod plain {
    use super::COLUMNS;

    pub(super) fn largest_sums<const R: usize, const K: usize>(
        most: &mut [[i16; COLUMNS]; R],
        a: &[[i16; K]; R],
        b: &[[i16; COLUMNS]],
        first: usize,
    ) {
        for (most, a) in most.iter_mut().zip(a) {
            for (a, b) in a[first..].iter().zip(b) {
                most.iter_mut().zip(b).for_each(|(most, b)| *most = (*most).max(a.wrapping_add(*b)));
            }
        }
    }

    pub(super) fn add_truncated<const R: usize, const K: usize>(
        totals: &mut [[i32; COLUMNS]; R],
        a: &[[f32; K]; R],
        b: &[[f32; COLUMNS]],
        scale: &[[f32; COLUMNS]; R],
        first: usize,
    ) {
        for (row, total) in totals.iter_mut().enumerate() {
            for (a, b) in a[row][first..].iter().zip(b) {
                for (column, total) in total.iter_mut().enumerate() {
                    *total = total.wrapping_add((a * b[column] * scale[row][column]) as i32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_loops_and_plain_loops_agree() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state ^ state >> 29) >> 20
        };
        for round in 0..2000 {
            let depth = round % 17;
            let first = depth.min(round % 5);
            let a: [[i16; 16]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next() as i16 >> 2));
            let b: [[i16; COLUMNS]; 16] = std::array::from_fn(|_| std::array::from_fn(|_| next() as i16 >> 2));
            let mut most = [std::array::from_fn(|_| next() as i16), [i16::MIN; COLUMNS], [0; COLUMNS]];
            let mut expected = most;
            largest_sums(&mut most, &a, &b, (first, depth));
            plain::largest_sums(&mut expected, &a, &b[first..depth], first);
            assert_eq!(most, expected);

            // The products are below 2^28, and some of them below 1.
            let mut number = || f32::from_bits((next() as u32 & 0x83ff_ffff) | 0x3c00_0000);
            let a: [[f32; 16]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| number()));
            let b: [[f32; COLUMNS]; 16] = std::array::from_fn(|_| std::array::from_fn(|_| number()));
            let scale: [[f32; COLUMNS]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| 8_388_608.0));
            let mut totals = [[-5; COLUMNS], [0; COLUMNS], [i32::MAX; COLUMNS]];
            let mut expected = totals;
            add_truncated(&mut totals, &a, &b, &scale, (first, depth));
            plain::add_truncated(&mut expected, &a, &b[first..depth], &scale, first);
            assert_eq!(totals, expected);
        }
    }
}
