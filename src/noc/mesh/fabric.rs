//! What passes through routers: a router's rounds of allocation, its switch, and the channels behind it.
//!
//! With one round per cycle, everything that leaves a router arrives after the same number of cycles, so it is collected and
//! put on the channels once per cycle. With more rounds, channels carry one flit and one credit per cycle, and what a router
//! sends waits for them.

use crate::base::Cycle;

use super::allocator::Round;
use super::bits::Bits;
use super::packet::Packets;
use super::router::{Router, Shape, State};
use super::spec::{NetworkSpec, Pipeline};
use super::wheel::{Flit, Place, Wheel};

/// What routers did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Flits through a router's switch.
    pub hops: u64,
    /// Requests for a switch that lost, summed over the cycles.
    pub refused: u64,
    /// Times that a packet used up the credits of its virtual channel with flits behind.
    pub starved: u64,
}

/// What the routers of a network share.
#[derive(Clone, Debug)]
pub(super) struct Fabric<const W: usize> {
    pub(super) shape: Shape<W>,
    pub(super) packets: Packets,
    /// What is on the channels.
    pub(super) flits: Wheel<(Place, Flit)>,
    pub(super) credits: Wheel<Place>,
    pub(super) activity: Activity,
    /// What has left routers in this cycle: flits, and credits for routers and for terminals.
    flits_sent: Vec<(Place, Flit)>,
    credits_sent: [Vec<Place>; 2],
    /// The port by which a packet leaves a router for a terminal.
    routes: Box<[u8]>,
    terminals: usize,
    round: Round<W>,
    speculative: bool,
    speedup: u8,
    /// Cycles from a flit's or a credit's leaving to its arrival, and from a credit's arrival at a router to its use.
    hop: u64,
    credit_delay: u64,
}

impl<const W: usize> Fabric<W> {
    /// The fabric of routers whose ports have room for `room` virtual channels.
    pub(super) fn new(spec: &NetworkSpec, room: usize) -> Self {
        let (nodes, terminals) = (spec.topology.routers(), spec.topology.terminals());
        let route = |index: usize| spec.topology.route(index / terminals, index % terminals) as u8;
        // A flit may wait for its channel behind all flits that the receiver has room for.
        let queued = if spec.speedup > 1 { usize::from(spec.buffers) * usize::from(spec.vcs) } else { 0 };
        let horizon = queued + 4 + usize::from(spec.channel_latency) + usize::from(spec.credit_delay);
        Self {
            shape: Shape::new(spec, room),
            packets: Packets::default(),
            flits: Wheel::new(horizon),
            credits: Wheel::new(horizon),
            activity: Activity::default(),
            flits_sent: Vec::new(),
            credits_sent: [Vec::new(), Vec::new()],
            routes: (0..nodes * terminals).map(route).collect(),
            terminals,
            round: Round::new(),
            speculative: spec.pipeline == Pipeline::Speculative,
            speedup: spec.speedup,
            hop: 1 + u64::from(spec.channel_latency),
            credit_delay: u64::from(spec.credit_delay),
        }
    }

    /// A flit arrives at a router.
    #[inline]
    pub(super) fn arrive<const P: usize, const C: usize>(&self, router: &mut Router<W, P, C>, node: usize, channel: usize, flit: Flit) {
        if router.push(&self.shape, channel, flit) {
            debug_assert!(flit.is_head(), "router {node}: a packet without a head");
            self.begin(router, node, channel, flit);
        }
    }

    /// The packet at the front of a channel begins its way through the router.
    #[inline]
    fn begin<const P: usize, const C: usize>(&self, router: &mut Router<W, P, C>, node: usize, channel: usize, head: Flit) {
        let dest = usize::from(self.packets.get(head.packet()).dest);
        router.begin(&self.shape, channel, usize::from(self.routes[node * self.terminals + dest]));
    }

    /// A cycle of a router. Says whether the next may do anything without an arrival.
    #[inline]
    pub(super) fn step<const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, node: usize, now: Cycle) -> bool {
        for _ in 1..self.speedup {
            self.round(router, node, now, false);
        }
        self.round(router, node, now, true)
    }

    /// One round of a router's stages. Says whether the next round may do anything without an arrival.
    #[inline]
    fn round<const P: usize, const C: usize>(&mut self, router: &mut Router<W, P, C>, node: usize, now: Cycle, last: bool) -> bool {
        self.round.allocate_switch(router, &self.shape, self.speculative);
        self.activity.refused += u64::from(self.round.refused);
        self.round.allocate_vcs(router, &self.shape);
        let routed = !router.routing.is_empty();
        if routed {
            for channel in std::mem::replace(&mut router.routing, Bits::EMPTY).iter() {
                router.wait(channel);
            }
        }
        let granted = self.round.granted;
        for channel in granted.iter() {
            self.traverse(router, node, channel, now, last);
        }
        let stuck = !self.round.took_vcs && granted.is_empty() && !routed;
        !stuck && !router.is_quiet()
    }

    /// Sends the oldest flit of a channel through the switch, unless it had speculated and got no virtual channel or credit.
    #[inline]
    fn traverse<const P: usize, const C: usize>(
        &mut self,
        router: &mut Router<W, P, C>,
        node: usize,
        channel: usize,
        now: Cycle,
        last: bool,
    ) {
        let input = router.channel(channel).input;
        let to = usize::from(input.to);
        let (from, out) = (router.port_of(channel), router.port_of(to));
        let (vc, out_vc) = (router.vc_of(channel), router.vc_of(to));
        router.served(channel, out);
        let output = &mut router.channel_mut(to).output;
        if self.speculative && (input.state != State::Active || output.credits == 0) {
            return;
        }
        debug_assert!(input.state == State::Active && output.credits > 0, "router {node}: channel {channel} won without asking");
        output.credits -= 1;
        let credits = output.credits;
        let flit = router.pop(&self.shape, channel);
        self.activity.hops += 1;

        let (down, up) = (router.port(out).peer.plus(out_vc), router.port(from).peer.plus(vc));
        if self.speedup == 1 {
            self.flits_sent.push((down, flit));
            self.credits_sent[usize::from(up.is_terminal())].push(up);
        } else {
            // The switch is passed in the next round.
            let sent = (now.0 + u64::from(last)).max(router.pace[out].flits);
            router.pace[out].flits = sent + 1;
            self.flits.put(Cycle(sent + self.hop), (down, flit));
            let returned = now.0.max(router.pace[from].credits);
            router.pace[from].credits = returned + 1;
            let delay = if up.is_terminal() { 0 } else { self.credit_delay };
            self.credits.put(Cycle(returned + self.hop + delay), up);
        }

        let empty = input.len == 1;
        let port = router.port_mut(out);
        if credits == 0 {
            port.credited &= !(1 << out_vc);
        }
        if flit.is_tail() {
            port.free |= 1 << out_vc;
            router.clear_ready(out, channel);
            router.channel_mut(channel).input.state = State::Idle;
            if !empty {
                let head = router.front(&self.shape, channel);
                self.begin(router, node, channel, head);
            }
        } else if empty || credits == 0 {
            self.activity.starved += u64::from(!empty);
            router.clear_ready(out, channel);
        }
    }

    /// Puts on the channels what has left routers in cycle `now`. The switch takes a cycle.
    #[inline]
    pub(super) fn send(&mut self, now: Cycle) {
        let [to_routers, to_terminals] = &mut self.credits_sent;
        self.flits.put_all(now.after(1 + self.hop), &mut self.flits_sent);
        self.credits.put_all(now.after(self.hop + self.credit_delay), to_routers);
        self.credits.put_all(now.after(self.hop), to_terminals);
    }
}
