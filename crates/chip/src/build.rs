//! Assembly of a machine: its units, the links between them, and their latencies.

use std::sync::Arc;

use warpshard_base::{ClockDomain, CpuId, Frequency, GpuId, LinkId, PartitionId, PortId, SliceId, SmId, Tick, TimeBase, UnitId};
use warpshard_config::Machine;
use warpshard_config::machine::{self, Cpu, MemcpyWarms, Noc, Sharing};
use warpshard_config::placement::Placement;
use warpshard_cpu::{CpuCore, CpuPorts};
use warpshard_engine::{Latency, Plan, PlannedUnit};
use warpshard_gpu::cta::{Grid, GridPorts, SystemPorts, gpcs};
use warpshard_gpu::occupancy::resident_ctas;
use warpshard_gpu::sm::{Sm, SmPorts};
use warpshard_mem::{Partition, PartitionPorts, arrival_capacity};
use warpshard_noc::hub::NetPorts;
use warpshard_noc::mesh::{MeshNet, NetworkSpec, Pipeline, SubnetSpec, Topology, Torus, Wired};
use warpshard_noc::peers::{PeerNet, PeerPorts};
use warpshard_noc::{Crossbar, Direction, SubnetPorts};
use warpshard_seam::{self as seam, SwitchSite};
use warpshard_workload::phases::{Latencies, LongOps, Phases};
use warpshard_workload::{Kernel, Workload};

use super::cpu_load::CpuLoad;
use super::layout::ChipLayout;
use super::system::{HubLinks, SystemPlan};
use super::unit::ChipUnit;
use crate::BuildError;

/// The grouping of units into shards. It has no effect on the simulation.
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

/// A machine ready to run, and the positions of its units.
#[derive(Debug)]
pub struct BuiltChip {
    /// Units and links.
    pub plan: Plan<ChipUnit>,
    /// The positions of the units.
    pub layout: ChipLayout,
}

/// The clocks of a GPU.
#[derive(Clone, Copy, Debug)]
struct ChipClocks {
    core: ClockDomain,
    noc: ClockDomain,
    llc: ClockDomain,
    dram: ClockDomain,
}

/// The first link of each kind of a GPU. Links of one kind are consecutive in the plan, in the order of their creation.
#[derive(Clone, Copy, Debug)]
struct GpuWiring {
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
    /// Links between the grid scheduler and the hub of a system.
    grid_to_hub: LinkId,
    hub_to_grid: LinkId,
    /// Links between the SMs and the cluster network.
    sm_to_peers: LinkId,
    peers_to_sm: LinkId,
    /// The identifier after the last link.
    next: u32,
}

impl GpuWiring {
    /// Numbers the links of a GPU from `first`, with `cpus` CPU cores, `hub` hub ports at each network, and, with `peers`, a cluster
    /// network.
    fn of(first: u32, machine: &Machine, cpus: u32, hub: u32, peers: bool) -> Self {
        let sms = machine.gpu.sms;
        let of_clusters = if peers { sms } else { 0 };
        let (ports, slices) = (sms + cpus + hub, slices(machine) + hub);
        let mut next = first;
        let mut block = |links: u32| {
            let first = LinkId(u16::try_from(next).expect("at most 65536 links"));
            next += links;
            first
        };
        let system = u32::from(hub > 0);
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
            grid_to_partition: block(machine.mem.map.partitions),
            grid_to_hub: block(system),
            hub_to_grid: block(system),
            sm_to_peers: block(of_clusters),
            peers_to_sm: block(of_clusters),
            next,
        }
    }

    /// Returns the hub's links at the networks: its ports follow those of `cores` SMs and of `slices` slices.
    fn hub_ports(&self, machine: &Machine, cores: u32, slices: u32) -> (NetPorts, NetPorts) {
        let nth = |first: LinkId, index: u32| LinkId(first.0 + index as u16);
        let request = NetPorts {
            from: nth(self.request_to_slice, slices),
            credit_to: nth(self.slice_credit_to_request, slices),
            to: nth(self.port_to_request, cores),
            credit_from: nth(self.request_credit_to_port, cores),
            places: (arrival_capacity(machine), machine.noc.input_queue),
        };
        let reply = NetPorts {
            from: nth(self.reply_to_port, cores),
            credit_to: nth(self.port_credit_to_reply, cores),
            to: nth(self.slice_to_reply, slices),
            credit_from: nth(self.reply_credit_to_slice, slices),
            places: (machine.noc.output_queue, machine.noc.input_queue),
        };
        (request, reply)
    }
}

/// Returns the number of LLC slices of a GPU.
fn slices(machine: &Machine) -> u32 {
    machine.mem.map.partitions * machine.mem.map.slices_per_partition
}

/// Checks that every application gets an SM with spatial sharing.
fn check_owners(machine: &Machine, workload: &Workload) -> Result<(), BuildError> {
    let (apps, sms) = (workload.applications.len(), machine.gpu.sms as usize);
    if machine.gpu.dispatch.sharing != Sharing::Spatial || apps <= sms {
        return Ok(());
    }
    Err(format!(
        "{apps} applications cannot each own SMs of {}, which has {sms}; use gpu.dispatch.sharing = \"left-over\" or \"interleaved\", \
         fewer applications, or more SMs",
        machine.name
    )
    .into())
}

/// Checks that a GPC has an SM for each CTA of the largest cluster.
fn check_clusters(machine: &Machine, workload: &Workload) -> Result<(), BuildError> {
    let Some(kernel) = workload.kernels.iter().max_by_key(|kernel| kernel.info.cluster_ctas()) else { return Ok(()) };
    let (size, most) = (kernel.info.cluster_ctas(), gpcs(&machine.gpu.cluster, machine.gpu.sms).iter().map(Vec::len).max().unwrap_or(0));
    if size as usize <= most {
        return Ok(());
    }
    Err(format!(
        "kernel `{}` has clusters of {size} CTAs, each CTA needs a separate SM in one GPC, but the largest GPC of {} has {most}; use a smaller \
         cluster, or a machine with larger GPCs (`gpu.cluster.gpcs`)",
        kernel.info.name, machine.name
    )
    .into())
}

/// Builds the units and links of `machine` with `workload`, and with `load` on its CPU cores.
///
/// # Errors
/// A kernel does not fit on an SM, or the machine's clocks or queues are inconsistent; a message for the user.
pub fn build(machine: &Machine, workload: &Arc<Workload>, load: Option<&CpuLoad>, cut: ShardCut) -> Result<BuiltChip, BuildError> {
    load.map_or(Ok(()), |load| load.check(machine))?;
    machine.each_kind().try_for_each(Machine::check_own)?;
    let (clocks, cpu_clock) = machine_clocks(machine)?;
    machine.each_kind().try_for_each(|kind| check_owners(kind, workload))?;
    machine.each_kind().try_for_each(|kind| check_clusters(kind, workload))?;
    let system = machine.system.as_ref().map(|system| SystemPlan::of(machine, system, workload)).transpose()?;
    let switches = system.as_ref().map_or(0, SystemPlan::switches);
    let clusters = workload.kernels.iter().any(|kernel| kernel.info.cluster_ctas() > 1);
    let layout = ChipLayout::of(machine, load.map_or(0, CpuLoad::cores), switches, clusters);
    let hub = machine.system.as_ref().map_or(0, |system| system.hub.ports);
    let mut wirings: Vec<GpuWiring> = Vec::new();
    for (number, gpu) in (0..).zip(machine.each_gpu()) {
        let peers = layout.gpu(number).peers().is_some();
        wirings.push(GpuWiring::of(wirings.last().map_or(0, |wiring| wiring.next), gpu, layout.cpus, hub, peers));
    }
    let mut plan = Plan::new(clocks[0].core);
    let needs_phases = machine.each_kind().any(|kind| kind.gpu.sm.order.needs_phases());
    let phases: Option<Arc<[Phases]>> = needs_phases.then(|| phases_of(workload));
    let mut shard = 0;
    for ((number, wiring), (own, clocks)) in (0..).zip(&wirings).zip(machine.each_gpu().zip(&clocks)) {
        let resident = occupancies_on(own, workload, machine.system.as_ref().map(|_| number))?;
        let machine = system.as_ref().map_or(own, |system| &system.machines[number as usize]);
        let phases = phases.as_ref().filter(|_| own.gpu.sm.order.needs_phases());
        let gpu = GpuBuilder { number, machine, workload, clocks, layout: &layout, wiring, cut, system: system.as_ref() };
        shard = gpu.add_units(&mut plan, &resident, phases, load, shard)?;
    }
    if let (Some(load), Some(cpu), Some(clock)) = (load, &machine.cpu, cpu_clock) {
        add_cpus(&mut plan, machine, cpu, clock, load, &wirings[0], shard)?;
    }
    let lanes = wirings.last().map_or(0, |wiring| wiring.next);
    if let Some(system) = &system {
        system.add_switches(&mut plan, clocks[0].noc, lanes, shard);
    }
    for ((gpu, machine), clocks) in (0..).zip(machine.each_gpu()).zip(&clocks) {
        create_links(&mut plan, machine, clocks, &layout, gpu);
    }
    if let Some(system) = &system {
        system.create_links(&mut plan, &layout, &clocks.iter().map(|clocks| clocks.noc).collect::<Vec<_>>());
    }
    Ok(BuiltChip { plan, layout })
}

/// A GPU under construction.
struct GpuBuilder<'a> {
    number: u32,
    machine: &'a Machine,
    workload: &'a Arc<Workload>,
    clocks: &'a ChipClocks,
    layout: &'a ChipLayout,
    wiring: &'a GpuWiring,
    cut: ShardCut,
    system: Option<&'a SystemPlan>,
}

impl GpuBuilder<'_> {
    /// Adds the GPU's units, which begin a new shard, and returns the number of the unit after the last.
    fn add_units(
        &self,
        plan: &mut Plan<ChipUnit>,
        resident: &[u32],
        phases: Option<&Arc<[Phases]>>,
        load: Option<&CpuLoad>,
        mut shard: u32,
    ) -> Result<u32, BuildError> {
        let (clocks, cut, part) = (self.clocks, self.cut, self.number as u16);
        let layout = self.layout.gpu(self.number);
        let prefix = if self.system.is_some() { format!("gpu{} ", self.number) } else { String::new() };
        for sm in 0..layout.sms {
            let unit = ChipUnit::Sm(Box::new(self.sm(sm, phases)));
            let (name, shard) = (format!("{prefix}sm{sm}"), shard + sm / cut.sms);
            plan.add_unit(PlannedUnit { name, unit, clock: clocks.core, kind: "sm", shard, cost: 1.0, part });
        }
        shard += layout.sms.div_ceil(cut.sms);
        for partition in 0..layout.partitions {
            let id = PartitionId(partition as u16);
            let (name, shard) = (format!("{prefix}{id}"), shard + partition / cut.partitions);
            let unit = ChipUnit::Partition(Box::new(self.partition(id)));
            plan.add_unit(PlannedUnit { name, unit, clock: clocks.llc, kind: "partition", shard, cost: 0.5, part });
        }
        shard += layout.partitions.div_ceil(cut.partitions);
        for (name, direction) in [("request network", Direction::Request), ("reply network", Direction::Reply)] {
            let unit = network(self.machine, self.layout.cpus, direction, self.subnet(direction))?;
            let (name, cost) = (format!("{prefix}{name}"), network_cost(self.machine, self.layout.cpus));
            plan.add_unit(PlannedUnit { name, unit, clock: clocks.noc, kind: "network", shard, cost, part });
            shard += 1;
        }
        let grid = Grid::new(self.machine, Arc::clone(self.workload), resident.to_vec(), self.grid());
        let unit = ChipUnit::Grid(Box::new(if load.is_some_and(CpuLoad::delays_kernels) { grid.with_held_launches() } else { grid }));
        let name = format!("{prefix}grid scheduler");
        plan.add_unit(PlannedUnit { name, unit, clock: clocks.core, kind: "grid", shard, cost: 0.2, part });
        shard += 1;
        if let Some(system) = self.system {
            let unit = ChipUnit::Hub(Box::new(system.hub(self.number, self.hub())));
            plan.add_unit(PlannedUnit { name: format!("{prefix}hub"), unit, clock: clocks.noc, kind: "hub", shard, cost: 1.0, part });
            shard += 1;
        }
        if layout.peers().is_some() {
            let links = PeerPorts { first_from_sm: self.wiring.sm_to_peers, first_to_sm: self.wiring.peers_to_sm };
            let unit = ChipUnit::Peers(Box::new(PeerNet::new(&self.machine.gpu.cluster, layout.sms as usize, links)));
            let name = format!("{prefix}network of clusters");
            plan.add_unit(PlannedUnit { name, unit, clock: clocks.core, kind: "peers", shard, cost: 0.5, part });
            shard += 1;
        }
        Ok(shard)
    }

    fn nth_link(first: LinkId, index: u32) -> LinkId {
        LinkId(first.0 + index as u16)
    }

    /// Returns the links of the hub inside the GPU.
    fn hub(&self) -> HubLinks {
        let (request, reply) = self.wiring.hub_ports(self.machine, self.machine.gpu.sms, slices(self.machine));
        HubLinks { request, reply, to_grid: self.wiring.hub_to_grid, from_grid: self.wiring.grid_to_hub }
    }

    fn sm(&self, sm: u32, phases: Option<&Arc<[Phases]>>) -> Sm {
        let (wiring, peers) = (self.wiring, self.layout.gpu(self.number).peers().is_some());
        let ports = SmPorts {
            to_request_net: Self::nth_link(wiring.port_to_request, sm),
            to_grid: Self::nth_link(wiring.sm_to_grid, sm),
            reply_credit: Self::nth_link(wiring.port_credit_to_reply, sm),
            from_reply_net: Self::nth_link(wiring.reply_to_port, sm),
            request_credit: Self::nth_link(wiring.request_credit_to_port, sm),
            from_grid: Self::nth_link(wiring.grid_to_sm, sm),
            peers: peers.then(|| (Self::nth_link(wiring.sm_to_peers, sm), Self::nth_link(wiring.peers_to_sm, sm))),
        };
        let unit = Sm::new(SmId(sm as u16), self.machine, Arc::clone(self.workload), ports);
        let unit = if let Some(phases) = phases { unit.with_phases(Arc::clone(phases)) } else { unit };
        match self.system {
            Some(system) => unit.with_homes(self.machine.mem.map.of_gpu(), &system.homes(self.number)),
            None => unit,
        }
    }

    fn partition(&self, id: PartitionId) -> Partition {
        let (clocks, wiring) = (self.clocks, self.wiring);
        let partition = u32::from(id.0);
        let first = partition * self.machine.mem.map.slices_per_partition;
        let ports = PartitionPorts {
            request_in: Self::nth_link(wiring.request_to_slice, first),
            credit_out: Self::nth_link(wiring.slice_credit_to_request, first),
            reply_out: Self::nth_link(wiring.slice_to_reply, first),
            credit_in: Self::nth_link(wiring.reply_credit_to_slice, first),
            from_grid: Self::nth_link(wiring.grid_to_partition, partition),
        };
        Partition::new(id, self.machine, clocks.llc, clocks.dram, ports)
            .with_core_clock(clocks.core)
            .counting_by(self.workload.kernels.len(), self.workload.applications.len())
    }

    fn subnet(&self, direction: Direction) -> SubnetPorts {
        let wiring = self.wiring;
        match direction {
            Direction::Request => SubnetPorts {
                data_in: wiring.port_to_request,
                credit_out: wiring.request_credit_to_port,
                data_out: wiring.request_to_slice,
                credit_in: wiring.slice_credit_to_request,
                output_capacity: arrival_capacity(self.machine),
            },
            Direction::Reply => SubnetPorts {
                data_in: wiring.slice_to_reply,
                credit_out: wiring.reply_credit_to_slice,
                data_out: wiring.reply_to_port,
                credit_in: wiring.port_credit_to_reply,
                output_capacity: self.machine.noc.output_queue,
            },
        }
    }

    fn grid(&self) -> GridPorts {
        let wiring = self.wiring;
        let warms = self.machine.mem.memcpy_warms != MemcpyWarms::Off && self.system.is_none_or(SystemPlan::copies_warm_llc);
        GridPorts {
            first_to_sm: wiring.grid_to_sm,
            first_from_sm: wiring.sm_to_grid,
            first_to_partition: wiring.grid_to_partition,
            partitions: if warms { self.machine.mem.map.partitions } else { 0 },
            system: self.system.map(|_| SystemPorts {
                gpu: GpuId(self.number as u8),
                to_hub: wiring.grid_to_hub,
                latency: copy_latency(self.machine),
                from_hub: wiring.hub_to_grid,
            }),
        }
    }
}

/// Builds one subnet between all ports and all slices.
fn network(machine: &Machine, cpus: u32, direction: Direction, ports: SubnetPorts) -> Result<ChipUnit, BuildError> {
    // The hub of a system has ports on both sides, like a core and like a slice.
    let hub = machine.system.as_ref().map_or(0, |system| system.hub.ports);
    let (sms, partitions) = (machine.gpu.sms as usize, machine.mem.map.partitions as usize);
    let cores = sms + (cpus + hub) as usize;
    let slices = (slices(machine) + hub) as usize;
    let Some(mesh) = &machine.noc.mesh else {
        let (inputs, outputs) = match direction {
            Direction::Request => (cores, slices),
            Direction::Reply => (slices, cores),
        };
        let noc = &machine.noc;
        return Ok(match Crossbar::new(direction, noc, inputs, outputs, ports) {
            Some(crossbar) => {
                let site = SwitchSite { replies: direction == Direction::Reply, inputs, outputs };
                let arbiter =
                    machine.own.arbiter.as_ref().filter(|_| noc.arbiter == machine::Arbiter::Own).map(|maker| maker.create(&site));
                ChipUnit::Crossbar(Box::new(crossbar.with_arbiter(arbiter)))
            }
            None => ChipUnit::Mesh(Box::new(MeshNet::new(direction, &vc_crossbar(noc, inputs, outputs, cores)?, ports))),
        });
    };
    let Placement { gpu, cpu, mem } = Placement::of(machine, mesh).map_err(|problem| format!("`noc.mesh.placement` {problem}"))?;
    let of_cores: Vec<u16> = gpu.into_iter().chain(cpu.into_iter().take(cpus as usize)).collect();
    let of_slices: Vec<u16> = mem.into_iter().flat_map(|node| std::iter::repeat_n(node, slices / partitions)).collect();
    let (senders, receivers) = match direction {
        Direction::Request => (of_cores, of_slices),
        Direction::Reply => (of_slices, of_cores),
    };
    let topology = topology(machine, mesh)?;
    let shared = NetworkSpec { pipeline: pipeline(mesh.stages), buffers: mesh.buffers as u16, ..NetworkSpec::new(topology) };
    let (own, all) = (mesh.cpu_vcs as u8, mesh.vcs as u8);
    let network = if own > 0 { shared.partitioned(&[all - own, own]) } else { shared.with_vcs(all) };
    network.check()?;
    let (own_bytes, bytes) = (mesh.cpu_channel_bytes, mesh.channel_bytes);
    let spec = SubnetSpec {
        flit_bytes: match (own, own_bytes) {
            (0, _) => vec![flit_width(bytes)],
            (_, 0) => vec![flit_width(bytes), flit_width(bytes)],
            _ => vec![flit_width(bytes - own_bytes), flit_width(own_bytes)],
        },
        apart: own > 0 && own_bytes > 0,
        class_of_core: (0..cores).map(|port| u8::from(own > 0 && port >= sms)).collect(),
        network,
        senders,
        receivers,
        header_bytes: mesh.header_bytes as u16,
        input_queue: machine.noc.input_queue,
    };
    Ok(ChipUnit::Mesh(Box::new(MeshNet::new(direction, &spec, ports))))
}

/// Returns the topology of a network of routers: a mesh, a torus, or a topology of the calling program.
fn topology(machine: &Machine, mesh: &machine::Mesh) -> Result<Topology, BuildError> {
    let grid = seam::MeshSize { columns: mesh.columns as u16, rows: mesh.rows as u16 };
    let wiring = match (machine.noc.topology, &machine.own.topology) {
        (machine::Topology::Torus, _) => seam::Topology::wiring(&Torus, grid)?,
        (machine::Topology::Own, Some(own)) => own.0.wiring(grid)?,
        (machine::Topology::Own, None) => return Err("`noc.topology` is \"own\", but the calling program provides no topology".into()),
        (machine::Topology::Mesh | machine::Topology::Crossbar, _) => {
            return Ok(Topology::Mesh { columns: grid.columns, rows: grid.rows });
        }
    };
    let places = usize::from(grid.columns) * usize::from(grid.rows);
    if wiring.terminals() != places {
        let (name, terminals) = (wiring.name(), wiring.terminals());
        return Err(
            format!("the topology {name} has {terminals} terminals, expected {places}: one for each node of `noc.mesh.placement`").into()
        );
    }
    Ok(Topology::Wired(Wired(Arc::new(wiring))))
}

/// Returns the host cost of a subnet relative to an SM, from shares of stepping time measured on `v100`, a Fermi with 32 SMs and a CPU+GPU
/// chip with a mesh.
fn network_cost(machine: &Machine, cpus: u32) -> f64 {
    let cores = f64::from(machine.gpu.sms + cpus);
    match (&machine.noc.mesh, machine.noc.crossbar) {
        (Some(mesh), _) => 0.4 * f64::from(mesh.columns * mesh.rows),
        (None, machine::Crossbar::Fifo) => 0.05 * cores,
        (None, _) => 0.15 * cores,
    }
}

/// Returns the bytes of a flit. A channel wider than any packet behaves like the widest representable channel.
fn flit_width(bytes: u32) -> u16 {
    bytes.min(u32::from(u16::MAX)) as u16
}

fn pipeline(stages: u32) -> Pipeline {
    match stages {
        2 => Pipeline::Speculative,
        3 => Pipeline::Three,
        _ => Pipeline::Four,
    }
}

/// Returns a single router with a terminal for each sender and each receiver; sender i and receiver i share a terminal.
fn vc_crossbar(noc: &Noc, inputs: usize, outputs: usize, cores: usize) -> Result<SubnetSpec, BuildError> {
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
        flit_bytes: vec![flit_width(vc.channel_bytes)],
        apart: false,
        header_bytes: vc.header_bytes as u16,
        input_queue: noc.input_queue,
    })
}

/// Adds the active CPU cores; their network ports follow the ports of the SMs.
fn add_cpus(
    plan: &mut Plan<ChipUnit>,
    machine: &Machine,
    cpu: &Cpu,
    clock: ClockDomain,
    load: &CpuLoad,
    wiring: &GpuWiring,
    first_shard: u32,
) -> Result<(), BuildError> {
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
        plan.add_unit(PlannedUnit { name: id.to_string(), unit, clock, kind: "cpu", shard: first_shard + core, cost: 1.0, part: 0 });
    }
    Ok(())
}

/// Returns the core cycles from the grid scheduler to the hub: the scheduler's link latency plus the latency in front of the hub on the
/// network side. A shorter latency would shorten the lookahead of the loop from the hub to an SM and back to the grid scheduler.
fn copy_latency(machine: &Machine) -> u64 {
    let hub = machine.system.as_ref().map_or(0, |system| system.hub.latency);
    machine.gpu.dispatch.latency + (hub * machine.clocks.core.0).div_ceil(machine.clocks.noc.0)
}

/// Creates the links of a GPU in the order of [`GpuWiring`].
fn create_links(plan: &mut Plan<ChipUnit>, machine: &Machine, clocks: &ChipClocks, layout: &ChipLayout, gpu: u32) {
    let hop = machine.noc.link_latency * clocks.noc.period;
    let net = Latency::Fixed(Tick(hop));
    // The ROP pipe is between the network and the slice's tags. As part of the link it determines the length of the lookahead.
    let to_slice = Latency::Fixed(Tick(hop + machine.mem.rop_latency * clocks.llc.period));
    let dispatch = Latency::Fixed(Tick(machine.gpu.dispatch.latency * clocks.core.period));
    let hub =
        machine.system.as_ref().map(|system| (system.hub.ports as usize, Latency::Fixed(Tick(system.hub.latency * clocks.noc.period))));
    let to_hub = hub.map_or(net, |(_, latency)| latency);
    let copy_latency = Latency::Fixed(Tick(copy_latency(machine) * clocks.core.period));
    let here = layout.gpu(gpu);
    let sms: Vec<UnitId> = (0..here.sms).map(|sm| here.sm(SmId(sm as u16))).collect();
    let cpus: Vec<UnitId> = (0..layout.cpus).map(|cpu| layout.cpu(CpuId(cpu as u16))).collect();
    let hubs = vec![here.hub(); hub.map_or(0, |(ports, _)| ports)];
    let cores: Vec<UnitId> = sms.iter().chain(&cpus).copied().collect();
    let ports: Vec<UnitId> = cores.iter().chain(&hubs).copied().collect();
    let per_partition = machine.mem.map.slices_per_partition;
    let partition_of = |slice: SliceId| here.partition(PartitionId(slice.0 / per_partition as u16));
    let slices: Vec<UnitId> = (0..slices(machine)).map(|slice| partition_of(SliceId(slice as u16))).collect();
    let ends: Vec<UnitId> = slices.iter().chain(&hubs).copied().collect();
    let (request_net, reply_net, grid) = (here.request_net(), here.reply_net(), here.grid());
    let mut bundle = |ends: &[UnitId], centre: UnitId, towards: bool, latency| {
        for &end in ends {
            let (from, to) = if towards { (end, centre) } else { (centre, end) };
            plan.add_link(from, to, latency);
        }
    };
    bundle(&ports, request_net, true, net);
    bundle(&ports, request_net, false, Latency::Slack);
    bundle(&slices, request_net, false, to_slice);
    bundle(&hubs, request_net, false, to_hub);
    bundle(&ends, request_net, true, Latency::Slack);
    bundle(&ends, reply_net, true, net);
    bundle(&ends, reply_net, false, Latency::Slack);
    bundle(&cores, reply_net, false, net);
    bundle(&hubs, reply_net, false, to_hub);
    bundle(&ports, reply_net, true, Latency::Slack);
    bundle(&sms, grid, false, dispatch);
    bundle(&sms, grid, true, dispatch);
    // A copy must arrive before the first access of the kernel after it, which takes the links to an SM and through the network: three
    // links of at least a lookahead each. Therefore the minimum latency that does not shorten the lookahead suffices.
    let partitions: Vec<UnitId> = (0..here.partitions).map(|partition| here.partition(PartitionId(partition as u16))).collect();
    bundle(&partitions, grid, false, Latency::Slack);
    if hub.is_some() {
        bundle(&hubs[..1], grid, false, copy_latency);
        bundle(&hubs[..1], grid, true, dispatch);
    }
    if let Some(peers) = here.peers() {
        let latency = Latency::Fixed(Tick(machine.gpu.cluster.link_latency * clocks.core.period));
        bundle(&sms, peers, true, latency);
        bundle(&sms, peers, false, latency);
    }
}

/// Returns the clocks of each GPU and of the CPU cores, over one base tick.
fn machine_clocks(machine: &Machine) -> Result<(Vec<ChipClocks>, Option<ClockDomain>), BuildError> {
    let cpu = machine.cpu.as_ref().map(|cpu| cpu.clock);
    let of_kind = |kind: &Machine| [kind.clocks.core, kind.clocks.noc, kind.clocks.llc, kind.clocks.dram];
    let all: Vec<Frequency> = machine.each_kind().flat_map(of_kind).chain(cpu).collect();
    let base = TimeBase::of(&all).ok_or("the clocks have no common base tick; use frequencies with few digits")?;
    let domain = |frequency| base.domain(frequency);
    let of_gpu = |gpu: &Machine| {
        let [core, noc, llc, dram] = of_kind(gpu).map(domain);
        ChipClocks { core, noc, llc, dram }
    };
    Ok((machine.each_gpu().map(of_gpu).collect(), cpu.map(domain)))
}

/// Returns the occupancy of each kernel: its CTAs that fit on an SM of its GPU at the same time.
///
/// # Errors
/// A kernel does not fit: its name, and the resource that is too small.
pub fn occupancies(machine: &Machine, workload: &Workload) -> Result<Vec<u32>, BuildError> {
    let one = |kernel: &Kernel| occupancy(machine.of_gpu(u32::from(kernel.info.on_gpu().0)), kernel);
    workload.kernels.iter().map(one).collect()
}

fn occupancy(machine: &Machine, kernel: &Kernel) -> Result<u32, BuildError> {
    resident_ctas(&machine.gpu.sm, &kernel.info)
        .map_err(|reason| format!("no CTA of kernel `{}` fits an SM of {}: {reason}", kernel.info.name, machine.name))
        .map_err(Into::into)
}

/// Returns the occupancy of each kernel on one GPU; in a system, 1 for kernels that run on another GPU and do not fit on this one.
fn occupancies_on(machine: &Machine, workload: &Workload, gpu: Option<u32>) -> Result<Vec<u32>, BuildError> {
    let elsewhere = |kernel: &Kernel| gpu.is_some_and(|gpu| gpu != u32::from(kernel.info.on_gpu().0));
    let one = |kernel: &Kernel| occupancy(machine, kernel).or_else(|problem| if elsewhere(kernel) { Ok(1) } else { Err(problem) });
    workload.kernels.iter().map(one).collect()
}

/// Returns the phases of all kernels as annotated by a compiler, for warp schedulers that use them.
fn phases_of(workload: &Workload) -> Arc<[Phases]> {
    workload.kernels.iter().map(|kernel| Phases::of_kernel(kernel, &Latencies::COMPILER_PASS, LongOps::All)).collect()
}
