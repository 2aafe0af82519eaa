//! Figures of comparisons: relative errors, their mean, and the correlation of two series.

/// `ours` against `theirs` as a relative error in percent, positive when ours is larger; `None` without a base.
pub(super) fn error_percent(ours: u64, theirs: u64) -> Option<f64> {
    (theirs != 0).then(|| (ours as f64 / theirs as f64 - 1.0) * 100.0)
}

/// Mean of the magnitudes; `None` of nothing.
pub(super) fn mean_magnitude(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64)
}

/// Geometric mean of positive values; `None` of nothing.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// Median; `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Pearson's correlation of the logarithms, as cycles span orders of magnitude; `None` of fewer than two points.
pub(super) fn log_correlation(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    correlation(&points.iter().map(|(x, y)| (x.ln(), y.ln())).collect::<Vec<_>>())
}

/// Pearson's correlation; `None` of fewer than two points.
pub(super) fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let n = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        xy += (x - mx) * (y - my);
        xx += (x - mx).powi(2);
        yy += (y - my).powi(2);
    }
    Some(xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_sign_and_means_do_not() {
        assert_eq!(error_percent(150, 100), Some(50.0));
        assert_eq!(error_percent(1, 0), None);
        assert_eq!(mean_magnitude(&[-10.0, 30.0]), Some(20.0));
    }

    #[test]
    fn medians_and_geometric_means_are_what_they_are_called() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn proportional_series_correlate_fully() {
        assert!((log_correlation(&[(1.0, 3.0), (10.0, 30.0), (100.0, 300.0)]).unwrap() - 1.0).abs() < 1e-12);
    }
}
