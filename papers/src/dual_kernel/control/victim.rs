//! Choice of the CTAs to preempt on an SM, and of the technique for each: Algorithm 1 (Figure 3.4) and the candidate victim sets (Section
//! 3.3.1) of Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs" (2016).
//!
//! In: the resident CTAs with their ranges and the costs of each technique. Out: the victims with their techniques.
//!
//! A set is a word with a bit for each resident CTA, as in Figure 3.8.

use warpshard_control::{CtaProgress, Resources};

use super::cost::{PreemptionCost, Technique};

/// The techniques in order of preference: of equal costs, the first is chosen.
const TECHNIQUES: [Technique; 3] = [Technique::Drain, Technique::Switch, Technique::Flush];

/// A technique and its cost.
pub(super) type TechniqueCost = (Technique, PreemptionCost);

/// Returns true if `one` is better by the rule of Algorithm 1: of the costs within the bound the least overhead, or the least latency if
/// both exceed the bound.
fn is_better(one: PreemptionCost, other: PreemptionCost, bound: f64) -> bool {
    match (one.latency <= bound, other.latency <= bound) {
        (true, false) => true,
        (false, true) => false,
        (true, true) => (one.overhead, one.latency) < (other.overhead, other.latency),
        (false, false) => (one.latency, one.overhead) < (other.latency, other.overhead),
    }
}

/// Returns the technique for a CTA (lines 1 to 14 of Algorithm 1).
pub(super) fn best_technique(cost: impl Fn(Technique) -> PreemptionCost, bound: f64) -> TechniqueCost {
    let all = TECHNIQUES.map(|technique| (technique, cost(technique)));
    all.into_iter().reduce(|best, next| if is_better(next.1, best.1, bound) { next } else { best }).unwrap_or((Technique::Drain, PreemptionCost::MAX))
}

/// Returns the cost of a set (Formulas 3.1 and 3.2): the latency of its slowest CTA and the sum of its overheads.
pub(super) fn cost_of(set: u64, chosen: &[TechniqueCost]) -> PreemptionCost {
    ctas_of(set)
        .filter_map(|cta| chosen.get(cta))
        .fold(PreemptionCost::ZERO, |all, (_, cost)| PreemptionCost { latency: all.latency.max(cost.latency), overhead: all.overhead + cost.overhead })
}

/// Returns the index of the best set (lines 15 to 26 of Algorithm 1); sets that are `None` are skipped.
pub(super) fn best_set(sets: &[Option<u64>], chosen: &[TechniqueCost], bound: f64) -> Option<usize> {
    let there = sets.iter().enumerate().filter_map(|(at, set)| Some((at, cost_of((*set)?, chosen))));
    there.reduce(|best, next| if is_better(next.1, best.1, bound) { next } else { best }).map(|(at, _)| at)
}

/// Returns the CTAs in a set.
pub(super) fn ctas_of(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |cta| set >> cta & 1 != 0)
}

/// Returns the positions of the CTAs of the preempting kernel, each as a range of registers and a range of shared memory. Position `i`
/// begins at `i` times the need of a CTA (Figure 3.7).
pub(super) fn cta_positions(sm: &Resources, need: &Resources) -> Vec<[(u32, u32); 2]> {
    let count = |whole: u32, need: u32| whole.checked_div(need).unwrap_or(u32::MAX);
    let most = count(sm.registers, need.registers).min(count(sm.shared_bytes, need.shared_bytes)).min(sm.ctas);
    (0..most).map(|i| [(i * need.registers, need.registers), (i * need.shared_bytes, need.shared_bytes)]).collect()
}

/// Returns true if two ranges, each given by start and length, overlap.
fn ranges_overlap((a, a_len): (u32, u32), (b, b_len): (u32, u32)) -> bool {
    a_len > 0 && b_len > 0 && a < b + b_len && b < a + a_len
}

/// Returns the CTAs that overlap a position in registers or in shared memory.
pub(super) fn overlapping_ctas(position: &[(u32, u32); 2], resident: &[CtaProgress]) -> u64 {
    let lies = |cta: &CtaProgress| ranges_overlap(position[0], cta.registers) || ranges_overlap(position[1], cta.shared);
    resident.iter().take(64).enumerate().filter(|(_, cta)| lies(cta)).fold(0, |set, (at, _)| set | 1 << at)
}

/// An SM on which CTAs are to be preempted.
#[derive(Clone, Copy, Debug)]
pub(super) struct VictimSearch<'a> {
    /// Resources of the SM.
    pub(super) sm: Resources,
    /// Resources of a CTA of the preempting kernel.
    pub(super) need: Resources,
    /// The resident CTAs.
    pub(super) resident: &'a [CtaProgress],
    /// The set of CTAs that may be preempted; the others stay.
    pub(super) may_leave: u64,
    /// The set of CTAs that are already being preempted, at no further cost.
    pub(super) leaving: u64,
    /// The technique of each resident CTA.
    pub(super) chosen: &'a [TechniqueCost],
    /// Bound of the latency, in core cycles.
    pub(super) bound: f64,
}

impl VictimSearch<'_> {
    /// Returns true if threads and CTA slots suffice for `started` CTAs of the preempting kernel after the set `gone` has left.
    fn ctas_fit(&self, gone: u64, started: u32) -> bool {
        let stay = self.resident.iter().take(64).enumerate().filter(|(at, _)| gone >> at & 1 == 0);
        let (threads, ctas) = stay.fold((0, 0), |(threads, ctas), (_, cta)| (threads + cta.threads, ctas + 1));
        threads + started * self.need.threads <= self.sm.threads && ctas + started <= self.sm.ctas
    }

    /// Returns the set of victims for `wanted` CTAs of the preempting kernel, and the number of positions that the set frees. Positions are
    /// chosen one after the other; after each choice its CTAs are removed from the other sets (Figure 3.9).
    pub(super) fn choose_victims(&self, wanted: u32) -> (u64, u32) {
        let (mut gone, mut made) = (self.leaving, 0);
        let positions = cta_positions(&self.sm, &self.need);
        let mut free = vec![true; positions.len()];
        while made < wanted {
            let candidate = |(position, free): (&[(u32, u32); 2], &bool)| {
                let set = overlapping_ctas(position, self.resident) & !self.leaving;
                let possible = *free && set & !self.may_leave == 0 && self.ctas_fit(gone | set, made + 1);
                possible.then_some(set & !gone)
            };
            let sets: Vec<Option<u64>> = positions.iter().zip(&free).map(candidate).collect();
            let Some(at) = best_set(&sets, self.chosen, self.bound) else { break };
            gone |= sets[at].unwrap_or(0);
            free[at] = false;
            made += 1;
        }
        (gone & !self.leaving, made)
    }
}
