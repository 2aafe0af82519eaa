//! CTA dispatch order: the SM that gets the next CTA.

use std::fmt::Debug;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_state::State;

use super::boxed;

/// An SM to which a CTA may be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaCandidate {
    /// The SM.
    pub sm: SmId,
    /// The kernel of the CTA that the SM would get.
    pub kernel: KernelIndex,
    /// The CTA that the SM would get: the first CTA that is not bound, the same for all SMs.
    pub cta: CtaIndex,
    /// CTAs bound to the SM that have not ended.
    pub bound: u32,
}

/// The grid scheduler for which an order is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSite {
    /// The number of SMs of its GPU.
    pub sms: usize,
}

/// An order of CTAs.
///
/// *When it is called.* [`CtaOrder::choose`] is called in each cycle in which a CTA may be bound, until it returns `None` or no SM is left.
/// [`CtaOrder::bound`] is called after each CTA that was bound.
///
/// *What it sees.* The SMs to which a CTA may be bound and to which none was bound in this cycle, in ascending order, with the CTA that
/// each would get. The list already respects limits of controllers, shared GPUs and resources.
///
/// *What it may change.* Its own state, after a CTA was bound.
///
/// *What must hold.* The choice is a position in `candidates`; any other value causes a panic that names the order. An SM gets at most one
/// CTA per cycle. After `None` the order is called again in the next cycle: an order that never chooses causes a deadlock.
pub trait CtaOrder: State + Debug + Send + Sync + CopiedCtaOrder {
    /// Returns the name of the order, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Returns the position in `candidates` of the SM that gets a CTA in this cycle.
    fn choose(&self, now: Cycle, candidates: &[CtaCandidate]) -> Option<usize>;

    /// Notifies the order that the CTA of `candidate` was bound to its SM.
    fn bound(&mut self, now: Cycle, candidate: &CtaCandidate) {
        let _ = (now, candidate);
    }
}

boxed! {
    /// A boxed CTA order of a grid scheduler.
    BoxedCtaOrder of CtaOrder, copied by CopiedCtaOrder
}
