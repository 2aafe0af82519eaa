//! The estimate of a total from the measured launches, and its variance.
//!
//! Each group of launches of the same code uses the generalised regression estimator (Särndal, Swensson and Wretman, Model Assisted Survey
//! Sampling, Chapter 6): a line through the measured cycles by the work of a launch, which is known for all launches, plus the mean
//! residual of each stratum. The estimator gives every measured launch a weight, so that every counter can be extrapolated in the same way,
//! and instructions are exact.
//!
//! Each stratum with at least [`SEPARATE_VARIANCE_LAUNCHES`] measured launches has a separate variance. The other strata of a group share a
//! pooled variance: the variance of the residuals relative to the cycles of the line.

use super::student::quantile;

/// Minimum number of measured launches for a separate variance of a stratum.
const SEPARATE_VARIANCE_LAUNCHES: usize = 6;
/// Minimum number of measured launches of a group for a line with an intercept; with fewer launches the line passes through the origin.
const MIN_INTERCEPT_LAUNCHES: usize = 4;
/// Minimum ratio of the variance of the measured launches' work to the variance of all launches' work for a line with an intercept: a line
/// through launches of nearly one size does not predict launches of other sizes.
const MIN_VARIANCE_RATIO: f64 = 0.25;

/// A measured launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasuredLaunch {
    /// Work of the launch: warp instructions.
    pub(super) work: f64,
    /// Measured value: cycles.
    pub(super) value: f64,
    /// Variance of the measurement itself, if only parts of the launch were simulated, and its degrees of freedom.
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

/// A stratum with its measured launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MeasuredStratum {
    /// Work of each launch of the stratum.
    pub(super) works: Vec<f64>,
    /// Measured launches; at least two, or all.
    pub(super) points: Vec<MeasuredLaunch>,
}

impl MeasuredStratum {
    fn launches(&self) -> f64 {
        self.works.len() as f64
    }

    fn count(&self) -> f64 {
        self.points.len() as f64
    }

    fn is_whole(&self) -> bool {
        self.points.len() == self.works.len()
    }

    /// Returns the number of launches per measured launch, before calibration by work.
    fn factor(&self) -> f64 {
        self.launches() / self.count()
    }
}

/// Estimates for a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupEstimate {
    /// Sum over all launches.
    pub(super) total: f64,
    /// Variance of the total, and its degrees of freedom.
    pub(super) variance: f64,
    pub(super) freedom: f64,
    /// Weight of each measured launch, by stratum.
    pub(super) weights: Vec<Vec<f64>>,
    /// Standard deviation of a launch from the line, by stratum.
    pub(super) deviations: Vec<f64>,
    line: RegressionLine,
    /// Mean residual of each stratum.
    offsets: Vec<f64>,
}

impl GroupEstimate {
    /// Returns the expected value of an unmeasured launch with this work.
    pub(super) fn expected(&self, stratum: usize, work: f64) -> f64 {
        (self.line.at(work) + self.offsets[stratum]).max(0.0)
    }
}

/// A regression line: `intercept + slope * work`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct RegressionLine {
    intercept: f64,
    slope: f64,
    /// True if the line has an intercept.
    has_intercept: bool,
    /// Sums over the measured launches, weighted by their factors: of 1, of work and of its square.
    sums: [f64; 3],
}

impl RegressionLine {
    /// Fits the line with the least weighted squares.
    fn fit(strata: &[MeasuredStratum]) -> Self {
        let points = || strata.iter().flat_map(|stratum| stratum.points.iter().map(|point| (stratum.factor(), point)));
        let sum = |of: &dyn Fn(&MeasuredLaunch) -> f64| -> f64 { points().map(|(factor, point)| factor * of(point)).sum() };
        let (one, work, square) = (sum(&|_| 1.0), sum(&|p| p.work), sum(&|p| p.work * p.work));
        let (value, product) = (sum(&|p| p.value), sum(&|p| p.work * p.value));
        let spread = one * square - work * work;
        let sums = [one, work, square];
        let works = || strata.iter().flat_map(|stratum| &stratum.works);
        let (all, count) = (works().sum::<f64>(), works().count().max(1) as f64);
        let of_all = works().map(|work| (work - all / count).powi(2)).sum::<f64>() / count;
        if points().count() >= MIN_INTERCEPT_LAUNCHES && spread > 1e-9 * one * square && spread / (one * one) >= MIN_VARIANCE_RATIO * of_all
        {
            let slope = (one * product - work * value) / spread;
            let intercept = (value - slope * work) / one;
            return Self { intercept, slope, has_intercept: true, sums };
        }
        Self { intercept: 0.0, slope: if work > 0.0 { value / work } else { 0.0 }, has_intercept: false, sums }
    }

    fn at(&self, work: f64) -> f64 {
        self.intercept + self.slope * work
    }

    /// Returns the relative correction of a launch's weight, so that the weighted counts and works of the group increase by `missing`.
    fn calibration(&self, missing: [f64; 2], work: f64) -> f64 {
        let [one, sum, square] = self.sums;
        if !self.has_intercept {
            return if sum > 0.0 { missing[1] / sum } else { 0.0 };
        }
        let spread = one * square - sum * sum;
        let intercept = (square * missing[0] - sum * missing[1]) / spread;
        let slope = (one * missing[1] - sum * missing[0]) / spread;
        intercept + slope * work
    }
}

/// Estimates the total of a group.
pub(super) fn estimate(strata: &[MeasuredStratum]) -> GroupEstimate {
    let line = RegressionLine::fit(strata);
    let residuals =
        |stratum: &MeasuredStratum| -> Vec<f64> { stratum.points.iter().map(|point| point.value - line.at(point.work)).collect() };
    let mean = |values: &[f64]| if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 };
    let offsets: Vec<f64> = strata.iter().map(|stratum| mean(&residuals(stratum))).collect();

    // The number and the total work of the launches are known for all launches.
    let known: f64 = strata.iter().flat_map(|stratum| &stratum.works).sum();
    let weighted: f64 = strata.iter().map(|s| s.factor() * s.points.iter().map(|point| point.work).sum::<f64>()).sum();
    let missing = [0.0, known - weighted];
    let weight = |stratum: &MeasuredStratum, point: &MeasuredLaunch| stratum.factor() * (1.0 + line.calibration(missing, point.work));
    let whole = strata.iter().all(MeasuredStratum::is_whole);
    let weights: Vec<Vec<f64>> = strata
        .iter()
        .map(|stratum| stratum.points.iter().map(|point| if whole { 1.0 } else { weight(stratum, point) }).collect())
        .collect();

    let relative = PooledDeviation::of(strata, &line, &offsets);
    let mut estimate = GroupEstimate { total: 0.0, variance: 0.0, freedom: 0.0, weights, deviations: Vec::new(), line, offsets };
    let mut squares = 0.0;
    for (i, stratum) in strata.iter().enumerate() {
        let own: f64 = residuals(stratum).iter().map(|residual| (residual - estimate.offsets[i]).powi(2)).sum();
        let (deviation, freedom) = if stratum.points.len() >= SEPARATE_VARIANCE_LAUNCHES {
            ((own / (stratum.count() - 1.0)).sqrt(), stratum.count() - 1.0)
        } else {
            let typical = mean(&stratum.points.iter().map(|point| point.value).collect::<Vec<_>>());
            (relative.deviation * typical, relative.freedom)
        };
        let (all, count) = (stratum.launches(), stratum.count());
        // Unequal weights increase the variance (Särndal, Swensson and Wretman, Section 6.6).
        let uneven = estimate.weights[i].iter().map(|weight| (weight / stratum.factor()).powi(2)).sum::<f64>() / count.max(1.0);
        let variance = all * (all - count) / count * deviation * deviation * uneven;
        let measuring =
            || stratum.points.iter().zip(&estimate.weights[i]).map(|(point, weight)| (weight * weight * point.variance, point.freedom));
        squares += measuring().map(|(variance, freedom)| variance * variance / freedom.max(1.0)).sum::<f64>();
        let measuring: f64 = measuring().map(|(variance, _)| variance).sum();
        estimate.total += stratum.points.iter().zip(&estimate.weights[i]).map(|(point, weight)| weight * point.value).sum::<f64>();
        estimate.variance += variance + measuring;
        squares += variance * variance / freedom.max(1.0);
        estimate.deviations.push(deviation);
    }
    // Degrees of freedom by Welch and Satterthwaite.
    estimate.freedom = if squares > 0.0 { estimate.variance * estimate.variance / squares } else { f64::MAX };
    estimate
}

/// The deviation of the residuals relative to the line's expectations, pooled over all strata of a group.
struct PooledDeviation {
    deviation: f64,
    freedom: f64,
}

impl PooledDeviation {
    fn of(strata: &[MeasuredStratum], line: &RegressionLine, offsets: &[f64]) -> Self {
        let (mut squares, mut freedom) = (0.0, 0.0);
        for (stratum, offset) in strata.iter().zip(offsets) {
            for point in &stratum.points {
                let expected = line.at(point.work) + offset;
                squares += if expected > 0.0 { ((point.value - expected) / expected).powi(2) } else { 1.0 };
            }
            freedom += stratum.count() - 1.0;
        }
        let freedom = (freedom - f64::from(u8::from(line.has_intercept))).max(1.0);
        Self { deviation: (squares / freedom).sqrt(), freedom }
    }
}

/// A value with the half-width of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ConfidenceInterval {
    pub(super) value: f64,
    pub(super) half_width: f64,
    pub(super) variance: f64,
}

/// Possible bias even if all drawn launches agree, as a share of the unmeasured cycles: the state of the chip other than the LLC is the
/// state that simulated launches left. The value was chosen with the development workloads of `study sampling`.
pub(super) const STATE_BIAS: f64 = 0.0025;
/// Possible bias of launches that are simulated in parts, as a share of their unmeasured cycles. A chip that has executed tens of waves may
/// be faster or slower than a chip that has executed thousands, and a jump in the grid clears the accumulated queues (`study sampling`: 1 %
/// of `vecadd`, 2 % of `cp`).
pub(super) const AGE_BIAS: f64 = 0.02;

impl ConfidenceInterval {
    /// Returns the interval widened by a bias that does not depend on the drawn launches.
    pub(super) fn with_bias(self, bias: f64) -> Self {
        Self { half_width: self.half_width.hypot(bias), ..self }
    }
}

/// Returns the sum over groups with its interval.
pub(super) fn sum(groups: &[GroupEstimate], confidence: f64) -> ConfidenceInterval {
    let value = groups.iter().map(|group| group.total).sum();
    let variance: f64 = groups.iter().map(|group| group.variance).sum();
    let squares: f64 = groups.iter().map(|group| group.variance * group.variance / group.freedom.max(1.0)).sum();
    if variance == 0.0 {
        return ConfidenceInterval { value, half_width: 0.0, variance };
    }
    let freedom = if squares > 0.0 { variance * variance / squares } else { f64::MAX };
    ConfidenceInterval { value, half_width: quantile(confidence, freedom) * variance.sqrt(), variance }
}

#[cfg(test)]
mod tests {
    use super::super::draw::draw_order;
    use super::*;
    use warpshard_base::Rng;

    fn point(work: f64, value: f64) -> MeasuredLaunch {
        MeasuredLaunch { work, value, variance: 0.0, freedom: 0.0 }
    }

    #[test]
    fn equal_launches_are_expanded_with_the_textbook_interval() {
        // 100 launches of one size, four of which took 10, 12, 14 and 16: mean 13, s^2 = 20/3.
        let points = [10.0, 12.0, 14.0, 16.0].map(|value| point(5.0, value)).to_vec();
        let group = estimate(&[MeasuredStratum { works: vec![5.0; 100], points }]);
        assert!((group.total - 1300.0).abs() < 1e-9, "{group:?}");
        assert!(group.weights[0].iter().all(|weight| (weight - 25.0).abs() < 1e-9));
        // Residuals are pooled relative to the mean; for a single stratum of equal launches the result is s^2 itself. V = 100 * 96 / 4 * 20
        // / 3.
        assert!((group.variance - 16_000.0).abs() < 1e-6 && group.freedom == 3.0, "{group:?}");
        let interval = sum(&[group], 0.95);
        assert!((interval.half_width - 3.182_446 * 16_000.0f64.sqrt()).abs() < 1e-2, "{interval:?}");
    }

    #[test]
    fn work_on_a_line_is_estimated_without_error_and_counts_and_works_are_exact() {
        let works: Vec<f64> = (1..=40).map(f64::from).collect();
        let (low, high) = works.split_at(20);
        let value = |work: f64| 700.0 + 3.0 * work;
        let measured = |works: &[f64], taken: [usize; 3]| MeasuredStratum {
            works: works.to_vec(),
            points: taken.map(|i| point(works[i], value(works[i]))).to_vec(),
        };
        let strata = [measured(low, [0, 7, 13]), measured(high, [2, 3, 19])];
        let group = estimate(&strata);
        let truth: f64 = works.iter().map(|work| value(*work)).sum();
        assert!((group.total - truth).abs() < 1e-6 && group.variance < 1e-9, "{group:?}");
        let weighted = |of: fn(&MeasuredLaunch) -> f64| -> f64 {
            let pairs = strata.iter().zip(&group.weights).flat_map(|(stratum, weights)| stratum.points.iter().zip(weights));
            pairs.map(|(point, weight)| weight * of(point)).sum()
        };
        assert!((weighted(|_| 1.0) - 40.0).abs() < 1e-9 && (weighted(|point| point.work) - 820.0).abs() < 1e-9);
        assert!((group.expected(0, 5.0) - value(5.0)).abs() < 1e-9);
    }

    #[test]
    fn launches_of_nearly_one_size_determine_no_slope() {
        let works: Vec<f64> = (0..100).map(|i| if i < 20 { 50.0 } else { 100.0 + f64::from(i % 4) }).collect();
        let points = [(100.0, 205.0), (101.0, 201.0), (102.0, 204.0), (103.0, 202.0)].map(|(work, value)| point(work, value)).to_vec();
        let group = estimate(&[MeasuredStratum { works, points }]);
        // A line through these points would expect the small launches to take more cycles than the others.
        assert!((group.expected(0, 50.0) - 100.0).abs() < 2.0, "{group:?}");
    }

    #[test]
    fn few_launches_follow_a_line_through_the_origin() {
        // Ratio estimator: the three measured launches have work 12 and value 36; the launch of work 10 is expected to have 30.
        let points = vec![point(2.0, 6.0), point(2.0, 6.0), point(8.0, 24.0)];
        let group = estimate(&[MeasuredStratum { works: vec![2.0, 2.0, 8.0, 10.0], points }]);
        assert!((group.total - 66.0).abs() < 1e-9, "{group:?}");
    }

    #[test]
    fn a_completely_measured_group_is_its_sum_with_measurement_variance() {
        let whole = |variance| {
            let points = vec![point(1.0, 3.0), MeasuredLaunch { variance, ..point(9.0, 4.0) }];
            estimate(&[MeasuredStratum { works: vec![1.0, 9.0], points }])
        };
        assert_eq!((whole(0.0).total, whole(0.0).variance, whole(4.0).variance), (7.0, 0.0, 4.0));
        assert_eq!(sum(&[whole(0.0)], 0.95), ConfidenceInterval { value: 7.0, half_width: 0.0, variance: 0.0 });
    }

    #[test]
    fn a_possible_bias_widens_the_interval_as_an_independent_error() {
        let interval = ConfidenceInterval { value: 1000.0, half_width: 1.5, variance: 1.0 };
        assert_eq!(interval.with_bias(-2.0), ConfidenceInterval { half_width: 2.5, ..interval });
        assert_eq!(interval.with_bias(0.0), interval);
    }

    #[test]
    fn expected_and_measured_rows_add_up_to_the_estimate() {
        let works: Vec<f64> = (0..30).map(|i| 10.0 + f64::from(i % 7)).collect();
        let points: Vec<MeasuredLaunch> = (0..6).map(|i| point(works[i], 50.0 + works[i] * works[i])).collect();
        let group = estimate(&[MeasuredStratum { works: works.clone(), points: points.clone() }]);
        let rows =
            points.iter().map(|point| point.value).sum::<f64>() + works[6..].iter().map(|work| group.expected(0, *work)).sum::<f64>();
        assert!((rows - group.total).abs() < 1e-6, "{rows} {group:?}");
    }

    /// Returns a synthetic workload: cycles are a curved function of the work, with an error that grows with the work.
    fn truth(seed: u64) -> Vec<(f64, f64)> {
        let mut random = Rng::keyed(seed, &[1]);
        let mut uniform = || random.below(1 << 30) as f64 / f64::from(1 << 30);
        (0..600)
            .map(|i| {
                let work = 100.0 + f64::from(i % 300);
                let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                (work, 500.0 + 2.0 * work + 0.002 * work * work + 0.06 * work * noise)
            })
            .collect()
    }

    #[test]
    fn intervals_contain_the_truth_as_often_as_they_say() {
        let mut hits = 0;
        const RUNS: u64 = 400;
        for seed in 0..RUNS {
            let all = truth(seed / 40);
            let strata: Vec<MeasuredStratum> = (0..3)
                .map(|stratum| {
                    let members: Vec<usize> = (0..all.len()).filter(|i| (i % 300) / 100 == stratum).collect();
                    let taken = draw_order(&members, seed, 0, stratum);
                    let points = taken[..4].iter().map(|i| point(all[*i].0, all[*i].1)).collect();
                    MeasuredStratum { works: members.iter().map(|i| all[*i].0).collect(), points }
                })
                .collect();
            let interval = sum(&[estimate(&strata)], 0.95);
            let total: f64 = all.iter().map(|(_, cycles)| cycles).sum();
            hits += u64::from((interval.value - total).abs() <= interval.half_width);
            assert!((interval.value / total - 1.0).abs() < 0.04);
        }
        let share = hits as f64 / RUNS as f64;
        assert!((0.92..=0.985).contains(&share), "{share}");
    }
}
