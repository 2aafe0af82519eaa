//! Launch of clusters: all CTAs of a cluster start at the same time, each on a different SM, all in one GPC.
//!
//! In: kernels with clusters that are not launched, and free capacity of SMs. Out: bindings, at most one cluster per `gpu.cluster.interval`
//! cycles. GPCs are served round robin; the next GPC is skipped if another one fits the cluster on SMs with fewer CTAs. In a GPC the
//! cluster gets the SMs with the fewest CTAs, and its CTAs go to these SMs in ascending order. No CTA of a cluster is bound ahead of time.
//!
//! Source of the order: our measurement of an H100 (SMs of the CTAs of clusters of 2, 4, 8 and 16).

use warpshard_base::{Cycle, SmId};
use warpshard_config::machine::Cluster as Spec;
use warpshard_protocol::NO_CLUSTER;
use warpshard_workload::Workload;

/// State of the cluster launcher.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct ClusterLauncher {
    /// The SMs of each GPC in ascending order.
    #[state(fixed)]
    gpcs: Box<[Vec<SmId>]>,
    interval: u64,
    /// The GPC served last.
    last_gpc: usize,
    /// The number of the next cluster.
    next_number: u16,
    /// The first cycle in which the next cluster may be launched.
    free_at: Cycle,
    /// True if the state has changed since the last launch attempt failed.
    can_retry: bool,
}

/// Returns the SMs of each GPC of a GPU with `sms` SMs.
pub fn gpcs(spec: &Spec, sms: u32) -> Vec<Vec<SmId>> {
    let mut gpcs = vec![Vec::new(); spec.gpcs.iter().max().map_or(1, |most| usize::from(*most) + 1)];
    for sm in 0..sms as u16 {
        gpcs[usize::from(spec.gpcs.get(usize::from(sm)).copied().unwrap_or(0))].push(SmId(sm));
    }
    gpcs
}

impl ClusterLauncher {
    /// Returns the state of the cluster launcher if a kernel of the workload has clusters.
    pub(super) fn of(spec: &Spec, sms: u32, workload: &Workload) -> Option<Box<Self>> {
        let any = workload.kernels.iter().any(|kernel| kernel.info.cluster_ctas() > 1);
        let gpcs = gpcs(spec, sms);
        let new = |gpcs: Vec<Vec<SmId>>| Self {
            last_gpc: gpcs.len() - 1,
            gpcs: gpcs.into(),
            interval: u64::from(spec.interval.max(1)),
            next_number: 0,
            free_at: Cycle(0),
            can_retry: true,
        };
        any.then(|| Box::new(new(gpcs)))
    }

    /// Records that a kernel or the free capacity of an SM changed.
    pub(super) fn record_change(&mut self) {
        self.can_retry = true;
    }

    /// Returns the first cycle at or after `now` in which a cluster may be launched.
    pub(super) fn next_launch(&self, now: Cycle) -> Cycle {
        if self.can_retry { self.free_at.max(now) } else { Cycle::NEVER }
    }

    /// Returns the GPC that gets the next cluster of `size` CTAs, and its SMs. `bound` returns the number of CTAs bound to an SM, or `None`
    /// if no CTA of the cluster fits there.
    pub(super) fn choose(&self, size: usize, bound: impl Fn(SmId) -> Option<u32>) -> Option<(usize, Vec<SmId>)> {
        let count = self.gpcs.len();
        let mut best: Option<(u32, usize, Vec<SmId>)> = None;
        for gpc in (1..=count).map(|step| (self.last_gpc + step) % count) {
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

    /// Records that no cluster can be launched before the state changes.
    pub(super) fn wait_for_change(&mut self) {
        self.can_retry = false;
    }

    /// Returns the number of the next cluster.
    pub(super) fn number(&self) -> u16 {
        self.next_number
    }

    /// Records the launch of a cluster in a GPC.
    pub(super) fn record_launch(&mut self, gpc: usize, now: Cycle) {
        self.last_gpc = gpc;
        self.next_number = (self.next_number + 1) % NO_CLUSTER;
        self.free_at = now.after(self.interval);
    }
}
