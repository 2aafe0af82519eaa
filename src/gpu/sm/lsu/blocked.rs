//! Spans in which the unit can only retry: no credit, no MSHR, no room in a pipe, or a bank conflict in progress.
//!
//! Such a cycle changes only counters, and the same ones as the cycle before. So at the end of a cycle the unit determines
//! when it can next make progress, is not stepped before, and then counts the skipped cycles at once.
//! Invariant: from `uncounted` up to the present the unit was blocked, and what [`Lsu::count_blocked`] reads of it has not
//! changed. A reply, a credit and an instruction can end this earlier; they are noted with [`Lsu::look_at`]. Any other code that
//! changes the unit's state calls [`Lsu::wake`] first.

use std::hint::select_unpredictable;

use crate::base::Cycle;

use super::super::core::Core;
use super::super::kinds::UnitKind;
use super::super::operands::Operands;
use super::token::Token;
use super::{Entry, Lsu, Work};

/// Why the instruction in the unit cannot leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// It makes its way through bank conflicts until that cycle.
    Conflicts(Cycle),
    /// The pipe of shared memory is full.
    SharedPipe,
    /// No credit for an access past the L1.
    Network,
    /// The texture cache has no room.
    Texture,
}

impl Lsu {
    /// The unit is stepped at cycle `at`, if not earlier.
    #[inline]
    pub(in crate::gpu::sm) fn look_at(&mut self, at: Cycle) {
        self.next = self.next.min(at);
    }

    /// Whether the next access goes to a bank of the L1 whose pipe has no room.
    #[inline]
    pub(super) fn waits_for_bank(&self) -> bool {
        self.l1.as_ref().is_some_and(|l1| l1.is_full(self.bank))
    }

    /// When the unit does more than try again; a cycle that passed stands for the present.
    #[inline]
    pub(in crate::gpu::sm) fn due(&self) -> Cycle {
        self.next
    }

    /// The collectors may have put an instruction before the unit, which takes it in the next cycle if it has none.
    #[inline]
    pub(in crate::gpu::sm) fn offer(&mut self, operands: &Operands, now: Cycle) {
        let offered = (operands.ready.taken(UnitKind::Mem) != 0) & self.entry.is_none();
        self.look_at(select_unpredictable(offered, now.next(), Cycle::NEVER));
    }

    /// The first cycle at or after `now` in which the unit does more than try again, if nothing comes from outside.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        let l1 = self.l1.as_ref().map_or(Cycle::NEVER, |l1| l1.next_event(now, self.net.can_send()));
        if self.answer.is_some() | (l1 == now) {
            return now;
        }
        let entry = match &self.entry {
            None => Cycle::NEVER,
            Some(_) if self.waits_for_bank() => Cycle::NEVER,
            Some(entry) => match self.hold(entry, now) {
                None => return now,
                Some(Hold::Conflicts(until)) => until,
                Some(_) => Cycle::NEVER,
            },
        };
        let reply = self.net.response().map_or(Cycle::NEVER, |reply| match &self.l1 {
            Some(l1) if matches!(Token::decode(reply.token), Token::Fetch { .. }) => l1.fill_port_free_at(),
            _ => now,
        });
        let elsewhere = if self.elsewhere == 0 { Cycle::NEVER } else { self.answer_from_elsewhere_at(now) };
        let contexts = self.contexts.as_ref().map_or(Cycle::NEVER, |contexts| contexts.next_event(now, self.net.can_send()));
        entry.min(reply).min(elsewhere).min(l1).min(contexts).min(self.loads.next_returned()).max(now)
    }

    /// The first cycle at or after `now` in which something other than the L1 has an answer, or the texture cache does anything.
    fn answer_from_elsewhere_at(&self, now: Cycle) -> Cycle {
        if self.bypassed.is_some() {
            return now;
        }
        let shared = self.shared_pipe.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let texture = self.texture.as_ref().map_or(Cycle::NEVER, |texture| texture.next_event(now, self.net.can_send()));
        shared.min(texture)
    }

    /// What holds the instruction in the unit, if it cannot make an access or leave; a bank of the L1 does not.
    #[inline]
    fn hold(&self, entry: &Entry, now: Cycle) -> Option<Hold> {
        match entry.work {
            Work::SharedLoad | Work::SharedStore if entry.leaves > now => Some(Hold::Conflicts(entry.leaves)),
            Work::SharedLoad => (self.shared_pipe.len() as u64 == self.shared_latency).then_some(Hold::SharedPipe),
            Work::SharedStore | Work::Nothing => None,
            Work::Load(_) | Work::Store => {
                if self.bank != 0 || self.accesses.is_empty() {
                    return None;
                }
                if entry.texture {
                    self.texture.as_ref().is_some_and(|texture| texture.is_full()).then_some(Hold::Texture)
                } else {
                    (!self.net.can_send()).then_some(Hold::Network)
                }
            }
        }
    }

    /// Counts the blocked cycles before `until` that are not counted yet.
    #[inline]
    pub(in crate::gpu::sm) fn count_blocked(&mut self, until: Cycle, core: &mut Core) {
        let cycles = until.0 - self.uncounted.0;
        if cycles == 0 {
            return;
        }
        let counters = &mut core.counters.sm;
        if let Some(l1) = &self.l1 {
            counters.l1_retries += cycles * l1.retries();
            counters.network_full_cycles += cycles * u64::from(l1.queued() > 0);
        }
        if let Some(texture) = &self.texture {
            counters.network_full_cycles += cycles * u64::from(texture.queued() > 0);
        }
        if let Some(entry) = &self.entry {
            match entry.work {
                Work::SharedLoad | Work::SharedStore => {
                    // The last cycle of an access may be followed by cycles in which the next pipe is full.
                    counters.memory_stall_cycles += until.min(entry.leaves).0.saturating_sub(self.uncounted.0);
                }
                Work::Load(_) | Work::Store => {
                    counters.memory_stall_cycles += cycles;
                    if let (true, Some(texture)) = (entry.texture, &mut self.texture) {
                        texture.counters.texture_full_cycles += cycles;
                    } else if entry.bypass {
                        counters.network_full_cycles += cycles;
                    } else {
                        counters.l1_bank_conflicts += cycles;
                    }
                }
                Work::Nothing => {}
            }
        }
        self.uncounted = until;
    }

    /// Something changes in the unit from outside, or may: what it did before `from` is counted, and it looks at everything
    /// anew.
    pub(in crate::gpu::sm) fn wake(&mut self, from: Cycle, core: &mut Core) {
        self.count_blocked(from, core);
        self.next = from;
        if let Some(l1) = &mut self.l1 {
            l1.admit_all();
        }
    }
}
