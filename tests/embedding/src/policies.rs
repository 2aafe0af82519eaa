//! A policy for each seam of the models, as small as it can be and with state of its own.

use warpshard::base::{Addr, Cycle, PortId, SmId};
use warpshard::seam::{
    Access, AddressHash, Arbiter, Asking, Became, CacheSite, Column, CtaOrder, CtaRoom, DramOrder, DramSite, Due, End, Found, Grid,
    GridSite, Keep, Link, Own, PagePolicy, Place, Prefetcher, Read, Refresh, Replacement, Rng, SwitchSite, Topology, Waiting, WarpOrder,
    WarpSite, Warps, Wiring, WiringError,
};

/// Replacement: the line used last makes room, and once in a while any other.
#[derive(Clone, Debug, warpshard_state::State)]
struct MostRecent {
    ways: u32,
    /// By line: when it was used last, as a number of uses.
    used: Vec<u64>,
    uses: u64,
    rng: Rng,
    /// A draw per set, which moves when a line comes: asking for a victim changes nothing.
    drawn: Vec<u64>,
}

impl MostRecent {
    fn new(site: &CacheSite) -> Self {
        let (lines, sets) = ((site.sets * site.ways) as usize, site.sets as usize);
        Self { ways: site.ways, used: vec![0; lines], uses: 0, rng: site.rng.clone(), drawn: vec![0; sets] }
    }

    fn touch(&mut self, at: Place) {
        self.uses += 1;
        self.used[(at.set * self.ways + at.way) as usize] = self.uses;
    }
}

impl Replacement for MostRecent {
    fn name(&self) -> &str {
        "most-recent"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        if self.drawn[access.set as usize].is_multiple_of(8) {
            return ways.last();
        }
        ways.max_by_key(|way| self.used[(access.set * self.ways + way) as usize])
    }

    fn hit(&mut self, at: Place, _: &Access, _: bool) {
        self.touch(at);
    }

    fn fill(&mut self, at: Place, _: &Access) {
        self.touch(at);
        self.drawn[at.set as usize] = self.rng.next_u64();
    }

    fn evict(&mut self, at: Place) {
        self.used[(at.set * self.ways + at.way) as usize] = 0;
    }

    fn clear(&mut self) {
        self.used.fill(0);
    }
}

/// Prefetching: the sectors behind one that is missing, more of them while that was of use.
#[derive(Clone, Debug, warpshard_state::State)]
struct Following {
    most: u64,
    degree: u64,
}

impl Prefetcher for Following {
    fn name(&self) -> &str {
        "following"
    }

    fn read(&mut self, read: &Read, wanted: &mut Vec<Addr>) {
        if read.found == Found::Missing {
            wanted.extend((1..=self.degree).map(|sector| Addr(read.addr.0 + sector * 32)));
        }
    }

    fn became(&mut self, _: Addr, became: Became) {
        match became {
            Became::Useful | Became::Late => self.degree = (self.degree + 1).min(self.most),
            Became::Lost => self.degree = 1,
            Became::Sent | Became::Present | Became::Dropped => {}
        }
    }
}

/// DRAM: the requesters in turn; of one requester the oldest request that may go.
#[derive(Clone, Debug, warpshard_state::State)]
struct InTurn {
    last: PortId,
}

impl DramOrder for InTurn {
    fn name(&self) -> &str {
        "in-turn"
    }

    fn choose(&self, _: Cycle, queue: &[Waiting]) -> Option<usize> {
        let turn = |port: PortId| port.0.wrapping_sub(self.last.0).wrapping_sub(1);
        let may_go = queue.iter().enumerate().filter(|(_, request)| request.may_go);
        may_go.min_by_key(|(_, request)| (turn(request.port), request.number)).map(|(at, _)| at)
    }

    fn served(&mut self, _: Cycle, request: &Waiting, _: &[Waiting]) {
        self.last = request.port;
    }
}

/// Pages: four column commands, or a while without one, close a row (after Kaseridis, Stuecheli and John, "Minimalist Open-page", MICRO 2011).
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

    fn column(&mut self, command: &Column) -> Keep {
        match (command.columns, self.opened % 8) {
            (4.., _) => Keep::Close,
            (_, 0) => Keep::Open,
            _ => Keep::For(50),
        }
    }
}

/// Refreshes: three of them at once.
#[derive(Clone, Debug, warpshard_state::State)]
struct Threes {
    left: u32,
}

impl Refresh for Threes {
    fn name(&self) -> &str {
        "threes"
    }

    fn starts(&self, due: &Due) -> bool {
        due.owed > self.left
    }

    fn refreshed(&mut self, due: &Due) {
        self.left = if due.owed == 0 { 2 } else { 0 };
    }
}

/// A topology: one line of routers through all places, row by row.
#[derive(Debug)]
struct OneLine;

impl Topology for OneLine {
    fn wiring(&self, Grid { columns, rows }: Grid) -> Result<Wiring, WiringError> {
        let routers = columns * rows;
        let seats = (0..routers).map(|router| End { router, port: 2 }).collect();
        let links: Vec<Link> = (1..routers).map(|router| (End { router: router - 1, port: 0 }, End { router, port: 1 })).collect();
        let route = |router: u16, terminal: u16| match router.cmp(&terminal) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => 2,
        };
        Wiring::new(format!("line{routers}"), (routers, 3), seats, &links, route)
    }
}

/// An arbiter: the requester that the output served least.
#[derive(Clone, Debug, warpshard_state::State)]
struct LeastServed {
    inputs: usize,
    served: Vec<u64>,
}

impl Arbiter for LeastServed {
    fn name(&self) -> &str {
        "least-served"
    }

    fn grant(&mut self, output: usize, asking: &[Asking]) -> usize {
        let served = &mut self.served[output * self.inputs..];
        let least = (0..asking.len()).min_by_key(|place| served[usize::from(asking[*place].input)]).unwrap_or_default();
        served[usize::from(asking[least].input)] += 1;
        least
    }
}

/// Warps: the slot that this scheduler has issued from least often, of equal ones the oldest warp.
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

/// CTAs: the SM that got its last one longest ago.
#[derive(Clone, Debug, warpshard_state::State)]
struct LongestAgo {
    /// The SMs, the one served longest ago first.
    order: Vec<SmId>,
}

impl CtaOrder for LongestAgo {
    fn name(&self) -> &str {
        "longest-ago"
    }

    fn choose(&self, _: Cycle, rooms: &[CtaRoom]) -> Option<usize> {
        // One SM keeps a place free.
        let place = |room: &CtaRoom| self.order.iter().position(|sm| *sm == room.sm);
        let open = rooms.iter().enumerate().filter(|(_, room)| room.sm.0 != 0 || room.bound == 0);
        open.min_by_key(|(_, room)| place(room)).map(|(at, _)| at)
    }

    fn bound(&mut self, _: Cycle, room: &CtaRoom) {
        self.order.retain(|sm| *sm != room.sm);
        self.order.push(room.sm);
    }
}

/// Addresses: the bits above turn the slices.
#[derive(Debug)]
struct Turned;

impl AddressHash for Turned {
    fn name(&self) -> &str {
        "turned"
    }

    fn slice(&self, plain: u64, above: u64, slices: u64) -> u64 {
        (plain + above % slices) % slices
    }
}

/// All of them.
pub(crate) fn own() -> Own {
    Own::default()
        .with_replacement(MostRecent::new)
        .with_prefetcher(|site: &CacheSite| Following { most: site.degree.into(), degree: 1 })
        .with_dram_order(|_: &DramSite| InTurn { last: PortId(0) })
        .with_page_policy(|_: &DramSite| FewHits { opened: 0 })
        .with_refresh(|_: &DramSite| Threes { left: 2 })
        .with_topology(OneLine)
        .with_cta_order(|site: &GridSite| LongestAgo { order: (0..site.sms as u16).map(SmId).collect() })
        .with_address_hash(Turned)
        .with_arbiter(|site: &SwitchSite| LeastServed { inputs: site.inputs, served: vec![0; site.inputs * site.outputs] })
        .with_warp_order(|_: &WarpSite| Fewest { issues: vec![0; 64] })
}
