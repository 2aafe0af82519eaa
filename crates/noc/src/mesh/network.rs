//! A network of routers and terminals, simulated cycle by cycle.
//!
//! The order of a cycle: flits and credits arrive; terminals send; ejection buffers drain; routers allocate and forward. The timing follows
//! BookSim's `iq` router: a flit sent in cycle t is received in t + 1 + channel latency, a credit is used `credit_delay` cycles after its
//! arrival, and a flit that wins the switch in t leaves in t + 1. A router that granted nothing cannot grant before a flit or credit
//! arrives, and sleeps until then.

use warpshard_base::Cycle;

use super::fabric::{Fabric, RouterActivity};
use super::interface::{Ejectors, Injectors, SourceLane};
use super::packet::Packet;
use super::spec::NetworkSpec;
use super::topology::Topology;
use super::wheel::{Flit, VcAddress};

/// The receivers of packets.
pub trait Sink {
    /// Returns true if the receiver accepts a packet whose tail has arrived. A rejected packet is offered again after [`Network::wake`].
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool;
    /// Notifies the sink that the tail of the oldest packet of a lane left its source queue.
    fn departed(&mut self, now: Cycle, lane: usize);
}

/// A network whose routers have at most P ports and C channels, in sets of W words: the sizes that [`NetworkSpec::size`] names. These
/// constants make the inner loops fast.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Network<const W: usize, const P: usize, const C: usize> {
    topology: Topology,
    fabric: Fabric<W, P, C>,
    lanes: Box<[SourceLane]>,
    injectors: Injectors,
    ejectors: Ejectors,
    /// A reusable buffer for arrivals.
    flits: Vec<(VcAddress, Flit)>,
    credits: Vec<VcAddress>,
}

impl<const W: usize, const P: usize, const C: usize> Network<W, P, C> {
    /// Returns a network without traffic, whose packets come from `lanes`.
    ///
    /// # Panics
    /// If [`NetworkSpec::check`] rejects it, its routers are larger than the constants allow, or a lane has no terminal or class.
    pub fn new(spec: &NetworkSpec, lanes: &[SourceLane]) -> Self {
        let checked = spec.check();
        assert!(checked.is_ok(), "{checked:?}");
        let terminals = spec.topology.terminals();
        let known = |lane: &SourceLane| usize::from(lane.terminal) < terminals && usize::from(lane.class) < spec.classes.len();
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

    /// Appends a packet of `flits` flits for terminal `dest` to the source queue of a lane; its head may leave in this cycle.
    #[inline]
    pub fn offer(&mut self, lane: usize, dest: usize, flits: u16, tag: u32) {
        debug_assert!(flits > 0 && dest < self.topology.terminals(), "{}: a packet of {flits} flits to terminal {dest}", self.topology);
        let handle = self.fabric.packets.insert(Packet { tag, entered: 0, lane: lane as u16, dest: dest as u16, flits });
        self.injectors.offer(lane, usize::from(self.lanes[lane].terminal), handle);
    }

    /// Returns the number of packets in a lane's source queue, including the one being sent.
    pub fn waiting(&self, lane: usize) -> usize {
        self.injectors.waiting(lane)
    }

    /// Returns the number of packets in source queues, in the network and in ejection buffers.
    pub fn in_flight(&self) -> usize {
        self.fabric.packets.len()
    }

    /// Returns the number of flits ejected.
    pub fn flits_ejected(&self) -> u64 {
        self.ejectors.flits
    }

    /// Returns the routers' counters.
    pub fn activity(&self) -> RouterActivity {
        self.fabric.activity
    }

    /// Wakes a terminal whose receiver rejected a packet and has free space again.
    pub fn wake(&mut self, terminal: usize) {
        self.ejectors.wake(terminal);
    }

    /// Returns the first cycle at or after `now` in which the network has work, if no packets are offered and no receiver wakes.
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
