//! Options for reading traces: threads, memory, leniency, and a clock for the time spent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Options of [`super::load`] and [`super::check`].
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Number of decoding threads; 1 decodes on the thread that requests a CTA. The decoded program does not depend on this number.
    pub threads: usize,
    /// Bytes of decoded CTAs that are kept ready per kernel. A request for a CTA always decodes up to this CTA, so any value works.
    pub window_bytes: usize,
    /// Bytes of text, summed over all kernels, that are decoded while loading, so that errors are reported before simulation starts.
    pub eager_bytes: u64,
    /// Bytes of text per read and thread. Decoding is faster if a chunk stays in the cache after reading.
    pub chunk_bytes: usize,
    /// True to guess unknown opcodes and impossible values in the header instead of rejecting them; notes record the guesses.
    pub lenient: bool,
    /// Clock that sums the time spent reading and decoding.
    pub clock: Arc<DecodeClock>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { threads: 1, window_bytes: 256 << 20, eager_bytes: 128 << 20, chunk_bytes: 1 << 20, lenient: false, clock: Arc::default() }
    }
}

/// Host time that callers waited for reading and decoding of traces.
#[derive(Debug, Default)]
pub struct DecodeClock(Mutex<Duration>);

impl DecodeClock {
    /// Returns the seconds so far, summed over the waiting threads.
    pub fn seconds(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_secs_f64()
    }

    /// Adds the time since `start`.
    pub(crate) fn add_since(&self, start: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += start.elapsed();
    }
}
