//! Replacement: which line of a full set makes room.

use std::fmt::Debug;

use warpshard_base::{Addr, Cycle};
use warpshard_state::State;

use super::{Identity, boxed};

/// A request of a cache, as a policy of replacement sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Access {
    /// The sector, or the line where several sectors are meant.
    pub addr: Addr,
    /// The set of its line.
    pub set: u32,
    /// Whether it writes.
    pub write: bool,
    /// For whom it is; of what is left by a copy from the host nothing is known.
    pub identity: Identity,
    /// When, in cycles of the cache's clock.
    pub now: Cycle,
}

/// A line of a cache, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The set.
    pub set: u32,
    /// The way.
    pub way: u32,
}

/// A policy of replacement.
///
/// *When it is called.* [`Replacement::victim`] for a request that finds no line of its own and no empty way; a request that fails for another
/// reason asks again. Then, once the request was taken, [`Replacement::evict`] for the line that makes room and [`Replacement::fill`] for the one
/// that comes. [`Replacement::hit`] for every request that finds its line, whether its sector is there or not. [`Replacement::evict`] also for a
/// line that goes without another in its place.
///
/// *What it sees.* Places, the address, the set and the [`Identity`] of the request, and the lines that may go: those that wait for data, and
/// written ones while the cache keeps these, are not among them.
///
/// *What it may change.* Its own state.
///
/// *What must hold.* The victim is one of the lines that may go; any other is a panic that names the policy. With `None` the request waits.
pub trait Replacement: State + Debug + Send + Sync + CopiedReplacement {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// The way of `access.set` that makes room, of `ways` in ascending order, of which there is one at least.
    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32>;

    /// A request found its line. `sector` says whether its sector was there, too.
    fn hit(&mut self, at: Place, access: &Access, sector: bool);

    /// The line of a request came to a place.
    fn fill(&mut self, at: Place, access: &Access);

    /// A line left its place.
    fn evict(&mut self, at: Place);

    /// All lines are gone: the cache was emptied.
    fn clear(&mut self);
}

boxed! {
    /// A policy of replacement in a cache.
    BoxedReplacement of Replacement, copied by CopiedReplacement
}
