//! The units of a chip as one enumeration, so that the engine steps each kind without dynamic dispatch.

use warpshard_base::{Cycle, LinkId};
use warpshard_cpu::{CpuCore, CpuCounters, CpuMarks};
use warpshard_engine::{SentMessage, Unit, Work};
use warpshard_gpu::cta::{Grid, GridCounters, GridDecision};
use warpshard_gpu::sm::{
    CcwsCounters, ClassCounters, KernelCounters, PrefetchCounters, Sm, SmCounters, SmDecision, StallCounters, TextureCounters,
    WarpReasonCounters, WarpStateCounters,
};
use warpshard_mem::dram::DramCounters;
use warpshard_mem::dram::control::{BankCounters, ControlCounters};
use warpshard_mem::llc::{CoalescerCounters, LlcApplicationCounters, LlcCounters, LlcKernelCounters};
use warpshard_mem::{Partition, PartitionDecision, PartitionStallCounts};
use warpshard_noc::hub::{Hub, HubCounters, LinkCounters};
use warpshard_noc::mesh::{MeshCounters, MeshNet};
use warpshard_noc::peers::{PeerCounters, PeerNet};
use warpshard_noc::{Crossbar, NetCounters};
use warpshard_protocol::{EventKind, Outbox, Payload};
use warpshard_stats::{CounterInfo, CounterVisitor, Counters};

/// A unit of a chip.
#[derive(Debug, warpshard_state::State)]
pub enum ChipUnit {
    /// A streaming multiprocessor.
    Sm(Box<Sm>),
    /// A memory partition.
    Partition(Box<Partition>),
    /// The request or the reply network, as a crossbar without flits.
    Crossbar(Box<Crossbar>),
    /// The request or the reply network, as a mesh or a `vc` crossbar.
    Mesh(Box<MeshNet>),
    /// A CPU core.
    Cpu(Box<CpuCore>),
    /// The grid scheduler.
    Grid(Box<Grid>),
    /// The hub of a GPU for links to other GPUs, or a switch.
    Hub(Box<Hub>),
    /// The cluster network between SMs.
    Peers(Box<PeerNet>),
}

/// A decision for a unit of a chip.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum ChipDecision {
    /// A decision for an SM.
    Sm(SmDecision),
    /// A decision for a grid scheduler.
    Grid(GridDecision),
    /// A decision for a memory partition.
    Partition(PartitionDecision),
}

/// Evaluates an expression on the contained model of any kind.
macro_rules! each {
    ($self:expr, $unit:ident => $body:expr) => {
        match $self {
            ChipUnit::Sm($unit) => $body,
            ChipUnit::Partition($unit) => $body,
            ChipUnit::Crossbar($unit) => $body,
            ChipUnit::Mesh($unit) => $body,
            ChipUnit::Cpu($unit) => $body,
            ChipUnit::Grid($unit) => $body,
            ChipUnit::Hub($unit) => $body,
            ChipUnit::Peers($unit) => $body,
        }
    };
}

/// Returns all counters by component, in the order of the results.
pub fn counter_lists() -> Vec<(&'static str, Vec<&'static CounterInfo>)> {
    vec![
        ("kernels[], each kernel; sm, as sums", KernelCounters::INFO.iter().chain(ClassCounters::INFO).collect()),
        ("kernels[], each kernel, over all LLC slices", LlcKernelCounters::INFO.iter().collect()),
        ("sm", SmCounters::INFO.iter().collect()),
        ("sm, and kernels[], each kernel", StallCounters::INFO.iter().collect()),
        ("sm, with CCWS", CcwsCounters::INFO.iter().collect()),
        ("sm, and kernels[], each kernel, with gpu.sm.warp_states and control words", WarpReasonCounters::INFO.iter().collect()),
        ("sm, with a texture cache", TextureCounters::INFO.iter().collect()),
        ("sm, with gpu.sm.warp_states", WarpStateCounters::INFO.iter().collect()),
        ("sm, and llc, with a prefetcher", PrefetchCounters::INFO.iter().collect()),
        ("request_net, reply_net", NetCounters::INFO.iter().collect()),
        ("request_net, reply_net, as meshes", MeshCounters::INFO.iter().collect()),
        ("cpu, each CPU core", CpuCounters::INFO.iter().chain(CpuMarks::INFO).collect()),
        ("llc, each slice", LlcCounters::INFO.iter().collect()),
        ("llc, each slice with a coalescer", CoalescerCounters::INFO.iter().collect()),
        ("sm_application, each SM and application", KernelCounters::INFO.iter().chain(ClassCounters::INFO).collect()),
        ("llc_application, each slice and application", LlcApplicationCounters::INFO.iter().collect()),
        ("stall, each memory partition", PartitionStallCounts::INFO.iter().collect()),
        ("dram, each channel", DramCounters::INFO.iter().collect()),
        ("dram, each channel with a command-level controller", ControlCounters::INFO.iter().collect()),
        ("dram_bank, each bank of such a channel", BankCounters::INFO.iter().collect()),
        ("grid, the grid scheduler", GridCounters::INFO.iter().collect()),
        ("hub, each GPU of a system", HubCounters::INFO.iter().collect()),
        ("peers, the network between the SMs of clusters", PeerCounters::INFO.iter().collect()),
        ("link, each link between GPUs, switches and hosts, in one direction", LinkCounters::INFO.iter().collect()),
    ]
}

impl Unit for ChipUnit {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = ChipDecision;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        each!(self, unit => unit.deliver(link, at, payload));
    }

    // The kind of the unit is matched once for all messages.
    #[inline(always)]
    fn deliver_all(&mut self, messages: &[SentMessage<Payload>], arrival: impl FnMut(&SentMessage<Payload>) -> Cycle) {
        each!(self, unit => unit.deliver_all(messages, arrival));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        each!(self, unit => unit.run(until, skip, out));
    }

    #[inline]
    fn prefetch(&self, deep: bool) {
        each!(self, unit => unit.prefetch(deep));
    }

    fn next_event(&self) -> Cycle {
        each!(self, unit => unit.next_event())
    }

    fn settle(&mut self, at: Cycle) {
        each!(self, unit => unit.settle(at));
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        each!(self, unit => unit.visit_counters(visitor));
    }

    fn visit_tasks(&self, values: &mut Vec<u64>) {
        each!(self, unit => unit.visit_tasks(values));
    }

    fn apply(&mut self, at: Cycle, decision: &ChipDecision) {
        match (self, decision) {
            (Self::Sm(sm), ChipDecision::Sm(decision)) => sm.apply(at, decision),
            (Self::Grid(grid), ChipDecision::Grid(decision)) => grid.apply(at, decision),
            (Self::Partition(partition), ChipDecision::Partition(decision)) => partition.apply(at, decision),
            (unit, decision) => panic!("{decision:?} is no decision for this unit, at {at}: {unit:?}"),
        }
    }

    fn sends_events(&self) -> bool {
        each!(self, unit => unit.sends_events())
    }

    fn progress(&self) -> Work {
        each!(self, unit => unit.progress())
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, unit => unit.waiting())
    }
}
