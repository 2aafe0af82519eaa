//! The refresh policy, which decides when due DRAM refreshes are issued.

use std::fmt::Debug;

use warpshard_base::Cycle;
use warpshard_state::State;

use super::boxed;

/// The pending refreshes of a pseudo channel as seen by a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DueRefreshes {
    /// The cycle of the command clock.
    pub now: Cycle,
    /// The pseudo channel.
    pub pseudo_channel: u32,
    /// Pending refreshes of the pseudo channel, at least one.
    pub owed: u32,
    /// Queued reads of the channel.
    pub reads: u32,
    /// Queued writes of the channel.
    pub writes: u32,
    /// Banks of the pseudo channel with an open row, as a mask over the banks of the channel.
    pub open: u64,
    /// Banks of the pseudo channel with queued requests, as a mask over the banks of the channel.
    pub requested: u64,
}

/// Pending refreshes of a pseudo channel at which a refresh is issued regardless of the policy: one due and eight postponed (JESD235D,
/// JESD79-4).
pub const MAX_OWED_REFRESHES: u32 = 9;

/// A refresh policy, for refreshes of all banks of a pseudo channel.
///
/// *When it is called.* [`Refresh::starts`] is called, once or several times, in each cycle in which a pseudo channel has a pending refresh
/// and the command bus has a slot for row commands.
///
/// *What it sees.* The number of pending refreshes, the queued requests and the open rows.
///
/// *What it may change.* Its own state, after a refresh was issued.
///
/// *What must hold.* Nothing: with [`MAX_OWED_REFRESHES`] pending refreshes, one is issued without a call. Refreshes are never issued
/// early.
pub trait Refresh: State + Debug + Send + Sync + CopiedRefresh {
    /// Returns the name of the policy, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Returns true if the refresh begins in this cycle: open rows are closed, and no row is opened before the refresh is issued. Otherwise
    /// requests are served.
    fn starts(&self, due: &DueRefreshes) -> bool;

    /// Notifies the policy that a refresh was issued; `due` no longer counts it.
    fn refreshed(&mut self, due: &DueRefreshes) {
        let _ = due;
    }
}

boxed! {
    /// A boxed refresh policy of a channel.
    BoxedRefresh of Refresh, copied by CopiedRefresh
}
