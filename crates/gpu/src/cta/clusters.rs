//! Launch of clusters: all CTAs of one at once, each on an SM of its own, all in one GPC.
//!
//! In: kernels with clusters that are not launched, rooms of SMs. Out: bindings, at most one cluster in `gpu.cluster.interval` cycles. GPCs take turns; the
//! next in turn is passed over where another has room on SMs with fewer CTAs. In a GPC the cluster gets the SMs with the fewest CTAs, and its CTAs
//! go to them in ascending order. No CTA of a cluster is bound ahead of time.
//!
//! Source of the order: our measurement of an H100 (SMs of the CTAs of clusters of 2, 4, 8 and 16).

use warpshard_base::{Cycle, SmId};
use warpshard_config::machine::Cluster as Spec;
use warpshard_protocol::NO_CLUSTER;
use warpshard_workload::Workload;

/// The state of the launch of clusters.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Clusters {
    /// The SMs of each GPC, ascending.
    #[state(fixed)]
    gpcs: Box<[Vec<SmId>]>,
    interval: u64,
    /// The GPC served last.
    last: usize,
    /// The number of the next cluster.
    number: u16,
    /// The first cycle in which the next one may be launched.
    free_at: Cycle,
    /// Something changed since none could be launched.
    may: bool,
}

/// The SMs of each GPC of a GPU with so many SMs.
pub fn gpcs(spec: &Spec, sms: u32) -> Vec<Vec<SmId>> {
    let mut gpcs = vec![Vec::new(); spec.gpcs.iter().max().map_or(1, |most| usize::from(*most) + 1)];
    for sm in 0..sms as u16 {
        gpcs[usize::from(spec.gpcs.get(usize::from(sm)).copied().unwrap_or(0))].push(SmId(sm));
    }
    gpcs
}

impl Clusters {
    /// Where a kernel of the workload has clusters.
    pub(super) fn of(spec: &Spec, sms: u32, workload: &Workload) -> Option<Box<Self>> {
        let any = workload.kernels.iter().any(|kernel| kernel.info.cluster_ctas() > 1);
        let gpcs = gpcs(spec, sms);
        let new = |gpcs: Vec<Vec<SmId>>| Self {
            last: gpcs.len() - 1,
            gpcs: gpcs.into(),
            interval: u64::from(spec.interval.max(1)),
            number: 0,
            free_at: Cycle(0),
            may: true,
        };
        any.then(|| Box::new(new(gpcs)))
    }

    /// A room or a kernel changed.
    pub(super) fn changed(&mut self) {
        self.may = true;
    }

    /// The first cycle at or after `now` in which a cluster may be launched.
    pub(super) fn due(&self, now: Cycle) -> Cycle {
        if self.may { self.free_at.max(now) } else { Cycle::NEVER }
    }

    /// The GPC whose SMs get the next cluster of so many CTAs, and these SMs. `bound` has the CTAs that are bound to an SM on which one of them fits.
    pub(super) fn choose(&self, size: usize, bound: impl Fn(SmId) -> Option<u32>) -> Option<(usize, Vec<SmId>)> {
        let count = self.gpcs.len();
        let mut best: Option<(u32, usize, Vec<SmId>)> = None;
        for gpc in (1..=count).map(|step| (self.last + step) % count) {
            let mut open: Vec<(u32, SmId)> = self.gpcs[gpc].iter().filter_map(|sm| Some((bound(*sm)?, *sm))).collect();
            open.sort_unstable();
            open.truncate(size);
            let Some((most, _)) = open.last().copied().filter(|_| open.len() == size) else { continue };
            if best.as_ref().is_none_or(|(least, ..)| most < *least) {
                let mut sms: Vec<SmId> = open.into_iter().map(|(_, sm)| sm).collect();
                sms.sort_unstable();
                best = Some((most, gpc, sms));
            }
        }
        best.map(|(_, gpc, sms)| (gpc, sms))
    }

    /// No cluster can be launched before something changes.
    pub(super) fn rest(&mut self) {
        self.may = false;
    }

    /// The number of the next cluster.
    pub(super) fn number(&self) -> u16 {
        self.number
    }

    /// A cluster was launched in a GPC.
    pub(super) fn launched(&mut self, gpc: usize, now: Cycle) {
        self.last = gpc;
        self.number = (self.number + 1) % NO_CLUSTER;
        self.free_at = now.after(self.interval);
    }
}
