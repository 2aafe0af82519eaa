//! CM-BAL (Section 4.2): CM-CPU with levels of concurrency, overridden on each core that would lose its latency tolerance.
//!
//! In: `stall_mc`, `stall_net` and each SM's `stall_gpu` of every interval; starts and ends of kernels. Out: a warp limit
//! per SM. `level.rs` makes the decision of one core.
//!
//! `stall_gpu` counts scheduler cycles in which resident warps issued nothing: all failed the scoreboard, the next stage was
//! full, or limits excluded them. Idle schedulers (no warps, or only warps that have issued their last instruction) do not count.

use serde::Deserialize;

use warpshard_base::SmId;
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, STALL_GPU, Trigger};
use warpshard_policy::registry::PolicyError;

use super::cm_cpu::{default_high, default_interval, default_low};
use super::congestion::{Congestion, Thresholds};
use super::level::CoreLevel;

/// The parameters of [`CmBal`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The variant of CM-BAL, from 1 (CM-BAL1) to 4 (CM-BAL4).
    #[serde(default = "default_level")]
    level: u32,
    /// The threshold k in scheduler cycles; overrides `level`.
    k: Option<f64>,
    /// Core cycles of an interval.
    #[serde(default = "default_interval")]
    interval: u64,
    /// Threshold tH: a metric above it calls for fewer warps.
    #[serde(default = "default_high")]
    high: f64,
    /// Threshold tL: both metrics below it call for more warps.
    #[serde(default = "default_low")]
    low: f64,
    /// SMs whose signals are recorded.
    #[serde(default = "default_record")]
    record: Vec<u16>,
}

fn default_level() -> u32 {
    1
}

fn default_record() -> Vec<u16> {
    vec![0]
}

/// CM-BAL1 to CM-BAL4: a warp limit per SM, set by the memory side's congestion and the core's own stalls.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CmBal {
    interval: u64,
    thresholds: Thresholds,
    k: f64,
    record: Vec<u16>,
    congestion: Congestion,
    cores: Vec<(CoreLevel, u64)>,
    columns: Vec<usize>,
    running_kernels: u32,
}

impl CmBal {
    /// The policy's name.
    pub const NAME: &'static str = "cm_bal";
    /// Names of the policy's parameters with their help texts.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("level", "1 to 4 for CM-BAL1 to CM-BAL4: k is 32 per level and 1024 cycles of the interval; 1 by default"),
        ("k", "threshold k in scheduler cycles, overrides `level`; `inf` leaves part 1 and the refresh of averages"),
        ("interval", "core cycles of an interval; 1024 by default"),
        ("high", "threshold tH: a metric above it calls for fewer warps; 1 by default"),
        ("low", "threshold tL: both metrics below it call for more warps; 0.25 by default"),
        ("record", "SMs whose stall_gpu, diff_low and diff_up are recorded each interval; [0] by default"),
    ];

    /// Creates the policy; fails if a parameter is out of its range.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { level, k, interval, high, low, record } = parameters;
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let thresholds = Thresholds { high, low };
        if let Some(problem) = thresholds.ordering_problem() {
            return wrong(problem);
        }
        if !(1..=4).contains(&level) {
            return wrong(format!("`level` = {level}: 1 to 4 are CM-BAL1 to CM-BAL4"));
        }
        // k is proportional to the interval's length (Section 4.2).
        let k = k.unwrap_or(32.0 * f64::from(level) * interval as f64 / 1024.0);
        if k.is_nan() || k < 0.0 {
            return wrong(format!("`k` = {k}: expected a number of at least 0"));
        }
        let (congestion, cores, columns) = Default::default();
        Ok(Self { interval, thresholds, k, record, congestion, cores, columns, running_kernels: 0 })
    }

    fn add_counts(&mut self, seen: &Observation<'_>) {
        if self.cores.is_empty() {
            self.columns = STALL_GPU.iter().map(|name| seen.sms.column(name).expect("an SM counts its stalls")).collect();
            self.cores = vec![(CoreLevel::new(seen.facts.warps_per_sm), 0); seen.sms.rows().len()];
        }
        self.congestion.add_counts(seen);
        for ((_, stalled), row) in self.cores.iter_mut().zip(seen.sms.rows()) {
            *stalled += self.columns.iter().map(|&column| row[column]).sum::<u64>();
        }
    }

    /// Ends the interval: updates the warp limit of every core while a kernel runs.
    fn end_interval(&mut self, out: &mut DecisionSet) {
        let metrics = self.congestion.end_interval(self.interval);
        let change = metrics.warp_change(self.thresholds);
        out.signal(None, "stall_mc", metrics.mc);
        out.signal(None, "stall_net", metrics.net);
        for (sm, (core, stalled)) in self.cores.iter_mut().enumerate() {
            let stall_gpu = std::mem::take(stalled) as f64;
            if self.running_kernels == 0 {
                continue;
            }
            let sm = SmId(sm as u16);
            let step = core.step(stall_gpu, change, self.k);
            if self.record.contains(&sm.0) {
                out.signal(Some(sm), "active_warps", f64::from(step.warps));
                out.signal(Some(sm), "stall_gpu", stall_gpu);
                let known = [("diff_low", step.diff_low), ("diff_up", step.diff_up)];
                known
                    .iter()
                    .filter_map(|(name, diff)| diff.map(|diff| (name, diff)))
                    .for_each(|(name, diff)| out.signal(Some(sm), name, diff));
                out.signal(Some(sm), "k", self.k);
            }
            if step.changed {
                out.decide_because(Decision::WarpLimit { sm: Some(sm), limit: step.warps }, step.rule.reason_text());
            }
        }
    }
}

impl Controller for CmBal {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        let kernels = [EventSelector::KernelStarted(None), EventSelector::KernelEnded(None)];
        kernels.into_iter().map(Trigger::On).chain([Trigger::Every(self.interval)]).collect()
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::WarpLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.add_counts(seen);
        if seen.cycle.0.is_multiple_of(self.interval) {
            self.end_interval(out);
        }
        for event in seen.events {
            match event.kind {
                EventKind::KernelStarted(_) => self.running_kernels += 1,
                EventKind::KernelEnded(_) => self.running_kernels = self.running_kernels.saturating_sub(1),
                _ => continue,
            }
            self.cores.iter_mut().for_each(|(core, _)| core.clear_averages());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::KernelIndex;
    use crate::built_policy;
    use warpshard_policy::testing::{CounterTable, Scene};

    const KERNEL_STARTED: EventKind = EventKind::KernelStarted(KernelIndex(0));

    /// A scene of two SMs and one partition.
    fn example_scene() -> Scene {
        let mut columns = vec!["issued", "stall_no_warps"];
        columns.extend(STALL_GPU);
        Scene { sms: CounterTable::named(&columns), partitions: CounterTable::named(&["stall_mc", "stall_net"]), ..Scene::with_kernel(10, 6) }
    }

    fn set_counters(scene: &mut Scene, stalls: [u64; 2], mc: u64) {
        // Four stall reasons add up to each SM's `stall_gpu`; issued and idle cycles do not count.
        scene.sms.values = stalls.iter().flat_map(|&s| [700, 900, s - 3, 0, 1, 0, 1, 0, 0, 1, 0]).collect();
        scene.partitions.values = vec![mc, 0];
    }

    #[test]
    fn each_core_changes_its_limit_independently() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CmBal::NAME, "level = 1"));
        let mut cut = |i: u64, stalls, mc, events: &[EventKind]| {
            set_counters(&mut scene, stalls, mc);
            scene.cut(&mut *policy, 1024 * i, events)
        };
        assert_eq!(cut(1, [100, 100], 2000, &[]), "", "no kernel runs yet");
        cut(2, [100, 100], 2000, &[KERNEL_STARTED]);
        let down = "part 1: congestion of the memory side";
        assert_eq!(cut(3, [100, 100], 2000, &[]), format!("warp_limit 24 on sm0: {down}; warp_limit 24 on sm1: {down}"));
        // SM 1 stalls much more with fewer warps, so its limit rises again; SM 0 stalls hardly more.
        let up = "part 2: more warps would stall the core less";
        assert_eq!(cut(4, [110, 140], 2000, &[]), format!("warp_limit 16 on sm0: {down}; warp_limit 48 on sm1: {up}"));
        assert!(!cut(5, [110, 100], 2000, &[]).contains("sm1"), "SM 1 has measured the stalls with fewer warps");
    }

    #[test]
    fn an_interval_with_a_kernel_start_is_counted_completely() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CmBal::NAME, ""));
        set_counters(&mut scene, [10, 10], 600);
        scene.cut(&mut *policy, 500, &[KERNEL_STARTED]);
        assert!(scene.cut(&mut *policy, 1024, &[]).starts_with("warp_limit 24 on sm0"), "1200 of 1024 cycles are above tH");
    }

    #[test]
    fn k_follows_the_level_and_the_interval() {
        let k = |text: &str| {
            let parameters: Parameters = toml::from_str(text).expect("the test's own text");
            CmBal::new(parameters).map(|policy| policy.k).map_err(|error| error.to_string())
        };
        assert_eq!([k(""), k("level = 4"), k("level = 2\ninterval = 2048"), k("k = 7.5")], [Ok(32.0), Ok(128.0), Ok(128.0), Ok(7.5)]);
        assert_eq!(k("level = 5"), Err("policy `cm_bal`: `level` = 5: 1 to 4 are CM-BAL1 to CM-BAL4".into()));
        assert_eq!(k("k = -1.0"), Err("policy `cm_bal`: `k` = -1: expected a number of at least 0".into()));
    }
}
