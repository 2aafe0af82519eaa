//! Hands out a kernel's CTAs: from memory when all are decoded, else from a window that moves through the file.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::base::CtaIndex;
use crate::frontend::{CtaProgram, CtaSource};

use super::decoder::{Decoder, End};
use super::options::DecodeClock;

/// A kernel that was decoded wholly while loading. It can be run any number of times.
#[derive(Debug)]
pub(super) struct Resident(pub(super) Vec<Arc<CtaProgram>>);

impl CtaSource for Resident {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        Arc::clone(&self.0[index.index()])
    }
}

/// A kernel that is decoded as its CTAs are asked for; a CTA taken is dropped.
///
/// Asking for a CTA that was taken before decodes the file once more from its start.
pub(super) struct Streamed {
    window: Mutex<Window>,
    failure: OnceLock<String>,
    ctas: u32,
    warps: usize,
    window_bytes: usize,
    clock: Arc<DecodeClock>,
}

/// CTAs `base..base + slots.len()`; a slot is empty when its CTA was taken.
#[derive(Debug)]
pub(super) struct Window {
    decoder: Decoder,
    base: u32,
    slots: VecDeque<Option<Arc<CtaProgram>>>,
    bytes: usize,
    end: Option<End>,
}

impl Window {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self { decoder, base: 0, slots: VecDeque::new(), bytes: 0, end: None }
    }

    /// Decodes one batch of about `budget` bytes of text.
    pub(super) fn advance(&mut self, budget: usize) {
        let batch = self.decoder.next_batch(budget);
        self.bytes += batch.programs.iter().map(|program| bytes(program)).sum::<usize>();
        self.slots.extend(batch.programs.into_iter().map(Some));
        self.end = batch.end;
    }

    /// Whether, and how, the file ended.
    pub(super) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The decoder, for what it knows.
    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// All programs, when none was taken and the file is finished.
    pub(super) fn into_programs(self) -> Vec<Arc<CtaProgram>> {
        self.slots.into_iter().flatten().collect()
    }

    fn take(&mut self, index: u32, limit: usize) -> Option<Arc<CtaProgram>> {
        let taken = index.checked_sub(self.base).is_none_or(|i| self.slots.get(i as usize).is_some_and(Option::is_none));
        if taken {
            self.decoder.rewind();
            (self.base, self.bytes, self.end) = (0, 0, None);
            self.slots.clear();
        }
        while self.end.is_none() && index >= self.base + self.slots.len() as u32 {
            // Deltas of two characters become four bytes: decoded text is at most twice as long.
            self.advance((limit.saturating_sub(self.bytes) / 2).max(1));
        }
        let program = self.slots.get_mut((index - self.base) as usize)?.take()?;
        self.bytes -= bytes(&program);
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.base += 1;
        }
        Some(program)
    }
}

impl Streamed {
    pub(super) fn new(window: Window, ctas: u32, warps: u32, window_bytes: usize, clock: Arc<DecodeClock>) -> Self {
        Self { window: Mutex::new(window), failure: OnceLock::new(), ctas, warps: warps as usize, window_bytes, clock }
    }
}

impl CtaSource for Streamed {
    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        let start = Instant::now();
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let program = window.take(index.0, self.window_bytes);
        // The last CTA answers for the rest of the file.
        while window.end.is_none() && index.0 + 1 == self.ctas {
            window.advance(1);
        }
        // The failure is told when a CTA at or behind it is asked for, however far decoding ran ahead.
        let failed = match &window.end {
            Some(End::Failed { from, error }) if index.0 >= *from => {
                self.failure.get_or_init(|| error.to_string());
                true
            }
            _ => false,
        };
        drop(window);
        self.clock.add_since(start);
        let empty = || Arc::new(CtaProgram { warps: vec![Default::default(); self.warps].into(), ..CtaProgram::default() });
        if failed { empty() } else { program.unwrap_or_else(empty) }
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    fn notes(&self) -> Vec<(String, u64)> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner).decoder.notes()
    }
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").field("ctas", &self.ctas).field("failure", &self.failure).finish_non_exhaustive()
    }
}

fn bytes(program: &CtaProgram) -> usize {
    size_of::<CtaProgram>() + program.warps.iter().map(|stream| size_of_val(stream) + 16 + stream.bytes()).sum::<usize>()
}
