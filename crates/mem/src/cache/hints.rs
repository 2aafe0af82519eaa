//! Announcements of accesses and data, so that a cache prefetches what they will need into the host's caches. Nothing here changes anything
//! simulated.

use warpshard_base::Addr;

use super::DataCache;

impl DataCache {
    /// Prefetches the oldest request to the next level and the place of the next.
    #[inline]
    pub fn prefetch_queue(&self) {
        self.miss_queue.prefetch();
    }

    /// The data of a fetch is coming, and [`DataCache::expect_line`] will be called before it is there.
    #[inline]
    pub fn expect_entry(&self, at: u16) {
        self.mshr.prefetch(at);
    }

    /// The data of a fetch will be there soon. Returns the token of the oldest request for it.
    #[inline]
    pub fn expect_line(&self, at: u16) -> u32 {
        let (line, token) = self.mshr.expect(at);
        self.tags.prefetch(line);
        token
    }

    /// Addresses will be looked up soon.
    #[inline]
    pub fn expect_look_ups(&self) {
        self.tags.prefetch_sets();
        self.miss_queue.prefetch();
    }

    /// An address will be looked up soon, and [`DataCache::expect_look_up`] will be called before.
    #[inline]
    pub fn expect_address(&self, addr: Addr, set: u32) {
        self.tags.prefetch_start(addr, set);
        self.mshr.prefetch_bucket(self.key(addr));
    }

    /// An address will be looked up next.
    #[inline]
    pub fn expect_look_up(&self, addr: Addr) {
        self.tags.prefetch_first(addr);
    }

    /// A line of a set may have to make room soon.
    #[inline]
    pub fn expect_room(&self, set: u32) {
        self.tags.prefetch_oldest(set);
    }
}
