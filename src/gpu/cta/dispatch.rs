//! Which SM gets the next CTA, and when.
//!
//! In: kernels with unassigned CTAs ([`Streams`]), word of CTAs that ended, limits. Out: bindings, one per SM and cycle,
//! in rotating order from the SM served last, so that a grid spreads breadth first over the chip.
//!
//! Invariants: an SM holds no more CTAs than fit it plus [`Dispatch::ahead`](crate::config::machine::Dispatch); with fewer
//! unassigned CTAs than the chip has places at the start of a cycle nothing is bound beyond what fits, so that the last wave of a
//! grid goes to the SMs that are free first, and a round that gives every SM one CTA ahead is not broken off. After each
//! cycle the candidates are exactly the SMs that would get a CTA in the next one; without candidates nothing can be bound
//! before a CTA ends, a kernel becomes ready or a limit is lifted.

use crate::base::{CtaIndex, Cycle, KernelIndex, SmId};
use crate::config::machine::Sm;
use crate::frontend::Workload;
use crate::gpu::occupancy::CtaNeeds;

use super::streams::Streams;

/// Amounts of the resources that CTAs use up: threads, warps, bytes of shared memory, registers, CTA slots.
pub(super) type Resources = [u32; 5];

/// What an SM has and what CTAs take of it.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    /// Resources of an SM.
    pub(super) whole: Resources,
    /// What a CTA of each kernel takes.
    pub(super) needs: Box<[Resources]>,
    /// CTAs of each kernel that fit an SM.
    pub(super) resident: Box<[u32]>,
}

impl Capacity {
    /// Resources of an SM and needs of the workload's kernels.
    pub(super) fn of(spec: &Sm, workload: &Workload, resident: Vec<u32>) -> Self {
        let whole = [spec.max_threads, spec.warps, spec.shared_bytes, spec.registers, spec.max_ctas];
        let needs = workload.kernels.iter().map(|kernel| {
            let needs = CtaNeeds::of(spec, &kernel.info);
            [needs.threads, needs.warps, needs.shared_bytes, needs.registers, 1]
        });
        Self { whole, needs: needs.collect(), resident: resident.into() }
    }

    /// Whether another CTA of `kernel` fits beside what is `used`, or would with `ahead` CTAs of it more room.
    #[inline]
    fn fits(&self, used: &Resources, kernel: KernelIndex, ahead: u32) -> bool {
        let needs = &self.needs[kernel.index()];
        used.iter().zip(needs).zip(&self.whole).all(|((used, needs), whole)| used + needs <= whole + ahead * needs)
    }
}

/// A limit that limits nothing.
const NO_LIMIT: u32 = u32::MAX;

/// What the grid scheduler believes about one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Resources that its bound CTAs take.
    used: Resources,
    /// CTAs bound to it and not known to have ended.
    pub(super) bound: u32,
    /// Of these, CTAs known to have started.
    pub(super) started: u32,
    /// Most CTAs that it may start, and so that are bound to it but for those ahead.
    pub(super) limit: u32,
    /// Whether it gets CTAs.
    served: bool,
    /// The kernel it serves, where an SM holds CTAs of one kernel at a time.
    kernel: Option<KernelIndex>,
    /// When it was last heard of.
    pub(super) last_word: Cycle,
}

/// A CTA that was given to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) sm: SmId,
    pub(super) kernel: KernelIndex,
    pub(super) cta: CtaIndex,
    /// It waits at the SM until another CTA ends.
    pub(super) ahead: bool,
    /// It is the last of its kernel.
    pub(super) last: bool,
}

/// The assignment of CTAs to SMs.
#[derive(Clone, Debug)]
pub(super) struct Dispatch {
    rooms: Box<[Room]>,
    candidates: SmSet,
    /// The SM served last; it moves when a CTA is bound.
    last_sm: usize,
    ahead: u32,
    share_sm: bool,
    capacity: Capacity,
}

impl Dispatch {
    pub(super) fn new(sms: usize, ahead: u32, share_sm: bool, capacity: Capacity) -> Self {
        let room = Room { used: [0; 5], bound: 0, started: 0, limit: NO_LIMIT, served: true, kernel: None, last_word: Cycle(0) };
        let candidates = SmSet::new(sms);
        Self { rooms: vec![room; sms].into(), candidates, last_sm: sms - 1, ahead, share_sm, capacity }
    }

    /// CTAs of each kernel that fit an SM.
    pub(super) fn resident(&self) -> &[u32] {
        &self.capacity.resident
    }

    /// The SMs in their order.
    pub(super) fn rooms(&self) -> &[Room] {
        &self.rooms
    }

    /// Whether an SM would get a CTA in the next cycle.
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

    /// A CTA ended on an SM, which may get another.
    pub(super) fn done(&mut self, sm: SmId, kernel: KernelIndex, now: Cycle) {
        let room = &mut self.rooms[sm.index()];
        assert!(room.bound > 0 && room.started > 0, "grid: {sm} finished a CTA of {kernel} at {now} but was given none");
        room.bound -= 1;
        room.started -= 1;
        for (used, needs) in room.used.iter_mut().zip(&self.capacity.needs[kernel.index()]) {
            *used -= needs;
        }
        room.last_word = now;
        self.candidates.insert(sm.index());
    }

    /// Every SM may get a CTA again: a kernel became ready.
    pub(super) fn reconsider_all(&mut self) {
        self.candidates.fill();
    }

    /// At most `limit` CTAs, and those ahead, are bound to `sm` from now on; CTAs already bound stay.
    pub(super) fn set_limit(&mut self, sm: SmId, limit: u32, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].limit = limit;
        self.candidates.insert(sm.index());
        self.drop_idle_candidates(streams, now);
    }

    /// Whether `sm` gets CTAs from now on; CTAs already bound stay.
    pub(super) fn set_served(&mut self, sm: SmId, served: bool, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].served = served;
        self.candidates.insert(sm.index());
        self.drop_idle_candidates(streams, now);
    }

    /// Gives each candidate at most one CTA, in rotating order.
    pub(super) fn bind(&mut self, streams: &mut Streams, now: Cycle, mut give: impl FnMut(Binding)) {
        let first = (self.last_sm + 1) % self.rooms.len();
        for (from, until) in [(first, self.rooms.len()), (0, first)] {
            let mut next = self.candidates.first_in(from, until);
            while let Some(sm) = next {
                if let Some(place) = self.choice(sm, streams, now) {
                    give(self.give(sm, place, streams));
                }
                next = self.candidates.first_in(sm + 1, until);
            }
        }
        streams.end_round();
        self.drop_idle_candidates(streams, now);
    }

    fn give(&mut self, sm: usize, place: usize, streams: &mut Streams) -> Binding {
        let cta = streams.take_cta(place);
        let chosen = *streams.place(place).expect("the chosen place is taken");
        let last = chosen.unassigned() == 0;
        if last {
            // SMs that had no room for this kernel's CTAs may have some for the next one's.
            self.candidates.fill();
        }
        let room = &mut self.rooms[sm];
        let ahead = !self.capacity.fits(&room.used, chosen.kernel, 0);
        for (used, needs) in room.used.iter_mut().zip(&self.capacity.needs[chosen.kernel.index()]) {
            *used += needs;
        }
        room.bound += 1;
        room.kernel = Some(chosen.kernel);
        self.last_sm = sm;
        Binding { sm: SmId(sm as u16), kernel: chosen.kernel, cta, ahead, last }
    }

    /// The place of the kernel whose CTA the SM would get at `now`.
    #[inline]
    fn choice(&self, sm: usize, streams: &Streams, now: Cycle) -> Option<usize> {
        let room = &self.rooms[sm];
        if !room.served {
            return None;
        }
        let own = |kernel| streams.place_of(kernel).filter(|&place| streams.place(place).is_some_and(|own| own.unassigned() > 0));
        let place = match room.kernel.filter(|_| !self.share_sm).and_then(own) {
            Some(place) => place,
            // An SM turns to another kernel only when it has finished with the one before, as in the reference (D-003).
            None if self.share_sm || room.bound == 0 => streams.select(now)?,
            None => return None,
        };
        let chosen = streams.place(place)?;
        let resident = self.capacity.resident[chosen.kernel.index()];
        // Whoever waits at an SM might find a place elsewhere before, unless the others fill all of them even if all end at once.
        let places = resident as usize * self.rooms.len();
        let ahead = if (chosen.round as usize) < places { 0 } else { self.ahead };
        // The SM itself starts no more than the limit, so that here, too, a CTA may wait there ahead of time.
        let limited = room.limit < resident && (room.limit == 0 || room.bound >= room.limit + ahead);
        (!limited && self.capacity.fits(&room.used, chosen.kernel, ahead)).then_some(place)
    }

    fn drop_idle_candidates(&mut self, streams: &Streams, now: Cycle) {
        let mut next = self.candidates.first_in(0, self.rooms.len());
        while let Some(sm) = next {
            if self.choice(sm, streams, now).is_none() {
                self.candidates.remove(sm);
            }
            next = self.candidates.first_in(sm + 1, self.rooms.len());
        }
    }
}

/// A set of SMs.
#[derive(Clone, Debug, PartialEq, Eq)]
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
