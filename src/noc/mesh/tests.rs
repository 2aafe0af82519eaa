//! The core of the network cycle by cycle: zero-load latencies, credits, fairness, order, and nothing lost.

use crate::base::Cycle;

use super::*;

/// A receiver that takes everything and notes when: (cycle, tag).
#[derive(Default)]
struct Taken(Vec<(u64, u32)>);

impl Sink for Taken {
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        self.0.push((now.0, packet.tag));
        true
    }

    fn departed(&mut self, _now: Cycle, _lane: usize) {}
}

const MESH: Topology = Topology::Mesh { columns: 6, rows: 6 };

fn lanes(topology: Topology) -> Vec<Lane> {
    (0..topology.terminals()).map(|terminal| Lane { terminal: terminal as u16, class: 0 }).collect()
}

fn network(spec: &NetworkSpec) -> Network<1> {
    Network::new(spec, &lanes(spec.topology))
}

/// Steps from cycle `now` until nothing is under way, leaving out cycles without events.
fn run_dry<const W: usize>(net: &mut Network<W>, mut now: Cycle, sink: &mut impl Sink) -> Cycle {
    while net.in_flight() > 0 {
        now = net.next_event(now);
        assert!(now != Cycle::NEVER, "the network stands still with {} packets", net.in_flight());
        net.step(now, sink);
        now.0 += 1;
    }
    now
}

/// Latency of a packet alone in the network, from its offer to its tail's ejection.
fn alone<const W: usize>(net: &mut Network<W>, now: &mut Cycle, from: usize, to: usize, flits: u16) -> u64 {
    let (start, mut sink) = (*now, Taken::default());
    net.offer(from, to, flits, 7);
    // All credits are home again when the next packet starts.
    *now = run_dry(net, start, &mut sink).after(50);
    let mut at = start;
    while net.next_event(at) < *now {
        at = net.next_event(at);
        net.step(at, &mut sink);
        at.0 += 1;
    }
    assert_eq!(sink.0.len(), 1);
    sink.0[0].0 - start.0
}

#[test]
fn the_zero_load_latency_of_every_pair_is_the_formula() {
    for (pipeline, per_router) in [(Pipeline::Speculative, 3), (Pipeline::Three, 4), (Pipeline::Four, 5)] {
        for buffers in [4, 16] {
            let spec = NetworkSpec { pipeline, buffers, ..NetworkSpec::new(MESH) };
            let (mut net, mut now) = (network(&spec), Cycle(0));
            // A packet that needs no credit back travels without a gap.
            let lengths: &[u16] = if buffers == 4 { &[1, 2, 4] } else { &[1, 5, 16] };
            for &flits in lengths {
                for from in 0..36 {
                    for to in 0..36 {
                        let routers = MESH.routers_between(from, to) as u64;
                        let latency = alone(&mut net, &mut now, from, to, flits);
                        assert_eq!(latency, 2 + per_router * routers + u64::from(flits) - 1, "{pipeline:?} {from} -> {to}, {flits} flits");
                    }
                }
            }
        }
    }
}
