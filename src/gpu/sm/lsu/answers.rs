//! Results of memory accesses: those of shared memory, textures, the L1 and accesses that bypass it are written back one per cycle.
//!
//! Input: the shared-memory pipe, replies, and requests whose data the L1 holds. Output: registers released, stores acknowledged,
//! atomics completed. A result waits while its register bank is being written.

use crate::frontend::NO_REGISTER;

use super::super::Sm;
use super::super::l1::L1;
use super::super::net::Reply;
use super::{Answer, SharedAnswer, token};

/// The sources of results by their position in the rotation. The reference has five; 2, its constant cache, is not part of this unit.
pub(super) const SHARED: u8 = 0;
pub(super) const TEXTURE: u8 = 1;
const BYPASS: u8 = 3;
const FROM_L1: u8 = 4;

impl Sm {
    /// Writes the chosen answer into the register file, if the bank is free.
    #[inline]
    pub(super) fn write_answer(&mut self) {
        let Some(answer) = self.lsu.answer else { return };
        let (bank, dst) = match answer {
            Answer::Parts { load, .. } => self.lsu.loads.get(load).register(),
            Answer::Shared(SharedAnswer { bank, dst, .. }) => (bank, dst),
        };
        if dst != NO_REGISTER && !self.operands.write(bank) {
            return;
        }
        self.lsu.answer = None;
        match answer {
            Answer::Parts { load, parts } => self.answer_load(load, parts),
            Answer::Shared(SharedAnswer { warp, dst, .. }) if dst != NO_REGISTER => self.release_register(usize::from(warp), dst),
            Answer::Shared(_) => {}
        }
    }

    /// `count` parts of a load were answered; the last releases its register.
    #[inline]
    pub(in crate::gpu::sm) fn answer_load(&mut self, slot: u16, count: u16) {
        let load = &mut self.lsu.loads.slots[usize::from(slot)];
        debug_assert!(load.pending >= count, "{}: load {slot} is answered too often", self.id);
        load.pending -= count;
        if load.pending > 0 {
            return;
        }
        let (warp, dst) = (usize::from(load.warp), load.dst);
        self.count_loads(self.now);
        self.counters.sm.loads_answered += 1;
        self.lsu.loads.free.push(slot);
        if dst != NO_REGISTER {
            self.release_register(warp, dst);
        }
    }

    /// Takes the next answer from shared memory, from the texture cache, from past the L1, or from the L1, in turns.
    #[inline]
    pub(super) fn choose_answer(&mut self) {
        if self.lsu.elsewhere != 0 {
            self.choose_in_turn();
        } else if self.lsu.l1.as_ref().is_some_and(L1::has_ready) {
            self.lsu.turn = 0;
            self.answer_from_l1();
        }
    }

    fn choose_in_turn(&mut self) {
        let lsu = &self.lsu;
        let texture = lsu.texture.as_ref().is_some_and(|texture| texture.has_result());
        let shared = lsu.shared_pipe.front().is_some_and(|(at, _)| *at <= self.now);
        let l1 = lsu.l1.as_ref().is_some_and(L1::has_ready);
        let waiting = u32::from(shared) << SHARED
            | u32::from(texture) << TEXTURE
            | u32::from(lsu.bypassed.is_some()) << BYPASS
            | u32::from(l1) << FROM_L1;
        if waiting == 0 {
            return;
        }
        let behind = waiting & u32::MAX << lsu.turn;
        let source = if behind != 0 { behind } else { waiting }.trailing_zeros() as u8;
        self.lsu.turn = if source == FROM_L1 { 0 } else { source + 1 };
        match source {
            SHARED => self.answer_from_shared(),
            TEXTURE => self.answer_from_texture(),
            BYPASS => self.answer_from_bypass(),
            _ => self.answer_from_l1(),
        }
    }

    fn answer_from_shared(&mut self) {
        let now = self.now;
        let Some((_, answer)) = self.lsu.shared_pipe.pop_front() else { return };
        match self.lsu.shared_pipe.front_mut() {
            // The next one moves up now and can be written back in the next cycle.
            Some((next, _)) => *next = (*next).max(now.after(1)),
            None => self.lsu.elsewhere &= !(1 << SHARED),
        }
        let warp = usize::from(answer.warp);
        self.end_atomic(warp, answer.atomic_lanes);
        self.leave_pipeline(warp);
        self.lsu.answer = Some(Answer::Shared(answer));
    }

    fn answer_from_texture(&mut self) {
        let Some(slot) = self.lsu.texture.as_mut().and_then(|texture| texture.next_result()) else { return };
        self.lsu.answer = Some(Answer::Parts { load: slot, parts: 1 });
    }

    fn answer_from_bypass(&mut self) {
        let Some(reply) = self.lsu.bypassed.take() else { return };
        self.lsu.elsewhere &= !(1 << BYPASS);
        let slot = (reply.token & 0xffff) as u16;
        self.end_atomic(usize::from(self.lsu.loads.get(slot).warp), (reply.token >> 16 & 0x3f) as u8);
        self.lsu.answer = Some(Answer::Parts { load: slot, parts: reply.sectors.count() as u16 });
    }

    #[inline]
    fn answer_from_l1(&mut self) {
        let Some(name) = self.lsu.l1.as_mut().and_then(L1::next_ready) else { return };
        if name & token::KIND == token::STORE {
            self.acknowledge(usize::from(name as u8), 1);
            return;
        }
        self.lsu.answer = Some(Answer::Parts { load: name as u16, parts: 1 });
    }

    /// Lanes of an atomic came back; with the last the warp may go on.
    #[inline]
    fn end_atomic(&mut self, warp: usize, lanes: u8) {
        if lanes > 0 {
            self.warps.atomics[warp] -= u16::from(lanes);
            if self.warps.atomics[warp] == 0 {
                self.warps.leave_atomic(warp);
                self.wait_changed();
            }
        }
    }

    /// Stores of a warp are done.
    #[inline]
    pub(in crate::gpu::sm) fn acknowledge(&mut self, warp: usize, sectors: u32) {
        debug_assert!(u32::from(self.warps.stores[warp]) >= sectors, "{}, warp {warp}: an acknowledgement of no store", self.id);
        self.warps.stores[warp] -= sectors as u16;
        self.check_release(warp);
    }

    /// Takes the first reply, if what it goes to is free.
    #[inline]
    pub(super) fn take_reply(&mut self) {
        let Some(&Reply { addr, token, sectors }) = self.net.response() else { return };
        if token & token::KIND != token::LOAD {
            self.take_past_l1(&Reply { addr, token, sectors });
        } else if self.fill_l1(&Reply { addr, token, sectors }) {
            self.net.pop_response();
        }
    }

    /// The same for a reply that is not for the L1.
    fn take_past_l1(&mut self, reply: &Reply) {
        match reply.token & token::KIND {
            token::STORE => self.acknowledge(usize::from(reply.token as u8), reply.sectors.count()),
            token::WRITE_BACK if reply.token & token::TEXTURE == token::TEXTURE => self.fill_texture(reply),
            token::WRITE_BACK => {}
            token::BYPASS if self.lsu.bypassed.is_some() => return,
            token::BYPASS => {
                self.lsu.bypassed = Some(*reply);
                self.lsu.elsewhere |= 1 << BYPASS;
            }
            _ => unreachable!("{}, {}: a reply of no kind", self.id, self.now),
        }
        self.net.pop_response();
    }
}
