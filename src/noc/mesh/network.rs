//! A network of routers and terminals, cycle by cycle.
//!
//! The order of a cycle: flits and credits arrive; terminals send; ejection buffers drain; routers allocate and forward.
//! Times are those of BookSim's `iq` router: what is sent in cycle t is received in t + 1 + channel latency, a credit is
//! used `credit_delay` cycles after it was received, and a flit that won the switch in t leaves in t + 1.
//! A router that granted nothing cannot grant before something arrives, and sleeps until then.

use crate::base::Cycle;

use super::fabric::{Activity, Fabric};
use super::interface::{Ejectors, Injectors, Lane};
use super::packet::Packet;
use super::router::Router;
use super::spec::NetworkSpec;
use super::topology::Topology;
use super::wheel::{Flit, Place};

/// Who receives packets.
pub trait Sink {
    /// Whether the receiver takes a packet whose tail has come, now. If not, it is asked again after [`Network::wake`].
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool;
    /// The tail of the oldest packet of a lane left its source queue.
    fn departed(&mut self, now: Cycle, lane: usize);
}

/// A network whose routers have room for P ports and C channels, in sets of W words: the sizes that [`NetworkSpec::size`]
/// names. The inner loops are fast because the compiler knows them.
#[derive(Clone, Debug)]
pub struct Network<const W: usize, const P: usize, const C: usize> {
    topology: Topology,
    routers: Box<[Router<W, P, C>]>,
    awake: Box<[u64]>,
    fabric: Fabric<W>,
    lanes: Box<[Lane]>,
    injectors: Injectors,
    ejectors: Ejectors,
    /// Room for what arrives.
    flits: Vec<(Place, Flit)>,
    credits: Vec<Place>,
}

impl<const W: usize, const P: usize, const C: usize> Network<W, P, C> {
    /// A network without traffic, whose packets come from `lanes`.
    ///
    /// # Panics
    /// When [`NetworkSpec::check`] refuses it, its routers are larger, or a lane has no terminal or class.
    pub fn new(spec: &NetworkSpec, lanes: &[Lane]) -> Self {
        let checked = spec.check();
        assert!(checked.is_ok(), "{checked:?}");
        let terminals = spec.topology.terminals();
        let known = |lane: &Lane| usize::from(lane.terminal) < terminals && usize::from(lane.class) < spec.classes.len();
        assert!(lanes.iter().all(known), "a lane without a terminal or a class");
        assert!(spec.topology.ports() <= P && usize::from(spec.vcs) <= C / P, "{}: a router has {P} ports", spec.topology);
        let nodes = spec.topology.routers();
        let fabric = Fabric::new(spec, C / P);
        Self {
            topology: spec.topology,
            routers: (0..nodes).map(|router| Router::new(spec, &fabric.shape, router)).collect(),
            awake: vec![0; nodes.div_ceil(64)].into(),
            fabric,
            lanes: lanes.into(),
            injectors: Injectors::new(spec, lanes, C / P),
            ejectors: Ejectors::new(spec, C / P),
            flits: Vec::new(),
            credits: Vec::new(),
        }
    }

    /// Puts a packet of `flits` flits for terminal `dest` into the source queue of a lane; its head may leave in this cycle.
    #[inline]
    pub fn offer(&mut self, lane: usize, dest: usize, flits: u16, tag: u32) {
        debug_assert!(flits > 0 && dest < self.topology.terminals(), "{}: a packet of {flits} flits to terminal {dest}", self.topology);
        let handle = self.fabric.packets.insert(Packet { tag, entered: 0, lane: lane as u16, dest: dest as u16, flits });
        self.injectors.offer(lane, usize::from(self.lanes[lane].terminal), handle);
    }

    /// Packets in a lane's source queue, the one being sent included.
    pub fn waiting(&self, lane: usize) -> usize {
        self.injectors.waiting(lane)
    }

    /// Packets in source queues, in the network and in ejection buffers.
    pub fn in_flight(&self) -> usize {
        self.fabric.packets.len()
    }

    /// Flits that receivers took so far.
    pub fn flits_ejected(&self) -> u64 {
        self.ejectors.flits
    }

    /// What routers did so far.
    pub fn activity(&self) -> Activity {
        self.fabric.activity
    }

    /// The receivers at a terminal, one of which refused a packet, have room again.
    pub fn wake(&mut self, terminal: usize) {
        self.ejectors.wake(terminal);
    }

    /// The first cycle at or after `now` in which anything happens, unless packets are offered or receivers wake.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let busy = self.awake.iter().any(|word| *word != 0) || self.injectors.is_awake() || self.ejectors.is_awake();
        if busy { now } else { self.fabric.flits.next(now).min(self.fabric.credits.next(now)) }
    }

    /// Simulates cycle `now`. Cycles before [`Network::next_event`] may be left out.
    pub fn step<S: Sink>(&mut self, now: Cycle, sink: &mut S) {
        let Self { routers, awake, fabric, injectors, ejectors, .. } = self;
        if fabric.flits.take(now, &mut self.flits) {
            for (place, flit) in self.flits.drain(..) {
                if place.is_terminal() {
                    ejectors.arrive(place, flit, now, &mut fabric.packets, &mut fabric.credits, sink);
                    continue;
                }
                let node = place.node();
                let router = &mut routers[node];
                fabric.arrive(router, node, place.channel(), flit);
                rouse(router, node, awake);
            }
        }
        if fabric.credits.take(now, &mut self.credits) {
            for place in self.credits.drain(..) {
                let (node, channel) = (place.node(), place.channel());
                if place.is_terminal() {
                    injectors.credit(node, channel);
                    continue;
                }
                let router = &mut routers[node];
                if router.credit(&fabric.shape, channel) {
                    rouse(router, node, awake);
                }
            }
        }
        injectors.inject(now, &mut fabric.packets, &mut fabric.flits, sink);
        ejectors.drain(now, &mut fabric.packets, &mut fabric.credits, sink);
        for (word, awake) in awake.iter_mut().enumerate() {
            let mut left = *awake;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let node = word * 64 + bit as usize;
                let router = &mut routers[node];
                router.awake = fabric.step(router, node, now);
                if !router.awake {
                    *awake &= !(1 << bit);
                }
            }
        }
        fabric.send(now);
    }
}

/// Lets the network look at a router in this cycle.
#[inline]
fn rouse<const W: usize, const P: usize, const C: usize>(router: &mut Router<W, P, C>, node: usize, awake: &mut [u64]) {
    if !router.awake {
        router.awake = true;
        awake[node / 64] |= 1 << (node % 64);
    }
}
