//! When refreshes of DRAM that are due go out.

use std::fmt::Debug;

use warpshard_base::Cycle;
use warpshard_state::State;

use super::boxed;

/// The refreshes that a pseudo channel owes, as a policy sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The cycle of the command clock.
    pub now: Cycle,
    /// The pseudo channel.
    pub pseudo_channel: u32,
    /// Refreshes that are due for it, one at least.
    pub owed: u32,
    /// Queued reads of the channel.
    pub reads: u32,
    /// Queued writes of the channel.
    pub writes: u32,
    /// Banks of the pseudo channel with an open row, as a mask over those of the channel.
    pub open: u64,
    /// Banks of the pseudo channel for which requests are queued, as a mask over those of the channel.
    pub requested: u64,
}

/// Refreshes that a pseudo channel may owe at most before one goes out, whatever the policy says: one due and eight postponed (JESD235D, JESD79-4).
pub const MOST_OWED: u32 = 9;

/// A refresh policy, for refreshes of all banks of a pseudo channel.
///
/// *When it is called.* [`Refresh::starts`] in each cycle in which a pseudo channel owes a refresh and the command bus has a slot for row commands:
/// once or several times in a cycle.
///
/// *What it sees.* How many refreshes are owed, what is queued and which rows are open.
///
/// *What it may change.* Its own state, when a refresh went out.
///
/// *What must hold.* Nothing: with [`MOST_OWED`] refreshes owed, one goes out without a question. Refreshes are not brought forward.
pub trait Refresh: State + Debug + Send + Sync + CopiedRefresh {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Whether the refresh begins now: open rows are closed, and no other row is opened before it has gone out. Without that, requests are served.
    fn starts(&self, due: &Due) -> bool;

    /// A refresh went out; `due` counts it no longer.
    fn refreshed(&mut self, due: &Due) {
        let _ = due;
    }
}

boxed! {
    /// A refresh policy in a channel.
    BoxedRefresh of Refresh, copied by CopiedRefresh
}
