//! Device memory: a 64-bit address space in which only allocated addresses exist.
//!
//! Inputs and outputs are device addresses and bytes. An access outside of every allocation is a [`AccessFault`]; reads of unwritten memory are
//! counted. Untouched pages cost nothing: the host's operating system provides zeroed pages on first use.

use warpshard_state::{Reader, State, StateError, Writer};

/// First address that is allocated.
const FIRST_ADDRESS: u64 = 0x7f20_0000_0000;
/// Alignment of allocations in bytes, like cudaMalloc.
const ALIGNMENT: u64 = 256;
/// Minimum bytes between two allocations, so that an access just beyond the end of one is detected.
const GUARD_BYTES: u64 = 256;

/// Maximum words of an access whose written flags are checked together.
const MAX_CHECKED_WORDS: usize = 512;

/// An allocation of device memory.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
    /// Flags of written words; `None` if all were written.
    written: Option<WrittenWords>,
}

/// The written words of an allocation.
#[derive(Clone, Debug, warpshard_state::State)]
struct WrittenWords {
    bits: Vec<u64>,
    /// Number of unwritten words.
    unwritten_words: usize,
}

impl WrittenWords {
    #[inline]
    fn contains(&self, word: usize) -> bool {
        self.bits[word / 64] >> (word % 64) & 1 != 0
    }

    #[inline]
    fn mark(&mut self, word: usize) {
        let bit = 1 << (word % 64);
        self.unwritten_words -= usize::from(self.bits[word / 64] & bit == 0);
        self.bits[word / 64] |= bit;
    }
}

impl Allocation {
    /// Returns true if the whole allocation was written.
    pub(super) fn is_written(&self) -> bool {
        self.written.is_none()
    }

    /// Marks bytes as written.
    #[inline]
    fn mark(&mut self, offset: usize, bytes: usize) {
        if let Some(written) = &mut self.written {
            (offset / 4..(offset + bytes).div_ceil(4)).for_each(|word| written.mark(word));
            if written.unwritten_words == 0 {
                self.written = None;
            }
        }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Bytes of a memory piece; a checkpoint omits pieces that contain only zeros.
const CHECKPOINT_PIECE_BYTES: usize = 4096;

impl State for Allocation {
    fn save(&self, to: &mut Writer) {
        let Self { name, start, bytes, written } = self;
        name.save(to);
        start.save(to);
        written.save(to);
        bytes.len().save(to);
        let pieces: Vec<(usize, &[u8])> =
            bytes.chunks(CHECKPOINT_PIECE_BYTES).enumerate().filter(|(_, piece)| piece.iter().any(|byte| *byte != 0)).collect();
        pieces.len().save(to);
        for (number, piece) in pieces {
            number.save(to);
            to.raw(piece);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (name, start, written, length) = State::read(from)?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(length)
            .map_err(|_| StateError::new(format!("an allocation of {length} bytes does not fit this host's memory")))?;
        bytes = vec![0; length];
        for _ in 0..usize::read(from)? {
            let number = usize::read(from)?;
            let Some(piece) = bytes.chunks_mut(CHECKPOINT_PIECE_BYTES).nth(number) else {
                return Err(StateError::new(format!("an allocation of {length} bytes has no piece {number}")));
            };
            piece.copy_from_slice(from.raw(piece.len())?);
        }
        Ok(Self { name, start, bytes, written })
    }
}

/// The address ranges of allocations.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct AddressRanges {
    /// First address of each range and the address after its last.
    spans: Vec<(u64, u64)>,
    next: u64,
}

impl AddressRanges {
    /// Reserves `bytes` bytes and returns their address.
    pub(super) fn reserve(&mut self, bytes: u64) -> u64 {
        let start = self.next.max(FIRST_ADDRESS).next_multiple_of(ALIGNMENT);
        self.reserve_at(start, bytes);
        start
    }

    /// Reserves a given range; returns false if it overlaps another allocation.
    pub(super) fn reserve_at(&mut self, start: u64, bytes: u64) -> bool {
        let Some(end) = start.checked_add(bytes) else { return false };
        if self.spans.iter().any(|other| start < other.1 && other.0 < end) {
            return false;
        }
        if end > FIRST_ADDRESS {
            self.next = self.next.max(end.saturating_add(GUARD_BYTES));
        }
        self.spans.push((start, end));
        true
    }
}

/// All of device memory.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Memory {
    allocations: Vec<Allocation>,
    layout: AddressRanges,
    /// Index of the allocation that was accessed last.
    last: usize,
    /// Reads of unwritten words per allocation.
    pub(super) unwritten: Vec<u64>,
}

/// An access outside of all allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessFault {
    pub(super) address: u64,
    /// The closest allocation: its name, the offset of the access from its start, and its size in bytes.
    pub(super) nearest: Option<(String, i64, usize)>,
}

impl Memory {
    /// Allocates memory with contents; `written` is true if they count as written.
    pub(super) fn allocate(&mut self, name: &str, bytes: Vec<u8>, written: bool) -> usize {
        let start = self.layout.reserve(bytes.len() as u64);
        self.add(name, start, bytes, written)
    }

    /// Allocates memory at an address; returns `None` if the range overlaps another allocation.
    pub(super) fn allocate_at(&mut self, name: &str, start: u64, bytes: Vec<u8>, written: bool) -> Option<usize> {
        self.layout.reserve_at(start, bytes.len() as u64).then(|| self.add(name, start, bytes, written))
    }

    fn add(&mut self, name: &str, start: u64, bytes: Vec<u8>, written: bool) -> usize {
        let map = WrittenWords { bits: vec![0; bytes.len().div_ceil(256)], unwritten_words: bytes.len().div_ceil(4) };
        let map = (!written && !bytes.is_empty()).then_some(map);
        self.allocations.push(Allocation { name: name.to_owned(), start, bytes, written: map });
        self.unwritten.push(0);
        self.allocations.len() - 1
    }

    /// Frees the memory of an allocation. Its addresses are not reused, so that an access to them is outside of every allocation.
    pub(super) fn release(&mut self, index: usize) {
        let allocation = &mut self.allocations[index];
        (allocation.bytes, allocation.written) = (Vec::new(), None);
        allocation.name += " (freed)";
    }

    /// Returns the allocation that contains all of `bytes` bytes at `address`, for an access by the host, and the byte range in it.
    pub(super) fn span(&mut self, address: u64, bytes: usize) -> Result<(usize, std::ops::Range<usize>), AccessFault> {
        self.locate(address, bytes).map(|(index, offset)| (index, offset..offset + bytes))
    }

    /// Writes bytes from the host.
    pub(super) fn fill(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        let (index, span) = self.span(address, bytes.len())?;
        let allocation = &mut self.allocations[index];
        allocation.mark(span.start, span.len());
        allocation.bytes[span].copy_from_slice(bytes);
        Ok(())
    }

    /// Returns the allocations in the order of their creation.
    pub(super) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Returns the allocation that contains all of `bytes` bytes at `address`, and the offset in it.
    #[inline]
    pub(super) fn locate(&mut self, address: u64, bytes: usize) -> Result<(usize, usize), AccessFault> {
        if let Some(allocation) = self.allocations.get(self.last) {
            let offset = address.wrapping_sub(allocation.start);
            if offset < allocation.bytes.len() as u64 && allocation.bytes.len() - offset as usize >= bytes {
                return Ok((self.last, offset as usize));
            }
        }
        self.search(address, bytes)
    }

    #[cold]
    fn search(&mut self, address: u64, bytes: usize) -> Result<(usize, usize), AccessFault> {
        let holds = |allocation: &Allocation| {
            address >= allocation.start && address.checked_add(bytes as u64).is_some_and(|end| end <= allocation.end())
        };
        if let Some(index) = self.allocations.iter().position(holds) {
            self.last = index;
            return Ok((index, (address - self.allocations[index].start) as usize));
        }
        Err(self.fault_at(address))
    }

    /// Returns the fault of an address, with its closest allocation.
    pub(super) fn fault_at(&self, address: u64) -> AccessFault {
        let distance = |allocation: &Allocation| {
            if address < allocation.start { allocation.start - address } else { address - allocation.end().min(address) }
        };
        let near = self.allocations.iter().min_by_key(|allocation| distance(allocation));
        let near = near.map(|near| (near.name.clone(), address.wrapping_sub(near.start) as i64, near.bytes.len()));
        AccessFault { address, nearest: near }
    }

    /// Reads a number of 1 to 8 bytes.
    #[inline]
    pub(super) fn read(&mut self, address: u64, bytes: usize) -> Result<u64, AccessFault> {
        let (index, offset) = self.locate(address, bytes)?;
        let allocation = &self.allocations[index];
        if let Some(written) = &allocation.written
            && !written.contains(offset / 4)
        {
            self.unwritten[index] += 1;
        }
        let slice = &allocation.bytes[offset..offset + bytes];
        Ok(match *slice {
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => slice.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        })
    }

    /// Writes the low bytes of a number.
    #[inline]
    pub(super) fn write(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), AccessFault> {
        let (index, offset) = self.locate(address, bytes)?;
        let allocation = &mut self.allocations[index];
        allocation.bytes[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        allocation.mark(offset, bytes);
        Ok(())
    }

    /// Returns the bytes from `start` on if one allocation contains them and all of them were written.
    #[inline]
    pub(super) fn window(&mut self, start: u64, bytes: usize) -> Option<&mut [u8]> {
        let (index, offset) = self.locate(start, bytes).ok()?;
        let allocation = &mut self.allocations[index];
        if let Some(written) = &allocation.written {
            let mut words = offset / 4..(offset + bytes).div_ceil(4);
            if words.len() > MAX_CHECKED_WORDS || !words.all(|word| written.contains(word)) {
                return None;
            }
        }
        Some(&mut allocation.bytes[offset..offset + bytes])
    }

    /// Returns the bytes from `start` on if one allocation contains them; marks pieces of `size` bytes at `offsets` from `start` as
    /// written.
    #[inline]
    pub(super) fn window_to_write(
        &mut self,
        start: u64,
        bytes: usize,
        offsets: impl Iterator<Item = usize>,
        size: usize,
    ) -> Option<&mut [u8]> {
        let (index, offset) = self.locate(start, bytes).ok()?;
        let allocation = &mut self.allocations[index];
        if allocation.written.is_some() {
            offsets.for_each(|piece| allocation.mark(offset + piece, size));
        }
        Some(&mut allocation.bytes[offset..offset + bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_outside_of_allocations_name_the_nearest_one() {
        let mut memory = Memory::default();
        let a = memory.allocate("a", vec![1; 100], true);
        memory.allocate("b", vec![2; 8], true);
        let start = memory.allocations()[a].start;
        assert_eq!(memory.read(start + 96, 4), Ok(0x0101_0101));
        let fault = memory.read(start + 97, 4).unwrap_err();
        assert_eq!(fault.nearest, Some(("a".into(), 97, 100)));
        assert!(memory.write(start + 100, 1, 0).is_err());
        assert!(memory.read(u64::MAX, 8).is_err());
        assert!(memory.read(0, 4).is_err());
    }

    #[test]
    fn reads_of_unwritten_words_are_counted() {
        let mut memory = Memory::default();
        let a = memory.allocate("a", vec![0; 1024], false);
        let start = memory.allocations()[a].start;
        memory.write(start + 512, 8, 7).unwrap();
        assert_eq!(memory.read(start + 512, 8), Ok(7));
        assert_eq!(memory.unwritten[a], 0);
        memory.read(start + 520, 4).unwrap();
        assert_eq!(memory.unwritten[a], 1);
    }

    #[test]
    fn allocations_are_aligned_and_do_not_touch() {
        let mut layout = AddressRanges::default();
        let places = [1, 256, 300].map(|size| layout.reserve(size));
        assert!(places.iter().all(|start| start % ALIGNMENT == 0));
        assert!(places[1] >= places[0] + 1 + GUARD_BYTES && places[2] >= places[1] + 256 + GUARD_BYTES);
        assert!(!layout.reserve_at(places[1] + 8, 4) && !layout.reserve_at(u64::MAX, 4) && layout.reserve_at(0x1000, 4));
    }
}
