//! Exact-cycle tests of the SM on hand-made programs, with a memory of fixed latency.

mod alu;
mod bypass;
mod caches;
mod ccws;
mod control;
mod cta;
mod dependents;
mod memory;
mod power;
mod preempt;
mod preempt_many;
mod random;
mod size;
mod spans;
mod texture;
mod warp_reasons;
mod warp_states;

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{ClockDomain, CtaIndex, Cycle, KernelIndex, LaneMask, LinkId, SmId, Tick, UnitId};
use warpshard_config::machine::Machine;
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{Credit, CtaLaunch, EventKind, MemPacket, NO_CLUSTER, Outbox, Payload};
use warpshard_state::{Reader, StateError, Writer};
use warpshard_workload::phases::{Latencies, LongOps, Phases};
use warpshard_workload::{
    Application, CachePolicy, Control, CtaProgram, CtaSource, FenceScope, Kernel, KernelInfo, MemInst, MemKind, MemSpace, NO_REGISTER,
    OpClass, RegisterSets, StaticInst, StreamBuilder, Workload,
};

use super::{CcwsCounters, KernelCounters, PrefetchCounters, Sm, SmPorts, SmStats, TextureCounters, WarpReasonCounts};

pub(super) const PORTS: SmPorts = SmPorts {
    to_request_net: LinkId(0),
    to_grid: LinkId(1),
    reply_credit: LinkId(2),
    from_reply_net: LinkId(3),
    request_credit: LinkId(4),
    peers: None,
    from_grid: LinkId(5),
};

/// Returns an instruction that reads and writes registers.
pub(super) fn register_inst(class: OpClass, dst: u16, src: &[u16]) -> StaticInst {
    let mut sources = [NO_REGISTER; 4];
    sources[..src.len()].copy_from_slice(src);
    let registers = RegisterSets::new(dst, sources);
    StaticInst { pc: 0, class, packed_half: false, flops: 0, dst, src: sources, mem: None, immediate: 0, control: Control::NONE, registers }
}

/// Returns a memory instruction of four bytes per lane.
pub(super) fn memory_inst(kind: MemKind, space: MemSpace, dst: u16, src: &[u16]) -> StaticInst {
    let class = if kind == MemKind::Store { OpClass::Store } else { OpClass::Load };
    let cache = if matches!(kind, MemKind::Atomic | MemKind::Reduction) { CachePolicy::Global } else { CachePolicy::All };
    StaticInst { mem: Some(MemInst { space, kind, width: 4, cache }), ..register_inst(class, dst, src) }
}

/// The program of one kernel, the same for every CTA.
#[derive(Debug)]
struct Fixed(Arc<CtaProgram>);

impl CtaSource for Fixed {
    fn cta(&self, _: CtaIndex) -> Arc<CtaProgram> {
        Arc::clone(&self.0)
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Builder of the program of a CTA, warp by warp.
#[derive(Debug, Default)]
pub(super) struct ProgramBuilder {
    code: Vec<StaticInst>,
    warps: Vec<StreamBuilder>,
}

impl ProgramBuilder {
    pub(super) fn new(warps: usize) -> Self {
        Self { code: Vec::new(), warps: (0..warps).map(|_| StreamBuilder::default()).collect() }
    }

    fn index(&mut self, inst: StaticInst) -> u32 {
        let inst = StaticInst { pc: 0, ..inst };
        let at = self.code.iter().position(|known| *known == inst).unwrap_or_else(|| {
            self.code.push(inst);
            self.code.len() - 1
        });
        at as u32
    }

    /// Adds `inst` with all lanes to every warp.
    pub(super) fn add_to_all(&mut self, inst: StaticInst) -> &mut Self {
        for warp in 0..self.warps.len() {
            self.add_to_warp(warp, inst, LaneMask::FULL);
        }
        self
    }

    pub(super) fn add_to_warp(&mut self, warp: usize, inst: StaticInst, mask: LaneMask) -> &mut Self {
        let index = self.index(inst);
        self.warps[warp].op(index, mask);
        self
    }

    /// Adds an access of one warp to `addresses`, one address for each active lane.
    pub(super) fn add_access(&mut self, warp: usize, inst: StaticInst, mask: LaneMask, addresses: &[u64]) -> &mut Self {
        let index = self.index(inst);
        self.warps[warp].access(index, mask, addresses);
        self
    }

    /// Adds `inst` with all lanes and a `payload` to one warp.
    pub(super) fn add_with_payload(&mut self, warp: usize, inst: StaticInst, payload: &[u32]) -> &mut Self {
        let index = self.index(inst);
        self.warps[warp].payload(index, LaneMask::FULL, payload);
        self
    }

    /// Adds an exit to every warp.
    pub(super) fn build_with_exit(mut self) -> Arc<CtaProgram> {
        self.add_to_all(register_inst(OpClass::Exit, NO_REGISTER, &[]));
        self.finish()
    }

    pub(super) fn finish(mut self) -> Arc<CtaProgram> {
        let warps = self.warps.iter_mut().map(StreamBuilder::finish).collect();
        Arc::new(CtaProgram { code: self.code.into(), warps, ..CtaProgram::default() })
    }
}

/// Returns the launch of a CTA without dependencies.
pub(super) fn cta_launch(kernel: u32, cta: u32) -> CtaLaunch {
    CtaLaunch {
        kernel: KernelIndex(kernel),
        cta: CtaIndex(cta),
        share: u16::MAX,
        resumes: false,
        cluster: NO_CLUSTER,
        rank: 0,
        waits: false,
        triggers: false,
    }
}

/// Returns 32 addresses that are `stride` apart.
pub(super) fn lane_addresses(base: u64, stride: u64) -> Vec<u64> {
    (0..32).map(|lane| base + lane * stride).collect()
}

/// An SM between a mock grid scheduler that binds given CTAs, and a memory that replies to each request after `latency` cycles.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) sm: Sm,
    out: Outbox,
    pub(super) now: Cycle,
    pub(super) latency: u64,
    skip: bool,
    /// True if memory replies to a read one sector at a time.
    by_sector: bool,
    /// Messages that the SM sent, with their cycles.
    pub(super) sent: Vec<(Cycle, Payload)>,
    incoming: VecDeque<(Cycle, MemPacket)>,
}

/// Returns true if the SM received all replies to its requests. A request of the L1 for a line has up to four replies.
fn all_replies_received(machine: &Machine, sm: &super::counters::SmCounters) -> bool {
    sm.packets_sent == sm.packets_received || machine.gpu.sm.l1.line_requests && sm.packets_sent < sm.packets_received
}

/// Returns the replies to a request.
fn replies_to(packet: MemPacket, by_sector: bool) -> impl Iterator<Item = MemPacket> {
    use warpshard_base::{Addr, SECTOR_BYTES, SectorMask};
    let apart = by_sector && packet.op == warpshard_protocol::MemOp::Read && packet.sectors().count() > 1;
    let line = packet.addr.line().0;
    let of = move |sector: u32| MemPacket {
        addr: Addr(line + u64::from(sector) * SECTOR_BYTES),
        part: packet.part.with(SectorMask(1 << sector)),
        ..packet
    };
    let sectors: Vec<u32> = packet.sectors().iter().collect();
    (!apart).then_some(packet).into_iter().chain(sectors.into_iter().filter(move |_| apart).map(of))
}

impl Bench {
    pub(super) fn new(machine: &Machine, kernels: Vec<(KernelInfo, Arc<CtaProgram>)>) -> Self {
        Self::with_applications(machine, kernels, Vec::new())
    }

    /// Creates a bench with kernels of several applications.
    pub(super) fn with_applications(
        machine: &Machine,
        kernels: Vec<(KernelInfo, Arc<CtaProgram>)>,
        applications: Vec<Application>,
    ) -> Self {
        let kernels = kernels.into_iter().map(|(info, program)| Kernel { info, source: Arc::new(Fixed(program)) }).collect();
        let workload =
            Workload { name: "test".to_owned(), commands: Vec::new(), kernels, applications, notes: Vec::new(), homes: Vec::new() };
        let clock = ClockDomain { period: 1 };
        let routes = vec![Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) }; 6];
        let sm = Sm::new(SmId(0), machine, Arc::new(workload), PORTS);
        let out = Outbox::new(routes.into(), vec![0], 1);
        let by_sector = machine.gpu.sm.l1.line_requests;
        Self { sm, out, now: Cycle(0), latency: 100, skip: false, by_sector, sent: Vec::new(), incoming: VecDeque::new() }
    }

    /// Creates a bench with one kernel of one CTA, bound at cycle 0.
    pub(super) fn with_single_cta(machine: &Machine, threads: u32, program: Arc<CtaProgram>) -> Self {
        let mut bench = Self::new(machine, vec![(crate::test_machine::kernel_info(threads, 1), program)]);
        bench.bind(0, 0);
        bench
    }

    pub(super) fn with_skipping(mut self) -> Self {
        self.skip = true;
        self
    }

    /// Gives the schedulers of the SM the phases of its kernels.
    pub(super) fn with_phases(mut self) -> Self {
        let phases = |kernel| Phases::of_kernel(kernel, &Latencies::COMPILER_PASS, LongOps::All);
        let kernels = self.sm.workload.kernels.iter().map(phases).collect();
        self.sm = self.sm.with_phases(kernels);
        self
    }

    pub(super) fn bind(&mut self, kernel: u32, cta: u32) {
        self.bind_at(self.now, kernel, cta);
    }

    /// Binds a CTA by a message that arrives at `at`.
    pub(super) fn bind_at(&mut self, at: Cycle, kernel: u32, cta: u32) {
        self.sm.deliver(PORTS.from_grid, at, &Payload::Launch(cta_launch(kernel, cta)));
    }

    /// Runs one epoch of `cycles` cycles, at most the latency of the memory.
    pub(super) fn run(&mut self, cycles: u64) {
        let until = self.now.after(cycles);
        while let Some(&(at, packet)) = self.incoming.front().filter(|(at, _)| *at < until) {
            self.incoming.pop_front();
            self.sm.deliver(PORTS.from_reply_net, at, &Payload::Mem(packet));
        }
        self.sm.run(until, self.skip, &mut self.out);
        for message in std::mem::take(self.out.batch(0)) {
            let sent = Cycle(message.arrival(self.now).0 - 1);
            if let (Payload::Mem(packet), LinkId(0)) = (message.payload, message.link) {
                let at = sent.after(self.latency);
                self.incoming.extend(replies_to(packet, self.by_sector).map(|answer| (at, answer)));
                let credit = Payload::Credit(Credit { queue: 0, count: 1 });
                self.sm.deliver(PORTS.request_credit, sent.after(self.latency).max(until), &credit);
            }
            self.sent.push((sent, message.payload));
        }
        self.now = until;
    }

    /// Runs until all bound CTAs have ended, cycle by cycle, and returns the cycle of each issue.
    pub(super) fn issue_cycles(&mut self) -> Vec<u64> {
        let mut cycles = Vec::new();
        let mut before = self.instructions();
        for _ in 0..1_000_000 {
            self.run(1);
            let after = self.instructions();
            cycles.extend((before..after).map(|_| self.now.0 - 1));
            before = after;
            if self.is_done() {
                return cycles;
            }
        }
        panic!("no end: {:#?}", self.sm.waiting());
    }

    /// Runs until all bound CTAs have ended, in epochs, and returns the cycle of the last message.
    pub(super) fn finish(&mut self) -> u64 {
        while !self.is_done() {
            assert!(self.now < Cycle(10_000_000), "no end: {:#?}", self.sm.waiting());
            self.run(self.latency.min(50));
        }
        self.sm.settle(self.now);
        self.sent.last().map_or(0, |(at, _)| at.0)
    }

    fn is_done(&self) -> bool {
        self.sm.resident_ctas() == 0 && self.sm.next_event() == Cycle::NEVER && self.incoming.is_empty()
    }

    fn instructions(&self) -> u64 {
        self.sm.stats().kernels.iter().map(|kernel| kernel.warp_instructions).sum()
    }

    pub(super) fn stats(&self) -> &SmStats {
        self.sm.stats()
    }

    pub(super) fn ccws(&self) -> Option<CcwsCounters> {
        self.sm.observers.ccws.as_ref().map(|ccws| ccws.counters().clone())
    }

    /// Returns the warp cycles by state, summed over all launches.
    pub(super) fn reasons(&self) -> Option<WarpReasonCounts> {
        let counts = self.sm.warp_reasons()?;
        let sum = |all: WarpReasonCounts, part: WarpReasonCounts| std::array::from_fn(|reason| all[reason] + part[reason]);
        Some(counts.iter().fold(WarpReasonCounts::default(), sum))
    }

    pub(super) fn textures(&self) -> Option<TextureCounters> {
        self.sm.lsu.texture.as_ref().map(|texture| texture.counters.clone())
    }

    pub(super) fn prefetches(&self) -> Option<PrefetchCounters> {
        Some(self.sm.lsu.l1.as_ref()?.prefetcher.as_ref()?.counters.clone())
    }

    pub(super) fn kernel(&self) -> &KernelCounters {
        &self.stats().kernels[0]
    }

    /// Returns the cycles of the notices that `select` picks.
    pub(super) fn notices(&self, select: fn(&Payload) -> bool) -> Vec<u64> {
        self.sent.iter().filter(|(_, payload)| select(payload)).map(|(at, _)| at.0).collect()
    }

    /// Removes and returns the events since the last call, with their cycles.
    pub(super) fn events(&mut self) -> Vec<(u64, EventKind)> {
        std::mem::take(self.out.events()).into_iter().map(|event| (event.at.0, event.kind)).collect()
    }

    /// Returns the memory requests that the SM sent.
    pub(super) fn requests(&self) -> Vec<(u64, MemPacket)> {
        self.sent
            .iter()
            .filter_map(|(at, payload)| match payload {
                Payload::Mem(packet) => Some((at.0, *packet)),
                _ => None,
            })
            .collect()
    }
}
