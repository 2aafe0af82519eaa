//! What it costs to take a CTA away: the estimates of Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs" (2016), Section 3.3.2.
//!
//! In: the progress of resident CTAs, sums over ended ones. Out: latency and overhead of each technique.
//!
//! | technique | latency | overhead |
//! |---|---|---|
//! | flush | 0 | warp instructions executed |
//! | switch | context over the SM's share of the DRAM bandwidth | twice the latency x IPC of the CTA |
//! | drain | instructions left x CPI | 0 |
//!
//! Instructions left are the mean of ended CTAs of the kernel less those executed; a CTA beyond the mean has none left, or with `unknown_beyond_mean`
//! cannot be estimated. What cannot be estimated
//! costs most. A kernel is a launch: another launch of the same code may do something else, as each level of a search through a graph does.
//!
//! The CPI is the CTA's own so far, or the mean of ended CTAs: whichever deviates less. The hardware of Section 3.4 keeps one count of
//! instructions and one cycle per running CTA, so the deviation of running CTAs is that among them, not that of one over time.

use warpshard_base::{Cycle, KernelIndex};
use warpshard_control::{CtaProgress, EndedCtas, SmProgress};

/// How a CTA is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum Technique {
    /// It ends by itself.
    Drain,
    /// Its context is saved.
    Switch,
    /// It is dropped.
    Flush,
}

/// A cost, or its estimate.
#[derive(Clone, Copy, Debug, PartialEq, warpshard_state::State)]
pub(super) struct Cost {
    /// Core cycles.
    pub(super) latency: f64,
    /// Warp instructions in vain.
    pub(super) overhead: f64,
}

impl Cost {
    /// Nothing.
    pub(super) const NONE: Self = Self { latency: 0.0, overhead: 0.0 };
    /// What cannot be estimated, or is not possible.
    pub(super) const MOST: Self = Self { latency: f64::INFINITY, overhead: f64::INFINITY };
}

/// Where the CPI of the instructions that are left comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Estimator {
    /// The CTA's own so far. This is how Chimera (Park et al., ASPLOS 2015) is read here.
    Own,
    /// The CTA's own or that of ended ones, by the lower standard deviation.
    LowerDeviation,
}

/// The CPI of a CTA so far; `None` before its first instruction.
pub(super) fn own_cpi(cta: &CtaProgress, now: Cycle) -> Option<f64> {
    (cta.executed_here > 0).then(|| now.0.saturating_sub(cta.started.0) as f64 / cta.executed_here as f64)
}

/// What is known of the CTAs of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    /// Mean warp instructions of ended CTAs.
    pub(super) instructions: Option<f64>,
    /// Mean CPI of ended CTAs and its deviation.
    pub(super) ended_cpi: Option<(f64, f64)>,
    /// Deviation of the CPI among running CTAs; of two at least.
    pub(super) running_deviation: Option<f64>,
}

impl Statistics {
    /// Of a kernel, over all SMs at `now`.
    pub(super) fn of(kernel: KernelIndex, sms: &[SmProgress], now: Cycle) -> Self {
        let mut ended = EndedCtas::default();
        sms.iter().flat_map(|sm| &sm.ended).filter(|(of, _)| *of == kernel).for_each(|(_, of)| ended.add(of));
        let running = sms.iter().flat_map(|sm| &sm.resident).filter(|cta| cta.kernel == kernel);
        let running: Vec<f64> = running.filter_map(|cta| own_cpi(cta, now)).collect();
        Self {
            instructions: ended.instructions().map(|(mean, _)| mean),
            ended_cpi: ended.cpi(),
            running_deviation: (running.len() > 1).then(|| deviation(&running)),
        }
    }

    /// The CPI that the rest of a CTA is taken to have, of which the own CPI so far is `own`.
    pub(super) fn cpi(&self, estimator: Estimator, own: Option<f64>) -> Option<f64> {
        match (estimator, own, self.ended_cpi) {
            (Estimator::Own, own, _) | (Estimator::LowerDeviation, own, None) => own,
            (Estimator::LowerDeviation, None, Some((mean, _))) => Some(mean),
            (Estimator::LowerDeviation, Some(own), Some((mean, of_ended))) => {
                Some(if self.running_deviation.is_some_and(|of_running| of_running < of_ended) { own } else { mean })
            }
        }
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// What the estimates of one CTA are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) cta: &'a CtaProgress,
    pub(super) now: Cycle,
    pub(super) statistics: Statistics,
    pub(super) estimator: Estimator,
    /// Bytes of context per core cycle: the SM's share of the DRAM bandwidth.
    pub(super) bandwidth: f64,
    /// It may be flushed.
    pub(super) may_flush: bool,
    /// Nothing is known of it if it has executed more than the mean.
    pub(super) unknown_beyond_mean: bool,
    /// Core cycles until it ends, where that is known; infinite where it is known to be later than anybody waits.
    pub(super) known: Option<f64>,
}

impl View<'_> {
    /// The cost of a technique.
    pub(super) fn cost(&self, technique: Technique) -> Cost {
        let cta = self.cta;
        let own = own_cpi(cta, self.now);
        match technique {
            Technique::Flush if self.may_flush => Cost { latency: 0.0, overhead: cta.executed as f64 },
            Technique::Flush => Cost::MOST,
            Technique::Switch => {
                let latency = self.switch_cycles();
                // Without an instruction its IPC is not known.
                let overhead = own.filter(|cpi| *cpi > 0.0).map_or(f64::INFINITY, |cpi| 2.0 * latency / cpi);
                Cost { latency, overhead }
            }
            Technique::Drain => {
                let left = self.statistics.instructions.map(|mean| mean - cta.executed as f64);
                let left = left.filter(|left| *left >= 0.0 || !self.unknown_beyond_mean).map(|left| left.max(0.0));
                let estimate = || Some(left? * self.statistics.cpi(self.estimator, own)?);
                let latency = self.known.or_else(estimate).filter(|latency| latency.is_finite());
                latency.map_or(Cost::MOST, |latency| Cost { latency, overhead: 0.0 })
            }
        }
    }

    /// Core cycles in which its context goes to memory.
    fn switch_cycles(&self) -> f64 {
        let bytes = 4 * u64::from(self.cta.registers.1) + u64::from(self.cta.shared.1);
        bytes as f64 / self.bandwidth.max(f64::MIN_POSITIVE)
    }
}
