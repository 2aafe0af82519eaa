//! The load/store unit: one memory instruction at a time is coalesced and sent to shared memory, the L1 or the network;
//! results are written back one per cycle.
//!
//! Inputs: instructions with their operands, replies from the network. Outputs: registers released in the scoreboard,
//! packets to the network. In a cycle, in this order: a result is written back and the next selected, a reply is accepted, the
//! L1 sends a request and looks up the access at the end of its pipe, the instruction makes accesses, the next one enters.

mod answers;
mod beside;
mod blocked;
mod contexts;
mod entry;
mod flights;
mod l1_port;
mod loads;
mod local;
mod shared;
mod squash;
mod store_buffer;
mod token;
mod work;

use std::collections::VecDeque;
use std::hint::select_unpredictable;

use warpshard_base::{Addr, Cycle, KernelIndex, PortId, SectorMask};
use warpshard_config::machine::{CoreStyle, Machine, Switch};
use warpshard_protocol::{AddressMap, CtaLaunch, Homes, MemOp, MemPacket, NearSlices, Outbox, PacketPart};
use warpshard_stats::CounterVisitor;
use warpshard_workload::KernelInfo;

use super::coalesce::Access;
use super::core::Core;
use super::kinds::UnitKind;
use super::l1::L1;
use super::net::{Net, SmPorts};
use super::observers::Observers;
use super::operands::Operands;
use super::simple_tags::SimpleTags;
use super::texture::TextureCache;
use super::writeback::Wheel;
use beside::Beside;
use blocked::Waits;
use contexts::{Contexts, Part};
use flights::Flights;
use loads::Loads;
use store_buffer::StoreBuffer;
use token::Token;

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Work {
    /// Shared memory; the result goes through its pipe.
    SharedLoad,
    /// Shared memory, nothing comes back.
    SharedStore,
    /// Global or local memory; names the load.
    Load(u16),
    /// Global or local memory.
    Store,
    /// A barrier in shared memory.
    Barrier,
    /// Begins a bulk copy.
    Bulk,
    /// Shared memory of other CTAs of the cluster.
    Remote {
        /// Nothing comes back.
        store: bool,
    },
    /// Leaves in the next cycle and releases its register.
    Nothing,
}

/// Whether a cycle of the unit is one of a machine that has what few machines have, as `Lsu::plain` lists it.
const FULL: bool = true;
const PLAIN: bool = false;

/// The instruction in the unit.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Entry {
    work: Work,
    op: MemOp,
    warp: u8,
    bank: u8,
    dst: u16,
    bypass: bool,
    local: bool,
    /// Goes through the texture cache.
    texture: bool,
    /// Lanes of an atomic on shared memory.
    atomic_lanes: u8,
    /// Cycles that it takes beyond the latency of shared memory.
    late: u16,
    /// Instructions that the warp has left after this one.
    left: u32,
    /// How many bytes ahead of its accesses the L1 prefetches; 0 for nothing.
    ahead: i32,
    /// The signature of instruction and warp that its reads carry.
    signature: u32,
    /// When an access to shared memory leaves the unit: one cycle after it entered, and one more per bank conflict.
    leaves: Cycle,
}

/// An answer of shared memory.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct SharedAnswer {
    warp: u8,
    bank: u8,
    dst: u16,
    atomic_lanes: u8,
}

/// An answer that is being written back.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum Answer {
    /// From shared memory.
    Shared(SharedAnswer),
    /// To some parts of a load.
    Parts { load: u16, parts: u16 },
}

/// A reply to a load or an atomic past the L1.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Bypassed {
    load: u16,
    lanes: u8,
    /// Sectors of the load that came.
    parts: u16,
}

/// The load/store unit.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Lsu {
    pub(super) net: Net,
    slices: NearSlices,
    /// SMs of the GPU, over which local memory is interleaved.
    sms: u32,
    entry: Option<Entry>,
    accesses: Vec<Access>,
    /// The bank of the L1 that the next access goes to, as a set; empty where it goes elsewhere or there is none.
    bank: u64,
    answer: Option<Answer>,
    turn: u8,
    /// Sources of answers other than the L1 that may have one, as bits by their place in the turn.
    elsewhere: u8,
    shared_pipe: VecDeque<(Cycle, SharedAnswer)>,
    shared_latency: u64,
    bypassed: Option<Bypassed>,
    flights: Flights,
    stores: Option<Box<StoreBuffer>>,
    loads: Loads,
    pub(super) l1: Option<L1>,
    pub(super) texture: Option<Box<TextureCache>>,
    ccache: Option<Box<SimpleTags>>,
    /// Replies that are taken in a cycle.
    replies: u32,
    /// Sectors that the L1 returns in a cycle to loads that waited for them.
    answers: u32,
    /// The machine has none of the rare features: texture cache, context traffic, barriers and bulk copies in shared memory, store buffer, L1 line
    /// requests, L1 prefetcher, limited return path to the registers, several replies or answers per cycle, data latency beyond the tags.
    plain: bool,
    /// Contexts of CTAs under way, where they are traffic.
    contexts: Option<Box<Contexts>>,
    /// Barriers in shared memory and bulk copies, where the core has control words.
    beside: Option<Box<Beside>>,
    waits: Waits,
    /// The cycle from which on it is not counted that this waits.
    uncounted: Cycle,
    /// The first cycle in which the unit does more than try again.
    next: Cycle,
}

impl Lsu {
    pub(super) fn new(machine: &Machine, ports: SmPorts, queue: u16) -> Self {
        let spec = &machine.gpu.sm;
        let l1 = spec.l1.cache.as_ref().map(|cache| L1::new(cache, &spec.l1, PortId(queue), &machine.own));
        let traffic = machine.gpu.dispatch.switch == Switch::Traffic;
        let words = spec.style == CoreStyle::ControlWords;
        let with_l1 = spec.lsu.combined_stores > 0 || spec.l1.line_requests || l1.as_ref().is_some_and(|l1| l1.prefetcher.is_some());
        let on_return = spec.lsu.return_bytes > 0 || spec.lsu.replies > 1 || spec.l1.answers > 1 || spec.l1.data_latency > 0;
        Self {
            net: Net::new(machine, ports, queue),
            slices: NearSlices::new(machine.mem.map.of_gpu()),
            sms: machine.gpu.sms,
            entry: None,
            accesses: Vec::with_capacity(64),
            bank: 0,
            answer: None,
            turn: 0,
            elsewhere: if spec.texture.is_some() { 1 << answers::TEXTURE } else { 0 },
            shared_pipe: VecDeque::with_capacity(spec.shared.latency as usize + 1),
            shared_latency: u64::from(spec.shared.latency.max(1)),
            bypassed: None,
            flights: Flights::new(spec.lsu.merged_loads),
            stores: (spec.lsu.combined_stores > 0).then(|| Box::new(StoreBuffer::new(spec.lsu.combined_stores, spec.lsu.combine_wait))),
            loads: Loads::new(spec.lsu.return_bytes, spec.schedulers, spec.l1.data_latency),
            l1,
            texture: spec.texture.as_ref().map(|texture| Box::new(TextureCache::new(texture))),
            ccache: spec.fetch.ccache.as_ref().map(|cache| Box::new(SimpleTags::new(cache))),
            replies: spec.lsu.replies.max(1),
            answers: spec.l1.answers.max(1),
            plain: !(spec.texture.is_some() || traffic || words || with_l1 || on_return),
            contexts: traffic.then(|| Box::new(Contexts::new(spec.lsu.sector_requests))),
            beside: words.then(|| Box::new(Beside::new(&spec.control, machine.gpu.cluster.in_flight))),
            waits: Waits::default(),
            uncounted: Cycle(0),
            next: Cycle::NEVER,
        }
    }

    /// For an SM of a system of several GPUs.
    pub(super) fn set_homes(&mut self, map: AddressMap, homes: &Homes) {
        self.slices = NearSlices::in_system(map, homes.clone());
    }

    /// Bytes of the arrays of its caches.
    pub(super) fn hot_bytes(&self) -> usize {
        self.l1.as_ref().map_or(0, L1::hot_bytes) + self.texture.as_ref().map_or(0, |texture| texture.hot_bytes())
    }

    /// Prefetches what the next cycles begin with.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.net.prefetch();
        if let Some(l1) = &self.l1 {
            l1.prefetch();
        }
    }

    /// Prefetches what [`Lsu::prefetch`]'s lines point to.
    #[inline]
    pub(super) fn prefetch_pipes(&self) {
        if let Some(l1) = &self.l1 {
            l1.prefetch_pipes();
        }
    }

    /// A reply is under way to the unit.
    #[inline]
    pub(super) fn expect_reply(&self, token: u32) {
        if let (Token::Fetch { entry }, Some(l1)) = (Token::decode(token), &self.l1) {
            l1.expect_entry(entry);
        }
    }

    /// The reply that came last will be taken soon.
    #[inline]
    pub(super) fn expect_data(&self, token: u32) {
        if let (Token::Fetch { entry }, Some(l1)) = (Token::decode(token), &self.l1) {
            l1.expect_line(entry);
        }
    }

    /// What is in the unit, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let entry = match &self.entry {
            Some(entry) => format!("warp {} with {} accesses to make", entry.warp, self.accesses.len()),
            None => "no instruction".to_owned(),
        };
        let l1 = self.l1.as_ref().map_or_else(|| "no L1".to_owned(), L1::describe);
        let texture = self.texture.as_ref().map_or_else(String::new, |texture| format!(", {}", texture.describe()));
        let beside = self.beside.as_ref().map_or_else(String::new, |beside| format!(", {}", beside.describe()));
        format!("load/store unit: {entry}, {l1}{texture}{beside}")
    }

    /// As [`Loads::count`].
    #[inline]
    pub(super) fn count_loads(&mut self, at: Cycle, core: &mut Core) {
        self.loads.count(at, core);
    }

    /// Notes whether an arithmetic unit had an instruction in the cycles that [`Lsu::count_loads`] has not counted.
    #[inline]
    pub(super) fn watch_arithmetic(&mut self, arithmetic: &Wheel) {
        self.loads.overlapped = !arithmetic.is_idle();
    }

    /// Takes in what the networks brought.
    #[inline(always)]
    pub(super) fn receive(&mut self, core: &mut Core, out: &mut Outbox) {
        if !self.net.is_due(core.now) {
            return;
        }
        let (news, ejected, more) = self.net.receive(core.now, out);
        self.look_at(select_unpredictable(news, core.now, Cycle::NEVER));
        if let Some(token) = ejected {
            core.counters.sm.packets_received += 1 + more;
            self.expect_data(token);
        }
    }

    /// One cycle of the unit, from [`Lsu::due`] on; returns whether it took an instruction.
    #[inline]
    pub(super) fn tick(
        &mut self,
        core: &mut Core,
        operands: &mut Operands,
        arithmetic: &mut Wheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> bool {
        if self.plain {
            self.tick_as::<PLAIN>(core, operands, arithmetic, observers, out)
        } else {
            self.tick_as::<FULL>(core, operands, arithmetic, observers, out)
        }
    }

    /// The same, compiled with and without what few machines have.
    fn tick_as<const FULL: bool>(
        &mut self,
        core: &mut Core,
        operands: &mut Operands,
        arithmetic: &mut Wheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> bool {
        self.watch_arithmetic(arithmetic);
        let (entered, waits) = self.cycle::<FULL>(core, operands, arithmetic, observers, out);
        self.wait_from(core.now, waits, core);
        self.look_ahead::<FULL>(core.now.next(), core);
        entered
    }

    /// Returns also what waits.
    #[inline(always)]
    fn cycle<const FULL: bool>(
        &mut self,
        core: &mut Core,
        operands: &mut Operands,
        arithmetic: &mut Wheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> (bool, Waits) {
        let mut waits = Waits::default();
        if FULL {
            self.loads.end_returned(core);
        }
        self.write_answer(core, operands);
        if FULL && self.answers > 1 {
            self.answer_more(core);
        }
        if self.answer.is_none() {
            self.choose_answer(core);
        }
        if self.take_reply(core, observers) && FULL && self.replies > 1 {
            self.take_more_replies(core, observers);
        }
        if FULL && self.texture.is_some() {
            waits.requests += u8::from(self.texture_cycle(core, out));
        }
        if self.l1.is_some() {
            waits.requests += u8::from(self.send_request::<FULL>(core, observers, out));
            waits.retries = self.look_up::<FULL>(core, observers);
        }
        waits.hold = self.hold(core.now);
        if self.entry.is_some() & waits.hold.is_none() {
            self.work_on_entry(core, out);
        }
        if FULL && self.contexts.is_some() {
            self.context_cycle(core, out);
        }
        if FULL && let Some(beside) = &self.beside {
            if beside.waits_for_copies() || beside.next_event(core.now.0, true) <= core.now.0 {
                self.cycle_beside(core, out);
            }
            if core.warps.answered {
                core.report_answered(self.net.to_grid(), out);
            }
        }
        if self.entry.is_none()
            && let Some(inst) = operands.take_oldest(UnitKind::Mem)
        {
            self.enter(&inst, core, arithmetic);
            return (true, waits);
        }
        (false, waits)
    }

    /// Sends a packet; there is a credit.
    // Called from few places; otherwise every field of the packet is handed over before it is written.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the fields of a packet")]
    fn send(
        &mut self,
        addr: Addr,
        sectors: SectorMask,
        bytes: u32,
        op: MemOp,
        token: Token,
        kernel: KernelIndex,
        core: &mut Core,
        out: &mut Outbox,
    ) {
        let slice = self.slices.slice_of(addr);
        let part = PacketPart::new(kernel, sectors);
        let packet = MemPacket { addr, token: token.encode(), bytes, port: PortId(core.id.0), slice, part, op };
        core.counters.sm.packets_sent += 1;
        self.net.send(core.now, packet, out);
    }

    /// Begins to save or restore the context of the CTA that has `warps`; its completion is a signal of `core`.
    pub(super) fn move_context(&mut self, op: MemOp, warps: u64, cta: (&CtaLaunch, &KernelInfo), bytes: u64, now: Cycle) {
        if let Some(contexts) = &mut self.contexts {
            let (launch, info) = cta;
            contexts.begin(op, warps, (launch.kernel, info), launch.cta, bytes);
            self.look_at(now.next());
        }
    }

    /// One cycle of the contexts under way: a packet leaves.
    fn context_cycle(&mut self, core: &mut Core, out: &mut Outbox) {
        let Some(contexts) = &mut self.contexts else { return };
        if self.net.can_send()
            && let Some(Part { addr, sectors, op, kernel, warp }) = contexts.pop()
        {
            self.send(addr, sectors, u32::MAX, op, Token::Context { warp }, kernel, core, out);
        }
    }

    /// The counters of the texture cache and of the L1's prefetcher, where it has them.
    pub(super) fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        if let Some(texture) = &self.texture {
            visitor.counters(&texture.counters);
        }
        if let Some(prefetcher) = self.l1.as_ref().and_then(|l1| l1.prefetcher.as_ref()) {
            visitor.counters(&prefetcher.counters);
        }
    }

    /// One cycle of the texture cache: a request leaves, and the first fragment whose line is there becomes a result. Returns whether a request
    /// waits for a credit.
    fn texture_cycle(&mut self, core: &mut Core, out: &mut Outbox) -> bool {
        let Some(texture) = &mut self.texture else { return false };
        texture.advance();
        if texture.queued() == 0 {
            return false;
        }
        if !self.net.can_send() {
            return true;
        }
        if let Some((line, load, place)) = texture.pop_request() {
            let kernel = self.loads.get(load).kernel;
            self.send(line, SectorMask::ALL, u32::MAX, MemOp::Read, Token::Texture { place }, kernel, core, out);
        }
        false
    }
}
