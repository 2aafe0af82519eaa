//! Asynchronous operations that memory instructions start since Hopper: operations on barriers in shared memory, and bulk copies.
//!
//! Such an instruction passes the load/store unit in order, as an access to shared memory does; this module executes the operation that it
//! starts. The wait at a barrier and the wait for a group of bulk stores complete when the phase or the group ends.

mod barriers;
mod bulk;
mod peers;

use std::collections::VecDeque;

use warpshard_base::{SECTOR_BYTES, SectorMask};
use warpshard_config::machine::ControlCore as Spec;
use warpshard_protocol::{Outbox, PeerOp, PeerPacket};
use warpshard_stats::activity::{AsyncEventKind, CopyKind};
use warpshard_workload::{AsyncOp, BarrierAccess, BarrierOp, BulkCopy, BulkKind, NO_REGISTER, StaticInst};

use super::super::core::{Core, is_in};
use super::super::operands::IssuedInst;
use super::token::ReplyToken;
use super::{Lsu, LsuEntry, LsuWork, SharedResult, pending_results};
use barriers::Barriers;
use bulk::{BulkRequest, BulkUnit, CompletedCopy};
use peers::{RemoteAccesses, rank_of};

/// A group of bulk stores for whose end an instruction waits.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct StoreGroupWait {
    warp: u8,
    dst: u16,
    /// The number of the last store of the group.
    last: u64,
}

/// An operation on barriers that has left the load/store unit and is not completed.
#[derive(Clone, Debug, warpshard_state::State)]
struct PendingOperation {
    at: u64,
    cta: u8,
    result: SharedResult,
    accesses: Vec<[u32; 4]>,
}

/// An arrival at a barrier that takes effect when the preceding copies of its warp have ended.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct ArrivalAfterCopies {
    warp: u8,
    cta: u8,
    access: [u32; BarrierAccess::WORDS],
    /// The number of ended copies of the warp at which the arrival takes effect.
    ended: u32,
}

/// State of the asynchronous operations of the load/store unit.
#[derive(Debug, warpshard_state::State)]
pub(super) struct AsyncUnit {
    barriers: Barriers,
    bulk: BulkUnit,
    groups: Vec<StoreGroupWait>,
    pending_operations: VecDeque<PendingOperation>,
    after_copies: Vec<ArrivalAfterCopies>,
    /// Cycles until an operation on barriers takes effect.
    latency: u64,
    /// Cycles for which an operation on barriers occupies the unit.
    interval: u64,
    /// Operations on barriers of the instruction in the unit.
    entering_accesses: Vec<[u32; 4]>,
    copy: Option<BulkCopy>,
    remote: RemoteAccesses,
}

impl AsyncUnit {
    pub(super) fn new(spec: &Spec, remote: u32) -> Self {
        Self {
            barriers: Barriers::default(),
            bulk: BulkUnit::new(spec.bulk),
            groups: Vec::new(),
            pending_operations: VecDeque::new(),
            after_copies: Vec::new(),
            latency: spec.mbarrier_latency.into(),
            interval: spec.mbarrier_interval.into(),
            entering_accesses: Vec::new(),
            copy: None,
            remote: RemoteAccesses::new(remote),
        }
    }

    /// Returns the first cycle at or after `now` with an event.
    pub(super) fn next_event(&self, now: u64, can_send: bool) -> u64 {
        let pending = self.pending_operations.front().map_or(u64::MAX, |pending| pending.at.max(now));
        self.bulk.next_event(now, can_send).min(pending).min(self.remote.next_event().max(now))
    }

    /// Returns true if arrivals wait for copies, which end in cycles of the load/store unit.
    pub(super) fn waits_for_copies(&self) -> bool {
        !self.after_copies.is_empty()
    }

    /// Returns true if an operation of `warps` is in flight.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.after_copies.iter().any(|arrival| is_in(warps, arrival.warp))
            || self.pending_operations.iter().any(|pending| is_in(warps, pending.result.warp))
            || self.barriers.holds(warps)
            || self.remote.holds(warps)
            || self.bulk.holds(warps)
    }

    /// Discards the waits of `warps`.
    pub(super) fn squash(&mut self, warps: u64) {
        self.barriers.squash(warps);
        self.remote.squash(warps);
        self.pending_operations.retain(|pending| !is_in(warps, pending.result.warp));
        self.after_copies.retain(|arrival| !is_in(warps, arrival.warp));
        self.groups.retain(|group| warps >> group.warp & 1 == 0);
    }

    /// Returns a description for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let mut lines = vec![self.bulk.describe()];
        self.barriers.describe(&mut lines);
        lines.extend(self.remote.describe());
        lines.join("; ")
    }
}

impl Lsu {
    /// Enters an instruction that starts an asynchronous operation.
    pub(super) fn enter_async(&mut self, issued: &IssuedInst, code: &StaticInst, entry: &mut LsuEntry, core: &mut Core) {
        let Some(beside) = &mut self.async_unit else { return };
        let warp = usize::from(issued.warp);
        let payload = core.warps.stream(warp).payload(&issued.inst);
        match code.control.async_op {
            AsyncOp::Barrier => {
                beside.entering_accesses.clear();
                beside.entering_accesses.extend(payload.as_chunks::<{ BarrierAccess::WORDS }>().0);
                entry.work = LsuWork::Barrier;
                entry.leaves = core.now.after(beside.entering_accesses.len().max(1) as u64 * beside.interval);
            }
            AsyncOp::Bulk => {
                beside.copy = BulkCopy::of(payload);
                entry.work = LsuWork::Bulk;
            }
            AsyncOp::BulkGroup
                if issued.dst != NO_REGISTER
                    && let Some(last) = beside.bulk.last_store(issued.warp) =>
            {
                beside.groups.push(StoreGroupWait { warp: issued.warp, dst: issued.dst, last });
                // The warp has one more instruction in flight until the group ends.
                core.warps.in_pipe[warp] += 1;
                entry.dst = NO_REGISTER;
                core.record_async(core.warps.cta[warp], || AsyncEventKind::StoresWaitBegins { warp: warp as u8 });
            }
            _ => {}
        }
    }

    /// Moves the instruction in the unit to the barriers.
    pub(super) fn leave_to_barriers(&mut self, entry: &LsuEntry, core: &Core) {
        let Some(beside) = &mut self.async_unit else { return };
        let result = SharedResult { warp: entry.warp, bank: entry.bank, dst: entry.dst, atomic_lanes: 0 };
        let cta = core.warps.cta[usize::from(entry.warp)];
        let accesses = std::mem::take(&mut beside.entering_accesses);
        beside.pending_operations.push_back(PendingOperation { at: core.now.0 + beside.latency, cta, result, accesses });
    }

    /// Applies an operation to barriers and completes it, unless it has to wait.
    fn apply(&mut self, pending: &PendingOperation, core: &mut Core) {
        let Some(beside) = &mut self.async_unit else { return };
        let PendingOperation { cta, result, .. } = *pending;
        let accesses: Vec<BarrierAccess> = BarrierAccess::of(pending.accesses.as_flattened()).collect();
        let mut ended = false;
        let (before, copies) = core.scoreboard.copy_counts(usize::from(result.warp));
        for access in &accesses {
            if let Some((rank, arrival)) = remote_arrival(access, cta, core) {
                if let Some(peers) = &mut core.peers {
                    peers.send(cta, PeerPacket { rank, ..arrival });
                }
            } else if copies > 0 && matches!(access.op, BarrierOp::AfterCopies { .. }) {
                let arrival = ArrivalAfterCopies { warp: result.warp, cta, access: access.words(), ended: before.wrapping_add(copies) };
                beside.after_copies.push(arrival);
            } else {
                if matches!(access.op, BarrierOp::Write(_)) {
                    core.record_async(cta, || AsyncEventKind::BarrierBegins { address: barriers::address_in_cta(access.address) });
                }
                if beside.barriers.apply(cta, *access) {
                    beside.barriers.note_end(cta, access.address, core);
                    ended = true;
                }
            }
        }
        let phases = beside.barriers.incomplete_phases(cta, &accesses);
        if let Some(&(address, parity)) = phases.first() {
            core.record_async(cta, || AsyncEventKind::WaitBegins { warp: result.warp, address, parity });
            beside.barriers.wait(cta, phases, result);
        } else if result.dst == NO_REGISTER && !accesses.iter().any(|access| matches!(access.op, BarrierOp::Wait(_))) {
            core.instruction_done(usize::from(result.warp));
        } else {
            self.send_shared_result(result, core);
        }
        if ended {
            self.end_waits(core);
        }
    }

    /// Begins the bulk copy of the instruction in the unit.
    pub(super) fn leave_to_bulk(&mut self, entry: &LsuEntry, core: &mut Core) {
        let warp = usize::from(entry.warp);
        if let Some(beside) = &mut self.async_unit
            && let Some(copy) = beside.copy.take()
        {
            let cta = core.warps.cta[warp];
            let (kernel, space) = (core.kernel_of(warp), core.ctas.windows(cta).space);
            let BulkCopy { kind, bytes, barrier, .. } = copy;
            let number = beside.bulk.begin(copy, (cta, entry.warp), (kernel, space), core.now.0);
            let barrier = barrier.map(barriers::address_in_cta);
            core.record_async(cta, || AsyncEventKind::CopyBegins { warp: entry.warp, number, kind: kind_of(kind), bytes, barrier });
        }
        if entry.dst != NO_REGISTER {
            core.register_ready(warp, entry.dst);
        }
        core.instruction_done(warp);
    }

    /// Returns true if no slot is free for the bulk copy in the unit.
    pub(super) fn bulk_is_full(&self) -> bool {
        self.async_unit.as_ref().is_some_and(|beside| !beside.bulk.has_free_slot())
    }

    /// Sends a result through the shared-memory pipe.
    fn send_shared_result(&mut self, result: SharedResult, core: &Core) {
        self.other_sources |= 1 << pending_results::SHARED_MEMORY_SOURCE;
        self.shared_pipe.push_back((core.now.after(self.shared_latency), result));
    }

    /// Completes the waits whose phases have ended.
    fn end_waits(&mut self, core: &mut Core) {
        while let Some(result) = self.async_unit.as_mut().and_then(|beside| beside.barriers.next_over()) {
            core.record_async(core.warps.cta[usize::from(result.warp)], || AsyncEventKind::WaitEnds { warp: result.warp });
            self.send_shared_result(result, core);
        }
    }

    /// Applies the arrivals whose copies have ended to their barriers.
    fn arrive_after_copies(&mut self, core: &mut Core) {
        let Some(AsyncUnit { after_copies, barriers, .. }) = self.async_unit.as_deref_mut() else { return };
        let mut phase_ended = false;
        after_copies.retain(|arrival| {
            let (ended, _) = core.scoreboard.copy_counts(usize::from(arrival.warp));
            let over = ended.wrapping_sub(arrival.ended) as i32 >= 0;
            if over {
                for access in BarrierAccess::of(&arrival.access) {
                    if barriers.apply(arrival.cta, access) {
                        barriers.note_end(arrival.cta, access.address, core);
                        phase_ended = true;
                    }
                }
            }
            !over
        });
        if phase_ended {
            self.end_waits(core);
        }
    }

    /// Simulates one cycle of the asynchronous operations: barriers change, requests of bulk copies leave, and completed copies count at
    /// their barriers.
    #[inline(never)]
    pub(super) fn cycle_async(&mut self, core: &mut Core, out: &mut Outbox) {
        let now = core.now.0;
        self.handle_peer_messages(core);
        while let Some(pending) =
            self.async_unit.as_mut().and_then(|unit| unit.pending_operations.pop_front_if(|pending| pending.at <= now))
        {
            self.apply(&pending, core);
        }
        self.arrive_after_copies(core);
        while self.net.can_send()
            && let Some(BulkRequest { addr, sectors, words, op, slot, kernel }) =
                self.async_unit.as_mut().and_then(|unit| unit.bulk.next_request(now))
        {
            let token = slot.map_or(ReplyToken::WriteBack, |slot| ReplyToken::Bulk { slot });
            let counters = core.counters.kernels.at(kernel.index());
            counters.memory_accesses += 1;
            counters.requested_bytes += u64::from(sectors.count()) * SECTOR_BYTES;
            counters.l1_bypasses += 1;
            self.send(addr, sectors, words, op, token, kernel, core, out);
        }
        while let Some(copy) = self.async_unit.as_mut().and_then(|unit| unit.bulk.next_complete(now)) {
            core.record_async(copy.cta, || AsyncEventKind::CopyEnds { number: copy.number });
            match copy.barrier {
                Some(barrier) => self.copy_completed(&copy, barrier, core),
                None => {
                    let Some(beside) = &mut self.async_unit else { return };
                    let over = |group: &mut StoreGroupWait| group.warp == copy.warp && group.last <= copy.number;
                    for StoreGroupWait { warp, dst, .. } in beside.groups.extract_if(.., over) {
                        core.register_ready(usize::from(warp), dst);
                        core.instruction_done(usize::from(warp));
                        core.record_async(copy.cta, || AsyncEventKind::WaitEnds { warp });
                    }
                }
            }
        }
        if let Some(peers) = &mut core.peers {
            peers.flush(core.now, out);
        }
    }

    /// Completes a bulk copy: its bytes count at the barriers of its destination CTAs.
    fn copy_completed(&mut self, copy: &CompletedCopy, barrier: u32, core: &mut Core) {
        let own = core.peers.as_ref().and_then(|peers| peers.rank(copy.cta));
        let ranks = if copy.ctas == 0 { 1 << (rank_of(barrier) & 15) } else { copy.ctas };
        for rank in (0u8..16).filter(|rank| ranks >> rank & 1 != 0) {
            let (Some(peers), true) = (&mut core.peers, own.is_some_and(|own| own != rank)) else {
                self.complete_at(copy.cta, barrier, copy.bytes, core);
                continue;
            };
            // A copy between CTAs still has to cross the SM-to-SM network; a copy from device memory arrives at all CTAs at the same time.
            let op = if copy.is_sm_to_sm { PeerOp::Send } else { PeerOp::Arrive };
            peers.send(copy.cta, PeerPacket { rank, op, address: barrier, bytes: -(copy.bytes as i32), ..PeerPacket::default() });
        }
    }

    /// Counts bytes of a copy at a barrier of the CTA in a slot.
    fn complete_at(&mut self, cta: u8, barrier: u32, bytes: u32, core: &mut Core) {
        let Some(beside) = &mut self.async_unit else { return };
        if beside.barriers.complete(cta, barrier, bytes) {
            beside.barriers.note_end(cta, barrier, core);
            self.end_waits(core);
        }
    }

    /// Handles the reply to a request of a bulk copy.
    pub(super) fn answer_bulk(&mut self, slot: u8, sectors: SectorMask, core: &Core) {
        if let Some(beside) = &mut self.async_unit {
            beside.bulk.record_reply(slot, sectors, core.now.0);
        }
    }
}

/// Returns the kind of a copy in recordings.
fn kind_of(kind: BulkKind) -> CopyKind {
    match kind {
        BulkKind::Load => CopyKind::Load,
        BulkKind::Store => CopyKind::Store,
        BulkKind::Reduce => CopyKind::Reduce,
        BulkKind::Prefetch => CopyKind::Prefetch,
        BulkKind::Move => CopyKind::Move,
    }
}

/// Returns the rank of the CTA and the message if an operation is an arrival at a barrier of another CTA.
fn remote_arrival(access: &BarrierAccess, cta: u8, core: &Core) -> Option<(u8, PeerPacket)> {
    let own = core.peers.as_ref()?.rank(cta)?;
    let rank = rank_of(access.address);
    let BarrierOp::Arrive { arrivals, bytes, .. } = access.op else { return None };
    let arrival = PeerPacket { op: PeerOp::Arrive, address: access.address, amount: arrivals, bytes, ..PeerPacket::default() };
    (rank != own).then_some((rank, arrival))
}
