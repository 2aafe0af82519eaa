//! The units of a GPU, behind one type that the engine steps with a `match`.

use crate::base::{Cycle, LinkId};
use crate::cpu::{CpuCore, CpuCounters, CpuMarks};
use crate::gpu::cta::{Grid, GridCounters, GridDecision};
use crate::gpu::sm::{CcwsCounters, ClassCounters, KernelCounters, Sm, SmCounters, SmDecision, StallCounters, TextureCounters};
use crate::mem::dram::DramCounters;
use crate::mem::dram::control::{BankCounters, ControlCounters};
use crate::mem::llc::LlcCounters;
use crate::mem::{Partition, StallCounts};
use crate::noc::mesh::{MeshCounters, MeshNet};
use crate::noc::{Direction, NetCounters, OutputQueued, Subnet};
use crate::protocol::{MemPacket, Outbox, Payload, Sent};
use crate::stats::{ComponentStats, Counted, CounterInfo, Counters};

use super::{Unit, Work};

/// A unit of a GPU.
#[derive(Debug)]
pub enum GpuUnit {
    /// A streaming multiprocessor.
    Sm(Box<Sm>),
    /// A memory partition.
    Partition(Box<Partition>),
    /// The request or the reply network, as a `fifo` crossbar.
    Subnet(Box<Subnet>),
    /// The request or the reply network, as an `output_queued` crossbar.
    Queued(Box<OutputQueued>),
    /// The request or the reply network, as a mesh or a `vc` crossbar.
    Mesh(Box<MeshNet>),
    /// A CPU core.
    Cpu(Box<CpuCore>),
    /// The grid scheduler.
    Grid(Box<Grid>),
}

/// What a unit of a GPU can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuDecision {
    /// To an SM.
    Sm(SmDecision),
    /// To the grid scheduler.
    Grid(GridDecision),
}

macro_rules! each {
    ($self:expr, $unit:ident => $body:expr) => {
        match $self {
            GpuUnit::Sm($unit) => $body,
            GpuUnit::Partition($unit) => $body,
            GpuUnit::Subnet($unit) => $body,
            GpuUnit::Queued($unit) => $body,
            GpuUnit::Mesh($unit) => $body,
            GpuUnit::Cpu($unit) => $body,
            GpuUnit::Grid($unit) => $body,
        }
    };
}

impl GpuUnit {
    /// The components inside, with all their counters.
    pub fn components(&self) -> Vec<ComponentStats> {
        let one = |kind, id, counters| vec![ComponentStats { kind, id, counters }];
        match self {
            Self::Sm(sm) => {
                let mut counters = sm.stats().component();
                counters.extend(sm.ccws_counters().map(counted).unwrap_or_default());
                counters.extend(sm.texture_counters().map(counted).unwrap_or_default());
                one("sm", u32::from(sm.id().0), counters)
            }
            Self::Partition(partition) => {
                let slices = partition.slices();
                let slices =
                    slices.map(|slice| ComponentStats { kind: "llc", id: u32::from(slice.id().0), counters: counted(&slice.counters()) });
                let id = u32::from(partition.id().0);
                let mut channel = Vec::new();
                partition.channel().visit_counters(&mut |info, value| channel.push(Counted { info, value }));
                let counters = partition.channel().bank_counters();
                let first = id * counters.len() as u32;
                let banks = (first..).zip(counters).map(|(id, bank)| ComponentStats { kind: "dram_bank", id, counters: counted(bank) });
                slices.chain(one("dram", id, channel)).chain(banks).chain(one("stall", id, counted(partition.stalls()))).collect()
            }
            Self::Subnet(subnet) => one(net_kind(subnet.direction()), 0, counted(subnet.counters())),
            Self::Queued(subnet) => one(net_kind(subnet.direction()), 0, counted(subnet.counters())),
            Self::Mesh(net) => one(net_kind(net.direction()), 0, counted(net.counters())),
            Self::Cpu(core) => one("cpu", u32::from(core.id().0), core.component()),
            Self::Grid(grid) => one("grid", 0, counted(grid.counters())),
        }
    }
}

impl GpuUnit {
    /// The values of all counters of all components inside, in the order of [`GpuUnit::components`].
    fn values(&self) -> Vec<u64> {
        // Room for what most units have; more is found by growing.
        let mut values = Vec::with_capacity(128);
        let mut see = |_: &'static CounterInfo, value| values.push(value);
        match self {
            Self::Sm(sm) => {
                sm.stats().visit(&mut see);
                if let Some(ccws) = sm.ccws_counters() {
                    ccws.visit(&mut see);
                }
                if let Some(texture) = sm.texture_counters() {
                    texture.visit(&mut see);
                }
            }
            Self::Partition(partition) => {
                partition.slices().for_each(|slice| slice.counters().visit(&mut see));
                partition.channel().visit_counters(&mut see);
                partition.channel().bank_counters().iter().for_each(|bank| bank.visit(&mut see));
                partition.stalls().visit(&mut see);
            }
            Self::Subnet(subnet) => subnet.counters().visit(&mut see),
            Self::Queued(subnet) => subnet.counters().visit(&mut see),
            Self::Mesh(net) => net.counters().visit(&mut see),
            Self::Cpu(core) => values.extend(core.component().iter().map(|counted| counted.value)),
            Self::Grid(grid) => grid.counters().visit(&mut see),
        }
        values
    }
}

/// Delivery of packets to units that have no function of their own for them.
trait DeliverPacket {
    fn deliver_packet(&mut self, link: LinkId, at: Cycle, packet: &MemPacket);
}

macro_rules! deliver_packet {
    ($($unit:ty),*) => {
        $(impl DeliverPacket for $unit {
            #[inline(always)]
            fn deliver_packet(&mut self, link: LinkId, at: Cycle, packet: &MemPacket) {
                self.deliver(link, at, Payload::Mem(*packet));
            }
        })*
    };
}

deliver_packet!(Sm, OutputQueued, MeshNet, CpuCore, Grid);

/// Does what is rare apart from what is not.
#[cold]
#[inline(never)]
fn apart(rare: impl FnOnce()) {
    rare();
}

fn net_kind(direction: Direction) -> &'static str {
    match direction {
        Direction::Request => "request_net",
        Direction::Reply => "reply_net",
    }
}

/// All counters, by what carries them, in the order of the results.
pub fn counter_lists() -> Vec<(&'static str, Vec<&'static CounterInfo>)> {
    vec![
        ("kernels[], each kernel; sm, as sums", KernelCounters::INFO.iter().chain(ClassCounters::INFO).collect()),
        ("sm", SmCounters::INFO.iter().chain(StallCounters::INFO).collect()),
        ("sm, with CCWS", CcwsCounters::INFO.iter().collect()),
        ("sm, with a texture cache", TextureCounters::INFO.iter().collect()),
        ("request_net, reply_net", NetCounters::INFO.iter().collect()),
        ("request_net, reply_net, as meshes", MeshCounters::INFO.iter().collect()),
        ("cpu, each CPU core", CpuCounters::INFO.iter().chain(CpuMarks::INFO).collect()),
        ("llc, each slice", LlcCounters::INFO.iter().collect()),
        ("stall, each memory partition", StallCounts::INFO.iter().collect()),
        ("dram, each channel", DramCounters::INFO.iter().collect()),
        ("dram, each channel with a command-level controller", ControlCounters::INFO.iter().collect()),
        ("dram_bank, each bank of such a channel", BankCounters::INFO.iter().collect()),
        ("grid, the grid scheduler", GridCounters::INFO.iter().collect()),
    ]
}

/// A counter struct as the results list it.
pub(super) fn counted<C: Counters>(counters: &C) -> Vec<Counted> {
    let mut all = Vec::with_capacity(C::INFO.len());
    counters.visit(&mut |info, value| all.push(Counted { info, value }));
    all
}

impl Unit for GpuUnit {
    type Payload = Payload;
    type Sample = Vec<u64>;
    type Decision = GpuDecision;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        each!(self, unit => unit.deliver(link, at, payload));
    }

    #[inline(always)]
    fn deliver_all(&mut self, messages: &[Sent<Payload>], mut seen: impl FnMut(&Sent<Payload>) -> Cycle) {
        each!(self, unit => messages.iter().for_each(|sent| {
            let at = seen(sent);
            match &sent.payload {
                // Nearly all are packets; here the unit need not ask whether they are.
                Payload::Mem(packet) => unit.deliver_packet(sent.link, at, packet),
                other => apart(|| unit.deliver(sent.link, at, *other)),
            }
        }));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        each!(self, unit => unit.run(until, skip, out));
    }

    #[inline]
    fn prefetch(&self, deep: bool) {
        match self {
            Self::Sm(sm) => sm.prefetch(deep),
            Self::Partition(partition) => partition.prefetch(deep),
            Self::Subnet(_) | Self::Queued(_) | Self::Mesh(_) | Self::Cpu(_) | Self::Grid(_) => {}
        }
    }

    fn next_event(&self) -> Cycle {
        each!(self, unit => unit.next_event())
    }

    fn settle(&mut self, at: Cycle) {
        each!(self, unit => unit.settle(at));
    }

    fn sample(&self) -> Vec<u64> {
        self.values()
    }

    fn apply(&mut self, at: Cycle, decision: &GpuDecision) {
        match (self, decision) {
            (Self::Sm(sm), GpuDecision::Sm(decision)) => sm.apply(at, decision),
            (Self::Grid(grid), GpuDecision::Grid(decision)) => grid.apply(at, decision),
            (unit, decision) => panic!("{decision:?} was sent to the wrong unit, at {at}: {unit:?}"),
        }
    }

    fn tells(&self) -> bool {
        match self {
            Self::Sm(_) | Self::Cpu(_) | Self::Grid(_) => true,
            Self::Partition(_) | Self::Subnet(_) | Self::Queued(_) | Self::Mesh(_) => false,
        }
    }

    fn progress(&self) -> Work {
        match self {
            Self::Sm(sm) => Work { instructions: sm.stats().kernels.iter().map(|kernel| kernel.warp_instructions).sum(), tasks: 0 },
            Self::Grid(grid) => Work { instructions: 0, tasks: grid.counters().ctas_done },
            Self::Partition(_) | Self::Subnet(_) | Self::Queued(_) | Self::Mesh(_) | Self::Cpu(_) => Work::default(),
        }
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, unit => unit.waiting())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Machine;
    use crate::engine::{Built, CpuApplication, CpuEnd, CpuLoad, ShardCut, build};
    use crate::frontend::model::builtin;

    #[test]
    fn a_sample_lists_the_values_of_all_components_in_their_order() {
        let workload = Arc::new(builtin("gather", 1, &[]).unwrap());
        let applications = vec![CpuApplication::named("mcf").unwrap()];
        let load = CpuLoad { applications, warm: 0, measure: 1, gpu_waits: false, end: CpuEnd::Gpu, seed: 1 };
        for (name, load) in [("tiny", None), ("hetero-small", Some(&load))] {
            let machine = Machine::load(name, &[]).unwrap().machine;
            let Built { plan, .. } = build(&machine, &workload, load, ShardCut::default()).unwrap();
            let mut out = Outbox::new(Arc::new([]), Vec::new(), 1);
            for planned in plan.units {
                let mut unit = planned.unit;
                if matches!(unit, GpuUnit::Sm(_)) {
                    // Idle cycles are counted, so that not everything is zero.
                    unit.run(Cycle(7), true, &mut out);
                }
                let listed: Vec<u64> = unit.components().iter().flat_map(|c| &c.counters).map(|counted| counted.value).collect();
                assert_eq!(unit.sample(), listed, "{} of {name}", planned.name);
                assert!(!listed.is_empty());
            }
        }
    }
}
