//! Shared memory of other CTAs of a cluster: instructions that access it, and messages that came from there.
//!
//! In: instructions of which a lane goes to another CTA's shared memory; messages of the network between SMs. Out: one message for each CTA that an
//! instruction accesses; answers when all are done. An instruction enters and leaves the load/store unit as one on shared memory does.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_protocol::{Outbox, PeerOp, PeerPacket};
use warpshard_workload::{BarrierAccess, BarrierOp, MemInst, MemKind, NO_REGISTER};

use super::super::super::core::{Core, NOBODY, is_in};
use super::super::super::operands::IssuedInst;
use super::super::{Entry, Lsu, SharedAnswer, Work};

/// Where the number of a CTA in its cluster begins in an address of shared memory.
const RANK: u32 = 24;
/// Bytes of a sector.
const SECTOR: u64 = 32;

/// An instruction on shared memory of others that is not done.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct UnderWay {
    answer: SharedAnswer,
    /// Of a store: the generation of its warp's slot.
    generation: u8,
    store: bool,
    /// Messages that are not done.
    left: u8,
}

/// What is under way to other CTAs and from them.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct Remote {
    under_way: Vec<Option<UnderWay>>,
    most: u32,
    /// Of the instruction in the unit: each rank with its sectors.
    entering: Vec<(u8, u32)>,
    /// Messages that came.
    arrived: VecDeque<(Cycle, PeerPacket)>,
}

/// The number of a CTA in its cluster, of an address of shared memory.
pub(super) fn rank_of(address: u32) -> u8 {
    (address >> RANK) as u8
}

impl Remote {
    pub(super) fn new(most: u32) -> Self {
        Self { most, ..Self::default() }
    }

    fn is_full(&self) -> bool {
        self.under_way.iter().flatten().count() >= self.most as usize
    }

    /// The first cycle in which a message is here.
    pub(super) fn next_event(&self) -> u64 {
        self.arrived.front().map_or(u64::MAX, |(at, _)| at.0)
    }

    /// Whether an instruction of `warps` is under way.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.under_way.iter().flatten().any(|one| is_in(warps, one.answer.warp))
    }

    /// The answers of `warps` are for nobody any more.
    pub(super) fn squash(&mut self, warps: u64) {
        let squashed = self.under_way.iter_mut().flatten().filter(|one| is_in(warps, one.answer.warp));
        squashed.for_each(|one| one.answer = SharedAnswer { warp: NOBODY, dst: NO_REGISTER, atomic_lanes: 0, ..one.answer });
    }

    /// For reports of a standstill.
    pub(super) fn describe(&self) -> Option<String> {
        let count = self.under_way.iter().flatten().count();
        (count > 0).then(|| format!("{count} instructions on shared memory of other CTAs under way"))
    }
}

impl Lsu {
    /// A message of the network between SMs comes in cycle `at`.
    #[cold]
    pub(in crate::sm) fn hear_peer(&mut self, at: Cycle, packet: PeerPacket) {
        if let Some(beside) = &mut self.beside {
            beside.remote.arrived.push_back((at, packet));
            self.look_at(at);
        }
    }

    /// Whether as many instructions on shared memory of others are under way as can be.
    pub(in super::super) fn remote_is_full(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.remote.is_full())
    }

    /// An instruction on shared memory enters; returns whether it goes to other CTAs of its cluster.
    pub(in super::super) fn enter_remote(&mut self, issued: &IssuedInst, mem: &MemInst, entry: &mut Entry, core: &mut Core) -> bool {
        let warp = usize::from(issued.warp);
        let slot = core.warps.cta[warp];
        let (Some(beside), Some(own)) = (&mut self.beside, core.peers.as_ref().and_then(|peers| peers.rank(slot))) else { return false };
        let base = core.ctas.windows(slot).shared_base;
        let mut addresses = [0; 32];
        let count = core.warps.stream(warp).addresses(&issued.inst, &mut addresses);
        let within = |address: u64| if address >= base { address - base } else { address };
        // What a lane accesses is aligned, so that it lies in one sector.
        let sectors = &mut addresses[..count];
        sectors.iter_mut().for_each(|address| *address = within(*address) / SECTOR);
        sectors.sort_unstable();
        beside.remote.entering.clear();
        for at in (0..count).filter(|at| *at == 0 || sectors[*at] != sectors[at - 1]) {
            let rank = rank_of((sectors[at] * SECTOR) as u32);
            match beside.remote.entering.last_mut() {
                _ if rank == own => {}
                Some((last, sectors)) if *last == rank => *sectors += 1,
                _ => beside.remote.entering.push((rank, 1)),
            }
        }
        if beside.remote.entering.is_empty() {
            return false;
        }
        entry.work = Work::Remote { store: mem.kind == MemKind::Store };
        entry.leaves = core.now.next();
        if matches!(mem.kind, MemKind::Atomic | MemKind::Reduction) {
            entry.atomic_lanes = issued.inst.lanes;
        }
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).shared_instructions += 1;
        true
    }

    /// The instruction in the unit goes to other CTAs.
    pub(in super::super) fn leave_to_peers(&mut self, entry: &Entry, store: bool, core: &mut Core, out: &mut Outbox) {
        let Some(beside) = &mut self.beside else { return };
        let warp = usize::from(entry.warp);
        let slot = core.warps.cta[warp];
        let Some(peers) = &mut core.peers else { return };
        let remote = &mut beside.remote;
        let place = match remote.under_way.iter().position(Option::is_none) {
            Some(place) => place,
            None => {
                remote.under_way.push(None);
                remote.under_way.len() - 1
            }
        };
        let answer = SharedAnswer { warp: entry.warp, bank: entry.bank, dst: entry.dst, atomic_lanes: entry.atomic_lanes };
        let left = remote.entering.len() as u8;
        remote.under_way[place] = Some(UnderWay { answer, generation: core.warps.generation[warp], store, left });
        let op = if store { PeerOp::Write } else { PeerOp::Read };
        for (rank, sectors) in remote.entering.drain(..) {
            peers.send(slot, PeerPacket { rank, op, amount: sectors, token: place as u16, ..PeerPacket::default() });
        }
        peers.flush(core.now, out);
        if store {
            core.warps.stores[warp] += u16::from(left);
            if entry.dst != NO_REGISTER {
                core.register_ready(warp, entry.dst);
            }
            core.instruction_done(warp);
        }
    }

    /// Takes the messages that are here.
    pub(super) fn hear_peers(&mut self, core: &mut Core) {
        let now = core.now;
        while let Some((_, packet)) = self.beside.as_mut().and_then(|beside| beside.remote.arrived.pop_front_if(|(at, _)| *at <= now)) {
            match packet.op {
                PeerOp::Done => self.remote_done(packet.token, core),
                PeerOp::Met => core.cluster_opened(&packet),
                _ => self.remote_arrival(&packet, core),
            }
        }
    }

    /// An access to shared memory of another CTA is done.
    fn remote_done(&mut self, token: u16, core: &mut Core) {
        let Some(place) = self.beside.as_mut().and_then(|beside| beside.remote.under_way.get_mut(usize::from(token))) else { return };
        let Some(one) = place else { return };
        one.left -= 1;
        let UnderWay { answer, generation, store, left } = *one;
        if left == 0 {
            *place = None;
        }
        if store {
            if answer.warp != NOBODY {
                core.stores_done(usize::from(answer.warp), generation, 1);
            }
        } else if left == 0 && answer.warp != NOBODY {
            self.answer_shared(answer, core);
        }
        // The instruction in the unit may have waited for a place.
        self.look_at(core.now.next());
    }

    /// Something arrives at a barrier of a CTA of this SM; one that has ended has none.
    fn remote_arrival(&mut self, packet: &PeerPacket, core: &mut Core) {
        let Some(cta) = core.peers.as_ref().and_then(|peers| peers.slot_of(packet)) else { return };
        let op = BarrierOp::Arrive { arrivals: packet.amount, bytes: packet.bytes, drops: false };
        let access = BarrierAccess { address: packet.address, op };
        let Some(beside) = &mut self.beside else { return };
        if beside.barriers.apply(cta, access) {
            beside.barriers.note_end(cta, access.address, core);
            self.end_waits(core);
        }
    }
}
