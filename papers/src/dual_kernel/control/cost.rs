//! Cost of preempting a CTA: the estimates of Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs" (2016), Section 3.3.2.
//!
//! In: the progress of resident CTAs, sums over ended CTAs. Out: latency and overhead of each technique.
//!
//! | technique | latency | overhead |
//! |---|---|---|
//! | flush | 0 | warp instructions executed |
//! | switch | context over the SM's share of the DRAM bandwidth | twice the latency x IPC of the CTA |
//! | drain | remaining instructions x CPI | 0 |
//!
//! The remaining instructions of a CTA are the mean of the kernel's ended CTAs minus the executed ones. A CTA beyond the mean has none
//! left, or no estimate with `unknown_beyond_mean`. A technique without an estimate has the highest cost. A kernel is a launch: another
//! launch of the same code may behave differently, as each level of a graph search does.
//!
//! The CPI is the CTA's CPI so far or the mean of the ended CTAs, whichever has the lower deviation. The hardware of Section 3.4 keeps one
//! instruction count and one cycle per running CTA, so the deviation is over the running CTAs and not over the time of one CTA.

use warpshard_base::{Cycle, KernelIndex};
use warpshard_control::{CtaProgress, EndedCtas, SmProgress};

/// A technique of preempting a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum Technique {
    /// The CTA runs to its end.
    Drain,
    /// The context of the CTA is saved.
    Switch,
    /// The CTA is dropped.
    Flush,
}

/// The cost of preempting a CTA, measured or estimated.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct PreemptionCost {
    /// Latency in core cycles.
    pub(super) latency: f64,
    /// Overhead in wasted warp instructions.
    pub(super) overhead: f64,
}

impl PreemptionCost {
    /// A cost of zero.
    pub(super) const ZERO: Self = Self { latency: 0.0, overhead: 0.0 };
    /// The cost of a technique that is impossible or has no estimate.
    pub(super) const MAX: Self = Self { latency: f64::INFINITY, overhead: f64::INFINITY };
}

/// The source of the CPI of a CTA's remaining instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpiSource {
    /// The CTA's CPI so far, our reading of Chimera (Park et al., ASPLOS 2015).
    Own,
    /// The CTA's CPI so far or the mean CPI of ended CTAs, by the lower standard deviation.
    LowerDeviation,
}

/// Returns the CPI of a CTA so far; `None` before its first instruction.
pub(super) fn own_cpi(cta: &CtaProgress, now: Cycle) -> Option<f64> {
    (cta.executed_here > 0).then(|| now.0.saturating_sub(cta.started.0) as f64 / cta.executed_here as f64)
}

/// Statistics over the CTAs of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct KernelStatistics {
    /// Mean warp instructions of ended CTAs.
    pub(super) instructions: Option<f64>,
    /// Mean and standard deviation of the CPI of ended CTAs.
    pub(super) ended_cpi: Option<(f64, f64)>,
    /// Standard deviation of the CPI of running CTAs; `None` for fewer than two.
    pub(super) running_deviation: Option<f64>,
}

impl KernelStatistics {
    /// Computes the statistics of a kernel over all SMs at `now`.
    pub(super) fn compute(kernel: KernelIndex, sms: &[SmProgress], now: Cycle) -> Self {
        let mut ended = EndedCtas::default();
        sms.iter().flat_map(|sm| &sm.ended).filter(|(of, _)| *of == kernel).for_each(|(_, of)| ended.add(of));
        let running = sms.iter().flat_map(|sm| &sm.resident).filter(|cta| cta.kernel == kernel);
        let running: Vec<f64> = running.filter_map(|cta| own_cpi(cta, now)).collect();
        Self {
            instructions: ended.instructions().map(|(mean, _)| mean),
            ended_cpi: ended.cpi(),
            running_deviation: (running.len() > 1).then(|| standard_deviation(&running)),
        }
    }

    /// Returns the assumed CPI of the remaining instructions of a CTA whose CPI so far is `own`.
    pub(super) fn cpi(&self, cpi_source: CpiSource, own: Option<f64>) -> Option<f64> {
        match (cpi_source, own, self.ended_cpi) {
            (CpiSource::Own, own, _) | (CpiSource::LowerDeviation, own, None) => own,
            (CpiSource::LowerDeviation, None, Some((mean, _))) => Some(mean),
            (CpiSource::LowerDeviation, Some(own), Some((mean, of_ended))) => {
                Some(if self.running_deviation.is_some_and(|of_running| of_running < of_ended) { own } else { mean })
            }
        }
    }
}

fn standard_deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The inputs of the estimates for one CTA.
#[derive(Clone, Copy, Debug)]
pub(super) struct EstimateInput<'a> {
    pub(super) cta: &'a CtaProgress,
    pub(super) now: Cycle,
    pub(super) statistics: KernelStatistics,
    pub(super) cpi_source: CpiSource,
    /// Bytes of context per core cycle: the SM's share of the DRAM bandwidth.
    pub(super) bandwidth: f64,
    /// True if the CTA may be flushed.
    pub(super) may_flush: bool,
    /// True if a CTA that has executed more than the mean has no estimate for draining.
    pub(super) unknown_beyond_mean: bool,
    /// Known core cycles until the CTA ends; infinite if its end is known to be beyond every bound.
    pub(super) known: Option<f64>,
}

impl EstimateInput<'_> {
    /// Returns the cost of a technique.
    pub(super) fn technique_cost(&self, technique: Technique) -> PreemptionCost {
        let cta = self.cta;
        let own = own_cpi(cta, self.now);
        match technique {
            Technique::Flush if self.may_flush => PreemptionCost { latency: 0.0, overhead: cta.executed as f64 },
            Technique::Flush => PreemptionCost::MAX,
            Technique::Switch => {
                let latency = self.switch_cycles();
                // Before the first instruction the IPC is unknown.
                let overhead = own.filter(|cpi| *cpi > 0.0).map_or(f64::INFINITY, |cpi| 2.0 * latency / cpi);
                PreemptionCost { latency, overhead }
            }
            Technique::Drain => {
                let left = self.statistics.instructions.map(|mean| mean - cta.executed as f64);
                let left = left.filter(|left| *left >= 0.0 || !self.unknown_beyond_mean).map(|left| left.max(0.0));
                let estimate = || Some(left? * self.statistics.cpi(self.cpi_source, own)?);
                let latency = self.known.or_else(estimate).filter(|latency| latency.is_finite());
                latency.map_or(PreemptionCost::MAX, |latency| PreemptionCost { latency, overhead: 0.0 })
            }
        }
    }

    /// Returns the core cycles to write the CTA's context to memory.
    fn switch_cycles(&self) -> f64 {
        let bytes = 4 * u64::from(self.cta.registers.1) + u64::from(self.cta.shared.1);
        bytes as f64 / self.bandwidth.max(f64::MIN_POSITIVE)
    }
}
