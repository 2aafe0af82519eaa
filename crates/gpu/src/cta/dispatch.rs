//! Assignment of CTAs to SMs.
//!
//! In: kernels with unassigned CTAs ([`KernelStreams`]), ends of CTAs, and limits. Out: bindings, at most one per SM and cycle. At most
//! [`Dispatch::ctas_per_cycle`](warpshard_config::machine::Dispatch) of the CTAs bound in a cycle follow an ended CTA of their kernel on
//! the same SM. SMs are served round robin, starting after the SM served last, so that a grid spreads breadth first over the chip. The
//! machine sets the order (`gpu.dispatch.order`).
//!
//! [`Sharing`] determines the kernels that an SM may get: any kernel (left over), kernels of the application that owns the SM (spatial), or
//! all kernels with a maximum of CTAs for each ([`CtaShares`]).
//!
//! Invariants: an SM holds at most the CTAs that fit plus [`Dispatch::ahead`](warpshard_config::machine::Dispatch). If the unassigned CTAs
//! at the start of a cycle would not fill an empty chip, no CTA is bound ahead, so that the last wave of a grid goes to the SMs that become
//! free first; a round that gives every SM one CTA ahead is always completed. After each cycle the candidates are exactly the SMs that
//! would get a CTA in the next cycle; without candidates nothing can be bound before a CTA ends, a kernel becomes ready or a limit is
//! raised.

use warpshard_base::{AppId, CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_config::machine::{self, Sharing};
use warpshard_protocol::NO_CLUSTER;
use warpshard_seam::{BoxedCtaOrder, CtaCandidate};

use super::capacity::{Capacity, ResourceAmounts};
use super::clusters::ClusterLauncher;
use super::shares::{CtaShares, NO_SHARE};
use super::streams::KernelStreams;

/// The limit of an SM without a limit.
const NO_LIMIT: u32 = u32::MAX;

/// The state of one SM as the grid scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct SmSlot {
    /// Resources that the bound CTAs occupy.
    used_resources: ResourceAmounts,
    /// CTAs that are bound to the SM and whose end has not been reported.
    pub(super) bound: u32,
    /// Bound CTAs whose start has been reported.
    pub(super) started: u32,
    /// Maximum number of CTAs that the SM may run; CTAs bound ahead are not included.
    pub(super) limit: u32,
    /// True if CTAs may be bound to the SM.
    served: bool,
    /// The kernel that the SM serves, if an SM holds CTAs of one kernel at a time.
    kernel: Option<KernelIndex>,
    /// The application that owns the SM, if applications own SMs.
    pub(super) owner: Option<AppId>,
    /// The kernel of the last CTA that ended on the SM.
    last_ended_kernel: Option<KernelIndex>,
    /// The cycle of the last message from the SM.
    pub(super) last_message_at: Cycle,
}

/// A CTA bound to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) sm: SmId,
    pub(super) kernel: KernelIndex,
    pub(super) cta: CtaIndex,
    /// Maximum number of CTAs of the kernel that the SM may hold at the same time.
    pub(super) share: u16,
    /// True if the CTA waits at the SM until another CTA ends.
    pub(super) ahead: bool,
    /// True if the CTA is the last one of its kernel.
    pub(super) last: bool,
    /// The number of the cluster of the CTA. A CTA of a cluster is numbered by its position in the order of launches.
    pub(super) cluster: u16,
    /// The rank of the CTA in its cluster.
    pub(super) rank: u8,
}

/// The assignment of CTAs to SMs.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CtaDispatcher {
    sm_slots: Box<[SmSlot]>,
    /// The SMs to which a CTA may be bound, by their positions in `order`.
    candidates: SmSet,
    /// The SM at each position of the service order.
    #[state(fixed)]
    order: Box<[SmId]>,
    /// The position of each SM in the service order.
    #[state(fixed)]
    positions: Box<[u16]>,
    /// The position served last; it moves when a CTA is bound.
    last_position: usize,
    /// Maximum number of bindings per cycle to SMs on which CTAs of the same kernel have ended.
    per_cycle: u32,
    ahead: u32,
    share_sm: bool,
    /// The maxima of interleaved kernels, if kernels are interleaved.
    shares: Option<CtaShares>,
    capacity: Capacity,
    /// The order of CTAs as a trait object, unless it is the default order.
    custom_order: Option<Box<CustomOrder>>,
    /// State of the cluster launcher, if kernels have clusters.
    pub(super) clusters: Option<Box<ClusterLauncher>>,
}

/// An order of CTAs that is a trait object, and the candidates that it sees.
#[derive(Clone, Debug, warpshard_state::State)]
struct CustomOrder {
    order: BoxedCtaOrder,
    #[state(fixed)]
    candidates: Vec<CtaCandidate>,
    /// The position and the slot of each candidate.
    #[state(fixed)]
    positions: Vec<(usize, usize)>,
}

impl CtaDispatcher {
    /// Creates the assignment of the CTAs of `apps` applications to `sms` SMs.
    pub(super) fn new(sms: usize, spec: &machine::Dispatch, apps: usize, capacity: Capacity) -> Self {
        let room = SmSlot {
            used_resources: [0; 5],
            bound: 0,
            started: 0,
            limit: NO_LIMIT,
            served: true,
            kernel: None,
            owner: None,
            last_ended_kernel: None,
            last_message_at: Cycle(0),
        };
        let mut rooms = vec![room; sms];
        if spec.sharing == Sharing::Spatial {
            rooms.iter_mut().enumerate().for_each(|(sm, room)| room.owner = Some(AppId((sm * apps / sms) as u16)));
        }
        let shares = (spec.sharing == Sharing::Interleaved).then(|| CtaShares::new(sms));
        let candidates = SmSet::new(sms);
        let share_sm = spec.share_sm || shares.is_some();
        let order: Box<[SmId]> =
            if spec.order.is_empty() { (0..sms as u16).map(SmId).collect() } else { spec.order.iter().copied().map(SmId).collect() };
        let mut positions = vec![0; sms];
        order.iter().enumerate().for_each(|(place, sm)| positions[sm.index()] = place as u16);
        let positions = positions.into();
        Self {
            sm_slots: rooms.into(),
            candidates,
            order,
            positions,
            last_position: sms - 1,
            per_cycle: if spec.ctas_per_cycle == 0 { u32::MAX } else { spec.ctas_per_cycle },
            ahead: spec.ahead,
            share_sm,
            shares,
            capacity,
            custom_order: None,
            clusters: None,
        }
    }

    /// Returns the assignment with a cluster launcher.
    pub(super) fn with_clusters(self, clusters: Option<Box<ClusterLauncher>>) -> Self {
        Self { clusters, ..self }
    }

    /// Returns the assignment with an order of CTAs that is a trait object, if there is one.
    pub(super) fn with_order(self, order: Option<BoxedCtaOrder>) -> Self {
        let custom_order = order.map(|order| Box::new(CustomOrder { order, candidates: Vec::new(), positions: Vec::new() }));
        Self { custom_order, ..self }
    }

    /// Returns the number of CTAs of each kernel that fit on an SM.
    pub(super) fn resident_ctas(&self) -> &[u32] {
        &self.capacity.resident
    }

    /// Returns the states of the SMs, by SM.
    pub(super) fn sm_slots(&self) -> &[SmSlot] {
        &self.sm_slots
    }

    /// Returns true if a CTA would be bound to some SM in the next cycle.
    #[inline]
    pub(super) fn has_candidates(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Records the start of a CTA on an SM.
    pub(super) fn record_cta_start(&mut self, sm: SmId, now: Cycle) {
        let room = &mut self.sm_slots[sm.index()];
        room.started += 1;
        room.last_message_at = now;
    }

    /// Records the end of a CTA on an SM; another CTA may be bound to the SM.
    pub(super) fn record_cta_end(&mut self, sm: SmId, kernel: KernelIndex, streams: &KernelStreams, now: Cycle) {
        if let (Some(shares), Some(slot)) = (&mut self.shares, streams.slot_of(kernel)) {
            shares.record_cta_end(sm.index(), slot);
        }
        let room = &mut self.sm_slots[sm.index()];
        assert!(room.bound > 0 && room.started > 0, "grid: {sm} finished a CTA of {kernel} at {now}, but none was bound to it");
        room.bound -= 1;
        room.started -= 1;
        for (used, needs) in room.used_resources.iter_mut().zip(&self.capacity.needs[kernel.index()]) {
            *used -= needs;
        }
        room.last_message_at = now;
        room.last_ended_kernel = Some(kernel);
        self.sm_changed(sm);
    }

    /// Returns true if the last CTA that ended on an SM is of the kernel in `slot`.
    fn continues_kernel(&self, sm: usize, slot: usize, streams: &KernelStreams) -> bool {
        self.sm_slots[sm].last_ended_kernel.is_some()
            && self.sm_slots[sm].last_ended_kernel == streams.next_cta(slot).map(|(kernel, _)| kernel)
    }

    /// Makes an SM a candidate after its free resources or limits changed.
    #[inline]
    fn sm_changed(&mut self, sm: SmId) {
        self.candidates.insert(self.position(sm));
        if let Some(clusters) = &mut self.clusters {
            clusters.record_change();
        }
    }

    /// Records that an SM returned a CTA, started or not.
    pub(super) fn cta_returned(&mut self, sm: SmId, kernel: KernelIndex, started: bool, streams: &KernelStreams, now: Cycle) {
        let room = &mut self.sm_slots[sm.index()];
        // `record_cta_end` subtracts one from both counts.
        room.started += u32::from(!started);
        self.record_cta_end(sm, kernel, streams, now);
        self.kernels_changed(streams, now);
    }

    /// Records that a kernel became ready or ended: every SM is a candidate again, and the maxima of interleaved kernels are recomputed.
    pub(super) fn kernels_changed(&mut self, streams: &KernelStreams, now: Cycle) {
        self.candidates.fill();
        if let Some(clusters) = &mut self.clusters {
            clusters.record_change();
        }
        if let Some(shares) = &mut self.shares {
            shares.remap(&self.capacity, streams, now);
        }
    }

    /// Sets the maximum number of CTAs of a kernel on one SM, or on each SM if `None`, if kernels are interleaved.
    pub(super) fn set_share(&mut self, sm: Option<SmId>, kernel: KernelIndex, limit: u32, streams: &KernelStreams, now: Cycle) {
        if let Some(shares) = &mut self.shares {
            shares.set_limit(sm, kernel, limit.min(self.capacity.resident[kernel.index()]));
        }
        self.kernels_changed(streams, now);
        self.drop_idle_candidates(streams, now);
    }

    /// Assigns an SM to an application, if applications own SMs; bound CTAs stay.
    pub(super) fn set_owner(&mut self, sm: SmId, owner: AppId, streams: &KernelStreams, now: Cycle) {
        let room = &mut self.sm_slots[sm.index()];
        room.owner = room.owner.map(|_| owner);
        self.sm_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Limits the CTAs bound to `sm` to `limit` plus the CTAs bound ahead; bound CTAs stay.
    pub(super) fn set_limit(&mut self, sm: SmId, limit: u32, streams: &KernelStreams, now: Cycle) {
        self.sm_slots[sm.index()].limit = limit;
        self.sm_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Sets whether CTAs may be bound to `sm`; bound CTAs stay.
    pub(super) fn set_served(&mut self, sm: SmId, served: bool, streams: &KernelStreams, now: Cycle) {
        self.sm_slots[sm.index()].served = served;
        self.sm_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Binds at most one CTA to each candidate, round robin or in the order of a policy.
    pub(super) fn bind(&mut self, streams: &mut KernelStreams, now: Cycle, give: &mut impl FnMut(Binding)) {
        if let Some(mut custom_order) = self.custom_order.take() {
            self.bind_by_custom_order(&mut custom_order, streams, now, give);
            self.custom_order = Some(custom_order);
            streams.end_round();
            self.drop_idle_candidates(streams, now);
            return;
        }
        let first = (self.last_position + 1) % self.sm_slots.len();
        let mut left = self.per_cycle;
        for (from, until) in [(first, self.sm_slots.len()), (0, first)] {
            let mut next = self.candidates.first_in(from, until);
            while let Some(place) = next {
                let sm = self.order[place].index();
                if let Some(slot) = self.next_slot(sm, streams, now) {
                    let follows = u32::from(left != u32::MAX && self.continues_kernel(sm, slot, streams));
                    if follows <= left {
                        give(self.bind_at(place, slot, streams, now));
                        left -= follows;
                    }
                }
                next = self.candidates.first_in(place + 1, until);
            }
        }
        streams.end_round();
        self.drop_idle_candidates(streams, now);
    }

    /// Launches the next cluster, if one is due and fits.
    pub(super) fn bind_cluster(&mut self, streams: &mut KernelStreams, now: Cycle, give: &mut impl FnMut(Binding)) {
        let Some(mut clusters) = self.clusters.take() else { return };
        let slot = streams.select(now, |_, slot| slot.has_clusters());
        let size = slot.and_then(|slot| streams.slot(slot)).map_or(0, |slot| slot.cluster as usize);
        let place = slot.and_then(|slot| clusters.choose(size, |sm| self.bound_where_cluster_fits(sm, slot, streams)));
        match slot.zip(place) {
            None => clusters.wait_for_change(),
            Some((slot, (gpc, sms))) => {
                for (rank, sm) in (0u8..).zip(sms) {
                    let binding = self.bind_to(sm, slot, streams, now);
                    give(Binding { cluster: clusters.number(), rank, ahead: false, ..binding });
                }
                clusters.record_launch(gpc, now);
            }
        }
        self.clusters = Some(clusters);
    }

    /// Lets a policy choose a candidate for each CTA, until it declines or no candidate is left.
    fn bind_by_custom_order(
        &mut self,
        custom_order: &mut CustomOrder,
        streams: &mut KernelStreams,
        now: Cycle,
        give: &mut impl FnMut(Binding),
    ) {
        let mut given = SmSet::new(self.sm_slots.len());
        let mut left = self.per_cycle;
        loop {
            custom_order.candidates.clear();
            custom_order.positions.clear();
            for sm in (0..self.sm_slots.len()).filter(|sm| !given.contains(*sm)) {
                let place = self.position(SmId(sm as u16));
                if let Some(slot) = self.candidates.contains(place).then(|| self.next_slot(sm, streams, now)).flatten()
                    && let Some((kernel, cta)) = streams.next_cta(slot)
                    && (left > 0 || !self.continues_kernel(sm, slot, streams))
                {
                    custom_order.positions.push((place, slot));
                    custom_order.candidates.push(CtaCandidate { sm: SmId(sm as u16), kernel, cta, bound: self.sm_slots[sm].bound });
                }
            }
            if custom_order.candidates.is_empty() {
                return;
            }
            let Some(at) = custom_order.order.0.choose(now, &custom_order.candidates) else { return };
            let name = custom_order.order.0.name();
            let Some((room, (place, slot))) = custom_order.candidates.get(at).zip(custom_order.positions.get(at)) else {
                panic!("the order of CTAs `{name}` chose number {at} of {} SMs", custom_order.candidates.len());
            };
            given.insert(room.sm.index());
            left -= u32::from(left != u32::MAX && self.continues_kernel(room.sm.index(), *slot, streams));
            give(self.bind_at(*place, *slot, streams, now));
            custom_order.order.0.bound(now, room);
        }
    }

    fn bind_at(&mut self, place: usize, slot: usize, streams: &mut KernelStreams, now: Cycle) -> Binding {
        self.last_position = place;
        self.bind_to(self.order[place], slot, streams, now)
    }

    /// Binds the next CTA of the kernel in a slot to an SM.
    pub(super) fn bind_to(&mut self, sm: SmId, slot: usize, streams: &mut KernelStreams, now: Cycle) -> Binding {
        let sm = sm.index();
        let cta = streams.take_cta(slot);
        let chosen = *streams.slot(slot).expect("the chosen slot holds a kernel");
        let share = self.shares.as_mut().map_or(NO_SHARE, |shares| shares.bind(sm, slot));
        let last = chosen.unassigned_ctas() == 0;
        if last {
            // SMs without capacity for a CTA of this kernel may fit a CTA of the next kernel.
            self.kernels_changed(streams, now);
        }
        let room = &mut self.sm_slots[sm];
        let ahead = !self.capacity.fits(&room.used_resources, chosen.kernel, 0);
        for (used, needs) in room.used_resources.iter_mut().zip(&self.capacity.needs[chosen.kernel.index()]) {
            *used += needs;
        }
        room.bound += 1;
        room.kernel = Some(chosen.kernel);
        Binding { sm: SmId(sm as u16), kernel: chosen.kernel, cta, share, ahead, last, cluster: NO_CLUSTER, rank: 0 }
    }

    /// Returns the number of CTAs bound to an SM, if a CTA of the cluster kernel in `slot` may be bound to the SM now.
    pub(super) fn bound_where_cluster_fits(&self, sm: SmId, slot: usize, streams: &KernelStreams) -> Option<u32> {
        let room = &self.sm_slots[sm.index()];
        let chosen = streams.slot(slot)?;
        let mine = room.owner.is_none_or(|owner| owner == chosen.app || streams.is_over(owner));
        let alone = self.share_sm || room.bound == 0 || room.kernel == Some(chosen.kernel);
        let shared = self.shares.as_ref().is_none_or(|shares| shares.bound_ctas(sm.index(), slot) < shares.max_ctas(sm.index(), slot));
        let fits = self.capacity.fits(&room.used_resources, chosen.kernel, 0) && room.bound < room.limit;
        (room.served && mine && alone && shared && fits).then_some(room.bound)
    }

    /// Returns the slot of the kernel whose CTA would be bound to the SM at `now`.
    #[inline]
    fn next_slot(&self, sm: usize, streams: &KernelStreams, now: Cycle) -> Option<usize> {
        let room = &self.sm_slots[sm];
        if !room.served {
            return None;
        }
        if let Some(shares) = &self.shares {
            return streams.select(now, |slot, chosen| {
                let share = shares.max_ctas(sm, slot);
                let whole = room.limit.min(NO_LIMIT - self.ahead) + self.ahead;
                chosen.cluster == 1
                    && share > 0
                    && shares.bound_ctas(sm, slot) < share + self.allowed_ahead(chosen.round, share)
                    && room.bound < whole
                    && room.limit > 0
            });
        }
        let mine = |app| room.owner.is_none_or(|owner| owner == app || streams.is_over(owner));
        let own = |kernel| {
            let slot = streams.slot_of(kernel)?;
            streams.slot(slot).is_some_and(|own| own.cluster == 1 && own.unassigned_ctas() > 0 && mine(own.app)).then_some(slot)
        };
        let slot = match room.kernel.filter(|_| !self.share_sm).and_then(own) {
            Some(slot) => slot,
            // An SM switches to another kernel only after all CTAs of the previous kernel have ended, as in the reference (D-003).
            None if self.share_sm || room.bound == 0 => streams.select(now, |_, slot| slot.cluster == 1 && mine(slot.app))?,
            None => return None,
        };
        let chosen = streams.slot(slot)?;
        let resident = self.capacity.resident[chosen.kernel.index()];
        let ahead = self.allowed_ahead(chosen.round, resident);
        // The SM enforces the limit, so a CTA may also be bound ahead here.
        let limited = room.limit < resident && (room.limit == 0 || room.bound >= room.limit + ahead);
        (!limited && self.capacity.fits(&room.used_resources, chosen.kernel, ahead)).then_some(slot)
    }

    /// Returns the number of CTAs that may be bound to an SM beyond the `resident` ones if `unassigned` CTAs remain. A CTA bound ahead
    /// could start earlier on another SM, unless the unassigned CTAs would fill all SMs even if all were free.
    #[inline]
    fn allowed_ahead(&self, unassigned: u32, resident: u32) -> u32 {
        if (unassigned as usize) < resident as usize * self.sm_slots.len() { 0 } else { self.ahead }
    }

    /// Returns the position of an SM in the service order.
    #[inline]
    fn position(&self, sm: SmId) -> usize {
        self.positions[sm.index()].into()
    }

    fn drop_idle_candidates(&mut self, streams: &KernelStreams, now: Cycle) {
        let mut next = self.candidates.first_in(0, self.sm_slots.len());
        while let Some(place) = next {
            if self.next_slot(self.order[place].index(), streams, now).is_none() {
                self.candidates.remove(place);
            }
            next = self.candidates.first_in(place + 1, self.sm_slots.len());
        }
    }
}

/// A set of SMs.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
struct SmSet {
    words: Box<[u64]>,
    sms: usize,
}

impl SmSet {
    fn new(sms: usize) -> Self {
        Self { words: vec![0; sms.div_ceil(64)].into(), sms }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    #[inline]
    fn insert(&mut self, sm: usize) {
        self.words[sm / 64] |= 1 << (sm % 64);
    }

    #[inline]
    fn remove(&mut self, sm: usize) {
        self.words[sm / 64] &= !(1 << (sm % 64));
    }

    #[inline]
    fn contains(&self, sm: usize) -> bool {
        self.words[sm / 64] >> (sm % 64) & 1 != 0
    }

    fn fill(&mut self) {
        for (i, word) in self.words.iter_mut().enumerate() {
            let here = (self.sms - 64 * i).min(64);
            *word = u64::MAX >> (64 - here);
        }
    }

    /// Returns the first member at or after `from` and before `until`.
    #[inline]
    fn first_in(&self, from: usize, until: usize) -> Option<usize> {
        let mut at = from;
        while at < until {
            let rest = self.words[at / 64] >> (at % 64);
            if rest != 0 {
                let found = at + rest.trailing_zeros() as usize;
                return (found < until).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_finds_members_across_words() {
        let mut set = SmSet::new(70);
        set.fill();
        assert_eq!((0..70).filter(|&sm| set.first_in(sm, 70) == Some(sm)).count(), 70);
        assert_eq!(set.first_in(70, 70), None);
        (0..69).for_each(|sm| set.remove(sm));
        assert_eq!(set.first_in(3, 70), Some(69));
        assert_eq!(set.first_in(3, 69), None);
        set.remove(69);
        assert!(set.is_empty());
    }
}
