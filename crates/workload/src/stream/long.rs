//! Streams of more than one part: one part is at hand as words, the others are kept compressed.
//!
//! A warp's instructions are decoded in order, and the addresses of an access are read before hundreds more are decoded. So two parts
//! are needed at any time: the one that is being decoded and the one before it.

use std::sync::Arc;

use super::store::Held;
use super::word::MASK_FOLLOWS;

/// Least words of a part that is not the last. A warp's instructions under way fit many times.
pub(super) const PART_WORDS: usize = 16 << 10;
/// Set in places that lie in a part with an odd number.
pub(super) const ODD: u32 = 1 << 31;

/// A part, and how many instructions come before it.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Part {
    pub(super) before: u32,
    pub(super) held: Held,
}

/// All parts of a stream, in their order.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Parts {
    /// Instructions of the stream.
    pub(super) len: u32,
    pub(super) list: Box<[Part]>,
}

impl Parts {
    /// The words of a part, after the number of instructions of the stream. In place of a part that cannot be read there are instructions without
    /// lanes; the run ends with the failure of the store.
    pub(super) fn words(&self, number: usize) -> Arc<[u32]> {
        let mut words = vec![self.len];
        if !self.list[number].held.read(&mut words) {
            let end = self.list.get(number + 1).map_or(self.len, |next| next.before);
            words.extend((self.list[number].before..end).flat_map(|_| [MASK_FOLLOWS, 0]));
        }
        words.into()
    }
}

/// Where a reader is in a stream of several parts.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Window {
    pub(super) parts: Arc<Parts>,
    /// The part that is at hand.
    number: usize,
    /// The words of the part before it.
    earlier: Arc<[u32]>,
}

impl Window {
    /// At the beginning of a stream.
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        Self { parts, number: 0, earlier: Arc::default() }
    }

    /// The words in which `place` lies: those at hand or those before them.
    pub(super) fn holding<'a>(&'a self, at_hand: &'a [u32], place: u32) -> &'a [u32] {
        if place & ODD == self.parity() { at_hand } else { &self.earlier }
    }

    /// Goes on to the next part, if there is one.
    pub(super) fn advance(&mut self, at_hand: &mut Arc<[u32]>) -> bool {
        let more = self.number + 1 < self.parts.list.len();
        if more {
            self.number += 1;
            self.earlier = std::mem::replace(at_hand, self.parts.words(self.number));
        }
        more
    }

    /// Goes to the part that instruction `number` lies in, and returns how many instructions come before that part.
    pub(super) fn go_to(&mut self, number: u32, at_hand: &mut Arc<[u32]>) -> u32 {
        let list = &self.parts.list;
        self.number = list.partition_point(|part| part.before <= number).saturating_sub(1);
        *at_hand = self.parts.words(self.number);
        self.earlier = Arc::default();
        list[self.number].before
    }

    /// Bit 31 of the places in the part at hand.
    pub(super) fn parity(&self) -> u32 {
        (self.number as u32 & 1) << 31
    }
}
