//! The resolved machine, with all values in the units of the models. Durations are in cycles of the clock that each field names.

use warpshard_base::Frequency;
use warpshard_device::standard::{Standard, StandardError};
use warpshard_protocol::{AddressMap, PartitionHash};
use warpshard_seam::{UserHash, UserPolicies};

pub use super::cache::Cache;
pub use super::choices::{
    Allocate, Allocation, Arbiter, Capability, CoreStyle, Crossbar, CtaOrder, DramScheduler, InFlightPolicy, MemcpyWarms, Prefetch,
    Replacement, SetIndex, Sharing, Switch, SystemLoads, Topology, WarpOrder, WriteMiss, WritePolicy,
};
pub use super::cluster::Cluster;
use super::cpu::CpuSpec;
pub use super::dram::{Dram, DramTiming};
use super::dram::{DramControl, DramPage, RefreshWhen};
pub use super::llc::{Coalescing, Halves, Prefetching};
use super::mesh_nodes::Seat;
use super::system::System;
use crate::MachineError;

/// A whole chip. The default, before any key is read, has no components.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The machine's name in reports.
    pub name: String,
    /// Clock frequencies.
    pub clocks: Clocks,
    /// SMs and the grid scheduler.
    pub gpu: Gpu,
    /// CPU cores; `None` for a chip without CPU cores.
    pub cpu: Option<Cpu>,
    /// The network between cores and memory partitions.
    pub noc: Noc,
    /// LLC slices and DRAM channels.
    pub mem: Mem,
    /// Cycles (core clock) between a controller's decision and its effect.
    pub decision_latency: u64,
    /// The parameters of the energy computation.
    pub energy: Energy,
    /// The system of several GPUs; `None` for a single GPU.
    pub system: Option<System>,
    /// Other kinds of GPUs in the system.
    pub kinds: Vec<GpuKind>,
    /// Policies of the calling program, for keys with the value `own`. They have no text form.
    pub own: UserPolicies,
}

/// A kind of GPU that differs from the GPU described by the rest of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuKind {
    /// The name of the kind and of its table.
    pub name: String,
    /// The GPUs of the kind, in ascending order, without GPU 0.
    pub gpus: Vec<u32>,
    /// The machine of each of these GPUs. Its system is the same, and its list of kinds is empty.
    pub machine: Machine,
}

impl Machine {
    /// Returns the number of GPUs.
    pub fn gpus(&self) -> u32 {
        self.system.as_ref().map_or(1, |system| system.gpus)
    }

    /// Returns the machine of one GPU: this machine, or another kind's machine.
    pub fn of_gpu(&self, gpu: u32) -> &Self {
        self.kinds.iter().find(|kind| kind.gpus.contains(&gpu)).map_or(self, |kind| &kind.machine)
    }

    /// Returns the index of a GPU's kind: 0 for this machine, then the other kinds.
    pub fn kind_of(&self, gpu: u32) -> usize {
        self.kinds.iter().position(|kind| kind.gpus.contains(&gpu)).map_or(0, |kind| kind + 1)
    }

    /// Returns the machine of each GPU, in order of the GPUs.
    pub fn each_gpu(&self) -> impl Iterator<Item = &Self> {
        (0..self.gpus()).map(|gpu| self.of_gpu(gpu))
    }

    /// Returns the machine with the policies of the calling program on every GPU.
    #[must_use]
    pub fn with_policies(mut self, own: &UserPolicies) -> Self {
        let machines = self.kinds.iter_mut().map(|kind| &mut kind.machine);
        machines.for_each(|machine| machine.set_policies(own));
        self.set_policies(own);
        self
    }

    fn set_policies(&mut self, own: &UserPolicies) {
        self.own = own.clone();
        self.mem.map.own_hash = own.address_hash.clone().filter(|_| self.mem.map.hash == PartitionHash::Own);
    }

    /// Checks that the calling program provides a policy for each key with the value `own`.
    ///
    /// # Errors
    /// The first key without a policy, and a hint.
    pub fn check_own(&self) -> Result<(), MachineError> {
        let Self { gpu: Gpu { sm, dispatch, .. }, noc, mem, own, .. } = self;
        let l1 = sm.l1.cache.as_ref().map_or(Replacement::Lru, |cache| cache.replacement);
        let control = |selects: fn(&DramControl) -> bool| mem.dram.control.as_ref().is_some_and(selects);
        let selected = [
            ("gpu.sm.l1.cache.replacement", l1 == Replacement::Own && own.replacement.is_none(), "with_replacement"),
            ("gpu.sm.order", sm.order == WarpOrder::Own && own.warp_order.is_none(), "with_warp_order"),
            ("gpu.sm.l1.prefetch", sm.l1.prefetch == Prefetch::Own && own.prefetcher.is_none(), "with_prefetcher"),
            ("mem.llc.prefetch", mem.prefetch.policy == Prefetch::Own && own.prefetcher.is_none(), "with_prefetcher"),
            ("noc.topology", noc.topology == Topology::Own && own.topology.is_none(), "with_topology"),
            ("noc.arbiter", noc.mesh.is_none() && noc.arbiter == Arbiter::Own && own.arbiter.is_none(), "with_arbiter"),
            ("mem.dram.scheduler", mem.dram.scheduler == DramScheduler::Own && own.dram_order.is_none(), "with_dram_order"),
            ("gpu.dispatch.cta_order", dispatch.cta_order == CtaOrder::Own && own.cta_order.is_none(), "with_cta_order"),
            ("mem.map.hash", mem.map.hash == PartitionHash::Own && own.address_hash.is_none(), "with_address_hash"),
            ("mem.dram.page", control(|control| control.page == DramPage::Own) && own.page_policy.is_none(), "with_page_policy"),
            ("mem.dram.refresh_when", control(|control| control.refresh_when == RefreshWhen::Own) && own.refresh.is_none(), "with_refresh"),
            ("mem.llc.replacement", mem.llc.replacement == Replacement::Own && own.replacement.is_none(), "with_replacement"),
        ];
        match selected.into_iter().find(|(_, missing, _)| *missing) {
            None => self.check_own_hash(),
            Some((key, _, with)) => Err(MachineError::from(format!(
                "`{key}` is \"own\", but the calling program provides no policy for it: select another word, or add a policy to the catalogue \
                 (`Catalogue::with_policies`, `UserPolicies::{with}`)"
            ))),
        }
    }

    /// Checks that the address hash of the calling program maps every address to a distinct location.
    fn check_own_hash(&self) -> Result<(), MachineError> {
        let map = &self.mem.map;
        let Some(UserHash(hash)) = self.own.address_hash.as_ref().filter(|_| map.hash == PartitionHash::Own) else { return Ok(()) };
        for part in [map.of_gpu(), map.of_cpu()] {
            let slices = u64::from(part.partitions * part.slices_per_partition);
            if let Some(above) = hash.breaks_at(slices) {
                return Err(MachineError::from(format!(
                    "the address hash `{}` gives two of {slices} slices the same number, or one beyond them, where the address bits above are {above:#x}, \
                     expected each number once: correct `AddressHash::slice`",
                    hash.name()
                )));
            }
        }
        Ok(())
    }

    /// Returns the machine of each kind of GPU, this machine first.
    pub fn each_kind(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.kinds.iter().map(|kind| &kind.machine))
    }
}

/// The parameters of the energy computation, which has no effect on the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    /// The set of event energies: a built-in name, a path, or "none".
    pub set: String,
    /// Core voltage in millivolts; 0 for the voltage of the set.
    pub millivolts: u32,
}

/// Clock frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Clock of the SMs and the grid scheduler; the reference clock of epochs, intervals and `--max-cycles`.
    pub core: Frequency,
    /// Clock of the network subnets.
    pub noc: Frequency,
    /// Clock of the LLC slices.
    pub llc: Frequency,
    /// DRAM command clock.
    pub dram: Frequency,
}

/// CPU cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Number of CPU cores of the chip.
    pub count: u32,
    /// Clock of the CPU cores.
    pub clock: Frequency,
    /// The parameters of each core.
    pub spec: CpuSpec,
}

/// SMs and the grid scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpu {
    /// The compute capability.
    pub compute_capability: Capability,
    /// Number of SMs.
    pub sms: u32,
    /// SM clock in MHz at 0, 20, 40, .. % utilisation of the matrix units; empty if it is not known.
    pub tensor_clocks: Vec<u16>,
    /// The parameters of an SM.
    pub sm: Sm,
    /// CTA dispatch.
    pub dispatch: Dispatch,
    /// Clusters of CTAs.
    pub cluster: Cluster,
}

/// The grid scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dispatch {
    /// Latency of the links between the grid scheduler and the SMs, each way, in core cycles.
    pub latency: u64,
    /// CTAs bound to an SM beyond the resident CTAs.
    pub ahead: u32,
    /// The dispatch order of the SMs; ascending if empty.
    pub order: Vec<u16>,
    /// The policy that selects the SM of the next CTA.
    pub cta_order: CtaOrder,
    /// Maximum number of CTAs per core cycle, clusters not counted, that the grid scheduler sends to SMs on which CTAs of their kernel have
    /// ended; 0 for one per SM.
    pub ctas_per_cycle: u32,
    /// Minimum core cycles between the starts of two CTAs on an SM, in addition to `warp_interval` for each warp.
    pub cta_interval: u32,
    /// Minimum core cycles between the starts of two CTAs on an SM, per warp.
    pub warp_interval: u32,
    /// Core cycles from the launch of a kernel, after the end of its predecessors in the stream, to the start of its first CTA.
    pub launch_latency: u64,
    /// Maximum number of concurrent kernels on the chip.
    pub max_kernels: u32,
    /// `true` if CTAs of different kernels may share an SM.
    pub share_sm: bool,
    /// The division of the SMs between concurrent kernels.
    pub sharing: Sharing,
    /// The cost model of saving and restoring the context of a CTA.
    pub switch: Switch,
    /// The treatment of in-flight instructions of a preempted CTA.
    pub under_way: InFlightPolicy,
}

/// A streaming multiprocessor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sm {
    /// Number of warp slots.
    pub warps: u32,
    /// `true` if the stall states of warps are counted.
    pub warp_states: bool,
    /// The allocation policy of registers and shared memory.
    pub allocation: Allocation,
    /// Number of CTA slots.
    pub max_ctas: u32,
    /// Maximum number of threads, at most `warps * 32`.
    pub max_threads: u32,
    /// 32-bit registers of the register file.
    pub registers: u32,
    /// Granularity in which registers are allocated to a warp (256 on Volta: 8 per thread).
    pub register_granularity: u32,
    /// Shared memory that CTAs can use, in bytes.
    pub shared_bytes: u32,
    /// Granularity in bytes in which shared memory is allocated to a CTA.
    pub shared_granularity: u32,
    /// Minimum shared memory of a CTA in bytes: the system's reservation, which compilers include in the size of a kernel with shared
    /// memory.
    pub shared_least: u32,
    /// The core style: shared or per-scheduler register banks and execution units.
    pub style: CoreStyle,
    /// Number of warp schedulers; warp slot w belongs to scheduler w % schedulers.
    pub schedulers: u32,
    /// The scheduling order of warps.
    pub order: WarpOrder,
    /// Size of the ready queue of a scheduler with a two-level order, in warps.
    pub ready_queue: u32,
    /// Maximum number of instructions that a scheduler issues per cycle, from one warp.
    pub issue_width: u32,
    /// `true` if two instructions issued in one cycle must use different kinds of units.
    pub dual_issue_distinct: bool,
    /// Fetch and instruction buffers.
    pub fetch: Fetch,
    /// Operand collectors and register banks.
    pub operands: Operands,
    /// Execution units, by kind.
    pub units: Units,
    /// Result buses: register-file writes per cycle from fixed-latency units.
    pub result_buses: u32,
    /// Latency and initiation interval of each class in core cycles, indexed by `OpClass as usize`.
    pub timing: [OpTiming; 14],
    /// Shared memory.
    pub shared: SharedMemory,
    /// Load/store unit.
    pub lsu: Lsu,
    /// L1 data cache.
    pub l1: L1,
    /// Core cycles from the end of power gating to the first possible CTA start.
    pub wake_latency: u32,
    /// Throttling of loads by lost locality; `None` without throttling.
    pub ccws: Option<Ccws>,
    /// The texture cache; without one, texture loads use the L1.
    pub texture: Option<TextureCache>,
    /// The parameters of a core with the style [`CoreStyle::ControlWords`].
    pub control: ControlCore,
}

/// A core whose dependences come from control words. Latencies and intervals are in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCore {
    /// `true` if dependences come from the control words of the code, where present; otherwise from the instruction's registers.
    pub words: bool,
    /// `true` if operands marked in the code stay in the reuse cache.
    pub reuse: bool,
    /// Memory instructions that can wait in a sub-core, in addition to the instruction in its address unit.
    pub memory_queue: u32,
    /// Initiation interval of the address unit of a sub-core.
    pub address_interval: u32,
    /// Cycles from the last operand read of a memory instruction to its offer to the load/store unit.
    pub address_latency: u32,
    /// Interval between two instructions accepted by the load/store unit.
    pub accept_interval: u32,
    /// Interval between two warps that arrive at a barrier of the SM.
    pub barrier_interval: u32,
    /// Cycles from the arrival of the last warp at a barrier until the warps resume.
    pub barrier_latency: u32,
    /// `true` if a warp ends only when its stores are acknowledged, `false` if it ends when they have left the L1.
    pub waits_for_stores: bool,
    /// Cycles for which a warp waits at a fence of the CTA, of the GPU and of the system.
    pub fence: [u32; 3],
    /// Issue-to-issue latency of dependent instructions and initiation interval of each pipe, indexed by `Pipe as usize` of a static
    /// instruction.
    pub pipes: [OpTiming; 18],
    /// Cycles from the departure of an mbarrier operation from the load/store unit to its completion.
    pub mbarrier_latency: u32,
    /// Cycles for which an mbarrier operation occupies the load/store unit.
    pub mbarrier_interval: u32,
    /// Lines of 128 bytes in the instruction cache of a sub-core (L0), in the instruction cache of the SM (L1), and in the cache shared by
    /// code and constants (L1.5).
    pub fetch_lines: [u32; 3],
    /// Lines that a miss prefetches: into the L0 and L1 instruction caches, and into the L1.5.
    pub fetch_ahead: [u32; 2],
    /// Cycles from a miss in the L0 instruction cache to its line if the line is in the L1 instruction cache, in the L1.5, in the LLC, and
    /// in memory.
    pub fetch_latency: [u32; 4],
    /// Cycles between two lines of a stream from the L1 instruction cache, from the L1.5, and from the LLC.
    pub fetch_interval: [u32; 3],
    /// Lines of 64 bytes in the constant cache of LDC, and in a sub-core's constant cache for operands.
    pub constant_lines: [u32; 2],
    /// Core cycles of a miss: in the LDC cache and in the operand cache if the L1.5 has the line, and of the first read of a line of the
    /// program's constants in the LLC and in memory.
    pub constant_latency: [u32; 4],
    /// Cycles from a taken branch to its target.
    pub redirect: u32,
    /// The matrix units in warp-group mode.
    pub products: Products,
    /// The tensor memory accelerator.
    pub bulk: Bulk,
}

/// The matrix units of an SM for warp-group products (wgmma).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// Core cycles from the multiplication of a product's last columns until a wait for the product ends.
    pub latency: u32,
    /// Core cycles until a wait for the product ends, if the first matrix is in registers.
    pub register_latency: u32,
    /// Bytes of operands read from shared memory per core cycle.
    pub shared_bytes: u32,
    /// Minimum core cycles between the starts of two products with the first matrix in registers.
    pub register_interval: u32,
    /// Columns multiplied per core cycle.
    pub columns: u32,
    /// Maximum number of products per warp that have not started.
    pub queue: u32,
    /// Core cycles for which the matrix units read sums through the register ports, before the ports are free for other instructions for
    /// the same time; 0 if the matrix units do not use the ports.
    pub sum_reads: u32,
}

/// The tensor memory accelerator of an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Core cycles from the arrival of the instruction in the load/store unit to the first request.
    pub latency: u32,
    /// Bytes that loads request per core cycle.
    pub load_bytes: u32,
    /// Bytes that stores write per core cycle.
    pub store_bytes: u32,
    /// Core cycles from the last reply of a load to the update of the barrier's byte count.
    pub load_end: u32,
    /// Core cycles from the last request of a store to its completion.
    pub store_end: u32,
    /// Capacity of the tensor-map cache, in maps.
    pub maps: u32,
    /// Maximum number of outstanding sectors; the request of a line is not split.
    pub in_flight: u32,
}

/// A texture cache with tags that are updated at the access, before the line arrives, and a queue that returns results in the order of the accesses (Igehy et
/// al., "Prefetching in a texture cache architecture", 1998). Its lines have 128 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextureCache {
    /// Number of sets.
    pub sets: u32,
    /// Number of ways.
    pub ways: u32,
    /// Capacity of the fragment FIFO: accesses that wait for their line.
    pub fragments: u32,
    /// Capacity of the request FIFO to the next level.
    pub requests: u32,
    /// Capacity of the reorder buffer: lines in flight arrive in any order and are filled in request order.
    pub reorder: u32,
    /// Capacity of the result FIFO: results that wait for write-back.
    pub results: u32,
}

/// Cache-conscious wavefront scheduling (Rogers et al., MICRO 2012): while some warps lose locality in the L1, the other warps may not
/// load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ccws {
    /// Victim tags per warp.
    pub victim_tags: u32,
    /// Victim tags per set.
    pub victim_ways: u32,
    /// The score of a warp without lost locality.
    pub base_score: u32,
    /// The factor by which lost locality raises a score.
    pub k_throttle: u32,
}

/// Fetch and instruction buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    /// Capacity of a warp's instruction buffer, in decoded instructions; it is refilled when empty.
    pub buffer: u32,
    /// Warps fetched per cycle, over the SM.
    pub warps_per_cycle: u32,
    /// The instruction cache; `None` if every fetch hits.
    pub icache: Option<SimpleCache>,
    /// The constant cache; `None` if every access hits.
    pub ccache: Option<SimpleCache>,
}

/// A cache with tags and a fixed miss latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimpleCache {
    /// Number of sets.
    pub sets: u32,
    /// Number of ways.
    pub ways: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Miss latency in core cycles.
    pub miss_latency: u64,
}

/// Operand collectors and register banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Collector units of the SM.
    pub collectors: u32,
    /// Register banks of the SM.
    pub banks: u32,
    /// Read ports of a bank, per cycle.
    pub bank_ports: u32,
    /// Instructions that may enter and leave the collectors per cycle, over the SM.
    pub ports: u32,
}

/// Execution units of an SM by kind; 0 if the machine lacks the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Single-precision units.
    pub sp: u32,
    /// Integer units; if 0, integer instructions run on the SP units, as on Fermi to Pascal.
    pub int: u32,
    /// Special-function units.
    pub sfu: u32,
    /// Double-precision units.
    pub dp: u32,
    /// Matrix units.
    pub tensor: u32,
    /// Branch units; if 0, branches run on the INT or SP units.
    pub branch: u32,
    /// Texture units; if 0, texture instructions run on the INT or SP units.
    pub texture: u32,
    /// Uniform datapaths; if 0, uniform instructions run on the INT or SP units.
    pub uniform: u32,
}

/// The timing of an opcode class, in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTiming {
    /// Cycles from the entry into the unit to the result.
    pub latency: u32,
    /// Initiation interval: cycles between the entries of two instructions.
    pub initiation: u32,
}

/// Shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedMemory {
    /// Number of banks; a bank is four bytes wide.
    pub banks: u32,
    /// Core cycles from access to data, without bank conflicts.
    pub latency: u32,
    /// Additional core cycles of an atomic with a result.
    pub atomic_latency: u32,
}

/// Load/store unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lsu {
    /// `true` if the coalescer makes requests of one sector each (Maxwell and later), `false` if it makes requests of a line with a sector
    /// mask (Fermi).
    pub sector_requests: bool,
    /// `true` if a read that bypasses the L1 requests all its sectors of a line in one request.
    pub lines_past_l1: bool,
    /// Capacity of the reply queue between the network and the L1.
    pub response_queue: u32,
    /// Capacity of the packet queue between the network and the SM.
    pub ejection_queue: u32,
    /// Replies that leave the network and are accepted per core cycle.
    pub replies: u32,
    /// Bytes of loaded values written to the registers of a scheduler's warps per cycle, shared memory excluded; 0 for no limit.
    pub return_bytes: u32,
    /// Maximum number of in-flight sectors, requested past the L1, that another load of the same sector may join; 0 for none.
    pub merged_loads: u32,
    /// Lines with partially written sectors that can wait for the rest of their data; 0 for none.
    pub combined_stores: u32,
    /// Maximum waiting time of a partially written line, in core cycles.
    pub combine_wait: u32,
}

/// L1 data cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct L1 {
    /// Geometry and policies; `None` for an SM without an L1.
    pub cache: Option<Cache>,
    /// Number of banks, interleaved by sector.
    pub banks: u32,
    /// Hit latency in core cycles, from access to data.
    pub latency: u32,
    /// The adaptive split of a unified memory; `None` for a fixed geometry.
    pub unified: Option<Box<UnifiedL1>>,
    /// Percentage of the cache's lines that may be dirty or partially written before writes evict instead of allocating.
    pub write_ratio: u32,
    /// `true` if the L1 is invalidated when a kernel starts.
    pub flush_at_kernel: bool,
    /// The cache level that serves loads of system scope (`.STRONG.SYS`, volatile).
    pub system_loads: SystemLoads,
    /// Core cycles from the tag lookup to the data of a load that hits.
    pub data_latency: u32,
    /// Sectors filled per core cycle.
    pub fills: u32,
    /// Sectors returned per core cycle to loads that missed; hits are not included.
    pub answers: u32,
    /// `true` if the missing sectors of a line leave as one request.
    pub line_requests: bool,
    /// The prefetching policy.
    pub prefetch: Prefetch,
    /// Prefetch distance in lines or strides.
    pub prefetch_distance: u32,
    /// Prefetch degree: sectors prefetched per read.
    pub prefetch_degree: u32,
}

/// The adaptive split between L1 and shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedL1 {
    /// Size of the unified memory in bytes.
    pub total_bytes: u32,
    /// Possible sizes of shared memory in bytes, ascending.
    pub shared_options: Vec<u32>,
    /// Factor by which the chosen size must exceed the shared memory of the CTAs that fit an SM, for kernels that use shared memory.
    pub headroom: u32,
    /// Maximum size in bytes that is chosen for headroom.
    pub headroom_limit: u32,
    /// Minimum bytes per CTA that fits an SM, even if the CTA needs less.
    pub least_per_cta: u32,
    /// Maximum size in bytes that is chosen for `least_per_cta`.
    pub least_limit: u32,
}

impl UnifiedL1 {
    /// Returns the shared-memory size in bytes for a kernel with `needed` bytes per CTA and `ctas` CTAs per SM: the smallest possible size
    /// that holds all of them and the headroom. `own` is true if the kernel has shared memory in addition to the system's reservation.
    /// Returns `None` if no size is large enough.
    pub fn shared_bytes(&self, own: bool, needed: u32, ctas: u32) -> Option<u32> {
        let all = needed.saturating_mul(ctas);
        let headroom = if own { all.saturating_mul(self.headroom).min(self.headroom_limit) } else { 0 };
        let least = self.least_per_cta.saturating_mul(ctas).min(self.least_limit);
        let wanted = all.max(headroom).max(least);
        self.shared_options.iter().copied().find(|option| *option >= wanted)
    }
}

/// The network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noc {
    /// Capacity of an input queue of a subnet, in packets.
    pub input_queue: u32,
    /// Capacity of an output queue of a subnet, in packets.
    pub output_queue: u32,
    /// Latency of each link into and out of a subnet, in noc cycles.
    pub link_latency: u64,
    /// The kind of crossbar, if the topology is a crossbar.
    pub crossbar: Crossbar,
    /// The arbitration policy of the outputs of a `fifo` crossbar.
    pub arbiter: Arbiter,
    /// The router of a `vc` crossbar; all 0 for other crossbars.
    pub vc: VcCrossbar,
    /// The topology.
    pub topology: Topology,
    /// The mesh or torus of routers that replaces the crossbar; `None` for a crossbar.
    pub mesh: Option<Mesh>,
}

/// A crossbar with virtual channels: a single router with a port for each sender and receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcCrossbar {
    /// Pipeline stages of the router: 2 (speculative), 3, or 4 (separate route computation).
    pub stages: u32,
    /// Virtual channels per port.
    pub vcs: u32,
    /// Buffer depth of a virtual channel in flits.
    pub buffers: u32,
    /// Width of a channel, which is the size of a flit, in bytes.
    pub channel_bytes: u32,
    /// Size of a packet's header in bytes.
    pub header_bytes: u32,
}

impl VcCrossbar {
    /// The value for crossbars without virtual channels.
    pub const NONE: Self = Self { stages: 0, vcs: 0, buffers: 0, channel_bytes: 0, header_bytes: 0 };
}

/// A 2-D mesh of virtual-channel routers with XY routing; there is one per subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh {
    /// Routers per row.
    pub columns: u32,
    /// Rows of routers.
    pub rows: u32,
    /// Pipeline stages of a router: 2 (speculative), 3, or 4 (separate route computation).
    pub stages: u32,
    /// Virtual channels per port.
    pub vcs: u32,
    /// Buffer depth of a virtual channel in flits.
    pub buffers: u32,
    /// Width of a channel, which is the size of a flit, in bytes.
    pub channel_bytes: u32,
    /// Size of a packet's header in bytes.
    pub header_bytes: u32,
    /// Virtual channels reserved for packets of CPU cores; if 0, all are shared.
    pub cpu_vcs: u32,
    /// Bytes of the channel width reserved for packets of CPU cores; if 0, the whole width is shared.
    pub cpu_channel_bytes: u32,
    /// The cores and partitions at each router, row by row.
    pub placement: Vec<Vec<Seat>>,
}

/// LLC slices and DRAM channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mem {
    /// The address map: partitions, slices, and the location of an address.
    pub map: AddressMap,
    /// The cache of a slice.
    pub llc: Cache,
    /// The read coalescer in front of a slice.
    pub coalescing: Coalescing,
    /// The halves of the LLC.
    pub halves: Halves,
    /// The prefetcher of a slice.
    pub prefetch: Prefetching,
    /// Cycles (LLC clock) that a request spends in the pipe before the slice's tags: the ROP pipe of the reference.
    pub rop_latency: u64,
    /// Capacities of the queues: network to slice, slice to DRAM, DRAM to slice, slice to network.
    pub queues: PartitionQueues,
    /// Cycles (LLC clock) from the departure of a slice's miss to its arrival at the DRAM scheduler.
    pub dram_latency: u64,
    /// The DRAM channel of a partition.
    pub dram: Dram,
    /// The effect of copies from the host on the LLC.
    pub memcpy_warms: MemcpyWarms,
}

impl Mem {
    /// Returns the device of the command-level controllers at the command clock `clock`; `None` for GPGPU-Sim's channels.
    ///
    /// # Errors
    /// The clock exceeds the device's maximum, or the machine's own table does not describe a valid device; see [`Standard::check`].
    pub fn device(&self, clock: Frequency) -> Result<Option<Standard>, StandardError> {
        self.dram.device(&self.map, clock)
    }
}

/// Queue capacities of a memory partition, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionQueues {
    /// Capacity of the queue from the network to a slice.
    pub in_queue: u32,
    /// Capacity of the queue from a slice to DRAM.
    pub to_dram: u32,
    /// Capacity of the queue from DRAM to a slice.
    pub from_dram: u32,
    /// Capacity of the queue from a slice to the network.
    pub out_queue: u32,
}
