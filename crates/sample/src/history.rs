//! The LLC contents that skipped launches leave: their accesses are read from their instructions, without timing, and the most recently
//! used lines are written to the LLC before the next simulated launch.
//!
//! The lines are the lines of the launches right before it, back to the last completely simulated launch, or until their accesses touch
//! [`MAX_SECTOR_REUSE`] times the sectors of the LLC. If the LLC holds all lines of the workload, all these launches are read. A native
//! trace contains the lines of each launch. The lines are ordered by launch, CTA and warp, which approximates the order in time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_base::{CtaIndex, KernelIndex, SECTORS_PER_LINE};
use warpshard_chip::Skipped;
use warpshard_workload::{UsedLine, UsedLines, Workload, touches};

use super::launches::SampledLaunch;

/// Sectors of accesses that are read, relative to the sectors of the LLC; sufficient if a sector is used up to this many times.
const MAX_SECTOR_REUSE: f64 = 4.0;
/// Lines that are written to the LLC, relative to its capacity; more than 1 because sets are used unevenly.
const LLC_LINES_FACTOR: f64 = 1.5;

/// Maximum number of lines that are kept for later rounds.
const MAX_KEPT_LINES: usize = 4 << 20;

/// The lines of the launches read so far, each launch's lines in the order of their last use.
#[derive(Debug, Default)]
pub(super) struct ReadLaunches {
    launches: BTreeMap<usize, Arc<[UsedLine]>>,
    lines: usize,
}

/// The LLC of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct LlcProperties {
    /// Capacity in sectors.
    pub(super) sectors: f64,
    /// True if the LLC holds all lines of the workload, so that no line is evicted.
    pub(super) holds_all: bool,
    /// True if the lines of each launch are known without executing it.
    pub(super) lines_known: bool,
}

/// The skipped launches whose lines are written to the LLC.
pub(super) struct SkippedLines {
    workload: Arc<Workload>,
    /// The launches that are read before each simulated launch, by its position among the simulated launches.
    read: BTreeMap<KernelIndex, Range<usize>>,
    /// Number of lines that are written to the LLC.
    lines: usize,
    read_launches: Arc<Mutex<ReadLaunches>>,
}

impl SkippedLines {
    /// Creates the history for the simulated launches `places`, each with true if only parts of it are simulated, on a machine with this
    /// LLC.
    pub(super) fn new(
        workload: &Arc<Workload>,
        launches: &[SampledLaunch],
        places: &[(usize, bool)],
        llc: LlcProperties,
        read_launches: &Arc<Mutex<ReadLaunches>>,
    ) -> Self {
        let lines = (LLC_LINES_FACTOR * llc.sectors / f64::from(SECTORS_PER_LINE)) as usize;
        let mut history = Self { workload: Arc::clone(workload), read: BTreeMap::new(), lines, read_launches: Arc::clone(read_launches) };
        for (place, pair) in (1..).zip(places.windows(2)) {
            let [(before, in_parts), (launch, _)] = [pair[0], pair[1]];
            let from = before + usize::from(!in_parts);
            let (mut first, mut missing) = (launch, if llc.holds_all { f64::INFINITY } else { MAX_SECTOR_REUSE * llc.sectors });
            while first > from && missing > 0.0 {
                first -= 1;
                // If the lines are known, lines that a launch uses several times count once.
                let lines = llc.lines_known.then(|| history.lines_of(first).len() as f64 * f64::from(SECTORS_PER_LINE));
                missing -= lines.unwrap_or(launches[first].sectors);
            }
            if first < launch {
                history.read.insert(KernelIndex(place), first..launch);
            }
        }
        history
    }

    /// Returns the lines of a launch.
    fn lines_of(&self, launch: usize) -> Arc<[UsedLine]> {
        let mut known = self.read_launches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.launches.get(&launch) {
            return Arc::clone(lines);
        }
        let kernel = &self.workload.kernels[launch];
        let read = || {
            let mut used = UsedLines::new(self.lines);
            for cta in 0..kernel.info.ctas() {
                let program = kernel.source.cta(CtaIndex(cta));
                touches(&kernel.info, &program, |touch| {
                    used.touch(touch);
                });
            }
            used.last()
        };
        let lines: Arc<[UsedLine]> = kernel.source.used_lines(self.lines).unwrap_or_else(read).into();
        if known.lines + lines.len() <= MAX_KEPT_LINES {
            known.lines += lines.len();
            known.launches.insert(launch, Arc::clone(&lines));
        }
        lines
    }
}

impl Skipped for SkippedLines {
    fn before(&mut self, kernel: KernelIndex) -> Vec<UsedLine> {
        let Some(launches) = self.read.remove(&kernel) else { return Vec::new() };
        let mut used = UsedLines::new(self.lines);
        for launch in launches {
            for line in self.lines_of(launch).iter() {
                used.use_line(*line);
            }
        }
        used.last()
    }
}

#[cfg(test)]
mod tests {
    use super::super::strata::tests::launch;
    use super::*;

    #[test]
    fn launches_are_read_back_to_the_last_simulated_one_or_a_full_llc() {
        let workload = Arc::new(warpshard_model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap());
        let launches: Vec<SampledLaunch> = (0..40).map(|i| SampledLaunch { sectors: 1000.0, ..launch(i, "a", 10) }).collect();
        let read_of = |places: &[usize], llc| {
            let places: Vec<(usize, bool)> = places.iter().map(|place| (*place, *place == 4)).collect();
            SkippedLines::new(&workload, &launches, &places, llc, &Arc::default()).read
        };
        let read = |places: &[usize], sectors: f64| read_of(places, LlcProperties { sectors, holds_all: false, lines_known: false });
        assert_eq!(read(&[2, 3, 7], 1e6), [(KernelIndex(2), 4..7)].into());
        // Only parts of launch 4 are simulated, so that it is read, too.
        assert_eq!(read(&[3, 4, 7], 1e6), [(KernelIndex(2), 4..7)].into());
        // 4 times 625 sectors are two and a half launches.
        assert_eq!(read(&[0, 39], 625.0), [(KernelIndex(1), 36..39)].into());
        assert_eq!(
            read_of(&[0, 39], LlcProperties { sectors: 625.0, holds_all: true, lines_known: false }),
            [(KernelIndex(1), 1..39)].into()
        );
    }
}
