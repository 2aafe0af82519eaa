//! The order in which a warp scheduler considers its warps.

use std::fmt::Debug;

use warpshard_base::{KernelIndex, Rng};
use warpshard_state::State;

use super::boxed;

/// The warps of an SM, indexed by slot.
#[derive(Clone, Copy, Debug)]
pub struct Warps<'a> {
    /// The launch number of each warp; older warps have smaller numbers.
    pub age: &'a [u32],
    /// The sum of latencies from the next instruction to the end of its phase, if phases are known.
    pub distance: &'a [u16],
    /// The slot of each warp's CTA.
    pub cta: &'a [u8],
    /// The kernel of each CTA slot.
    pub kernels: &'a [KernelIndex],
}

/// The scheduler for which an order is made.
#[derive(Clone, Debug)]
pub struct WarpSite {
    /// The number of the SM.
    pub sm: u16,
    /// The number of the scheduler within the SM.
    pub scheduler: u8,
    /// A random number generator for this scheduler only.
    pub rng: Rng,
}

/// The key that distinguishes these random numbers from others.
const SEED: u64 = 0x7365_616d_2077_6172;

impl WarpSite {
    /// Returns the site of a scheduler of an SM.
    pub fn new(sm: u16, scheduler: u8) -> Self {
        Self { sm, scheduler, rng: Rng::keyed(SEED, &[u64::from(sm), u64::from(scheduler)]) }
    }
}

/// An order of warps.
///
/// *When it is called.* [`WarpOrder::pick`] is called once in each cycle in which the scheduler can issue an instruction.
///
/// *What it sees.* The slots of the warps that can issue, as the bits of `ready`, at least one of which is set, and the known properties of
/// each warp.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* It returns a slot of `ready`, whose warp then issues; any other value causes a panic that names the order.
pub trait WarpOrder: State + Debug + Send + Sync + CopiedWarpOrder {
    /// Returns the name of the order, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Returns the slot of the warp that issues in this cycle.
    fn pick(&mut self, ready: u64, warps: &Warps<'_>) -> usize;
}

boxed! {
    /// A boxed warp order of a scheduler.
    BoxedWarpOrder of WarpOrder, copied by CopiedWarpOrder
}
