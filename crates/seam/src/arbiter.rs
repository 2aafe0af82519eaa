//! The arbiter of a crossbar: which input an output serves.

use std::fmt::Debug;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_state::State;

use super::boxed;

/// An input whose oldest packet asks for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The input.
    pub input: u16,
    /// The cycle of the network in which the packet became visible at the input.
    pub since: Cycle,
    /// The requester of the packet, or whom it answers.
    pub port: PortId,
    /// Its kernel.
    pub kernel: KernelIndex,
}

/// A crossbar, for which an arbiter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSite {
    /// Whether it carries replies, rather than requests.
    pub replies: bool,
    /// Inputs.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
}

/// An arbiter.
///
/// *When it is called.* [`Arbiter::grant`] once in a cycle for each output that has room and that an input asks for, outputs in ascending order.
/// The packet that it grants leaves in this cycle.
///
/// *What it sees.* The inputs that ask, in ascending order, of which there is one at least.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* It returns a place in `asking`; any other is a panic that names the arbiter.
pub trait Arbiter: State + Debug + Send + Sync + CopiedArbiter {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// The place in `asking` of the input that `output` serves.
    fn grant(&mut self, output: usize, asking: &[Asking]) -> usize;
}

boxed! {
    /// An arbiter in a crossbar.
    BoxedArbiter of Arbiter, copied by CopiedArbiter
}
