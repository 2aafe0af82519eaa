//! A kernel under ONAC or Seq-Det: the detection and some further CTA waves are simulated, and the rest of the grid is
//! extrapolated at the rate and the power of these waves.

use warpshard_lab::job::Run;
use warpshard_lab::verdict::RunEnd;

use super::published::{Parameters, published};

/// Returns the number of CTA waves simulated after the detection; `wave` is the length of a wave in core cycles.
pub(super) fn waves_after(wave: f64) -> u32 {
    let Parameters { waves, after, .. } = published().own.parameters;
    ((after / wave).ceil() as u32).max(waves)
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Detection {
    /// The number of cores found; `None` if the grid was dispatched before.
    pub(super) found_cores: Option<u32>,
    /// Cycles from the start of the first sample to the end of the last sample, or to the end of the run.
    pub(super) cycles: u64,
    /// The number of cores and the IPC of each sample.
    pub(super) samples: Vec<(u32, f64)>,
    /// Numbers of cores sampled after one core, and the number found.
    pub(super) estimates: Vec<u32>,
    /// The end of the run: of the whole grid, or extrapolated.
    pub(super) ended: RunEnd,
    /// Time and energy of the whole grid.
    pub(super) whole_grid: WholeGrid,
}

/// Time and energy of a whole grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WholeGrid {
    /// Time in core cycles.
    pub(super) cycles: f64,
    /// Energy in joules.
    pub(super) joules: f64,
}

impl Detection {
    /// Evaluates a run under a search; the whole grid has `instructions` warp instructions.
    pub(super) fn from_run(run: &Run, instructions: f64) -> Self {
        let cores = |name: &'static str| run.of_machine(name).map(|record| record.value as u32);
        let found = run.of_machine("found_cores").next_back();
        let mut estimates: Vec<u32> = cores("estimate_cores").filter(|cores| *cores > 1).collect();
        estimates.extend(found.map(|record| record.value as u32).filter(|found| estimates.last() != Some(found)));
        // After this cycle the unneeded cores have drained.
        let steady = |cycle: u64| cycle + run.cycles.saturating_sub(cycle) / published().own.parameters.parts;
        let from = found.map_or(0, |record| steady(record.cycle));
        Self {
            found_cores: found.map(|record| record.value as u32),
            cycles: run.of_machine("detection_cycles").next_back().map_or(run.cycles, |record| record.value as u64),
            samples: cores("sample_cores").zip(run.of_machine("sample_ipc").map(|record| record.value)).collect(),
            estimates,
            ended: if run.ended { RunEnd::Whole } else { RunEnd::Extrapolated },
            whole_grid: whole_grid(run, from, instructions),
        }
    }

    /// Returns the detection's share of the run, in percent.
    pub(super) fn share_percent(&self) -> f64 {
        100.0 * self.cycles as f64 / self.whole_grid.cycles.max(1.0)
    }
}

/// Returns time and energy of a whole grid: the simulated part, and the remaining instructions at the rate and power after cycle `from`.
pub(super) fn whole_grid(run: &Run, from: u64, instructions: f64) -> WholeGrid {
    let rest = if run.ended { 0.0 } else { (instructions - run.issued as f64).max(0.0) };
    let steady = run.sum_within_or_all(from, run.cycles);
    let cycles = rest / steady.rate().max(f64::MIN_POSITIVE);
    WholeGrid { cycles: run.cycles as f64 + cycles, joules: run.joules() + cycles * steady.joules_per_cycle() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_lab::job::{Record, Row};

    fn timeline_record(cycle: u64, name: &str, value: f64) -> Record {
        Record { cycle, sm: None, name: name.into(), value }
    }

    fn example_run() -> Run {
        let row = |issued| Row { cycles: 1000, issued, joules: issued as f64 / 1e3, ..Row::default() };
        Run {
            cycles: 11_000,
            net_cycles: 11_000,
            issued: 60_000,
            ended: false,
            rows: std::iter::once(row(9000)).chain((0..2).map(|_| row(1000))).chain((0..8).map(|_| row(5000))).collect(),
            records: vec![
                timeline_record(300, "sample_cores", 32.0),
                timeline_record(300, "sample_ipc", 9.0),
                timeline_record(300, "estimate_cores", 1.0),
                timeline_record(600, "sample_cores", 1.0),
                timeline_record(600, "sample_ipc", 1.0),
                timeline_record(600, "estimate_cores", 9.0),
                timeline_record(1000, "sample_cores", 9.0),
                timeline_record(1000, "sample_ipc", 9.0),
                timeline_record(1000, "found_cores", 9.0),
                timeline_record(1000, "detection_cycles", 900.0),
            ],
        }
    }

    #[test]
    fn the_rest_of_a_grid_is_extrapolated_at_the_rate_after_draining() {
        let found = Detection::from_run(&example_run(), 110_000.0);
        assert_eq!((found.whole_grid.cycles, found.whole_grid.joules), (11_000.0 + 10_000.0, 51.0 + 50.0));
        assert_eq!((found.found_cores, found.cycles, found.estimates.as_slice()), (Some(9), 900, &[9][..]));
        assert_eq!(found.samples, [(32, 9.0), (1, 1.0), (9, 9.0)]);
        assert!(found.ended == RunEnd::Extrapolated && (found.share_percent() - 100.0 * 900.0 / 21_000.0).abs() < 1e-9);
    }

    #[test]
    fn more_waves_are_simulated_if_they_are_short() {
        assert_eq!([1250.0, 9999.0, 50_000.0].map(waves_after), [160, 21, 10]);
    }

    #[test]
    fn a_search_without_a_result_takes_the_whole_run() {
        let run = Run { records: vec![timeline_record(300, "estimate_cores", 31.0)], ended: true, ..example_run() };
        let none = Detection::from_run(&run, 1e9);
        assert_eq!((none.found_cores, none.cycles, none.ended), (None, 11_000, RunEnd::Whole));
        assert_eq!(none.whole_grid, WholeGrid { cycles: 11_000.0, joules: 51.0 });
        assert_eq!(none.estimates, [31]);
    }
}
