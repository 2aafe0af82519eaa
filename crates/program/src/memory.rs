//! Device memory: a space of 64 bits in which only what was allocated exists.
//!
//! Input and output are device addresses and bytes. An access outside of every allocation is a [`Fault`]; reading what nobody has
//! written is counted. Pages that are never touched cost nothing: the host's operating system supplies zeroed ones on first use.

use warpshard_state::{Reader, State, StateError, Writer};

/// First address that is given out.
const FIRST: u64 = 0x7f20_0000_0000;
/// Allocations begin at multiples of this, as those of cudaMalloc do.
const ALIGNMENT: u64 = 256;
/// What lies between two allocations at least, so that an access just beyond the end of one is seen.
const GUARD: u64 = 256;

/// Most words of an access whose having been written is looked at at once.
const LOOKED_AT: usize = 512;

/// Something that was allocated.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
    /// The words that were written, where not all were.
    written: Option<Written>,
}

/// Which words of an allocation were written.
#[derive(Clone, Debug, warpshard_state::State)]
struct Written {
    bits: Vec<u64>,
    /// Words that were not.
    left: usize,
}

impl Written {
    #[inline]
    fn holds(&self, word: usize) -> bool {
        self.bits[word / 64] >> (word % 64) & 1 != 0
    }

    #[inline]
    fn mark(&mut self, word: usize) {
        let bit = 1 << (word % 64);
        self.left -= usize::from(self.bits[word / 64] & bit == 0);
        self.bits[word / 64] |= bit;
    }
}

impl Allocation {
    /// Whether all of it was written.
    pub(super) fn is_written(&self) -> bool {
        self.written.is_none()
    }

    /// Notes that bytes were written.
    #[inline]
    fn mark(&mut self, offset: usize, bytes: usize) {
        if let Some(written) = &mut self.written {
            (offset / 4..(offset + bytes).div_ceil(4)).for_each(|word| written.mark(word));
            if written.left == 0 {
                self.written = None;
            }
        }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Bytes of a piece of memory that is left out of a checkpoint where it holds zeros alone.
const PIECE: usize = 4096;

impl State for Allocation {
    fn save(&self, to: &mut Writer) {
        let Self { name, start, bytes, written } = self;
        name.save(to);
        start.save(to);
        written.save(to);
        bytes.len().save(to);
        let pieces: Vec<(usize, &[u8])> =
            bytes.chunks(PIECE).enumerate().filter(|(_, piece)| piece.iter().any(|byte| *byte != 0)).collect();
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
            let Some(piece) = bytes.chunks_mut(PIECE).nth(number) else {
                return Err(StateError::new(format!("an allocation of {length} bytes has no piece {number}")));
            };
            piece.copy_from_slice(from.raw(piece.len())?);
        }
        Ok(Self { name, start, bytes, written })
    }
}

/// Where allocations lie.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Layout {
    /// First address and the one after the last.
    spans: Vec<(u64, u64)>,
    next: u64,
}

impl Layout {
    /// A place for so many bytes: where the allocation begins.
    pub(super) fn place(&mut self, bytes: u64) -> u64 {
        let start = self.next.max(FIRST).next_multiple_of(ALIGNMENT);
        self.place_at(start, bytes);
        start
    }

    /// Takes a certain place; false where another allocation lies.
    pub(super) fn place_at(&mut self, start: u64, bytes: u64) -> bool {
        let Some(end) = start.checked_add(bytes) else { return false };
        if self.spans.iter().any(|other| start < other.1 && other.0 < end) {
            return false;
        }
        if end > FIRST {
            self.next = self.next.max(end.saturating_add(GUARD));
        }
        self.spans.push((start, end));
        true
    }
}

/// All of device memory.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Memory {
    allocations: Vec<Allocation>,
    layout: Layout,
    /// The allocation that was used last.
    last: usize,
    /// Words that were read before they were written, by allocation.
    pub(super) unwritten: Vec<u64>,
}

/// An access that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) address: u64,
    /// The closest allocation: its name, and the offset from its start.
    pub(super) near: Option<(String, i64, usize)>,
}

impl Memory {
    /// Allocates memory with contents; `written` says whether they count as written.
    pub(super) fn allocate(&mut self, name: &str, bytes: Vec<u8>, written: bool) -> usize {
        let start = self.layout.place(bytes.len() as u64);
        self.add(name, start, bytes, written)
    }

    /// Allocates memory at a place; `None` where another allocation lies.
    pub(super) fn allocate_at(&mut self, name: &str, start: u64, bytes: Vec<u8>, written: bool) -> Option<usize> {
        self.layout.place_at(start, bytes.len() as u64).then(|| self.add(name, start, bytes, written))
    }

    fn add(&mut self, name: &str, start: u64, bytes: Vec<u8>, written: bool) -> usize {
        let map = Written { bits: vec![0; bytes.len().div_ceil(256)], left: bytes.len().div_ceil(4) };
        let map = (!written && !bytes.is_empty()).then_some(map);
        self.allocations.push(Allocation { name: name.to_owned(), start, bytes, written: map });
        self.unwritten.push(0);
        self.allocations.len() - 1
    }

    /// Gives the memory of an allocation back: its place stays empty, so that an access to it is one outside of every allocation.
    pub(super) fn release(&mut self, index: usize) {
        let allocation = &mut self.allocations[index];
        (allocation.bytes, allocation.written) = (Vec::new(), None);
        allocation.name += " (freed)";
    }

    /// The allocation that holds all of `bytes` bytes at `address`, as the host sees it, and the offset in it.
    pub(super) fn span(&mut self, address: u64, bytes: usize) -> Result<(usize, std::ops::Range<usize>), Fault> {
        self.place(address, bytes).map(|(index, offset)| (index, offset..offset + bytes))
    }

    /// Writes bytes from the host.
    pub(super) fn fill(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let (index, span) = self.span(address, bytes.len())?;
        let allocation = &mut self.allocations[index];
        allocation.mark(span.start, span.len());
        allocation.bytes[span].copy_from_slice(bytes);
        Ok(())
    }

    /// The allocations in the order in which they were made.
    pub(super) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The allocation that holds all of `bytes` bytes at `address`, and the offset in it.
    #[inline]
    pub(super) fn place(&mut self, address: u64, bytes: usize) -> Result<(usize, usize), Fault> {
        if let Some(allocation) = self.allocations.get(self.last) {
            let offset = address.wrapping_sub(allocation.start);
            if offset < allocation.bytes.len() as u64 && allocation.bytes.len() - offset as usize >= bytes {
                return Ok((self.last, offset as usize));
            }
        }
        self.search(address, bytes)
    }

    #[cold]
    fn search(&mut self, address: u64, bytes: usize) -> Result<(usize, usize), Fault> {
        let holds = |allocation: &Allocation| {
            address >= allocation.start && address.checked_add(bytes as u64).is_some_and(|end| end <= allocation.end())
        };
        if let Some(index) = self.allocations.iter().position(holds) {
            self.last = index;
            return Ok((index, (address - self.allocations[index].start) as usize));
        }
        Err(self.near(address))
    }

    /// The closest allocation to an address.
    pub(super) fn near(&self, address: u64) -> Fault {
        let distance = |allocation: &Allocation| {
            if address < allocation.start { allocation.start - address } else { address - allocation.end().min(address) }
        };
        let near = self.allocations.iter().min_by_key(|allocation| distance(allocation));
        let near = near.map(|near| (near.name.clone(), address.wrapping_sub(near.start) as i64, near.bytes.len()));
        Fault { address, near }
    }

    /// Reads a number of 1 to 8 bytes.
    #[inline]
    pub(super) fn read(&mut self, address: u64, bytes: usize) -> Result<u64, Fault> {
        let (index, offset) = self.place(address, bytes)?;
        let allocation = &self.allocations[index];
        if let Some(written) = &allocation.written
            && !written.holds(offset / 4)
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
    pub(super) fn write(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Fault> {
        let (index, offset) = self.place(address, bytes)?;
        let allocation = &mut self.allocations[index];
        allocation.bytes[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        allocation.mark(offset, bytes);
        Ok(())
    }

    /// The bytes from `start` on, if one allocation holds them and all of them were written.
    #[inline]
    pub(super) fn window(&mut self, start: u64, bytes: usize) -> Option<&mut [u8]> {
        let (index, offset) = self.place(start, bytes).ok()?;
        let allocation = &mut self.allocations[index];
        if let Some(written) = &allocation.written {
            let mut words = offset / 4..(offset + bytes).div_ceil(4);
            if words.len() > LOOKED_AT || !words.all(|word| written.holds(word)) {
                return None;
            }
        }
        Some(&mut allocation.bytes[offset..offset + bytes])
    }

    /// The bytes from `start` on, if one allocation holds them; pieces of `size` bytes at `offsets` from there are noted as written.
    #[inline]
    pub(super) fn window_to_write(
        &mut self,
        start: u64,
        bytes: usize,
        offsets: impl Iterator<Item = usize>,
        size: usize,
    ) -> Option<&mut [u8]> {
        let (index, offset) = self.place(start, bytes).ok()?;
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
        assert_eq!(fault.near, Some(("a".into(), 97, 100)));
        assert!(memory.write(start + 100, 1, 0).is_err());
        assert!(memory.read(u64::MAX, 8).is_err());
        assert!(memory.read(0, 4).is_err());
    }

    #[test]
    fn words_that_nobody_wrote_are_counted_when_they_are_read() {
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
        let mut layout = Layout::default();
        let places = [1, 256, 300].map(|size| layout.place(size));
        assert!(places.iter().all(|start| start % ALIGNMENT == 0));
        assert!(places[1] >= places[0] + 1 + GUARD && places[2] >= places[1] + 256 + GUARD);
        assert!(!layout.place_at(places[1] + 8, 4) && !layout.place_at(u64::MAX, 4) && layout.place_at(0x1000, 4));
    }
}
