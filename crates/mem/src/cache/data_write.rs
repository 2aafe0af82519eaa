//! The path of a write through a data cache, according to the table of write policies.

use warpshard_base::{Cycle, KernelSectors};

use super::access::{AccessOutcome, AccessStatus, CacheAccess, FailReason, ReplySource, Waiter};
use super::down::{DownstreamKind, DownstreamRequest, segment};
use super::write::{MissAction, MissEffect};
use super::{DataCache, Lookup, Probe};

impl DataCache {
    pub(super) fn write_access(&mut self, access: &CacheAccess, now: Cycle) -> AccessOutcome {
        let probe = self.probe(access);
        let made = match probe.lookup {
            Lookup::Hit => self.write_hit(probe, access, now).map(|reply| (reply, 0)),
            _ => self.write_miss(probe, access, now),
        };
        let (reply, evicted) = match made {
            Ok(made) => made,
            Err(reason) => return AccessOutcome { status: AccessStatus::Fail(reason), reply: ReplySource::None },
        };
        let (status, moved) = match probe.lookup {
            Lookup::Hit => (AccessStatus::Hit, access.sectors.count()),
            Lookup::HitReserved => (AccessStatus::HitReserved, evicted),
            Lookup::SectorMiss => (AccessStatus::SectorMiss, evicted),
            Lookup::Miss | Lookup::NoLine => (AccessStatus::Miss, evicted),
        };
        let cleaned = if self.tags.dirty() > self.dirty_limit { self.clean(access) } else { 0 };
        self.use_data_port(moved + cleaned, now);
        let merges = if access.bytes == u32::MAX { 0 } else { self.spec.merge_cycles };
        if self.spec.write_cycles + merges > 1 {
            self.hold_data_port((self.spec.write_cycles + merges) * access.sectors.count(), now);
        }
        if access.bytes != u32::MAX && self.spec.merge_latency > 0 {
            if self.last_partial_write == access.addr {
                self.hold_data_port(self.spec.merge_latency, now);
            }
            self.last_partial_write = access.addr;
        }
        AccessOutcome { status, reply }
    }

    /// Writes back the oldest modified line in the set of a write; the line stays in the cache and is clean. Does nothing if the miss queue
    /// is full. Returns the number of sectors written back.
    #[cold]
    fn clean(&mut self, access: &CacheAccess) -> u32 {
        let cleaned = if self.check_slots(1).is_ok() { self.tags.clean_oldest(access.set) } else { None };
        self.send_evicted(cleaned, access)
    }

    fn write_hit(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<ReplySource, FailReason> {
        let rule = self.rules.hit[usize::from(access.local)];
        if rule.is_sent {
            self.check_slots(1)?;
            self.send_write(access);
        }
        if rule.keeps_data {
            self.tags.access(probe, access.addr, access.sectors, now.0);
            self.tags.write(probe.line, access.sectors, access.bytes);
        } else {
            self.tags.evict_sector(probe.line, access.sectors);
        }
        Ok(if rule.is_sent { ReplySource::NextLevel } else { ReplySource::Cache })
    }

    /// Performs a write that misses. Returns the source of the reply, and the number of sectors that were written back.
    fn write_miss(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<(ReplySource, u32), FailReason> {
        let MissEffect { needs_line, action } = self.rules.miss;
        if needs_line && probe.lookup == Lookup::NoLine {
            return Err(FailReason::NoLine);
        }
        match action {
            MissAction::Send => {
                self.check_slots(1)?;
                self.send_write(access);
                Ok((ReplySource::NextLevel, 0))
            }
            MissAction::SendAndFetch => self.send_and_fetch(probe, access, now).map(|evicted| (ReplySource::NextLevel, evicted)),
            MissAction::FetchRest if access.bytes != u32::MAX => {
                let evicted = self.fetch_for_write(probe, access, now)?;
                self.tags.modify_on_fill(probe.line, access.sectors, access.bytes);
                Ok((ReplySource::Fill, evicted))
            }
            MissAction::FetchRest | MissAction::Mask => self.take_write(probe, access, now),
        }
    }

    /// Writes into a line that is present or allocated by this write.
    fn take_write(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<(ReplySource, u32), FailReason> {
        let CacheAccess { addr, sectors, bytes, .. } = *access;
        self.check_slots(1)?;
        if self.rules.through {
            self.send_write(access);
        }
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        self.tags.write(probe.line, sectors, bytes);
        self.tags.write_missed(probe.line, sectors, probe.lookup == Lookup::HitReserved);
        let evicted = self.send_evicted(evicted, access);
        Ok((if self.rules.through { ReplySource::NextLevel } else { ReplySource::Cache }, evicted))
    }

    /// Sends the write to the next level, and fetches the missing sectors unless they are already being fetched. As in the reference, both
    /// require an MSHR and three free slots of the miss queue, the most requests that a miss may send. The order is write, fetch,
    /// write-back; the write-back uses the data port (D-013).
    /// Returns the number of sectors that were written back.
    fn send_and_fetch(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<u32, FailReason> {
        self.check_slots(3)?;
        self.check_mshr(self.mshr.find(self.key(access.addr)))?;
        let sectors = if self.spec.sectored { access.sectors } else { segment(access.sectors) };
        self.send_write(&CacheAccess { sectors, ..*access });
        self.fetch_for_write(probe, &CacheAccess { token: Waiter::NoRequest.encode(), ..*access }, now)
    }

    // This function keeps a copy of [`DataCache::fetch`] for writes, separate from the copy that is inlined into the read path.
    fn fetch_for_write(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<u32, FailReason> {
        self.fetch(probe, access, now)
    }

    fn send_write(&mut self, access: &CacheAccess) {
        let CacheAccess { addr, token, bytes, sectors, owner, .. } = *access;
        self.miss_queue.append(DownstreamRequest {
            addr,
            token,
            bytes,
            part: KernelSectors::new(owner.kernel, sectors),
            kind: DownstreamKind::Write,
        });
    }
}
