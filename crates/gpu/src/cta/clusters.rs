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

use super::dispatch::{Binding, Dispatch};
use super::streams::Streams;

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

    /// The GPC whose SMs get the next cluster of the kernel in a slot, and these SMs.
    fn choose(&self, slot: usize, size: usize, dispatch: &Dispatch, streams: &Streams) -> Option<(usize, Vec<SmId>)> {
        let count = self.gpcs.len();
        let mut best: Option<(u32, usize, Vec<SmId>)> = None;
        for gpc in (1..=count).map(|step| (self.last + step) % count) {
            let mut open: Vec<(u32, SmId)> =
                self.gpcs[gpc].iter().filter_map(|sm| Some((dispatch.bound_where_cluster_fits(*sm, slot, streams)?, *sm))).collect();
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
}

impl Dispatch {
    /// Launches the next cluster, if there is one whose time has come and which has room.
    pub(super) fn bind_cluster(&mut self, streams: &mut Streams, now: Cycle, give: &mut impl FnMut(Binding)) {
        let Some(mut clusters) = self.clusters.take() else { return };
        let slot = streams.select(now, |_, slot| slot.cluster > 1);
        let size = slot.and_then(|slot| streams.slot(slot)).map_or(0, |slot| slot.cluster as usize);
        match slot.and_then(|slot| Some((slot, clusters.choose(slot, size, self, streams)?))) {
            None => clusters.may = false,
            Some((slot, (gpc, sms))) => {
                for (rank, sm) in (0u8..).zip(sms) {
                    let binding = self.give_to(sm, slot, streams, now);
                    give(Binding { cluster: clusters.number, rank, ahead: false, ..binding });
                }
                clusters.last = gpc;
                clusters.number = (clusters.number + 1) % NO_CLUSTER;
                clusters.free_at = now.after(clusters.interval);
            }
        }
        self.clusters = Some(clusters);
    }
}
