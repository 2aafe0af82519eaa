//! Writeback of memory results: results of shared memory, textures, the L1 and accesses that bypass it are written back one per cycle.
//!
//! Input: the shared-memory pipe, replies, and requests whose data the L1 holds. Output: registers released, stores acknowledged, atomics
//! completed. A result waits while its register bank is being written.

use warpshard_workload::NO_REGISTER;

use super::super::core::Core;
use super::super::l1::{L1, Requester};
use super::super::net::MemoryReply;
use super::super::observers::Observers;
use super::super::operands::OperandCollectors;
use super::token::ReplyToken;
use super::{BypassReply, Lsu, PendingResult, SharedResult};

/// The sources of results by their position in the rotation. The reference has five; source 2, its constant cache, is not part of this
/// unit.
pub(super) const SHARED_MEMORY_SOURCE: u8 = 0;
pub(super) const TEXTURE_SOURCE: u8 = 1;
pub(super) const BYPASS_SOURCE: u8 = 3;
const L1_SOURCE: u8 = 4;

impl Lsu {
    /// Writes the selected result into the register file, if the bank is free.
    #[inline(always)]
    pub(super) fn write_result(&mut self, core: &mut Core, operands: &mut OperandCollectors) {
        let Some(answer) = self.result else { return };
        let (bank, dst) = match answer {
            PendingResult::Parts { load, .. } => self.loads.get(load).register(),
            PendingResult::Shared(SharedResult { bank, dst, .. }) => (bank, dst),
        };
        if dst != NO_REGISTER && !operands.write(bank) {
            return;
        }
        self.result = None;
        match answer {
            PendingResult::Parts { load, parts } => self.loads.complete_parts(load, parts, core),
            PendingResult::Shared(SharedResult { warp, dst, .. }) if dst != NO_REGISTER => core.register_ready(usize::from(warp), dst),
            PendingResult::Shared(_) => {}
        }
    }

    /// Selects the next result from shared memory, the texture cache, the bypass path, or the L1, round robin.
    #[inline(always)]
    pub(super) fn select_result(&mut self, core: &mut Core) {
        if self.other_sources != 0 {
            self.select_round_robin(core);
        } else if self.l1.as_ref().is_some_and(L1::has_ready) {
            self.next_source = 0;
            self.result_from_l1(core);
        }
    }

    // Not inlined: few cycles have a result from another source than the L1.
    #[inline(never)]
    fn select_round_robin(&mut self, core: &mut Core) {
        let texture = self.texture.as_ref().is_some_and(|texture| texture.has_result());
        let shared = self.shared_pipe.front().is_some_and(|(at, _)| *at <= core.now);
        let l1 = self.l1.as_ref().is_some_and(L1::has_ready);
        let waiting = u32::from(shared) << SHARED_MEMORY_SOURCE
            | u32::from(texture) << TEXTURE_SOURCE
            | u32::from(self.other_sources) & 1 << BYPASS_SOURCE
            | u32::from(l1) << L1_SOURCE;
        if waiting == 0 {
            return;
        }
        let next = waiting & u32::MAX << self.next_source;
        let source = if next != 0 { next } else { waiting }.trailing_zeros() as u8;
        self.next_source = if source == L1_SOURCE { 0 } else { source + 1 };
        match source {
            SHARED_MEMORY_SOURCE => self.result_from_shared(core),
            TEXTURE_SOURCE => self.result_from_texture(),
            BYPASS_SOURCE => self.result_from_bypass(core),
            _ => self.result_from_l1(core),
        }
    }

    fn result_from_shared(&mut self, core: &mut Core) {
        let now = core.now;
        let Some((_, answer)) = self.shared_pipe.pop_front() else { return };
        match self.shared_pipe.front_mut() {
            // The next result reaches the end of the pipe in this cycle and can be written back in the next one.
            Some((next, _)) => *next = (*next).max(now.after(1)),
            None => self.other_sources &= !(1 << SHARED_MEMORY_SOURCE),
        }
        let warp = usize::from(answer.warp);
        core.atomics_done(warp, answer.atomic_lanes);
        core.instruction_done(warp);
        self.result = Some(PendingResult::Shared(answer));
    }

    fn result_from_texture(&mut self) {
        let Some(slot) = self.texture.as_mut().and_then(|texture| texture.next_result()) else { return };
        self.result = Some(PendingResult::Parts { load: slot, parts: 1 });
    }

    fn result_from_bypass(&mut self, core: &mut Core) {
        let Some(BypassReply { load, lanes, parts }) = self.bypass_reply.take() else {
            self.result = self.flights.next_landed().map(|load| PendingResult::Parts { load, parts: 1 });
            self.update_bypass_source();
            return;
        };
        self.update_bypass_source();
        core.atomics_done(usize::from(self.loads.get(load).warp), lanes);
        self.result = Some(PendingResult::Parts { load, parts });
    }

    /// Clears the bypass path as a source of results if it has none left.
    #[inline]
    fn update_bypass_source(&mut self) {
        if self.bypass_reply.is_none() && !self.flights.has_landed() {
            self.other_sources &= !(1 << BYPASS_SOURCE);
        }
    }

    /// Completes further parts of loads whose sectors arrived, in addition to the selected one: the L1 returns a part of a line per cycle.
    pub(super) fn complete_more_loads(&mut self, core: &mut Core) {
        for _ in 1..self.results_per_cycle {
            if let Some(load) = self.take_ready(core) {
                self.loads.complete_parts(load, 1, core);
            }
        }
    }

    #[inline]
    fn result_from_l1(&mut self, core: &mut Core) {
        self.result = self.take_ready(core).map(|load| PendingResult::Parts { load, parts: 1 });
    }

    /// Removes the request whose data arrived in the L1 first; returns it if it is a load, and acknowledges it if it is a store.
    #[inline]
    fn take_ready(&mut self, core: &mut Core) -> Option<u16> {
        match self.l1.as_mut().and_then(|l1| l1.next_ready()) {
            Some(Requester::Load { load }) => return Some(load),
            Some(Requester::Store { warp, generation }) => {
                core.stores_leave(usize::from(warp), generation, 1);
                core.stores_done(usize::from(warp), generation, 1);
            }
            Some(Requester::Prefetch) | None => {}
        }
        None
    }

    /// Accepts the further replies of a cycle, as long as their destinations are free.
    #[inline(never)]
    pub(super) fn accept_more_replies(&mut self, core: &mut Core, observers: &mut Observers) {
        for _ in 1..self.replies_per_cycle {
            if !self.accept_reply(core, observers) {
                return;
            }
        }
    }

    /// Accepts the first reply if the destination of the reply is free; returns true in that case.
    // Inlined: most cycles have no reply.
    #[inline(always)]
    pub(super) fn accept_reply(&mut self, core: &mut Core, observers: &mut Observers) -> bool {
        let Some(&MemoryReply { addr, token, sectors }) = self.net.next_response() else { return false };
        let reply = MemoryReply { addr, token, sectors };
        let taken = match ReplyToken::decode(token) {
            ReplyToken::Fetch { entry } => self.fill_l1(entry, &reply, core, observers),
            other => self.accept_bypass_reply(other, &reply, core),
        };
        if taken {
            self.net.pop_response();
        }
        taken
    }

    /// Accepts a reply whose destination is not the L1, if the destination is free; returns true if it did.
    fn accept_bypass_reply(&mut self, token: ReplyToken, reply: &MemoryReply, core: &mut Core) -> bool {
        match token {
            ReplyToken::Fetch { .. } => unreachable!("{}, {}: the L1 takes its own replies", core.id, core.now),
            ReplyToken::Store { warp, generation } => core.stores_done(usize::from(warp), generation, reply.sectors.count()),
            ReplyToken::WriteBack => {}
            ReplyToken::Texture { slot } => {
                let Some(texture) = &mut self.texture else {
                    panic!("{}, {}: a line for a texture cache, but the SM has none", core.id, core.now)
                };
                texture.fill(slot, reply.sectors);
            }
            ReplyToken::Context { warp } => {
                let Some(contexts) = &mut self.contexts else {
                    panic!("{}, {}: a part of a context that was not requested", core.id, core.now)
                };
                core.contexts_moved |= contexts.record_reply(warp, reply.sectors);
            }
            ReplyToken::Bulk { slot } => self.answer_bulk(slot, reply.sectors, core),
            ReplyToken::OwnPage => self.slices.add_own_page(reply.addr),
            // A copy to shared memory writes no register, so it needs no turn in the rotation.
            ReplyToken::PastL1 { load, lanes: 0 } if self.loads.get(load).is_copy() => {
                self.loads.complete_parts(load, reply.sectors.count() as u16, core);
                self.flights.record_arrival(reply.addr);
                self.other_sources |= u8::from(self.flights.has_landed()) << BYPASS_SOURCE;
            }
            ReplyToken::PastL1 { load, lanes } => {
                let more = reply.sectors.count() as u16;
                match &mut self.bypass_reply {
                    // A second sector of the same load is written back together with the first one.
                    Some(first) if self.replies_per_cycle > 1 && (first.load, first.lanes, lanes) == (load, 0, 0) && first.parts < 2 => {
                        first.parts += more
                    }
                    Some(_) => return false,
                    None => self.bypass_reply = Some(BypassReply { load, lanes, parts: more }),
                }
                self.other_sources |= 1 << BYPASS_SOURCE;
                if lanes == 0 {
                    self.flights.record_arrival(reply.addr);
                }
            }
        }
        true
    }
}
