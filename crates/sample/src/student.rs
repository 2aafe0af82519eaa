//! Quantiles of Student's t distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The number of standard errors on either side of an estimate that contain the truth with this confidence; `freedom` degrees of freedom,
/// which need not be whole. Infinite without any.
pub(super) fn quantile(confidence: f64, freedom: f64) -> f64 {
    let tail = 0.5 + confidence / 2.0;
    if freedom.is_nan() || freedom < 0.5 {
        return f64::INFINITY;
    }
    // Beyond so many degrees the two agree to six digits, and the series of the exact one is slow.
    if freedom > 1e6 {
        return Normal::standard().inverse_cdf(tail);
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, Handbook of Mathematical Functions, Table 26.10.
        for (confidence, freedom, expected) in
            [(0.95, 1.0, 12.706), (0.95, 4.0, 2.776), (0.9, 10.0, 1.812), (0.99, 30.0, 2.750), (0.95, 120.0, 1.980)]
        {
            let found = quantile(confidence, freedom);
            assert!((found - expected).abs() < 6e-4, "{confidence} {freedom}: {found}");
        }
        assert!((quantile(0.95, 1e9) - 1.959_964).abs() < 1e-5);
        assert_eq!(quantile(0.95, 0.0), f64::INFINITY);
    }
}
