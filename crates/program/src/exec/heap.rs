//! The device heap from which kernels allocate with `malloc`.

use std::collections::BTreeMap;

use super::super::memory::{AccessFault, Memory};

/// Bytes of the heap, the default of CUDA.
const HEAP_BYTES: u64 = 8 << 20;
/// Alignment and granularity of allocations, in bytes.
const PIECE_BYTES: u64 = 16;

/// The allocations of the heap.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Heap {
    /// Address of the heap; 0 before the first allocation.
    start: u64,
    /// Bytes that have been allocated at least once.
    used: u64,
    /// Bytes of each live allocation, by address.
    sizes: BTreeMap<u64, u64>,
    /// Freed allocations, by size.
    free: BTreeMap<u64, Vec<u64>>,
}

impl Heap {
    /// Allocates `bytes` bytes and returns the address, or 0 if the heap is full.
    pub(super) fn allocate(&mut self, memory: &mut Memory, bytes: u64) -> u64 {
        if bytes > HEAP_BYTES {
            return 0;
        }
        if self.start == 0 {
            let index = memory.allocate("the heap of the kernels", vec![0; HEAP_BYTES as usize], false);
            self.start = memory.allocations()[index].start;
        }
        let size = bytes.max(1).next_multiple_of(PIECE_BYTES);
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

    /// Frees an allocation; does nothing for address 0.
    pub(super) fn free(&mut self, memory: &Memory, piece: u64) -> Result<(), AccessFault> {
        if piece != 0 {
            let size = self.sizes.remove(&piece).ok_or_else(|| memory.fault_at(piece))?;
            self.free.entry(size).or_default().push(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_allocations_are_disjoint_and_reused() {
        let (mut memory, mut heap) = (Memory::default(), Heap::default());
        let [a, b] = [20, 1].map(|bytes| heap.allocate(&mut memory, bytes));
        assert!(a != 0 && b == a + 32);
        memory.write(a + 16, 4, 7).unwrap();
        heap.free(&memory, a).unwrap();
        assert!(heap.free(&memory, a).is_err(), "given back twice");
        let [again, more, most] = [32, HEAP_BYTES + 1, HEAP_BYTES - 47].map(|bytes| heap.allocate(&mut memory, bytes));
        assert_eq!([again, more, most], [a, 0, 0]);
        assert_ne!(heap.allocate(&mut memory, HEAP_BYTES - 48), 0);
        heap.free(&memory, 0).unwrap();
    }
}
