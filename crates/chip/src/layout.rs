//! The assignment of unit numbers in a plan.

use std::sync::Arc;

use warpshard_base::{CpuId, PartitionId, SmId, UnitId};
use warpshard_config::Machine;
use warpshard_config::machine::CoreStyle;

/// The units of a GPU, which are consecutive in a plan: its SMs, its partitions, the request and the reply network, the grid scheduler, and
/// the optional hub and cluster network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuLayout {
    /// The number of the first unit.
    pub first: u16,
    /// Number of SMs.
    pub sms: u32,
    /// Number of memory partitions.
    pub partitions: u32,
    /// Number of SMs of all preceding GPUs.
    pub sms_before: u32,
    /// `true` if the GPU has a hub.
    hub: bool,
    /// `true` if the GPU has a cluster network between its SMs.
    peers: bool,
}

impl GpuLayout {
    fn nth_unit(self, unit: u32) -> UnitId {
        UnitId(self.first + unit as u16)
    }

    /// Returns the unit of an SM, by its number on the GPU.
    pub fn sm(self, sm: SmId) -> UnitId {
        self.nth_unit(u32::from(sm.0))
    }

    /// Returns the unit of a memory partition.
    pub fn partition(self, partition: PartitionId) -> UnitId {
        self.nth_unit(self.sms + u32::from(partition.0))
    }

    /// Returns the unit of the request network.
    pub fn request_net(self) -> UnitId {
        self.nth_unit(self.sms + self.partitions)
    }

    /// Returns the unit of the reply network.
    pub fn reply_net(self) -> UnitId {
        self.nth_unit(self.sms + self.partitions + 1)
    }

    /// Returns the unit of the grid scheduler.
    pub fn grid(self) -> UnitId {
        self.nth_unit(self.sms + self.partitions + 2)
    }

    /// Returns the unit of the hub of a GPU in a system.
    pub fn hub(self) -> UnitId {
        self.nth_unit(self.sms + self.partitions + 3)
    }

    /// Returns the unit of the cluster network, if the workload has clusters.
    pub fn peers(self) -> Option<UnitId> {
        self.peers.then(|| self.nth_unit(self.sms + self.partitions + 3 + u32::from(self.hub)))
    }

    /// Returns the number of units.
    pub fn units(self) -> u16 {
        (self.sms + self.partitions + 3) as u16 + u16::from(self.hub) + u16::from(self.peers)
    }
}

/// The positions of all kinds of units in a plan: GPU by GPU, then the switches and hosts of a system, or the CPU cores of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipLayout {
    /// The GPUs; at least one.
    pub gpus: Arc<[GpuLayout]>,
    /// Number of active CPU cores.
    pub cpus: u32,
    /// Number of switches and hosts.
    pub switches: u32,
}

impl ChipLayout {
    /// Lays out the units of a machine; `clusters` is true if the workload has clusters and the cores support them.
    pub(super) fn of(machine: &Machine, cpus: u32, switches: u32, clusters: bool) -> Self {
        let (mut first, mut sms_before) = (0, 0);
        let hub = machine.system.is_some();
        let of_gpu = |gpu: &Machine| {
            let (sms, partitions) = (gpu.gpu.sms, gpu.mem.map.partitions);
            let peers = clusters && gpu.gpu.sm.style == CoreStyle::ControlWords;
            let layout = GpuLayout { first, sms, partitions, sms_before, hub, peers };
            first += layout.units();
            sms_before += sms;
            layout
        };
        Self { gpus: machine.each_gpu().map(of_gpu).collect(), cpus, switches }
    }

    /// Returns the number of SMs of all GPUs.
    pub fn all_sms(&self) -> u32 {
        self.gpus.iter().map(|gpu| gpu.sms).sum()
    }

    /// Returns the layout of a GPU.
    pub fn gpu(&self, gpu: u32) -> GpuLayout {
        self.gpus[gpu as usize]
    }

    /// Returns the GPU that contains a unit; `None` for switches and CPU cores.
    pub fn gpu_of(&self, unit: UnitId) -> Option<u32> {
        let gpu = self.gpus.partition_point(|gpu| gpu.first <= unit.0) - 1;
        (unit.0 < self.after_gpus()).then_some(gpu as u32)
    }

    /// Returns the number of the unit after the GPUs.
    fn after_gpus(&self) -> u16 {
        self.gpus.last().map_or(0, |gpu| gpu.first + gpu.units())
    }

    /// Returns the GPU of an SM that is counted over all GPUs, and the SM's number on that GPU.
    fn locate(&self, sm: SmId) -> (GpuLayout, SmId) {
        let gpu = self.gpus[self.gpus.partition_point(|gpu| gpu.sms_before <= u32::from(sm.0)) - 1];
        (gpu, SmId(sm.0 - gpu.sms_before as u16))
    }

    /// Returns the unit of an SM that is counted over all GPUs.
    pub fn sm(&self, sm: SmId) -> UnitId {
        let (gpu, own) = self.locate(sm);
        gpu.sm(own)
    }

    /// Returns the grid scheduler of an SM that is counted over all GPUs, and the SM's number on its GPU.
    pub fn grid_of(&self, sm: SmId) -> (UnitId, SmId) {
        let (gpu, own) = self.locate(sm);
        (gpu.grid(), own)
    }

    /// Returns the grid schedulers of all GPUs.
    pub fn grids(&self) -> impl Iterator<Item = UnitId> + use<> {
        let gpus = Arc::clone(&self.gpus);
        (0..gpus.len()).map(move |gpu| gpus[gpu].grid())
    }

    /// Returns the unit of a switch or host of a system.
    pub fn switch(&self, number: u32) -> UnitId {
        UnitId(self.after_gpus() + number as u16)
    }

    /// Returns the unit of an active CPU core.
    pub fn cpu(&self, cpu: CpuId) -> UnitId {
        UnitId(self.after_gpus() + cpu.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_config::Override;

    #[test]
    fn units_of_unequal_gpus_are_found_by_global_number() {
        let set = |key: &str, value: &str| Override::new(key, value);
        let machine = Machine::load(
            "v100x2",
            &[
                set("system.gpus", "3"),
                set("system.peer.topology", "pairs"),
                set("system.peer.links", "[]"),
                set("system.kinds.small.gpus", "[1]"),
                set("system.kinds.small.gpu.sms", "10"),
                set("system.kinds.small.mem.map.partitions", "4"),
            ],
        );
        let layout = ChipLayout::of(&machine.unwrap().machine, 0, 1, false);
        assert_eq!(layout.gpus.iter().map(|gpu| (gpu.first, gpu.sms_before)).collect::<Vec<_>>(), [(0, 0), (116, 80), (134, 90)]);
        assert_eq!(
            (layout.sm(SmId(79)), layout.sm(SmId(80)), layout.sm(SmId(89)), layout.sm(SmId(90))),
            (UnitId(79), UnitId(116), UnitId(125), UnitId(134))
        );
        assert_eq!((layout.grid_of(SmId(85)), layout.all_sms()), ((UnitId(132), SmId(5)), 170));
        assert_eq!(
            [115, 116, 133, 134, 249, 250].map(|unit| layout.gpu_of(UnitId(unit))),
            [Some(0), Some(1), Some(1), Some(2), Some(2), None]
        );
        assert_eq!(layout.switch(0), UnitId(250));
    }
}
