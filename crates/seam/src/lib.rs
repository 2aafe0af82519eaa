//! The policy interfaces of the models, one trait per kind of policy. Each trait states what a policy sees, what it may change and what
//! must hold.
//!
//! A model calls its default policies directly. Any other policy is a trait object of this package: a built-in policy, or a user-defined
//! one that the calling program puts into [`UserPolicies`] and selects by the word `own` in the machine.
//!
//! The following holds for all policies. A policy reads no clock of the host and draws random numbers only from the [`Rng`] of its site.
//! Equal calls return equal results. Its [`State`](warpshard_state::State) is everything that it has learned, and a checkpoint saves it. A
//! function that takes `&self` may be called any number of times for one decision and changes nothing.
#![forbid(unsafe_code)]

mod arbiter;
mod ctas;
mod dram;
mod hash;
mod identity;
mod page;
mod prefetch;
mod refresh;
mod replacement;
mod site;
mod topology;
mod user_policies;
mod warps;

pub use arbiter::{Arbiter, ArbiterRequest, BoxedArbiter, SwitchSite};
pub use ctas::{BoxedCtaOrder, CtaCandidate, CtaOrder, GridSite};
pub use dram::{BoxedDramOrder, DramOrder, DramSite, QueuedRequest};
pub use hash::{AddressHash, UserHash};
pub use identity::Identity;
pub use page::{BoxedPagePolicy, Column, PagePolicy, RowAction};
pub use prefetch::{BoxedPrefetcher, PrefetchOutcome, Prefetcher, Read, ReadOutcome};
pub use refresh::{BoxedRefresh, DueRefreshes, MAX_OWED_REFRESHES, Refresh};
pub use replacement::{Access, BoxedReplacement, LinePosition, Replacement};
pub use site::{CacheSite, Level};
pub use topology::{FarEnd, MeshSize, RouterLink, RouterPort, Topology, Wiring, WiringError};
pub use user_policies::{PolicyMaker, UserPolicies, UserTopology};
pub use warps::{BoxedWarpOrder, WarpOrder, WarpSite, Warps};
pub use warpshard_base::Rng;

/// Declares the box of a policy trait, which can be copied and saved and returns the policy's name.
macro_rules! boxed {
    ($(#[$outer:meta])* $boxed:ident of $policy:ident, copied by $copied:ident) => {
        /// A trait that copies a boxed policy; every `Clone` policy implements it.
        pub trait $copied {
            /// Returns a boxed copy.
            fn copied(&self) -> Box<dyn $policy>;
        }

        impl<T: $policy + Clone + 'static> $copied for T {
            fn copied(&self) -> Box<dyn $policy> {
                Box::new(self.clone())
            }
        }

        $(#[$outer])*
        #[derive(Debug)]
        pub struct $boxed(pub Box<dyn $policy>);

        impl Clone for $boxed {
            fn clone(&self) -> Self {
                Self(self.0.copied())
            }
        }

        /// The state includes the name, so that a checkpoint of one policy is not loaded into another.
        impl warpshard_state::State for $boxed {
            fn save(&self, to: &mut warpshard_state::Writer) {
                self.0.name().to_owned().save(to);
                self.0.save(to);
            }

            fn load(&mut self, from: &mut warpshard_state::Reader<'_>) -> Result<(), warpshard_state::StateError> {
                let name = String::read(from)?;
                if name != self.0.name() {
                    let own = self.0.name();
                    let problem = format!("the saved state is for the policy `{name}`, but this run uses `{own}`");
                    return Err(warpshard_state::StateError::new(problem));
                }
                self.0.load(from)
            }
        }
    };
}
use boxed;

#[cfg(test)]
mod tests;
