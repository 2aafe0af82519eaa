//! What a write does: a table of the write policies, and the path of a write by its row.
//!
//! A policy is a row of [`on_hit`] or [`on_miss`]; the path below does what the row says and knows no policy.

use warpshard_base::Cycle;
use warpshard_config::machine::{Cache, WriteMiss, WritePolicy};

use super::access::{Access, Answer, FailReason, Outcome, Status, Waiter};
use super::down::{Down, DownKind, segment};
use super::{DataCache, Lookup, Probe};

/// What a write that hits does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
struct OnHit {
    /// It goes to the next level at once, which answers it; else the cache answers.
    sent: bool,
    /// The line keeps what is written; else it forgets the sector.
    kept: bool,
}

/// What a write that misses does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
struct OnMiss {
    /// It fails while no line of its set can make room, whether it takes one or not.
    needs_line: bool,
    action: Action,
}

/// What becomes of the data of a write that misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Action {
    /// It goes to the next level, which answers it.
    Send,
    /// It goes to the next level, which answers it; besides, what it missed is fetched and stays clean.
    SendAndFetch,
    /// A line takes it, where it covers a sector; else it waits for the rest of the sector.
    FetchRest,
    /// A line takes it with a mask of its bytes.
    Mask,
}

/// The rules of a cache, read off the table once.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Rules {
    /// For global and for local memory.
    hit: [OnHit; 2],
    miss: OnMiss,
    /// Whether what a line takes on a miss goes to the next level, too.
    through: bool,
}

/// What a write that hits does, in global and in local memory.
const fn on_hit(policy: WritePolicy) -> [OnHit; 2] {
    const STAY: OnHit = OnHit { sent: false, kept: true };
    const PASS: OnHit = OnHit { sent: true, kept: true };
    const EVICT: OnHit = OnHit { sent: true, kept: false };
    match policy {
        WritePolicy::Back => [STAY, STAY],
        WritePolicy::Through => [PASS, PASS],
        WritePolicy::LocalBackGlobalThrough => [EVICT, STAY],
    }
}

/// The rows of misses.
const fn on_miss(policy: WriteMiss) -> OnMiss {
    match policy {
        WriteMiss::NoAllocate => OnMiss { needs_line: false, action: Action::Send },
        WriteMiss::NoAllocateWaits => OnMiss { needs_line: true, action: Action::Send },
        WriteMiss::WriteAllocate => OnMiss { needs_line: true, action: Action::SendAndFetch },
        WriteMiss::FetchOnWrite => OnMiss { needs_line: true, action: Action::FetchRest },
        WriteMiss::LazyFetchOnRead => OnMiss { needs_line: true, action: Action::Mask },
    }
}

impl Rules {
    /// Those of a cache.
    pub(super) const fn of(spec: &Cache) -> Self {
        Self { hit: on_hit(spec.write), miss: on_miss(spec.write_miss), through: matches!(spec.write, WritePolicy::Through) }
    }

    /// Requests that a miss may send at once, a line written back among them.
    pub(super) const fn most_sent(self) -> u32 {
        if matches!(self.miss.action, Action::SendAndFetch) { 3 } else { 2 }
    }

    /// Whether a write that misses takes a line.
    pub(super) const fn allocates(self) -> bool {
        !matches!(self.miss, OnMiss { needs_line: false, .. })
    }

    /// Whether a line takes a part of a sector without the rest, which is fetched when it is read.
    pub(super) const fn fetches_later(self) -> bool {
        matches!(self.miss.action, Action::Mask)
    }

    /// Whether modified lines are written back when they make room; else what they hold went on before.
    #[inline]
    pub(super) const fn writes_back(self) -> bool {
        !self.through
    }
}

impl DataCache {
    pub(super) fn write_access(&mut self, access: &Access, now: Cycle) -> Outcome {
        let probe = self.probe(access);
        let made = match probe.lookup {
            Lookup::Hit => self.write_hit(probe, access, now).map(|answer| (answer, 0)),
            _ => self.write_miss(probe, access, now),
        };
        let (answer, evicted) = match made {
            Ok(made) => made,
            Err(reason) => return Outcome { status: Status::Fail(reason), answer: Answer::None },
        };
        let (status, moved) = match probe.lookup {
            Lookup::Hit => (Status::Hit, access.sectors.count()),
            Lookup::HitReserved => (Status::HitReserved, evicted),
            Lookup::SectorMiss => (Status::SectorMiss, evicted),
            Lookup::Miss | Lookup::NoLine => (Status::Miss, evicted),
        };
        self.use_data_port(moved, now);
        Outcome { status, answer }
    }

    fn write_hit(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<Answer, FailReason> {
        let rule = self.rules.hit[usize::from(access.local)];
        if rule.sent {
            self.room(1)?;
            self.send_write(access);
        }
        if rule.kept {
            self.tags.access(probe, access.addr, access.sectors, now.0);
            self.tags.write(probe.line, access.sectors, access.bytes);
        } else {
            self.tags.evict_sector(probe.line, access.sectors);
        }
        Ok(if rule.sent { Answer::FromBelow } else { Answer::Now })
    }

    /// Returns who answers, and the sectors that were written back.
    fn write_miss(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<(Answer, u32), FailReason> {
        let OnMiss { needs_line, action } = self.rules.miss;
        if needs_line && probe.lookup == Lookup::NoLine {
            return Err(FailReason::NoLine);
        }
        match action {
            Action::Send => {
                self.room(1)?;
                self.send_write(access);
                Ok((Answer::FromBelow, 0))
            }
            Action::SendAndFetch => self.send_and_fetch(probe, access, now).map(|evicted| (Answer::FromBelow, evicted)),
            Action::FetchRest if access.bytes != u32::MAX => {
                let evicted = self.fetch_for_write(probe, access, now)?;
                self.tags.modify_on_fill(probe.line, access.sectors, access.bytes);
                Ok((Answer::AtFill, evicted))
            }
            Action::FetchRest | Action::Mask => self.take_write(probe, access, now),
        }
    }

    /// A line takes the write.
    fn take_write(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<(Answer, u32), FailReason> {
        let Access { addr, sectors, bytes, token, .. } = *access;
        self.room(1)?;
        if self.rules.through {
            self.send_write(access);
        }
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        self.tags.write(probe.line, sectors, bytes);
        self.tags.write_missed(probe.line, sectors, probe.lookup == Lookup::HitReserved);
        let evicted = self.send_evicted(evicted, token);
        Ok((if self.rules.through { Answer::FromBelow } else { Answer::Now }, evicted))
    }

    /// Sends the write on, and fetches what it missed unless that is already on its way; either asks for room in the MSHR, and
    /// for the three requests that a miss may send, as the reference does. The order is write, fetch, write-back; the last takes the
    /// data port (D-013).
    /// Returns the sectors that were written back.
    fn send_and_fetch(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<u32, FailReason> {
        self.room(3)?;
        self.mshr_takes(self.mshr.find(self.key(access.addr)))?;
        let sectors = if self.spec.sectored { access.sectors } else { segment(access.sectors) };
        self.send_write(&Access { sectors, ..*access });
        self.fetch_for_write(probe, &Access { token: Waiter::Nobody.encode(), ..*access }, now)
    }

    // Apart from what reads do, whose every miss is a fetch.
    fn fetch_for_write(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<u32, FailReason> {
        self.fetch(probe, access, now)
    }

    fn send_write(&mut self, access: &Access) {
        let Access { addr, token, bytes, sectors, .. } = *access;
        self.miss_queue.append(Down { addr, token, bytes, sectors, kind: DownKind::Write });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_not_sent_is_written_back() {
        for policy in [WritePolicy::Back, WritePolicy::Through, WritePolicy::LocalBackGlobalThrough] {
            let through = policy == WritePolicy::Through;
            let stays = on_hit(policy).iter().any(|rule| rule.kept && !rule.sent);
            assert_eq!(stays, !through, "{policy:?}: what stays in the cache leaves it when its line makes room");
        }
    }
}
