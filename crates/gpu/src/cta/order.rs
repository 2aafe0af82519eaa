//! Orders of CTAs that are trait objects: a non-default order of the simulator, and the order that the calling program supplies.

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_config::machine::CtaOrder;
use warpshard_seam::{BoxedCtaOrder, CtaCandidate, GridSite, UserPolicies};

/// Returns the CTA order of a grid scheduler as a trait object; `None` for the default order.
///
/// # Panics
/// If the machine sets `own` and the calling program supplies no order; the assembly of a machine refuses such a machine.
pub(super) fn build_cta_order(order: CtaOrder, site: &GridSite, own: &UserPolicies) -> Option<BoxedCtaOrder> {
    match order {
        CtaOrder::Rotating => None,
        CtaOrder::Pairs => Some(BoxedCtaOrder(Box::new(PairOrder::default()))),
        CtaOrder::Own => {
            let Some(maker) = &own.cta_order else { panic!("the calling program supplied no order of CTAs") };
            Some(maker.create(site))
        }
    }
}

/// Block CTA scheduling (Lee et al., "Improving GPGPU Resource Utilization Through Alternative Thread Block Scheduling", HPCA 2014): pairs
/// of CTAs with neighbouring numbers go to one SM. The first CTA of a pair goes to the SM with the fewest CTAs, and the second CTA goes to
/// the same SM in the next cycle. If that SM has no capacity then, the second CTA is treated as the first of a pair. In the paper the first
/// CTA waits until an SM has capacity for both.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct PairOrder {
    /// The SM that received the first CTA of the pair, the cycle, the kernel, and the CTA.
    first: Option<(SmId, Cycle, KernelIndex, CtaIndex)>,
}

impl warpshard_seam::CtaOrder for PairOrder {
    fn name(&self) -> &str {
        "pairs"
    }

    fn choose(&self, now: Cycle, candidates: &[CtaCandidate]) -> Option<usize> {
        if let Some((sm, bound, kernel, cta)) = self.first
            && candidates.iter().any(|candidate| (candidate.kernel, candidate.cta.0) == (kernel, cta.0 + 1))
        {
            if bound == now {
                return None;
            }
            if let Some(at) = candidates.iter().position(|candidate| candidate.sm == sm) {
                return Some(at);
            }
        }
        (0..candidates.len()).min_by_key(|at| candidates[*at].bound)
    }

    fn bound(&mut self, now: Cycle, candidate: &CtaCandidate) {
        let is_first = candidate.cta.0.is_multiple_of(2);
        self.first = is_first.then_some((candidate.sm, now, candidate.kernel, candidate.cta));
    }
}

#[cfg(test)]
mod tests {
    use warpshard_seam::CtaOrder as _;

    use super::*;

    #[test]
    fn neighbouring_ctas_share_an_sm_with_capacity_in_the_next_cycle() {
        let mut pairs = PairOrder::default();
        let mut bound = [0, 0, 0];
        let mut places = Vec::new();
        // Three SMs of four CTAs each. After its first CTA, SM 1 accepts no other CTA before cycle 6.
        for now in 0..7 {
            loop {
                let cta = CtaIndex(places.len() as u32);
                let open = (0..3u16).filter(|sm| bound[usize::from(*sm)] < if *sm == 1 && now < 6 { 1 } else { 4 });
                let open = open.filter(|sm| !places.contains(&(now, *sm)));
                let candidates: Vec<CtaCandidate> =
                    open.map(|sm| CtaCandidate { sm: SmId(sm), kernel: KernelIndex(0), cta, bound: bound[usize::from(sm)] }).collect();
                let Some(at) = pairs.choose(Cycle(now), &candidates) else { break };
                pairs.bound(Cycle(now), &candidates[at]);
                bound[candidates[at].sm.index()] += 1;
                places.push((now, candidates[at].sm.0));
            }
        }
        let sms: Vec<u16> = places.iter().map(|(_, sm)| *sm).collect();
        // CTAs 0 and 1 form a pair. The SM of CTA 2 has no capacity for CTA 3. The following CTAs form pairs again.
        assert_eq!(sms[..4], [0, 0, 1, 2], "{places:?}");
        assert_eq!(places[1].0, 1, "the second CTA is bound a cycle later");
    }
}
