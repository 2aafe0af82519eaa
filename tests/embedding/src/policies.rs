//! A minimal policy with private state for each extension point of the models.

use warpshard::base::{Addr, Cycle, PortId, SmId};
use warpshard::seam::{
    Access, AddressHash, Arbiter, ArbiterRequest, CacheSite, Column, CtaCandidate, CtaOrder, DramOrder, DramSite, DueRefreshes, GridSite,
    LinePosition, MeshSize, PagePolicy, PrefetchOutcome, Prefetcher, QueuedRequest, Read, ReadOutcome, Refresh, Replacement, Rng,
    RouterLink, RouterPort, RowAction, SwitchSite, Topology, UserPolicies, WarpOrder, WarpSite, Warps, Wiring, WiringError,
};

/// Replacement policy: the most recently used line is the victim, and occasionally another line.
#[derive(Clone, Debug, warpshard_state::State)]
struct MostRecent {
    ways: u32,
    /// Number of the last use of each line.
    last_uses: Vec<u64>,
    use_count: u64,
    rng: Rng,
    /// A random number per set, redrawn on each fill, because `victim` must not change the state.
    drawn_numbers: Vec<u64>,
}

impl MostRecent {
    fn new(site: &CacheSite) -> Self {
        let (lines, sets) = ((site.sets * site.ways) as usize, site.sets as usize);
        Self { ways: site.ways, last_uses: vec![0; lines], use_count: 0, rng: site.rng.clone(), drawn_numbers: vec![0; sets] }
    }

    fn touch(&mut self, at: LinePosition) {
        self.use_count += 1;
        self.last_uses[(at.set * self.ways + at.way) as usize] = self.use_count;
    }
}

impl Replacement for MostRecent {
    fn name(&self) -> &str {
        "most-recent"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        if self.drawn_numbers[access.set as usize].is_multiple_of(8) {
            return ways.last();
        }
        ways.max_by_key(|way| self.last_uses[(access.set * self.ways + way) as usize])
    }

    fn hit(&mut self, at: LinePosition, _: &Access, _: bool) {
        self.touch(at);
    }

    fn fill(&mut self, at: LinePosition, _: &Access) {
        self.touch(at);
        self.drawn_numbers[at.set as usize] = self.rng.next_u64();
    }

    fn evict(&mut self, at: LinePosition) {
        self.last_uses[(at.set * self.ways + at.way) as usize] = 0;
    }

    fn clear(&mut self) {
        self.last_uses.fill(0);
    }
}

/// Prefetcher of the sectors after a missing one; the degree grows while the prefetches are useful.
#[derive(Clone, Debug, warpshard_state::State)]
struct Following {
    max_degree: u64,
    degree: u64,
}

impl Prefetcher for Following {
    fn name(&self) -> &str {
        "following"
    }

    fn read(&mut self, read: &Read, wanted: &mut Vec<Addr>) {
        if read.found == ReadOutcome::Missing {
            wanted.extend((1..=self.degree).map(|sector| Addr(read.addr.0 + sector * 32)));
        }
    }

    fn outcome(&mut self, _: Addr, outcome: PrefetchOutcome) {
        match outcome {
            PrefetchOutcome::Useful | PrefetchOutcome::Late => self.degree = (self.degree + 1).min(self.max_degree),
            PrefetchOutcome::Lost => self.degree = 1,
            PrefetchOutcome::Sent | PrefetchOutcome::Present | PrefetchOutcome::Dropped => {}
        }
    }
}

/// DRAM order that serves requesters in turn; each requester's oldest issuable request comes first.
#[derive(Clone, Debug, warpshard_state::State)]
struct InTurn {
    last: PortId,
}

impl DramOrder for InTurn {
    fn name(&self) -> &str {
        "in-turn"
    }

    fn choose(&self, _: Cycle, queue: &[QueuedRequest]) -> Option<usize> {
        let turn = |port: PortId| port.0.wrapping_sub(self.last.0).wrapping_sub(1);
        let can_issue = queue.iter().enumerate().filter(|(_, request)| request.can_issue);
        can_issue.min_by_key(|(_, request)| (turn(request.port), request.number)).map(|(at, _)| at)
    }

    fn served(&mut self, _: Cycle, request: &QueuedRequest, _: &[QueuedRequest]) {
        self.last = request.port;
    }
}

/// Page policy that closes a row after four column commands or after a while without one (after Kaseridis, Stuecheli and John, "Minimalist
/// Open-page", MICRO 2011).
#[derive(Clone, Debug, warpshard_state::State)]
struct FewHits {
    opened: u64,
}

impl PagePolicy for FewHits {
    fn name(&self) -> &str {
        "few-hits"
    }

    fn opened(&mut self, _: u8, _: u32) {
        self.opened += 1;
    }

    fn column(&mut self, command: &Column) -> RowAction {
        match (command.columns, self.opened % 8) {
            (4.., _) => RowAction::Close,
            (_, 0) => RowAction::Open,
            _ => RowAction::For(50),
        }
    }
}

/// Refresh policy that issues three refreshes together.
#[derive(Clone, Debug, warpshard_state::State)]
struct RefreshInThrees {
    left: u32,
}

impl Refresh for RefreshInThrees {
    fn name(&self) -> &str {
        "threes"
    }

    fn starts(&self, due: &DueRefreshes) -> bool {
        due.owed > self.left
    }

    fn refreshed(&mut self, due: &DueRefreshes) {
        self.left = if due.owed == 0 { 2 } else { 0 };
    }
}

/// Topology of one line of routers through all positions of the mesh, row by row.
#[derive(Debug)]
struct OneLine;

impl Topology for OneLine {
    fn wiring(&self, MeshSize { columns, rows }: MeshSize) -> Result<Wiring, WiringError> {
        let routers = columns * rows;
        let terminal_ports = (0..routers).map(|router| RouterPort { router, port: 2 }).collect();
        let links: Vec<RouterLink> =
            (1..routers).map(|router| (RouterPort { router: router - 1, port: 0 }, RouterPort { router, port: 1 })).collect();
        let route = |router: u16, terminal: u16| match router.cmp(&terminal) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => 2,
        };
        Wiring::new(format!("line{routers}"), (routers, 3), terminal_ports, &links, route)
    }
}

/// Arbiter that grants the least-served requester of an output.
#[derive(Clone, Debug, warpshard_state::State)]
struct LeastServed {
    inputs: usize,
    served: Vec<u64>,
}

impl Arbiter for LeastServed {
    fn name(&self) -> &str {
        "least-served"
    }

    fn grant(&mut self, output: usize, asking: &[ArbiterRequest]) -> usize {
        let served = &mut self.served[output * self.inputs..];
        let least = (0..asking.len()).min_by_key(|place| served[usize::from(asking[*place].input)]).unwrap_or_default();
        served[usize::from(asking[least].input)] += 1;
        least
    }
}

/// Warp order that picks the slot with the fewest issues from this scheduler; ties go to the oldest warp.
#[derive(Clone, Debug, warpshard_state::State)]
struct Fewest {
    issues: Vec<u32>,
}

impl WarpOrder for Fewest {
    fn name(&self) -> &str {
        "fewest"
    }

    fn pick(&mut self, ready: u64, warps: &Warps<'_>) -> usize {
        let slots = (0..64).filter(|slot| ready >> slot & 1 != 0);
        let slot = slots.min_by_key(|slot| (self.issues[*slot], warps.age[*slot])).unwrap_or_default();
        self.issues[slot] += 1;
        slot
    }
}

/// CTA order that picks the SM whose last CTA is the longest ago.
#[derive(Clone, Debug, warpshard_state::State)]
struct LeastRecentlyBound {
    /// SMs in the order of their last CTA, the longest ago first.
    order: Vec<SmId>,
}

impl CtaOrder for LeastRecentlyBound {
    fn name(&self) -> &str {
        "longest-ago"
    }

    fn choose(&self, _: Cycle, candidates: &[CtaCandidate]) -> Option<usize> {
        // SM 0 is not chosen while a CTA is bound to it ahead of time.
        let place = |room: &CtaCandidate| self.order.iter().position(|sm| *sm == room.sm);
        let open = candidates.iter().enumerate().filter(|(_, room)| room.sm.0 != 0 || room.bound == 0);
        open.min_by_key(|(_, room)| place(room)).map(|(at, _)| at)
    }

    fn bound(&mut self, _: Cycle, room: &CtaCandidate) {
        self.order.retain(|sm| *sm != room.sm);
        self.order.push(room.sm);
    }
}

/// Address hash that rotates the slices by the address bits above them.
#[derive(Debug)]
struct RotatedSlices;

impl AddressHash for RotatedSlices {
    fn name(&self) -> &str {
        "turned"
    }

    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64 {
        (plain + above % slices) % slices
    }
}

/// Returns all policies of this program.
pub(crate) fn own_policies() -> UserPolicies {
    UserPolicies::default()
        .with_replacement(MostRecent::new)
        .with_prefetcher(|site: &CacheSite| Following { max_degree: site.degree.into(), degree: 1 })
        .with_dram_order(|_: &DramSite| InTurn { last: PortId(0) })
        .with_page_policy(|_: &DramSite| FewHits { opened: 0 })
        .with_refresh(|_: &DramSite| RefreshInThrees { left: 2 })
        .with_topology(OneLine)
        .with_cta_order(|site: &GridSite| LeastRecentlyBound { order: (0..site.sms as u16).map(SmId).collect() })
        .with_address_hash(RotatedSlices)
        .with_arbiter(|site: &SwitchSite| LeastServed { inputs: site.inputs, served: vec![0; site.inputs * site.outputs] })
        .with_warp_order(|_: &WarpSite| Fewest { issues: vec![0; 64] })
}
