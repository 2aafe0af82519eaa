//! Live counters that one thread publishes and any number of threads look at.
//!
//! Inputs: whole arrays of counters from one writer. Outputs: whole arrays, each as it was written once. Invariants: the
//! writer never waits; a reader never sees a mixture of two arrays.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::mutant;
use crate::primitive::{Arc, AtomicU64, Ordering, fence, spin_loop};

/// `N` counters and the sequence number that guards them, on cache lines of their own.
///
/// # Memory ordering
/// A sequence lock over atomic words. The writer makes the sequence number odd, writes the words behind a `Release` fence
/// and makes it even again with a `Release` store. A reader loads it with `Acquire`, loads the words, and loads it again
/// behind an `Acquire` fence: equal and even means that no word came from a later write. All words are atomics, so a torn
/// read is merely thrown away and there is no data race.
pub struct ProgressCell<const N: usize> {
    sequence: AtomicU64,
    words: [AtomicU64; N],
}

/// The only writer of a [`ProgressCell`].
pub struct ProgressWriter<const N: usize> {
    cell: Arc<CachePadded<ProgressCell<N>>>,
    /// What the cell's sequence number is; only this writer changes it.
    sequence: u64,
}

/// A reader of a [`ProgressCell`]; as many as wanted.
pub struct ProgressReader<const N: usize> {
    cell: Arc<CachePadded<ProgressCell<N>>>,
}

/// Makes a cell of `N` counters, all zero, with its writer and a first reader.
pub fn progress_cell<const N: usize>() -> (ProgressWriter<N>, ProgressReader<N>) {
    let cell = ProgressCell { sequence: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) };
    let cell = Arc::new(CachePadded::new(cell));
    (ProgressWriter { cell: Arc::clone(&cell), sequence: 0 }, ProgressReader { cell })
}

impl<const N: usize> ProgressWriter<N> {
    /// Publishes `values` together; some nanoseconds, never waits.
    #[inline]
    pub fn publish(&mut self, values: [u64; N]) {
        self.cell.sequence.store(self.sequence + 1, Ordering::Relaxed);
        if !mutant::PROGRESS_UNFENCED {
            fence(Ordering::Release);
        }
        for (word, value) in self.cell.words.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.sequence += 2;
        self.cell.sequence.store(self.sequence, Ordering::Release);
    }
}

impl<const N: usize> ProgressReader<N> {
    /// The newest array that could be read whole; tries again while the writer writes.
    pub fn read(&self) -> [u64; N] {
        loop {
            if let Some(values) = self.try_read() {
                return values;
            }
            spin_loop();
        }
    }

    /// The newest array, or none when the writer came between.
    pub fn try_read(&self) -> Option<[u64; N]> {
        let before = self.cell.sequence.load(Ordering::Acquire);
        let values = std::array::from_fn(|i| self.cell.words[i].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let after = self.cell.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0 || mutant::PROGRESS_UNCHECKED).then_some(values)
    }
}

impl<const N: usize> Clone for ProgressReader<N> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<const N: usize> fmt::Debug for ProgressWriter<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressWriter").finish_non_exhaustive()
    }
}

impl<const N: usize> fmt::Debug for ProgressReader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReader").field("values", &self.read()).finish()
    }
}
