//! The seams of the models: what a policy sees, what it may change and what must hold, one trait for each kind of policy.
//!
//! A model calls its default policies directly. Any other is a trait object of this package: one that comes with the simulator, or one of the
//! calling program, which puts it into [`Own`] and chooses it by the word `own` in the machine.
//!
//! For all of them the same holds. A policy knows no clock of the host and draws no random numbers but those of the [`Rng`] that its site has.
//! Equal calls give equal answers. Its [`State`](warpshard_state::State) is all that it has learned: a checkpoint keeps it. A function that takes
//! `&self` may be called any number of times for one decision, and changes nothing.
#![forbid(unsafe_code)]

mod arbiter;
mod ctas;
mod dram;
mod hash;
mod identity;
mod own;
mod page;
mod prefetch;
mod refresh;
mod replacement;
mod site;
mod topology;
mod warps;

pub use arbiter::{Arbiter, Asking, BoxedArbiter, SwitchSite};
pub use ctas::{BoxedCtaOrder, CtaOrder, CtaRoom, GridSite};
pub use dram::{BoxedDramOrder, DramOrder, DramSite, Waiting};
pub use hash::{AddressHash, OwnHash};
pub use identity::Identity;
pub use own::{Maker, Own, OwnTopology};
pub use page::{BoxedPagePolicy, Column, Keep, PagePolicy};
pub use prefetch::{Became, BoxedPrefetcher, Found, Prefetcher, Read};
pub use refresh::{BoxedRefresh, Due, MOST_OWED, Refresh};
pub use replacement::{Access, BoxedReplacement, Place, Replacement};
pub use site::{CacheSite, Level};
pub use topology::{End, Far, Grid, Link, Topology, Wiring, WiringError};
pub use warps::{BoxedWarpOrder, WarpOrder, WarpSite, Warps};
pub use warpshard_base::Rng;

/// The box of a trait of this package, with what a unit needs of it: it can be copied and saved, and says its name.
macro_rules! boxed {
    ($(#[$outer:meta])* $boxed:ident of $policy:ident, copied by $copied:ident) => {
        /// How a boxed policy is copied; every policy that is `Clone` has it.
        pub trait $copied {
            /// A copy in a box of its own.
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

        /// With its name: the state of one policy is not taken for that of another.
        impl warpshard_state::State for $boxed {
            fn save(&self, to: &mut warpshard_state::Writer) {
                self.0.name().to_owned().save(to);
                self.0.save(to);
            }

            fn load(&mut self, from: &mut warpshard_state::Reader<'_>) -> Result<(), warpshard_state::StateError> {
                let name = String::read(from)?;
                if name != self.0.name() {
                    let own = self.0.name();
                    let problem = format!("the saved state is that of the policy `{name}`, and this run has `{own}` in its place");
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
