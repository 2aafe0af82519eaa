//! Asking the host's caches for a place some time before it is used.

use warpshard_sync::prefetch;

/// Asks for a place, which nobody waits for, to have it near when it is used.
///
/// The tags and MSHRs of a machine are megabytes, so that nearly each access is to a place that left the host's first caches;
/// what is known to be used soon is touched when it becomes known.
#[inline(always)]
pub fn touch<T: ?Sized>(place: &T) {
    prefetch(place);
}
