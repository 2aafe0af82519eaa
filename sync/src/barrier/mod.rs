//! The epoch barrier: all active parties arrive, the last arriver runs a closure on all states, then all active parties continue.
//!
//! Inputs: one local state per party, one shared state, a [`WaitPolicy`]. Outputs: one [`Party`] per worker. Invariants: the coordinator
//! runs alone, exactly once per epoch; no party enters an epoch before all parties have left the previous one; a waiting party is released
//! when an epoch counts it, or gets [`Poisoned`]. `gate` holds the protocol, `party` the guarded state.

mod gate;
mod locals;
mod party;
mod poisoned;
mod policy;

pub use locals::Locals;
pub use party::{EpochBarrier, Party, Role};
pub use poisoned::Poisoned;
pub use policy::WaitPolicy;
