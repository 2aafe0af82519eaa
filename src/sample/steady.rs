//! When a launch is steady: batch means of its rate.
//!
//! A launch first fills the chip, and the LLC where it streams through it. From the end of its first wave of CTAs on, or from when the LLC is full,
//! its time is divided into batches in which as many CTAs end as the
//! chip holds, so that a batch sees every stage of a CTA's life. What one batch has too much the next one lacks, so batches are merged as more
//! come, into [`BATCHES`] to twice as many. The launch is steady when the mean rate of instructions of the batches is known well enough, by their
//! variance and by the difference of their two halves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::KernelIndex;
use crate::chip::{Judge, LaunchProgress, Verdict};

use super::student::quantile;

/// Waves of CTAs of a launch from which on it may be cut short.
const WAVES: u64 = 12;
/// Batches from which on a launch may be called steady.
const BATCHES: usize = 8;
/// Times that a launch fills the LLC, from which on it counts as one that streams; and times until the LLC is full for sure, although sets
/// fill unevenly.
const FILLS: f64 = 4.0;
const FULL: f64 = 1.5;
/// Core cycles of a window.
const WINDOW: u64 = 512;

/// A launch that may be cut short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Long {
    /// CTAs of its grid.
    pub(super) ctas: u64,
    /// CTAs that the chip holds.
    pub(super) wave: u64,
    /// Sectors that the LLC holds.
    pub(super) llc_sectors: u64,
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
    /// The ends of the batches, the begin of the first before them: cycle, instructions and CTAs that had ended.
    ends: Vec<(u64, u64, u64)>,
}

impl Steady {
    pub(super) fn new(long: BTreeMap<KernelIndex, Long>, error: f64, confidence: f64) -> (Self, Rates) {
        let rates = Rates::default();
        (Self { long, error, confidence, open: None, rates: Arc::clone(&rates) }, rates)
    }

    fn is_known(&self, ends: &[(u64, u64, u64)]) -> Option<Rate> {
        let rates = merged(ends)?;
        let rate = of(&rates);
        let (first, second) = rates.split_at(rates.len() / 2);
        let (first, second) = (of(first), of(second));
        // Rates wander more slowly than a batch is long. Half the difference of two halves is an error of their mean, too.
        let rate = Rate { error: rate.error.max((first.mean - second.mean).abs() / 2.0), ..rate };
        let narrow = quantile(self.confidence, rates.len() as f64 - 1.0) * rate.error <= self.error * rate.mean;
        narrow.then_some(rate)
    }
}

/// The rates of batches between these ends, merged to fewer than twice [`BATCHES`] of the same length in CTAs; those that are too many are
/// left out at the beginning.
fn merged(ends: &[(u64, u64, u64)]) -> Option<Vec<f64>> {
    let batches = ends.len().checked_sub(1).filter(|batches| *batches >= BATCHES)?;
    let each = batches / BATCHES;
    let chosen: Vec<_> = ends[batches % each..].iter().step_by(each).collect();
    Some(chosen.windows(2).map(|pair| (pair[1].1 - pair[0].1) as f64 / (pair[1].0 - pair[0].0) as f64).collect())
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
            self.open = Some(Open { kernel: seen.kernel, ends: Vec::new() });
        }
        let Some(open) = &mut self.open else { return Verdict::Wait };
        let ctas = open.ends.last().map_or(0, |(_, _, ctas)| *ctas);
        if seen.ctas_done < ctas + long.wave {
            return Verdict::Wait;
        }
        // Until a launch that streams has filled the LLC once, nothing modified is written back, and it is faster than later.
        let fills = seen.llc_misses;
        let streams = fills as f64 * long.ctas as f64 / seen.ctas_done as f64 >= FILLS * long.llc_sectors as f64;
        if open.ends.is_empty() && streams && (fills as f64) < FULL * long.llc_sectors as f64 {
            return Verdict::Wait;
        }
        open.ends.push((seen.cycle, seen.warp_instructions, seen.ctas_done));
        if open.ends.len() == 1 {
            return Verdict::Begin;
        }
        // Near its end nothing is saved.
        if seen.ctas_bound + long.wave >= long.ctas {
            return Verdict::Wait;
        }
        let ends = std::mem::take(&mut open.ends);
        let known = self.is_known(&ends);
        if let Some(open) = &mut self.open {
            open.ends = ends;
        }
        match known {
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
        let long = Long { ctas: 1000, wave: 10, llc_sectors: 1000 };
        Steady::new([(KernelIndex(3), long)].into(), 0.02, 0.95)
    }

    /// Feeds windows in which ten CTAs end each, with these instructions; returns the window that is called steady.
    fn feed_missing(instructions: impl Fn(u64) -> u64, misses: impl Fn(u64) -> u64) -> (Option<u64>, Option<Rate>) {
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
                llc_misses: misses(window),
            };
            if judge.judge(&seen) == Verdict::Steady {
                return (Some(window), rates.lock().unwrap().get(&KernelIndex(3)).copied());
            }
        }
        (None, None)
    }

    fn feed(instructions: impl Fn(u64) -> u64) -> (Option<u64>, Option<Rate>) {
        feed_missing(instructions, |_| 0)
    }

    #[test]
    fn a_launch_that_streams_is_judged_once_the_llc_is_full() {
        // 100 sectors a window: the LLC's 1000 are full after 15.
        assert_eq!(feed_missing(|_| 1024, |window| 100 * window).0, Some(15 + BATCHES as u64));
        // 20 a window are two fills over the whole launch.
        assert_eq!(feed_missing(|_| 1024, |window| 20 * window).0, Some(1 + BATCHES as u64));
    }

    #[test]
    fn batches_are_merged_to_fewer_than_twice_the_least() {
        // Batches of 1, 3, 1, 3, .. instructions per cycle: merged ones are even.
        let mut ends = vec![(0, 0, 0)];
        for batch in 1..=17u64 {
            let (_, instructions, _) = ends[batch as usize - 1];
            ends.push((100 * batch, instructions + if batch % 2 == 0 { 300 } else { 100 }, batch));
        }
        assert_eq!(merged(&ends[..BATCHES]), None);
        assert_eq!(merged(&ends[..=16]), Some(vec![2.0; 8]));
        assert_eq!(merged(&ends), Some(vec![2.0; 8]), "the first batch is left out");
        assert_eq!(merged(&ends[..=9]).map(|rates| rates.len()), Some(9));
    }

    #[test]
    fn an_even_launch_is_steady_after_the_least_batches_and_its_first_wave_does_not_count() {
        let (window, rate) = feed(|window| if window == 1 { 100 } else { 1024 });
        assert_eq!((window, rate), (Some(1 + BATCHES as u64), Some(Rate { mean: 2.0, error: 0.0, batches: BATCHES })));
    }

    #[test]
    fn a_launch_that_becomes_slower_or_varies_much_is_not_steady() {
        assert_eq!(feed(|window| 2000 - 20 * window).0, None);
        assert_eq!(feed(|window| [500, 700, 1500, 900, 2000][(window * window % 5) as usize] * (1 + window % 3)).0, None);
    }

    #[test]
    fn noise_takes_more_batches() {
        let (window, _) = feed(|window| 1000 + 40 * (window * 7 % 5));
        assert!(window.is_some_and(|window| window > 1 + BATCHES as u64), "{window:?}");
    }

    #[test]
    fn short_launches_are_not_worth_it() {
        assert!(Long { ctas: 120, wave: 10, llc_sectors: 1 }.is_worth_it());
        assert!(!Long { ctas: 119, wave: 10, llc_sectors: 1 }.is_worth_it());
    }
}
