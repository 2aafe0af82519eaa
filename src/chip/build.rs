//! Assembles a machine: its units, the links between them, and their latencies.

use std::sync::Arc;

use crate::base::{ClockDomain, CpuId, Frequency, LinkId, PartitionId, PortId, SliceId, SmId, Tick, TimeBase, UnitId};
use crate::config::Machine;
use crate::config::machine::{self, Cpu, MemcpyWarms, Noc, Sharing};
use crate::config::placement::Placement;
use crate::cpu::{CpuCore, CpuPorts};
use crate::engine::{Latency, Plan, PlannedUnit};
use crate::frontend::Workload;
use crate::frontend::phases::{Latencies, LongOps, Phases};
use crate::gpu::cta::{Grid, GridPorts};
use crate::gpu::occupancy::resident_ctas;
use crate::gpu::sm::{Sm, SmPorts};
use crate::mem::{Partition, PartitionPorts, arrival_capacity};
use crate::noc::mesh::{MeshNet, NetworkSpec, Pipeline, SubnetSpec, Topology};
use crate::noc::{Crossbar, Direction, SubnetPorts};

use super::cpu_load::CpuLoad;
use super::unit::ChipUnit;

/// How units are grouped into shards. Has no effect on anything simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCut {
    /// SMs per shard.
    pub sms: u32,
    /// Memory partitions per shard.
    pub partitions: u32,
}

impl Default for ShardCut {
    fn default() -> Self {
        Self { sms: 1, partitions: 1 }
    }
}

/// The position of each kind of unit in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipLayout {
    /// SMs; their units are the first of the plan.
    pub sms: u32,
    /// Memory partitions; their units follow those of the SMs.
    pub partitions: u32,
    /// The request network.
    pub request_net: UnitId,
    /// The reply network.
    pub reply_net: UnitId,
    /// The grid scheduler.
    pub grid: UnitId,
    /// CPU cores that are on; their units are the last of the plan.
    pub cpus: u32,
}

impl ChipLayout {
    fn of(machine: &Machine, cpus: u32) -> Self {
        let (sms, partitions) = (machine.gpu.sms, machine.mem.map.partitions);
        let after = (sms + partitions) as u16;
        Self { sms, partitions, request_net: UnitId(after), reply_net: UnitId(after + 1), grid: UnitId(after + 2), cpus }
    }

    /// The unit of an SM.
    pub fn sm(&self, sm: SmId) -> UnitId {
        UnitId(sm.0)
    }

    /// The unit of a CPU core that is on.
    pub fn cpu(&self, cpu: CpuId) -> UnitId {
        UnitId(self.grid.0 + 1 + cpu.0)
    }

    /// The unit of a memory partition.
    pub fn partition(&self, partition: PartitionId) -> UnitId {
        UnitId(self.sms as u16 + partition.0)
    }
}

/// A machine ready to run, and the positions of its units.
#[derive(Debug)]
pub struct Built {
    /// Units and links.
    pub plan: Plan<ChipUnit>,
    /// The positions of the units.
    pub layout: ChipLayout,
}

struct Clocks {
    core: ClockDomain,
    noc: ClockDomain,
    llc: ClockDomain,
    dram: ClockDomain,
    cpu: Option<ClockDomain>,
}

/// The first link of each kind; links of one kind are consecutive in the plan, in the order in which they are made.
struct Wiring {
    port_to_request: LinkId,
    request_credit_to_port: LinkId,
    request_to_slice: LinkId,
    slice_credit_to_request: LinkId,
    slice_to_reply: LinkId,
    reply_credit_to_slice: LinkId,
    reply_to_port: LinkId,
    port_credit_to_reply: LinkId,
    grid_to_sm: LinkId,
    sm_to_grid: LinkId,
    grid_to_partition: LinkId,
}

impl Wiring {
    fn of(sms: u32, cpus: u32, slices: u32, partitions: u32) -> Self {
        let ports = sms + cpus;
        let mut next = 0;
        let mut block = |links: u32| {
            let first = LinkId(u16::try_from(next).expect("at most 65536 links"));
            next += links;
            first
        };
        Self {
            port_to_request: block(ports),
            request_credit_to_port: block(ports),
            request_to_slice: block(slices),
            slice_credit_to_request: block(slices),
            slice_to_reply: block(slices),
            reply_credit_to_slice: block(slices),
            reply_to_port: block(ports),
            port_credit_to_reply: block(ports),
            grid_to_sm: block(sms),
            sm_to_grid: block(sms),
            grid_to_partition: block(partitions),
        }
    }
}

/// Whether every application gets an SM where applications own SMs.
fn check_owners(machine: &Machine, workload: &Workload) -> Result<(), String> {
    let (apps, sms) = (workload.applications.len(), machine.gpu.sms as usize);
    if machine.gpu.dispatch.sharing != Sharing::Spatial || apps <= sms {
        return Ok(());
    }
    Err(format!(
        "{apps} applications cannot each own SMs of {}, which has {sms}; use gpu.dispatch.sharing = \"left-over\" or \"interleaved\", \
         fewer applications, or more SMs",
        machine.name
    ))
}

/// Builds the units and links of `machine` running `workload`, and `load` on its CPU cores.
///
/// # Errors
/// When a kernel does not fit an SM, or the machine's clocks or queues do not work together; a message for the user.
pub fn build(machine: &Machine, workload: &Arc<Workload>, load: Option<&CpuLoad>, cut: ShardCut) -> Result<Built, String> {
    load.map_or(Ok(()), |load| load.check(machine))?;
    let clocks = clocks(machine)?;
    let resident = occupancies(machine, workload)?;
    check_owners(machine, workload)?;
    let layout = ChipLayout::of(machine, load.map_or(0, CpuLoad::cores));
    let slices_per_partition = machine.mem.map.slices_per_partition;
    let slices = layout.partitions * slices_per_partition;
    let wiring = Wiring::of(layout.sms, layout.cpus, slices, layout.partitions);
    let mut plan = Plan::new(clocks.core);
    let mut shard = 0;

    let nth = |first: LinkId, index: u32| LinkId(first.0 + index as u16);
    let phases: Option<Arc<[Phases]>> = machine.gpu.sm.order.needs_phases().then(|| phases_of(workload));
    for sm in 0..layout.sms {
        let ports = SmPorts {
            to_request_net: nth(wiring.port_to_request, sm),
            to_grid: nth(wiring.sm_to_grid, sm),
            reply_credit: nth(wiring.port_credit_to_reply, sm),
            from_reply_net: nth(wiring.reply_to_port, sm),
            request_credit: nth(wiring.request_credit_to_port, sm),
            from_grid: nth(wiring.grid_to_sm, sm),
        };
        let sm_unit = Sm::new(SmId(sm as u16), machine, Arc::clone(workload), ports);
        let sm_unit = if let Some(phases) = &phases { sm_unit.with_phases(Arc::clone(phases)) } else { sm_unit };
        let unit = ChipUnit::Sm(Box::new(sm_unit));
        let (name, shard) = (format!("sm{sm}"), shard + sm / cut.sms);
        plan.add_unit(PlannedUnit { name, unit, clock: clocks.core, kind: "sm", shard, cost: 1.0 });
    }
    shard += layout.sms.div_ceil(cut.sms);
    for partition in 0..layout.partitions {
        let first = partition * slices_per_partition;
        let ports = PartitionPorts {
            request_in: nth(wiring.request_to_slice, first),
            credit_out: nth(wiring.slice_credit_to_request, first),
            reply_out: nth(wiring.slice_to_reply, first),
            credit_in: nth(wiring.reply_credit_to_slice, first),
            from_grid: nth(wiring.grid_to_partition, partition),
        };
        let id = PartitionId(partition as u16);
        let unit = Partition::new(id, machine, clocks.llc, clocks.dram, ports)
            .with_core_clock(clocks.core)
            .counting_by(workload.kernels.len(), workload.applications.len());
        let (name, shard) = (id.to_string(), shard + partition / cut.partitions);
        let unit = ChipUnit::Partition(Box::new(unit));
        plan.add_unit(PlannedUnit { name, unit, clock: clocks.llc, kind: "partition", shard, cost: 0.5 });
    }
    shard += layout.partitions.div_ceil(cut.partitions);
    let request = SubnetPorts {
        data_in: wiring.port_to_request,
        credit_out: wiring.request_credit_to_port,
        data_out: wiring.request_to_slice,
        credit_in: wiring.slice_credit_to_request,
        output_capacity: arrival_capacity(machine),
    };
    let reply = SubnetPorts {
        data_in: wiring.slice_to_reply,
        credit_out: wiring.reply_credit_to_slice,
        data_out: wiring.reply_to_port,
        credit_in: wiring.port_credit_to_reply,
        output_capacity: machine.noc.output_queue,
    };
    for (name, direction, ports, shard) in
        [("request network", Direction::Request, request, shard), ("reply network", Direction::Reply, reply, shard + 1)]
    {
        let unit = network(machine, &layout, direction, ports)?;
        let cost = network_cost(machine, &layout);
        plan.add_unit(PlannedUnit { name: name.into(), unit, clock: clocks.noc, kind: "network", shard, cost });
    }
    let ports = GridPorts {
        first_to_sm: wiring.grid_to_sm,
        first_from_sm: wiring.sm_to_grid,
        first_to_partition: wiring.grid_to_partition,
        partitions: if machine.mem.memcpy_warms == MemcpyWarms::Off { 0 } else { layout.partitions },
    };
    let grid = Grid::new(machine, Arc::clone(workload), resident, ports);
    let unit = ChipUnit::Grid(Box::new(if load.is_some_and(CpuLoad::holds_gpu) { grid.held() } else { grid }));
    plan.add_unit(PlannedUnit { name: "grid scheduler".into(), unit, clock: clocks.core, kind: "grid", shard: shard + 2, cost: 0.2 });
    if let (Some(load), Some(cpu), Some(clock)) = (load, &machine.cpu, clocks.cpu) {
        add_cpus(&mut plan, machine, cpu, clock, load, &wiring, shard + 3)?;
    }
    link(&mut plan, machine, &clocks, &layout);
    Ok(Built { plan, layout })
}

/// One subnet between all ports and all slices.
fn network(machine: &Machine, layout: &ChipLayout, direction: Direction, ports: SubnetPorts) -> Result<ChipUnit, String> {
    let cores = (layout.sms + layout.cpus) as usize;
    let slices = (layout.partitions * machine.mem.map.slices_per_partition) as usize;
    let Some(mesh) = &machine.noc.mesh else {
        let (inputs, outputs) = match direction {
            Direction::Request => (cores, slices),
            Direction::Reply => (slices, cores),
        };
        let noc = &machine.noc;
        return Ok(match Crossbar::new(direction, noc, inputs, outputs, ports) {
            Some(crossbar) => ChipUnit::Crossbar(Box::new(crossbar)),
            None => ChipUnit::Mesh(Box::new(MeshNet::new(direction, &vc_crossbar(noc, inputs, outputs, cores)?, ports))),
        });
    };
    let Placement { gpu, cpu, mem } = Placement::of(machine, mesh).map_err(|problem| format!("`noc.mesh.placement` {problem}"))?;
    let of_cores: Vec<u16> = gpu.into_iter().chain(cpu.into_iter().take(layout.cpus as usize)).collect();
    let of_slices: Vec<u16> = mem.into_iter().flat_map(|node| std::iter::repeat_n(node, slices / layout.partitions as usize)).collect();
    let (senders, receivers) = match direction {
        Direction::Request => (of_cores, of_slices),
        Direction::Reply => (of_slices, of_cores),
    };
    let topology = Topology::Mesh { columns: mesh.columns as u16, rows: mesh.rows as u16 };
    let shared = NetworkSpec { pipeline: pipeline(mesh.stages), buffers: mesh.buffers as u16, ..NetworkSpec::new(topology) };
    let (own, all) = (mesh.cpu_vcs as u8, mesh.vcs as u8);
    let network = if own > 0 { shared.partitioned(&[all - own, own]) } else { shared.with_vcs(all) };
    network.check()?;
    let (own_bytes, bytes) = (mesh.cpu_channel_bytes, mesh.channel_bytes);
    let spec = SubnetSpec {
        flit_bytes: match (own, own_bytes) {
            (0, _) => vec![width(bytes)],
            (_, 0) => vec![width(bytes), width(bytes)],
            _ => vec![width(bytes - own_bytes), width(own_bytes)],
        },
        apart: own > 0 && own_bytes > 0,
        class_of_core: (0..cores).map(|port| u8::from(own > 0 && port >= layout.sms as usize)).collect(),
        network,
        senders,
        receivers,
        header_bytes: mesh.header_bytes as u16,
        input_queue: machine.noc.input_queue,
    };
    Ok(ChipUnit::Mesh(Box::new(MeshNet::new(direction, &spec, ports))))
}

/// The host cost of a subnet, relative to 1 for an SM: by shares of stepping time measured on v100, fermi32 and hetero.
fn network_cost(machine: &Machine, layout: &ChipLayout) -> f64 {
    let cores = f64::from(layout.sms + layout.cpus);
    match (&machine.noc.mesh, machine.noc.crossbar) {
        (Some(mesh), _) => 0.4 * f64::from(mesh.columns * mesh.rows),
        (None, machine::Crossbar::Fifo) => 0.05 * cores,
        (None, _) => 0.15 * cores,
    }
}

/// The bytes of a flit. A channel wider than any packet behaves as the widest that can be represented.
fn width(bytes: u32) -> u16 {
    bytes.min(u32::from(u16::MAX)) as u16
}

fn pipeline(stages: u32) -> Pipeline {
    match stages {
        2 => Pipeline::Speculative,
        3 => Pipeline::Three,
        _ => Pipeline::Four,
    }
}

/// One router with a terminal for each sender and each receiver; sender i and receiver i share one.
fn vc_crossbar(noc: &Noc, inputs: usize, outputs: usize, cores: usize) -> Result<SubnetSpec, String> {
    let topology = Topology::Crossbar { ports: inputs.max(outputs) as u16 };
    let vc = noc.vc;
    let network =
        NetworkSpec { pipeline: pipeline(vc.stages), buffers: vc.buffers as u16, ..NetworkSpec::new(topology).with_vcs(vc.vcs as u8) };
    network.check()?;
    Ok(SubnetSpec {
        network,
        senders: (0..inputs as u16).collect(),
        receivers: (0..outputs as u16).collect(),
        class_of_core: vec![0; cores],
        flit_bytes: vec![width(vc.channel_bytes)],
        apart: false,
        header_bytes: vc.header_bytes as u16,
        input_queue: noc.input_queue,
    })
}

/// Adds the CPU cores that are on; their ports at the networks follow those of the SMs.
fn add_cpus(
    plan: &mut Plan<ChipUnit>,
    machine: &Machine,
    cpu: &Cpu,
    clock: ClockDomain,
    load: &CpuLoad,
    wiring: &Wiring,
    first_shard: u32,
) -> Result<(), String> {
    for (core, application) in (0..).zip(&load.applications) {
        let port = (machine.gpu.sms + core) as u16;
        let nth = |first: LinkId| LinkId(first.0 + port);
        let ports = CpuPorts {
            to_request_net: nth(wiring.port_to_request),
            reply_credit: nth(wiring.port_credit_to_reply),
            from_reply_net: nth(wiring.reply_to_port),
            request_credit: nth(wiring.request_credit_to_port),
            port: PortId(port),
            credits: machine.noc.input_queue,
            write_credits: None,
            reply_queue: machine.noc.output_queue,
            map: Some(machine.mem.map.of_cpu()),
        };
        let id = CpuId(core as u16);
        let unit = CpuCore::new(id, &cpu.spec, application.stream(load.seed, core)?, load.goals(), ports);
        let unit = ChipUnit::Cpu(Box::new(unit));
        plan.add_unit(PlannedUnit { name: id.to_string(), unit, clock, kind: "cpu", shard: first_shard + core, cost: 1.0 });
    }
    Ok(())
}

/// Makes the links in the order that [`Wiring`] counts them.
fn link(plan: &mut Plan<ChipUnit>, machine: &Machine, clocks: &Clocks, layout: &ChipLayout) {
    let hop = machine.noc.link_latency * clocks.noc.period;
    let net = Latency::Fixed(Tick(hop));
    // The raster pipe lies between the network and the slice's tags; as part of the link it gives the lookahead its length.
    let to_slice = Latency::Fixed(Tick(hop + machine.mem.rop_latency * clocks.llc.period));
    let dispatch = Latency::Fixed(Tick(machine.gpu.dispatch.latency * clocks.core.period));
    let sms: Vec<UnitId> = (0..layout.sms).map(|sm| layout.sm(SmId(sm as u16))).collect();
    let cpus = (0..layout.cpus).map(|cpu| layout.cpu(CpuId(cpu as u16)));
    let ports: Vec<UnitId> = sms.iter().copied().chain(cpus).collect();
    let per_partition = machine.mem.map.slices_per_partition;
    let partition_of = |slice: SliceId| layout.partition(PartitionId(slice.0 / per_partition as u16));
    let slices: Vec<UnitId> = (0..layout.partitions * per_partition).map(|slice| partition_of(SliceId(slice as u16))).collect();
    let mut bundle = |ends: &[UnitId], hub: UnitId, towards_hub: bool, latency| {
        for &end in ends {
            let (from, to) = if towards_hub { (end, hub) } else { (hub, end) };
            plan.add_link(from, to, latency);
        }
    };
    bundle(&ports, layout.request_net, true, net);
    bundle(&ports, layout.request_net, false, Latency::Slack);
    bundle(&slices, layout.request_net, false, to_slice);
    bundle(&slices, layout.request_net, true, Latency::Slack);
    bundle(&slices, layout.reply_net, true, net);
    bundle(&slices, layout.reply_net, false, Latency::Slack);
    bundle(&ports, layout.reply_net, false, net);
    bundle(&ports, layout.reply_net, true, Latency::Slack);
    bundle(&sms, layout.grid, false, dispatch);
    bundle(&sms, layout.grid, true, dispatch);
    // A copy must arrive before the first access of the kernel after it, which takes the links to an SM and through the network,
    // three links of at least a lookahead each; so the least latency that does not shorten the lookahead is enough.
    let partitions: Vec<UnitId> = (0..layout.partitions).map(|partition| layout.partition(PartitionId(partition as u16))).collect();
    bundle(&partitions, layout.grid, false, Latency::Slack);
}

fn clocks(machine: &Machine) -> Result<Clocks, String> {
    let clocks = machine.clocks;
    let cpu = machine.cpu.as_ref().map(|cpu| cpu.clock);
    let all: Vec<Frequency> = [clocks.core, clocks.noc, clocks.llc, clocks.dram].into_iter().chain(cpu).collect();
    let base = TimeBase::of(&all).ok_or("the clocks have no common base tick; use frequencies with few digits")?;
    let domain = |frequency| base.domain(frequency);
    Ok(Clocks {
        core: domain(clocks.core),
        noc: domain(clocks.noc),
        llc: domain(clocks.llc),
        dram: domain(clocks.dram),
        cpu: cpu.map(domain),
    })
}

/// CTAs of each kernel that fit an SM at once.
///
/// # Errors
/// When a kernel does not fit at all: its name, and the resource that is too small.
pub fn occupancies(machine: &Machine, workload: &Workload) -> Result<Vec<u32>, String> {
    let one = |kernel: &crate::frontend::Kernel| {
        resident_ctas(&machine.gpu.sm, &kernel.info)
            .map_err(|reason| format!("no CTA of kernel `{}` fits an SM of {}: {reason}", kernel.info.name, machine.name))
    };
    workload.kernels.iter().map(one).collect()
}

/// The phases of all kernels as a compiler would annotate them, for warp schedulers that use them.
fn phases_of(workload: &Workload) -> Arc<[Phases]> {
    workload.kernels.iter().map(|kernel| Phases::of_kernel(kernel, &Latencies::COMPILER, LongOps::All)).collect()
}
