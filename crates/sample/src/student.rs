//! Quantiles of Student's t distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Returns the number of standard errors on either side of an estimate that contain the true value with this confidence. The degrees of
/// freedom `freedom` need not be an integer. Infinite without degrees of freedom.
pub(super) fn quantile(confidence: f64, freedom: f64) -> f64 {
    let tail = 0.5 + confidence / 2.0;
    if freedom.is_nan() || freedom < 0.5 {
        return f64::INFINITY;
    }
    // With more degrees of freedom the two distributions agree to six digits, and the series of Student's distribution is slow.
    if freedom > 1e6 {
        return Normal::standard().inverse_cdf(tail);
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_the_tables() {
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
