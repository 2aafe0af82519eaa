//! Host cost per kind of work, as a linear fit: nanoseconds per warp instruction, L1 access, LLC sector and active SM-cycle.
//!
//! The input is the work and the seconds of several runs. The output is the cost of each kind of work and the predicted time of each run.
//! The fit minimises the squares of the relative errors, because a trace of 3 ms carries as much information as one of 300 ms. A negative
//! cost has no meaning, so every subset of the kinds is fitted and the best fit without negative costs is taken; four kinds give fifteen
//! fits.

/// The kinds of work, with their units.
pub(super) const WORK_KINDS: [&str; 4] = ["warp instruction", "L1 access", "LLC sector", "active SM-cycle"];

/// Work and host time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CostSample {
    /// Amounts of work, in the order of [`WORK_KINDS`].
    pub(super) work: [f64; WORK_KINDS.len()],
    /// Host seconds on one thread.
    pub(super) seconds: f64,
}

/// Fitted costs of the kinds of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CostLine {
    /// Seconds per unit of work, in the order of [`WORK_KINDS`].
    pub(super) costs: [f64; WORK_KINDS.len()],
}

impl CostLine {
    /// Fits the costs to the samples; returns `None` with fewer samples than kinds, or if no subset of the kinds can be fitted.
    pub(super) fn fit(samples: &[CostSample]) -> Option<Self> {
        let samples: Vec<CostSample> = samples.iter().copied().filter(|sample| sample.seconds > 0.0).collect();
        if samples.len() < WORK_KINDS.len() {
            return None;
        }
        let fits = (1..1_u32 << WORK_KINDS.len()).filter_map(|kinds| Self::fit_of(&samples, kinds));
        fits.min_by(|a, b| a.sum_of_squares(&samples).total_cmp(&b.sum_of_squares(&samples)))
    }

    /// Returns the predicted seconds of a run with this work.
    pub(super) fn predicted_seconds(&self, sample: &CostSample) -> f64 {
        self.costs.iter().zip(sample.work).map(|(cost, work)| cost * work).sum()
    }

    /// Returns the relative error of the prediction, as a fraction of the measured time.
    pub(super) fn relative_residual(&self, sample: &CostSample) -> f64 {
        self.predicted_seconds(sample) / sample.seconds - 1.0
    }

    fn sum_of_squares(&self, samples: &[CostSample]) -> f64 {
        samples.iter().map(|sample| self.relative_residual(sample).powi(2)).sum()
    }

    /// Fits a subset of the kinds, given as a mask; returns `None` if a cost is negative or the samples do not separate the kinds.
    fn fit_of(samples: &[CostSample], kinds: u32) -> Option<Self> {
        let chosen: Vec<usize> = (0..WORK_KINDS.len()).filter(|kind| kinds >> kind & 1 != 0).collect();
        let share = |sample: &CostSample, kind: usize| sample.work[kind] / sample.seconds;
        // Normal equations, each row with its right-hand side at the end.
        let mut rows: Vec<Vec<f64>> = chosen
            .iter()
            .map(|&a| {
                let products = chosen.iter().map(|&b| samples.iter().map(|s| share(s, a) * share(s, b)).sum());
                products.chain([samples.iter().map(|s| share(s, a)).sum()]).collect()
            })
            .collect();
        let solved = solve_system(&mut rows)?;
        if solved.iter().any(|cost| *cost < 0.0) {
            return None;
        }
        let mut costs = [0.0; WORK_KINDS.len()];
        chosen.iter().zip(solved).for_each(|(&kind, cost)| costs[kind] = cost);
        Some(Self { costs })
    }
}

/// Solves a square system by Gaussian elimination with pivoting; returns `None` if the system is singular.
fn solve_system(rows: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let chosen = rows[column].clone();
        let scale = chosen[column];
        if scale.abs() < 1e-12 * chosen.iter().map(|value| value.abs()).fold(f64::MIN_POSITIVE, f64::max) {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / scale;
            row.iter_mut().zip(&chosen).for_each(|(value, other)| *value -= factor * other);
        }
    }
    Some((0..n).map(|row| rows[row][n] / rows[row][row]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_samples(costs: [f64; 4]) -> Vec<CostSample> {
        let work = [[1e6, 0.0, 0.0, 2e5], [2e5, 1e6, 3e5, 9e5], [1e5, 8e5, 9e5, 4e6], [4e3, 4e3, 1e3, 9e4], [5e5, 1e5, 1e5, 3e5]];
        work.map(|work| CostSample { work, seconds: work.iter().zip(costs).map(|(work, cost)| work * cost).sum() }).into()
    }

    #[test]
    fn exact_costs_are_found() {
        let costs = [150e-9, 40e-9, 200e-9, 12e-9];
        let line = CostLine::fit(&example_samples(costs)).unwrap();
        assert!(line.costs.iter().zip(costs).all(|(found, cost)| (found / cost - 1.0).abs() < 1e-6), "{line:?}");
        assert!(example_samples(costs).iter().all(|sample| line.relative_residual(sample).abs() < 1e-6));
    }

    #[test]
    fn no_cost_is_below_zero() {
        let line = CostLine::fit(&example_samples([150e-9, -30e-9, 200e-9, 12e-9])).unwrap();
        assert!(line.costs.iter().all(|cost| *cost >= 0.0), "{line:?}");
    }

    #[test]
    fn too_few_samples_give_no_fit() {
        assert_eq!(CostLine::fit(&example_samples([1e-7; 4])[..3]), None);
        assert_eq!(
            CostLine::fit(&[CostSample { work: [1.0; 4], seconds: 1.0 }; 4]).map(|line| line.costs.iter().filter(|c| **c > 0.0).count()),
            Some(1)
        );
    }
}
