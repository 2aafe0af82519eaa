//! The arbiter of a crossbar, which selects the input that an output serves.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_state::State;

use super::boxed;

/// An input whose oldest packet requests an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterRequest {
    /// The input.
    pub input: u16,
    /// The cycle of the network in which the packet became visible at the input.
    pub since: Cycle,
    /// The requester of the packet; for a reply, its destination.
    pub port: PortId,
    /// The kernel of the packet.
    pub kernel: KernelIndex,
}

/// The crossbar for which an arbiter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSite {
    /// True for the reply crossbar, false for the request crossbar.
    pub replies: bool,
    /// The number of inputs.
    pub inputs: usize,
    /// The number of outputs.
    pub outputs: usize,
}

/// An arbiter.
///
/// *When it is called.* [`Arbiter::grant`] is called once per cycle for each output that has free space and is requested by an input, in
/// ascending order of the outputs. The granted packet leaves in this cycle.
///
/// *What it sees.* The requesting inputs, at least one, in ascending order.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* It returns an index into `requests`; any other value causes a panic that names the arbiter.
pub trait Arbiter: State + Debug + Send + Sync + CopiedArbiter {
    /// Returns the name of the arbiter, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Returns the index in `requests` of the input that `output` serves.
    fn grant(&mut self, output: usize, requests: &[ArbiterRequest]) -> usize;
}

boxed! {
    /// A boxed arbiter of a crossbar.
    BoxedArbiter of Arbiter, copied by CopiedArbiter
}
