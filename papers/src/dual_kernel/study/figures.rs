//! Figures of a cell: a benchmark under a scheme with a bound.
//!
//! A *preemption* is that of one SM with CTAs of the benchmark at one request: it violates its bound when its last victim leaves later.
//! Overhead is in percent of what flushing all victims would have wasted.
//!
//! Preemptions of one request are not independent of each other, requests are: the spread of a rate is that of a ratio of sums over requests, as half the
//! width of its interval of 95 %. Requests of several strata have weights (`strata.rs`).

use super::cell::{Counts, Seen};
use super::published::{Benchmark, Scheme};
use super::strata::Sample;
use super::task::Times;

/// A scheme with a bound in us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) scheme: Scheme,
    pub(super) bound: u32,
}

/// A benchmark's runs.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) benchmark: &'static Benchmark,
    pub(super) times: Times,
    pub(super) figures: Vec<(Cell, Figures)>,
}

impl Point {
    pub(super) fn of(&self, scheme: Scheme, bound: u32) -> Option<&Figures> {
        self.figures.iter().find(|(cell, _)| *cell == Cell { scheme, bound }).map(|(_, figures)| figures)
    }
}

/// The figures of a cell.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// The bound in core cycles.
    pub(super) bound: u64,
    pub(super) requests: Sample<Seen>,
}

impl Figures {
    /// Of requests in windows, and further ones while each of the rare kernels ran, which are named by their places. Of these, requests that found no CTA of their kernel are
    /// not of its stratum.
    pub(super) fn new(benchmark: &Benchmark, times: &Times, rare: &[usize], windows: Counts, further: Vec<Counts>) -> Self {
        let stratum = |seen: &Seen| {
            let runs = |place: &&usize| seen.kernels.contains_key(&benchmark.kernels[**place].kernel);
            (1..).zip(rare).find(|(_, place)| runs(place)).map_or(0, |(stratum, _)| stratum)
        };
        let own: Vec<f64> = rare.iter().map(|place| times.shares[*place]).collect();
        let mut shares = vec![1.0 - own.iter().sum::<f64>()];
        shares.extend(own);
        let bound = windows.bound;
        let further = (1..).zip(further).flat_map(|(wanted, one)| one.requests.into_iter().map(move |seen| (wanted, seen)));
        let further = further.filter(|(wanted, seen)| stratum(seen) == *wanted);
        let all = windows.requests.into_iter().map(|seen| (stratum(&seen), seen)).chain(further);
        Self { bound, requests: Sample::new(all.collect(), &shares) }
    }

    /// How many there were of something, without weights.
    pub(super) fn count(&self, of: impl Fn(&Seen) -> u64) -> u64 {
        self.requests.each().map(of).sum()
    }

    /// One in percent of another.
    fn percent(&self, part: impl Fn(&Seen) -> f64, whole: impl Fn(&Seen) -> f64) -> Option<f64> {
        self.requests.ratio(part, whole).map(|ratio| 100.0 * ratio)
    }

    /// Preemptions above the bound, in percent.
    pub(super) fn violation_rate(&self) -> Option<f64> {
        self.percent(|seen| seen.violations as f64, |seen| seen.preemptions as f64)
    }

    pub(super) fn violation_spread(&self) -> Option<f64> {
        self.requests.spread(|seen| seen.violations as f64, |seen| seen.preemptions as f64).map(|spread| 100.0 * spread)
    }

    /// Requests with an SM above the bound, in percent of those that found CTAs of the benchmark.
    pub(super) fn late_rate(&self) -> Option<f64> {
        self.percent(|seen| f64::from(seen.violations.min(1) as u32), |seen| f64::from(seen.preemptions.min(1) as u32))
    }

    /// Tasks that ended later than their execution alone and the bound allow, in percent.
    pub(super) fn missed_rate(&self, alone: f64) -> Option<f64> {
        let deadline = alone + self.bound as f64;
        let missed = |seen: &Seen| seen.finished.is_some_and(|cycles| cycles as f64 > deadline);
        self.percent(|seen| f64::from(u8::from(missed(seen))), |_| 1.0)
    }

    /// Overhead in percent of that of flushing.
    pub(super) fn overhead_rate(&self) -> Option<f64> {
        self.percent(|seen| seen.overhead, |seen| seen.flush_overhead)
    }

    pub(super) fn overhead_spread(&self) -> Option<f64> {
        self.requests.spread(|seen| seen.overhead, |seen| seen.flush_overhead).map(|spread| 100.0 * spread)
    }

    /// The same, if SMs above the bound had flushed all their victims instead.
    pub(super) fn enforced_rate(&self) -> Option<f64> {
        self.percent(|seen| seen.overhead + seen.late_overhead, |seen| seen.flush_overhead)
    }

    /// Victims that a technique was chosen for, in percent.
    pub(super) fn technique_rate(&self, of: impl Fn(&Seen) -> u64) -> Option<f64> {
        self.percent(|seen| of(seen) as f64, |seen| (seen.drained + seen.switched + seen.flushed) as f64)
    }

    /// Median of the time from a request to the end of the task, in core cycles.
    pub(super) fn median_finish(&self) -> Option<f64> {
        self.requests.quantile(|seen| seen.finished.iter().map(|cycles| *cycles as f64).collect(), 0.5)
    }

    /// The latency of an SM below which a share of them is, in core cycles.
    pub(super) fn latency(&self, share: f64) -> Option<f64> {
        self.requests.quantile(|seen| seen.latencies.iter().map(|cycles| *cycles as f64).collect(), share)
    }

    pub(super) fn mean_utilisation(&self) -> Option<f64> {
        self.percent(|seen| seen.utilisation.unwrap_or(0.0), |seen| f64::from(u8::from(seen.utilisation.is_some())))
    }

    /// Mean error of the estimates of draining, in percent.
    pub(super) fn mean_drain_error(&self) -> Option<f64> {
        self.percent(|seen| seen.drain_error.0, |seen| seen.drain_error.1 as f64)
    }
}
