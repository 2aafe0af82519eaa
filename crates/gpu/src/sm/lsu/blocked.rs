//! Stalls of the unit and their counters: no credit, no MSHR, a full pipe, or a bank conflict in progress.
//!
//! A cycle in which the unit can only retry changes only counters, and the same ones as the cycle before. At the end of a cycle the unit
//! therefore determines the next cycle in which it can make progress, and the stalls until then ([`CycleStalls`]); it is not stepped before.
//! Stalls are counted when they end or change, whether cycles are stepped or skipped.
//! Invariant: from `uncounted` up to the present the unit was blocked by [`Lsu::stalls`]. A reply, a credit and an instruction can end this
//! earlier; they are recorded with [`Lsu::step_at`]. Any other code that changes the state of the unit calls [`Lsu::wake`] first.

use std::hint::select_unpredictable;

use warpshard_base::Cycle;

use super::super::core::Core;
use super::super::kinds::UnitKind;
use super::super::l1::Refusals;
use super::super::operands::OperandCollectors;
use super::token::ReplyToken;
use super::{Lsu, LsuEntry, LsuWork, pending_results};

/// Reasons why the instruction in the unit cannot make an access or leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum HoldReason {
    /// The instruction resolves bank conflicts of shared memory until it leaves.
    Conflicts,
    /// The pipe of shared memory is full.
    SharedPipe,
    /// The pipe of a bank of the L1 is full.
    Bank,
    /// No credit is left for an access that bypasses the L1.
    Network,
    /// The texture cache is full.
    Texture,
    /// The maximum number of bulk copies is in flight.
    Bulk,
    /// The maximum number of instructions on shared memory of other CTAs is in flight.
    Remote,
}

/// Stalls of a stepped cycle, or of each cycle of a skipped span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct CycleStalls {
    pub(super) hold: Option<HoldReason>,
    /// Caches whose oldest request has no credit.
    pub(super) requests: u8,
    /// Accesses that the L1 refuses on retry, by cause.
    pub(super) retries: Refusals,
}

impl Lsu {
    /// Schedules a step of the unit at cycle `at`, unless an earlier one is scheduled.
    #[inline]
    pub(in crate::sm) fn step_at(&mut self, at: Cycle) {
        self.next = self.next.min(at);
    }

    /// Returns true if the next access goes to a bank of the L1 whose pipe is full.
    #[inline]
    pub(super) fn waits_for_bank(&self) -> bool {
        self.l1.as_ref().is_some_and(|l1| l1.is_full(self.bank))
    }

    /// Returns the next cycle in which the unit does more than retry; a past cycle means the present.
    #[inline]
    pub(in crate::sm) fn next_step(&self) -> Cycle {
        self.next
    }

    /// Schedules a step in the next cycle if the unit is empty and the collectors have an instruction for it.
    #[inline]
    pub(in crate::sm) fn schedule_entry(&mut self, operands: &OperandCollectors, now: Cycle) {
        let offered = (operands.ready.taken_slots(UnitKind::Mem) != 0) & self.entry.is_none();
        self.step_at(select_unpredictable(offered, now.next(), Cycle::NEVER));
    }

    /// Determines the next cycle, `now` or later, in which the unit does more than retry without an external event, and the stalls until
    /// then.
    #[inline]
    pub(super) fn find_next_step<const RARE_FEATURES: bool>(&mut self, now: Cycle, core: &mut Core) {
        let can_send = self.net.can_send();
        let mut l1 = self.l1.as_ref().map_or(Cycle::NEVER, |l1| l1.next_event(now, can_send));
        if RARE_FEATURES {
            let stores = self.stores.as_ref().filter(|_| can_send).map_or(Cycle::NEVER, |stores| stores.next_departure(now));
            let prefetch = self.l1.as_ref().filter(|l1| l1.prefetcher.is_some()).map_or(Cycle::NEVER, |l1| l1.next_prefetch().max(now));
            l1 = l1.min(stores).min(prefetch);
        }
        self.next = now;
        if self.result.is_none() & (l1 > now) {
            let hold = self.hold_reason(now);
            self.next = self.next_event::<RARE_FEATURES>(now, l1, hold);
            if self.next > now {
                self.set_stalls(now, self.current_stalls(hold), core);
            }
        }
    }

    /// Returns the first cycle at or after `now` in which the unit does more than retry; `hold_reason` is [`Lsu::hold_reason`], and `l1` the first cycle
    /// of the L1.
    #[inline]
    fn next_event<const RARE_FEATURES: bool>(&self, now: Cycle, l1: Cycle, hold: Option<HoldReason>) -> Cycle {
        let entry = match (&self.entry, hold) {
            (Some(_), None) => return now,
            (Some(entry), Some(HoldReason::Conflicts)) => entry.leaves,
            _ => Cycle::NEVER,
        };
        let reply = self.net.next_response().map_or(Cycle::NEVER, |reply| match &self.l1 {
            Some(l1) if matches!(ReplyToken::decode(reply.token), ReplyToken::Fetch { .. }) => l1.fill_port_free_at(),
            _ => now,
        });
        let elsewhere = if self.other_sources == 0 { Cycle::NEVER } else { self.next_other_result(now) };
        let next = entry.min(reply).min(elsewhere).min(l1).max(now);
        if !RARE_FEATURES {
            return next;
        }
        let contexts = self.contexts.as_ref().map_or(Cycle::NEVER, |contexts| contexts.next_event(now, self.net.can_send()));
        let beside = self.async_unit.as_ref().map_or(u64::MAX, |beside| beside.next_event(now.0, self.net.can_send()));
        next.min(contexts).min(Cycle(beside)).min(self.loads.next_returned()).max(now)
    }

    /// Returns the first cycle at or after `now` in which a source other than the L1 has a result, or the texture cache has work.
    fn next_other_result(&self, now: Cycle) -> Cycle {
        if self.other_sources & 1 << pending_results::BYPASS_SOURCE != 0 {
            return now;
        }
        let shared = self.shared_pipe.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let texture = self.texture.as_ref().map_or(Cycle::NEVER, |texture| texture.next_event(now, self.net.can_send()));
        shared.min(texture)
    }

    /// Returns the reason why the instruction in the unit, if any, cannot make an access or leave.
    #[inline(always)]
    pub(super) fn hold_reason(&self, now: Cycle) -> Option<HoldReason> {
        match &self.entry {
            None => None,
            // The next access goes to a bank of the L1.
            Some(_) if self.bank != 0 => self.waits_for_bank().then_some(HoldReason::Bank),
            Some(entry) => self.other_hold(entry, now),
        }
    }

    /// Returns the hold of the instruction in the unit if its next access does not go to a bank of the L1.
    // Not inlined: the check runs twice per cycle, mostly without such an instruction.
    #[inline(never)]
    fn other_hold(&self, entry: &LsuEntry, now: Cycle) -> Option<HoldReason> {
        match entry.work {
            LsuWork::SharedLoad | LsuWork::SharedStore | LsuWork::Barrier | LsuWork::Remote { .. } if entry.leaves > now => {
                Some(HoldReason::Conflicts)
            }
            LsuWork::Bulk => self.bulk_is_full().then_some(HoldReason::Bulk),
            LsuWork::Remote { .. } => self.remote_is_full().then_some(HoldReason::Remote),
            LsuWork::SharedLoad | LsuWork::Barrier => {
                (self.shared_pipe.len() as u64 == self.shared_latency).then_some(HoldReason::SharedPipe)
            }
            LsuWork::SharedStore | LsuWork::Nothing => None,
            LsuWork::Load(_) | LsuWork::Store => {
                if self.accesses.is_empty() {
                    None
                } else if entry.texture {
                    self.texture.as_ref().is_some_and(|texture| texture.is_full()).then_some(HoldReason::Texture)
                } else {
                    (!self.net.can_send()).then_some(HoldReason::Network)
                }
            }
        }
    }

    /// Returns the stalls while the unit is not stepped; `hold_reason` is [`Lsu::hold_reason`].
    #[inline]
    fn current_stalls(&self, hold: Option<HoldReason>) -> CycleStalls {
        let requests = |queued: Option<usize>| u8::from(queued.is_some_and(|queued| queued > 0) & !self.net.can_send());
        let (l1, texture) = (self.l1.as_ref(), self.texture.as_ref());
        CycleStalls {
            hold,
            requests: requests(l1.map(|l1| l1.queued_requests())) + requests(texture.map(|texture| texture.queued_requests())),
            retries: l1.map_or(Refusals::default(), |l1| l1.failed_retries()),
        }
    }

    /// Sets the stalls to `stalls` from cycle `from` on, which is not before the present.
    #[inline(always)]
    pub(super) fn set_stalls(&mut self, from: Cycle, stalls: CycleStalls, core: &mut Core) {
        if stalls != self.stalls {
            self.count_stalls(from, core);
            self.stalls = stalls;
        }
    }

    /// Counts the uncounted cycles before `until`, which all have the same stalls.
    #[inline]
    pub(in crate::sm) fn count_stalls(&mut self, until: Cycle, core: &mut Core) {
        let from = std::mem::replace(&mut self.uncounted_since, until);
        debug_assert!(from <= until, "{}: {from} is counted again after {until}", core.id);
        if self.stalls != CycleStalls::default() {
            self.count_stall_cycles(until.0 - from.0, core);
        }
    }

    /// Counts `cycles` cycles of the current stalls.
    // Not inlined: mostly there is no stall.
    #[inline(never)]
    fn count_stall_cycles(&mut self, cycles: u64, core: &mut Core) {
        let CycleStalls { hold, requests, retries } = self.stalls;
        let counters = &mut core.counters.sm;
        let Refusals { line, merge, mshr, queue } = retries;
        counters.l1_retries += cycles * u64::from(retries.total());
        counters.l1_retries_line += cycles * u64::from(line);
        counters.l1_retries_merge += cycles * u64::from(merge);
        counters.l1_retries_mshr += cycles * u64::from(mshr);
        counters.l1_retries_queue += cycles * u64::from(queue);
        counters.network_full_cycles += cycles * u64::from(requests);
        match hold {
            None | Some(HoldReason::SharedPipe | HoldReason::Bulk | HoldReason::Remote) => return,
            Some(HoldReason::Conflicts) => {}
            Some(HoldReason::Bank) => counters.l1_bank_conflicts += cycles,
            Some(HoldReason::Network) => counters.network_full_cycles += cycles,
            Some(HoldReason::Texture) => {
                if let Some(texture) = &mut self.texture {
                    texture.counters.texture_full_cycles += cycles;
                }
            }
        }
        counters.memory_stall_cycles += cycles;
    }

    /// Prepares for an external change of the unit: counts the stalls before `from`, and schedules a full step at `from`.
    pub(in crate::sm) fn wake(&mut self, from: Cycle, core: &mut Core) {
        self.count_stalls(from, core);
        self.next = from;
        if let Some(l1) = &mut self.l1 {
            l1.retry_all();
        }
    }
}
