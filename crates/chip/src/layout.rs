//! Which unit of a plan is what.

use std::sync::Arc;

use warpshard_base::{CpuId, PartitionId, SmId, UnitId};
use warpshard_config::Machine;
use warpshard_config::machine::CoreStyle;

/// The units of a GPU, which are consecutive in a plan: its SMs, its partitions, the request and the reply network, the grid scheduler,
/// and in a system its hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuLayout {
    /// Its first unit.
    pub first: u16,
    /// SMs.
    pub sms: u32,
    /// Memory partitions.
    pub partitions: u32,
    /// SMs of the GPUs before it.
    pub sms_before: u32,
    /// Whether it has a hub.
    hub: bool,
    /// Whether it has a network between the SMs of clusters.
    peers: bool,
}

impl GpuLayout {
    fn nth(self, unit: u32) -> UnitId {
        UnitId(self.first + unit as u16)
    }

    /// One of its SMs, by its number on the GPU.
    pub fn sm(self, sm: SmId) -> UnitId {
        self.nth(u32::from(sm.0))
    }

    /// One of its memory partitions.
    pub fn partition(self, partition: PartitionId) -> UnitId {
        self.nth(self.sms + u32::from(partition.0))
    }

    /// Its request network.
    pub fn request_net(self) -> UnitId {
        self.nth(self.sms + self.partitions)
    }

    /// Its reply network.
    pub fn reply_net(self) -> UnitId {
        self.nth(self.sms + self.partitions + 1)
    }

    /// Its grid scheduler.
    pub fn grid(self) -> UnitId {
        self.nth(self.sms + self.partitions + 2)
    }

    /// Its hub, where it is part of a system.
    pub fn hub(self) -> UnitId {
        self.nth(self.sms + self.partitions + 3)
    }

    /// Its network between the SMs of clusters, where the workload has clusters.
    pub fn peers(self) -> Option<UnitId> {
        self.peers.then(|| self.nth(self.sms + self.partitions + 3 + u32::from(self.hub)))
    }

    /// How many units it has.
    pub fn units(self) -> u16 {
        (self.sms + self.partitions + 3) as u16 + u16::from(self.hub) + u16::from(self.peers)
    }
}

/// The position of each kind of unit in a plan: GPU by GPU, then the switches and hosts of a system, or the CPU cores of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipLayout {
    /// The GPUs; at least one.
    pub gpus: Arc<[GpuLayout]>,
    /// CPU cores that are on.
    pub cpus: u32,
    /// Switches and hosts.
    pub switches: u32,
}

impl ChipLayout {
    /// `clusters`: whether the workload has clusters, on cores that know of them.
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

    /// SMs of all GPUs.
    pub fn all_sms(&self) -> u32 {
        self.gpus.iter().map(|gpu| gpu.sms).sum()
    }

    /// A GPU.
    pub fn gpu(&self, gpu: u32) -> GpuLayout {
        self.gpus[gpu as usize]
    }

    /// The GPU that a unit is part of; `None` for switches and CPU cores.
    pub fn gpu_of(&self, unit: UnitId) -> Option<u32> {
        let gpu = self.gpus.partition_point(|gpu| gpu.first <= unit.0) - 1;
        (unit.0 < self.after_gpus()).then_some(gpu as u32)
    }

    /// The unit after those of the GPUs.
    fn after_gpus(&self) -> u16 {
        self.gpus.last().map_or(0, |gpu| gpu.first + gpu.units())
    }

    /// The GPU of an SM, counted over all GPUs, and its number there.
    fn place_of(&self, sm: SmId) -> (GpuLayout, SmId) {
        let gpu = self.gpus[self.gpus.partition_point(|gpu| gpu.sms_before <= u32::from(sm.0)) - 1];
        (gpu, SmId(sm.0 - gpu.sms_before as u16))
    }

    /// The unit of an SM, counted over all GPUs.
    pub fn sm(&self, sm: SmId) -> UnitId {
        let (gpu, own) = self.place_of(sm);
        gpu.sm(own)
    }

    /// The grid scheduler of an SM, counted over all GPUs, and the number that it knows the SM by.
    pub fn grid_of(&self, sm: SmId) -> (UnitId, SmId) {
        let (gpu, own) = self.place_of(sm);
        (gpu.grid(), own)
    }

    /// The grid schedulers of all GPUs.
    pub fn grids(&self) -> impl Iterator<Item = UnitId> + use<> {
        let gpus = Arc::clone(&self.gpus);
        (0..gpus.len()).map(move |gpu| gpus[gpu].grid())
    }

    /// A switch or host of a system.
    pub fn switch(&self, number: u32) -> UnitId {
        UnitId(self.after_gpus() + number as u16)
    }

    /// The unit of a CPU core that is on.
    pub fn cpu(&self, cpu: CpuId) -> UnitId {
        UnitId(self.after_gpus() + cpu.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_config::Override;

    #[test]
    fn units_of_unequal_gpus_are_found_by_their_numbers_over_all() {
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
