//! Orders of CTAs that are trait objects: one of the simulator that is no default, and that of the calling program.

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_config::machine::CtaOrder;
use warpshard_seam::{BoxedCtaOrder, CtaRoom, GridSite, Own};

/// The order of a grid scheduler, where it is no default.
///
/// # Panics
/// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
pub(super) fn ordered(order: CtaOrder, site: &GridSite, own: &Own) -> Option<BoxedCtaOrder> {
    match order {
        CtaOrder::Rotating => None,
        CtaOrder::Pairs => Some(BoxedCtaOrder(Box::new(Pairs::default()))),
        CtaOrder::Own => {
            let Some(maker) = &own.cta_order else { panic!("the calling program brought no order of CTAs") };
            Some(maker.make(site))
        }
    }
}

/// After block CTA scheduling (Lee et al., "Improving GPGPU Resource Utilization Through Alternative Thread Block Scheduling", HPCA 2014): CTAs with
/// neighbouring numbers go to one SM, two by two. The first of two goes to the SM with the fewest CTAs, and the second one to the same SM in the next
/// cycle; where that has no room then, it is as a first one. In the paper the first one waits until an SM has room for both.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct Pairs {
    /// The SM that has the first of two, when it got it, its kernel, and that CTA.
    first: Option<(SmId, Cycle, KernelIndex, CtaIndex)>,
}

impl warpshard_seam::CtaOrder for Pairs {
    fn name(&self) -> &str {
        "pairs"
    }

    fn choose(&self, now: Cycle, rooms: &[CtaRoom]) -> Option<usize> {
        if let Some((sm, bound, kernel, cta)) = self.first
            && rooms.iter().any(|room| (room.kernel, room.cta.0) == (kernel, cta.0 + 1))
        {
            if bound == now {
                return None;
            }
            if let Some(at) = rooms.iter().position(|room| room.sm == sm) {
                return Some(at);
            }
        }
        (0..rooms.len()).min_by_key(|at| rooms[*at].bound)
    }

    fn bound(&mut self, now: Cycle, room: &CtaRoom) {
        let is_first = room.cta.0.is_multiple_of(2);
        self.first = is_first.then_some((room.sm, now, room.kernel, room.cta));
    }
}

#[cfg(test)]
mod tests {
    use warpshard_seam::CtaOrder as _;

    use super::*;

    #[test]
    fn neighbouring_ctas_share_an_sm_where_it_has_room_in_the_next_cycle() {
        let mut pairs = Pairs::default();
        let mut bound = [0, 0, 0];
        let mut places = Vec::new();
        // Three SMs of four CTAs; SM 1 takes no other after its first one until cycle 6.
        for now in 0..7 {
            loop {
                let cta = CtaIndex(places.len() as u32);
                let open = (0..3u16).filter(|sm| bound[usize::from(*sm)] < if *sm == 1 && now < 6 { 1 } else { 4 });
                let open = open.filter(|sm| !places.contains(&(now, *sm)));
                let rooms: Vec<CtaRoom> =
                    open.map(|sm| CtaRoom { sm: SmId(sm), kernel: KernelIndex(0), cta, bound: bound[usize::from(sm)] }).collect();
                let Some(at) = pairs.choose(Cycle(now), &rooms) else { break };
                pairs.bound(Cycle(now), &rooms[at]);
                bound[rooms[at].sm.index()] += 1;
                places.push((now, rooms[at].sm.0));
            }
        }
        let sms: Vec<u16> = places.iter().map(|(_, sm)| *sm).collect();
        // CTAs 0 and 1; 2, whose SM has no room for 3; then again two by two.
        assert_eq!(sms[..4], [0, 0, 1, 2], "{places:?}");
        assert_eq!(places[1].0, 1, "the second one comes a cycle later");
    }
}
