//! Figures of a cell: a benchmark under a scheme with a bound.
//!
//! A *preemption* is one SM with CTAs of the benchmark at one request: it violates its bound if its last victim leaves later. Overhead is
//! in percent of the instructions that flushing all victims would have wasted.
//!
//! The preemptions of one request depend on each other; the requests are independent. So the spread of a rate is the spread of a ratio of
//! sums over requests, as half the width of its 95 % interval. Requests of several strata have weights (`strata.rs`).

use super::cell::{PreemptionCounts, RequestCounts};
use super::published::{Benchmark, PublishedScheme};
use super::strata::WeightedSample;
use super::task::AloneTimes;

/// A scheme with a bound in us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoundedScheme {
    pub(super) scheme: PublishedScheme,
    pub(super) bound: u32,
}

/// The runs of a benchmark.
#[derive(Clone, Debug)]
pub(super) struct BenchmarkRuns {
    pub(super) benchmark: &'static Benchmark,
    pub(super) times: AloneTimes,
    pub(super) figures: Vec<(BoundedScheme, PreemptionFigures)>,
}

impl BenchmarkRuns {
    pub(super) fn figures_of(&self, scheme: PublishedScheme, bound: u32) -> Option<&PreemptionFigures> {
        self.figures.iter().find(|(cell, _)| *cell == BoundedScheme { scheme, bound }).map(|(_, figures)| figures)
    }
}

/// The figures of a cell.
#[derive(Clone, Debug)]
pub(super) struct PreemptionFigures {
    /// Bound of the preemption latency in core cycles.
    pub(super) bound: u64,
    pub(super) requests: WeightedSample<RequestCounts>,
}

impl PreemptionFigures {
    /// Combines the requests in windows with further requests while each rare kernel runs. `rare` has the indices of these kernels in the
    /// benchmark. A further request that found no CTA of its kernel is dropped.
    pub(super) fn new(benchmark: &Benchmark, times: &AloneTimes, rare: &[usize], windows: PreemptionCounts, further: Vec<PreemptionCounts>) -> Self {
        let stratum = |seen: &RequestCounts| {
            let runs = |kernel: &&usize| seen.kernels.contains_key(&benchmark.kernels[**kernel].kernel);
            (1..).zip(rare).find(|(_, kernel)| runs(kernel)).map_or(0, |(stratum, _)| stratum)
        };
        let own: Vec<f64> = rare.iter().map(|kernel| times.shares[*kernel]).collect();
        let mut shares = vec![1.0 - own.iter().sum::<f64>()];
        shares.extend(own);
        let bound = windows.bound;
        let further = (1..).zip(further).flat_map(|(wanted, one)| one.requests.into_iter().map(move |seen| (wanted, seen)));
        let further = further.filter(|(wanted, seen)| stratum(seen) == *wanted);
        let all = windows.requests.into_iter().map(|seen| (stratum(&seen), seen)).chain(further);
        Self { bound, requests: WeightedSample::new(all.collect(), &shares) }
    }

    /// Returns the unweighted sum of a count over all requests.
    pub(super) fn total_count(&self, of: impl Fn(&RequestCounts) -> u64) -> u64 {
        self.requests.observations().map(of).sum()
    }

    /// Returns `part` in percent of `whole`, as weighted sums over all requests.
    fn weighted_percent(&self, part: impl Fn(&RequestCounts) -> f64, whole: impl Fn(&RequestCounts) -> f64) -> Option<f64> {
        self.requests.ratio_of_sums(part, whole).map(|ratio| 100.0 * ratio)
    }

    /// Returns the preemptions above the bound, in percent.
    pub(super) fn violation_rate(&self) -> Option<f64> {
        self.weighted_percent(|seen| seen.violations as f64, |seen| seen.preemptions as f64)
    }

    pub(super) fn violation_spread(&self) -> Option<f64> {
        self.requests.interval_half_width(|seen| seen.violations as f64, |seen| seen.preemptions as f64).map(|spread| 100.0 * spread)
    }

    /// Returns the requests with an SM above the bound, in percent of the requests that found CTAs of the benchmark.
    pub(super) fn late_rate(&self) -> Option<f64> {
        self.weighted_percent(|seen| f64::from(seen.violations.min(1) as u32), |seen| f64::from(seen.preemptions.min(1) as u32))
    }

    /// Returns the percentage of tasks that ended later than `alone`, the execution of the task alone, plus the bound.
    pub(super) fn missed_rate(&self, alone: f64) -> Option<f64> {
        let deadline = alone + self.bound as f64;
        let missed = |seen: &RequestCounts| seen.finished.is_some_and(|cycles| cycles as f64 > deadline);
        self.weighted_percent(|seen| f64::from(u8::from(missed(seen))), |_| 1.0)
    }

    /// Returns the overhead in percent of the overhead of flushing all victims.
    pub(super) fn overhead_rate(&self) -> Option<f64> {
        self.weighted_percent(|seen| seen.overhead, |seen| seen.flush_overhead)
    }

    pub(super) fn overhead_spread(&self) -> Option<f64> {
        self.requests.interval_half_width(|seen| seen.overhead, |seen| seen.flush_overhead).map(|spread| 100.0 * spread)
    }

    /// Returns the overhead in percent of flushing, if SMs above the bound had flushed all their victims.
    pub(super) fn enforced_rate(&self) -> Option<f64> {
        self.weighted_percent(|seen| seen.overhead + seen.late_overhead, |seen| seen.flush_overhead)
    }

    /// Returns the percentage of victims with a technique.
    pub(super) fn technique_rate(&self, of: impl Fn(&RequestCounts) -> u64) -> Option<f64> {
        self.weighted_percent(|seen| of(seen) as f64, |seen| (seen.drained + seen.switched + seen.flushed) as f64)
    }

    /// Returns the median time from a request to the end of the task, in core cycles.
    pub(super) fn median_finish(&self) -> Option<f64> {
        self.requests.weighted_quantile(|seen| seen.finished.iter().map(|cycles| *cycles as f64).collect(), 0.5)
    }

    /// Returns a quantile of the latencies of SMs, in core cycles; `share` is 0.5 for the median.
    pub(super) fn latency_quantile(&self, share: f64) -> Option<f64> {
        self.requests.weighted_quantile(|seen| seen.latencies.iter().map(|cycles| *cycles as f64).collect(), share)
    }

    pub(super) fn mean_utilisation(&self) -> Option<f64> {
        self.weighted_percent(|seen| seen.utilisation.unwrap_or(0.0), |seen| f64::from(u8::from(seen.utilisation.is_some())))
    }

    /// Returns the mean error of the draining estimates, in percent.
    pub(super) fn mean_drain_error(&self) -> Option<f64> {
        self.weighted_percent(|seen| seen.drain_error.0, |seen| seen.drain_error.1 as f64)
    }
}
