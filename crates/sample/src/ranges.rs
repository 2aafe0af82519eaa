//! A launch of which only some CTAs are executed: ranges of its grid, one after the other, as if they were all.
//!
//! The first CTAs of the second range are cut short (`inside.rs` says why).
//!
//! CTAs are requested from the launch's source in ascending order, whatever the order in which SMs ask, so that a source may pass over those
//! in between ([`CtaSource::choose`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_base::{CtaIndex, Rng};
use warpshard_state::{Reader, StateError, Writer};
use warpshard_workload::{CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, StreamBuilder, WarpStream};

/// The CTAs of some ranges of a grid.
#[derive(Debug)]
struct Ranges {
    source: Arc<dyn CtaSource>,
    /// The ranges, each with the number of CTAs of those before it.
    ranges: Vec<(u32, Range<u32>)>,
    /// How many CTAs at the start of the second range are cut short.
    cut: u32,
    ahead: Mutex<Ahead>,
}

/// CTAs that were requested before anybody asked for them.
#[derive(Debug, Default)]
struct Ahead {
    /// The next CTA that is requested of the source.
    next: u32,
    held: BTreeMap<u32, Arc<CtaProgram>>,
}

/// The launch with these ranges of its CTAs alone, which ascend; the first `cut` of the second range are cut short.
pub(super) fn of_ranges(kernel: &Kernel, ranges: &[Range<u32>], cut: u32) -> Kernel {
    let mut before = 0;
    let numbered = ranges.iter().map(|range| {
        let first = before;
        before += range.len() as u32;
        (first, range.clone())
    });
    let source = Ranges { source: Arc::clone(&kernel.source), ranges: numbered.collect(), cut, ahead: Mutex::default() };
    let info = KernelInfo { grid: Dim3 { x: before, y: 1, z: 1 }, ..kernel.info.clone() };
    Kernel { info, source: Arc::new(source) }
}

impl Ranges {
    /// The CTA of that number.
    fn fetch(&self, index: u32) -> Arc<CtaProgram> {
        let place = self.ranges.partition_point(|(first, _)| *first <= index) - 1;
        let (first, range) = &self.ranges[place];
        let of_range = index - first;
        let program = self.source.cta(CtaIndex(range.start + of_range));
        if place != 1 || of_range >= self.cut {
            return program;
        }
        const WHOLE: u64 = 1 << 16;
        let share = Rng::keyed(u64::from(index), &[0x6375_7473]).below(WHOLE);
        let warps = program.warps.iter().map(|warp| shortened(warp, (u64::from(warp.len()) * share / WHOLE) as u32));
        Arc::new(CtaProgram { warps: warps.collect(), ..(*program).clone() })
    }
}

/// The stream of a warp without what follows its first `instructions`, except for the last instruction, which ends the warp.
fn shortened(warp: &WarpStream, instructions: u32) -> WarpStream {
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

impl CtaSource for Ranges {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = ahead.held.remove(&index.0) {
            return held;
        }
        if index.0 < ahead.next {
            // It is executed once more.
            *ahead = Ahead::default();
        }
        while ahead.next < index.0 {
            let next = ahead.next;
            ahead.held.insert(next, self.fetch(next));
            ahead.next += 1;
        }
        ahead.next += 1;
        self.fetch(index.0)
    }

    fn put_back(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).held.insert(index.0, Arc::clone(program));
    }

    // Sampled runs are not saved.
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
    fn ctas_at_the_start_of_the_second_range_are_cut_short_each_at_another_place_and_end_as_they_did() {
        let workload = builtin("vecadd", 1, &[("n".into(), "65536".into())]).unwrap();
        let whole = &workload.kernels[0];
        let part = of_ranges(whole, &[0..8, 10..30, 40..48], 16);
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
    fn the_ctas_of_the_ranges_are_numbered_on_and_come_in_any_order() {
        let workload = builtin("vecadd", 1, &[("n".into(), "65536".into())]).unwrap();
        let whole = &workload.kernels[0];
        let part = of_ranges(whole, &[2..4, 10..11, 50..53], 0);
        assert_eq!(part.info.ctas(), 6);
        for _ in 0..2 {
            for (index, of_grid) in [(1, 3), (0, 2), (4, 51), (3, 50), (2, 10), (5, 52)] {
                assert_eq!(part.source.cta(CtaIndex(index)).warps, whole.source.cta(CtaIndex(of_grid)).warps);
            }
        }
    }
}
