//! A kernel under ONAC or Seq-Det: the detection in full, some CTA waves behind it, and the rest of the grid reckoned at the
//! rate of these waves.

use super::runs::{Record, Run};

/// CTA waves that are simulated behind the detection, at least.
pub(super) const WAVES: u32 = 10;
/// Core cycles that are simulated behind it, about and at least: rates of some kernels go up and down with the rows of their
/// grids, TP-K1's within 70 000 cycles, and cores that stood still get into step with the others again.
const BEHIND: f64 = 200_000.0;
/// The first of so many parts of them is left out, in which the cores that are not needed drain.
const PARTS: u64 = 5;

/// CTA waves that are simulated behind the detection, when one takes so many core cycles.
pub(super) fn waves_behind(wave: f64) -> u32 {
    ((BEHIND / wave).ceil() as u32).max(WAVES)
}

/// What a search gave.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Detection {
    /// The number of cores it found; `None` when the grid was handed out before.
    pub(super) found: Option<u32>,
    /// Cycles from the first sample's beginning to the end of the last one, or of the run.
    pub(super) cycles: u64,
    /// Cores and IPC of the samples.
    pub(super) samples: Vec<(u32, f64)>,
    /// The numbers that were tried after one core, and the one found.
    pub(super) estimates: Vec<u32>,
    /// Whether a part of the grid was reckoned.
    pub(super) extrapolated: bool,
    /// The whole grid.
    pub(super) whole: Whole,
}

/// Time and energy of a whole grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Whole {
    /// Core cycles.
    pub(super) cycles: f64,
    /// Energy.
    pub(super) joules: f64,
}

impl Detection {
    /// Reads a run under a search, of a grid of so many warp instructions.
    pub(super) fn of(run: &Run, instructions: f64) -> Self {
        let values = |name: &str| run.records.iter().filter(|record| record.name == name).map(|record| record.value).collect::<Vec<_>>();
        let found = run.last("found_cores");
        let mut estimates: Vec<u32> = values("estimate_cores").into_iter().map(|cores| cores as u32).filter(|cores| *cores > 1).collect();
        estimates.extend(found.map(|record| record.value as u32).filter(|found| estimates.last() != Some(found)));
        let from = found.map_or(0, |record| steady_from(record, run.cycles));
        Self {
            found: found.map(|record| record.value as u32),
            cycles: run.last("detection_cycles").map_or(run.cycles, |record| record.value as u64),
            samples: values("sample_cores").into_iter().map(|cores| cores as u32).zip(values("sample_ipc")).collect(),
            estimates,
            extrapolated: !run.ended,
            whole: whole(run, from, instructions),
        }
    }

    /// The detection's part of the run, in percent.
    pub(super) fn share(&self) -> f64 {
        100.0 * self.cycles as f64 / self.whole.cycles.max(1.0)
    }
}

/// From which cycle on a run whose number was recorded as found goes at its steady rate.
fn steady_from(found: &Record, end: u64) -> u64 {
    found.cycle + end.saturating_sub(found.cycle) / PARTS
}

/// A whole grid: what was simulated, and the rest of its instructions at the rate and the power from a cycle on.
pub(super) fn whole(run: &Run, from: u64, instructions: f64) -> Whole {
    let rest = if run.ended { 0.0 } else { (instructions - run.issued as f64).max(0.0) };
    let steady = run.stretch(from, run.cycles);
    let cycles = rest / steady.rate().max(f64::MIN_POSITIVE);
    Whole { cycles: run.cycles as f64 + cycles, joules: run.joules() + cycles * steady.joules_per_cycle() }
}

#[cfg(test)]
mod tests {
    use super::super::runs::Row;
    use super::*;

    fn record(cycle: u64, name: &str, value: f64) -> Record {
        Record { cycle, name: name.into(), value }
    }

    fn run() -> Run {
        let row = |issued| Row { cycles: 1000, issued, joules: issued as f64 / 1e3, ..Row::default() };
        Run {
            cycles: 11_000,
            issued: 60_000,
            ended: false,
            rows: std::iter::once(row(9000)).chain((0..2).map(|_| row(1000))).chain((0..8).map(|_| row(5000))).collect(),
            records: vec![
                record(300, "sample_cores", 32.0),
                record(300, "sample_ipc", 9.0),
                record(300, "estimate_cores", 1.0),
                record(600, "sample_cores", 1.0),
                record(600, "sample_ipc", 1.0),
                record(600, "estimate_cores", 9.0),
                record(1000, "sample_cores", 9.0),
                record(1000, "sample_ipc", 9.0),
                record(1000, "found_cores", 9.0),
                record(1000, "detection_cycles", 900.0),
            ],
        }
    }

    #[test]
    fn the_rest_of_a_grid_goes_at_the_rate_behind_the_draining() {
        let found = Detection::of(&run(), 110_000.0);
        assert_eq!((found.whole.cycles, found.whole.joules), (11_000.0 + 10_000.0, 51.0 + 50.0));
        assert_eq!((found.found, found.cycles, found.estimates.as_slice()), (Some(9), 900, &[9][..]));
        assert_eq!(found.samples, [(32, 9.0), (1, 1.0), (9, 9.0)]);
        assert!(found.extrapolated && (found.share() - 100.0 * 900.0 / 21_000.0).abs() < 1e-9);
    }

    #[test]
    fn short_waves_are_more_of_them() {
        assert_eq!([1250.0, 9999.0, 50_000.0].map(waves_behind), [160, 21, 10]);
    }

    #[test]
    fn a_search_without_a_result_lasted_the_whole_run() {
        let run = Run { records: vec![record(300, "estimate_cores", 31.0)], ended: true, ..run() };
        let none = Detection::of(&run, 1e9);
        assert_eq!((none.found, none.cycles, none.extrapolated), (None, 11_000, false));
        assert_eq!(none.whole, Whole { cycles: 11_000.0, joules: 51.0 });
        assert_eq!(none.estimates, [31]);
    }
}
