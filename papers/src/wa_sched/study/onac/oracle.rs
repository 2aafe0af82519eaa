//! The oracle: IPC by the number of active cores, and the least number that reaches 98 % of the IPC of all cores.
//!
//! Some numbers are run for every kernel; bisection then finds the least number between the two that enclose the threshold.
//! Bisection is correct if no larger number falls below the threshold again, which is checked on all numbers that were run.

use rayon::prelude::*;

use warpshard_lab::error::TaskError;
use warpshard_lab::job::Row;

use super::published::published;

/// Number of cores of the machine.
pub(super) const MACHINE_CORES: u32 = 32;
/// IPC and memory latencies by the number of cores.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CoreCountCurve {
    /// Counts of the steady stretch of each run, by ascending number of cores.
    pub(super) points: Vec<(u32, Row)>,
    /// The least number of cores that reaches the threshold.
    pub(super) least_cores: u32,
}

impl CoreCountCurve {
    /// Finds the least number of cores; `at` runs one number. With `sweep` all numbers are run.
    ///
    /// # Errors
    /// The errors of `at`.
    pub(super) fn measure(sweep: bool, at: impl Fn(u32) -> Result<Row, TaskError> + Sync) -> Result<Self, TaskError> {
        let wanted: Vec<u32> =
            if sweep { (1..=MACHINE_CORES).collect() } else { published().own.parameters.always.iter().copied().chain([MACHINE_CORES]).collect() };
        let rows = wanted.par_iter().map(|cores| at(*cores)).collect::<Result<Vec<_>, TaskError>>()?;
        let mut curve = Self { points: wanted.into_iter().zip(rows).collect(), least_cores: MACHINE_CORES };
        let passing = curve.points.iter().map(|(cores, _)| *cores).find(|cores| curve.reaches_threshold(*cores)).unwrap_or(MACHINE_CORES);
        let failing = curve.points.iter().map(|(cores, _)| *cores).filter(|cores| *cores < passing).max().unwrap_or(0);
        let (mut low, mut high) = (failing, passing);
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            curve.points.push((middle, at(middle)?));
            if curve.reaches_threshold(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        curve.points.sort_by_key(|(cores, _)| *cores);
        curve.least_cores = high;
        Ok(curve)
    }

    /// Returns the counts with a number of cores, if it was run.
    pub(super) fn row_at(&self, cores: u32) -> Option<&Row> {
        self.points.iter().find(|(n, _)| *n == cores).map(|(_, row)| row)
    }

    /// Returns the IPC relative to the IPC of all cores.
    pub(super) fn relative_ipc(&self, cores: u32) -> Option<f64> {
        let all = self.row_at(MACHINE_CORES)?.rate();
        Some(self.row_at(cores)?.rate() / all.max(f64::MIN_POSITIVE))
    }

    fn reaches_threshold(&self, cores: u32) -> bool {
        self.relative_ipc(cores).is_some_and(|share| share >= published().own.parameters.threshold)
    }

    /// Returns `true` if every number that was run reaches the threshold exactly from the least number on.
    pub(super) fn is_monotone(&self) -> bool {
        self.points.iter().all(|(cores, _)| self.reaches_threshold(*cores) == (*cores >= self.least_cores))
    }

    /// Returns the least number that bisection would have found from the fixed numbers alone; equals `least_cores` if the
    /// bisection of a full sweep is correct.
    pub(super) fn bisected_cores(&self) -> Option<u32> {
        let known = |cores: u32| self.row_at(cores).copied().ok_or_else(|| "not run".to_owned()).map_err(TaskError::from);
        Self::measure(false, known).ok().map(|curve| curve.least_cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_row(issued: u64) -> Row {
        Row { cycles: 1000, issued, ..Row::default() }
    }

    #[test]
    fn the_least_number_that_reaches_98_percent_is_found_by_bisection() {
        let saturating = |from: u32| move |cores: u32| Ok(example_row(1000 * u64::from(cores.min(from))));
        for from in [1, 2, 5, 9, 12, 27, 32] {
            // 98 % of 32 is 31.4 and of 27 is 26.5; only a saturation at 50 or more cores would need one core fewer.
            let curve = CoreCountCurve::measure(false, saturating(from)).unwrap();
            assert_eq!(curve.least_cores, from);
            assert!(curve.is_monotone() && curve.points.len() <= 15);
        }
        assert_eq!(CoreCountCurve::measure(false, |_| Ok(example_row(7))).unwrap().least_cores, 1);
    }

    #[test]
    fn a_sweep_runs_every_number_and_agrees_with_bisection() {
        let curve = CoreCountCurve::measure(true, |cores| Ok(example_row(1000 * u64::from(cores.min(11))))).unwrap();
        assert_eq!((curve.points.len(), curve.least_cores, curve.bisected_cores()), (32, 11, Some(11)));
        assert_eq!(curve.relative_ipc(5), Some(5.0 / 11.0));
    }

    #[test]
    fn a_curve_that_falls_again_is_not_monotone() {
        let dented = |cores: u32| Ok(example_row(if cores == 24 { 900 } else { 1000 }));
        assert!(!CoreCountCurve::measure(false, dented).unwrap().is_monotone());
    }

    #[test]
    fn errors_of_runs_are_returned() {
        assert_eq!(CoreCountCurve::measure(false, |_| Err("no".into())).unwrap_err().to_string(), "no");
    }
}
