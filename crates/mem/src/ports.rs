//! The links of a partition, and the places at their ends.

use warpshard_base::LinkId;
use warpshard_config::machine::Machine;

/// The links of a partition; of each kind one per slice, with consecutive numbers, the first slice's given here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct PartitionPorts {
    /// Requests from the request subnet.
    pub request_in: LinkId,
    /// Credits to the request subnet.
    pub credit_out: LinkId,
    /// Answers to the reply subnet.
    pub reply_out: LinkId,
    /// Credits from the reply subnet.
    pub credit_in: LinkId,
    /// Word of copies from the grid scheduler; one link for the whole partition.
    pub from_grid: LinkId,
}

/// Requests that a slice's arrival queue holds, those in the raster pipe of its link and behind its coalescer included: the credits that the request
/// subnet starts with per slice. The reference's three stages (network output, raster pipe, slice input) are one queue here.
pub fn arrival_capacity(machine: &Machine) -> u32 {
    let pipe = machine.mem.rop_latency + machine.mem.coalescing.latency;
    machine.noc.output_queue + pipe as u32 + machine.mem.queues.in_queue
}
