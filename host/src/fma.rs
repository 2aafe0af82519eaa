//! Fused multiply-add over the 32 lanes of a warp, rounded once as IEEE 754 says.
//!
//! Input and output are bit patterns. On x86-64 processors with FMA instructions these are used, elsewhere the standard
//! library's `mul_add`; both round exactly, so results are the same on every host. Here because a function that is compiled for more
//! than the baseline processor is unsafe to call.

/// `a * b + c` in single precision for each lane.
#[inline]
pub fn fma_f32(a: &[u32; 32], b: &[u32; 32], c: &[u32; 32]) -> [u32; 32] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has been found to have FMA, all that the function needs beyond the baseline.
        return unsafe { single_with_fma(a, b, c) };
    }
    single(a, b, c)
}

/// `a * b + c` in double precision for each lane.
#[inline]
pub fn fma_f64(a: &[u64; 32], b: &[u64; 32], c: &[u64; 32]) -> [u64; 32] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: as above.
        return unsafe { double_with_fma(a, b, c) };
    }
    double(a, b, c)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn single_with_fma(a: &[u32; 32], b: &[u32; 32], c: &[u32; 32]) -> [u32; 32] {
    single(a, b, c)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn double_with_fma(a: &[u64; 32], b: &[u64; 32], c: &[u64; 32]) -> [u64; 32] {
    double(a, b, c)
}

#[inline(always)]
fn single(a: &[u32; 32], b: &[u32; 32], c: &[u32; 32]) -> [u32; 32] {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f32::from_bits(a[lane]).mul_add(f32::from_bits(b[lane]), f32::from_bits(c[lane])).to_bits();
    }
    out
}

#[inline(always)]
fn double(a: &[u64; 32], b: &[u64; 32], c: &[u64; 32]) -> [u64; 32] {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f64::from_bits(a[lane]).mul_add(f64::from_bits(b[lane]), f64::from_bits(c[lane])).to_bits();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_bits() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        for _ in 0..1000 {
            let [a, b, c] = [0; 3].map(|_: u32| [0; 32].map(|_: u64| next()));
            let [sa, sb, sc] = [a, b, c].map(|lanes| lanes.map(|lane| (lane >> 32) as u32));
            let same = |x: u32, y: u32| x == y || f32::from_bits(x).is_nan() && f32::from_bits(y).is_nan();
            assert!(fma_f32(&sa, &sb, &sc).iter().zip(single(&sa, &sb, &sc)).all(|(x, y)| same(*x, y)));
            let same = |x: u64, y: u64| x == y || f64::from_bits(x).is_nan() && f64::from_bits(y).is_nan();
            assert!(fma_f64(&a, &b, &c).iter().zip(double(&a, &b, &c)).all(|(x, y)| same(*x, y)));
        }
    }
}
