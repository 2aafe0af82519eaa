//! The heap of kernels: what `malloc` gives out on the device.

use std::collections::BTreeMap;

use super::super::memory::{Fault, Memory};

/// Size of the heap, which is CUDA's where a program does not ask for another.
const HEAP_BYTES: u64 = 8 << 20;
/// Pieces are multiples of this, and begin at one.
const PIECE: u64 = 16;

/// The pieces of the heap.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Heap {
    /// Where it begins; 0 as long as nothing was asked for.
    start: u64,
    /// Bytes that were given out at least once.
    used: u64,
    /// Size of each piece that is in use.
    sizes: BTreeMap<u64, u64>,
    /// Pieces that were given back, by size.
    free: BTreeMap<u64, Vec<u64>>,
}

impl Heap {
    /// The address of a piece of `bytes` bytes; 0 where there is none.
    pub(super) fn give(&mut self, memory: &mut Memory, bytes: u64) -> u64 {
        if bytes > HEAP_BYTES {
            return 0;
        }
        if self.start == 0 {
            let index = memory.allocate("the heap of the kernels", vec![0; HEAP_BYTES as usize], false);
            self.start = memory.allocations()[index].start;
        }
        let size = bytes.max(1).next_multiple_of(PIECE);
        let mut piece = self.free.get_mut(&size).and_then(Vec::pop).unwrap_or(0);
        if piece == 0 && self.used + size <= HEAP_BYTES {
            piece = self.start + self.used;
            self.used += size;
        }
        if piece != 0 {
            self.sizes.insert(piece, size);
        }
        piece
    }

    /// Takes a piece back; nothing happens for 0.
    pub(super) fn take_back(&mut self, memory: &Memory, piece: u64) -> Result<(), Fault> {
        if piece != 0 {
            let size = self.sizes.remove(&piece).ok_or_else(|| memory.near(piece))?;
            self.free.entry(size).or_default().push(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_touch_and_come_back() {
        let (mut memory, mut heap) = (Memory::default(), Heap::default());
        let [a, b] = [20, 1].map(|bytes| heap.give(&mut memory, bytes));
        assert!(a != 0 && b == a + 32);
        memory.write(a + 16, 4, 7).unwrap();
        heap.take_back(&memory, a).unwrap();
        assert!(heap.take_back(&memory, a).is_err(), "given back twice");
        let [again, more, most] = [32, HEAP_BYTES + 1, HEAP_BYTES - 47].map(|bytes| heap.give(&mut memory, bytes));
        assert_eq!([again, more, most], [a, 0, 0]);
        assert_ne!(heap.give(&mut memory, HEAP_BYTES - 48), 0);
        heap.take_back(&memory, 0).unwrap();
    }
}
