//! The resolved machine: every value given, in the units that the models use. Durations are in cycles of the clock that each field names.

use warpshard_base::Frequency;
use warpshard_device::standard::{Standard, StandardError};
use warpshard_protocol::{AddressMap, PartitionHash};
use warpshard_seam::{Own, OwnHash};

pub use super::cache::Cache;
pub use super::choices::{
    Allocate, Allocation, Arbiter, Capability, CoreStyle, Crossbar, CtaOrder, DramScheduler, MemcpyWarms, Prefetch, Replacement, SetIndex,
    Sharing, Switch, SystemLoads, Topology, UnderWay, WarpOrder, WriteMiss, WritePolicy,
};
pub use super::cluster::Cluster;
use super::cpu::CpuSpec;
pub use super::dram::{Dram, DramTiming};
use super::dram::{DramControl, DramPage, RefreshWhen};
pub use super::llc::{Coalescing, Halves, Prefetching};
use super::seat::Seat;
use super::system::System;
use crate::MachineError;

/// A whole chip. Its default, before any key is read, has none of anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The machine's name, as reports print it.
    pub name: String,
    /// Clock frequencies.
    pub clocks: Clocks,
    /// SMs and the grid scheduler.
    pub gpu: Gpu,
    /// CPU cores; `None` on a chip without.
    pub cpu: Option<Cpu>,
    /// The network between cores and memory partitions.
    pub noc: Noc,
    /// LLC slices and DRAM channels.
    pub mem: Mem,
    /// Cycles (core clock) between a controller's decision and its effect.
    pub decision_latency: u64,
    /// What its energy is computed with.
    pub energy: Energy,
    /// The system that it is one of several GPUs of; `None` for a GPU alone.
    pub system: Option<System>,
    /// Other kinds of GPUs in that system.
    pub kinds: Vec<GpuKind>,
    /// Policies of the calling program, for keys that say `own`. No text names them.
    pub own: Own,
}

/// GPUs that differ from what the rest of the machine describes.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuKind {
    /// Its name: that of its table.
    pub name: String,
    /// The GPUs of the kind, in ascending order; GPU 0 is none of them.
    pub gpus: Vec<u32>,
    /// What each of them is, in the same system, which has no kinds here.
    pub machine: Machine,
}

impl Machine {
    /// GPUs of the machine.
    pub fn gpus(&self) -> u32 {
        self.system.as_ref().map_or(1, |system| system.gpus)
    }

    /// What a GPU of the machine is: this machine, or another kind's.
    pub fn of_gpu(&self, gpu: u32) -> &Self {
        self.kinds.iter().find(|kind| kind.gpus.contains(&gpu)).map_or(self, |kind| &kind.machine)
    }

    /// The kind of a GPU, counted from 0: that of this machine, then the others.
    pub fn kind_of(&self, gpu: u32) -> usize {
        self.kinds.iter().position(|kind| kind.gpus.contains(&gpu)).map_or(0, |kind| kind + 1)
    }

    /// What each GPU is, in their order.
    pub fn each_gpu(&self) -> impl Iterator<Item = &Self> {
        (0..self.gpus()).map(|gpu| self.of_gpu(gpu))
    }

    /// The same machine with policies of the calling program, on every GPU.
    #[must_use]
    pub fn with_own(mut self, own: &Own) -> Self {
        let machines = self.kinds.iter_mut().map(|kind| &mut kind.machine);
        machines.for_each(|machine| machine.bring(own));
        self.bring(own);
        self
    }

    fn bring(&mut self, own: &Own) {
        self.own = own.clone();
        self.mem.map.own_hash = own.address_hash.clone().filter(|_| self.mem.map.hash == PartitionHash::Own);
    }

    /// Whether the calling program brings a policy for each key that says `own`.
    ///
    /// # Errors
    /// The first key for which it brings none, and what to do.
    pub fn check_own(&self) -> Result<(), MachineError> {
        let Self { gpu: Gpu { sm, dispatch, .. }, noc, mem, own, .. } = self;
        let l1 = sm.l1.cache.as_ref().map_or(Replacement::Lru, |cache| cache.replacement);
        let control = |says: fn(&DramControl) -> bool| mem.dram.control.as_ref().is_some_and(says);
        let asked = [
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
        match asked.into_iter().find(|(_, missing, _)| *missing) {
            None => self.check_own_hash(),
            Some((key, _, with)) => Err(MachineError::from(format!(
                "`{key}` is \"own\", and the calling program brings no policy for it, expected one: choose another word, or give the catalogue one \
                 (`Catalogue::with_own`, `Own::{with}`)"
            ))),
        }
    }

    /// Whether the address hash of the calling program gives every address a location of its own.
    fn check_own_hash(&self) -> Result<(), MachineError> {
        let map = &self.mem.map;
        let Some(OwnHash(hash)) = self.own.address_hash.as_ref().filter(|_| map.hash == PartitionHash::Own) else { return Ok(()) };
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

    /// Each kind of GPU once: this machine first.
    pub fn each_kind(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.kinds.iter().map(|kind| &kind.machine))
    }
}

/// What the energy of a machine is computed with. Changes nothing that is simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    /// The set of event energies: a built-in name, a path, or "none".
    pub set: String,
    /// Core voltage in millivolts; 0 is the set's own.
    pub millivolts: u32,
}

/// Clock frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// SMs and the grid scheduler; the reference clock of epochs, intervals and `--max-cycles`.
    pub core: Frequency,
    /// Network subnets.
    pub noc: Frequency,
    /// LLC slices.
    pub llc: Frequency,
    /// DRAM command clock.
    pub dram: Frequency,
}

/// CPU cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// CPU cores of the chip.
    pub count: u32,
    /// Their clock.
    pub clock: Frequency,
    /// What each is made of.
    pub spec: CpuSpec,
}

/// SMs and the grid scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpu {
    /// Its compute capability.
    pub compute_capability: Capability,
    /// SMs of the chip.
    pub sms: u32,
    /// The clock of the SMs in MHz where 0, 20, 40 .. % of what the matrix units can do is done; empty where it is not known.
    pub tensor_clocks: Vec<u16>,
    /// What an SM is made of.
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
    /// CTAs bound to an SM beyond those resident.
    pub ahead: u32,
    /// The SMs in the order in which they are served; ascending where it is empty.
    pub order: Vec<u16>,
    /// Which SM gets the next CTA.
    pub cta_order: CtaOrder,
    /// CTAs that the grid scheduler hands out in a core cycle, beside clusters, to SMs on which CTAs of their kernel have ended; 0 for one to each SM.
    pub ctas_per_cycle: u32,
    /// Core cycles from the start of a CTA on an SM to that of the next, at least: `cta_interval`, and `warp_interval` for each of its warps.
    pub cta_interval: u32,
    /// For each warp.
    pub warp_interval: u32,
    /// Core cycles from the launch of a kernel (its predecessors in the stream having ended) to its first CTA's start.
    pub launch_latency: u64,
    /// Kernels that may run at once on the chip.
    pub max_kernels: u32,
    /// Whether CTAs of different kernels may share an SM.
    pub share_sm: bool,
    /// How kernels that run at once divide the SMs.
    pub sharing: Sharing,
    /// What saving and restoring the context of a CTA is.
    pub switch: Switch,
    /// What becomes of the instructions under way of a CTA that is taken away.
    pub under_way: UnderWay,
}

/// An SM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sm {
    /// Warp slots.
    pub warps: u32,
    /// Whether the states of warps are counted.
    pub warp_states: bool,
    /// How CTAs take its registers and its shared memory.
    pub allocation: Allocation,
    /// CTA slots.
    pub max_ctas: u32,
    /// Threads, at most `warps * 32`.
    pub max_threads: u32,
    /// 32-bit registers of the register file.
    pub registers: u32,
    /// Registers are allocated to a warp in multiples of this many (256 on Volta: 8 per thread).
    pub register_granularity: u32,
    /// Shared memory that CTAs can use, in bytes.
    pub shared_bytes: u32,
    /// Shared memory is allocated to a CTA in multiples of this many bytes.
    pub shared_granularity: u32,
    /// The least shared memory of a CTA, in bytes: what the system reserves, which compilers count where a kernel has shared memory.
    pub shared_least: u32,
    /// Whether schedulers own their register banks and execution units.
    pub style: CoreStyle,
    /// Warp schedulers; warp slot w belongs to scheduler w % schedulers.
    pub schedulers: u32,
    /// The order in which a scheduler considers its warps.
    pub order: WarpOrder,
    /// Warps in the ready queue of a scheduler with a two-level order.
    pub ready_queue: u32,
    /// Instructions that a scheduler may issue in a cycle, from one warp.
    pub issue_width: u32,
    /// Whether two instructions issued in one cycle must go to different kinds of unit.
    pub dual_issue_distinct: bool,
    /// Fetch and instruction buffers.
    pub fetch: Fetch,
    /// Operand collectors and register banks.
    pub operands: Operands,
    /// Execution units, by kind.
    pub units: Units,
    /// Result buses: writes into the register file per cycle from fixed-latency units.
    pub result_buses: u32,
    /// Latency and initiation interval per class, indexed by `OpClass as usize`, in core cycles.
    pub timing: [OpTiming; 14],
    /// Shared memory.
    pub shared: SharedMemory,
    /// Load/store unit.
    pub lsu: Lsu,
    /// L1 data cache.
    pub l1: L1,
    /// Core cycles from the end of power gating until CTAs may start.
    pub wake_latency: u32,
    /// Throttling of loads by lost locality; `None` lets all warps load.
    pub ccws: Option<Ccws>,
    /// The cache that loads of textures go through; `None` lets them go through the L1.
    pub texture: Option<TextureCache>,
    /// What a core of the style [`CoreStyle::ControlWords`] has.
    pub control: ControlCore,
}

/// A core whose dependences come from control words. Latencies and intervals are in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCore {
    /// Whether dependences come from the control words of the code, where it has them; else from the registers that it names.
    pub words: bool,
    /// Whether operands that the code marks stay in the reuse cache.
    pub reuse: bool,
    /// Memory instructions that wait in a sub-core, beside the one that its address unit has.
    pub memory_queue: u32,
    /// From one instruction that the address unit of a sub-core takes to the next.
    pub address_interval: u32,
    /// From the last operand read of a memory instruction to its offer to the load/store unit.
    pub address_latency: u32,
    /// From one instruction that the load/store unit accepts to the next.
    pub accept_interval: u32,
    /// From one warp that reaches a barrier of the SM to the next.
    pub barrier_interval: u32,
    /// From the last warp that reaches a barrier until the warps go on.
    pub barrier_latency: u32,
    /// Whether a warp that issued its last instruction ends only when its stores are acknowledged, not when they have left the L1.
    pub waits_for_stores: bool,
    /// How long a warp stands at a fence of the CTA, of the GPU and of the system.
    pub fence: [u32; 3],
    /// Latency from issue to issue of an instruction that waits, and interval, of each pipe; by `Pipe as usize` of a static instruction.
    pub pipes: [OpTiming; 18],
    /// From an operation on a barrier in shared memory that leaves the load/store unit until it is done.
    pub mbarrier_latency: u32,
    /// How long such an operation occupies the load/store unit.
    pub mbarrier_interval: u32,
    /// Lines of 128 bytes in the instruction cache of a sub-core, in that of the SM, and in the cache that code shares with constants (L1.5).
    pub fetch_lines: [u32; 3],
    /// Lines that a miss brings beside its own, in the first two and in the last of these caches.
    pub fetch_ahead: [u32; 2],
    /// From the miss of a sub-core's instruction cache to its line, where the SM's has it, where the L1.5 has it, where the LLC has it, and where it
    /// is in memory.
    pub fetch_latency: [u32; 4],
    /// From one line of a stream to the next, out of the SM's instruction cache, out of the L1.5, and out of the LLC.
    pub fetch_interval: [u32; 3],
    /// Lines of 64 bytes in the constant cache of LDC, and in that of a sub-core for operands.
    pub constant_lines: [u32; 2],
    /// Core cycles that a miss of these takes where the L1.5 has the line, and a line of the program's constants at its first read where the LLC has it
    /// and where it is in memory.
    pub constant_latency: [u32; 4],
    /// From a branch that is taken to its target.
    pub redirect: u32,
    /// The matrix units when they work for warp groups.
    pub products: Products,
    /// The tensor memory accelerator.
    pub bulk: Bulk,
}

/// The matrix units of an SM when they make products of warp groups (wgmma).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// Core cycles from the last columns of a product that are multiplied until a wait for it is over.
    pub latency: u32,
    /// The same where the first matrix is in registers.
    pub register_latency: u32,
    /// Bytes of operands read from shared memory in a core cycle.
    pub shared_bytes: u32,
    /// Least core cycles between the starts of two products whose first matrix is in registers.
    pub register_interval: u32,
    /// Columns that the matrix units multiply in a core cycle.
    pub columns: u32,
    /// Products of a warp that have not begun.
    pub queue: u32,
    /// Core cycles for which the matrix units read sums through the ports of the registers, before they leave these to others for as long; 0 where
    /// they take no port.
    pub sum_reads: u32,
}

/// The tensor memory accelerator of an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Core cycles from the instruction in the load/store unit to the first request.
    pub latency: u32,
    /// Bytes requested in a core cycle by loads.
    pub load_bytes: u32,
    /// Bytes written in a core cycle by stores.
    pub store_bytes: u32,
    /// Core cycles from the last answer of a load until its bytes count at its barrier.
    pub load_end: u32,
    /// Core cycles from the last request of a store until it is complete.
    pub store_end: u32,
    /// Tensor maps that it keeps.
    pub maps: u32,
    /// Sectors requested and not answered, at most; a request of a line is not divided.
    pub in_flight: u32,
}

/// A texture cache: tags that know at once whether a line will be there, and a queue that gives results in the order of their
/// accesses (Igehy et al., "Prefetching in a texture cache architecture", 1998). Its lines have 128 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextureCache {
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Accesses that wait for their turn and their line.
    pub fragments: u32,
    /// Misses that wait to leave for the next level.
    pub requests: u32,
    /// Lines under way, which come in any order and are filled in that of their requests.
    pub reorder: u32,
    /// Results that wait to be written back.
    pub results: u32,
}

/// Cache-conscious wavefront scheduling (Rogers et al., MICRO 2012): warps that lose no locality in the L1 may not load while
/// others do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ccws {
    /// Victim tags of a warp.
    pub victim_tags: u32,
    /// Victim tags of a set.
    pub victim_ways: u32,
    /// The score of a warp that has lost no locality.
    pub base_score: u32,
    /// How strongly lost locality raises a score.
    pub k_throttle: u32,
}

/// Fetch and instruction buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    /// Decoded instructions that a warp's buffer holds; refilled when empty.
    pub buffer: u32,
    /// Warps fetched for per cycle, over the SM.
    pub warps_per_cycle: u32,
    /// The instruction cache; `None` is perfect.
    pub icache: Option<SimpleCache>,
    /// The constant cache; `None` is perfect.
    pub ccache: Option<SimpleCache>,
}

/// A cache as a latency model: tags are real, a miss costs a fixed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimpleCache {
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Core cycles that a miss takes.
    pub miss_latency: u64,
}

/// Operand collectors and register banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Collector units of the SM.
    pub collectors: u32,
    /// Register banks of the SM.
    pub banks: u32,
    /// Reads that a bank serves in a cycle.
    pub bank_ports: u32,
    /// Instructions that may enter and leave the collectors per cycle, over the SM.
    pub ports: u32,
}

/// Execution units of an SM, by kind; 0 where the machine lacks the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Single precision.
    pub sp: u32,
    /// Integer; 0 runs integer work on the SP units, as Fermi to Pascal do.
    pub int: u32,
    /// Special functions.
    pub sfu: u32,
    /// Double precision.
    pub dp: u32,
    /// Matrix.
    pub tensor: u32,
    /// Branches; 0 runs them on the INT (or SP) units.
    pub branch: u32,
    /// Texture; 0 as above.
    pub texture: u32,
    /// Uniform datapath; 0 as above.
    pub uniform: u32,
}

/// Timing of an opcode class, in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTiming {
    /// From entering the unit to the result.
    pub latency: u32,
    /// From one instruction entering a unit to the next.
    pub initiation: u32,
}

/// Shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedMemory {
    /// Banks of four bytes.
    pub banks: u32,
    /// Core cycles from access to data, without conflicts.
    pub latency: u32,
    /// Core cycles that an atomic with a result takes more.
    pub atomic_latency: u32,
}

/// Load/store unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lsu {
    /// The coalescer makes requests of one sector each (Maxwell and later) rather than of a line with a sector mask (Fermi).
    pub sector_requests: bool,
    /// Reads past the L1 ask for all their sectors of a line at once.
    pub lines_past_l1: bool,
    /// Replies that wait between the network and the L1.
    pub response_queue: u32,
    /// Packets that wait between the network and the SM.
    pub ejection_queue: u32,
    /// Replies that move on from the network and are taken in a core cycle.
    pub replies: u32,
    /// Bytes of loaded values that reach the registers of a scheduler's warps in a cycle, other than from shared memory; 0 for any number.
    pub return_bytes: u32,
    /// Sectors under way for loads past the L1 for which another load of the same sector waits; 0 for none.
    pub merged_loads: u32,
    /// Lines of which parts of sectors that stores wrote wait for the rest; 0 for none.
    pub combined_stores: u32,
    /// How long they wait, in core cycles.
    pub combine_wait: u32,
}

/// L1 data cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct L1 {
    /// Geometry and policies; `None` leaves the SM without an L1.
    pub cache: Option<Cache>,
    /// Banks, interleaved by sector.
    pub banks: u32,
    /// Core cycles from access to data on a hit.
    pub latency: u32,
    /// The adaptive split of a unified memory; `None` keeps the geometry as written.
    pub unified: Option<Box<UnifiedL1>>,
    /// Percentage of the cache's lines that may be dirty or partially written before writes evict rather than allocate.
    pub write_ratio: u32,
    /// Whether the L1 is invalidated when a kernel starts.
    pub flush_at_kernel: bool,
    /// Where loads of system scope (`.STRONG.SYS`, volatile) look.
    pub system_loads: SystemLoads,
    /// Core cycles from the look-up of the tags to the data of a load that hits.
    pub data_latency: u32,
    /// Sectors that are filled in a core cycle.
    pub fills: u32,
    /// Sectors that came for loads and are returned to these in a core cycle; hits are not among them.
    pub answers: u32,
    /// Whether missing sectors of a line that are wanted at once leave as one request.
    pub line_requests: bool,
    /// What is fetched before a load asks for it.
    pub prefetch: Prefetch,
    /// How many lines or strides ahead.
    pub prefetch_distance: u32,
    /// How many sectors a read fetches in advance.
    pub prefetch_degree: u32,
}

/// The adaptive split between L1 and shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedL1 {
    /// Bytes of the unified memory.
    pub total_bytes: u32,
    /// Shared memory sizes to choose from, ascending, in bytes.
    pub shared_options: Vec<u32>,
    /// How often the needs of a kernel with shared memory of its own are to fit.
    pub headroom: u32,
    /// The most bytes that are chosen for headroom.
    pub headroom_limit: u32,
    /// Bytes for each CTA that fits an SM, whatever it needs.
    pub least_per_cta: u32,
    /// The most bytes that are chosen for that.
    pub least_limit: u32,
}

impl UnifiedL1 {
    /// The bytes that shared memory gets for a kernel whose CTAs need `needed` bytes each, and of which `ctas` fit an SM: the smallest size to choose
    /// from that holds all of them, and the headroom. `own` says whether the kernel has shared memory beside what the system reserves. `None` where
    /// no size holds them.
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
    /// Packets that wait at an input of a subnet.
    pub input_queue: u32,
    /// Packets that wait at an output of a subnet.
    pub output_queue: u32,
    /// Latency in noc cycles of each link into and out of a subnet.
    pub link_latency: u64,
    /// What kind of crossbar a crossbar is.
    pub crossbar: Crossbar,
    /// How outputs of a `fifo` crossbar choose among inputs.
    pub arbiter: Arbiter,
    /// The router that a `vc` crossbar is; all 0 for the others.
    pub vc: VcCrossbar,
    /// What packets travel over.
    pub topology: Topology,
    /// The routers that take the place of the crossbar; `None` keeps the crossbar.
    pub mesh: Option<Mesh>,
}

/// A crossbar with virtual channels: one router with a port for each sender and receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcCrossbar {
    /// Stages of the router's pipeline: 2 (speculative), 3, or 4 (route computation in a cycle of its own).
    pub stages: u32,
    /// Virtual channels of a port.
    pub vcs: u32,
    /// Flits that the buffer of a virtual channel holds.
    pub buffers: u32,
    /// Bytes of a channel, and so of a flit.
    pub channel_bytes: u32,
    /// Bytes of a packet's header.
    pub header_bytes: u32,
}

impl VcCrossbar {
    /// Nothing: what crossbars without virtual channels have.
    pub const NONE: Self = Self { stages: 0, vcs: 0, buffers: 0, channel_bytes: 0, header_bytes: 0 };
}

/// A 2-D mesh of virtual-channel routers with XY routing; one per subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh {
    /// Routers of a row.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
    /// Stages of a router's pipeline: 2 (speculative), 3, or 4 (route computation in a cycle of its own).
    pub stages: u32,
    /// Virtual channels of a port.
    pub vcs: u32,
    /// Flits that the buffer of a virtual channel holds.
    pub buffers: u32,
    /// Bytes of a channel, and so of a flit.
    pub channel_bytes: u32,
    /// Bytes of a packet's header.
    pub header_bytes: u32,
    /// Virtual channels that packets of CPU cores have for themselves; 0 shares all.
    pub cpu_vcs: u32,
    /// Bytes of the channels that packets of CPU cores have for themselves; 0 shares all.
    pub cpu_channel_bytes: u32,
    /// What sits at each router, row by row.
    pub placement: Vec<Vec<Seat>>,
}

/// LLC slices and DRAM channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mem {
    /// Partitions, slices, and where an address lies.
    pub map: AddressMap,
    /// The cache of a slice.
    pub llc: Cache,
    /// How reads of several SMs become one before it.
    pub coalescing: Coalescing,
    /// The halves of the LLC.
    pub halves: Halves,
    /// What it fetches before a read asks for it.
    pub prefetch: Prefetching,
    /// Cycles (LLC clock) that a request spends in the pipe before the slice's tags; the raster pipe of the reference.
    pub rop_latency: u64,
    /// Capacities of the queues: network to slice, slice to DRAM, DRAM to slice, slice to network.
    pub queues: PartitionQueues,
    /// Cycles (LLC clock) between a slice's miss leaving and the DRAM scheduler seeing it.
    pub dram_latency: u64,
    /// The DRAM channel of a partition.
    pub dram: Dram,
    /// What a copy from the host leaves in the LLC.
    pub memcpy_warms: MemcpyWarms,
}

impl Mem {
    /// The device that the command-level controllers drive at the command clock `clock`; `None` with GPGPU-Sim's channels.
    ///
    /// # Errors
    /// When the device is slower than the clock, or the machine's own table is no device; see [`Standard::check`].
    pub fn device(&self, clock: Frequency) -> Result<Option<Standard>, StandardError> {
        self.dram.device(&self.map, clock)
    }
}

/// Queue capacities of a memory partition, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionQueues {
    /// Network to slice.
    pub in_queue: u32,
    /// Slice to DRAM.
    pub to_dram: u32,
    /// DRAM to slice.
    pub from_dram: u32,
    /// Slice to network.
    pub out_queue: u32,
}
