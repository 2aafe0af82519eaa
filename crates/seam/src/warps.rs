//! The order in which a warp scheduler considers its warps.

use std::fmt::Debug;

use warpshard_base::{KernelIndex, Rng};
use warpshard_state::State;

use super::boxed;

/// The warps of an SM, by slot.
#[derive(Clone, Copy, Debug)]
pub struct Warps<'a> {
    /// Order of launch; the smaller, the older.
    pub age: &'a [u32],
    /// Summed latencies from the front instruction to the end of its phase, where phases are known.
    pub distance: &'a [u16],
    /// Slot of the CTA.
    pub cta: &'a [u8],
    /// Kernel by slot of a CTA.
    pub kernels: &'a [KernelIndex],
}

/// A scheduler, for which an order is made.
#[derive(Clone, Debug)]
pub struct WarpSite {
    /// The SM.
    pub sm: u16,
    /// Which of its schedulers.
    pub scheduler: u8,
    /// Random numbers of this scheduler alone.
    pub rng: Rng,
}

/// Keys these draws apart from others.
const SEED: u64 = 0x7365_616d_2077_6172;

impl WarpSite {
    /// A scheduler of an SM.
    pub fn new(sm: u16, scheduler: u8) -> Self {
        Self { sm, scheduler, rng: Rng::keyed(SEED, &[u64::from(sm), u64::from(scheduler)]) }
    }
}

/// An order of warps.
///
/// *When it is called.* [`WarpOrder::pick`] once in each cycle in which the scheduler can issue an instruction.
///
/// *What it sees.* The slots of the warps that can issue, as the bits of `ready`, of which one at least is set, and what is known of each.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* It returns a slot of `ready`, whose warp then issues; any other is a panic that names the order.
pub trait WarpOrder: State + Debug + Send + Sync + CopiedWarpOrder {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// The slot of the warp that issues now.
    fn pick(&mut self, ready: u64, warps: &Warps<'_>) -> usize;
}

boxed! {
    /// An order of warps in a scheduler.
    BoxedWarpOrder of WarpOrder, copied by CopiedWarpOrder
}
