//! A network of routers and terminals, cycle by cycle.
//!
//! The order of a cycle: flits and credits arrive; terminals send; ejection buffers drain; routers allocate and forward.
//! Times are those of BookSim's `iq` router: what is sent in cycle t is received in t + 1 + channel latency, a credit is
//! used `credit_delay` cycles after it was received, and a flit that won the switch in t leaves in t + 1.
//! A router that granted nothing cannot grant before something arrives, and sleeps until then.

use crate::base::Cycle;

use super::allocator::{Round, take_vcs};
use super::interface::{Ejectors, Injectors, Lane};
use super::packet::{Packet, Packets};
use super::router::{Routers, State};
use super::spec::{NetworkSpec, Pipeline};
use super::wheel::{Slot, Wheel};

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
    routers: Routers<W>,
    routes: Box<[u16]>,
    terminals: usize,
    lanes: Box<[Lane]>,
    packets: Packets,
    injectors: Injectors,
    ejectors: Ejectors,
    wheel: Wheel,
    arrived: Slot,
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
        let routers = Routers::new(spec);
        let nodes = spec.topology.routers();
        let route = |index: usize| spec.topology.route(index / terminals, index % terminals) as u16;
        // A flit may wait for its channel behind all flits that the receiver has room for.
        let queued = if spec.speedup > 1 { usize::from(spec.buffers) * usize::from(spec.vcs) } else { 0 };
        let horizon = queued + 4 + usize::from(spec.channel_latency) + usize::from(spec.credit_delay);
        Self {
            round: Round::new(routers.ports, routers.channels),
            routers,
            routes: (0..nodes * terminals).map(route).collect(),
            terminals,
            lanes: lanes.into(),
            packets: Packets::default(),
            injectors: Injectors::new(spec, lanes),
            ejectors: Ejectors::new(spec),
            wheel: Wheel::new(horizon),
            arrived: Slot::default(),
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
        if busy { now } else { self.wheel.next(now) }
    }

    /// Simulates cycle `now`. Cycles before [`Network::next_event`] may be left out.
    pub fn step<S: Sink>(&mut self, now: Cycle, sink: &mut S) {
        if self.wheel.take(now, &mut self.arrived) {
            self.arrive(now, sink);
        }
        self.injectors.inject(now, &mut self.packets, &mut self.wheel, sink);
        self.ejectors.drain(now, &mut self.packets, &mut self.wheel, sink);
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
        for i in 0..self.arrived.flits.len() {
            let (place, flit) = self.arrived.flits[i];
            let (node, channel) = (place.node(), place.channel());
            if place.is_terminal() {
                self.ejectors.arrive(node, channel, flit, now, &mut self.packets, &mut self.wheel, sink);
                continue;
            }
            self.awake[node / 64] |= 1 << (node % 64);
            if self.routers.push(node, channel, flit) {
                debug_assert!(flit.is_head(), "router {node}: a packet without a head at {now}");
                self.begin(node, channel);
            }
        }
        for i in 0..self.arrived.credits.len() {
            let place = self.arrived.credits[i];
            let (node, channel) = (place.node(), place.channel());
            if place.is_terminal() {
                self.injectors.credit(node, channel);
            } else {
                self.awake[node / 64] |= 1 << (node % 64);
                self.routers.credit(node, channel);
            }
        }
        self.arrived.flits.clear();
        self.arrived.credits.clear();
    }

    /// The packet at the front of a channel begins its way through the router.
    #[inline]
    fn begin(&mut self, router: usize, channel: usize) {
        let flit = self.routers.front(router * self.routers.channels + channel);
        let dest = usize::from(self.packets.get(flit.packet()).dest);
        self.routers.begin(router, channel, usize::from(self.routes[router * self.terminals + dest]));
    }

    /// One round of a router's stages. Says whether the next round may do anything without an arrival.
    fn round(&mut self, router: usize, now: Cycle, last: bool) -> bool {
        let speculative = self.spec.pipeline == Pipeline::Speculative;
        self.round.allocate_vcs(&mut self.routers, router);
        self.round.allocate_switch(&mut self.routers, router, speculative);
        self.activity.refused += u64::from(self.round.refused);
        take_vcs(&self.round.vc_grants, &mut self.routers, router);
        let routed = std::mem::replace(&mut self.routers.all[router].routing, super::bits::Bits::EMPTY);
        for channel in routed.iter() {
            self.routers.wait(router, channel);
        }
        for i in 0..self.round.switch_grants.len() {
            let channel = usize::from(self.round.switch_grants[i]);
            self.traverse(router, channel, now, last);
        }
        let left = &self.routers.all[router];
        let done = left.ready.is_empty() && left.wanted.is_empty() && left.routing.is_empty();
        let stuck = self.round.vc_grants.is_empty() && self.round.switch_grants.is_empty() && routed.is_empty();
        !done && !stuck
    }

    /// Sends the oldest flit of a channel through the switch, unless it had speculated and got no virtual channel or credit.
    #[inline]
    fn traverse(&mut self, router: usize, channel: usize, now: Cycle, last: bool) {
        let routers = &mut self.routers;
        let index = router * routers.channels + channel;
        let input = routers.inputs[index];
        let (out, out_vc) = (usize::from(input.out), usize::from(input.out_vc));
        let output = &mut routers.outputs[router * routers.channels + out * routers.vcs + out_vc];
        if input.state != State::Active || output.credits == 0 {
            debug_assert!(self.spec.pipeline == Pipeline::Speculative, "router {router}: channel {channel} won without asking");
            return;
        }
        output.credits -= 1;
        let credits = output.credits;
        let flit = routers.pop(index);
        self.activity.hops += 1;

        let port = &mut routers.output_ports[router * routers.ports + out];
        if credits == 0 {
            port.credited &= !(1 << out_vc);
        }
        let hop = 1 + u64::from(self.spec.channel_latency);
        // The switch is passed in the next round.
        let mut sent = now.0 + u64::from(last);
        if self.spec.speedup > 1 {
            sent = sent.max(port.flit_free);
            port.flit_free = sent + 1;
        }
        self.wheel.flit(Cycle(sent + hop), port.down.plus(out_vc), flit);

        let from = &mut routers.input_ports[router * routers.ports + usize::from(routers.port_of[channel])];
        let mut returned = now.0;
        if self.spec.speedup > 1 {
            returned = returned.max(from.credit_free);
            from.credit_free = returned + 1;
        }
        let delay = if from.up.is_terminal() { 0 } else { u64::from(self.spec.credit_delay) };
        self.wheel.credit(Cycle(returned + hop + delay), from.up.plus(usize::from(routers.vc_of[channel])));

        let empty = input.len == 1;
        if flit.is_tail() {
            port.free |= 1 << out_vc;
            routers.all[router].ready.clear(channel);
            routers.inputs[index].state = State::Idle;
            if !empty {
                self.begin(router, channel);
            }
        } else if empty || credits == 0 {
            self.activity.starved += u64::from(!empty);
            routers.all[router].ready.clear(channel);
        }
    }
}
