//! The load/store unit: it coalesces one memory instruction at a time and sends it to shared memory, the L1 or the network; results are
//! written back one per cycle.
//!
//! Inputs: instructions with their operands, replies from the network. Outputs: registers released in the scoreboard, packets to the
//! network. Order within a cycle: a result is written back and the next one is selected, a reply is accepted, the L1 sends a request and
//! looks up the accesses at the end of its pipes, the instruction makes accesses, the next one enters.

mod async_units;
mod blocked;
mod contexts;
mod entry;
mod flights;
mod l1_port;
mod loads;
mod local;
mod pending_results;
mod shared;
mod squash;
mod store_buffer;
mod token;
mod work;

use std::collections::VecDeque;
use std::hint::select_unpredictable;

use warpshard_base::{Addr, Cycle, KernelIndex, PortId, SectorMask};
use warpshard_config::machine::{CoreStyle, Machine, Switch};
use warpshard_protocol::{AddressMap, CtaLaunch, Homes, MemOp, MemPacket, Outbox, PacketPart, SliceLookup};
use warpshard_stats::CounterVisitor;
use warpshard_workload::KernelInfo;

use super::coalesce::CoalescedAccess;
use super::core::Core;
use super::kinds::UnitKind;
use super::l1::L1;
use super::net::{SmNet, SmPorts};
use super::observers::Observers;
use super::operands::OperandCollectors;
use super::simple_tags::SimpleTags;
use super::texture::TextureCache;
use super::writeback::CompletionWheel;
use async_units::AsyncUnit;
use blocked::CycleStalls;
use contexts::{ContextPart, ContextTransfers};
use flights::OutstandingSectors;
use loads::OutstandingLoads;
use store_buffer::StoreBuffer;
use token::ReplyToken;

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum LsuWork {
    /// A load from shared memory, whose result goes through the shared-memory pipe.
    SharedLoad,
    /// A store to shared memory, which has no result.
    SharedStore,
    /// A load from global or local memory, with its number.
    Load(u16),
    /// A store to global or local memory.
    Store,
    /// An operation on barriers in shared memory.
    Barrier,
    /// The start of a bulk copy.
    Bulk,
    /// An access to the shared memory of other CTAs of the cluster.
    Remote {
        /// True if the access has no result.
        store: bool,
    },
    /// No access: the instruction leaves in the next cycle and releases its register.
    Nothing,
}

/// Selects the code for machines with rare features; `Lsu::has_common_features` lists them.
const RARE_FEATURES: bool = true;
const COMMON_FEATURES: bool = false;

/// The instruction in the unit.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct LsuEntry {
    work: LsuWork,
    op: MemOp,
    warp: u8,
    bank: u8,
    dst: u16,
    bypass: bool,
    local: bool,
    /// True if the instruction uses the texture cache.
    texture: bool,
    /// Lanes of an atomic on shared memory.
    atomic_lanes: u8,
    /// Cycles of the instruction beyond the latency of shared memory.
    extra_cycles: u16,
    /// Number of instructions of the warp after the present one.
    left: u32,
    /// Distance in bytes by which the L1 prefetches ahead of the accesses; 0 disables the prefetch.
    ahead: i32,
    /// The signature of instruction and warp that the reads carry.
    signature: u32,
    /// The cycle in which an access to shared memory leaves the unit: one cycle after its entry, and one more per bank conflict.
    leaves: Cycle,
}

/// A result of shared memory.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct SharedResult {
    warp: u8,
    bank: u8,
    dst: u16,
    atomic_lanes: u8,
}

/// A result that is being written back.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum PendingResult {
    /// A result of shared memory.
    Shared(SharedResult),
    /// Some parts of a load.
    Parts { load: u16, parts: u16 },
}

/// A reply to a load or an atomic that bypasses the L1.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BypassReply {
    load: u16,
    lanes: u8,
    /// Sectors of the load that arrived.
    parts: u16,
}

/// The load/store unit.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Lsu {
    pub(super) net: SmNet,
    slices: SliceLookup,
    /// Number of SMs of the GPU, over which local memory is interleaved.
    sms: u32,
    entry: Option<LsuEntry>,
    accesses: Vec<CoalescedAccess>,
    /// The bank of the L1 of the next access, as a set; empty for accesses to other units or without an access.
    bank: u64,
    result: Option<PendingResult>,
    next_source: u8,
    /// Sources other than the L1 that may have a result, as bits by their position in the rotation.
    other_sources: u8,
    shared_pipe: VecDeque<(Cycle, SharedResult)>,
    shared_latency: u64,
    bypass_reply: Option<BypassReply>,
    flights: OutstandingSectors,
    stores: Option<Box<StoreBuffer>>,
    loads: OutstandingLoads,
    pub(super) l1: Option<L1>,
    pub(super) texture: Option<Box<TextureCache>>,
    ccache: Option<Box<SimpleTags>>,
    /// Replies accepted per cycle.
    replies_per_cycle: u32,
    /// Sectors per cycle that the L1 returns to loads that waited for them.
    results_per_cycle: u32,
    /// True if the machine has none of the rare features: texture cache, context traffic, barriers and bulk copies in shared memory, store
    /// buffer, L1 line requests, L1 prefetcher, limited return path to the registers, several replies or results per cycle, data latency
    /// beyond the tags.
    has_common_features: bool,
    /// Contexts of CTAs in transfer, if contexts are traffic.
    contexts: Option<Box<ContextTransfers>>,
    /// Barriers in shared memory and bulk copies, if the core has control words.
    async_unit: Option<Box<AsyncUnit>>,
    stalls: CycleStalls,
    /// The first cycle whose stalls are not counted.
    uncounted_since: Cycle,
    /// The first cycle in which the unit does more than retry.
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
            net: SmNet::new(machine, ports, queue),
            slices: SliceLookup::new(machine.mem.map.of_gpu()),
            sms: machine.gpu.sms,
            entry: None,
            accesses: Vec::with_capacity(64),
            bank: 0,
            result: None,
            next_source: 0,
            other_sources: if spec.texture.is_some() { 1 << pending_results::TEXTURE_SOURCE } else { 0 },
            shared_pipe: VecDeque::with_capacity(spec.shared.latency as usize + 1),
            shared_latency: u64::from(spec.shared.latency.max(1)),
            bypass_reply: None,
            flights: OutstandingSectors::new(spec.lsu.merged_loads),
            stores: (spec.lsu.combined_stores > 0).then(|| Box::new(StoreBuffer::new(spec.lsu.combined_stores, spec.lsu.combine_wait))),
            loads: OutstandingLoads::new(spec.lsu.return_bytes, spec.schedulers, spec.l1.data_latency),
            l1,
            texture: spec.texture.as_ref().map(|texture| Box::new(TextureCache::new(texture))),
            ccache: spec.fetch.ccache.as_ref().map(|cache| Box::new(SimpleTags::new(cache))),
            replies_per_cycle: spec.lsu.replies.max(1),
            results_per_cycle: spec.l1.answers.max(1),
            has_common_features: !(spec.texture.is_some() || traffic || words || with_l1 || on_return),
            contexts: traffic.then(|| Box::new(ContextTransfers::new(spec.lsu.sector_requests))),
            async_unit: words.then(|| Box::new(AsyncUnit::new(&spec.control, machine.gpu.cluster.in_flight))),
            stalls: CycleStalls::default(),
            uncounted_since: Cycle(0),
            next: Cycle::NEVER,
        }
    }

    /// Sets the address map and the homes of pages, for an SM of a system of several GPUs.
    pub(super) fn set_homes(&mut self, map: AddressMap, homes: &Homes) {
        self.slices = SliceLookup::in_system(map, homes.clone());
    }

    /// Returns the bytes of the arrays of the caches.
    pub(super) fn hot_bytes(&self) -> usize {
        self.l1.as_ref().map_or(0, L1::hot_bytes) + self.texture.as_ref().map_or(0, |texture| texture.hot_bytes())
    }

    /// Prefetches the data that the next cycles need first.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.net.prefetch();
        if let Some(l1) = &self.l1 {
            l1.prefetch();
        }
    }

    /// Prefetches the data to which the lines of [`Lsu::prefetch`] point.
    #[inline]
    pub(super) fn prefetch_pipes(&self) {
        if let Some(l1) = &self.l1 {
            l1.prefetch_pipes();
        }
    }

    /// Prefetches the entry of a reply in flight.
    #[inline]
    pub(super) fn expect_reply(&self, token: u32) {
        if let (ReplyToken::Fetch { entry }, Some(l1)) = (ReplyToken::decode(token), &self.l1) {
            l1.expect_entry(entry);
        }
    }

    /// Prefetches the line of the last reply, which the unit accepts soon.
    #[inline]
    pub(super) fn expect_data(&self, token: u32) {
        if let (ReplyToken::Fetch { entry }, Some(l1)) = (ReplyToken::decode(token), &self.l1) {
            l1.expect_line(entry);
        }
    }

    /// Returns a description of the unit for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let entry = match &self.entry {
            Some(entry) => format!("warp {} with {} accesses to make", entry.warp, self.accesses.len()),
            None => "no instruction".to_owned(),
        };
        let l1 = self.l1.as_ref().map_or_else(|| "no L1".to_owned(), L1::describe);
        let texture = self.texture.as_ref().map_or_else(String::new, |texture| format!(", {}", texture.describe()));
        let beside = self.async_unit.as_ref().map_or_else(String::new, |beside| format!(", {}", beside.describe()));
        format!("load/store unit: {entry}, {l1}{texture}{beside}")
    }

    /// Counts the outstanding loads as [`OutstandingLoads::count`] does.
    #[inline]
    pub(super) fn count_loads(&mut self, at: Cycle, core: &mut Core) {
        self.loads.count(at, core);
    }

    /// Records the activity of the arithmetic units for the cycles that [`Lsu::count_loads`] has not counted.
    #[inline]
    pub(super) fn watch_arithmetic(&mut self, arithmetic: &CompletionWheel) {
        self.loads.overlapped = !arithmetic.is_idle();
    }

    /// Receives the messages of the networks.
    #[inline(always)]
    pub(super) fn receive(&mut self, core: &mut Core, out: &mut Outbox) {
        if !self.net.is_due(core.now) {
            return;
        }
        let (news, ejected, more) = self.net.receive(core.now, out);
        self.step_at(select_unpredictable(news, core.now, Cycle::NEVER));
        if let Some(token) = ejected {
            core.counters.sm.packets_received += 1 + more;
            self.expect_data(token);
        }
    }

    /// Simulates one cycle of the unit, from [`Lsu::next_step`] on; returns true if an instruction entered.
    #[inline]
    pub(super) fn tick(
        &mut self,
        core: &mut Core,
        operands: &mut OperandCollectors,
        arithmetic: &mut CompletionWheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> bool {
        if self.has_common_features {
            self.tick_as::<COMMON_FEATURES>(core, operands, arithmetic, observers, out)
        } else {
            self.tick_as::<RARE_FEATURES>(core, operands, arithmetic, observers, out)
        }
    }

    /// Simulates one cycle of the unit, compiled with and without the rare features.
    fn tick_as<const RARE_FEATURES: bool>(
        &mut self,
        core: &mut Core,
        operands: &mut OperandCollectors,
        arithmetic: &mut CompletionWheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> bool {
        self.watch_arithmetic(arithmetic);
        let (entered, stalls) = self.cycle::<RARE_FEATURES>(core, operands, arithmetic, observers, out);
        self.set_stalls(core.now, stalls, core);
        self.find_next_step::<RARE_FEATURES>(core.now.next(), core);
        entered
    }

    /// Simulates one cycle of the unit; returns the stalls in addition to the entry of an instruction.
    #[inline(always)]
    fn cycle<const RARE_FEATURES: bool>(
        &mut self,
        core: &mut Core,
        operands: &mut OperandCollectors,
        arithmetic: &mut CompletionWheel,
        observers: &mut Observers,
        out: &mut Outbox,
    ) -> (bool, CycleStalls) {
        let mut stalls = CycleStalls::default();
        if RARE_FEATURES {
            self.loads.end_returned(core);
        }
        self.write_result(core, operands);
        if RARE_FEATURES && self.results_per_cycle > 1 {
            self.complete_more_loads(core);
        }
        if self.result.is_none() {
            self.select_result(core);
        }
        if self.accept_reply(core, observers) && RARE_FEATURES && self.replies_per_cycle > 1 {
            self.accept_more_replies(core, observers);
        }
        if RARE_FEATURES && self.texture.is_some() {
            stalls.requests += u8::from(self.texture_cycle(core, out));
        }
        if self.l1.is_some() {
            stalls.requests += u8::from(self.send_request::<RARE_FEATURES>(core, observers, out));
            stalls.retries = self.look_up::<RARE_FEATURES>(core, observers);
        }
        stalls.hold = self.hold_reason(core.now);
        if self.entry.is_some() & stalls.hold.is_none() {
            self.work_on_entry(core, out);
        }
        if RARE_FEATURES && self.contexts.is_some() {
            self.context_cycle(core, out);
        }
        if RARE_FEATURES && let Some(beside) = &self.async_unit {
            if beside.waits_for_copies() || beside.next_event(core.now.0, true) <= core.now.0 {
                self.cycle_async(core, out);
            }
            if core.warps.answered {
                core.report_acknowledged(self.net.to_grid(), out);
            }
        }
        if self.entry.is_none()
            && let Some(inst) = operands.take_oldest(UnitKind::Mem)
        {
            self.enter(&inst, core, arithmetic);
            return (true, stalls);
        }
        (false, stalls)
    }

    /// Sends a packet; there is a credit.
    // Inlined: otherwise every field of the packet is passed before it is written.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the fields of a packet")]
    fn send(
        &mut self,
        addr: Addr,
        sectors: SectorMask,
        bytes: u32,
        op: MemOp,
        token: ReplyToken,
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

    /// Begins to save or restore the context of the CTA that has `warps`; `core` signals its completion.
    pub(super) fn move_context(&mut self, op: MemOp, warps: u64, cta: (&CtaLaunch, &KernelInfo), bytes: u64, now: Cycle) {
        if let Some(contexts) = &mut self.contexts {
            let (launch, info) = cta;
            contexts.begin(op, warps, (launch.kernel, info), launch.cta, bytes);
            self.step_at(now.next());
        }
    }

    /// Simulates one cycle of the context transfers: a packet leaves.
    fn context_cycle(&mut self, core: &mut Core, out: &mut Outbox) {
        let Some(contexts) = &mut self.contexts else { return };
        if self.net.can_send()
            && let Some(ContextPart { addr, sectors, op, kernel, warp }) = contexts.pop()
        {
            self.send(addr, sectors, u32::MAX, op, ReplyToken::Context { warp }, kernel, core, out);
        }
    }

    /// Visits the counters of the texture cache and of the prefetcher of the L1, if present.
    pub(super) fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        if let Some(texture) = &self.texture {
            visitor.counters(&texture.counters);
        }
        if let Some(prefetcher) = self.l1.as_ref().and_then(|l1| l1.prefetcher.as_ref()) {
            visitor.counters(&prefetcher.counters);
        }
    }

    /// Simulates one cycle of the texture cache: a request leaves, and the first fragment whose line is present becomes a result. Returns
    /// true if a request waits for a credit.
    fn texture_cycle(&mut self, core: &mut Core, out: &mut Outbox) -> bool {
        let Some(texture) = &mut self.texture else { return false };
        texture.advance();
        if texture.queued_requests() == 0 {
            return false;
        }
        if !self.net.can_send() {
            return true;
        }
        if let Some((line, load, slot)) = texture.pop_request() {
            let kernel = self.loads.get(load).kernel;
            self.send(line, SectorMask::ALL, u32::MAX, MemOp::Read, ReplyToken::Texture { slot }, kernel, core, out);
        }
        false
    }
}
