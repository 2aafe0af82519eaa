//! Prefetching: a cache fetches sectors before a request needs them.

use std::fmt::Debug;

use warpshard_base::{Addr, Cycle};
use warpshard_state::State;

use super::{Identity, boxed};

/// The outcome of a read's lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// The sector was in the cache.
    Present,
    /// The sector was being fetched.
    InFlight,
    /// The sector was neither in the cache nor being fetched.
    Missing,
}

/// A read that the cache accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The address of the sector, or of the line if the read is for several sectors.
    pub addr: Addr,
    /// The origin of the read.
    pub identity: Identity,
    /// The outcome of the lookup.
    pub found: ReadOutcome,
    /// The cycle of the read in the cache's clock.
    pub now: Cycle,
}

/// An outcome of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchOutcome {
    /// The prefetch was sent to the next level.
    Sent,
    /// The sector was in the cache or being fetched.
    Present,
    /// The cache had no free resources for the prefetch, or the address belongs to another LLC slice.
    Dropped,
    /// A read found the prefetched sector.
    Useful,
    /// A read found the prefetch still in flight.
    Late,
    /// A read found that the prefetched sector had been evicted.
    Lost,
}

/// A prefetcher.
///
/// *When it is called.* [`Prefetcher::read`] is called for each read that the cache accepted, in order, but not for prefetches.
/// [`Prefetcher::outcome`] is called when the outcome of a prefetch is known, and again when a read accesses its sector.
///
/// *What it sees.* Address, [`Identity`] and outcome of each read. An LLC slice sees only reads of its own addresses.
///
/// *What it may change.* Its own state, and `wanted`, the queue of sectors to fetch. The cache looks up one of them per cycle, after the
/// requests, in the order in which they were added. It keeps up to 256 waiting sectors and drops the others.
///
/// *What must hold.* Nothing: a useless prefetch only costs time on the machine.
pub trait Prefetcher: State + Debug + Send + Sync + CopiedPrefetcher {
    /// Returns the name of the prefetcher, for messages and checkpoints.
    fn name(&self) -> &str;

    /// Notifies the prefetcher of an accepted read; it appends sectors to `wanted`.
    fn read(&mut self, read: &Read, wanted: &mut Vec<Addr>);

    /// Notifies the prefetcher of the outcome of a sector's prefetch.
    fn outcome(&mut self, addr: Addr, outcome: PrefetchOutcome) {
        let _ = (addr, outcome);
    }

    /// Notifies the prefetcher that the cache was emptied.
    fn clear(&mut self) {}
}

boxed! {
    /// A boxed prefetcher of a cache.
    BoxedPrefetcher of Prefetcher, copied by CopiedPrefetcher
}
