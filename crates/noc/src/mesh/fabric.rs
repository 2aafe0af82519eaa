//! The data path: rounds of allocation, the switches, and the channels between routers.
//!
//! With one round per cycle, all flits and credits that leave routers arrive after the same number of cycles, so they are collected and put
//! on the channels once per cycle. With several rounds, a channel carries one flit and one credit per cycle, and flits and credits wait for
//! a free cycle.

use warpshard_base::Cycle;

use super::allocator::AllocationRound;
use super::packet::Packets;
use super::requests::RouterRequests;
use super::router::{Router, RouterShape, VcState};
use super::spec::{NetworkSpec, Pipeline};
use super::wheel::{ArrivalWheel, Flit, VcAddress};

/// Counters of routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct RouterActivity {
    /// Flits through a router's switch.
    pub hops: u64,
    /// Requests for a switch that lost the arbitration, summed over the cycles.
    pub refused: u64,
    /// The number of times that a packet used the last credit of its virtual channel and had flits left.
    pub starved: u64,
}

/// The flits or credits on the channels of a network, by destination: routers or terminals.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct FabricChannels<T> {
    pub(super) to_routers: ArrivalWheel<T>,
    pub(super) to_terminals: ArrivalWheel<T>,
    /// Flits or credits that left routers in this cycle, to routers and to terminals.
    sent_items: [Vec<T>; 2],
}

impl<T: Clone> FabricChannels<T> {
    fn new(horizon: usize) -> Self {
        Self { to_routers: ArrivalWheel::new(horizon), to_terminals: ArrivalWheel::new(horizon), sent_items: [Vec::new(), Vec::new()] }
    }

    #[inline]
    fn schedule(&mut self, at: Cycle, terminal: bool, what: T) {
        if terminal { self.to_terminals.schedule(at, what) } else { self.to_routers.schedule(at, what) }
    }

    /// Puts all flits or credits that have left routers on the channels.
    #[inline]
    fn send(&mut self, at_routers: Cycle, at_terminals: Cycle) {
        let [to_routers, to_terminals] = &mut self.sent_items;
        self.to_routers.put_all(at_routers, to_routers);
        self.to_terminals.put_all(at_terminals, to_terminals);
    }

    fn next(&self, now: Cycle) -> Cycle {
        self.to_routers.next(now).min(self.to_terminals.next(now))
    }
}

/// The routing table: the port by which a packet leaves a router for a terminal.
#[derive(Clone, Debug, warpshard_state::State)]
struct RouteTable {
    ports: Box<[u8]>,
    terminals: usize,
}

impl RouteTable {
    #[inline]
    fn output_port(&self, packets: &Packets, node: usize, head: Flit) -> usize {
        usize::from(self.ports[node * self.terminals + usize::from(packets.get(head.packet()).dest)])
    }
}

/// The routers of a network and the channels between them.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Fabric<const W: usize, const P: usize, const C: usize> {
    shape: RouterShape<W>,
    routers: Box<[Router<W, P, C>]>,
    requests: RouterRequests,
    round: AllocationRound,
    /// True if the last round changed nothing: no later round changes anything before a flit or credit arrives.
    stuck: bool,
    pub(super) packets: Packets,
    pub(super) flits: FabricChannels<(VcAddress, Flit)>,
    pub(super) credits: FabricChannels<VcAddress>,
    pub(super) activity: RouterActivity,
    route_table: RouteTable,
    speculative: bool,
    speedup: u8,
    /// Cycles on a channel, and cycles from the arrival of a credit at a router to its use.
    hop: u64,
    credit_delay: u64,
}

impl<const W: usize, const P: usize, const C: usize> Fabric<W, P, C> {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        let (nodes, terminals) = (spec.topology.routers(), spec.topology.terminals());
        let route = |index: usize| spec.topology.route(index / terminals, index % terminals) as u8;
        // Each flit of a full receiver may be ahead of a flit that waits for its channel.
        let queued = if spec.speedup > 1 { usize::from(spec.buffers) * usize::from(spec.vcs) } else { 0 };
        let horizon = queued + 4 + usize::from(spec.channel_latency) + usize::from(spec.credit_delay);
        let shape = RouterShape::new(spec, C / P);
        Self {
            routers: (0..nodes).map(|router| Router::new(spec, &shape, router)).collect(),
            shape,
            requests: RouterRequests::new(nodes * P),
            round: AllocationRound::default(),
            stuck: false,
            packets: Packets::default(),
            flits: FabricChannels::new(horizon),
            credits: FabricChannels::new(horizon),
            activity: RouterActivity::default(),
            route_table: RouteTable { ports: (0..nodes * terminals).map(route).collect(), terminals },
            speculative: spec.pipeline == Pipeline::Speculative,
            speedup: spec.speedup,
            hop: 1 + u64::from(spec.channel_latency),
            credit_delay: u64::from(spec.credit_delay),
        }
    }

    /// Returns the first cycle at or after `now` in which a router has work or a flit or credit arrives.
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        if !self.stuck && !self.requests.is_empty() { now } else { self.flits.next(now).min(self.credits.next(now)) }
    }

    /// Receives a flit at a router.
    #[inline]
    pub(super) fn arrive(&mut self, place: VcAddress, flit: Flit) {
        let (node, channel) = (place.node(), place.channel());
        self.stuck = false;
        let router = &mut self.routers[node];
        if router.push(&mut self.requests, &self.shape, channel, flit) {
            debug_assert!(flit.is_head(), "router {node}: a packet without a head");
            router.set_output(&mut self.requests, &self.shape, channel, self.route_table.output_port(&self.packets, node, flit));
        }
    }

    /// Receives a credit at a router.
    #[inline]
    pub(super) fn credit(&mut self, place: VcAddress) {
        if self.routers[place.node()].credit(&mut self.requests, &self.shape, place.channel()) {
            self.stuck = false;
        }
    }

    /// Simulates one cycle of all routers.
    #[inline]
    pub(super) fn step(&mut self, now: Cycle) {
        for round in 1..=self.speedup {
            self.run_round(now, round == self.speedup);
        }
        if self.speedup == 1 {
            // A flit takes one cycle in the switch.
            let flits = now.after(1 + self.hop);
            self.flits.send(flits, flits);
            self.credits.send(now.after(self.hop + self.credit_delay), now.after(self.hop));
        }
    }

    /// Simulates one round of the routers' stages.
    #[inline]
    fn run_round(&mut self, now: Cycle, last: bool) {
        self.round.allocate_switch(&mut self.routers, &self.requests, &self.shape, self.speculative);
        self.activity.refused += u64::from(self.round.refused);
        self.round.allocate_vcs(&mut self.routers, &mut self.requests, &self.shape);
        let mut routing = std::mem::take(&mut self.requests.routing);
        self.stuck = !self.round.took_vcs && self.round.granted_channels.is_empty() && routing.is_empty();
        for at in routing.drain(..) {
            let at = at as usize;
            self.routers[at / C].request_vc(&mut self.requests, at % C);
        }
        self.requests.routing = routing;
        for i in 0..self.round.granted_channels.len() {
            self.traverse(self.round.granted_channels[i] as usize, now, last);
        }
    }

    /// Sends the oldest flit of a channel through the switch. A speculative flit without a virtual channel or credit is not sent.
    #[inline]
    fn traverse(&mut self, at: usize, now: Cycle, last: bool) {
        let (node, channel) = (at / C, at % C);
        let router = &mut self.routers[node];
        let input = router.channel(channel).input;
        let to = usize::from(input.to);
        let (from, out) = (router.port_of(channel), router.port_of(to));
        let (vc, out_vc) = (router.vc_of(channel), router.vc_of(to));
        router.advance_pointers(channel, out);
        let output = &mut router.channel_mut(to).output;
        if self.speculative && (input.state != VcState::Active || output.credits == 0) {
            return;
        }
        debug_assert!(input.state == VcState::Active && output.credits > 0, "router {node}: channel {channel} won without a request");
        output.credits -= 1;
        let credits = output.credits;
        let flit = router.pop(&self.shape, channel);
        self.activity.hops += 1;

        let (down, up) = (router.port(out).peer.offset_by(out_vc), router.port(from).peer.offset_by(vc));
        if self.speedup == 1 {
            self.flits.sent_items[usize::from(down.is_terminal())].push((down, flit));
            self.credits.sent_items[usize::from(up.is_terminal())].push(up);
        } else {
            // The flit passes the switch in the next round.
            let sent = (now.0 + u64::from(last)).max(router.pace[out].flits);
            router.pace[out].flits = sent + 1;
            self.flits.schedule(Cycle(sent + self.hop), down.is_terminal(), (down, flit));
            let returned = now.0.max(router.pace[from].credits);
            router.pace[from].credits = returned + 1;
            let delay = if up.is_terminal() { 0 } else { self.credit_delay };
            self.credits.schedule(Cycle(returned + self.hop + delay), up.is_terminal(), up);
        }

        let empty = input.len == 1;
        let port = router.port_mut(out);
        if credits == 0 {
            port.credited &= !(1 << out_vc);
        }
        if flit.is_tail() {
            port.free |= 1 << out_vc;
            router.clear_ready(&mut self.requests, out, channel);
            router.channel_mut(channel).input.state = VcState::Idle;
            if !empty {
                let head = router.front(&self.shape, channel);
                router.set_output(&mut self.requests, &self.shape, channel, self.route_table.output_port(&self.packets, node, head));
            }
        } else if empty || credits == 0 {
            self.activity.starved += u64::from(!empty);
            router.clear_ready(&mut self.requests, out, channel);
        }
    }
}
