//! CM-CPU (Section 4.1): fewer active warps on all SMs while the memory side is congested.
//!
//! In: `stall_mc` and `stall_net` of every interval. Out: one warp limit for all SMs, which changes in steps of 2 at 8 warps and above
//! and in steps of 1 below.

use serde::Deserialize;

use warpshard_control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, Trigger};
use warpshard_policy::registry::PolicyError;

use super::congestion::{WarpChange, Congestion, Thresholds};

/// The parameters of [`CmCpu`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Core cycles of an interval.
    #[serde(default = "default_interval")]
    interval: u64,
    /// Threshold tH: a metric above it calls for fewer warps.
    #[serde(default = "default_high")]
    high: f64,
    /// Threshold tL: both metrics below it call for more warps.
    #[serde(default = "default_low")]
    low: f64,
}

/// Default interval in core cycles (Section 4.1).
pub(super) fn default_interval() -> u64 {
    1024
}

/// Default of tH; the paper states the value in its evaluation section.
pub(super) fn default_high() -> f64 {
    1.0
}

/// Default of tL; the paper states the value in its evaluation section.
pub(super) fn default_low() -> f64 {
    0.25
}

/// CM-CPU: one warp limit for all SMs, set only by the congestion of the memory side.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CmCpu {
    interval: u64,
    thresholds: Thresholds,
    congestion: Congestion,
    limit: Option<u32>,
}

impl CmCpu {
    /// The policy's name.
    pub const NAME: &'static str = "cm_cpu";
    /// Names of the policy's parameters with their help texts.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("interval", "core cycles of an interval; 1024 by default"),
        ("high", "threshold tH: a metric above it calls for fewer warps; 1 by default"),
        ("low", "threshold tL: both metrics below it call for more warps; 0.25 by default"),
    ];

    /// Creates the policy; fails if the thresholds are in the wrong order.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { interval, high, low } = parameters;
        let thresholds = Thresholds { high, low };
        match thresholds.ordering_problem() {
            Some(problem) => Err(PolicyError::parameters(Self::NAME, problem)),
            None => Ok(Self { interval, thresholds, congestion: Congestion::default(), limit: None }),
        }
    }
}

/// Returns the next limit, between 1 and `most` warps.
fn next_limit(limit: u32, change: WarpChange, most: u32) -> u32 {
    match change {
        WarpChange::Fewer if limit > 8 => (limit - 2).max(8),
        WarpChange::Fewer => limit.saturating_sub(1).max(1),
        WarpChange::More if limit >= 8 => (limit + 2).min(most),
        WarpChange::More => (limit + 1).min(most),
        WarpChange::Same => limit,
    }
}

impl Controller for CmCpu {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(self.interval)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::WarpLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.congestion.add_counts(seen);
        let metrics = self.congestion.end_interval(seen.interval);
        let most = seen.facts.warps_per_sm;
        let before = self.limit.unwrap_or(most);
        let change = metrics.warp_change(self.thresholds);
        let limit = next_limit(before, change, most);
        self.limit = Some(limit);
        out.signal(None, "stall_mc", metrics.mc);
        out.signal(None, "stall_net", metrics.net);
        if limit != before {
            let reason = if change == WarpChange::Fewer { "the memory side is congested" } else { "the memory side is not congested" };
            out.decide_because(Decision::WarpLimit { sm: None, limit }, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_policy;
    use warpshard_policy::testing::{CounterTable, Scene};

    #[test]
    fn steps_are_of_two_down_to_8_warps_and_of_one_below() {
        let walk = |mut limit: u32, change| -> Vec<u32> {
            let mut seen = Vec::new();
            for _ in 0..30 {
                limit = next_limit(limit, change, 48);
                seen.push(limit);
            }
            seen
        };
        let down = walk(48, WarpChange::Fewer);
        assert_eq!(down[..3], [46, 44, 42]);
        assert_eq!(down[18..], [10, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1]);
        let up = walk(1, WarpChange::More);
        assert_eq!(up[..10], [2, 3, 4, 5, 6, 7, 8, 10, 12, 14]);
        assert_eq!(up[27..], [48, 48, 48]);
        assert_eq!(next_limit(9, WarpChange::Fewer, 48), 8, "an odd limit does not step over 8");
        assert_eq!(next_limit(20, WarpChange::Same, 48), 20);
    }

    #[test]
    fn an_interval_with_a_high_metric_lowers_the_limit_of_every_sm() {
        let mut scene = Scene { partitions: CounterTable::named(&["stall_mc", "stall_net"]), ..Scene::with_kernel(10, 6) };
        let mut policy = built_policy(CmCpu::NAME, "");
        let mut cut = |i: u64, of: [u64; 4]| {
            scene.partitions.values = of.to_vec();
            scene.cut(&mut *policy, 1024 * i, &[])
        };
        // The metric sums both partitions. 1024 stalled cycles give a metric of 1, which is not above tH.
        assert_eq!(cut(1, [1024, 0, 0, 0]), "");
        assert_eq!(cut(2, [1000, 0, 25, 0]), "warp_limit 46 on every SM: the memory side is congested");
        assert_eq!(cut(3, [0, 1024, 0, 1]), "warp_limit 44 on every SM: the memory side is congested");
        assert_eq!(cut(4, [256, 0, 0, 0]), "");
        assert_eq!(cut(5, [128, 100, 127, 0]), "warp_limit 46 on every SM: the memory side is not congested");
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused() {
        let error = CmCpu::new(Parameters { interval: 1024, high: 0.1, low: 0.2 }).unwrap_err().to_string();
        assert_eq!(error, "policy `cm_cpu`: `low` = 0.2 and `high` = 0.1: 0 <= low <= high must hold");
    }
}
