//! A system of several GPUs: their hubs, the switches, and the links between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::{ClockDomain, GpuId, KernelIndex, LinkId, Tick};
use crate::config::Machine;
use crate::config::routes::Routes;
use crate::config::system::{Placing, System};
use crate::engine::{Latency, Plan, PlannedUnit};
use crate::frontend::Workload;
use crate::noc::hub::{CopyJob, GpuPorts, Hub, HubPorts, HubSpec, LanePort, NetPorts};
use crate::protocol::{AddressMap, HomeRule, Homes, Path};

use super::layout::ChipLayout;
use super::unit::ChipUnit;

const _: () = assert!(Path::MOST_HOPS == 8 && Path::MOST_GPUS == 64, "checks of the configuration have these limits, too");

/// The links of a hub inside its GPU.
pub(super) struct HubLinks {
    pub(super) request: NetPorts,
    pub(super) reply: NetPorts,
    pub(super) to_grid: LinkId,
    pub(super) from_grid: LinkId,
}

/// What is common to the GPUs of a system.
pub(super) struct SystemPlan {
    system: System,
    routes: Routes,
    rule: HomeRule,
    copies: Arc<BTreeMap<KernelIndex, CopyJob>>,
    /// The first output of a request network that leads to the hub.
    first_output: u16,
    /// The map of a GPU's memory.
    pub(super) map: AddressMap,
    /// The machine whose partitions have this map.
    pub(super) machine: Machine,
    /// Kilohertz of the hubs' clock.
    kilohertz: u64,
    /// The first of the links between nodes: for each lane one for packets, and one for credits.
    first_lane: u32,
}

impl SystemPlan {
    /// # Errors
    /// When GPUs have no links between them; a message for the user.
    pub(super) fn of(machine: &Machine, system: &System, workload: &Workload) -> Result<Self, String> {
        let routes = Routes::of(system)?;
        let gpus: Vec<GpuId> = workload.applications().iter().map(|app| app.gpu.unwrap_or_default()).collect();
        let rule = match system.memory {
            Placing::Local => HomeRule::Local { ranges: workload.homes.clone().into(), applications: gpus.into() },
            Placing::Interleaved => HomeRule::Interleaved,
            Placing::FirstTouch => HomeRule::FirstTouch,
        };
        let copies = (0..).zip(&workload.kernels).filter_map(|(number, kernel)| {
            let copy = kernel.info.copy?;
            let kernel = KernelIndex(number);
            Some((kernel, CopyJob { kernel, from: copy.from, to: copy.to, bytes: copy.bytes }))
        });
        let mut plan = Self {
            system: system.clone(),
            routes,
            rule,
            copies: Arc::new(copies.collect()),
            first_output: (machine.mem.map.partitions * machine.mem.map.slices_per_partition) as u16,
            map: machine.mem.map.clone(),
            machine: machine.clone(),
            kilohertz: machine.clocks.noc.0,
            first_lane: 0,
        };
        plan.map.constant_bits = plan.homes(0).constant_bits();
        plan.machine.mem.map = plan.map.clone();
        let (sms, ports, slices) = (machine.gpu.sms, system.hub.ports, u32::from(plan.first_output));
        // All links of the GPUs come before those between nodes.
        plan.first_lane = system.gpus * (4 * (sms + slices + 2 * ports) + 2 * sms + machine.mem.map.partitions + 2);
        Ok(plan)
    }

    /// Switches and hosts.
    pub(super) fn switches(&self) -> u32 {
        self.routes.nodes.len() as u32 - self.system.gpus
    }

    /// Whether copies from the host may leave lines in LLCs: where a GPU's application has its memory on the GPU.
    pub(super) fn warms(&self) -> bool {
        matches!(&self.rule, HomeRule::Local { ranges, .. } if ranges.is_empty())
    }

    /// The memory map as a GPU uses it.
    pub(super) fn homes(&self, gpu: u32) -> Homes {
        Homes {
            own: GpuId(gpu as u8),
            gpus: self.system.gpus,
            page_bit: self.system.page_bytes.trailing_zeros(),
            rule: self.rule.clone(),
            hub: (self.first_output, self.system.hub.ports as u16),
        }
    }

    /// The hub of a GPU.
    pub(super) fn hub(&self, number: u32, layout: &ChipLayout, links: HubLinks) -> Hub {
        let HubLinks { request, reply, to_grid, from_grid } = links;
        let ports = GpuPorts {
            gpu: GpuId(number as u8),
            ports: self.system.hub.ports as u16,
            request,
            reply,
            first_port: (layout.sms + layout.cpus) as u16,
            sms: layout.sms as u16,
            to_grid,
            from_grid,
        };
        let spec = HubSpec {
            homes: self.homes(number),
            map: self.map.of_gpu(),
            pending: self.system.hub.pending,
            copy_lines: self.system.hub.copy_lines,
            fault_latency: self.system.hub.fault_latency,
            copies: Arc::clone(&self.copies),
        };
        let node = number as usize;
        Hub::new(self.routes.nodes[node].to_string(), self.ports(node, Some(ports)), Some(spec), self.kilohertz)
    }

    /// The links of a node.
    fn ports(&self, node: usize, gpu: Option<GpuPorts>) -> HubPorts {
        let lane = |number: usize| {
            let set = self.routes.set(&self.system, number);
            let first = self.first_lane + 2 * number as u32;
            LanePort {
                lane: number as u16,
                data: LinkId(first as u16),
                credit: LinkId(first as u16 + 1),
                bandwidth: set.bandwidth,
                header_bytes: set.header_bytes,
                buffer: set.buffer,
            }
        };
        let lanes = || self.routes.lanes.iter().enumerate();
        let out: Vec<usize> = lanes().filter(|(_, lane)| lane.from == node).map(|(number, _)| number).collect();
        let into: Vec<usize> = lanes().filter(|(_, lane)| lane.to == node).map(|(number, _)| number).collect();
        let place = |lane: &u16| out.iter().position(|own| *own == usize::from(*lane)).unwrap_or_default() as u16;
        let ways = (0..self.system.gpus as usize).map(|gpu| self.routes.ways(node, gpu).iter().map(place).collect()).collect();
        HubPorts {
            gpu,
            ways,
            lanes_in: into.into_iter().map(lane).collect(),
            lanes_out: out.into_iter().map(lane).collect(),
            hops: self.routes.longest.max(1),
        }
    }

    /// Adds switches and hosts, a shard each.
    pub(super) fn add_switches(&self, plan: &mut Plan<ChipUnit>, clock: ClockDomain, first_lane: u32, shard: u32) {
        assert_eq!(first_lane, self.first_lane, "links of GPUs are counted twice");
        for (number, node) in (0..).zip(&self.routes.nodes[self.system.gpus as usize..]) {
            let ports = self.ports(self.system.gpus as usize + number as usize, None);
            let unit = ChipUnit::Hub(Box::new(Hub::new(node.to_string(), ports, None, self.kilohertz)));
            plan.add_unit(PlannedUnit { name: node.to_string(), unit, clock, kind: "hub", shard: shard + number, cost: 1.0, part: 0 });
        }
    }

    /// Makes the links between nodes.
    pub(super) fn link(&self, plan: &mut Plan<ChipUnit>, layout: &ChipLayout, clock: ClockDomain) {
        let unit = |node: usize| {
            let (node, gpus) = (node as u32, self.system.gpus);
            if node < gpus { layout.hub(node) } else { layout.switch(node - gpus) }
        };
        for (number, lane) in self.routes.lanes.iter().enumerate() {
            let nanoseconds = u64::from(self.routes.set(&self.system, number).latency);
            let cycles = (nanoseconds * self.kilohertz).div_ceil(1_000_000);
            let latency = Latency::Fixed(Tick(cycles.max(1) * clock.period));
            let (from, to) = (unit(lane.from), unit(lane.to));
            let data = plan.add_link(from, to, latency);
            plan.add_link(to, from, latency);
            assert_eq!(u32::from(data.0), self.first_lane + 2 * number as u32, "the links between nodes are counted otherwise than made");
        }
    }

    /// The names of links between nodes, by number.
    pub(super) fn lane_names(routes: &Routes) -> Vec<String> {
        routes.lanes.iter().map(|lane| format!("{} -> {}", routes.nodes[lane.from], routes.nodes[lane.to])).collect()
    }
}
