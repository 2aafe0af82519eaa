//! The order of CTAs: which SM gets the next one.

use std::fmt::Debug;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_state::State;

use super::boxed;

/// An SM to which a CTA may be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaRoom {
    /// The SM.
    pub sm: SmId,
    /// The kernel of the CTA that it would get.
    pub kernel: KernelIndex,
    /// That CTA: the first that is not bound, whichever SM gets it.
    pub cta: CtaIndex,
    /// CTAs bound to the SM that have not ended.
    pub bound: u32,
}

/// A grid scheduler, for which an order is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSite {
    /// SMs of its GPU.
    pub sms: usize,
}

/// An order of CTAs.
///
/// *When it is called.* [`CtaOrder::choose`] in each cycle in which a CTA may be bound: until it returns `None`, or no SM is left. [`CtaOrder::bound`]
/// after each CTA that was bound.
///
/// *What it sees.* The SMs to which a CTA may be bound and that got none in this cycle, in ascending order, with the CTA that each would get. Limits of
/// controllers, shared GPUs and the CTAs that fit are already taken into account.
///
/// *What it may change.* Its own state, when a CTA was bound.
///
/// *What must hold.* The choice is a position in `rooms`; any other is a panic that names the order. An SM gets one CTA in a cycle at most. With `None`
/// the order is asked again in the next cycle: an order that never chooses is a deadlock.
pub trait CtaOrder: State + Debug + Send + Sync + CopiedCtaOrder {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// The position in `rooms` of the SM that gets a CTA now.
    fn choose(&self, now: Cycle, rooms: &[CtaRoom]) -> Option<usize>;

    /// The CTA of `room` was bound to its SM.
    fn bound(&mut self, now: Cycle, room: &CtaRoom) {
        let _ = (now, room);
    }
}

boxed! {
    /// An order of CTAs in a grid scheduler.
    BoxedCtaOrder of CtaOrder, copied by CopiedCtaOrder
}
