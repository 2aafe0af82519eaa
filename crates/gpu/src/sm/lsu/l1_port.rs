//! The L1's side of the unit: requests to the network, look-ups and their answers, fills, and what a kernel's start does to it.

use warpshard_base::{Addr, SectorMask};
use warpshard_mem::cache::{Answer, Down, DownKind, Outcome, Status};
use warpshard_protocol::{MemOp, Outbox};
use warpshard_workload::KernelInfo;

use super::super::ccws::LineAccess;
use super::super::core::Core;
use super::super::l1::{L1, Refusals, Requester, Served};
use super::super::net::Reply;
use super::super::observers::Observers;
use super::Lsu;
use super::loads::Loads;
use super::store_buffer::Fate;
use super::token::Token;
use crate::occupancy::resident_ctas;

impl Lsu {
    /// Sends the oldest request of the L1, before the look-ups of the cycle. Returns whether a request waits for a credit.
    #[inline]
    pub(super) fn send_request<const FULL: bool>(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) -> bool {
        let queued = self.l1.as_ref().is_some_and(|l1| l1.queued() > 0);
        let room = !FULL || self.send_waiting_store(core, out);
        if queued & room & self.net.can_send() {
            let waits = self.send_down::<FULL>(core, observers, out);
            if FULL && let Some(line) = waits {
                self.keep_line(line, core, observers, out);
            }
            return false;
        }
        queued
    }

    /// Adds the fetches behind `down` that are for the same line to its request.
    #[inline(never)]
    fn join_line(&mut self, down: &mut Down, observers: &mut Observers) {
        let Some(l1) = &mut self.l1 else { return };
        let line = down.addr.line();
        while let Some(&Down { kind: DownKind::Fetch { entry }, part, token, .. }) = l1.down().filter(|next| next.addr.line() == line) {
            down.addr = line;
            down.part = down.part.with(SectorMask(down.sectors().0 | part.sectors().0));
            if observers.watch_lines() {
                observers.line_requested(entry, warp_of(Requester::decode(token), &self.loads));
            }
            l1.pop_down();
        }
    }

    /// Moves the other sectors of `line` to the buffer of stores in the same cycle, until one leaves for the network.
    #[inline(never)]
    fn keep_line(&mut self, line: Addr, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        let of_line = |down: &Down| down.kind == DownKind::Write && down.addr.line() == line;
        while self.stores.as_ref().is_some_and(|stores| stores.is_free())
            && self.l1.as_ref().and_then(L1::down).is_some_and(of_line)
            && self.send_down::<true>(core, observers, out).is_some()
        {}
    }

    /// Takes the oldest request of the L1; there is one, and a credit. Returns its line if it waits in the buffer of stores, `None` if it was sent.
    #[inline]
    fn send_down<const FULL: bool>(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) -> Option<Addr> {
        let mut down = self.l1.as_mut().and_then(L1::pop_down)?;
        if FULL && core.spec.l1.line_requests && down.is_fetch() {
            self.join_line(&mut down, observers);
        }
        let requester = Requester::decode(down.token);
        if FULL && let (DownKind::Write, Requester::Store { warp, generation }) = (down.kind, requester) {
            core.stores_leave(usize::from(warp), generation, down.sectors().count());
            if self.stores.is_some() {
                return self.let_store_wait(down, core, out);
            }
        }
        let (op, token) = match down.kind {
            DownKind::Fetch { entry } => (MemOp::Read, Token::Fetch { entry }),
            DownKind::Write => (MemOp::Write, Token::of_write(requester)),
            DownKind::WriteBack => (MemOp::Write, Token::WriteBack),
        };
        if let (DownKind::Fetch { entry }, true) = (down.kind, observers.watch_lines()) {
            observers.line_requested(entry, warp_of(requester, &self.loads));
        }
        self.send(down.addr, down.sectors(), down.bytes, op, token, down.kernel(), core, out);
        None
    }

    /// Part of a sector waits for the rest in the buffer of stores, which is free, and its line is returned; a whole sector leaves.
    #[inline(never)]
    fn let_store_wait(&mut self, down: Down, core: &mut Core, out: &mut Outbox) -> Option<Addr> {
        let stores = self.stores.as_mut()?;
        let fate = if down.sectors().count() == 1 { stores.take(down, core.now) } else { Fate::Leaves(down) };
        if let (Fate::Joined | Fate::Completed(_), Requester::Store { warp, generation }) = (fate, Requester::decode(down.token)) {
            core.stores_done(usize::from(warp), generation, 1);
        }
        if let Fate::Leaves(down) | Fate::Completed(down) = fate {
            self.send_store(down, core, out);
            return None;
        }
        Some(down.addr.line())
    }

    /// Sends a sector that has to leave the buffer of stores, if there is a credit. Returns whether the buffer, if there is one, takes another.
    #[inline]
    fn send_waiting_store(&mut self, core: &mut Core, out: &mut Outbox) -> bool {
        let Some(stores) = &mut self.stores else { return true };
        if self.net.can_send()
            && let Some((down, driven_out)) = stores.pop(core.now)
        {
            let free = stores.is_free();
            if let (true, Some(l1)) = (driven_out, &mut self.l1) {
                l1.forget(down.addr, down.sectors());
            }
            self.send_store(down, core, out);
            return free;
        }
        stores.is_free()
    }

    /// Sends a sector that stores wrote.
    #[inline(never)]
    fn send_store(&mut self, down: Down, core: &mut Core, out: &mut Outbox) {
        let token = Token::of_write(Requester::decode(down.token));
        self.send(down.addr, down.sectors(), down.bytes, MemOp::Write, token, down.kernel(), core, out);
    }

    /// Looks up the access at the end of the pipe of each bank, except where the L1 is known to refuse it. Returns the refused accesses by cause.
    #[inline]
    pub(super) fn look_up<const FULL: bool>(&mut self, core: &mut Core, observers: &mut Observers) -> Refusals {
        let Some(l1) = &mut self.l1 else { return Refusals::default() };
        let watched = observers.watch_lines();
        l1.move_up_to(core.now);
        let mut ahead = u64::MAX;
        while let Some(served) = l1.serve(&mut ahead, watched, core.now) {
            take_served::<FULL>(&served, l1, &mut self.loads, core, observers);
        }
        if FULL && l1.prefetcher.is_some() {
            l1.prefetch_ahead(core.now);
        }
        l1.retries()
    }

    /// The L1 takes the data of the fetch of an MSHR; `false` when its fill port is busy.
    #[inline(always)]
    pub(super) fn fill_l1(&mut self, entry: u16, reply: &Reply, core: &Core, observers: &mut Observers) -> bool {
        let Some(l1) = &mut self.l1 else { panic!("{}, {}: data for an L1 that is not there", core.id, core.now) };
        // The request for several sectors of a line names the MSHR of the first.
        let entry = if core.spec.l1.line_requests { l1.entry_of(reply.addr) } else { entry };
        let before = observers.watch_lines().then(|| l1.probe(reply.addr, reply.sectors, false));
        let filled = l1.fill(entry, reply, core.now);
        if let (Some(before), true) = (before, filled) {
            observers.line_filled(l1, before, reply.addr, entry);
        }
        filled
    }

    /// Empties the L1.
    pub(in crate::sm) fn invalidate_l1(&mut self, core: &mut Core, observers: &mut Observers) {
        observers.lines_invalidated();
        self.wake(core.now.after(1), core);
        if let Some(l1) = &mut self.l1 {
            l1.invalidate();
            core.counters.sm.l1_flushes += 1;
        }
    }

    /// A kernel begins on an SM without CTAs: the unified memory is divided for it and the L1 is invalidated.
    ///
    /// Shared memory gets what [`UnifiedL1::shared_bytes`](warpshard_config::machine::UnifiedL1::shared_bytes) chooses; the L1 gets the rest.
    pub(in crate::sm) fn enter_kernel(&mut self, info: &KernelInfo, core: &mut Core, observers: &mut Observers) {
        self.wake(core.now.after(1), core);
        if let (Some(unified), Some(cache), Some(l1)) = (&core.spec.l1.unified, &core.spec.l1.cache, &mut self.l1) {
            let least = core.spec.shared_least;
            let ctas = resident_ctas(&core.spec, info).unwrap_or(1);
            let shared =
                unified.shared_bytes(info.shared_bytes > least, info.shared_bytes.max(least), ctas).unwrap_or(unified.total_bytes / 2);
            if l1.divide(cache, unified.total_bytes, shared) {
                observers.lines_invalidated();
            }
        }
        if core.spec.l1.flush_at_kernel {
            self.invalidate_l1(core, observers);
            if let Some(texture) = &mut self.texture {
                texture.invalidate();
            }
        }
    }
}

/// Counts an access that the L1 took, and answers what it answers at once.
// Called from one place, for every access.
#[inline(always)]
fn take_served<const FULL: bool>(served: &Served, l1: &L1, loads: &mut Loads, core: &mut Core, observers: &mut Observers) {
    let Served { addr, kernel, sectors, write, outcome: Outcome { status, answer }, before, .. } = *served;
    if let Some(before) = before {
        observers.line_accessed(l1, &LineAccess { before, addr, warp: warp_of(served.requester(), loads), write, status }, core);
    }
    let counters = core.counters.kernels.at(kernel.index());
    match (write, status) {
        (false, Status::Hit) => counters.l1_read_hits += 1,
        (false, Status::HitReserved) => counters.l1_read_pending_hits += 1,
        (false, Status::SectorMiss) => counters.l1_read_sector_misses += 1,
        (false, _) => counters.l1_read_misses += 1,
        (true, Status::Hit) => counters.l1_write_hits += 1,
        (true, Status::HitReserved) => counters.l1_write_pending_hits += 1,
        (true, Status::SectorMiss) => counters.l1_write_sector_misses += 1,
        (true, _) => counters.l1_write_misses += 1,
    }
    if answer == Answer::Now {
        match served.requester() {
            Requester::Load { load } if FULL => loads.hit(load, core),
            Requester::Load { load } => loads.answer(load, 1, core),
            Requester::Store { warp, generation } => {
                core.stores_leave(usize::from(warp), generation, sectors.count());
                core.stores_done(usize::from(warp), generation, sectors.count());
            }
            Requester::Prefetch => {}
        }
    }
}

/// The warp of a load or store, or [`NOBODY`](super::super::core::NOBODY).
fn warp_of(requester: Requester, loads: &Loads) -> u8 {
    match requester {
        Requester::Store { warp, .. } => warp,
        Requester::Load { load } => loads.get(load).warp,
        Requester::Prefetch => unreachable!("CCWS, which asks for warps, and prefetchers exclude each other"),
    }
}
