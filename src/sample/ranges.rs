//! A launch of which only some CTAs are executed: ranges of its grid, one after the other, as if they were all.
//!
//! CTAs are requested from the launch's source in ascending order, whatever the order in which SMs ask, so that a source may pass over those
//! in between ([`CtaSource::choose`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_state::{Reader, StateError, Writer};

use crate::base::CtaIndex;
use crate::frontend::{CtaProgram, CtaSource, Dim3, Kernel, KernelInfo};

/// The CTAs of some ranges of a grid.
#[derive(Debug)]
struct Ranges {
    source: Arc<dyn CtaSource>,
    /// The ranges, each with the number of CTAs of those before it.
    ranges: Vec<(u32, Range<u32>)>,
    ahead: Mutex<Ahead>,
}

/// CTAs that were requested before anybody asked for them.
#[derive(Debug, Default)]
struct Ahead {
    /// The next CTA that is requested of the source.
    next: u32,
    held: BTreeMap<u32, Arc<CtaProgram>>,
}

/// The launch with these ranges of its CTAs alone, which ascend.
pub(super) fn of_ranges(kernel: &Kernel, ranges: &[Range<u32>]) -> Kernel {
    let mut before = 0;
    let numbered = ranges.iter().map(|range| {
        let first = before;
        before += range.len() as u32;
        (first, range.clone())
    });
    let source = Ranges { source: Arc::clone(&kernel.source), ranges: numbered.collect(), ahead: Mutex::default() };
    let info = KernelInfo { grid: Dim3 { x: before, y: 1, z: 1 }, ..kernel.info.clone() };
    Kernel { info, source: Arc::new(source) }
}

impl Ranges {
    /// The CTA of the whole grid.
    fn of_grid(&self, index: u32) -> CtaIndex {
        let place = self.ranges.partition_point(|(first, _)| *first <= index) - 1;
        let (first, range) = &self.ranges[place];
        CtaIndex(range.start + (index - first))
    }
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
            ahead.held.insert(next, self.source.cta(self.of_grid(next)));
            ahead.next += 1;
        }
        ahead.next += 1;
        self.source.cta(self.of_grid(index.0))
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
    use crate::frontend::model::builtin;

    #[test]
    fn the_ctas_of_the_ranges_are_numbered_on_and_come_in_any_order() {
        let workload = builtin("vecadd", 1, &[("n".into(), "65536".into())]).unwrap();
        let whole = &workload.kernels[0];
        let part = of_ranges(whole, &[2..4, 10..11, 50..53]);
        assert_eq!(part.info.ctas(), 6);
        for _ in 0..2 {
            for (index, of_grid) in [(1, 3), (0, 2), (4, 51), (3, 50), (2, 10), (5, 52)] {
                assert_eq!(part.source.cta(CtaIndex(index)).warps, whole.source.cta(CtaIndex(of_grid)).warps);
            }
        }
    }
}
