//! When a launch is steady: batch means of its rate.
//!
//! A launch first fills the chip. From the end of its first wave of CTAs on, its time is divided into batches in which as many CTAs end as the
//! chip holds, so that a batch sees every stage of a CTA's life. The launch is steady when the mean rate of instructions of the batches is
//! known well enough, and the first half of them does not differ from the second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::KernelIndex;
use crate::chip::{Judge, LaunchProgress, Verdict};

use super::student::quantile;

/// Waves of CTAs of a launch from which on it may be cut short.
const WAVES: u64 = 12;
/// Batches from which on a launch may be called steady.
const BATCHES: usize = 6;
/// Core cycles of a window.
const WINDOW: u64 = 512;

/// A launch that may be cut short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Long {
    /// CTAs of its grid.
    pub(super) ctas: u64,
    /// CTAs that the chip holds.
    pub(super) wave: u64,
    /// Its warp instructions.
    pub(super) warp_instructions: u64,
}

impl Long {
    /// Whether it is worth while.
    pub(super) fn is_worth_it(&self) -> bool {
        self.ctas >= WAVES * self.wave
    }
}

/// The rate of a launch that was cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rate {
    /// Warp instructions per core cycle.
    pub(super) mean: f64,
    /// Standard error of it.
    pub(super) error: f64,
    /// Batches.
    pub(super) batches: usize,
}

/// The rates of launches that were cut short, by the launch.
pub(super) type Rates = Arc<Mutex<BTreeMap<KernelIndex, Rate>>>;

/// Judges the long launches of a run.
pub(super) struct Steady {
    long: BTreeMap<KernelIndex, Long>,
    /// Half the width of the interval of the rate that is aimed at, relative to it, and its confidence.
    error: f64,
    confidence: f64,
    open: Option<Open>,
    rates: Rates,
}

/// The launch that is judged.
struct Open {
    kernel: KernelIndex,
    /// The end of the last batch: cycle, instructions and CTAs that had ended.
    last: Option<(u64, u64, u64)>,
    rates: Vec<f64>,
}

impl Steady {
    pub(super) fn new(long: BTreeMap<KernelIndex, Long>, error: f64, confidence: f64) -> (Self, Rates) {
        let rates = Rates::default();
        (Self { long, error, confidence, open: None, rates: Arc::clone(&rates) }, rates)
    }

    fn is_known(&self, rates: &[f64]) -> Option<Rate> {
        if rates.len() < BATCHES {
            return None;
        }
        let rate = of(rates);
        let (first, second) = rates.split_at(rates.len() / 2);
        let (first, second) = (of(first), of(second));
        let drift = (first.mean - second.mean).abs();
        let allowed = 2.0 * (first.error * first.error + second.error * second.error).sqrt();
        let narrow = quantile(self.confidence, rates.len() as f64 - 1.0) * rate.error <= self.error * rate.mean;
        (narrow && (drift <= allowed || drift <= self.error / 2.0 * rate.mean)).then_some(rate)
    }
}

/// Mean and standard error.
fn of(rates: &[f64]) -> Rate {
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    Rate { mean, error: (squares / (count - 1.0).max(1.0) / count).sqrt(), batches: rates.len() }
}

impl Judge for Steady {
    fn wants(&self, kernel: KernelIndex) -> bool {
        self.long.contains_key(&kernel)
    }

    fn window(&self) -> u64 {
        WINDOW
    }

    fn judge(&mut self, seen: &LaunchProgress) -> Verdict {
        let Some(long) = self.long.get(&seen.kernel).copied() else { return Verdict::Wait };
        if self.open.as_ref().is_none_or(|open| open.kernel != seen.kernel) {
            self.open = Some(Open { kernel: seen.kernel, last: None, rates: Vec::new() });
        }
        let Some(open) = &mut self.open else { return Verdict::Wait };
        let Some((cycle, instructions, ctas)) = open.last else {
            if seen.ctas_done < long.wave {
                return Verdict::Wait;
            }
            open.last = Some((seen.cycle, seen.warp_instructions, seen.ctas_done));
            return Verdict::Begin;
        };
        if seen.ctas_done < ctas + long.wave {
            return Verdict::Wait;
        }
        open.rates.push((seen.warp_instructions - instructions) as f64 / (seen.cycle - cycle) as f64);
        open.last = Some((seen.cycle, seen.warp_instructions, seen.ctas_done));
        let rates = open.rates.clone();
        // Near its end nothing is saved.
        if seen.ctas_bound + long.wave >= long.ctas {
            return Verdict::Wait;
        }
        match self.is_known(&rates) {
            None => Verdict::Wait,
            Some(rate) => {
                self.rates.lock().unwrap_or_else(PoisonError::into_inner).insert(seen.kernel, rate);
                Verdict::Steady
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady() -> (Steady, Rates) {
        let long = Long { ctas: 1000, wave: 10, warp_instructions: 100_000 };
        Steady::new([(KernelIndex(3), long)].into(), 0.02, 0.95)
    }

    /// Feeds windows in which ten CTAs end each, with these instructions; returns the window that is called steady.
    fn feed(instructions: impl Fn(u64) -> u64) -> (Option<u64>, Option<Rate>) {
        let (mut judge, rates) = steady();
        let mut done = 0;
        for window in 1..80 {
            done += instructions(window);
            let cycle = window * WINDOW;
            let seen = LaunchProgress {
                kernel: KernelIndex(3),
                cycle,
                warp_instructions: done,
                ctas_done: 10 * window,
                ctas_bound: 10 * window + 10,
            };
            if judge.judge(&seen) == Verdict::Steady {
                return (Some(window), rates.lock().unwrap().get(&KernelIndex(3)).copied());
            }
        }
        (None, None)
    }

    #[test]
    fn an_even_launch_is_steady_after_the_least_batches_and_its_first_wave_does_not_count() {
        let (window, rate) = feed(|window| if window == 1 { 100 } else { 1024 });
        assert_eq!((window, rate), (Some(1 + BATCHES as u64), Some(Rate { mean: 2.0, error: 0.0, batches: BATCHES })));
    }

    #[test]
    fn a_launch_that_becomes_slower_or_varies_much_is_not_steady() {
        assert_eq!(feed(|window| 2000 - 20 * window).0, None);
        assert_eq!(feed(|window| if window % 2 == 0 { 500 } else { 1500 }).0, None);
    }

    #[test]
    fn noise_takes_more_batches() {
        let (window, _) = feed(|window| 1000 + 40 * (window * 7 % 5));
        assert!(window.is_some_and(|window| window > 1 + BATCHES as u64), "{window:?}");
    }

    #[test]
    fn short_launches_are_not_worth_it() {
        assert!(Long { ctas: 120, wave: 10, warp_instructions: 1 }.is_worth_it());
        assert!(!Long { ctas: 119, wave: 10, warp_instructions: 1 }.is_worth_it());
    }
}
