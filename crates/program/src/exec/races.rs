//! Detection of races between CTAs: it records the accesses to each byte of device memory and checks that synchronisation orders them.
//!
//! Two CTAs of a launch race if both access a byte, one of them writes it, and not both accesses are atomic or have a scope beyond the CTA.
//! CTAs execute sequentially, so the first one is complete when the second one executes. The accesses count as ordered if the first CTA has
//! executed a fence or an atomic after its access, as it does to pass data on. A write that does not change the bytes is not a race: many
//! CTAs may set the same flag.

use super::super::memory::Memory;
use super::cta::ExecFault;

/// Maximum bytes of a lane's access.
const MAX_LANE_BYTES: usize = 16;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RaceAccess {
    Read,
    Write,
    /// An atomic access, or an access with a scope beyond the CTA.
    Ordered,
}

/// An access to a byte.
#[derive(Clone, Copy, Debug, Default)]
struct ByteAccess {
    /// Number of the CTA over all launches, from 1; 0 for no access.
    cta: u32,
    place: u32,
    /// Fences and atomics that the CTA had executed before the access.
    fences: u32,
}

/// A write that is a race if it changes the bytes.
#[derive(Debug)]
struct PendingWrite {
    lane: usize,
    address: u64,
    before: [u8; MAX_LANE_BYTES],
    bytes: usize,
    fault: ExecFault,
}

/// The accesses to the bytes of device memory.
#[derive(Debug, Default)]
pub(super) struct Races {
    /// Number of the current CTA, counted over all launches, and number of the launch's first CTA.
    cta: u32,
    first: u32,
    /// Fences and atomics of each CTA of the launch.
    fences: Vec<u32>,
    /// For each byte of each allocation the last plain write, and the first plain read of the launch.
    bytes: Vec<Vec<[ByteAccess; 2]>>,
    pending: Vec<PendingWrite>,
}

impl Races {
    /// Starts CTA `index` of a launch.
    pub(super) fn begin(&mut self, index: u32) {
        self.cta += 1;
        if index == 0 {
            self.first = self.cta;
            self.fences.clear();
        }
        self.fences.resize((self.cta - self.first) as usize + 1, 0);
        self.pending.clear();
    }

    /// Counts a fence of the current CTA.
    pub(super) fn fence(&mut self) {
        if let Some(fences) = self.fences.last_mut() {
            *fences += 1;
        }
    }

    /// Records an access of a lane to device memory by the instruction `place`.
    pub(super) fn record_access(
        &mut self,
        access: RaceAccess,
        (lane, place): (usize, usize),
        (address, bytes): (u64, usize),
        memory: &mut Memory,
    ) -> Result<(), ExecFault> {
        // The access itself reports an address outside of all allocations.
        let Ok((index, offset)) = memory.locate(address, bytes) else { return Ok(()) };
        if self.bytes.len() <= index {
            self.bytes.resize_with(index + 1, Vec::new);
        }
        let allocation = &memory.allocations()[index];
        let known = &mut self.bytes[index];
        if known.len() < offset + bytes {
            known.resize(allocation.bytes.len(), Default::default());
        }
        let (cta, first, fences) = (self.cta, self.first, &self.fences);
        let races = |seen: &ByteAccess| seen.cta >= first && seen.cta != cta && fences[(seen.cta - first) as usize] == seen.fences;
        let now = ByteAccess { cta, place: place as u32, fences: fences.last().copied().unwrap_or(0) };
        let mut rival = None;
        for (byte, [written, read]) in known[offset..offset + bytes].iter_mut().enumerate() {
            let with = if access == RaceAccess::Write {
                [&*written, &*read].into_iter().find(|seen| races(seen))
            } else {
                Some(&*written).filter(|seen| races(seen))
            };
            rival = rival.or(with.map(|seen| (offset + byte, *seen)));
            match access {
                RaceAccess::Read if read.cta < first => *read = now,
                RaceAccess::Write => *written = now,
                RaceAccess::Read | RaceAccess::Ordered => {}
            }
        }
        let Some((byte, seen)) = rival else { return Ok(()) };
        let fault = ExecFault::RaceOfCtas { buffer: allocation.name.clone(), byte, cta: seen.cta - first, place: seen.place as usize };
        if access == RaceAccess::Read || bytes > MAX_LANE_BYTES {
            return Err(fault);
        }
        let mut before = [0; MAX_LANE_BYTES];
        before[..bytes].copy_from_slice(&allocation.bytes[offset..offset + bytes]);
        self.pending.push(PendingWrite { lane, address, before, bytes, fault });
        Ok(())
    }

    /// Checks recorded writes after the access has executed; returns an error for a racing write that has changed the bytes.
    pub(super) fn settle(&mut self, memory: &mut Memory) -> Result<(), (usize, ExecFault)> {
        for PendingWrite { lane, address, before, bytes, fault } in self.pending.drain(..) {
            let Ok((index, offset)) = memory.locate(address, bytes) else { continue };
            if memory.allocations()[index].bytes[offset..offset + bytes] != before[..bytes] {
                return Err((lane, fault));
            }
        }
        Ok(())
    }
}
