//! Assignment of CTAs to SMs.
//!
//! In: kernels with unassigned CTAs ([`Streams`]), ends of CTAs, limits. Out: bindings, at most one per SM and cycle, and
//! [`Dispatch::ctas_per_cycle`](warpshard_config::machine::Dispatch) in all for CTAs that follow others of their kernel on an SM, in rotating
//! order from the SM served last, so that a grid spreads breadth first over the chip. The order is the machine's (`gpu.dispatch.order`).
//!
//! Which kernels an SM may get follows from [`Sharing`]: any (left over), those of the application that owns it (spatial), or all with
//! a maximum of CTAs for each ([`Shares`]).
//!
//! Invariants: an SM holds at most the CTAs that fit plus [`Dispatch::ahead`](warpshard_config::machine::Dispatch). If the
//! unassigned CTAs at the start of a cycle would not fill an empty chip, no CTA is bound ahead, so that the last wave of a
//! grid goes to the SMs that are free first; a round that gives every SM one CTA ahead is always completed. After each
//! cycle the candidates are exactly the SMs that would get a CTA in the next one; without candidates nothing can be bound
//! before a CTA ends, a kernel becomes ready or a limit is raised.

use warpshard_base::{AppId, CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_config::machine::{self, Sharing};
use warpshard_protocol::NO_CLUSTER;
use warpshard_seam::{BoxedCtaOrder, CtaRoom};

use super::capacity::{Capacity, Resources};
use super::clusters::Clusters;
use super::shares::{NO_SHARE, Shares};
use super::streams::Streams;

/// No limit.
const NO_LIMIT: u32 = u32::MAX;

/// The grid scheduler's view of one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Room {
    /// Resources that its bound CTAs occupy.
    used: Resources,
    /// CTAs bound to it and not known to have ended.
    pub(super) bound: u32,
    /// Of these, CTAs known to have started.
    pub(super) started: u32,
    /// Limit of CTAs that it may start; CTAs bound ahead are not included.
    pub(super) limit: u32,
    /// Whether CTAs may be bound to it.
    served: bool,
    /// The kernel it serves, where an SM holds CTAs of one kernel at a time.
    kernel: Option<KernelIndex>,
    /// The application that owns it, where applications own SMs.
    pub(super) owner: Option<AppId>,
    /// The kernel of the last CTA that ended on it.
    ended: Option<KernelIndex>,
    /// The cycle of its last message.
    pub(super) last_word: Cycle,
}

/// A CTA bound to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) sm: SmId,
    pub(super) kernel: KernelIndex,
    pub(super) cta: CtaIndex,
    /// CTAs of the kernel that the SM may hold at once.
    pub(super) share: u16,
    /// It waits at the SM until another CTA ends.
    pub(super) ahead: bool,
    /// It is the last of its kernel.
    pub(super) last: bool,
    /// The number of its cluster, and its rank there. A CTA of a cluster is numbered by its place in the order of launches.
    pub(super) cluster: u16,
    pub(super) rank: u8,
}

/// The assignment of CTAs to SMs.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Dispatch {
    rooms: Box<[Room]>,
    /// The SMs to which a CTA may be bound, by their places in `order`.
    candidates: SmSet,
    /// The SM at each place of the order of service, and the place of each SM.
    #[state(fixed)]
    order: Box<[SmId]>,
    #[state(fixed)]
    places: Box<[u16]>,
    /// The place served last; it moves when a CTA is bound.
    last_place: usize,
    /// Bindings of a cycle, at most, to SMs on which CTAs of the same kernel have ended.
    per_cycle: u32,
    ahead: u32,
    share_sm: bool,
    /// The maxima of interleaved kernels, where kernels are interleaved.
    shares: Option<Shares>,
    capacity: Capacity,
    /// The order of CTAs, unless it is the default.
    seeing: Option<Box<Seeing>>,
    /// Where kernels have clusters.
    pub(super) clusters: Option<Box<Clusters>>,
}

/// An order that is a trait object, and what it is shown.
#[derive(Clone, Debug, warpshard_state::State)]
struct Seeing {
    order: BoxedCtaOrder,
    #[state(fixed)]
    shown: Vec<CtaRoom>,
    /// The place and the slot of each.
    #[state(fixed)]
    places: Vec<(usize, usize)>,
}

impl Dispatch {
    /// The assignment of the CTAs of `apps` applications to so many SMs.
    pub(super) fn new(sms: usize, spec: &machine::Dispatch, apps: usize, capacity: Capacity) -> Self {
        let room = Room {
            used: [0; 5],
            bound: 0,
            started: 0,
            limit: NO_LIMIT,
            served: true,
            kernel: None,
            owner: None,
            ended: None,
            last_word: Cycle(0),
        };
        let mut rooms = vec![room; sms];
        if spec.sharing == Sharing::Spatial {
            rooms.iter_mut().enumerate().for_each(|(sm, room)| room.owner = Some(AppId((sm * apps / sms) as u16)));
        }
        let shares = (spec.sharing == Sharing::Interleaved).then(|| Shares::new(sms));
        let candidates = SmSet::new(sms);
        let share_sm = spec.share_sm || shares.is_some();
        let order: Box<[SmId]> =
            if spec.order.is_empty() { (0..sms as u16).map(SmId).collect() } else { spec.order.iter().copied().map(SmId).collect() };
        let mut places = vec![0; sms];
        order.iter().enumerate().for_each(|(place, sm)| places[sm.index()] = place as u16);
        let places = places.into();
        Self {
            rooms: rooms.into(),
            candidates,
            order,
            places,
            last_place: sms - 1,
            per_cycle: if spec.ctas_per_cycle == 0 { u32::MAX } else { spec.ctas_per_cycle },
            ahead: spec.ahead,
            share_sm,
            shares,
            capacity,
            seeing: None,
            clusters: None,
        }
    }

    /// The same, launching clusters.
    pub(super) fn with_clusters(self, clusters: Option<Box<Clusters>>) -> Self {
        Self { clusters, ..self }
    }

    /// The same with an order of CTAs that is a trait object, where there is one.
    pub(super) fn with_order(self, order: Option<BoxedCtaOrder>) -> Self {
        let seeing = order.map(|order| Box::new(Seeing { order, shown: Vec::new(), places: Vec::new() }));
        Self { seeing, ..self }
    }

    /// CTAs of each kernel that fit on an SM.
    pub(super) fn resident(&self) -> &[u32] {
        &self.capacity.resident
    }

    /// The SMs in their order.
    pub(super) fn rooms(&self) -> &[Room] {
        &self.rooms
    }

    /// Whether a CTA would be bound to some SM in the next cycle.
    #[inline]
    pub(super) fn has_candidates(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// A CTA started on an SM.
    pub(super) fn started(&mut self, sm: SmId, now: Cycle) {
        let room = &mut self.rooms[sm.index()];
        room.started += 1;
        room.last_word = now;
    }

    /// A CTA ended on an SM, to which another may be bound.
    pub(super) fn done(&mut self, sm: SmId, kernel: KernelIndex, streams: &Streams, now: Cycle) {
        if let (Some(shares), Some(slot)) = (&mut self.shares, streams.slot_of(kernel)) {
            shares.done(sm.index(), slot);
        }
        let room = &mut self.rooms[sm.index()];
        assert!(room.bound > 0 && room.started > 0, "grid: {sm} finished a CTA of {kernel} at {now} but was given none");
        room.bound -= 1;
        room.started -= 1;
        for (used, needs) in room.used.iter_mut().zip(&self.capacity.needs[kernel.index()]) {
            *used -= needs;
        }
        room.last_word = now;
        room.ended = Some(kernel);
        self.room_changed(sm);
    }

    /// Whether a CTA follows others of its kernel on an SM.
    fn follows(&self, sm: usize, slot: usize, streams: &Streams) -> bool {
        self.rooms[sm].ended.is_some() && self.rooms[sm].ended == streams.next_cta(slot).map(|(kernel, _)| kernel)
    }

    /// A CTA may fit an SM where none did before.
    #[inline]
    fn room_changed(&mut self, sm: SmId) {
        self.candidates.insert(self.place(sm));
        if let Some(clusters) = &mut self.clusters {
            clusters.changed();
        }
    }

    /// An SM gave back a CTA, which it had started or not.
    pub(super) fn given_back(&mut self, sm: SmId, kernel: KernelIndex, started: bool, streams: &Streams, now: Cycle) {
        let room = &mut self.rooms[sm.index()];
        // The end of a CTA takes one off both.
        room.started += u32::from(!started);
        self.done(sm, kernel, streams, now);
        self.kernels_changed(streams, now);
    }

    /// A kernel became ready or ended: every SM is a candidate again, and the maxima of interleaved kernels change.
    pub(super) fn kernels_changed(&mut self, streams: &Streams, now: Cycle) {
        self.candidates.fill();
        if let Some(clusters) = &mut self.clusters {
            clusters.changed();
        }
        if let Some(shares) = &mut self.shares {
            shares.remap(&self.capacity, streams, now);
        }
    }

    /// At most `limit` CTAs of a kernel on an SM, or on each when `None`, where kernels are interleaved.
    pub(super) fn set_share(&mut self, sm: Option<SmId>, kernel: KernelIndex, limit: u32, streams: &Streams, now: Cycle) {
        if let Some(shares) = &mut self.shares {
            shares.set(sm, kernel, limit.min(self.capacity.resident[kernel.index()]));
        }
        self.kernels_changed(streams, now);
        self.drop_idle_candidates(streams, now);
    }

    /// Gives an SM to an application, where applications own SMs; CTAs already bound stay.
    pub(super) fn set_owner(&mut self, sm: SmId, owner: AppId, streams: &Streams, now: Cycle) {
        let room = &mut self.rooms[sm.index()];
        room.owner = room.owner.map(|_| owner);
        self.room_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Limits the CTAs bound to `sm` to `limit`, plus those ahead; CTAs already bound stay.
    pub(super) fn set_limit(&mut self, sm: SmId, limit: u32, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].limit = limit;
        self.room_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Sets whether CTAs may be bound to `sm`; CTAs already bound stay.
    pub(super) fn set_served(&mut self, sm: SmId, served: bool, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].served = served;
        self.room_changed(sm);
        self.drop_idle_candidates(streams, now);
    }

    /// Binds at most one CTA to each candidate, in rotating order or that of a policy.
    pub(super) fn bind(&mut self, streams: &mut Streams, now: Cycle, give: &mut impl FnMut(Binding)) {
        if let Some(mut seeing) = self.seeing.take() {
            self.bind_seen(&mut seeing, streams, now, give);
            self.seeing = Some(seeing);
            streams.end_round();
            self.drop_idle_candidates(streams, now);
            return;
        }
        let first = (self.last_place + 1) % self.rooms.len();
        let mut left = self.per_cycle;
        for (from, until) in [(first, self.rooms.len()), (0, first)] {
            let mut next = self.candidates.first_in(from, until);
            while let Some(place) = next {
                let sm = self.order[place].index();
                if let Some(slot) = self.choice(sm, streams, now) {
                    let follows = u32::from(left != u32::MAX && self.follows(sm, slot, streams));
                    if follows <= left {
                        give(self.give(place, slot, streams, now));
                        left -= follows;
                    }
                }
                next = self.candidates.first_in(place + 1, until);
            }
        }
        streams.end_round();
        self.drop_idle_candidates(streams, now);
    }

    /// Launches the next cluster, if there is one whose time has come and which has room.
    pub(super) fn bind_cluster(&mut self, streams: &mut Streams, now: Cycle, give: &mut impl FnMut(Binding)) {
        let Some(mut clusters) = self.clusters.take() else { return };
        let slot = streams.select(now, |_, slot| slot.has_clusters());
        let size = slot.and_then(|slot| streams.slot(slot)).map_or(0, |slot| slot.cluster as usize);
        let place = slot.and_then(|slot| clusters.choose(size, |sm| self.bound_where_cluster_fits(sm, slot, streams)));
        match slot.zip(place) {
            None => clusters.rest(),
            Some((slot, (gpc, sms))) => {
                for (rank, sm) in (0u8..).zip(sms) {
                    let binding = self.give_to(sm, slot, streams, now);
                    give(Binding { cluster: clusters.number(), rank, ahead: false, ..binding });
                }
                clusters.launched(gpc, now);
            }
        }
        self.clusters = Some(clusters);
    }

    /// Lets a policy choose a candidate for each CTA in turn, until it declines or no candidate is left.
    fn bind_seen(&mut self, seeing: &mut Seeing, streams: &mut Streams, now: Cycle, give: &mut impl FnMut(Binding)) {
        let mut given = SmSet::new(self.rooms.len());
        let mut left = self.per_cycle;
        loop {
            seeing.shown.clear();
            seeing.places.clear();
            for sm in (0..self.rooms.len()).filter(|sm| !given.contains(*sm)) {
                let place = self.place(SmId(sm as u16));
                if let Some(slot) = self.candidates.contains(place).then(|| self.choice(sm, streams, now)).flatten()
                    && let Some((kernel, cta)) = streams.next_cta(slot)
                    && (left > 0 || !self.follows(sm, slot, streams))
                {
                    seeing.places.push((place, slot));
                    seeing.shown.push(CtaRoom { sm: SmId(sm as u16), kernel, cta, bound: self.rooms[sm].bound });
                }
            }
            if seeing.shown.is_empty() {
                return;
            }
            let Some(at) = seeing.order.0.choose(now, &seeing.shown) else { return };
            let name = seeing.order.0.name();
            let Some((room, (place, slot))) = seeing.shown.get(at).zip(seeing.places.get(at)) else {
                panic!("the order of CTAs `{name}` chose number {at} of {} SMs", seeing.shown.len());
            };
            given.insert(room.sm.index());
            left -= u32::from(left != u32::MAX && self.follows(room.sm.index(), *slot, streams));
            give(self.give(*place, *slot, streams, now));
            seeing.order.0.bound(now, room);
        }
    }

    fn give(&mut self, place: usize, slot: usize, streams: &mut Streams, now: Cycle) -> Binding {
        self.last_place = place;
        self.give_to(self.order[place], slot, streams, now)
    }

    /// Binds the next CTA of the kernel in a slot to an SM.
    pub(super) fn give_to(&mut self, sm: SmId, slot: usize, streams: &mut Streams, now: Cycle) -> Binding {
        let sm = sm.index();
        let cta = streams.take_cta(slot);
        let chosen = *streams.slot(slot).expect("the chosen slot is taken");
        let share = self.shares.as_mut().map_or(NO_SHARE, |shares| shares.bind(sm, slot));
        let last = chosen.unassigned() == 0;
        if last {
            // SMs without room for this kernel's CTAs may have room for the next one's.
            self.kernels_changed(streams, now);
        }
        let room = &mut self.rooms[sm];
        let ahead = !self.capacity.fits(&room.used, chosen.kernel, 0);
        for (used, needs) in room.used.iter_mut().zip(&self.capacity.needs[chosen.kernel.index()]) {
            *used += needs;
        }
        room.bound += 1;
        room.kernel = Some(chosen.kernel);
        Binding { sm: SmId(sm as u16), kernel: chosen.kernel, cta, share, ahead, last, cluster: NO_CLUSTER, rank: 0 }
    }

    /// The CTAs bound to an SM, where a CTA of the cluster kernel in a slot may be bound to it now.
    pub(super) fn bound_where_cluster_fits(&self, sm: SmId, slot: usize, streams: &Streams) -> Option<u32> {
        let room = &self.rooms[sm.index()];
        let chosen = streams.slot(slot)?;
        let mine = room.owner.is_none_or(|owner| owner == chosen.app || streams.is_over(owner));
        let alone = self.share_sm || room.bound == 0 || room.kernel == Some(chosen.kernel);
        let shared = self.shares.as_ref().is_none_or(|shares| shares.bound(sm.index(), slot) < shares.share(sm.index(), slot));
        let fits = self.capacity.fits(&room.used, chosen.kernel, 0) && room.bound < room.limit;
        (room.served && mine && alone && shared && fits).then_some(room.bound)
    }

    /// The slot of the kernel whose CTA would be bound to the SM at `now`.
    #[inline]
    fn choice(&self, sm: usize, streams: &Streams, now: Cycle) -> Option<usize> {
        let room = &self.rooms[sm];
        if !room.served {
            return None;
        }
        if let Some(shares) = &self.shares {
            return streams.select(now, |slot, chosen| {
                let share = shares.share(sm, slot);
                let whole = room.limit.min(NO_LIMIT - self.ahead) + self.ahead;
                chosen.cluster == 1
                    && share > 0
                    && shares.bound(sm, slot) < share + self.ahead_of(chosen.round, share)
                    && room.bound < whole
                    && room.limit > 0
            });
        }
        let mine = |app| room.owner.is_none_or(|owner| owner == app || streams.is_over(owner));
        let own = |kernel| {
            let slot = streams.slot_of(kernel)?;
            streams.slot(slot).is_some_and(|own| own.cluster == 1 && own.unassigned() > 0 && mine(own.app)).then_some(slot)
        };
        let slot = match room.kernel.filter(|_| !self.share_sm).and_then(own) {
            Some(slot) => slot,
            // An SM takes another kernel only when it has finished the one before, as in the reference (D-003).
            None if self.share_sm || room.bound == 0 => streams.select(now, |_, slot| slot.cluster == 1 && mine(slot.app))?,
            None => return None,
        };
        let chosen = streams.slot(slot)?;
        let resident = self.capacity.resident[chosen.kernel.index()];
        let ahead = self.ahead_of(chosen.round, resident);
        // The SM itself enforces the limit, so a CTA may also be bound ahead here.
        let limited = room.limit < resident && (room.limit == 0 || room.bound >= room.limit + ahead);
        (!limited && self.capacity.fits(&room.used, chosen.kernel, ahead)).then_some(slot)
    }

    /// CTAs to bind to an SM beyond the `resident` ones that it may hold, with `unassigned` left. A CTA bound ahead could start earlier
    /// on another SM, unless the unassigned CTAs would fill all SMs even if all were free.
    #[inline]
    fn ahead_of(&self, unassigned: u32, resident: u32) -> u32 {
        if (unassigned as usize) < resident as usize * self.rooms.len() { 0 } else { self.ahead }
    }

    /// The place of an SM in the order of service.
    #[inline]
    fn place(&self, sm: SmId) -> usize {
        self.places[sm.index()].into()
    }

    fn drop_idle_candidates(&mut self, streams: &Streams, now: Cycle) {
        let mut next = self.candidates.first_in(0, self.rooms.len());
        while let Some(place) = next {
            if self.choice(self.order[place].index(), streams, now).is_none() {
                self.candidates.remove(place);
            }
            next = self.candidates.first_in(place + 1, self.rooms.len());
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

    /// The first member at or after `from` and before `until`.
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
    fn a_set_of_sms_finds_its_members_across_words() {
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
