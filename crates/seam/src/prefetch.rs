//! Prefetching: what a cache fetches before a request asks for it.

use std::fmt::Debug;

use warpshard_base::{Addr, Cycle};
use warpshard_state::State;

use super::{Identity, boxed};

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its sector.
    There,
    /// Its sector on its way.
    OnItsWay,
    /// Neither.
    Missing,
}

/// A read that the cache took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The sector, or the line where several sectors are meant.
    pub addr: Addr,
    /// For whom.
    pub identity: Identity,
    /// What it found.
    pub found: Found,
    /// When, in cycles of the cache's clock.
    pub now: Cycle,
}

/// What became of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It was sent to the next level.
    Sent,
    /// Its sector was there or on its way.
    Present,
    /// There was no room for it, or its address belongs to another LLC slice.
    Dropped,
    /// A read found what it had brought.
    Useful,
    /// A read found it on its way.
    Late,
    /// A read found that what it had brought is gone.
    Lost,
}

/// A prefetcher.
///
/// *When it is called.* [`Prefetcher::read`] for each read that the cache took, in their order; prefetches are none of them.
/// [`Prefetcher::became`] when it is known what became of a prefetch, and again when a read came to its sector.
///
/// *What it sees.* Address, [`Identity`] and outcome of each read. An LLC slice sees the reads of its own addresses alone.
///
/// *What it may change.* Its own state, and `wanted`: the sectors to fetch, one of which the cache looks up per cycle, after the requests, in the
/// order in which they were added. The cache keeps 256 of them that wait, and drops the others.
///
/// *What must hold.* Nothing: an address that no one needs costs the machine time.
pub trait Prefetcher: State + Debug + Send + Sync + CopiedPrefetcher {
    /// Its name, for messages and checkpoints.
    fn name(&self) -> &str;

    /// A read was taken.
    fn read(&mut self, read: &Read, wanted: &mut Vec<Addr>);

    /// Something became of the prefetch of a sector.
    fn became(&mut self, addr: Addr, became: Became) {
        let _ = (addr, became);
    }

    /// The cache was emptied.
    fn clear(&mut self) {}
}

boxed! {
    /// A prefetcher in a cache.
    BoxedPrefetcher of Prefetcher, copied by CopiedPrefetcher
}
