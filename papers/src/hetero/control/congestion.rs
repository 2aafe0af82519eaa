//! Congestion of the memory side: `stall_mc` and `stall_net` of an interval, and the change of concurrency that they call for
//! (Section 4.1).
//!
//! In: the partitions' counters, at every cut. Out: both metrics at the end of an interval, each between 0 and the number of
//! partitions, and whether they call for fewer warps, for more, or for neither.

use serde::Deserialize;

use warpshard_control::{Observation, Table};

/// The thresholds of low and high.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, warpshard_state::State)]
pub(super) struct Thresholds {
    /// Above it a metric is high (tH).
    pub(super) high: f64,
    /// Below it a metric is low (tL).
    pub(super) low: f64,
}

impl Thresholds {
    /// What is wrong with them, if anything.
    pub(super) fn problem(self) -> Option<String> {
        let Self { high, low } = self;
        (!(low >= 0.0 && high >= low)).then(|| format!("`low` = {low} and `high` = {high}: 0 <= low <= high must hold"))
    }
}

/// The metrics of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Metrics {
    /// Partitions whose queue was full, on average over the interval's core cycles.
    pub(super) mc: f64,
    /// Partitions whose replies could not enter the reply network, likewise.
    pub(super) net: f64,
}

/// What the congestion calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Fewer warps: a metric is high.
    Fewer,
    /// More warps: both metrics are low.
    More,
    /// Neither.
    Same,
}

impl Metrics {
    /// What these metrics call for.
    pub(super) fn call(self, thresholds: Thresholds) -> Call {
        if self.mc > thresholds.high || self.net > thresholds.high {
            Call::Fewer
        } else if self.mc < thresholds.low && self.net < thresholds.low {
            Call::More
        } else {
            Call::Same
        }
    }
}

/// Sums the partitions' stalled cycles over an interval, which may contain several cuts.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Congestion {
    columns: Option<(usize, usize)>,
    mc: u64,
    net: u64,
}

impl Congestion {
    /// Adds the stalled cycles since the last cut.
    pub(super) fn count(&mut self, seen: &Observation<'_>) {
        let table: &Table<'_> = &seen.partitions;
        let find = |name| table.column(name).expect("a partition counts its stalls");
        let (mc, net) = *self.columns.get_or_insert_with(|| (find("stall_mc"), find("stall_net")));
        self.mc += table.sum(mc);
        self.net += table.sum(net);
    }

    /// The metrics of the interval of `cycles` that ends; starts the next one.
    pub(super) fn end(&mut self, cycles: u64) -> Metrics {
        let metrics = Metrics { mc: self.mc as f64 / cycles as f64, net: self.net as f64 / cycles as f64 };
        (self.mc, self.net) = (0, 0);
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Thresholds = Thresholds { high: 1.0, low: 0.25 };

    #[test]
    fn one_high_metric_suffices_for_fewer_and_both_must_be_low_for_more() {
        let call = |mc, net| Metrics { mc, net }.call(PAPER);
        assert_eq!([call(1.1, 0.0), call(0.0, 1.1)], [Call::Fewer; 2]);
        assert_eq!([call(0.2, 0.2), call(0.0, 0.0)], [Call::More; 2]);
        assert_eq!([call(0.3, 0.0), call(0.0, 0.25), call(1.0, 1.0)], [Call::Same; 3]);
    }
}
