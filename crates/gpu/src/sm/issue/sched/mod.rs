//! Warp orders: the selection of a scheduler among the warps that can issue.
//!
//! A scheduler calls its order once per cycle in which it can issue, with the non-empty set of warps that can issue. The order
//! returns one of them, which then issues; the state of an order therefore changes with issues, never with time. The two-level orders first
//! reduce the set to the warps of a small queue (`two_level.rs`).

mod gto;
mod gty;
mod kernel_gto;
mod lrr;
mod oldest;
mod phase;
mod two_level;

use warpshard_base::KernelIndex;
use warpshard_config::machine::WarpOrder;
use warpshard_seam::{BoxedWarpOrder, UserPolicies, WarpSite, Warps};

use super::super::core::{MAX_WARPS, oldest_of};

pub(super) use two_level::{ActiveQueueSort, TwoLevel, WarpConditions};

/// The state of the warps that an order may use, by slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpView<'a> {
    /// Order of launch; an older warp has a smaller number.
    pub(super) age: &'a [u32; MAX_WARPS],
    /// Sum of the latencies from the front instruction to the end of its phase, if phases are known.
    pub(super) distance: &'a [u16; MAX_WARPS],
    /// The CTA slot of each warp.
    pub(super) cta: &'a [u8; MAX_WARPS],
    /// The kernel of each CTA slot.
    pub(super) kernels: &'a [KernelIndex],
}

impl WarpView<'_> {
    /// Returns the kernel of a warp.
    #[inline]
    fn kernel(&self, warp: usize) -> KernelIndex {
        self.kernels[usize::from(self.cta[warp])]
    }
}

/// The order in which one scheduler considers its warps, with its state.
trait SchedulerOrder {
    /// Returns the warp of the set `ready` that issues now.
    fn pick(&mut self, ready: u64, view: &WarpView<'_>) -> usize;
}

/// Defines the enumeration of all orders from a row for each value of `gpu.sm.order`: the value, and the order within a set of warps.
macro_rules! orders {
    ($($name:ident => $order:ty,)*) => {
        /// The order of a scheduler; a call is a `match`.
        #[derive(Clone, Debug, warpshard_state::State)]
        pub(super) enum AnySchedulerOrder {
            $($name($order),)*
            // The order of the calling program, boxed so that the other variants stay small.
            Own(Box<BoxedWarpOrder>),
        }

        impl AnySchedulerOrder {
            /// Creates the order of a machine, before the first issue.
            ///
            /// # Panics
            /// If the machine sets `own` and the calling program supplies no order; the assembly of a machine refuses such a machine.
            pub(super) fn new(order: WarpOrder, site: &WarpSite, own: &UserPolicies) -> Self {
                match order {
                    $(WarpOrder::$name => Self::$name(<$order>::default()),)*
                    WarpOrder::Own => {
                        let Some(maker) = &own.warp_order else { panic!("the calling program supplied no order of warps") };
                        Self::Own(Box::new(maker.create(site)))
                    }
                }
            }

            /// Returns the warp of the set `ready` that issues now.
            // Loose round robin, the order of most machines, is inlined into each issue. The other orders are calls, because their use of
            // registers would cost each issue more than the selection.
            #[inline]
            pub(super) fn pick<'a>(&mut self, ready: u64, view: impl FnOnce() -> WarpView<'a>) -> usize {
                if let Self::Lrr(order) = self { order.first_in_turn(ready) } else { self.pick_by_call(ready, &view()) }
            }

            #[inline(never)]
            fn pick_by_call(&mut self, ready: u64, view: &WarpView<'_>) -> usize {
                match self {
                    $(Self::$name(order) => order.pick(ready, view),)*
                    Self::Own(order) => pick_own(order, ready, view),
                }
            }
        }
    };
}

orders! {
    Lrr => lrr::Lrr,
    Gto => gto::Gto,
    Oldest => oldest::Oldest,
    Gty => gty::Gty,
    KernelGto => kernel_gto::KernelGto,
    Phase => phase::Phase,
    TwoLevelLrr => lrr::Lrr,
    TwoLevelOldest => lrr::Lrr,
    TwoLevelPhase => lrr::Lrr,
}

const _: () = assert!(size_of::<AnySchedulerOrder>() <= 16);

/// Returns the warp that an order of the calling program selects.
#[cold]
fn pick_own(order: &mut BoxedWarpOrder, ready: u64, view: &WarpView<'_>) -> usize {
    let WarpView { age, distance, cta, kernels } = *view;
    let warp = order.0.pick(ready, &Warps { age, distance, cta, kernels });
    assert!(warp < MAX_WARPS && ready >> warp & 1 != 0, "the order of warps `{}` picked slot {warp}, which cannot issue", order.0.name());
    warp
}

/// Returns the sort key of the active queue of a two-level order; `None` for orders of one level.
pub(super) fn sort(order: WarpOrder) -> Option<ActiveQueueSort> {
    match order {
        WarpOrder::TwoLevelLrr => Some(ActiveQueueSort::Arrival),
        WarpOrder::TwoLevelOldest => Some(ActiveQueueSort::Age),
        WarpOrder::TwoLevelPhase => Some(ActiveQueueSort::Phase),
        _ => None,
    }
}

/// Returns the warp of the set `ready` that was launched first.
#[inline]
fn oldest(ready: u64, age: &[u32; MAX_WARPS]) -> usize {
    let Some(warp) = oldest_of(ready, age) else { unreachable!("no warp is ready") };
    warp
}
