//! How to read traces: threads, memory, leniency, and the clock that counts the time it takes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Options of [`super::load`] and [`super::check`].
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Threads that decode; 1 decodes on the thread that asks for a CTA. What is decoded does not depend on it.
    pub threads: usize,
    /// Bytes of decoded CTAs kept ready per kernel. A request for a CTA always decodes up to it, so any value works.
    pub window_bytes: usize,
    /// Bytes of text, over all kernels, that are decoded while loading, so that errors come before anything is simulated.
    pub eager_bytes: u64,
    /// Bytes of text read at once for each thread. A chunk that stays in the cache between reading and decoding costs less.
    pub chunk_bytes: usize,
    /// Guess what can be guessed safely (unknown opcodes, impossible values in the header) instead of refusing it; notes say what.
    pub lenient: bool,
    /// Adds up the time spent reading and decoding.
    pub clock: Arc<DecodeClock>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { threads: 1, window_bytes: 256 << 20, eager_bytes: 128 << 20, chunk_bytes: 1 << 20, lenient: false, clock: Arc::default() }
    }
}

/// Host time spent reading and decoding traces, as callers waited for it.
#[derive(Debug, Default)]
pub struct DecodeClock(Mutex<Duration>);

impl DecodeClock {
    /// Seconds so far, summed over the threads that waited.
    pub fn seconds(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_secs_f64()
    }

    /// Counts the time since `start`.
    pub(crate) fn add_since(&self, start: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += start.elapsed();
    }
}
