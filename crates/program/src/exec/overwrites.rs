//! Detection of stores that overwrite bytes which their CTA has read.
//!
//! A CTA may be re-executed from its start while all its inputs are unchanged: until its first atomic, and until its first store to a byte
//! that it has read before writing it itself (Park et al., "Chimera", ASPLOS 2015: the relaxed condition of idempotence). A compiler must
//! find these stores statically; here the program is executed.

use std::collections::BTreeSet;

use super::super::memory::Memory;

/// The accesses to each byte of device memory, by allocation: the last CTA that read the byte before writing it, and the last CTA that
/// wrote it.
#[derive(Debug, Default)]
pub(super) struct Overwrites {
    /// Number of the current CTA, from 1.
    cta: u32,
    bytes: Vec<Vec<[u32; 2]>>,
    /// Instruction indices of the current CTA's atomics, and of its stores that overwrite bytes which it has read.
    pub(super) places: BTreeSet<u32>,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
}

impl Overwrites {
    /// Starts another CTA.
    pub(super) fn begin(&mut self) {
        self.cta += 1;
        self.places.clear();
    }

    /// Records an access of a lane to global memory.
    pub(super) fn record_access(&mut self, does: AccessKind, place: usize, address: u64, bytes: usize, memory: &mut Memory) {
        if does == AccessKind::Atomic {
            self.places.insert(place as u32);
        }
        // The access itself reports an address outside of all allocations.
        let Ok((index, offset)) = memory.locate(address, bytes) else { return };
        if self.bytes.len() <= index {
            self.bytes.resize_with(index + 1, Vec::new);
        }
        let known = &mut self.bytes[index];
        if known.len() < offset + bytes {
            known.resize(memory.allocations()[index].bytes.len(), [0; 2]);
        }
        let mut overwrites = false;
        for [read, written] in &mut known[offset..offset + bytes] {
            if does == AccessKind::Read {
                if *written != self.cta {
                    *read = self.cta;
                }
            } else {
                overwrites |= *read == self.cta;
                *written = self.cta;
            }
        }
        if overwrites {
            self.places.insert(place as u32);
        }
    }
}
