//! The slices of a partition, with their sides of the networks and of DRAM, in the cycles of the LLC clock.

use warpshard_base::{Cycle, PartitionId};

use super::llc::Slice;
use super::slice_port::{Common, SlicePort};

/// The slices of a partition.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Slices {
    /// The partition.
    pub(super) id: PartitionId,
    pub(super) common: Common,
    /// The present LLC cycle.
    pub(super) now: Cycle,
    pub(super) ports: Box<[SlicePort]>,
    /// The least of what [`SlicePort::due`] says.
    pub(super) due: Cycle,
}

impl Slices {
    /// Idle ones, at cycle 0.
    pub(super) fn new(id: PartitionId, common: Common, ports: Box<[SlicePort]>) -> Self {
        Self { id, common, now: Cycle(0), ports, due: Cycle::NEVER }
    }

    /// A slice.
    #[inline]
    pub(super) fn slice(&self, number: u8) -> &Slice {
        &self.ports[usize::from(number)].slice
    }
}
