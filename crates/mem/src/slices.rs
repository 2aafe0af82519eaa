//! The slices of a partition with their ports to the networks and to DRAM, in cycles of the LLC clock.

use warpshard_base::{Cycle, PartitionId};

use super::llc::LlcSlice;
use super::slice_port::{SliceParameters, SlicePort};

/// The slices of a partition.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Slices {
    /// The number of the partition.
    pub(super) id: PartitionId,
    pub(super) parameters: SliceParameters,
    /// The present LLC cycle.
    pub(super) now: Cycle,
    pub(super) ports: Box<[SlicePort]>,
    /// The earliest [`SlicePort::due`] of all slices.
    pub(super) due: Cycle,
}

impl Slices {
    /// Returns idle slices at cycle 0.
    pub(super) fn new(id: PartitionId, common: SliceParameters, ports: Box<[SlicePort]>) -> Self {
        Self { id, parameters: common, now: Cycle(0), ports, due: Cycle::NEVER }
    }

    /// Returns a slice.
    #[inline]
    pub(super) fn slice(&self, number: u8) -> &LlcSlice {
        &self.ports[usize::from(number)].slice
    }
}
