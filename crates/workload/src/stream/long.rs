//! Streams of several parts: one part is loaded as words, the others are compressed.
//!
//! A warp's instructions are decoded in order, and the addresses of an access are read before hundreds of further instructions are decoded.
//! So two parts are needed at any time: the part that is being decoded and the previous part.

use std::sync::Arc;

use super::store::StoredPart;
use super::word::MASK_FOLLOWS;

/// Minimum number of words of a part that is not the last, which is many times larger than a warp's instructions in flight.
pub(super) const MIN_PART_WORDS: usize = 16 << 10;
/// Bit that is set in positions that lie in a part with an odd number.
pub(super) const ODD_PART_BIT: u32 = 1 << 31;

/// A part, and the number of instructions before it.
#[derive(Debug, warpshard_state::State)]
pub(super) struct StreamPart {
    pub(super) instructions_before: u32,
    pub(super) stored: StoredPart,
}

/// All parts of a stream, in order.
#[derive(Debug, warpshard_state::State)]
pub(super) struct StreamParts {
    /// Number of instructions of the stream.
    pub(super) len: u32,
    pub(super) list: Box<[StreamPart]>,
}

impl StreamParts {
    /// Returns the number of instructions of the stream, followed by the words of a part. If the part cannot be read, returns instructions
    /// without active lanes instead; the run then ends with the failure of the store.
    pub(super) fn words(&self, number: usize) -> Arc<[u32]> {
        let mut words = vec![self.len];
        if !self.list[number].stored.read(&mut words) {
            let end = self.list.get(number + 1).map_or(self.len, |next| next.instructions_before);
            words.extend((self.list[number].instructions_before..end).flat_map(|_| [MASK_FOLLOWS, 0]));
        }
        words.into()
    }
}

/// The position of a reader in a stream of several parts.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct StreamWindow {
    pub(super) parts: Arc<StreamParts>,
    /// Number of the loaded part.
    loaded_part: usize,
    /// Words of the previous part.
    previous_words: Arc<[u32]>,
}

impl StreamWindow {
    /// Creates a window at the beginning of a stream.
    pub(super) fn new(parts: Arc<StreamParts>) -> Self {
        Self { parts, loaded_part: 0, previous_words: Arc::default() }
    }

    /// Returns the words that contain the position `place`: the loaded part or the previous part.
    pub(super) fn words_at<'a>(&'a self, at_hand: &'a [u32], place: u32) -> &'a [u32] {
        if place & ODD_PART_BIT == self.parity() { at_hand } else { &self.previous_words }
    }

    /// Advances to the next part; returns false if there is none.
    pub(super) fn advance(&mut self, at_hand: &mut Arc<[u32]>) -> bool {
        let more = self.loaded_part + 1 < self.parts.list.len();
        if more {
            self.loaded_part += 1;
            self.previous_words = std::mem::replace(at_hand, self.parts.words(self.loaded_part));
        }
        more
    }

    /// Loads the part that contains instruction `number`; returns the number of instructions before that part.
    pub(super) fn seek(&mut self, number: u32, at_hand: &mut Arc<[u32]>) -> u32 {
        let list = &self.parts.list;
        self.loaded_part = list.partition_point(|part| part.instructions_before <= number).saturating_sub(1);
        *at_hand = self.parts.words(self.loaded_part);
        self.previous_words = Arc::default();
        list[self.loaded_part].instructions_before
    }

    /// Returns bit 31 of the positions in the loaded part.
    pub(super) fn parity(&self) -> u32 {
        (self.loaded_part as u32 & 1) << 31
    }
}
