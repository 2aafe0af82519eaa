//! A network of routers and terminals, cycle by cycle.
//!
//! The order of a cycle: flits and credits arrive; terminals send; ejection buffers drain; routers allocate and forward.
//! Times are those of BookSim's `iq` router: what is sent in cycle t is received in t + 1 + channel latency, a credit is
//! used `credit_delay` cycles after it was received, and a flit that won the switch in t leaves in t + 1.
//! Routers that granted nothing cannot grant before something arrives, and sleep until then.

use warpshard_base::Cycle;

use super::fabric::{Activity, Fabric};
use super::interface::{Ejectors, Injectors, Lane};
use super::packet::Packet;
use super::spec::NetworkSpec;
use super::topology::Topology;
use super::wheel::{Flit, Place};

/// The receivers of packets.
pub trait Sink {
    /// Whether the receiver accepts a packet whose tail has arrived. If not, it is offered again after [`Network::wake`].
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool;
    /// The tail of the oldest packet of a lane left its source queue.
    fn departed(&mut self, now: Cycle, lane: usize);
}

/// A network whose routers have room for P ports and C channels, in sets of W words: the sizes that [`NetworkSpec::size`]
/// names. These constants make the inner loops fast.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Network<const W: usize, const P: usize, const C: usize> {
    topology: Topology,
    fabric: Fabric<W, P, C>,
    lanes: Box<[Lane]>,
    injectors: Injectors,
    ejectors: Ejectors,
    /// A buffer for arrivals.
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
        Self {
            topology: spec.topology.clone(),
            fabric: Fabric::new(spec),
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

    /// Flits ejected so far.
    pub fn flits_ejected(&self) -> u64 {
        self.ejectors.flits
    }

    /// The routers' counters so far.
    pub fn activity(&self) -> Activity {
        self.fabric.activity
    }

    /// A receiver at a terminal that refused a packet has room again.
    pub fn wake(&mut self, terminal: usize) {
        self.ejectors.wake(terminal);
    }

    /// The first cycle at or after `now` in which anything happens, unless packets are offered or receivers wake.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let busy = self.injectors.is_awake() || self.ejectors.is_awake();
        if busy { now } else { self.fabric.next_event(now) }
    }

    /// Simulates cycle `now`. Cycles before [`Network::next_event`] may be skipped.
    pub fn step<S: Sink>(&mut self, now: Cycle, sink: &mut S) {
        let Self { fabric, injectors, ejectors, .. } = self;
        if fabric.flits.to_routers.take(now, &mut self.flits) {
            self.flits.drain(..).for_each(|(place, flit)| fabric.arrive(place, flit));
        }
        if fabric.flits.to_terminals.take(now, &mut self.flits) {
            for (place, flit) in self.flits.drain(..) {
                ejectors.arrive(place, flit, now, &mut fabric.packets, &mut fabric.credits.to_routers, sink);
            }
        }
        if fabric.credits.to_routers.take(now, &mut self.credits) {
            self.credits.drain(..).for_each(|place| fabric.credit(place));
        }
        if fabric.credits.to_terminals.take(now, &mut self.credits) {
            self.credits.drain(..).for_each(|place| injectors.credit(place.node(), place.channel()));
        }
        injectors.inject(now, &mut fabric.packets, &mut fabric.flits.to_routers, sink);
        ejectors.drain(now, &mut fabric.packets, &mut fabric.credits.to_routers, sink);
        fabric.step(now);
    }
}
