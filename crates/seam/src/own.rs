//! The policies of the calling program.

use std::fmt;
use std::sync::Arc;

use super::{
    AddressHash, Arbiter, BoxedArbiter, BoxedCtaOrder, BoxedDramOrder, BoxedPagePolicy, BoxedPrefetcher, BoxedRefresh, BoxedReplacement,
    BoxedWarpOrder, CacheSite, CtaOrder, DramOrder, DramSite, GridSite, OwnHash, PagePolicy, Prefetcher, Refresh, Replacement, SwitchSite,
    Topology, WarpOrder, WarpSite,
};

/// Makes a policy for a site.
pub struct Maker<S, T>(Arc<dyn Fn(&S) -> T + Send + Sync>);

impl<S, T> Maker<S, T> {
    /// Makes it.
    pub fn make(&self, site: &S) -> T {
        (self.0)(site)
    }
}

impl<S, T> Clone for Maker<S, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, T> fmt::Debug for Maker<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// Whether they are the same.
impl<S, T> PartialEq for Maker<S, T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A topology of the calling program.
#[derive(Clone, Debug)]
pub struct OwnTopology(pub Arc<dyn Topology>);

/// Whether they are the same.
impl PartialEq for OwnTopology {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Policies that the calling program brings, one at most for each seam; the word `own` of a machine's key chooses it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// For `gpu.sm.l1.cache.replacement` and `mem.llc.replacement`.
    pub replacement: Option<Maker<CacheSite, BoxedReplacement>>,
    /// For `gpu.sm.l1.prefetch` and `mem.llc.prefetch`.
    pub prefetcher: Option<Maker<CacheSite, BoxedPrefetcher>>,
    /// For `mem.dram.scheduler`.
    pub dram_order: Option<Maker<DramSite, BoxedDramOrder>>,
    /// For `mem.dram.page`.
    pub page_policy: Option<Maker<DramSite, BoxedPagePolicy>>,
    /// For `mem.dram.refresh_when`.
    pub refresh: Option<Maker<DramSite, BoxedRefresh>>,
    /// For `noc.topology`.
    pub topology: Option<OwnTopology>,
    /// For `noc.arbiter`.
    pub arbiter: Option<Maker<SwitchSite, BoxedArbiter>>,
    /// For `gpu.dispatch.cta_order`.
    pub cta_order: Option<Maker<GridSite, BoxedCtaOrder>>,
    /// For `mem.map.hash`.
    pub address_hash: Option<OwnHash>,
    /// For `gpu.sm.order`.
    pub warp_order: Option<Maker<WarpSite, BoxedWarpOrder>>,
}

/// A function of this name that adds a policy.
macro_rules! with {
    ($(#[$doc:meta])* $with:ident, $field:ident, $site:ty, $policy:ident, $boxed:ident) => {
        $(#[$doc])*
        #[must_use]
        pub fn $with<T: $policy + 'static>(self, make: impl Fn(&$site) -> T + Send + Sync + 'static) -> Self {
            Self { $field: Some(Maker(Arc::new(move |site| $boxed(Box::new(make(site)))))), ..self }
        }
    };
}

impl Own {
    with! {
        /// The same with a policy of replacement, made for each cache that chooses it.
        with_replacement, replacement, CacheSite, Replacement, BoxedReplacement
    }
    with! {
        /// The same with a prefetcher, made for each cache that chooses it.
        with_prefetcher, prefetcher, CacheSite, Prefetcher, BoxedPrefetcher
    }
    with! {
        /// The same with an order of DRAM requests, made for each channel.
        with_dram_order, dram_order, DramSite, DramOrder, BoxedDramOrder
    }
    with! {
        /// The same with a page policy, made for each channel.
        with_page_policy, page_policy, DramSite, PagePolicy, BoxedPagePolicy
    }
    with! {
        /// The same with a refresh policy, made for each channel.
        with_refresh, refresh, DramSite, Refresh, BoxedRefresh
    }
    with! {
        /// The same with an arbiter, made for each of the two crossbars.
        with_arbiter, arbiter, SwitchSite, Arbiter, BoxedArbiter
    }
    with! {
        /// The same with an order of warps, made for each warp scheduler.
        with_warp_order, warp_order, WarpSite, WarpOrder, BoxedWarpOrder
    }

    with! {
        /// The same with an order of CTAs, made for each grid scheduler.
        with_cta_order, cta_order, GridSite, CtaOrder, BoxedCtaOrder
    }

    /// The same with an address hash.
    #[must_use]
    pub fn with_address_hash(self, hash: impl AddressHash + 'static) -> Self {
        Self { address_hash: Some(OwnHash(Arc::new(hash))), ..self }
    }

    /// The same with a topology.
    #[must_use]
    pub fn with_topology(self, topology: impl Topology + 'static) -> Self {
        Self { topology: Some(OwnTopology(Arc::new(topology))), ..self }
    }
}
