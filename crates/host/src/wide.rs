//! Tasks over the lanes of a warp, compiled for the vector units of the host.
//!
//! A [`VectorTask`] is compiled twice: for the baseline processor, and for x86-64 processors with AVX2, FMA and BMI, which is used if the host
//! has these. Both versions give the same results, since Rust neither reorders nor fuses floating-point arithmetic. The code is in this
//! crate because a function compiled for more than the baseline processor is unsafe to call.

/// A task that [`wide()`] compiles for the host's vector units.
///
/// Mark `run` and all performance-critical functions that it calls `#[inline(always)]`: other functions stay compiled for the baseline
/// processor.
pub trait VectorTask {
    /// The result of the task.
    type Output;

    /// Runs the task.
    fn run(self) -> Self::Output;
}

/// Runs `task` with the widest vectors of the host.
#[inline]
pub fn wide<T: VectorTask>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: the processor has all features that the function needs beyond the baseline.
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
fn with_vectors<T: VectorTask>(task: T) -> T::Output {
    task.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FmaTask([f64; 3]);

    impl VectorTask for FmaTask {
        type Output = u64;

        #[inline(always)]
        fn run(self) -> u64 {
            let [a, b, c] = self.0;
            (a.mul_add(b, c) + a * b).to_bits()
        }
    }

    #[test]
    fn both_versions_give_the_same_bits() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        for _ in 0..10_000 {
            let numbers = [next(), next(), next()].map(f64::from_bits);
            let (wide, plain) = (wide(FmaTask(numbers)), FmaTask(numbers).run());
            assert!(wide == plain || f64::from_bits(wide).is_nan() && f64::from_bits(plain).is_nan(), "{numbers:?}");
        }
    }
}
