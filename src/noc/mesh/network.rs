//! A network of routers and terminals, cycle by cycle.
//!
//! The order of a cycle: flits and credits arrive; terminals send; ejection buffers drain; routers allocate and forward.
//! Times are those of BookSim's `iq` router: what is sent in cycle t is received in t + 1 + channel latency, a credit is
//! used `credit_delay` cycles after it was received, and a flit that won the switch in t leaves in t + 1.
//! A router that granted nothing cannot grant before something arrives, and sleeps until then.

use crate::base::Cycle;

use super::allocator::Round;
use super::bits::Bits;
use super::interface::{Ejectors, Injectors, Lane};
use super::packet::{Packet, Packets};
use super::router::{Router, Shape, State};
use super::spec::{NetworkSpec, Pipeline};
use super::wheel::{Flit, Place, Wheel};

/// Who receives packets.
pub trait Sink {
    /// Whether the receiver takes a packet whose tail has come, now. If not, it is asked again after [`Network::wake`].
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool;
    /// The tail of the oldest packet of a lane left its source queue.
    fn departed(&mut self, now: Cycle, lane: usize);
}

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

/// A network whose routers have at most `64 * W` input virtual channels.
#[derive(Clone, Debug)]
pub struct Network<const W: usize> {
    spec: NetworkSpec,
    shape: Shape<W>,
    routers: Box<[Router<W>]>,
    /// The port by which a packet leaves a router for a terminal.
    routes: Box<[u16]>,
    terminals: usize,
    lanes: Box<[Lane]>,
    packets: Packets,
    injectors: Injectors,
    ejectors: Ejectors,
    /// What is on the channels, and room for what arrives.
    flits: Wheel<(Place, Flit)>,
    credits: Wheel<Place>,
    flits_arrived: Vec<(Place, Flit)>,
    credits_arrived: Vec<Place>,
    awake: Box<[u64]>,
    round: Round<W>,
    activity: Activity,
}

impl<const W: usize> Network<W> {
    /// A network without traffic, whose packets come from `lanes`.
    ///
    /// # Panics
    /// When [`NetworkSpec::check`] refuses it, it does not fit `W` words, or a lane has no terminal or class.
    pub fn new(spec: &NetworkSpec, lanes: &[Lane]) -> Self {
        let checked = spec.check();
        assert!(checked.is_ok(), "{checked:?}");
        let terminals = spec.topology.terminals();
        let known = |lane: &Lane| usize::from(lane.terminal) < terminals && usize::from(lane.class) < spec.classes.len();
        assert!(lanes.iter().all(known), "a lane without a terminal or a class");
        let shape = Shape::new(spec);
        let nodes = spec.topology.routers();
        let route = |index: usize| spec.topology.route(index / terminals, index % terminals) as u16;
        // A flit may wait for its channel behind all flits that the receiver has room for.
        let queued = if spec.speedup > 1 { usize::from(spec.buffers) * usize::from(spec.vcs) } else { 0 };
        let horizon = queued + 4 + usize::from(spec.channel_latency) + usize::from(spec.credit_delay);
        Self {
            round: Round::new(shape.ports),
            routers: (0..nodes).map(|router| Router::new(spec, &shape, router)).collect(),
            shape,
            routes: (0..nodes * terminals).map(route).collect(),
            terminals,
            lanes: lanes.into(),
            packets: Packets::default(),
            injectors: Injectors::new(spec, lanes),
            ejectors: Ejectors::new(spec),
            flits: Wheel::new(horizon),
            credits: Wheel::new(horizon),
            flits_arrived: Vec::new(),
            credits_arrived: Vec::new(),
            awake: vec![0; nodes.div_ceil(64)].into(),
            activity: Activity::default(),
            spec: spec.clone(),
        }
    }

    /// Puts a packet of `flits` flits for terminal `dest` into the source queue of a lane; its head may leave in this cycle.
    #[inline]
    pub fn offer(&mut self, lane: usize, dest: usize, flits: u16, tag: u32) {
        debug_assert!(flits > 0 && dest < self.terminals, "{}: a packet of {flits} flits to terminal {dest}", self.spec.topology);
        let handle = self.packets.insert(Packet { tag, entered: 0, lane: lane as u16, dest: dest as u16, flits });
        self.injectors.offer(lane, usize::from(self.lanes[lane].terminal), handle);
    }

    /// Packets in a lane's source queue, the one being sent included.
    pub fn waiting(&self, lane: usize) -> usize {
        self.injectors.waiting(lane)
    }

    /// Packets in source queues, in the network and in ejection buffers.
    pub fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Flits that receivers took so far.
    pub fn flits_ejected(&self) -> u64 {
        self.ejectors.flits
    }

    /// What routers did so far.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// The receivers at a terminal, one of which refused a packet, have room again.
    pub fn wake(&mut self, terminal: usize) {
        self.ejectors.wake(terminal);
    }

    /// The first cycle at or after `now` in which anything happens, unless packets are offered or receivers wake.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let busy = self.awake.iter().any(|word| *word != 0) || self.injectors.is_awake() || self.ejectors.is_awake();
        if busy { now } else { self.flits.next(now).min(self.credits.next(now)) }
    }

    /// Simulates cycle `now`. Cycles before [`Network::next_event`] may be left out.
    pub fn step<S: Sink>(&mut self, now: Cycle, sink: &mut S) {
        if self.flits.take(now, &mut self.flits_arrived) {
            self.arrive(now, sink);
        }
        if self.credits.take(now, &mut self.credits_arrived) {
            self.take_credits();
        }
        self.injectors.inject(now, &mut self.packets, &mut self.flits, sink);
        self.ejectors.drain(now, &mut self.packets, &mut self.credits, sink);
        for word in 0..self.awake.len() {
            let mut left = self.awake[word];
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let router = word * 64 + bit as usize;
                let mut goes_on = false;
                for round in 1..=self.spec.speedup {
                    goes_on = self.round(router, now, round == self.spec.speedup);
                }
                if !goes_on {
                    self.awake[word] &= !(1 << bit);
                }
            }
        }
    }

    fn arrive<S: Sink>(&mut self, now: Cycle, sink: &mut S) {
        for &(place, flit) in &self.flits_arrived {
            let (node, channel) = (place.node(), place.channel());
            if place.is_terminal() {
                self.ejectors.arrive(place, flit, now, &mut self.packets, &mut self.credits, sink);
                continue;
            }
            self.awake[node / 64] |= 1 << (node % 64);
            let router = &mut self.routers[node];
            if router.push(&self.shape, channel, flit) {
                debug_assert!(flit.is_head(), "router {node}: a packet without a head at {now}");
                let dest = usize::from(self.packets.get(flit.packet()).dest);
                router.begin(&self.shape, channel, usize::from(self.routes[node * self.terminals + dest]));
            }
        }
        self.flits_arrived.clear();
    }

    fn take_credits(&mut self) {
        for &place in &self.credits_arrived {
            let (node, channel) = (place.node(), place.channel());
            if place.is_terminal() {
                self.injectors.credit(node, channel);
            } else if self.routers[node].credit(&self.shape, channel) {
                self.awake[node / 64] |= 1 << (node % 64);
            }
        }
        self.credits_arrived.clear();
    }

    /// One round of a router's stages. Says whether the next round may do anything without an arrival.
    fn round(&mut self, node: usize, now: Cycle, last: bool) -> bool {
        let speculative = self.spec.pipeline == Pipeline::Speculative;
        let router = &mut self.routers[node];
        self.round.allocate_switch(router, &self.shape, speculative);
        self.activity.refused += u64::from(self.round.refused);
        self.round.allocate_vcs(router, &self.shape);
        let routed = std::mem::replace(&mut router.routing, Bits::EMPTY);
        for channel in routed.iter() {
            router.wait(&self.shape, channel);
        }
        let granted = self.round.granted;
        for channel in granted.iter() {
            self.traverse(node, channel, now, last);
        }
        let stuck = !self.round.took_vcs && granted.is_empty() && routed.is_empty();
        !stuck && !self.routers[node].is_quiet()
    }

    /// Sends the oldest flit of a channel through the switch, unless it had speculated and got no virtual channel or credit.
    #[inline]
    fn traverse(&mut self, node: usize, channel: usize, now: Cycle, last: bool) {
        let (router, shape) = (&mut self.routers[node], &self.shape);
        let input = router.channels[channel].input;
        let to = usize::from(input.to);
        let (out, out_vc) = (shape.port(to), shape.vc(to));
        let output = &mut router.channels[to].output;
        if input.state != State::Active || output.credits == 0 {
            debug_assert!(self.spec.pipeline == Pipeline::Speculative, "router {node}: channel {channel} won without asking");
            return;
        }
        output.credits -= 1;
        let credits = output.credits;
        let flit = router.pop(shape, channel);
        self.activity.hops += 1;

        let (port, from) = (&mut router.ports[out], shape.port(channel));
        if credits == 0 {
            port.credited &= !(1 << out_vc);
        }
        let (down, up) = (port.peer.plus(out_vc), router.ports[from].peer.plus(shape.vc(channel)));
        // The switch is passed in the next round.
        let (mut sent, mut returned) = (now.0 + u64::from(last), now.0);
        if self.spec.speedup > 1 {
            sent = sent.max(router.pace[out].flits);
            router.pace[out].flits = sent + 1;
            returned = returned.max(router.pace[from].credits);
            router.pace[from].credits = returned + 1;
        }
        let hop = 1 + u64::from(self.spec.channel_latency);
        self.flits.put(Cycle(sent + hop), (down, flit));
        let delay = if up.is_terminal() { 0 } else { u64::from(self.spec.credit_delay) };
        self.credits.put(Cycle(returned + hop + delay), up);

        let empty = input.len == 1;
        if flit.is_tail() {
            router.ports[out].free |= 1 << out_vc;
            router.clear_ready(out, channel);
            router.channels[channel].input.state = State::Idle;
            if !empty {
                let dest = usize::from(self.packets.get(router.front(shape, channel).packet()).dest);
                router.begin(shape, channel, usize::from(self.routes[node * self.terminals + dest]));
            }
        } else if empty || credits == 0 {
            self.activity.starved += u64::from(!empty);
            router.clear_ready(out, channel);
        }
    }
}
