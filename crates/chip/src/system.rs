//! A system of several GPUs: their hubs, the switches, and the links between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{ClockDomain, GpuId, KernelIndex, LinkId, Tick};
use warpshard_config::Machine;
use warpshard_config::routes::Routes;
use warpshard_config::system::{PagePlacement, System};
use warpshard_engine::{Latency, Plan, PlannedUnit};
use warpshard_noc::hub::{CopyJob, GpuPorts, Hub, HubPorts, HubSpec, LanePort, NetPorts};
use warpshard_protocol::{GpuPath, HomeRule, Homes};
use warpshard_workload::Workload;

use super::layout::ChipLayout;
use super::unit::ChipUnit;
use crate::BuildError;

const _: () = assert!(GpuPath::MAX_HOPS == 8 && GpuPath::MAX_GPUS == 64, "checks of the configuration have these limits, too");

/// The links of a hub inside its GPU.
pub(super) struct HubLinks {
    pub(super) request: NetPorts,
    pub(super) reply: NetPorts,
    pub(super) to_grid: LinkId,
    pub(super) from_grid: LinkId,
}

/// Data common to the GPUs of a system.
pub(super) struct SystemPlan {
    system: System,
    routes: Routes,
    rule: HomeRule,
    copies: Arc<BTreeMap<KernelIndex, CopyJob>>,
    /// The machine of each GPU, with the map of its memory.
    pub(super) machines: Vec<Machine>,
    /// The first link between nodes. Each lane has one link for packets and one for credits.
    first_lane: u32,
}

impl SystemPlan {
    /// # Errors
    /// GPUs are not connected by links; a message for the user.
    pub(super) fn of(machine: &Machine, system: &System, workload: &Workload) -> Result<Self, BuildError> {
        let routes = Routes::of(system)?;
        let gpus: Vec<GpuId> = workload.applications().iter().map(|app| app.gpu.unwrap_or_default()).collect();
        let rule = match system.memory {
            PagePlacement::Local => HomeRule::Local { ranges: workload.homes.clone().into(), applications: gpus.into() },
            PagePlacement::Interleaved => HomeRule::Interleaved,
            PagePlacement::FirstTouch => HomeRule::FirstTouch,
        };
        let copies = (0..).zip(&workload.kernels).filter_map(|(number, kernel)| {
            let copy = kernel.info.copy?;
            let kernel = KernelIndex(number);
            Some((kernel, CopyJob { kernel, from: copy.from, to: copy.to, bytes: copy.bytes }))
        });
        let page_bit = system.page_bytes.trailing_zeros();
        let with_map = |gpu: &Machine| {
            let mut gpu = gpu.clone();
            gpu.mem.map.constant_bits = rule.constant_bits(page_bit, system.gpus);
            gpu
        };
        let machines: Vec<Machine> = machine.each_gpu().map(with_map).collect();
        // All links of the GPUs precede the links between nodes.
        let links = |gpu: &Machine| {
            let (sms, partitions) = (gpu.gpu.sms, gpu.mem.map.partitions);
            4 * (sms + partitions * gpu.mem.map.slices_per_partition + 2 * system.hub.ports) + 2 * sms + partitions + 2
        };
        let first_lane = machines.iter().map(links).sum();
        Ok(Self { system: system.clone(), routes, rule, copies: Arc::new(copies.collect()), machines, first_lane })
    }

    /// Returns the number of switches and hosts.
    pub(super) fn switches(&self) -> u32 {
        self.routes.nodes.len() as u32 - self.system.gpus
    }

    /// Returns `true` if copies from the host may warm the LLCs: if the memory of a GPU's application is on that GPU.
    pub(super) fn copies_warm_llc(&self) -> bool {
        matches!(&self.rule, HomeRule::Local { ranges, .. } if ranges.is_empty())
    }

    /// Returns the memory map as a GPU uses it.
    pub(super) fn homes(&self, gpu: u32) -> Homes {
        let map = &self.machines[gpu as usize].mem.map;
        let first_output = map.partitions * map.slices_per_partition;
        Homes {
            own: GpuId(gpu as u8),
            gpus: self.system.gpus,
            page_bit: self.system.page_bytes.trailing_zeros(),
            rule: self.rule.clone(),
            hub: (first_output as u16, self.system.hub.ports as u16),
        }
    }

    /// Builds the hub of a GPU.
    pub(super) fn hub(&self, number: u32, links: HubLinks) -> Hub {
        let machine = &self.machines[number as usize];
        let HubLinks { request, reply, to_grid, from_grid } = links;
        let ports = GpuPorts {
            gpu: GpuId(number as u8),
            ports: self.system.hub.ports as u16,
            request,
            reply,
            first_port: machine.gpu.sms as u16,
            sms: machine.gpu.sms as u16,
            to_grid,
            from_grid,
        };
        let spec = HubSpec {
            homes: self.homes(number),
            map: machine.mem.map.of_gpu(),
            pending: self.system.hub.pending,
            copy_lines: self.system.hub.copy_lines,
            fault_latency: self.system.hub.fault_latency,
            copies: Arc::clone(&self.copies),
        };
        let node = number as usize;
        Hub::new(self.routes.nodes[node].to_string(), self.ports(node, Some(ports)), Some(spec), machine.clocks.noc.0)
    }

    /// Returns the links of a node.
    fn ports(&self, node: usize, gpu: Option<GpuPorts>) -> HubPorts {
        let lane = |number: usize| {
            let set = self.routes.set(&self.system, number);
            let first = self.first_lane + 2 * number as u32;
            LanePort {
                lane: number as u16,
                data: LinkId(first as u16),
                credit: LinkId(first as u16 + 1),
                host: self.routes.lanes[number].host,
                bandwidth: set.bandwidth,
                header_bytes: set.header_bytes,
                buffer: set.buffer,
            }
        };
        let lanes = || self.routes.lanes.iter().enumerate();
        let out: Vec<usize> = lanes().filter(|(_, lane)| lane.from == node).map(|(number, _)| number).collect();
        let into: Vec<usize> = lanes().filter(|(_, lane)| lane.to == node).map(|(number, _)| number).collect();
        let place = |lane: &u16| out.iter().position(|own| *own == usize::from(*lane)).unwrap_or_default() as u16;
        let ways = (0..self.system.gpus as usize).map(|gpu| self.routes.next_links(node, gpu).iter().map(place).collect()).collect();
        HubPorts {
            gpu,
            lanes_to_gpu: ways,
            lanes_in: into.into_iter().map(lane).collect(),
            lanes_out: out.into_iter().map(lane).collect(),
            hops: self.routes.max_path_links.max(1),
        }
    }

    /// Adds switches and hosts, each in a separate shard.
    pub(super) fn add_switches(&self, plan: &mut Plan<ChipUnit>, clock: ClockDomain, first_lane: u32, shard: u32) {
        assert_eq!(first_lane, self.first_lane, "links of GPUs are counted twice");
        for (number, node) in (0..).zip(&self.routes.nodes[self.system.gpus as usize..]) {
            let ports = self.ports(self.system.gpus as usize + number as usize, None);
            let unit = ChipUnit::Hub(Box::new(Hub::new(node.to_string(), ports, None, self.machines[0].clocks.noc.0)));
            plan.add_unit(PlannedUnit { name: node.to_string(), unit, clock, kind: "hub", shard: shard + number, cost: 1.0, part: 0 });
        }
    }

    /// Creates the links between nodes, given the clock of each GPU's hub. Switches have the clock of GPU 0.
    pub(super) fn create_links(&self, plan: &mut Plan<ChipUnit>, layout: &ChipLayout, clocks: &[ClockDomain]) {
        let unit = |node: usize| {
            let (node, gpus) = (node as u32, self.system.gpus);
            if node < gpus { layout.gpu(node).hub() } else { layout.switch(node - gpus) }
        };
        for (number, lane) in self.routes.lanes.iter().enumerate() {
            let nanoseconds = u64::from(self.routes.set(&self.system, number).latency);
            // The latency is in cycles of the sending node.
            let sender = if lane.from < clocks.len() { lane.from } else { 0 };
            let (clock, kilohertz) = (clocks[sender], self.machines[sender].clocks.noc.0);
            let cycles = (nanoseconds * kilohertz).div_ceil(1_000_000);
            let latency = Latency::Fixed(Tick(cycles.max(1) * clock.period));
            let (from, to) = (unit(lane.from), unit(lane.to));
            let data = plan.add_link(from, to, latency);
            plan.add_link(to, from, latency);
            assert_eq!(u32::from(data.0), self.first_lane + 2 * number as u32, "the links between nodes are counted otherwise than made");
        }
    }

    /// Returns the names of the links between nodes, by number.
    pub(super) fn lane_names(routes: &Routes) -> Vec<String> {
        routes.lanes.iter().map(|lane| format!("{} -> {}", routes.nodes[lane.from], routes.nodes[lane.to])).collect()
    }
}
