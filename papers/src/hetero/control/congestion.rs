//! Congestion of the memory side: `stall_mc` and `stall_net` of an interval, and the change of concurrency that they call for
//! (Section 4.1).
//!
//! In: the partitions' counters at every cut. Out: both metrics at the end of an interval, each between 0 and the number of
//! partitions, and a call for fewer warps, for more warps, or for no change.

use serde::Deserialize;

use warpshard_control::{Observation, ObservationTable};

/// The thresholds between which a metric is neither low nor high.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, warpshard_state::State)]
pub(super) struct Thresholds {
    /// Threshold tH: a metric above it is high.
    pub(super) high: f64,
    /// Threshold tL: a metric below it is low.
    pub(super) low: f64,
}

impl Thresholds {
    /// Returns a message if the thresholds are negative or in the wrong order.
    pub(super) fn ordering_problem(self) -> Option<String> {
        let Self { high, low } = self;
        (!(low >= 0.0 && high >= low)).then(|| format!("`low` = {low} and `high` = {high}: 0 <= low <= high must hold"))
    }
}

/// The two congestion metrics of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Metrics {
    /// Partitions whose request queue was full, on average over the interval's core cycles (`stall_mc`).
    pub(super) mc: f64,
    /// Partitions whose replies could not enter the reply network, on average over the interval's core cycles (`stall_net`).
    pub(super) net: f64,
}

/// The change of concurrency that the congestion calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarpChange {
    /// Fewer warps: a metric is high.
    Fewer,
    /// More warps: both metrics are low.
    More,
    /// No change of the limit.
    Same,
}

impl Metrics {
    /// Returns the change of concurrency for these metrics.
    pub(super) fn warp_change(self, thresholds: Thresholds) -> WarpChange {
        if self.mc > thresholds.high || self.net > thresholds.high {
            WarpChange::Fewer
        } else if self.mc < thresholds.low && self.net < thresholds.low {
            WarpChange::More
        } else {
            WarpChange::Same
        }
    }
}

/// Sums of the partitions' stalled cycles over an interval, which may contain several cuts.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Congestion {
    columns: Option<(usize, usize)>,
    mc: u64,
    net: u64,
}

impl Congestion {
    /// Adds the stalled cycles since the last cut.
    pub(super) fn add_counts(&mut self, seen: &Observation<'_>) {
        let table: &ObservationTable<'_> = &seen.partitions;
        let find = |name| table.column(name).expect("a partition counts its stalls");
        let (mc, net) = *self.columns.get_or_insert_with(|| (find("stall_mc"), find("stall_net")));
        self.mc += table.sum(mc);
        self.net += table.sum(net);
    }

    /// Ends the interval of `cycles` core cycles: returns its metrics and resets the sums.
    pub(super) fn end_interval(&mut self, cycles: u64) -> Metrics {
        let metrics = Metrics { mc: self.mc as f64 / cycles as f64, net: self.net as f64 / cycles as f64 };
        (self.mc, self.net) = (0, 0);
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER_THRESHOLDS: Thresholds = Thresholds { high: 1.0, low: 0.25 };

    #[test]
    fn one_high_metric_suffices_for_fewer_and_both_must_be_low_for_more() {
        let warp_change = |mc, net| Metrics { mc, net }.warp_change(PAPER_THRESHOLDS);
        assert_eq!([warp_change(1.1, 0.0), warp_change(0.0, 1.1)], [WarpChange::Fewer; 2]);
        assert_eq!([warp_change(0.2, 0.2), warp_change(0.0, 0.0)], [WarpChange::More; 2]);
        assert_eq!([warp_change(0.3, 0.0), warp_change(0.0, 0.25), warp_change(1.0, 1.0)], [WarpChange::Same; 3]);
    }
}
