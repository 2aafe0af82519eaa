//! User-defined policies.

use std::fmt;
use std::sync::Arc;

use super::{
    AddressHash, Arbiter, BoxedArbiter, BoxedCtaOrder, BoxedDramOrder, BoxedPagePolicy, BoxedPrefetcher, BoxedRefresh, BoxedReplacement,
    BoxedWarpOrder, CacheSite, CtaOrder, DramOrder, DramSite, GridSite, PagePolicy, Prefetcher, Refresh, Replacement, SwitchSite, Topology,
    UserHash, WarpOrder, WarpSite,
};

/// A factory that makes a policy for a site.
pub struct PolicyMaker<S, T>(Arc<dyn Fn(&S) -> T + Send + Sync>);

impl<S, T> PolicyMaker<S, T> {
    /// Makes the policy for `site`.
    pub fn create(&self, site: &S) -> T {
        (self.0)(site)
    }
}

impl<S, T> Clone for PolicyMaker<S, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, T> fmt::Debug for PolicyMaker<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyMaker")
    }
}

/// Two makers are equal if they are the same object.
impl<S, T> PartialEq for PolicyMaker<S, T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A user-defined topology.
#[derive(Clone, Debug)]
pub struct UserTopology(pub Arc<dyn Topology>);

/// Two topologies are equal if they are the same object.
impl PartialEq for UserTopology {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// User-defined policies, at most one per interface; the word `own` as the value of a machine key selects one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserPolicies {
    /// The replacement policy for `gpu.sm.l1.cache.replacement` and `mem.llc.replacement`.
    pub replacement: Option<PolicyMaker<CacheSite, BoxedReplacement>>,
    /// The prefetcher for `gpu.sm.l1.prefetch` and `mem.llc.prefetch`.
    pub prefetcher: Option<PolicyMaker<CacheSite, BoxedPrefetcher>>,
    /// The request order for `mem.dram.scheduler`.
    pub dram_order: Option<PolicyMaker<DramSite, BoxedDramOrder>>,
    /// The page policy for `mem.dram.page`.
    pub page_policy: Option<PolicyMaker<DramSite, BoxedPagePolicy>>,
    /// The refresh policy for `mem.dram.refresh_when`.
    pub refresh: Option<PolicyMaker<DramSite, BoxedRefresh>>,
    /// The topology for `noc.topology`.
    pub topology: Option<UserTopology>,
    /// The arbiter for `noc.arbiter`.
    pub arbiter: Option<PolicyMaker<SwitchSite, BoxedArbiter>>,
    /// The CTA order for `gpu.dispatch.cta_order`.
    pub cta_order: Option<PolicyMaker<GridSite, BoxedCtaOrder>>,
    /// The address hash for `mem.map.hash`.
    pub address_hash: Option<UserHash>,
    /// The warp order for `gpu.sm.order`.
    pub warp_order: Option<PolicyMaker<WarpSite, BoxedWarpOrder>>,
}

/// Declares a builder function that adds a policy.
macro_rules! with {
    ($(#[$doc:meta])* $with:ident, $field:ident, $site:ty, $policy:ident, $boxed:ident) => {
        $(#[$doc])*
        #[must_use]
        pub fn $with<T: $policy + 'static>(self, make: impl Fn(&$site) -> T + Send + Sync + 'static) -> Self {
            Self { $field: Some(PolicyMaker(Arc::new(move |site| $boxed(Box::new(make(site)))))), ..self }
        }
    };
}

impl UserPolicies {
    with! {
        /// Adds a replacement policy, made for each cache that selects it.
        with_replacement, replacement, CacheSite, Replacement, BoxedReplacement
    }
    with! {
        /// Adds a prefetcher, made for each cache that selects it.
        with_prefetcher, prefetcher, CacheSite, Prefetcher, BoxedPrefetcher
    }
    with! {
        /// Adds an order of DRAM requests, made for each channel.
        with_dram_order, dram_order, DramSite, DramOrder, BoxedDramOrder
    }
    with! {
        /// Adds a page policy, made for each channel.
        with_page_policy, page_policy, DramSite, PagePolicy, BoxedPagePolicy
    }
    with! {
        /// Adds a refresh policy, made for each channel.
        with_refresh, refresh, DramSite, Refresh, BoxedRefresh
    }
    with! {
        /// Adds an arbiter, made for each of the two crossbars.
        with_arbiter, arbiter, SwitchSite, Arbiter, BoxedArbiter
    }
    with! {
        /// Adds an order of warps, made for each warp scheduler.
        with_warp_order, warp_order, WarpSite, WarpOrder, BoxedWarpOrder
    }

    with! {
        /// Adds an order of CTAs, made for each grid scheduler.
        with_cta_order, cta_order, GridSite, CtaOrder, BoxedCtaOrder
    }

    /// Adds an address hash.
    #[must_use]
    pub fn with_address_hash(self, hash: impl AddressHash + 'static) -> Self {
        Self { address_hash: Some(UserHash(Arc::new(hash))), ..self }
    }

    /// Adds a topology.
    #[must_use]
    pub fn with_topology(self, topology: impl Topology + 'static) -> Self {
        Self { topology: Some(UserTopology(Arc::new(topology))), ..self }
    }
}
