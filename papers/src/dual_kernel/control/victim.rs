//! Which CTAs of an SM are taken away, and how: Algorithm 1 (Figure 3.4) and the candidate victim sets (Section 3.3.1) of Shieh, "Enabling Fast
//! Preemption via Dual-Kernel Support on GPUs" (2016).
//!
//! In: the resident CTAs with their ranges and the costs of each technique. Out: the victims with their techniques.
//!
//! A set is a word with a bit for each resident CTA, as in Figure 3.8.

use warpshard_control::{CtaProgress, Resources};

use super::cost::{Cost, Technique};

/// The order in which techniques are tried: of equal costs, the first is chosen.
const TECHNIQUES: [Technique; 3] = [Technique::Drain, Technique::Switch, Technique::Flush];

/// A technique and what it costs.
pub(super) type Chosen = (Technique, Cost);

/// The better one of two by the rule of Algorithm 1: who meets the bound, with the least overhead; if nobody does, the least latency.
fn better(one: Cost, other: Cost, bound: f64) -> bool {
    match (one.latency <= bound, other.latency <= bound) {
        (true, false) => true,
        (false, true) => false,
        (true, true) => (one.overhead, one.latency) < (other.overhead, other.latency),
        (false, false) => (one.latency, one.overhead) < (other.latency, other.overhead),
    }
}

/// The technique for a CTA (lines 1 to 14).
pub(super) fn technique(cost: impl Fn(Technique) -> Cost, bound: f64) -> Chosen {
    let all = TECHNIQUES.map(|technique| (technique, cost(technique)));
    all.into_iter().reduce(|best, next| if better(next.1, best.1, bound) { next } else { best }).unwrap_or((Technique::Drain, Cost::MOST))
}

/// The cost of a set (Formulas 3.1 and 3.2): its latency is that of its slowest CTA, its overhead the sum.
pub(super) fn cost_of(set: u64, chosen: &[Chosen]) -> Cost {
    members(set)
        .filter_map(|cta| chosen.get(cta))
        .fold(Cost::NONE, |all, (_, cost)| Cost { latency: all.latency.max(cost.latency), overhead: all.overhead + cost.overhead })
}

/// The final victim (lines 15 to 26): the index of the set, among those that there are.
pub(super) fn victim(sets: &[Option<u64>], chosen: &[Chosen], bound: f64) -> Option<usize> {
    let there = sets.iter().enumerate().filter_map(|(at, set)| Some((at, cost_of((*set)?, chosen))));
    there.reduce(|best, next| if better(next.1, best.1, bound) { next } else { best }).map(|(at, _)| at)
}

/// The CTAs in a set.
pub(super) fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |cta| set >> cta & 1 != 0)
}

/// Positions of the CTAs of the preempting kernel: position `i` begins at `i` times its need (Figure 3.7). Each with its registers and its
/// shared memory.
pub(super) fn positions(sm: &Resources, need: &Resources) -> Vec<[(u32, u32); 2]> {
    let count = |whole: u32, need: u32| whole.checked_div(need).unwrap_or(u32::MAX);
    let most = count(sm.registers, need.registers).min(count(sm.shared_bytes, need.shared_bytes)).min(sm.ctas);
    (0..most).map(|i| [(i * need.registers, need.registers), (i * need.shared_bytes, need.shared_bytes)]).collect()
}

/// Whether two ranges, each with its start and length, have something in common.
fn overlap((a, a_len): (u32, u32), (b, b_len): (u32, u32)) -> bool {
    a_len > 0 && b_len > 0 && a < b + b_len && b < a + a_len
}

/// The CTAs that lie in a position, in its registers or in its shared memory.
pub(super) fn candidates(position: &[(u32, u32); 2], resident: &[CtaProgress]) -> u64 {
    let lies = |cta: &CtaProgress| overlap(position[0], cta.registers) || overlap(position[1], cta.shared);
    resident.iter().take(64).enumerate().filter(|(_, cta)| lies(cta)).fold(0, |set, (at, _)| set | 1 << at)
}

/// An SM whose CTAs are to make room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    /// What the SM has.
    pub(super) sm: Resources,
    /// What a CTA of the preempting kernel needs.
    pub(super) need: Resources,
    /// The resident CTAs.
    pub(super) resident: &'a [CtaProgress],
    /// Those that may be taken away, as a set. Others keep their places.
    pub(super) may_leave: u64,
    /// Those that are on their way out already: they cost nothing.
    pub(super) leaving: u64,
    /// The technique of each resident CTA.
    pub(super) chosen: &'a [Chosen],
    /// The bound of the latency, in core cycles.
    pub(super) bound: f64,
}

impl Scene<'_> {
    /// Whether threads and CTA slots suffice for `started` CTAs of the preempting kernel when a set has left.
    fn counts_fit(&self, gone: u64, started: u32) -> bool {
        let stay = self.resident.iter().take(64).enumerate().filter(|(at, _)| gone >> at & 1 == 0);
        let (threads, ctas) = stay.fold((0, 0), |(threads, ctas), (_, cta)| (threads + cta.threads, ctas + 1));
        threads + started * self.need.threads <= self.sm.threads && ctas + started <= self.sm.ctas
    }

    /// The victims for `wanted` CTAs of the preempting kernel, one position after the other: a set, and how many positions it makes free.
    /// After each choice the CTAs that leave are taken out of all sets (Figure 3.9).
    pub(super) fn victims(&self, wanted: u32) -> (u64, u32) {
        let (mut gone, mut made) = (self.leaving, 0);
        let positions = positions(&self.sm, &self.need);
        let mut free = vec![true; positions.len()];
        while made < wanted {
            let candidate = |(position, free): (&[(u32, u32); 2], &bool)| {
                let set = candidates(position, self.resident) & !self.leaving;
                let possible = *free && set & !self.may_leave == 0 && self.counts_fit(gone | set, made + 1);
                possible.then_some(set & !gone)
            };
            let sets: Vec<Option<u64>> = positions.iter().zip(&free).map(candidate).collect();
            let Some(at) = victim(&sets, self.chosen, self.bound) else { break };
            gone |= sets[at].unwrap_or(0);
            free[at] = false;
            made += 1;
        }
        (gone & !self.leaving, made)
    }
}
