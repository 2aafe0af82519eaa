//! The links of a partition, and the queue slots at their ends.

use warpshard_base::LinkId;
use warpshard_config::machine::Machine;

/// The links of a partition. Each field is the first slice's link; the links of the other slices have the next numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct PartitionPorts {
    /// Requests from the request subnet.
    pub request_in: LinkId,
    /// Credits to the request subnet.
    pub credit_out: LinkId,
    /// Replies to the reply subnet.
    pub reply_out: LinkId,
    /// Credits from the reply subnet.
    pub credit_in: LinkId,
    /// Notifications of copies from the grid scheduler; one link for the whole partition.
    pub from_grid: LinkId,
}

/// Returns the number of requests that a slice's arrival queue holds, including requests in the raster pipe of its link and behind its
/// coalescer: the initial credits of the request subnet per slice. The three stages of GPGPU-Sim (network output, raster pipe, slice input)
/// are one queue here.
pub fn arrival_capacity(machine: &Machine) -> u32 {
    let pipe = machine.mem.rop_latency + machine.mem.coalescing.latency;
    machine.noc.output_queue + pipe as u32 + machine.mem.queues.in_queue
}
