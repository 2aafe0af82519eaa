//! The decoder of a kernel, whatever it is stored as: text, or a native file.

use std::sync::Arc;

use super::decoder::{Batch, Setup, TextDecoder};
use super::native::NativeDecoder;
use super::table::StaticTable;

/// Decodes one kernel from its first CTA to its last.
#[derive(Debug)]
pub(super) enum Decoder {
    Text(TextDecoder),
    Native(NativeDecoder),
}

impl Decoder {
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        match setup.native.clone() {
            Some(kernel) => Self::Native(NativeDecoder::new(setup, kernel)),
            None => Self::Text(TextDecoder::new(setup)),
        }
    }

    /// Bytes of text read so far; of a native file, the text that it represents.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Text(decoder) => decoder.bytes_read(),
            Self::Native(decoder) => decoder.bytes_read(),
        }
    }

    /// Warp instructions of the kernel, where the file says so.
    pub(super) fn instructions(&self) -> Option<u64> {
        match self {
            Self::Text(_) => None,
            Self::Native(decoder) => Some(decoder.instructions()),
        }
    }

    /// The static instructions and their notes; none before the first batch.
    pub(super) fn table(&self) -> Option<&StaticTable> {
        match self {
            Self::Text(decoder) => Some(decoder.table()),
            Self::Native(decoder) => decoder.table(),
        }
    }

    /// Goes back to a CTA, or as near before it as the file allows; returns the CTA that comes next.
    pub(super) fn seek(&mut self, cta: u32) -> u32 {
        match self {
            Self::Text(decoder) => {
                decoder.rewind();
                0
            }
            Self::Native(decoder) => decoder.seek(cta),
        }
    }

    /// Decodes the next CTAs: at least one, further ones while their text stays below `budget` bytes and is at hand.
    pub(super) fn next_batch(&mut self, budget: usize) -> Batch {
        match self {
            Self::Text(decoder) => decoder.next_batch(budget),
            Self::Native(decoder) => decoder.next_batch(budget),
        }
    }
}
