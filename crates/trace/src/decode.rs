//! Decoder of a kernel that is stored as text or in a native file.

use std::sync::Arc;

use super::decoder::{DecodedBatch, DecoderSetup, TextDecoder};
use super::native::NativeDecoder;
use super::table::StaticTable;

/// A decoder of one kernel, from its first CTA to its last.
#[derive(Debug)]
pub(super) enum Decoder {
    Text(TextDecoder),
    Native(NativeDecoder),
}

impl Decoder {
    pub(super) fn new(setup: Arc<DecoderSetup>) -> Self {
        match setup.native.clone() {
            Some(kernel) => Self::Native(NativeDecoder::new(setup, kernel)),
            None => Self::Text(TextDecoder::new(setup)),
        }
    }

    /// Returns the bytes of text read so far. For a native file these are the bytes of the text that it represents.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Text(decoder) => decoder.bytes_read(),
            Self::Native(decoder) => decoder.bytes_read(),
        }
    }

    /// Returns the kernel's warp instructions if the file contains their number.
    pub(super) fn instructions(&self) -> Option<u64> {
        match self {
            Self::Text(_) => None,
            Self::Native(decoder) => Some(decoder.instructions()),
        }
    }

    /// Returns the static instructions and their notes, or `None` before the first batch.
    pub(super) fn table(&self) -> Option<&StaticTable> {
        match self {
            Self::Text(decoder) => Some(decoder.table()),
            Self::Native(decoder) => decoder.table(),
        }
    }

    /// Seeks back to a CTA, or to the closest earlier position that the file allows; returns the CTA that comes next.
    pub(super) fn seek(&mut self, cta: u32) -> u32 {
        match self {
            Self::Text(decoder) => {
                decoder.rewind();
                0
            }
            Self::Native(decoder) => decoder.seek(cta),
        }
    }

    /// Decodes at least one CTA, and further CTAs that are already in memory while their text stays below `budget` bytes.
    pub(super) fn next_batch(&mut self, budget: usize) -> DecodedBatch {
        match self {
            Self::Text(decoder) => decoder.next_batch(budget),
            Self::Native(decoder) => decoder.next_batch(budget),
        }
    }
}
