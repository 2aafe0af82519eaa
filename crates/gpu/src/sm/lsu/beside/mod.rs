//! What memory instructions start beside the load/store unit since Hopper: operations on barriers in shared memory, and bulk copies.
//!
//! Such an instruction passes the unit in order, as an access to shared memory does; what it starts goes on here. A barrier's wait and the end of
//! a group of bulk stores are answered when they are over.

mod barriers;
mod bulk;
mod peers;

use std::collections::VecDeque;

use warpshard_base::{SECTOR_BYTES, SectorMask};
use warpshard_config::machine::ControlCore as Spec;
use warpshard_protocol::{Outbox, PeerOp, PeerPacket};
use warpshard_stats::activity::{BesideChange, CopyKind};
use warpshard_workload::{BarrierAccess, BarrierOp, Beside as What, BulkCopy, BulkKind, NO_REGISTER, StaticInst};

use super::super::core::{Core, is_in};
use super::super::operands::IssuedInst;
use super::token::Token;
use super::{Entry, Lsu, SharedAnswer, Work, answers};
use barriers::Barriers;
use bulk::{BulkUnit, Complete, Request};
use peers::{Remote, rank_of};

/// A group of bulk stores whose end an instruction waits for.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Group {
    warp: u8,
    dst: u16,
    /// The number of its last store.
    last: u64,
}

/// An operation on barriers that has left the unit and is not done.
#[derive(Clone, Debug, warpshard_state::State)]
struct Passing {
    at: u64,
    cta: u8,
    answer: SharedAnswer,
    accesses: Vec<[u32; 4]>,
}

/// Arrivals that come when the copies which their warp had begun have ended.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct AfterCopies {
    warp: u8,
    cta: u8,
    access: [u32; BarrierAccess::WORDS],
    /// The copies of the warp that have ended then.
    ended: u32,
}

/// What is under way beside the load/store unit.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Beside {
    barriers: Barriers,
    bulk: BulkUnit,
    groups: Vec<Group>,
    passing: VecDeque<Passing>,
    after_copies: Vec<AfterCopies>,
    /// Of an operation on barriers: how long it takes, and how long it occupies the unit.
    latency: u64,
    interval: u64,
    /// What the instruction in the unit does to barriers.
    entering: Vec<[u32; 4]>,
    copy: Option<BulkCopy>,
    remote: Remote,
}

impl Beside {
    pub(super) fn new(spec: &Spec, remote: u32) -> Self {
        Self {
            barriers: Barriers::default(),
            bulk: BulkUnit::new(spec.bulk),
            groups: Vec::new(),
            passing: VecDeque::new(),
            after_copies: Vec::new(),
            latency: spec.mbarrier_latency.into(),
            interval: spec.mbarrier_interval.into(),
            entering: Vec::new(),
            copy: None,
            remote: Remote::new(remote),
        }
    }

    /// The first cycle at or after `now` in which it does something.
    pub(super) fn next_event(&self, now: u64, can_send: bool) -> u64 {
        let passing = self.passing.front().map_or(u64::MAX, |passing| passing.at.max(now));
        self.bulk.next_event(now, can_send).min(passing).min(self.remote.next_event().max(now))
    }

    /// Whether arrivals wait for copies, which end in cycles of the load/store unit.
    pub(super) fn waits_for_copies(&self) -> bool {
        !self.after_copies.is_empty()
    }

    /// Whether something of `warps` is under way.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.after_copies.iter().any(|arrival| is_in(warps, arrival.warp))
            || self.passing.iter().any(|passing| is_in(warps, passing.answer.warp))
            || self.barriers.holds(warps)
            || self.remote.holds(warps)
            || self.bulk.holds(warps)
    }

    /// Nobody of `warps` waits any more.
    pub(super) fn squash(&mut self, warps: u64) {
        self.barriers.squash(warps);
        self.remote.squash(warps);
        self.passing.retain(|passing| !is_in(warps, passing.answer.warp));
        self.after_copies.retain(|arrival| !is_in(warps, arrival.warp));
        self.groups.retain(|group| warps >> group.warp & 1 == 0);
    }

    /// For reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let mut lines = vec![self.bulk.describe()];
        self.barriers.describe(&mut lines);
        lines.extend(self.remote.describe());
        lines.join("; ")
    }
}

impl Lsu {
    /// An instruction enters that starts something beside the unit.
    pub(super) fn enter_beside(&mut self, issued: &IssuedInst, code: &StaticInst, entry: &mut Entry, core: &mut Core) {
        let Some(beside) = &mut self.beside else { return };
        let warp = usize::from(issued.warp);
        let payload = core.warps.stream(warp).payload(&issued.inst);
        match code.control.beside {
            What::Barrier => {
                beside.entering.clear();
                beside.entering.extend(payload.as_chunks::<{ BarrierAccess::WORDS }>().0);
                entry.work = Work::Barrier;
                entry.leaves = core.now.after(beside.entering.len().max(1) as u64 * beside.interval);
            }
            What::Bulk => {
                beside.copy = BulkCopy::of(payload);
                entry.work = Work::Bulk;
            }
            What::BulkGroup
                if issued.dst != NO_REGISTER
                    && let Some(last) = beside.bulk.last_store(issued.warp) =>
            {
                beside.groups.push(Group { warp: issued.warp, dst: issued.dst, last });
                // One more instruction of the warp is under way until the group ends.
                core.warps.in_pipe[warp] += 1;
                entry.dst = NO_REGISTER;
                core.note_beside(core.warps.cta[warp], || BesideChange::StoresWaitBegins { warp: warp as u8 });
            }
            _ => {}
        }
    }

    /// The instruction in the unit goes on to the barriers.
    pub(super) fn leave_to_barriers(&mut self, entry: &Entry, core: &Core) {
        let Some(beside) = &mut self.beside else { return };
        let answer = SharedAnswer { warp: entry.warp, bank: entry.bank, dst: entry.dst, atomic_lanes: 0 };
        let cta = core.warps.cta[usize::from(entry.warp)];
        let accesses = std::mem::take(&mut beside.entering);
        beside.passing.push_back(Passing { at: core.now.0 + beside.latency, cta, answer, accesses });
    }

    /// Does to barriers what an operation says, and answers it unless it waits.
    fn apply(&mut self, passing: &Passing, core: &mut Core) {
        let Some(beside) = &mut self.beside else { return };
        let Passing { cta, answer, .. } = *passing;
        let accesses: Vec<BarrierAccess> = BarrierAccess::of(passing.accesses.as_flattened()).collect();
        let mut ended = false;
        let (before, copies) = core.scoreboard.copies(usize::from(answer.warp));
        for access in &accesses {
            if let Some((rank, arrival)) = elsewhere(access, cta, core) {
                if let Some(peers) = &mut core.peers {
                    peers.send(cta, PeerPacket { rank, ..arrival });
                }
            } else if copies > 0 && matches!(access.op, BarrierOp::AfterCopies { .. }) {
                let arrival = AfterCopies { warp: answer.warp, cta, access: access.words(), ended: before.wrapping_add(copies) };
                beside.after_copies.push(arrival);
            } else {
                if matches!(access.op, BarrierOp::Write(_)) {
                    core.note_beside(cta, || BesideChange::BarrierBegins { address: barriers::within(access.address) });
                }
                if beside.barriers.apply(cta, *access) {
                    beside.barriers.note_end(cta, access.address, core);
                    ended = true;
                }
            }
        }
        let phases = beside.barriers.incomplete(cta, &accesses);
        if let Some(&(address, parity)) = phases.first() {
            core.note_beside(cta, || BesideChange::WaitBegins { warp: answer.warp, address, parity });
            beside.barriers.wait(cta, phases, answer);
        } else if answer.dst == NO_REGISTER && !accesses.iter().any(|access| matches!(access.op, BarrierOp::Wait(_))) {
            core.instruction_done(usize::from(answer.warp));
        } else {
            self.answer_shared(answer, core);
        }
        if ended {
            self.end_waits(core);
        }
    }

    /// Begins the bulk copy of the instruction in the unit.
    pub(super) fn leave_to_bulk(&mut self, entry: &Entry, core: &mut Core) {
        let warp = usize::from(entry.warp);
        if let Some(beside) = &mut self.beside
            && let Some(copy) = beside.copy.take()
        {
            let cta = core.warps.cta[warp];
            let (kernel, space) = (core.kernel_of(warp), core.ctas.windows(cta).space);
            let BulkCopy { kind, bytes, barrier, .. } = copy;
            let number = beside.bulk.begin(copy, (cta, entry.warp), (kernel, space), core.now.0);
            let barrier = barrier.map(barriers::within);
            core.note_beside(cta, || BesideChange::CopyBegins { warp: entry.warp, number, kind: kind_of(kind), bytes, barrier });
        }
        if entry.dst != NO_REGISTER {
            core.register_ready(warp, entry.dst);
        }
        core.instruction_done(warp);
    }

    /// Whether the bulk copy in the unit finds no room.
    pub(super) fn bulk_is_full(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| !beside.bulk.has_room())
    }

    /// An answer goes through the pipe of shared memory.
    fn answer_shared(&mut self, answer: SharedAnswer, core: &Core) {
        self.elsewhere |= 1 << answers::SHARED;
        self.shared_pipe.push_back((core.now.after(self.shared_latency), answer));
    }

    /// Waits that are over are answered.
    fn end_waits(&mut self, core: &mut Core) {
        while let Some(answer) = self.beside.as_mut().and_then(|beside| beside.barriers.next_over()) {
            core.note_beside(core.warps.cta[usize::from(answer.warp)], || BesideChange::WaitEnds { warp: answer.warp });
            self.answer_shared(answer, core);
        }
    }

    /// Arrivals whose copies have ended come to their barriers.
    fn arrive_after_copies(&mut self, core: &mut Core) {
        let Some(Beside { after_copies, barriers, .. }) = self.beside.as_deref_mut() else { return };
        let mut phase_ended = false;
        after_copies.retain(|arrival| {
            let (ended, _) = core.scoreboard.copies(usize::from(arrival.warp));
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

    /// One cycle beside the unit: barriers change, requests of bulk copies leave, and copies that are complete count at their barriers.
    #[inline(never)]
    pub(super) fn cycle_beside(&mut self, core: &mut Core, out: &mut Outbox) {
        let now = core.now.0;
        self.hear_peers(core);
        while let Some(passing) = self.beside.as_mut().and_then(|unit| unit.passing.pop_front_if(|passing| passing.at <= now)) {
            self.apply(&passing, core);
        }
        self.arrive_after_copies(core);
        while self.net.can_send()
            && let Some(Request { addr, sectors, words, op, place, kernel }) =
                self.beside.as_mut().and_then(|unit| unit.bulk.next_request(now))
        {
            let token = place.map_or(Token::WriteBack, |place| Token::Bulk { place });
            let counters = core.counters.kernels.at(kernel.index());
            counters.memory_accesses += 1;
            counters.requested_bytes += u64::from(sectors.count()) * SECTOR_BYTES;
            counters.l1_bypasses += 1;
            self.send(addr, sectors, words, op, token, kernel, core, out);
        }
        while let Some(copy) = self.beside.as_mut().and_then(|unit| unit.bulk.next_complete(now)) {
            core.note_beside(copy.cta, || BesideChange::CopyEnds { number: copy.number });
            match copy.barrier {
                Some(barrier) => self.copied(&copy, barrier, core),
                None => {
                    let Some(beside) = &mut self.beside else { return };
                    let over = |group: &mut Group| group.warp == copy.warp && group.last <= copy.number;
                    for Group { warp, dst, .. } in beside.groups.extract_if(.., over) {
                        core.register_ready(usize::from(warp), dst);
                        core.instruction_done(usize::from(warp));
                        core.note_beside(copy.cta, || BesideChange::WaitEnds { warp });
                    }
                }
            }
        }
        if let Some(peers) = &mut core.peers {
            peers.flush(core.now, out);
        }
    }

    /// A bulk copy is complete: its bytes count at the barriers of the CTAs that it goes to.
    fn copied(&mut self, copy: &Complete, barrier: u32, core: &mut Core) {
        let own = core.peers.as_ref().and_then(|peers| peers.rank(copy.cta));
        let ranks = if copy.ctas == 0 { 1 << (rank_of(barrier) & 15) } else { copy.ctas };
        for rank in (0u8..16).filter(|rank| ranks >> rank & 1 != 0) {
            let (Some(peers), true) = (&mut core.peers, own.is_some_and(|own| own != rank)) else {
                self.complete_at(copy.cta, barrier, copy.bytes, core);
                continue;
            };
            // What moves between CTAs has its way before it; what comes from device memory comes to all at once.
            let op = if copy.moves { PeerOp::Send } else { PeerOp::Arrive };
            peers.send(copy.cta, PeerPacket { rank, op, address: barrier, bytes: -(copy.bytes as i32), ..PeerPacket::default() });
        }
    }

    /// Bytes of a copy count at a barrier of the CTA in a slot.
    fn complete_at(&mut self, cta: u8, barrier: u32, bytes: u32, core: &mut Core) {
        let Some(beside) = &mut self.beside else { return };
        if beside.barriers.complete(cta, barrier, bytes) {
            beside.barriers.note_end(cta, barrier, core);
            self.end_waits(core);
        }
    }

    /// The answer to a request of a bulk copy came.
    pub(super) fn answer_bulk(&mut self, place: u8, sectors: SectorMask, core: &Core) {
        if let Some(beside) = &mut self.beside {
            beside.bulk.answered(place, sectors, core.now.0);
        }
    }
}

/// How recordings call a kind of copy.
fn kind_of(kind: BulkKind) -> CopyKind {
    match kind {
        BulkKind::Load => CopyKind::Load,
        BulkKind::Store => CopyKind::Store,
        BulkKind::Reduce => CopyKind::Reduce,
        BulkKind::Prefetch => CopyKind::Prefetch,
        BulkKind::Move => CopyKind::Move,
    }
}

/// Where an operation on a barrier is an arrival at one of another CTA: the rank of that, and the message.
fn elsewhere(access: &BarrierAccess, cta: u8, core: &Core) -> Option<(u8, PeerPacket)> {
    let own = core.peers.as_ref()?.rank(cta)?;
    let rank = rank_of(access.address);
    let BarrierOp::Arrive { arrivals, bytes, .. } = access.op else { return None };
    let arrival = PeerPacket { op: PeerOp::Arrive, address: access.address, amount: arrivals, bytes, ..PeerPacket::default() };
    (rank != own).then_some((rank, arrival))
}
