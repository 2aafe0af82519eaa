//! Work over the lanes of a warp, compiled for the vectors that the host has.
//!
//! A [`Task`] is compiled twice: for the baseline processor, and for x86-64 processors with AVX2, FMA and BMI, which is chosen when the
//! host has them. Both give the same results, since Rust neither reorders nor fuses floating-point arithmetic. Here because a function
//! that is compiled for more than the baseline processor is unsafe to call.

/// Work that [`wide()`] compiles for the host's vectors.
///
/// Mark `run` and all that matters in it `#[inline(always)]`: what is called stays code for the baseline processor.
pub trait Task {
    /// What the work results in.
    type Output;

    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Does the work of `task` with the widest vectors that the host has.
#[inline]
pub fn wide<T: Task>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: the processor has been found to have all that the function needs beyond the baseline.
        return unsafe { with_vectors(task) };
    }
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_vectors() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn with_vectors<T: Task>(task: T) -> T::Output {
    task.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fma([f64; 3]);

    impl Task for Fma {
        type Output = u64;

        #[inline(always)]
        fn run(self) -> u64 {
            let [a, b, c] = self.0;
            (a.mul_add(b, c) + a * b).to_bits()
        }
    }

    #[test]
    fn both_ways_give_the_same_bits() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        for _ in 0..10_000 {
            let numbers = [next(), next(), next()].map(f64::from_bits);
            let (wide, plain) = (wide(Fma(numbers)), Fma(numbers).run());
            assert!(wide == plain || f64::from_bits(wide).is_nan() && f64::from_bits(plain).is_nan(), "{numbers:?}");
        }
    }
}
