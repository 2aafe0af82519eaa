//! Distributed shared memory: instructions that access the shared memory of other CTAs of a cluster, and messages from these CTAs.
//!
//! In: instructions of which a lane accesses the shared memory of another CTA; messages of the network between SMs. Out: one message for
//! each CTA that an instruction accesses; results when all messages are acknowledged. An instruction enters and leaves the load/store unit
//! as an access to local shared memory does.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_protocol::{Outbox, PeerOp, PeerPacket};
use warpshard_workload::{BarrierAccess, BarrierOp, MemInst, MemKind, NO_REGISTER};

use super::super::super::core::{Core, NO_WARP, is_in};
use super::super::super::operands::IssuedInst;
use super::super::{Lsu, LsuEntry, LsuWork, SharedResult};

/// First bit of the rank of a CTA in its cluster in an address of shared memory.
const RANK_SHIFT: u32 = 24;
/// Bytes of a sector.
const SECTOR_BYTES: u64 = 32;

/// An incomplete instruction on the shared memory of other CTAs.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct RemoteAccess {
    result: SharedResult,
    /// The generation of the warp slot, for a store.
    generation: u8,
    store: bool,
    /// Messages that are not acknowledged.
    pending_messages: u8,
}

/// Accesses to and from other CTAs in flight.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct RemoteAccesses {
    in_flight: Vec<Option<RemoteAccess>>,
    max_in_flight: u32,
    /// Ranks that the instruction in the unit accesses, and the number of sectors of each.
    entering: Vec<(u8, u32)>,
    /// Messages that arrived or are in flight, with their arrival cycles.
    arrived: VecDeque<(Cycle, PeerPacket)>,
}

/// Returns the rank of the CTA in its cluster from an address of shared memory.
pub(super) fn rank_of(address: u32) -> u8 {
    (address >> RANK_SHIFT) as u8
}

impl RemoteAccesses {
    pub(super) fn new(max_in_flight: u32) -> Self {
        Self { max_in_flight, ..Self::default() }
    }

    fn is_full(&self) -> bool {
        self.in_flight.iter().flatten().count() >= self.max_in_flight as usize
    }

    /// Returns the first cycle in which a message arrives.
    pub(super) fn next_event(&self) -> u64 {
        self.arrived.front().map_or(u64::MAX, |(at, _)| at.0)
    }

    /// Returns true if an instruction of `warps` is in flight.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.in_flight.iter().flatten().any(|one| is_in(warps, one.result.warp))
    }

    /// Discards the results of `warps`.
    pub(super) fn squash(&mut self, warps: u64) {
        let squashed = self.in_flight.iter_mut().flatten().filter(|one| is_in(warps, one.result.warp));
        squashed.for_each(|one| one.result = SharedResult { warp: NO_WARP, dst: NO_REGISTER, atomic_lanes: 0, ..one.result });
    }

    /// Returns a description for the deadlock report.
    pub(super) fn describe(&self) -> Option<String> {
        let count = self.in_flight.iter().flatten().count();
        (count > 0).then(|| format!("{count} outstanding instructions on the shared memory of other CTAs"))
    }
}

impl Lsu {
    /// Records a message of the network between SMs that arrives in cycle `at`.
    #[cold]
    pub(in crate::sm) fn receive_peer(&mut self, at: Cycle, packet: PeerPacket) {
        if let Some(beside) = &mut self.async_unit {
            beside.remote.arrived.push_back((at, packet));
            self.step_at(at);
        }
    }

    /// Returns true if the maximum number of instructions on the shared memory of other CTAs is in flight.
    pub(in super::super) fn remote_is_full(&self) -> bool {
        self.async_unit.as_ref().is_some_and(|beside| beside.remote.is_full())
    }

    /// Enters an instruction on shared memory; returns true if it accesses other CTAs of its cluster.
    pub(in super::super) fn enter_remote(&mut self, issued: &IssuedInst, mem: &MemInst, entry: &mut LsuEntry, core: &mut Core) -> bool {
        let warp = usize::from(issued.warp);
        let slot = core.warps.cta[warp];
        let (Some(beside), Some(own)) = (&mut self.async_unit, core.peers.as_ref().and_then(|peers| peers.rank(slot))) else {
            return false;
        };
        let base = core.ctas.windows(slot).shared_base;
        let mut addresses = [0; 32];
        let count = core.warps.stream(warp).addresses(&issued.inst, &mut addresses);
        let within = |address: u64| if address >= base { address - base } else { address };
        // The access of a lane is aligned, so it is in one sector.
        let sectors = &mut addresses[..count];
        sectors.iter_mut().for_each(|address| *address = within(*address) / SECTOR_BYTES);
        sectors.sort_unstable();
        beside.remote.entering.clear();
        for at in (0..count).filter(|at| *at == 0 || sectors[*at] != sectors[at - 1]) {
            let rank = rank_of((sectors[at] * SECTOR_BYTES) as u32);
            match beside.remote.entering.last_mut() {
                _ if rank == own => {}
                Some((last, sectors)) if *last == rank => *sectors += 1,
                _ => beside.remote.entering.push((rank, 1)),
            }
        }
        if beside.remote.entering.is_empty() {
            return false;
        }
        entry.work = LsuWork::Remote { store: mem.kind == MemKind::Store };
        entry.leaves = core.now.next();
        if matches!(mem.kind, MemKind::Atomic | MemKind::Reduction) {
            entry.atomic_lanes = issued.inst.lanes;
        }
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).shared_instructions += 1;
        true
    }

    /// Sends the instruction in the unit to other CTAs.
    pub(in super::super) fn leave_to_peers(&mut self, entry: &LsuEntry, store: bool, core: &mut Core, out: &mut Outbox) {
        let Some(beside) = &mut self.async_unit else { return };
        let warp = usize::from(entry.warp);
        let cta = core.warps.cta[warp];
        let Some(peers) = &mut core.peers else { return };
        let remote = &mut beside.remote;
        let slot = match remote.in_flight.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                remote.in_flight.push(None);
                remote.in_flight.len() - 1
            }
        };
        let result = SharedResult { warp: entry.warp, bank: entry.bank, dst: entry.dst, atomic_lanes: entry.atomic_lanes };
        let pending_messages = remote.entering.len() as u8;
        remote.in_flight[slot] = Some(RemoteAccess { result, generation: core.warps.generation[warp], store, pending_messages });
        let op = if store { PeerOp::Write } else { PeerOp::Read };
        for (rank, sectors) in remote.entering.drain(..) {
            peers.send(cta, PeerPacket { rank, op, amount: sectors, token: slot as u16, ..PeerPacket::default() });
        }
        peers.flush(core.now, out);
        if store {
            core.warps.stores[warp] += u16::from(pending_messages);
            if entry.dst != NO_REGISTER {
                core.register_ready(warp, entry.dst);
            }
            core.instruction_done(warp);
        }
    }

    /// Handles the messages that have arrived.
    pub(super) fn handle_peer_messages(&mut self, core: &mut Core) {
        let now = core.now;
        while let Some((_, packet)) = self.async_unit.as_mut().and_then(|beside| beside.remote.arrived.pop_front_if(|(at, _)| *at <= now)) {
            match packet.op {
                PeerOp::Done => self.remote_done(packet.token, core),
                PeerOp::BarrierOpened => core.cluster_opened(&packet),
                _ => self.remote_arrival(&packet, core),
            }
        }
    }

    /// Records the completion of an access to the shared memory of another CTA.
    fn remote_done(&mut self, token: u16, core: &mut Core) {
        let Some(slot) = self.async_unit.as_mut().and_then(|beside| beside.remote.in_flight.get_mut(usize::from(token))) else { return };
        let Some(one) = slot else { return };
        one.pending_messages -= 1;
        let RemoteAccess { result, generation, store, pending_messages } = *one;
        if pending_messages == 0 {
            *slot = None;
        }
        if store {
            if result.warp != NO_WARP {
                core.stores_done(usize::from(result.warp), generation, 1);
            }
        } else if pending_messages == 0 && result.warp != NO_WARP {
            self.send_shared_result(result, core);
        }
        // The instruction in the unit may have waited for a slot.
        self.step_at(core.now.next());
    }

    /// Applies an arrival at a barrier of a CTA of this SM; a CTA that has ended has no barrier.
    fn remote_arrival(&mut self, packet: &PeerPacket, core: &mut Core) {
        let Some(cta) = core.peers.as_ref().and_then(|peers| peers.slot_of(packet)) else { return };
        let op = BarrierOp::Arrive { arrivals: packet.amount, bytes: packet.bytes, drops: false };
        let access = BarrierAccess { address: packet.address, op };
        let Some(beside) = &mut self.async_unit else { return };
        if beside.barriers.apply(cta, access) {
            beside.barriers.note_end(cta, access.address, core);
            self.end_waits(core);
        }
    }
}
