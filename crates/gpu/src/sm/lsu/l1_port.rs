//! The interface of the unit to the L1: requests to the network, look-ups and their results, fills, and the reset at the start of a kernel.

use warpshard_base::{Addr, SectorMask};
use warpshard_mem::cache::{AccessOutcome, AccessStatus, DownstreamKind, DownstreamRequest, ReplySource};
use warpshard_protocol::{MemOp, Outbox};
use warpshard_workload::KernelInfo;

use super::super::ccws::LineAccess;
use super::super::core::Core;
use super::super::l1::{AcceptedAccess, L1, Refusals, Requester};
use super::super::net::MemoryReply;
use super::super::observers::Observers;
use super::Lsu;
use super::loads::OutstandingLoads;
use super::store_buffer::StoreOutcome;
use super::token::ReplyToken;
use crate::occupancy::resident_ctas;

impl Lsu {
    /// Sends the oldest request of the L1, before the look-ups of the cycle. Returns true if a request waits for a credit.
    #[inline]
    pub(super) fn send_request<const RARE_FEATURES: bool>(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) -> bool {
        let queued = self.l1.as_ref().is_some_and(|l1| l1.queued_requests() > 0);
        let room = !RARE_FEATURES || self.send_waiting_store(core, out);
        if queued & room & self.net.can_send() {
            let waits = self.send_down::<RARE_FEATURES>(core, observers, out);
            if RARE_FEATURES && let Some(line) = waits {
                self.buffer_line(line, core, observers, out);
            }
            return false;
        }
        queued
    }

    /// Merges the fetches behind `down` that are for the same line into its request.
    #[inline(never)]
    fn join_line(&mut self, down: &mut DownstreamRequest, observers: &mut Observers) {
        let Some(l1) = &mut self.l1 else { return };
        let line = down.addr.line();
        while let Some(&DownstreamRequest { kind: DownstreamKind::Fetch { entry }, part, token, .. }) =
            l1.oldest_down().filter(|next| next.addr.line() == line)
        {
            down.addr = line;
            down.part = down.part.with(SectorMask(down.sectors().0 | part.sectors().0));
            if observers.needs_line_events() {
                observers.line_requested(entry, warp_of(Requester::decode(token), &self.loads));
            }
            l1.pop_down();
        }
    }

    /// Moves the other sectors of `line` to the store buffer in the same cycle, until one leaves for the network.
    #[inline(never)]
    fn buffer_line(&mut self, line: Addr, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        let of_line = |down: &DownstreamRequest| down.kind == DownstreamKind::Write && down.addr.line() == line;
        while self.stores.as_ref().is_some_and(|stores| stores.is_free())
            && self.l1.as_ref().and_then(L1::oldest_down).is_some_and(of_line)
            && self.send_down::<true>(core, observers, out).is_some()
        {}
    }

    /// Removes the oldest request of the L1; there is one, and a credit. Returns its line if it waits in the store buffer, `None` if it was
    /// sent.
    #[inline]
    fn send_down<const RARE_FEATURES: bool>(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) -> Option<Addr> {
        let mut down = self.l1.as_mut().and_then(L1::pop_down)?;
        if RARE_FEATURES && core.spec.l1.line_requests && down.is_fetch() {
            self.join_line(&mut down, observers);
        }
        let requester = Requester::decode(down.token);
        if RARE_FEATURES && let (DownstreamKind::Write, Requester::Store { warp, generation }) = (down.kind, requester) {
            core.stores_leave(usize::from(warp), generation, down.sectors().count());
            if self.stores.is_some() {
                return self.buffer_store(down, core, out);
            }
        }
        let (op, token) = match down.kind {
            DownstreamKind::Fetch { entry } => (MemOp::Read, ReplyToken::Fetch { entry }),
            DownstreamKind::Write => (MemOp::Write, ReplyToken::of_write(requester)),
            DownstreamKind::WriteBack => (MemOp::Write, ReplyToken::WriteBack),
        };
        if let (DownstreamKind::Fetch { entry }, true) = (down.kind, observers.needs_line_events()) {
            observers.line_requested(entry, warp_of(requester, &self.loads));
        }
        self.send(down.addr, down.sectors(), down.bytes, op, token, down.kernel(), core, out);
        None
    }

    /// Puts a partly written sector into the store buffer, which has a free entry, and returns its line; sends a completely written sector.
    #[inline(never)]
    fn buffer_store(&mut self, down: DownstreamRequest, core: &mut Core, out: &mut Outbox) -> Option<Addr> {
        let stores = self.stores.as_mut()?;
        let fate = if down.sectors().count() == 1 { stores.buffer_store(down, core.now) } else { StoreOutcome::Leaves(down) };
        if let (StoreOutcome::Joined | StoreOutcome::Completed(_), Requester::Store { warp, generation }) =
            (fate, Requester::decode(down.token))
        {
            core.stores_done(usize::from(warp), generation, 1);
        }
        if let StoreOutcome::Leaves(down) | StoreOutcome::Completed(down) = fate {
            self.send_store(down, core, out);
            return None;
        }
        Some(down.addr.line())
    }

    /// Sends a sector that has to leave the store buffer, if there is a credit. Returns true if there is no store buffer or it accepts
    /// another sector.
    #[inline]
    fn send_waiting_store(&mut self, core: &mut Core, out: &mut Outbox) -> bool {
        let Some(stores) = &mut self.stores else { return true };
        if self.net.can_send()
            && let Some((down, evicted)) = stores.pop(core.now)
        {
            let free = stores.is_free();
            if let (true, Some(l1)) = (evicted, &mut self.l1) {
                l1.invalidate_sector(down.addr, down.sectors());
            }
            self.send_store(down, core, out);
            return free;
        }
        stores.is_free()
    }

    /// Sends a sector that stores wrote.
    #[inline(never)]
    fn send_store(&mut self, down: DownstreamRequest, core: &mut Core, out: &mut Outbox) {
        let token = ReplyToken::of_write(Requester::decode(down.token));
        self.send(down.addr, down.sectors(), down.bytes, MemOp::Write, token, down.kernel(), core, out);
    }

    /// Looks up the access at the end of the pipe of each bank, unless the L1 is certain to refuse it. Returns the refused accesses by
    /// cause.
    #[inline]
    pub(super) fn look_up<const RARE_FEATURES: bool>(&mut self, core: &mut Core, observers: &mut Observers) -> Refusals {
        let Some(l1) = &mut self.l1 else { return Refusals::default() };
        let watched = observers.needs_line_events();
        l1.move_up_to(core.now);
        let mut ahead = u64::MAX;
        while let Some(served) = l1.serve(&mut ahead, watched, core.now) {
            take_served::<RARE_FEATURES>(&served, l1, &mut self.loads, core, observers);
        }
        if RARE_FEATURES && l1.prefetcher.is_some() {
            l1.prefetch_ahead(core.now);
        }
        l1.failed_retries()
    }

    /// Fills the data of the fetch of an MSHR into the L1; returns `false` if the fill port is busy.
    #[inline(always)]
    pub(super) fn fill_l1(&mut self, entry: u16, reply: &MemoryReply, core: &Core, observers: &mut Observers) -> bool {
        let Some(l1) = &mut self.l1 else { panic!("{}, {}: data for an L1, but the SM has none", core.id, core.now) };
        // The request for several sectors of a line carries the MSHR of the first sector.
        let entry = if core.spec.l1.line_requests { l1.outstanding_entry(reply.addr) } else { entry };
        let before = observers.needs_line_events().then(|| l1.probe(reply.addr, reply.sectors, false));
        let filled = l1.fill(entry, reply, core.now);
        if let (Some(before), true) = (before, filled) {
            observers.line_filled(l1, before, reply.addr, entry);
        }
        filled
    }

    /// Invalidates the L1.
    pub(in crate::sm) fn invalidate_l1(&mut self, core: &mut Core, observers: &mut Observers) {
        observers.lines_invalidated();
        self.wake(core.now.after(1), core);
        if let Some(l1) = &mut self.l1 {
            l1.invalidate();
            core.counters.sm.l1_flushes += 1;
        }
    }

    /// Begins a kernel on an SM without CTAs: divides the unified memory and invalidates the L1.
    ///
    /// [`UnifiedL1::shared_bytes`](warpshard_config::machine::UnifiedL1::shared_bytes) returns the size of shared memory; the L1 gets the
    /// rest.
    pub(in crate::sm) fn enter_kernel(&mut self, info: &KernelInfo, core: &mut Core, observers: &mut Observers) {
        self.wake(core.now.after(1), core);
        if let (Some(unified), Some(cache), Some(l1)) = (&core.spec.l1.unified, &core.spec.l1.cache, &mut self.l1) {
            let least = core.spec.shared_least;
            let ctas = resident_ctas(&core.spec, info).unwrap_or(1);
            let shared =
                unified.shared_bytes(info.shared_bytes > least, info.shared_bytes.max(least), ctas).unwrap_or(unified.total_bytes / 2);
            if l1.resize(cache, unified.total_bytes, shared) {
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

/// Counts an access that the L1 accepted, and completes it if it needs no data from the next level.
// There is one caller, which runs for every access.
#[inline(always)]
fn take_served<const RARE_FEATURES: bool>(
    served: &AcceptedAccess,
    l1: &L1,
    loads: &mut OutstandingLoads,
    core: &mut Core,
    observers: &mut Observers,
) {
    let AcceptedAccess { addr, kernel, sectors, write, outcome: AccessOutcome { status, reply }, before, .. } = *served;
    if let Some(before) = before {
        observers.line_accessed(l1, &LineAccess { before, addr, warp: warp_of(served.requester(), loads), write, status }, core);
    }
    let counters = core.counters.kernels.at(kernel.index());
    match (write, status) {
        (false, AccessStatus::Hit) => counters.l1_read_hits += 1,
        (false, AccessStatus::HitReserved) => counters.l1_read_pending_hits += 1,
        (false, AccessStatus::SectorMiss) => counters.l1_read_sector_misses += 1,
        (false, _) => counters.l1_read_misses += 1,
        (true, AccessStatus::Hit) => counters.l1_write_hits += 1,
        (true, AccessStatus::HitReserved) => counters.l1_write_pending_hits += 1,
        (true, AccessStatus::SectorMiss) => counters.l1_write_sector_misses += 1,
        (true, _) => counters.l1_write_misses += 1,
    }
    if reply == ReplySource::Cache {
        match served.requester() {
            Requester::Load { load } if RARE_FEATURES => loads.complete_hit(load, core),
            Requester::Load { load } => loads.complete_parts(load, 1, core),
            Requester::Store { warp, generation } => {
                core.stores_leave(usize::from(warp), generation, sectors.count());
                core.stores_done(usize::from(warp), generation, sectors.count());
            }
            Requester::Prefetch => {}
        }
    }
}

/// Returns the warp of a load or store, or [`NO_WARP`](super::super::core::NO_WARP).
fn warp_of(requester: Requester, loads: &OutstandingLoads) -> u8 {
    match requester {
        Requester::Store { warp, .. } => warp,
        Requester::Load { load } => loads.get(load).warp,
        Requester::Prefetch => unreachable!("CCWS, which needs the warp of each request, and prefetchers exclude each other"),
    }
}
