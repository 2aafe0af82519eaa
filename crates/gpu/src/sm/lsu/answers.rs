//! Results of memory accesses: those of shared memory, textures, the L1 and accesses that bypass it are written back one per cycle.
//!
//! Input: the shared-memory pipe, replies, and requests whose data the L1 holds. Output: registers released, stores acknowledged,
//! atomics completed. A result waits while its register bank is being written.

use warpshard_workload::NO_REGISTER;

use super::super::core::Core;
use super::super::l1::{L1, Requester};
use super::super::net::Reply;
use super::super::observers::Observers;
use super::super::operands::Operands;
use super::token::Token;
use super::{Answer, Bypassed, Lsu, SharedAnswer};

/// The sources of results by their position in the rotation. The reference has five; 2, its constant cache, is not part of this unit.
pub(super) const SHARED: u8 = 0;
pub(super) const TEXTURE: u8 = 1;
pub(super) const BYPASS: u8 = 3;
const FROM_L1: u8 = 4;

impl Lsu {
    /// Writes the chosen answer into the register file, if the bank is free.
    #[inline(always)]
    pub(super) fn write_answer(&mut self, core: &mut Core, operands: &mut Operands) {
        let Some(answer) = self.answer else { return };
        let (bank, dst) = match answer {
            Answer::Parts { load, .. } => self.loads.get(load).register(),
            Answer::Shared(SharedAnswer { bank, dst, .. }) => (bank, dst),
        };
        if dst != NO_REGISTER && !operands.write(bank) {
            return;
        }
        self.answer = None;
        match answer {
            Answer::Parts { load, parts } => self.loads.answer(load, parts, core),
            Answer::Shared(SharedAnswer { warp, dst, .. }) if dst != NO_REGISTER => core.register_ready(usize::from(warp), dst),
            Answer::Shared(_) => {}
        }
    }

    /// Takes the next answer from shared memory, from the texture cache, from past the L1, or from the L1, in turns.
    #[inline(always)]
    pub(super) fn choose_answer(&mut self, core: &mut Core) {
        if self.elsewhere != 0 {
            self.choose_in_turn(core);
        } else if self.l1.as_ref().is_some_and(L1::has_ready) {
            self.turn = 0;
            self.answer_from_l1(core);
        }
    }

    // Apart: in few cycles is there an answer from elsewhere than the L1.
    #[inline(never)]
    fn choose_in_turn(&mut self, core: &mut Core) {
        let texture = self.texture.as_ref().is_some_and(|texture| texture.has_result());
        let shared = self.shared_pipe.front().is_some_and(|(at, _)| *at <= core.now);
        let l1 = self.l1.as_ref().is_some_and(L1::has_ready);
        let waiting = u32::from(shared) << SHARED
            | u32::from(texture) << TEXTURE
            | u32::from(self.elsewhere) & 1 << BYPASS
            | u32::from(l1) << FROM_L1;
        if waiting == 0 {
            return;
        }
        let next = waiting & u32::MAX << self.turn;
        let source = if next != 0 { next } else { waiting }.trailing_zeros() as u8;
        self.turn = if source == FROM_L1 { 0 } else { source + 1 };
        match source {
            SHARED => self.answer_from_shared(core),
            TEXTURE => self.answer_from_texture(),
            BYPASS => self.answer_from_bypass(core),
            _ => self.answer_from_l1(core),
        }
    }

    fn answer_from_shared(&mut self, core: &mut Core) {
        let now = core.now;
        let Some((_, answer)) = self.shared_pipe.pop_front() else { return };
        match self.shared_pipe.front_mut() {
            // The next one moves up now and can be written back in the next cycle.
            Some((next, _)) => *next = (*next).max(now.after(1)),
            None => self.elsewhere &= !(1 << SHARED),
        }
        let warp = usize::from(answer.warp);
        core.atomics_done(warp, answer.atomic_lanes);
        core.instruction_done(warp);
        self.answer = Some(Answer::Shared(answer));
    }

    fn answer_from_texture(&mut self) {
        let Some(slot) = self.texture.as_mut().and_then(|texture| texture.next_result()) else { return };
        self.answer = Some(Answer::Parts { load: slot, parts: 1 });
    }

    fn answer_from_bypass(&mut self, core: &mut Core) {
        let Some(Bypassed { load, lanes, parts }) = self.bypassed.take() else {
            self.answer = self.flights.next_landed().map(|load| Answer::Parts { load, parts: 1 });
            self.end_bypass();
            return;
        };
        self.end_bypass();
        core.atomics_done(usize::from(self.loads.get(load).warp), lanes);
        self.answer = Some(Answer::Parts { load, parts });
    }

    /// Nothing more is to be answered from past the L1, if that is so.
    #[inline]
    fn end_bypass(&mut self) {
        if self.bypassed.is_none() && !self.flights.has_landed() {
            self.elsewhere &= !(1 << BYPASS);
        }
    }

    /// Loads whose sectors came, beside the one that was chosen: the L1 returns a part of a line at once.
    pub(super) fn answer_more(&mut self, core: &mut Core) {
        for _ in 1..self.answers {
            if let Some(load) = self.take_ready(core) {
                self.loads.answer(load, 1, core);
            }
        }
    }

    #[inline]
    fn answer_from_l1(&mut self, core: &mut Core) {
        self.answer = self.take_ready(core).map(|load| Answer::Parts { load, parts: 1 });
    }

    /// Takes what waited longest for data that came to the L1; returns it if it is a load.
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

    /// Takes the further replies of a cycle, as long as what they go to is free.
    #[inline(never)]
    pub(super) fn take_more_replies(&mut self, core: &mut Core, observers: &mut Observers) {
        for _ in 1..self.replies {
            if !self.take_reply(core, observers) {
                return;
            }
        }
    }

    /// Takes the first reply, if what it goes to is free; returns whether it did.
    // In place in a cycle, most of which have no reply.
    #[inline(always)]
    pub(super) fn take_reply(&mut self, core: &mut Core, observers: &mut Observers) -> bool {
        let Some(&Reply { addr, token, sectors }) = self.net.response() else { return false };
        let reply = Reply { addr, token, sectors };
        let taken = match Token::decode(token) {
            Token::Fetch { entry } => self.fill_l1(entry, &reply, core, observers),
            other => self.take_past_l1(other, &reply, core),
        };
        if taken {
            self.net.pop_response();
        }
        taken
    }

    /// The same for a reply that is not for the L1; returns whether it was taken.
    fn take_past_l1(&mut self, token: Token, reply: &Reply, core: &mut Core) -> bool {
        match token {
            Token::Fetch { .. } => unreachable!("{}, {}: the L1 takes its own replies", core.id, core.now),
            Token::Store { warp, generation } => core.stores_done(usize::from(warp), generation, reply.sectors.count()),
            Token::WriteBack => {}
            Token::Texture { place } => {
                let Some(texture) = &mut self.texture else {
                    panic!("{}, {}: a line for a texture cache that is not there", core.id, core.now)
                };
                texture.fill(place, reply.sectors);
            }
            Token::Context { warp } => {
                let Some(contexts) = &mut self.contexts else {
                    panic!("{}, {}: a part of a context that nobody asked for", core.id, core.now)
                };
                core.contexts_moved |= contexts.answered(warp, reply.sectors);
            }
            Token::Bulk { place } => self.answer_bulk(place, reply.sectors, core),
            Token::OwnPage => self.slices.learn_own(reply.addr),
            // A copy to shared memory writes no register: it needs no turn.
            Token::PastL1 { load, lanes: 0 } if self.loads.get(load).is_copy() => {
                self.loads.answer(load, reply.sectors.count() as u16, core);
                self.flights.land(reply.addr);
                self.elsewhere |= u8::from(self.flights.has_landed()) << BYPASS;
            }
            Token::PastL1 { load, lanes } => {
                let more = reply.sectors.count() as u16;
                match &mut self.bypassed {
                    // A second sector of the same load goes with the first one.
                    Some(first) if self.replies > 1 && (first.load, first.lanes, lanes) == (load, 0, 0) && first.parts < 2 => {
                        first.parts += more
                    }
                    Some(_) => return false,
                    None => self.bypassed = Some(Bypassed { load, lanes, parts: more }),
                }
                self.elsewhere |= 1 << BYPASS;
                if lanes == 0 {
                    self.flights.land(reply.addr);
                }
            }
        }
        true
    }
}
