//! What launches that are not simulated leave in the LLC: their accesses are read from their instructions, without timing, and the lines used
//! last are put there before the next launch that is simulated.
//!
//! Which lines: those of the launches right before it, back to the last that was simulated whole, or to where their accesses touch [`REUSE`] times
//! the sectors that the LLC holds; all of them where it holds all that the workload uses. A native trace has the lines of each launch. In which order: that of launches, CTAs and warps, which is about the order in time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_base::{CtaIndex, KernelIndex, SECTORS_PER_LINE};
use warpshard_chip::Skipped;
use warpshard_workload::{UsedLine, UsedLines, Workload, touches};

use super::launches::Launch;

/// Accesses that are read, in sectors, relative to what the LLC holds: enough where a sector is used up to so many times.
const REUSE: f64 = 4.0;
/// Lines that are put into the LLC, relative to its own: sets are not used evenly.
const LINES: f64 = 1.5;

/// Lines of launches that are kept for the rounds that follow, at most.
const KEPT: usize = 4 << 20;

/// What was read of launches: the lines that each used, in the order of their last use.
#[derive(Debug, Default)]
pub(super) struct Known {
    launches: BTreeMap<usize, Arc<[UsedLine]>>,
    lines: usize,
}

/// The LLC of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Llc {
    /// Sectors that it holds.
    pub(super) sectors: f64,
    /// Whether it holds all lines of the workload, so that nothing leaves it.
    pub(super) holds_all: bool,
    /// Whether the lines that each launch uses are known without executing it.
    pub(super) lines_known: bool,
}

/// The launches that are read.
pub(super) struct History {
    workload: Arc<Workload>,
    /// By the place among the launches that are simulated: those that are read before it.
    read: BTreeMap<KernelIndex, Range<usize>>,
    /// Lines that are put into the LLC.
    lines: usize,
    known: Arc<Mutex<Known>>,
}

impl History {
    /// For a part of a workload, the launches `places` with those of which only parts are simulated, on a machine with this LLC.
    pub(super) fn new(
        workload: &Arc<Workload>,
        launches: &[Launch],
        places: &[(usize, bool)],
        llc: Llc,
        known: &Arc<Mutex<Known>>,
    ) -> Self {
        let lines = (LINES * llc.sectors / f64::from(SECTORS_PER_LINE)) as usize;
        let mut history = Self { workload: Arc::clone(workload), read: BTreeMap::new(), lines, known: Arc::clone(known) };
        for (place, pair) in (1..).zip(places.windows(2)) {
            let [(before, in_parts), (launch, _)] = [pair[0], pair[1]];
            let from = before + usize::from(!in_parts);
            let (mut first, mut missing) = (launch, if llc.holds_all { f64::INFINITY } else { REUSE * llc.sectors });
            while first > from && missing > 0.0 {
                first -= 1;
                // Where the lines are known, those that a launch uses several times count once.
                let lines = llc.lines_known.then(|| history.of(first).len() as f64 * f64::from(SECTORS_PER_LINE));
                missing -= lines.unwrap_or(launches[first].sectors);
            }
            if first < launch {
                history.read.insert(KernelIndex(place), first..launch);
            }
        }
        history
    }

    /// The lines of one launch.
    fn of(&self, launch: usize) -> Arc<[UsedLine]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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
        if known.lines + lines.len() <= KEPT {
            known.lines += lines.len();
            known.launches.insert(launch, Arc::clone(&lines));
        }
        lines
    }
}

impl Skipped for History {
    fn before(&mut self, kernel: KernelIndex) -> Vec<UsedLine> {
        let Some(launches) = self.read.remove(&kernel) else { return Vec::new() };
        let mut used = UsedLines::new(self.lines);
        for launch in launches {
            for line in self.of(launch).iter() {
                used.see(*line);
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
    fn launches_are_read_back_to_the_last_that_was_simulated_or_until_the_llc_is_full() {
        let workload = Arc::new(warpshard_model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap());
        let launches: Vec<Launch> = (0..40).map(|i| Launch { sectors: 1000.0, ..launch(i, "a", 10) }).collect();
        let read_of = |places: &[usize], llc| {
            let places: Vec<(usize, bool)> = places.iter().map(|place| (*place, *place == 4)).collect();
            History::new(&workload, &launches, &places, llc, &Arc::default()).read
        };
        let read = |places: &[usize], sectors: f64| read_of(places, Llc { sectors, holds_all: false, lines_known: false });
        assert_eq!(read(&[2, 3, 7], 1e6), [(KernelIndex(2), 4..7)].into());
        // Of launch 4 only parts are simulated, so that it is read, too.
        assert_eq!(read(&[3, 4, 7], 1e6), [(KernelIndex(2), 4..7)].into());
        // 4 times 625 sectors are two and a half launches.
        assert_eq!(read(&[0, 39], 625.0), [(KernelIndex(1), 36..39)].into());
        assert_eq!(read_of(&[0, 39], Llc { sectors: 625.0, holds_all: true, lines_known: false }), [(KernelIndex(1), 1..39)].into());
    }
}
