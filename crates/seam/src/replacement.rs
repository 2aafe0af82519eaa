//! Replacement policies, which select the victim line of a full set.

use std::fmt::Debug;

use warpshard_base::{Addr, Cycle};
use warpshard_state::State;

use super::{Identity, boxed};

/// A request of a cache as seen by a replacement policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Access {
    /// The address of the sector, or of the line if the request is for several sectors.
    pub addr: Addr,
    /// The set of the line.
    pub set: u32,
    /// True if the request is a write.
    pub write: bool,
    /// The origin of the request; unknown for a line that a copy from the host left in the cache.
    pub identity: Identity,
    /// The cycle of the request in the cache's clock.
    pub now: Cycle,
}

/// The position of a line in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePosition {
    /// The set.
    pub set: u32,
    /// The way.
    pub way: u32,
}

/// A replacement policy.
///
/// *When it is called.* [`Replacement::victim`] is called for a request that misses its line in a set without an empty way; a request that
/// stalls for another reason calls it again. Once the request is accepted, [`Replacement::evict`] is called for the victim and
/// [`Replacement::fill`] for the new line. [`Replacement::hit`] is called for every request that finds its line, even if its sector is
/// missing. [`Replacement::evict`] is also called for a line that is removed without a successor.
///
/// *What it sees.* Positions of lines, the address, the set and the [`Identity`] of the request, and the evictable lines. Lines that wait
/// for data are not evictable, nor are dirty lines while the cache keeps them.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* The victim is an evictable line; any other choice causes a panic that names the policy. After `None` the request
/// waits.
pub trait Replacement: State + Debug + Send + Sync + CopiedReplacement {
    /// Returns the name of the policy, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Returns the victim way of `access.set`, one of the evictable `ways`, at least one, in ascending order.
    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32>;

    /// Notifies the policy that a request found its line. `sector` is true if its sector was present, too.
    fn hit(&mut self, at: LinePosition, access: &Access, sector: bool);

    /// Notifies the policy that the line of a request was inserted.
    fn fill(&mut self, at: LinePosition, access: &Access);

    /// Notifies the policy that a line was removed.
    fn evict(&mut self, at: LinePosition);

    /// Notifies the policy that the cache was emptied.
    fn clear(&mut self);
}

boxed! {
    /// A boxed replacement policy of a cache.
    BoxedReplacement of Replacement, copied by CopiedReplacement
}
