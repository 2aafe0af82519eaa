//! Policies of a channel that are trait objects: those of the simulator that are no defaults, and those of the calling program.

use warpshard_config::dram::{DramPage, RefreshWhen};
use warpshard_config::machine::{DramScheduler, Mem};
use warpshard_seam::{BoxedDramOrder, BoxedPagePolicy, BoxedRefresh, DramSite, Own};

use super::page::Predicted;
use super::refresh::Elastic;
use crate::dram::order;

/// The trait objects of a channel; none where its policies are defaults.
#[derive(Debug, Default)]
pub struct Brought {
    /// The order of requests.
    pub order: Option<BoxedDramOrder>,
    /// The page policy, of a command-level controller.
    pub page: Option<BoxedPagePolicy>,
    /// When refreshes go out, of a command-level controller.
    pub refresh: Option<BoxedRefresh>,
}

impl Brought {
    /// Those that a machine's memory asks for.
    ///
    /// # Panics
    /// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
    pub(in crate::dram) fn of(mem: &Mem, site: &DramSite, own: &Own) -> Self {
        let (page, when) =
            mem.dram.control.as_ref().map_or((DramPage::Open, RefreshWhen::Due), |control| (control.page, control.refresh_when));
        Self { order: ordered(mem.dram.scheduler, site, own), page: paged(page, site, own), refresh: refreshed(when, site, own) }
    }
}

fn ordered(order: DramScheduler, site: &DramSite, own: &Own) -> Option<BoxedDramOrder> {
    order::seeing_queue(order, site, own)
}

fn paged(page: DramPage, site: &DramSite, own: &Own) -> Option<BoxedPagePolicy> {
    match page {
        DramPage::Predicted => Some(BoxedPagePolicy(Box::new(Predicted::new(site.banks)))),
        DramPage::Own => {
            let Some(maker) = &own.page_policy else { panic!("the calling program brought no page policy") };
            Some(maker.make(site))
        }
        _ => None,
    }
}

fn refreshed(when: RefreshWhen, site: &DramSite, own: &Own) -> Option<BoxedRefresh> {
    match when {
        RefreshWhen::Due => None,
        RefreshWhen::Elastic => Some(BoxedRefresh(Box::new(Elastic))),
        RefreshWhen::Own => {
            let Some(maker) = &own.refresh else { panic!("the calling program brought no refresh policy") };
            Some(maker.make(site))
        }
    }
}
