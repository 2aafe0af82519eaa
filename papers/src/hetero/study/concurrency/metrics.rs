//! The metrics of Section 5: the speed of a GPU application, of the CPU applications that run with it, and of the whole system.
//!
//! In: instructions per cycle, together and alone. Out: ratios. A speed-up relative to another scheme is a quotient of two of
//! these ratios; means of speed-ups are harmonic, as in the paper.

/// Returns SU, the instructions per cycle of a GPU application with CPU applications relative to those alone; `None` if `alone` is 0.
pub(super) fn gpu_speedup(together: f64, alone: f64) -> Option<f64> {
    (alone > 0.0).then(|| together / alone)
}

/// Returns WS, the sum over CPU applications of instructions per cycle together over those alone; `None` if one is 0 alone.
pub(super) fn weighted_speedup(cores: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    cores.into_iter().map(|(together, alone)| (alone > 0.0).then(|| together / alone)).sum()
}

/// Returns OSS, (1 - `alpha`) WS + `alpha` SU. With `alpha` = 0 only the CPU applications count, with 1 only the GPU application.
pub(super) fn overall_speedup(alpha: f64, weighted: f64, gpu: f64) -> f64 {
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
        // The three ratios are 0.5, 0.75 and 0.25.
        let sum = weighted_speedup([(1.0, 2.0), (0.3, 0.4), (0.05, 0.2)]).unwrap();
        assert!((sum - 1.5).abs() < 1e-12);
        assert_eq!(weighted_speedup([(1.0, 2.0), (0.3, 0.0)]), None);
        assert_eq!(weighted_speedup([]), Some(0.0));
    }

    #[test]
    fn the_overall_speedup_goes_from_the_cpus_to_the_gpus() {
        let of = |alpha| overall_speedup(alpha, 1.24, 0.89);
        assert_eq!([of(0.0), of(1.0)], [1.24, 0.89]);
        assert!((of(0.5) - 1.065).abs() < 1e-12);
        assert!((of(0.2) - (0.8 * 1.24 + 0.2 * 0.89)).abs() < 1e-12);
    }
}
