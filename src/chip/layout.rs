//! Which unit of a plan is what.

use crate::base::{CpuId, PartitionId, SmId, UnitId};
use crate::config::Machine;

/// The position of each kind of unit in a plan. The units of a GPU are consecutive; those of all GPUs have the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipLayout {
    /// SMs of a GPU; their units are the first of it.
    pub sms: u32,
    /// Memory partitions of a GPU; their units follow those of the SMs.
    pub partitions: u32,
    /// The request network of GPU 0.
    pub request_net: UnitId,
    /// The reply network of GPU 0.
    pub reply_net: UnitId,
    /// The grid scheduler of GPU 0. In a system the hub follows.
    pub grid: UnitId,
    /// CPU cores that are on; their units are the last of the plan.
    pub cpus: u32,
    /// GPUs, and units of each.
    pub gpus: u32,
    /// See `gpus`.
    pub units_of_gpu: u16,
    /// Switches and hosts of a system, which follow the GPUs.
    pub switches: u32,
}

impl ChipLayout {
    pub(super) fn of(machine: &Machine, cpus: u32, switches: u32) -> Self {
        let (sms, partitions) = (machine.gpu.sms, machine.mem.map.partitions);
        let after = (sms + partitions) as u16;
        let (request_net, reply_net, grid) = (UnitId(after), UnitId(after + 1), UnitId(after + 2));
        let units_of_gpu = after + 3 + u16::from(machine.system.is_some());
        Self { sms, partitions, request_net, reply_net, grid, cpus, gpus: machine.gpus(), units_of_gpu, switches }
    }

    /// SMs of all GPUs.
    pub fn all_sms(&self) -> u32 {
        self.sms * self.gpus
    }

    /// The unit of a GPU that has the place of `unit` on GPU 0.
    pub fn on_gpu(&self, gpu: u32, unit: UnitId) -> UnitId {
        UnitId(unit.0 + gpu as u16 * self.units_of_gpu)
    }

    /// The GPU that a unit is part of; `None` for switches and CPU cores.
    pub fn gpu_of(&self, unit: UnitId) -> Option<u32> {
        Some(u32::from(unit.0 / self.units_of_gpu)).filter(|gpu| *gpu < self.gpus)
    }

    /// The unit of an SM, counted over all GPUs.
    pub fn sm(&self, sm: SmId) -> UnitId {
        let (gpu, own) = (u32::from(sm.0) / self.sms, u32::from(sm.0) % self.sms);
        self.on_gpu(gpu, UnitId(own as u16))
    }

    /// The grid scheduler of an SM, counted over all GPUs, and the number that it knows the SM by.
    pub fn grid_of(&self, sm: SmId) -> (UnitId, SmId) {
        let (gpu, own) = (u32::from(sm.0) / self.sms, u32::from(sm.0) % self.sms);
        (self.on_gpu(gpu, self.grid), SmId(own as u16))
    }

    /// The grid schedulers of all GPUs.
    pub fn grids(&self) -> impl Iterator<Item = UnitId> + use<> {
        let layout = *self;
        (0..layout.gpus).map(move |gpu| layout.on_gpu(gpu, layout.grid))
    }

    /// The hub of a GPU of a system.
    pub fn hub(&self, gpu: u32) -> UnitId {
        self.on_gpu(gpu, UnitId(self.grid.0 + 1))
    }

    /// A switch or host of a system.
    pub fn switch(&self, number: u32) -> UnitId {
        UnitId((self.gpus * u32::from(self.units_of_gpu) + number) as u16)
    }

    /// The unit of a CPU core that is on.
    pub fn cpu(&self, cpu: CpuId) -> UnitId {
        UnitId(self.grid.0 + 1 + cpu.0)
    }

    /// The unit of a memory partition of GPU 0.
    pub fn partition(&self, partition: PartitionId) -> UnitId {
        UnitId(self.sms as u16 + partition.0)
    }
}
