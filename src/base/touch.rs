//! Asking the host's caches for a place some time before it is used.

/// Reads a place for nothing but to have it near when it is used: nothing waits for what is read.
///
/// The tags and MSHRs of a machine are megabytes, so that nearly each access is to a place that left the host's first caches;
/// what is known to be used soon is touched when it becomes known.
#[inline]
pub fn touch<T: Copy>(place: &T) {
    std::hint::black_box(*place);
}
