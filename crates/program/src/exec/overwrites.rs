//! Which stores of a CTA overwrite what it has read.
//!
//! A CTA may be executed anew from its beginning as long as it finds everything that it reads as it was: until its first atomic, and until its first
//! store to a byte that it has read before it wrote it itself (Park et al., "Chimera", ASPLOS 2015: the relaxed condition of idempotence; a compiler has to
//! find these places, here the program is executed).

use std::collections::BTreeSet;

use super::super::memory::Memory;

/// What is known of the bytes of device memory, by allocation: the number of the last CTA that read a byte before it wrote it, and of that which wrote it.
#[derive(Debug, Default)]
pub(super) struct Overwrites {
    /// The number of the present CTA, from 1.
    cta: u32,
    bytes: Vec<Vec<[u32; 2]>>,
    /// Places of stores that overwrote what the present CTA had read, and of its atomics.
    pub(super) places: BTreeSet<u32>,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Write,
    Atomic,
}

impl Overwrites {
    /// Another CTA begins.
    pub(super) fn begin(&mut self) {
        self.cta += 1;
        self.places.clear();
    }

    /// A lane accesses global memory.
    pub(super) fn note(&mut self, does: Does, place: usize, address: u64, bytes: usize, memory: &mut Memory) {
        if does == Does::Atomic {
            self.places.insert(place as u32);
        }
        // What lies outside is reported by the access itself.
        let Ok((index, offset)) = memory.place(address, bytes) else { return };
        if self.bytes.len() <= index {
            self.bytes.resize_with(index + 1, Vec::new);
        }
        let known = &mut self.bytes[index];
        if known.len() < offset + bytes {
            known.resize(memory.allocations()[index].bytes.len(), [0; 2]);
        }
        let mut overwrites = false;
        for [read, written] in &mut known[offset..offset + bytes] {
            if does == Does::Read {
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
