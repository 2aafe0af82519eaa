//! Figures over arrivals that are drawn by stratum.
//!
//! Arrivals are uniform over the time of a benchmark, so a kernel with little of the time is rarely hit. Such a kernel is a *stratum* with
//! separate arrivals, uniform over the kernel's time; the rest of the time is the first stratum. A mean weights each stratum by its share
//! of the time, so it estimates the mean over arrivals that are uniform over the whole time, whatever the number of arrivals per stratum.
//! (Cochran, Sampling Techniques, chapter 5; ratios are his combined ratio estimates, 6.11.)

use warpshard_base::Rng;

/// Returns `count` uniformly random cycles within the spans, in ascending order.
pub(super) fn random_cycles(spans: &[(u64, u64)], count: u32, rng: &mut Rng) -> Vec<u64> {
    let all: u64 = spans.iter().map(|(from, to)| to - from).sum();
    let cycle_at = |mut at: u64| {
        for (from, to) in spans {
            if at < to - from {
                return Some(from + at);
            }
            at -= to - from;
        }
        None
    };
    let mut cycles: Vec<u64> = (0..count).filter_map(|_| cycle_at(rng.below(all))).collect();
    cycles.sort_unstable();
    cycles
}

/// An observation of a sample with its stratum and weight.
#[derive(Clone, Debug, PartialEq)]
struct WeightedObservation<T> {
    stratum: usize,
    weight: f64,
    value: T,
}

/// Observations at arrivals with weights; the mean weight is 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WeightedSample<T> {
    rows: Vec<WeightedObservation<T>>,
}

impl<T> WeightedSample<T> {
    /// Creates a sample from observations with the number of their stratum; `shares` has the share of the time of each stratum. The share
    /// of a stratum without arrivals is distributed over the other strata.
    pub(super) fn new(all: Vec<(usize, T)>, shares: &[f64]) -> Self {
        let mut counts = vec![0u32; shares.len()];
        all.iter().for_each(|(stratum, _)| counts[*stratum] += 1);
        let hit = || shares.iter().zip(&counts).filter(|(_, count)| **count > 0);
        let (time, arrivals) = (hit().map(|(share, _)| share).sum::<f64>(), all.len() as f64);
        let weight = |stratum: usize| shares[stratum] / time / (f64::from(counts[stratum]) / arrivals);
        // With a single stratum all weights are exactly 1.
        let one = hit().count() == 1;
        let row = |(stratum, row): (usize, T)| WeightedObservation { stratum, weight: if one { 1.0 } else { weight(stratum) }, value: row };
        Self { rows: all.into_iter().map(row).collect() }
    }

    /// Returns all observations, without weights.
    pub(super) fn observations(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().map(|row| &row.value)
    }

    /// Returns the weighted sum of a number over all observations.
    pub(super) fn weighted_sum(&self, of: impl Fn(&T) -> f64) -> f64 {
        self.rows.iter().map(|row| row.weight * of(&row.value)).sum()
    }

    /// Returns the ratio of two weighted sums; `None` if the second is zero.
    pub(super) fn ratio_of_sums(&self, part: impl Fn(&T) -> f64, whole: impl Fn(&T) -> f64) -> Option<f64> {
        let whole = self.weighted_sum(whole);
        (whole > 0.0).then(|| self.weighted_sum(part) / whole)
    }

    /// Returns half the width of the 95 % interval of a ratio; in each stratum, deviations from the ratio are taken about their mean.
    pub(super) fn interval_half_width(&self, part: impl Fn(&T) -> f64, whole: impl Fn(&T) -> f64) -> Option<f64> {
        let ratio = self.ratio_of_sums(&part, &whole)?;
        let strata = self.rows.iter().map(|row| row.stratum).max().map_or(0, |last| last + 1);
        let mut variance = 0.0;
        for stratum in 0..strata {
            let rows: Vec<&WeightedObservation<T>> = self.rows.iter().filter(|row| row.stratum == stratum).collect();
            let Some(weight) = rows.first().map(|row| row.weight) else { continue };
            if rows.len() < 2 {
                return None;
            }
            let (count, deviation) = (rows.len() as f64, |row: &&WeightedObservation<T>| part(&row.value) - ratio * whole(&row.value));
            let mean = rows.iter().map(deviation).sum::<f64>() / count;
            let squares = rows.iter().map(|row| (deviation(row) - mean).powi(2)).sum::<f64>();
            variance += weight.powi(2) * squares * count / (count - 1.0);
        }
        Some(1.96 * variance.sqrt() / self.weighted_sum(whole))
    }

    /// Returns the weighted quantile of all values; `share` is 0.5 for the median.
    pub(super) fn weighted_quantile(&self, values: impl Fn(&T) -> Vec<f64>, share: f64) -> Option<f64> {
        let mut all: Vec<(f64, f64)> =
            self.rows.iter().flat_map(|row| values(&row.value).into_iter().map(|value| (value, row.weight)).collect::<Vec<_>>()).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted = share * all.iter().map(|(_, weight)| weight).sum::<f64>();
        let first = |enough: &dyn Fn(f64) -> bool| {
            let mut below = 0.0;
            let reached = |(_, weight): &&(f64, f64)| {
                below += weight;
                enough(below)
            };
            all.iter().find(reached).or(all.last()).map(|(value, _)| *value)
        };
        // If the share falls between two values, the quantile is their midpoint.
        Some((first(&|below| below >= wanted)? + first(&|below| below > wanted)?) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the weighted mean of a sample.
    fn mean(sample: &WeightedSample<f64>) -> f64 {
        sample.ratio_of_sums(|one| *one, |_| 1.0).unwrap()
    }

    #[test]
    fn cycles_are_uniform_in_the_spans() {
        let spans = [(100, 200), (1000, 1300)];
        let cycles = random_cycles(&spans, 4000, &mut Rng::keyed(1, &[]));
        assert!(cycles.iter().all(|at| spans.iter().any(|(from, to)| (from..to).contains(&at))) && cycles.is_sorted());
        let first = cycles.iter().filter(|at| **at < 200).count();
        assert!((900..1100).contains(&first), "a quarter of them: {first}");
        assert_eq!((cycles.len(), cycles.last()), (4000, Some(&1299)));
        assert_eq!(random_cycles(&[(7, 8)], 2, &mut Rng::keyed(1, &[])), [7, 7]);
    }

    #[test]
    fn the_mean_weight_is_1_and_a_stratum_without_arrivals_has_none() {
        let sample = WeightedSample::new(vec![(0, ()), (1, ()), (1, ()), (1, ())], &[0.9, 0.1]);
        assert!((sample.weighted_sum(|()| 1.0) - 4.0).abs() < 1e-12);
        assert!((sample.rows[0].weight - 3.6).abs() < 1e-12 && (sample.rows[3].weight - 0.4 / 3.0).abs() < 1e-12);
        assert!(WeightedSample::new(vec![(0, ()), (0, ())], &[0.7, 0.3]).rows.iter().all(|row| row.weight == 1.0));
    }

    #[test]
    fn the_mean_over_all_draws_is_the_mean_of_the_time() {
        // A benchmark has ten cycles, and a rare kernel runs in the last two: two arrivals are in the first stratum, three in the second.
        let (common, rare) = ([1.0, 4.0, 2.0, 2.0, 0.0, 7.0, 1.0, 3.0], [30.0, 50.0]);
        let (mut estimates, mut plain) = (Vec::new(), Vec::new());
        for (a, b) in common.iter().flat_map(|a| common.iter().map(move |b| (*a, *b))) {
            for draws in 0..8 {
                let of = |bit: usize| (1, rare[draws >> bit & 1]);
                let all = vec![(0, a), (0, b), of(0), of(1), of(2)];
                plain.push(all.iter().map(|(_, one)| one).sum::<f64>() / 5.0);
                estimates.push(mean(&WeightedSample::new(all, &[0.8, 0.2])));
            }
        }
        let whole = (common.iter().sum::<f64>() + rare.iter().sum::<f64>()) / 10.0;
        let average = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        assert!((average(&estimates) - whole).abs() < 1e-9, "{} {whole}", average(&estimates));
        assert!(average(&plain) > 2.0 * whole, "without weights the rare kernel would count too much");
    }

    #[test]
    fn arrivals_in_proportion_to_the_time_have_the_plain_mean() {
        let all = [3.0, 1.0, 2.0, 8.0];
        let strata = WeightedSample::new(all.iter().enumerate().map(|(i, one)| (usize::from(i == 3), *one)).collect(), &[0.75, 0.25]);
        let plain = WeightedSample::new(all.iter().map(|one| (0, *one)).collect(), &[1.0]);
        assert!((mean(&strata) - 3.5).abs() < 1e-12 && (mean(&plain) - 3.5).abs() < 1e-12);
        assert_eq!([0.25, 0.5, 0.9].map(|share| strata.weighted_quantile(|one| vec![*one], share)), [1.5, 2.5, 8.0].map(Some));
        assert_eq!(strata.weighted_quantile(|_| Vec::new(), 0.5), None);
    }

    #[test]
    fn the_spread_weights_each_stratum_by_the_square_of_its_share() {
        // By hand: the means are 2 and 10, the variances of a draw 2 and 8, so the variances of the means are 1 and 4.
        let all = || vec![(0, 1.0), (0, 3.0), (1, 8.0), (1, 12.0)];
        let sample = WeightedSample::new(all(), &[0.9, 0.1]);
        assert!((mean(&sample) - 2.8).abs() < 1e-12);
        let spread = sample.interval_half_width(|one| *one, |_| 1.0).unwrap();
        assert!((spread - 1.96 * (0.81f64 * 1.0 + 0.01 * 4.0).sqrt()).abs() < 1e-12, "{spread}");
        // The difference between strata does not add to the spread; it does if the same arrivals are one stratum.
        let one = WeightedSample::new(all().into_iter().map(|(_, one)| (0, one)).collect(), &[1.0]).interval_half_width(|one| *one, |_| 1.0).unwrap();
        assert!((one - 1.96 * (74.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-9, "{one}");
        assert_eq!(
            WeightedSample::new(vec![(0, 1.0), (0, 2.0), (1, 1.0)], &[0.5, 0.5]).interval_half_width(|one| *one, |_| 1.0),
            None,
            "one arrival has no spread"
        );
    }
}
