//! Hints about coming accesses and data, so that a cache prefetches its state into the host's caches. Hints change no simulated state.

use warpshard_base::Addr;

use super::DataCache;

impl DataCache {
    /// Prefetches the oldest request to the next level and the slot of the next request.
    #[inline]
    pub fn prefetch_queue(&self) {
        self.miss_queue.prefetch();
    }

    /// Announces that the data of a fetch will arrive, and that [`DataCache::expect_line`] will be called before.
    #[inline]
    pub fn expect_entry(&self, at: u16) {
        self.mshr.prefetch(at);
    }

    /// Announces that the data of a fetch arrives soon. Returns the token of the oldest request for it.
    #[inline]
    pub fn expect_line(&self, at: u16) -> u32 {
        let (line, token) = self.mshr.expect(at);
        self.tags.prefetch(line);
        token
    }

    /// Announces that addresses will be looked up soon.
    #[inline]
    pub fn expect_look_ups(&self) {
        self.tags.prefetch_sets();
        self.miss_queue.prefetch();
    }

    /// Announces that an address will be looked up soon, and that [`DataCache::expect_look_up`] will be called before.
    #[inline]
    pub fn expect_address(&self, addr: Addr, set: u32) {
        self.tags.prefetch_start(addr, set);
        self.mshr.prefetch_bucket(self.key(addr));
    }

    /// Announces that the next look-up is for `addr`.
    #[inline]
    pub fn expect_look_up(&self, addr: Addr) {
        self.tags.prefetch_first(addr);
    }

    /// Announces that a line of a set may be evicted soon.
    #[inline]
    pub fn expect_room(&self, set: u32) {
        self.tags.prefetch_oldest(set);
    }
}
