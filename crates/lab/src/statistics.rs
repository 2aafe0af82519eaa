//! Statistics of comparisons: relative errors, means, the median, and the correlation of two series.

/// Returns the relative error of `ours` against `theirs` in percent, positive if ours is larger; `None` if `theirs` is 0.
pub fn error_percent(ours: u64, theirs: u64) -> Option<f64> {
    (theirs != 0).then(|| (ours as f64 / theirs as f64 - 1.0) * 100.0)
}

/// Returns by how many percent `a` exceeds `b`.
pub fn percent_over(a: f64, b: f64) -> f64 {
    100.0 * (a / b - 1.0)
}

/// Returns the arithmetic mean; `None` without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the harmonic mean of positive values; `None` without values, or if a value is not positive.
pub fn harmonic_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        if value.is_nan() || value <= 0.0 {
            return None;
        }
        sum += 1.0 / value;
        count += 1;
    }
    (count > 0).then(|| f64::from(count) / sum)
}

/// Returns the mean of the absolute values; `None` without values.
pub fn mean_magnitude(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean of positive values; `None` without values.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// Returns the median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Returns Pearson's correlation of the logarithms, since cycles span orders of magnitude; `None` for fewer than two points.
pub fn log_correlation(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    correlation(&points.iter().map(|(x, y)| (x.ln(), y.ln())).collect::<Vec<_>>())
}

/// Returns Pearson's correlation; `None` for fewer than two points.
pub fn correlation(points: &[(f64, f64)]) -> Option<f64> {
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

/// Returns Spearman's correlation: the correlation of the ranks, where equal values share their mean rank; `None` for fewer than two
/// points.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let rank = |of: &[f64], value: f64| {
        let (below, equal) = (of.iter().filter(|v| **v < value).count(), of.iter().filter(|v| **v == value).count());
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    correlation(&x.iter().zip(y).map(|(a, b)| (rank(x, *a), rank(y, *b))).collect::<Vec<_>>())
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
    fn the_harmonic_mean_is_below_the_arithmetic_one() {
        assert_eq!((mean([1.0, 3.0]), harmonic_mean([1.0, 3.0])), (Some(2.0), Some(1.5)));
        assert_eq!(harmonic_mean([2.0, 2.0, 2.0]), Some(2.0));
        assert_eq!([mean([]), harmonic_mean([]), harmonic_mean([1.0, 0.0]), harmonic_mean([1.0, f64::NAN])], [None; 4]);
        assert_eq!(percent_over(3.0, 2.0), 50.0);
    }

    #[test]
    fn rank_correlation_ignores_distances() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 1000.0, 1001.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[5.0, 4.0, -1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0, 3.0, 4.0]).map(|r| (r * 1e4).round()), Some(8944.0));
    }

    #[test]
    fn medians_and_geometric_means() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn proportional_series_correlate_fully() {
        assert!((log_correlation(&[(1.0, 3.0), (10.0, 30.0), (100.0, 300.0)]).unwrap() - 1.0).abs() < 1e-12);
    }
}
