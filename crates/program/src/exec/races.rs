//! Races of CTAs: which of them accesses which byte of device memory, and whether anything orders two accesses.
//!
//! Two CTAs of a launch race when both access a byte, one of them writes it, and not both accesses are atomic or of a scope beyond the CTA. CTAs execute one after
//! the other, so that the first of the two is complete when the second comes; it is taken for ordered where it has executed a fence or an atomic after its
//! access, as it does to hand data on. A write that leaves the bytes as they are is none: many CTAs may set the same flag.

use super::super::memory::Memory;
use super::cta::Trouble;

/// Most bytes of an access of a lane.
const BYTES: usize = 16;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Atomic, or with a scope beyond the CTA.
    Ordered,
}

/// An access to a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The number of the CTA over all launches, from 1; 0 for none.
    cta: u32,
    place: u32,
    /// How many fences and atomics it had executed.
    fences: u32,
}

/// A write that races if it changes what is there.
#[derive(Debug)]
struct Pending {
    lane: usize,
    address: u64,
    before: [u8; BYTES],
    bytes: usize,
    trouble: Trouble,
}

/// What is known of the bytes of device memory.
#[derive(Debug, Default)]
pub(super) struct Races {
    /// The number of the present CTA, of the launch's first one, and of all that have begun.
    cta: u32,
    first: u32,
    /// Fences and atomics of each CTA of the launch.
    fences: Vec<u32>,
    /// By allocation: of each byte the last plain write, and the first plain read of the launch.
    bytes: Vec<Vec<[Seen; 2]>>,
    pending: Vec<Pending>,
}

impl Races {
    /// CTA `index` of a launch begins.
    pub(super) fn begin(&mut self, index: u32) {
        self.cta += 1;
        if index == 0 {
            self.first = self.cta;
            self.fences.clear();
        }
        self.fences.resize((self.cta - self.first) as usize + 1, 0);
        self.pending.clear();
    }

    /// The present CTA executes a fence.
    pub(super) fn fence(&mut self) {
        if let Some(fences) = self.fences.last_mut() {
            *fences += 1;
        }
    }

    /// A lane accesses device memory, at this place of the code.
    pub(super) fn note(
        &mut self,
        access: Access,
        (lane, place): (usize, usize),
        (address, bytes): (u64, usize),
        memory: &mut Memory,
    ) -> Result<(), Trouble> {
        // What lies outside is reported by the access itself.
        let Ok((index, offset)) = memory.place(address, bytes) else { return Ok(()) };
        if self.bytes.len() <= index {
            self.bytes.resize_with(index + 1, Vec::new);
        }
        let allocation = &memory.allocations()[index];
        let known = &mut self.bytes[index];
        if known.len() < offset + bytes {
            known.resize(allocation.bytes.len(), Default::default());
        }
        let (cta, first, fences) = (self.cta, self.first, &self.fences);
        let races = |seen: &Seen| seen.cta >= first && seen.cta != cta && fences[(seen.cta - first) as usize] == seen.fences;
        let now = Seen { cta, place: place as u32, fences: fences.last().copied().unwrap_or(0) };
        let mut rival = None;
        for (byte, [written, read]) in known[offset..offset + bytes].iter_mut().enumerate() {
            let with = if access == Access::Write {
                [&*written, &*read].into_iter().find(|seen| races(seen))
            } else {
                Some(&*written).filter(|seen| races(seen))
            };
            rival = rival.or(with.map(|seen| (offset + byte, *seen)));
            match access {
                Access::Read if read.cta < first => *read = now,
                Access::Write => *written = now,
                Access::Read | Access::Ordered => {}
            }
        }
        let Some((byte, seen)) = rival else { return Ok(()) };
        let trouble = Trouble::RaceOfCtas { buffer: allocation.name.clone(), byte, cta: seen.cta - first, place: seen.place as usize };
        if access == Access::Read || bytes > BYTES {
            return Err(trouble);
        }
        let mut before = [0; BYTES];
        before[..bytes].copy_from_slice(&allocation.bytes[offset..offset + bytes]);
        self.pending.push(Pending { lane, address, before, bytes, trouble });
        Ok(())
    }

    /// The access is executed: `Err` for a write that has changed something.
    pub(super) fn settle(&mut self, memory: &mut Memory) -> Result<(), (usize, Trouble)> {
        for Pending { lane, address, before, bytes, trouble } in self.pending.drain(..) {
            let Ok((index, offset)) = memory.place(address, bytes) else { continue };
            if memory.allocations()[index].bytes[offset..offset + bytes] != before[..bytes] {
                return Err((lane, trouble));
            }
        }
        Ok(())
    }
}
