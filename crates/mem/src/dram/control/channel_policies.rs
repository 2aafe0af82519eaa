//! Policies of a channel that are trait objects: built-in policies that are not defaults, and user-defined policies.

use warpshard_config::dram::{DramPage, RefreshWhen};
use warpshard_config::machine::{DramScheduler, Mem};
use warpshard_seam::{BoxedDramOrder, BoxedPagePolicy, BoxedRefresh, DramSite, UserPolicies};

use super::page::Predicted;
use super::refresh::Elastic;
use crate::dram::order;

/// The trait objects of a channel; `None` for default policies.
#[derive(Debug, Default)]
pub struct ChannelPolicies {
    /// The order of requests.
    pub order: Option<BoxedDramOrder>,
    /// The page policy of a command-level controller.
    pub page: Option<BoxedPagePolicy>,
    /// The refresh policy of a command-level controller.
    pub refresh: Option<BoxedRefresh>,
}

impl ChannelPolicies {
    /// Returns the trait objects that a machine's memory selects.
    ///
    /// # Panics
    /// If the machine selects `own` and the calling program provided no policy; the assembly of a machine rejects this case.
    pub(in crate::dram) fn of(mem: &Mem, site: &DramSite, own: &UserPolicies) -> Self {
        let (page, when) =
            mem.dram.control.as_ref().map_or((DramPage::Open, RefreshWhen::Due), |control| (control.page, control.refresh_when));
        Self {
            order: build_dram_order(mem.dram.scheduler, site, own),
            page: build_page_policy(page, site, own),
            refresh: build_refresh_policy(when, site, own),
        }
    }
}

fn build_dram_order(order: DramScheduler, site: &DramSite, own: &UserPolicies) -> Option<BoxedDramOrder> {
    order::order_of_queue(order, site, own)
}

fn build_page_policy(page: DramPage, site: &DramSite, own: &UserPolicies) -> Option<BoxedPagePolicy> {
    match page {
        DramPage::Predicted => Some(BoxedPagePolicy(Box::new(Predicted::new(site.banks)))),
        DramPage::Own => {
            let Some(maker) = &own.page_policy else { panic!("the calling program provided no page policy") };
            Some(maker.create(site))
        }
        _ => None,
    }
}

fn build_refresh_policy(when: RefreshWhen, site: &DramSite, own: &UserPolicies) -> Option<BoxedRefresh> {
    match when {
        RefreshWhen::Due => None,
        RefreshWhen::Elastic => Some(BoxedRefresh(Box::new(Elastic))),
        RefreshWhen::Own => {
            let Some(maker) = &own.refresh else { panic!("the calling program provided no refresh policy") };
            Some(maker.create(site))
        }
    }
}
