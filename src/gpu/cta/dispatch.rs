//! Assignment of CTAs to SMs.
//!
//! In: kernels with unassigned CTAs ([`Streams`]), ends of CTAs, limits. Out: bindings, one per SM and cycle,
//! in rotating order from the SM served last, so that a grid spreads breadth first over the chip.
//!
//! Invariants: an SM holds at most the CTAs that fit plus [`Dispatch::ahead`](crate::config::machine::Dispatch). If the
//! unassigned CTAs at the start of a cycle would not fill an empty chip, no CTA is bound ahead, so that the last wave of a
//! grid goes to the SMs that are free first; a round that gives every SM one CTA ahead is always completed. After each
//! cycle the candidates are exactly the SMs that would get a CTA in the next one; without candidates nothing can be bound
//! before a CTA ends, a kernel becomes ready or a limit is raised.

use crate::base::{CtaIndex, Cycle, KernelIndex, SmId};
use crate::config::machine::Sm;
use crate::frontend::Workload;
use crate::gpu::occupancy::CtaNeeds;

use super::streams::Streams;

/// Amounts of the resources that CTAs occupy: threads, warps, bytes of shared memory, registers, CTA slots.
pub(super) type Resources = [u32; 5];

/// The resources of an SM and the needs of CTAs.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    /// Resources of an SM.
    pub(super) whole: Resources,
    /// The needs of a CTA of each kernel.
    pub(super) needs: Box<[Resources]>,
    /// CTAs of each kernel that fit on an SM.
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

    /// Whether another CTA of `kernel` fits in addition to what is `used`, given extra room for `ahead` CTAs of it.
    #[inline]
    fn fits(&self, used: &Resources, kernel: KernelIndex, ahead: u32) -> bool {
        let needs = &self.needs[kernel.index()];
        used.iter().zip(needs).zip(&self.whole).all(|((used, needs), whole)| used + needs <= whole + ahead * needs)
    }
}

/// No limit.
const NO_LIMIT: u32 = u32::MAX;

/// The grid scheduler's view of one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The cycle of its last message.
    pub(super) last_word: Cycle,
}

/// A CTA bound to an SM.
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

    /// A kernel became ready: every SM is a candidate again.
    pub(super) fn reconsider_all(&mut self) {
        self.candidates.fill();
    }

    /// Limits the CTAs bound to `sm` to `limit`, plus those ahead; CTAs already bound stay.
    pub(super) fn set_limit(&mut self, sm: SmId, limit: u32, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].limit = limit;
        self.candidates.insert(sm.index());
        self.drop_idle_candidates(streams, now);
    }

    /// Sets whether CTAs may be bound to `sm`; CTAs already bound stay.
    pub(super) fn set_served(&mut self, sm: SmId, served: bool, streams: &Streams, now: Cycle) {
        self.rooms[sm.index()].served = served;
        self.candidates.insert(sm.index());
        self.drop_idle_candidates(streams, now);
    }

    /// Binds at most one CTA to each candidate, in rotating order.
    pub(super) fn bind(&mut self, streams: &mut Streams, now: Cycle, mut give: impl FnMut(Binding)) {
        let first = (self.last_sm + 1) % self.rooms.len();
        for (from, until) in [(first, self.rooms.len()), (0, first)] {
            let mut next = self.candidates.first_in(from, until);
            while let Some(sm) = next {
                if let Some(slot) = self.choice(sm, streams, now) {
                    give(self.give(sm, slot, streams));
                }
                next = self.candidates.first_in(sm + 1, until);
            }
        }
        streams.end_round();
        self.drop_idle_candidates(streams, now);
    }

    fn give(&mut self, sm: usize, slot: usize, streams: &mut Streams) -> Binding {
        let cta = streams.take_cta(slot);
        let chosen = *streams.slot(slot).expect("the chosen slot is taken");
        let last = chosen.unassigned() == 0;
        if last {
            // SMs without room for this kernel's CTAs may have room for the next one's.
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

    /// The slot of the kernel whose CTA would be bound to the SM at `now`.
    #[inline]
    fn choice(&self, sm: usize, streams: &Streams, now: Cycle) -> Option<usize> {
        let room = &self.rooms[sm];
        if !room.served {
            return None;
        }
        let own = |kernel| streams.slot_of(kernel).filter(|&slot| streams.slot(slot).is_some_and(|own| own.unassigned() > 0));
        let slot = match room.kernel.filter(|_| !self.share_sm).and_then(own) {
            Some(slot) => slot,
            // An SM takes another kernel only when it has finished the one before, as in the reference (D-003).
            None if self.share_sm || room.bound == 0 => streams.select(now)?,
            None => return None,
        };
        let chosen = streams.slot(slot)?;
        let resident = self.capacity.resident[chosen.kernel.index()];
        // A CTA bound ahead could start earlier on another SM, unless the unassigned CTAs would fill all SMs even if all were free.
        let fitting = resident as usize * self.rooms.len();
        let ahead = if (chosen.round as usize) < fitting { 0 } else { self.ahead };
        // The SM itself enforces the limit, so a CTA may also be bound ahead here.
        let limited = room.limit < resident && (room.limit == 0 || room.bound >= room.limit + ahead);
        (!limited && self.capacity.fits(&room.used, chosen.kernel, ahead)).then_some(slot)
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
