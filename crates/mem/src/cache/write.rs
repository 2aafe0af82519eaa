//! The effect of a write: a table of the write policies.
//!
//! A policy is a row of [`on_hit`] or [`on_miss`]; the write path (`data_write`) follows the row and does not depend on the policy.

use warpshard_config::machine::{Cache, WriteMiss, WritePolicy};

/// The effect of a write that hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct HitEffect {
    /// True if the write is sent to the next level immediately, which replies to it; else the cache replies.
    pub(super) is_sent: bool,
    /// True if the line keeps the data; else the sector is invalidated.
    pub(super) keeps_data: bool,
}

/// The effect of a write that misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct MissEffect {
    /// True if the write fails while its set has no evictable line, whether it allocates a line or not.
    pub(super) needs_line: bool,
    pub(super) action: MissAction,
}

/// The treatment of the data of a write that misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum MissAction {
    /// The write is sent to the next level, which replies to it.
    Send,
    /// The write is sent to the next level, which replies to it. In addition, the missed sectors are fetched and stay clean.
    SendAndFetch,
    /// The write goes into a line if it covers a sector; else it waits for the rest of the sector.
    FetchRest,
    /// The write goes into a line with a mask of its bytes.
    Mask,
}

/// The write rules of a cache, read from the table once.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct WriteRules {
    /// The rules of hits in global and in local memory.
    pub(super) hit: [HitEffect; 2],
    pub(super) miss: MissEffect,
    /// True if a write that misses and goes into a line is also sent to the next level.
    pub(super) through: bool,
}

/// Returns the effects of a write that hits, in global and in local memory.
const fn on_hit(policy: WritePolicy) -> [HitEffect; 2] {
    const KEEP_LINE: HitEffect = HitEffect { is_sent: false, keeps_data: true };
    const SEND_AND_KEEP_LINE: HitEffect = HitEffect { is_sent: true, keeps_data: true };
    const SEND_AND_EVICT_LINE: HitEffect = HitEffect { is_sent: true, keeps_data: false };
    match policy {
        WritePolicy::Back => [KEEP_LINE, KEEP_LINE],
        WritePolicy::Through => [SEND_AND_KEEP_LINE, SEND_AND_KEEP_LINE],
        WritePolicy::LocalBackGlobalThrough => [SEND_AND_EVICT_LINE, KEEP_LINE],
    }
}

/// Returns the effect of a write that misses.
const fn on_miss(policy: WriteMiss) -> MissEffect {
    match policy {
        WriteMiss::NoAllocate => MissEffect { needs_line: false, action: MissAction::Send },
        WriteMiss::NoAllocateWaits => MissEffect { needs_line: true, action: MissAction::Send },
        WriteMiss::WriteAllocate => MissEffect { needs_line: true, action: MissAction::SendAndFetch },
        WriteMiss::FetchOnWrite => MissEffect { needs_line: true, action: MissAction::FetchRest },
        WriteMiss::LazyFetchOnRead => MissEffect { needs_line: true, action: MissAction::Mask },
    }
}

impl WriteRules {
    /// Returns the write rules of a cache.
    pub(super) const fn of_cache(spec: &Cache) -> Self {
        Self { hit: on_hit(spec.write), miss: on_miss(spec.write_miss), through: matches!(spec.write, WritePolicy::Through) }
    }

    /// Returns the largest number of requests that a miss may send in one cycle, including a write-back.
    pub(super) const fn most_sent(self) -> u32 {
        if matches!(self.miss.action, MissAction::SendAndFetch) { 3 } else { 2 }
    }

    /// Returns true if a write that misses needs a line.
    pub(super) const fn allocates(self) -> bool {
        !matches!(self.miss, MissEffect { needs_line: false, .. })
    }

    /// Returns true if a line may hold a part of a sector without the rest, which is fetched by the next read.
    pub(super) const fn fetches_later(self) -> bool {
        matches!(self.miss.action, MissAction::Mask)
    }

    /// Returns true if modified lines are written back at eviction; else their data was written through before.
    #[inline]
    pub(super) const fn writes_back(self) -> bool {
        !self.through
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_is_kept_and_not_sent_is_written_back() {
        for policy in [WritePolicy::Back, WritePolicy::Through, WritePolicy::LocalBackGlobalThrough] {
            let through = policy == WritePolicy::Through;
            let stays = on_hit(policy).iter().any(|rule| rule.keeps_data && !rule.is_sent);
            assert_eq!(stays, !through, "{policy:?}: data that stays in the cache is written back at the eviction of its line");
        }
    }
}
