//! The metrics of Section 5: how fast a GPU application and the CPU applications that run with it are, and the system as a whole.
//!
//! In: instructions per cycle, together and alone. Out: ratios. A speed-up relative to another scheme is a quotient of two of
//! these; means of speed-ups are harmonic, as all of the paper's are.

/// SU: a GPU application's instructions per cycle together with CPU applications over those alone; `None` without a base.
pub(super) fn gpu_speedup(together: f64, alone: f64) -> Option<f64> {
    (alone > 0.0).then(|| together / alone)
}

/// WS: the sum over CPU applications of instructions per cycle together over alone; `None` when one has no base.
pub(super) fn weighted_speedup(cores: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    cores.into_iter().map(|(together, alone)| (alone > 0.0).then(|| together / alone)).sum()
}

/// OSS: (1 - `alpha`) WS + `alpha` SU, for `alpha` from 0 (only the CPU applications count) to 1 (only the GPU's).
pub(super) fn overall(alpha: f64, weighted: f64, gpu: f64) -> f64 {
    (1.0 - alpha) * weighted + alpha * gpu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_application_at_three_quarters_of_its_speed_alone_has_a_speedup_of_that() {
        assert_eq!(gpu_speedup(6.0, 8.0), Some(0.75));
        assert_eq!(gpu_speedup(6.0, 0.0), None);
    }

    #[test]
    fn weighted_speedups_add_up_over_cores() {
        // 1.0 of 2.0, 0.3 of 0.4 and 0.05 of 0.2 are 0.5, 0.75 and 0.25.
        let sum = weighted_speedup([(1.0, 2.0), (0.3, 0.4), (0.05, 0.2)]).unwrap();
        assert!((sum - 1.5).abs() < 1e-12);
        assert_eq!(weighted_speedup([(1.0, 2.0), (0.3, 0.0)]), None);
        assert_eq!(weighted_speedup([]), Some(0.0));
    }

    #[test]
    fn the_overall_speedup_goes_from_the_cpus_to_the_gpus() {
        let of = |alpha| overall(alpha, 1.24, 0.89);
        assert_eq!([of(0.0), of(1.0)], [1.24, 0.89]);
        assert!((of(0.5) - 1.065).abs() < 1e-12);
        assert!((of(0.2) - (0.8 * 1.24 + 0.2 * 0.89)).abs() < 1e-12);
    }
}
