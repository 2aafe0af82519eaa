//! What the unit waits for, and how that is counted: no credit, no MSHR, no room in a pipe, or a bank conflict in progress.
//!
//! A cycle in which the unit can only try again changes only counters, and the same ones as the cycle before. So at the end of a cycle the
//! unit determines when it can next make progress, and what waits until then ([`Waits`]); it is not stepped before. Waiting is counted when it
//! ends, or when something else waits, whether cycles are stepped or skipped.
//! Invariant: from `uncounted` up to the present the unit was blocked by [`Lsu::waits`]. A reply, a credit and an instruction can
//! end this earlier; they are noted with [`Lsu::look_at`]. Any other code that changes the unit's state calls [`Lsu::wake`] first.

use std::hint::select_unpredictable;

use warpshard_base::Cycle;

use super::super::core::Core;
use super::super::kinds::UnitKind;
use super::super::l1::Refusals;
use super::super::operands::Operands;
use super::token::Token;
use super::{Entry, Lsu, Work, answers};

/// Why the instruction in the unit cannot make an access or leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum Hold {
    /// It makes its way through bank conflicts of shared memory, until it leaves.
    Conflicts,
    /// The pipe of shared memory is full.
    SharedPipe,
    /// The pipe of a bank of the L1 is full.
    Bank,
    /// No credit for an access past the L1.
    Network,
    /// The texture cache has no room.
    Texture,
    /// As many bulk copies are under way as can be.
    Bulk,
    /// As many instructions on shared memory of other CTAs are.
    Remote,
}

/// What waits in a cycle that is stepped, or in each cycle of a span that is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Waits {
    pub(super) hold: Option<Hold>,
    /// Caches whose oldest request has no credit.
    pub(super) requests: u8,
    /// Accesses that the L1 refuses again, by cause.
    pub(super) retries: Refusals,
}

impl Lsu {
    /// The unit is stepped at cycle `at`, if not earlier.
    #[inline]
    pub(in crate::sm) fn look_at(&mut self, at: Cycle) {
        self.next = self.next.min(at);
    }

    /// Whether the next access goes to a bank of the L1 whose pipe has no room.
    #[inline]
    pub(super) fn waits_for_bank(&self) -> bool {
        self.l1.as_ref().is_some_and(|l1| l1.is_full(self.bank))
    }

    /// When the unit does more than try again; a cycle that passed stands for the present.
    #[inline]
    pub(in crate::sm) fn due(&self) -> Cycle {
        self.next
    }

    /// The collectors may have put an instruction before the unit, which takes it in the next cycle if it has none.
    #[inline]
    pub(in crate::sm) fn offer(&mut self, operands: &Operands, now: Cycle) {
        let offered = (operands.ready.taken(UnitKind::Mem) != 0) & self.entry.is_none();
        self.look_at(select_unpredictable(offered, now.next(), Cycle::NEVER));
    }

    /// Determines when the unit does more than try again, `now` or later, if nothing comes from outside, and what waits until then.
    #[inline]
    pub(super) fn look_ahead<const FULL: bool>(&mut self, now: Cycle, core: &mut Core) {
        let can_send = self.net.can_send();
        let mut l1 = self.l1.as_ref().map_or(Cycle::NEVER, |l1| l1.next_event(now, can_send));
        if FULL {
            let stores = self.stores.as_ref().filter(|_| can_send).map_or(Cycle::NEVER, |stores| stores.due(now));
            let prefetch = self.l1.as_ref().filter(|l1| l1.prefetcher.is_some()).map_or(Cycle::NEVER, |l1| l1.next_prefetch().max(now));
            l1 = l1.min(stores).min(prefetch);
        }
        self.next = now;
        if self.answer.is_none() & (l1 > now) {
            let hold = self.hold(now);
            self.next = self.next_event::<FULL>(now, l1, hold);
            if self.next > now {
                self.wait_from(now, self.standing(hold), core);
            }
        }
    }

    /// The first cycle at or after `now` in which the unit does more than try again; `hold` is [`Lsu::hold`], and `l1` the first cycle of the L1.
    #[inline]
    fn next_event<const FULL: bool>(&self, now: Cycle, l1: Cycle, hold: Option<Hold>) -> Cycle {
        let entry = match (&self.entry, hold) {
            (Some(_), None) => return now,
            (Some(entry), Some(Hold::Conflicts)) => entry.leaves,
            _ => Cycle::NEVER,
        };
        let reply = self.net.response().map_or(Cycle::NEVER, |reply| match &self.l1 {
            Some(l1) if matches!(Token::decode(reply.token), Token::Fetch { .. }) => l1.fill_port_free_at(),
            _ => now,
        });
        let elsewhere = if self.elsewhere == 0 { Cycle::NEVER } else { self.answer_from_elsewhere_at(now) };
        let next = entry.min(reply).min(elsewhere).min(l1).max(now);
        if !FULL {
            return next;
        }
        let contexts = self.contexts.as_ref().map_or(Cycle::NEVER, |contexts| contexts.next_event(now, self.net.can_send()));
        let beside = self.beside.as_ref().map_or(u64::MAX, |beside| beside.next_event(now.0, self.net.can_send()));
        next.min(contexts).min(Cycle(beside)).min(self.loads.next_returned()).max(now)
    }

    /// The first cycle at or after `now` in which something other than the L1 has an answer, or the texture cache does anything.
    fn answer_from_elsewhere_at(&self, now: Cycle) -> Cycle {
        if self.elsewhere & 1 << answers::BYPASS != 0 {
            return now;
        }
        let shared = self.shared_pipe.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let texture = self.texture.as_ref().map_or(Cycle::NEVER, |texture| texture.next_event(now, self.net.can_send()));
        shared.min(texture)
    }

    /// What holds the instruction in the unit, if there is one and it cannot make an access or leave.
    #[inline(always)]
    pub(super) fn hold(&self, now: Cycle) -> Option<Hold> {
        match &self.entry {
            None => None,
            // On the way to the L1.
            Some(_) if self.bank != 0 => self.waits_for_bank().then_some(Hold::Bank),
            Some(entry) => self.hold_of(entry, now),
        }
    }

    /// The same for the instruction in the unit, whose next access does not go to a bank of the L1.
    // Apart: asked twice in a cycle, mostly without such an instruction.
    #[inline(never)]
    fn hold_of(&self, entry: &Entry, now: Cycle) -> Option<Hold> {
        match entry.work {
            Work::SharedLoad | Work::SharedStore | Work::Barrier | Work::Remote { .. } if entry.leaves > now => Some(Hold::Conflicts),
            Work::Bulk => self.bulk_is_full().then_some(Hold::Bulk),
            Work::Remote { .. } => self.remote_is_full().then_some(Hold::Remote),
            Work::SharedLoad | Work::Barrier => (self.shared_pipe.len() as u64 == self.shared_latency).then_some(Hold::SharedPipe),
            Work::SharedStore | Work::Nothing => None,
            Work::Load(_) | Work::Store => {
                if self.accesses.is_empty() {
                    None
                } else if entry.texture {
                    self.texture.as_ref().is_some_and(|texture| texture.is_full()).then_some(Hold::Texture)
                } else {
                    (!self.net.can_send()).then_some(Hold::Network)
                }
            }
        }
    }

    /// What waits while the unit is not stepped; `hold` is [`Lsu::hold`].
    #[inline]
    fn standing(&self, hold: Option<Hold>) -> Waits {
        let requests = |queued: Option<usize>| u8::from(queued.is_some_and(|queued| queued > 0) & !self.net.can_send());
        let (l1, texture) = (self.l1.as_ref(), self.texture.as_ref());
        Waits {
            hold,
            requests: requests(l1.map(|l1| l1.queued())) + requests(texture.map(|texture| texture.queued())),
            retries: l1.map_or(Refusals::default(), |l1| l1.retries()),
        }
    }

    /// From cycle `from` on, which is not before the present, `waits` waits.
    #[inline(always)]
    pub(super) fn wait_from(&mut self, from: Cycle, waits: Waits, core: &mut Core) {
        if waits != self.waits {
            self.count_waits(from, core);
            self.waits = waits;
        }
    }

    /// Counts the cycles before `until` that are not counted yet, in each of which the same waited.
    #[inline]
    pub(in crate::sm) fn count_waits(&mut self, until: Cycle, core: &mut Core) {
        let from = std::mem::replace(&mut self.uncounted, until);
        debug_assert!(from <= until, "{}: {from} is counted again after {until}", core.id);
        if self.waits != Waits::default() {
            self.count_span(until.0 - from.0, core);
        }
    }

    /// Counts `cycles` cycles of what waits.
    // Apart: mostly nothing waits.
    #[inline(never)]
    fn count_span(&mut self, cycles: u64, core: &mut Core) {
        let Waits { hold, requests, retries } = self.waits;
        let counters = &mut core.counters.sm;
        let Refusals { line, merge, mshr, queue } = retries;
        counters.l1_retries += cycles * u64::from(retries.total());
        counters.l1_retries_line += cycles * u64::from(line);
        counters.l1_retries_merge += cycles * u64::from(merge);
        counters.l1_retries_mshr += cycles * u64::from(mshr);
        counters.l1_retries_queue += cycles * u64::from(queue);
        counters.network_full_cycles += cycles * u64::from(requests);
        match hold {
            None | Some(Hold::SharedPipe | Hold::Bulk | Hold::Remote) => return,
            Some(Hold::Conflicts) => {}
            Some(Hold::Bank) => counters.l1_bank_conflicts += cycles,
            Some(Hold::Network) => counters.network_full_cycles += cycles,
            Some(Hold::Texture) => {
                if let Some(texture) = &mut self.texture {
                    texture.counters.texture_full_cycles += cycles;
                }
            }
        }
        counters.memory_stall_cycles += cycles;
    }

    /// Something changes in the unit from outside, or may: what it did before `from` is counted, and it looks at everything
    /// anew.
    pub(in crate::sm) fn wake(&mut self, from: Cycle, core: &mut Core) {
        self.count_waits(from, core);
        self.next = from;
        if let Some(l1) = &mut self.l1 {
            l1.admit_all();
        }
    }
}
