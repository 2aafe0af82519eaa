//! What launches that are not simulated leave in the LLC: their accesses are read from their instructions, without timing, and the lines used
//! last are put there before the next launch that is simulated.
//!
//! Which lines: those of the launches right before it, back to the last that was simulated, or to where their accesses touch [`REUSE`] times
//! the sectors that the LLC holds. In which order: that of launches, CTAs and warps, which is about the order in time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::base::{Addr, CtaIndex, KernelIndex, SECTORS_PER_LINE, SectorBytes, SectorMask};
use crate::chip::{LeftLine, Skipped};
use crate::frontend::Workload;

use super::launches::Launch;
use super::walk;

/// Accesses that are read, in sectors, relative to what the LLC holds: enough where a sector is used up to so many times.
const REUSE: f64 = 4.0;
/// Lines that are put into the LLC, relative to its own: sets are not used evenly.
const LINES: f64 = 1.5;

/// Lines of launches that are kept for the rounds that follow, at most.
const KEPT: usize = 4 << 20;

/// What was read of launches: the lines that each used, in the order of their last use.
#[derive(Debug, Default)]
pub(super) struct Known {
    launches: BTreeMap<usize, Arc<[LeftLine]>>,
    lines: usize,
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
    /// For a part of a workload, the launches `places`, on a machine whose LLC holds so many sectors.
    pub(super) fn new(
        workload: &Arc<Workload>,
        launches: &[Launch],
        places: &[usize],
        llc_sectors: f64,
        known: &Arc<Mutex<Known>>,
    ) -> Self {
        let mut read = BTreeMap::new();
        for (place, pair) in (1..).zip(places.windows(2)) {
            let (mut first, mut missing) = (pair[1], REUSE * llc_sectors);
            while first > pair[0] + 1 && missing > 0.0 {
                first -= 1;
                missing -= launches[first].sectors;
            }
            if first < pair[1] {
                read.insert(KernelIndex(place), first..pair[1]);
            }
        }
        let lines = (LINES * llc_sectors / f64::from(SECTORS_PER_LINE)) as usize;
        Self { workload: Arc::clone(workload), read, lines, known: Arc::clone(known) }
    }

    /// The lines of one launch.
    fn of(&self, launch: usize) -> Arc<[LeftLine]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.launches.get(&launch) {
            return Arc::clone(lines);
        }
        let kernel = &self.workload.kernels[launch];
        let mut used = Used::default();
        for cta in 0..kernel.info.ctas() {
            let program = kernel.source.cta(CtaIndex(cta));
            walk::touches(&kernel.info, &program, |touch| {
                let mut bytes = SectorBytes::default();
                bytes[touch.sector] = touch.bytes;
                used.see(touch.line, bytes, u8::from(touch.written) << touch.sector);
            });
        }
        let lines: Arc<[LeftLine]> = used.last(self.lines).into();
        if known.lines + lines.len() <= KEPT {
            known.lines += lines.len();
            known.launches.insert(launch, Arc::clone(&lines));
        }
        lines
    }
}

impl Skipped for History {
    fn before(&mut self, kernel: KernelIndex) -> Vec<LeftLine> {
        let Some(launches) = self.read.remove(&kernel) else { return Vec::new() };
        let mut used = Used::default();
        for launch in launches {
            self.of(launch).iter().for_each(|line| used.see(line.addr.0, line.bytes, line.written.0));
        }
        used.last(self.lines)
    }
}

/// Lines with the time of their last use.
#[derive(Default)]
struct Used {
    /// Places in `lines`.
    places: FxHashMap<u64, u32>,
    lines: Vec<(u64, LeftLine)>,
    now: u64,
}

impl Used {
    fn see(&mut self, addr: u64, bytes: SectorBytes, written: u8) {
        self.now += 1;
        let place = *self.places.entry(addr).or_insert_with(|| {
            self.lines.push((0, LeftLine { addr: Addr(addr), bytes: SectorBytes::default(), written: SectorMask(0) }));
            self.lines.len() as u32 - 1
        });
        let (last, line) = &mut self.lines[place as usize];
        *last = self.now;
        line.bytes.iter_mut().zip(bytes).for_each(|(known, bytes)| *known |= bytes);
        line.written.0 |= written;
    }

    /// The `count` lines used last, in the order of that.
    fn last(mut self, count: usize) -> Vec<LeftLine> {
        self.lines.sort_unstable_by_key(|(last, _)| *last);
        let surplus = self.lines.len().saturating_sub(count);
        self.lines.into_iter().skip(surplus).map(|(_, line)| line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::strata::tests::launch;
    use super::*;

    #[test]
    fn lines_come_in_the_order_of_their_last_use_and_keep_what_was_written() {
        let mut used = Used::default();
        const ALL: u32 = u32::MAX;
        for (addr, bytes, written) in
            [(0, [0xf, 0, 0, 0], 1), (128, [ALL, 0, 0, 0], 0), (256, [0, ALL, 0, 0], 0), (0, [0xf0, ALL, 0, 0], 1)]
        {
            used.see(addr, bytes, written);
        }
        let line = |addr, bytes, written| LeftLine { addr: Addr(addr), bytes, written: SectorMask(written) };
        assert_eq!(used.last(2), [line(256, [0, ALL, 0, 0], 0), line(0, [0xff, ALL, 0, 0], 1)]);
    }

    #[test]
    fn launches_are_read_back_to_the_last_that_was_simulated_or_until_the_llc_is_full() {
        let workload = Arc::new(crate::frontend::model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap());
        let launches: Vec<Launch> = (0..40).map(|i| Launch { sectors: 1000.0, ..launch(i, "a", 10) }).collect();
        let read = |places: &[usize], llc: f64| History::new(&workload, &launches, places, llc, &Arc::default()).read;
        assert_eq!(read(&[3, 4, 7], 1e6), [(KernelIndex(2), 5..7)].into());
        // 4 times 625 sectors are two and a half launches.
        assert_eq!(read(&[0, 39], 625.0), [(KernelIndex(1), 36..39)].into());
    }
}
