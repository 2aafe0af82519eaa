//! A launch that executes only some of its CTAs: ranges of its grid, one after another, numbered as a complete grid.
//!
//! The first CTAs of the second range are truncated, for the reason that `inside.rs` explains.
//!
//! CTAs are requested from the launch's source in ascending order, regardless of the order of the SMs' requests, so that a source may skip
//! the CTAs between the ranges ([`CtaSource::select_ctas`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_base::{CtaIndex, Rng};
use warpshard_state::{Reader, StateError, Writer};
use warpshard_workload::{CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, StreamBuilder, WarpStream};

/// A source of the CTAs in some ranges of a grid.
#[derive(Debug)]
struct RangeSource {
    source: Arc<dyn CtaSource>,
    /// The ranges, each with the number of CTAs in the previous ranges.
    ranges: Vec<(u32, Range<u32>)>,
    /// Number of truncated CTAs at the start of the second range.
    truncated_ctas: u32,
    fetched_ahead: Mutex<FetchedAhead>,
}

/// CTAs that were fetched from the source before an SM requested them.
#[derive(Debug, Default)]
struct FetchedAhead {
    /// Number of the next CTA to fetch from the source.
    next: u32,
    held: BTreeMap<u32, Arc<CtaProgram>>,
}

/// Returns the launch with only these ranges of its CTAs, which must ascend; the first `truncated_ctas` CTAs of the second range are
/// truncated.
pub(super) fn launch_of_ranges(kernel: &Kernel, ranges: &[Range<u32>], truncated_ctas: u32) -> Kernel {
    let mut before = 0;
    let numbered = ranges.iter().map(|range| {
        let first = before;
        before += range.len() as u32;
        (first, range.clone())
    });
    let source =
        RangeSource { source: Arc::clone(&kernel.source), ranges: numbered.collect(), truncated_ctas, fetched_ahead: Mutex::default() };
    let info = KernelInfo { grid: Dim3 { x: before, y: 1, z: 1 }, ..kernel.info.clone() };
    Kernel { info, source: Arc::new(source) }
}

impl RangeSource {
    /// Fetches the CTA with this number from the source, truncated if necessary.
    fn fetch(&self, index: u32) -> Arc<CtaProgram> {
        let place = self.ranges.partition_point(|(first, _)| *first <= index) - 1;
        let (first, range) = &self.ranges[place];
        let of_range = index - first;
        let program = self.source.cta(CtaIndex(range.start + of_range));
        if place != 1 || of_range >= self.truncated_ctas {
            return program;
        }
        const SHARE_STEPS: u64 = 1 << 16;
        let share = Rng::keyed(u64::from(index), &[0x6375_7473]).below(SHARE_STEPS);
        let warps = program.warps.iter().map(|warp| truncated(warp, (u64::from(warp.len()) * share / SHARE_STEPS) as u32));
        Arc::new(CtaProgram { warps: warps.collect(), ..(*program).clone() })
    }
}

/// Returns the first `instructions` instructions of a warp, followed by its last instruction, which ends the warp.
fn truncated(warp: &WarpStream, instructions: u32) -> WarpStream {
    let (mut builder, mut addresses) = (StreamBuilder::default(), [0; 32]);
    let mut reader = warp.read();
    let mut number = 0;
    while let Some(inst) = reader.next() {
        number += 1;
        if number > instructions && number < warp.len() {
            continue;
        }
        match reader.addresses(&inst, &mut addresses) {
            0 => builder.op(inst.index, inst.mask),
            count => builder.access(inst.index, inst.mask, &addresses[..count]),
        }
    }
    builder.finish()
}

impl CtaSource for RangeSource {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let mut ahead = self.fetched_ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = ahead.held.remove(&index.0) {
            return held;
        }
        if index.0 < ahead.next {
            // The launch is executed again.
            *ahead = FetchedAhead::default();
        }
        while ahead.next < index.0 {
            let next = ahead.next;
            ahead.held.insert(next, self.fetch(next));
            ahead.next += 1;
        }
        ahead.next += 1;
        self.fetch(index.0)
    }

    fn return_cta(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.fetched_ahead.lock().unwrap_or_else(PoisonError::into_inner).held.insert(index.0, Arc::clone(program));
    }

    // Sampled runs have no checkpoints.
    fn save(&self, to: &mut Writer) {
        self.source.save(to);
    }

    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.source.load(from)
    }

    fn failure(&self) -> Option<String> {
        self.source.failure()
    }

    fn notes(&self) -> Vec<(String, u64)> {
        self.source.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_model::builtin;

    #[test]
    fn ctas_at_the_start_of_the_second_range_are_truncated_at_random_and_keep_their_end() {
        let workload = builtin("vecadd", 1, &[("n".into(), "65536".into())]).unwrap();
        let whole = &workload.kernels[0];
        let part = launch_of_ranges(whole, &[0..8, 10..30, 40..48], 16);
        let mut lengths = std::collections::BTreeSet::new();
        for (index, of_grid) in (0..8).chain(10..30).chain(40..48).enumerate() {
            let (short, long) = (part.source.cta(CtaIndex(index as u32)), whole.source.cta(CtaIndex(of_grid)));
            if !(8..24).contains(&index) {
                assert_eq!(short.warps, long.warps);
                continue;
            }
            for (short, long) in short.warps.iter().zip(&long.warps) {
                let what = |warp: &WarpStream| -> Vec<_> { warp.read().map(|inst| (inst.index, inst.mask, inst.form)).collect() };
                let (short, long) = (what(short), what(long));
                let (last, begin) = short.split_last().unwrap();
                assert!(begin == &long[..begin.len()] && last == long.last().unwrap());
            }
            lengths.insert(short.warps[0].len());
        }
        assert!(lengths.len() > 4, "{lengths:?}");
    }

    #[test]
    fn ctas_of_ranges_are_numbered_consecutively_and_requested_in_any_order() {
        let workload = builtin("vecadd", 1, &[("n".into(), "65536".into())]).unwrap();
        let whole = &workload.kernels[0];
        let part = launch_of_ranges(whole, &[2..4, 10..11, 50..53], 0);
        assert_eq!(part.info.ctas(), 6);
        for _ in 0..2 {
            for (index, of_grid) in [(1, 3), (0, 2), (4, 51), (3, 50), (2, 10), (5, 52)] {
                assert_eq!(part.source.cta(CtaIndex(index)).warps, whole.source.cta(CtaIndex(of_grid)).warps);
            }
        }
    }
}
