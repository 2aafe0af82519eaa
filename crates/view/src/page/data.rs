//! The input data of a page.

use warpshard_report::timeline::TimelineRecord;

use super::super::series::{CounterSeries, Fold};
use super::super::{ReadError, RunFolder, timeline_of};

/// Maximum number of steps of a picture over time.
const MAX_STEPS: usize = 240;

/// The input data of a page.
pub(super) struct RunData<'a> {
    pub(super) run: &'a RunFolder,
    pub(super) series: Option<CounterSeries>,
    pub(super) power: Option<CounterSeries>,
    pub(super) timeline: Vec<TimelineRecord>,
}

impl<'a> RunData<'a> {
    pub(super) fn read(run: &'a RunFolder) -> Result<Self, ReadError> {
        Ok(Self {
            run,
            series: CounterSeries::of(run, "intervals.csv", Fold::Sum, MAX_STEPS)?,
            power: CounterSeries::of(run, "power.csv", Fold::Mean, MAX_STEPS)?,
            timeline: timeline_of(run)?,
        })
    }

    /// Returns the values of a counter for all instances of a component. The number of values equals the number of ids even if the file has
    /// been edited.
    pub(super) fn instances(&self, component: &str, name: &str) -> Option<Vec<f64>> {
        let column = |name: &str| self.run.stats.at(&["components", component, "instances", name])?.as_array();
        let mut values: Vec<f64> = column(name)?.iter().map(|value| value.as_f64().unwrap_or(0.0)).collect();
        values.resize(column("id")?.len(), 0.0);
        Some(values)
    }

    /// Returns the simulated seconds in which the components counted, the denominator of all rates; `None` if no time has passed.
    pub(super) fn counted_seconds(&self) -> Option<f64> {
        let seconds = self.run.stats.number(&["counted_until"])? / self.hertz();
        (seconds.is_finite() && seconds > 0.0).then_some(seconds)
    }

    /// Returns the core cycles per simulated second.
    pub(super) fn hertz(&self) -> f64 {
        self.run.stats.number(&["core_khz"]).unwrap_or(0.0) * 1000.0
    }
}
