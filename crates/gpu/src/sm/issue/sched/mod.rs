//! Warp orders: the choice of a scheduler among the warps that can issue.
//!
//! A scheduler asks its order once per cycle in which it can issue, with the set of warps that can, which is not empty. The order
//! returns one of them, which then issues; so whatever state it keeps changes with issues, never with time. The two-level orders first
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
use warpshard_seam::{BoxedWarpOrder, Own, WarpSite, Warps};

use super::super::core::{MAX_WARPS, oldest_of};

pub(super) use two_level::{Conditions, Sort, TwoLevel};

/// What an order may know of the warps, by slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// Order of launch; the smaller, the older.
    pub(super) age: &'a [u32; MAX_WARPS],
    /// Summed latencies from the front instruction to the end of its phase, where phases are known.
    pub(super) distance: &'a [u16; MAX_WARPS],
    /// Slot of the CTA.
    pub(super) cta: &'a [u8; MAX_WARPS],
    /// Kernel by slot of a CTA.
    pub(super) kernels: &'a [KernelIndex],
}

impl View<'_> {
    /// The kernel of a warp.
    #[inline]
    fn kernel(&self, warp: usize) -> KernelIndex {
        self.kernels[usize::from(self.cta[warp])]
    }
}

/// The order in which one scheduler considers its warps, with its state.
trait Order {
    /// The warp of the set `ready` that issues now.
    fn pick(&mut self, ready: u64, view: &View<'_>) -> usize;
}

/// Makes the enumeration of all orders from a row for each value of `gpu.sm.order`: the value, and the order within a set of warps.
macro_rules! orders {
    ($($name:ident => $order:ty,)*) => {
        /// A scheduler's order; a call is a `match`.
        #[derive(Clone, Debug, warpshard_state::State)]
        pub(super) enum AnyOrder {
            $($name($order),)*
            // In a box, so that the others stay small.
            Own(Box<BoxedWarpOrder>),
        }

        impl AnyOrder {
            /// The order of a machine, before the first issue.
            ///
            /// # Panics
            /// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
            pub(super) fn new(order: WarpOrder, site: &WarpSite, own: &Own) -> Self {
                match order {
                    $(WarpOrder::$name => Self::$name(<$order>::default()),)*
                    WarpOrder::Own => {
                        let Some(maker) = &own.warp_order else { panic!("the calling program brought no order of warps") };
                        Self::Own(Box::new(maker.make(site)))
                    }
                }
            }

            /// The warp of the set `ready` that issues now.
            // Loose round robin, the order of most machines, is part of each issue; the others are a call, or what they need of registers
            // would cost each issue more than the choice.
            #[inline]
            pub(super) fn pick<'a>(&mut self, ready: u64, view: impl FnOnce() -> View<'a>) -> usize {
                if let Self::Lrr(order) = self { order.first_in_turn(ready) } else { self.pick_otherwise(ready, &view()) }
            }

            #[inline(never)]
            fn pick_otherwise(&mut self, ready: u64, view: &View<'_>) -> usize {
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

const _: () = assert!(size_of::<AnyOrder>() <= 16);

/// The warp that an order of the calling program picks.
#[cold]
fn pick_own(order: &mut BoxedWarpOrder, ready: u64, view: &View<'_>) -> usize {
    let View { age, distance, cta, kernels } = *view;
    let warp = order.0.pick(ready, &Warps { age, distance, cta, kernels });
    assert!(warp < MAX_WARPS && ready >> warp & 1 != 0, "the order of warps `{}` picked slot {warp}, which cannot issue", order.0.name());
    warp
}

/// The sort key of a two-level order's active queue; `None` for orders of one level.
pub(super) fn sort(order: WarpOrder) -> Option<Sort> {
    match order {
        WarpOrder::TwoLevelLrr => Some(Sort::Arrival),
        WarpOrder::TwoLevelOldest => Some(Sort::Age),
        WarpOrder::TwoLevelPhase => Some(Sort::Phase),
        _ => None,
    }
}

/// The warp of the set `ready` that was launched first.
#[inline]
fn oldest(ready: u64, age: &[u32; MAX_WARPS]) -> usize {
    let Some(warp) = oldest_of(ready, age) else { unreachable!("no warp is ready") };
    warp
}
