//! What a write does: a table of the write policies.
//!
//! A policy is a row of [`on_hit`] or [`on_miss`]; the path of a write (`data_write`) does what the row says and knows no policy.

use warpshard_config::machine::{Cache, WriteMiss, WritePolicy};

/// What a write that hits does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct OnHit {
    /// It goes to the next level at once, which answers it; else the cache answers.
    pub(super) sent: bool,
    /// The line keeps what is written; else it forgets the sector.
    pub(super) kept: bool,
}

/// What a write that misses does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct OnMiss {
    /// It fails while no line of its set can make room, whether it takes one or not.
    pub(super) needs_line: bool,
    pub(super) action: Action,
}

/// What becomes of the data of a write that misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum Action {
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
    pub(super) hit: [OnHit; 2],
    pub(super) miss: OnMiss,
    /// Whether what a line takes on a miss goes to the next level, too.
    pub(super) through: bool,
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
