//! Tests of the network core cycle by cycle: zero-load latencies, credits, fairness, order, and no lost packets.

use std::sync::Arc;

use warpshard_base::{Cycle, Rng};

use warpshard_seam::MeshSize;

use super::*;

/// A receiver that accepts every packet and records its cycle and tag.
#[derive(Default)]
struct ArrivalRecorder(Vec<(u64, u32)>);

impl Sink for ArrivalRecorder {
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        self.0.push((now.0, packet.tag));
        true
    }

    fn departed(&mut self, _now: Cycle, _lane: usize) {}
}

const MESH_6X6: Topology = Topology::Mesh { columns: 6, rows: 6 };

fn lanes(topology: Topology) -> Vec<SourceLane> {
    (0..topology.terminals()).map(|terminal| SourceLane { terminal: terminal as u16, class: 0 }).collect()
}

fn network(spec: &NetworkSpec) -> Network<1, 8, 32> {
    Network::new(spec, &lanes(spec.topology.clone()))
}

/// Steps from cycle `now` until no packet is in flight, and skips cycles without events.
fn run_dry<const W: usize, const P: usize, const C: usize>(net: &mut Network<W, P, C>, mut now: Cycle, sink: &mut impl Sink) -> Cycle {
    while net.in_flight() > 0 {
        now = net.next_event(now);
        assert!(now != Cycle::NEVER, "the network is deadlocked with {} packets", net.in_flight());
        net.step(now, sink);
        now.0 += 1;
    }
    now
}

/// Returns the latency of a packet alone in the network, from its offer to the ejection of its tail.
fn latency_alone<const W: usize, const P: usize, const C: usize>(
    net: &mut Network<W, P, C>,
    now: &mut Cycle,
    from: usize,
    to: usize,
    flits: u16,
) -> u64 {
    let (start, mut sink) = (*now, ArrivalRecorder::default());
    net.offer(from, to, flits, 7);
    // All credits have returned when the next packet starts.
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
            let spec = NetworkSpec { pipeline, buffers, ..NetworkSpec::new(MESH_6X6) };
            let (mut net, mut now) = (network(&spec), Cycle(0));
            // A packet that does not need to reuse a credit travels without a gap.
            let lengths: &[u16] = if buffers == 4 { &[1, 2, 4] } else { &[1, 5, 16] };
            for &flits in lengths {
                for from in 0..36 {
                    for to in 0..36 {
                        let routers = MESH_6X6.routers_between(from, to) as u64;
                        let latency = latency_alone(&mut net, &mut now, from, to, flits);
                        assert_eq!(latency, 2 + per_router * routers + u64::from(flits) - 1, "{pipeline:?} {from} -> {to}, {flits} flits");
                    }
                }
            }
        }
    }
}

#[test]
fn a_crossbar_of_virtual_channels_has_the_latency_of_one_router() {
    let topology = Topology::Crossbar { ports: 36 };
    for (spec, latency) in [
        (NetworkSpec::new(topology.clone()), 6),
        // With two rounds per cycle, both allocations take one cycle and the switch the next one.
        (NetworkSpec { buffers: 64, speedup: 2, credit_delay: 0, ..NetworkSpec::new(topology.clone()).with_vcs(1) }, 5),
    ] {
        let (mut net, mut now) = (Network::<4, 64, 256>::new(&spec, &lanes(topology.clone())), Cycle(0));
        for (from, to) in [(0, 0), (3, 35), (35, 1)] {
            assert_eq!(latency_alone(&mut net, &mut now, from, to, 1), latency);
        }
    }
}

#[test]
fn credit_round_trips_limit_the_rate_of_a_flow() {
    // Between routers a buffer slot is reused 6 cycles after its allocation: one to win, one in the switch, two on the channel, one to
    // leave the next router and one for the credit.
    for (buffers, cycles_per_100) in [(2, 300), (3, 200), (4, 150), (6, 100), (8, 100)] {
        let spec = NetworkSpec { buffers, ..NetworkSpec::new(MESH_6X6).with_vcs(1) };
        let (mut net, mut now) = (network(&spec), Cycle(0));
        let short = latency_alone(&mut net, &mut now, 0, 5, 600);
        let long = latency_alone(&mut net, &mut now, 0, 5, 1200);
        assert_eq!(long - short, 6 * cycles_per_100, "{buffers} places");
    }
}

#[test]
fn packets_of_five_flits_wait_for_credits_of_four_slots() {
    let spec = NetworkSpec::new(MESH_6X6);
    let (mut net, mut now) = (network(&spec), Cycle(0));
    // The fifth flit waits until the buffer slot of the head is free again. This wait costs two cycles in total for any distance: flits
    // behind a head need no virtual channel and so have a spare cycle at every router.
    let measured: Vec<u64> = [0, 1, 2, 5].iter().map(|to| latency_alone(&mut net, &mut now, 0, *to, 5)).collect();
    assert_eq!(measured, [1, 2, 3, 6].map(|routers| 2 + 4 * routers + 4 + 2));
}

#[test]
fn one_virtual_channel_passes_a_packet_of_one_flit_every_other_cycle() {
    for (vcs, cycles) in [(1, 200), (2, 100)] {
        let spec = NetworkSpec { buffers: 16, ..NetworkSpec::new(MESH_6X6).with_vcs(vcs) };
        let (mut net, mut sink) = (network(&spec), ArrivalRecorder::default());
        (0..101).for_each(|tag| net.offer(0, 5, 1, tag));
        run_dry(&mut net, Cycle(0), &mut sink);
        assert_eq!(sink.0.last().unwrap().0 - sink.0[0].0, cycles, "{vcs} virtual channels");
    }
}

#[test]
fn sources_with_a_common_channel_share_it() {
    for pipeline in [Pipeline::Speculative, Pipeline::Three, Pipeline::Four] {
        let spec = NetworkSpec { pipeline, ..NetworkSpec::new(Topology::Mesh { columns: 3, rows: 3 }) };
        let (mut net, mut sink) = (network(&spec), ArrivalRecorder::default());
        let sources = [1, 3, 5, 7];
        for _ in 0..1000 {
            sources.iter().for_each(|source| net.offer(*source, 4, 1, *source as u32));
        }
        (0..1000).for_each(|now| net.step(Cycle(now), &mut sink));
        let shares: Vec<usize> = sources.iter().map(|source| sink.0.iter().filter(|(_, tag)| *tag == *source as u32).count()).collect();
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(shares.iter().sum::<usize>() > 985 && most - least <= 3, "{pipeline:?}: {shares:?}");
    }
}

fn torus(columns: u16, rows: u16) -> Topology {
    let wiring = warpshard_seam::Topology::wiring(&Torus, MeshSize { columns, rows });
    Topology::Wired(Wired(Arc::new(wiring.expect("a torus of that size"))))
}

#[test]
fn overloaded_networks_deliver_every_packet_once() {
    let specs = [
        NetworkSpec::new(Topology::Mesh { columns: 4, rows: 3 }),
        NetworkSpec { pipeline: Pipeline::Speculative, ..NetworkSpec::new(Topology::Mesh { columns: 4, rows: 3 }) },
        NetworkSpec { pipeline: Pipeline::Four, buffers: 1, ..NetworkSpec::new(Topology::Mesh { columns: 4, rows: 3 }).with_vcs(1) },
        NetworkSpec { buffers: 7, speedup: 2, credit_delay: 0, ..NetworkSpec::new(Topology::Crossbar { ports: 12 }).with_vcs(3) },
        NetworkSpec::new(Topology::Mesh { columns: 4, rows: 3 }).partitioned(&[2, 1]),
        // With one virtual channel of one flit, a cycle of links would deadlock.
        NetworkSpec { buffers: 1, ..NetworkSpec::new(torus(4, 3)).with_vcs(1) },
    ];
    for spec in specs {
        // Routers that are larger than the network needs give the same result.
        let large = run_overloaded::<4, 64, 256>(&spec);
        if spec.size() == Size::Mesh4 {
            assert_eq!(run_overloaded::<1, 8, 32>(&spec), large, "{spec:?}");
        }
    }
}

/// Offers many packets in one cycle and returns the arrival of each.
fn run_overloaded<const W: usize, const P: usize, const C: usize>(spec: &NetworkSpec) -> Vec<(u64, u32)> {
    let mut lanes = lanes(spec.topology.clone());
    lanes.iter_mut().for_each(|lane| lane.class = (usize::from(lane.terminal) % spec.classes.len()) as u8);
    let (mut net, mut sink, mut rng) = (Network::<W, P, C>::new(spec, &lanes), ArrivalRecorder::default(), Rng::keyed(5, &[]));
    let packets = 3000;
    for tag in 0..packets {
        let (from, to, flits) = (rng.below(12) as usize, rng.below(12) as usize, 1 + rng.below(9) as u16);
        net.offer(from, to, flits, tag);
    }
    run_dry(&mut net, Cycle(0), &mut sink);
    let mut tags: Vec<u32> = sink.0.iter().map(|(_, tag)| *tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..packets).collect::<Vec<_>>(), "{spec:?}");
    sink.0.sort_unstable();
    sink.0
}

#[test]
fn cycles_without_events_can_be_skipped() {
    let spec = NetworkSpec { pipeline: Pipeline::Speculative, ..NetworkSpec::new(MESH_6X6) };
    let run = |skip: bool| {
        let (mut net, mut sink, mut rng) = (network(&spec), ArrivalRecorder::default(), Rng::keyed(9, &[]));
        for burst in 0..20u64 {
            for tag in 0..15 {
                let (from, to, flits) = (rng.below(36) as usize, rng.below(36) as usize, 1 + rng.below(6) as u16);
                net.offer(from, to, flits, tag);
            }
            let mut now = burst * 60;
            while now < (burst + 1) * 60 {
                if !skip || net.next_event(Cycle(now)) == Cycle(now) {
                    net.step(Cycle(now), &mut sink);
                }
                now += 1;
            }
        }
        (sink.0, net.activity())
    };
    assert_eq!(run(true), run(false));
}

/// A receiver that rejects packets of lane 0 and records the cycles of the others.
#[derive(Default)]
struct RejectingSink(Vec<u64>);

impl Sink for RejectingSink {
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        if packet.lane != 0 {
            self.0.push(now.0);
        }
        packet.lane != 0
    }

    fn departed(&mut self, _now: Cycle, _lane: usize) {}
}

#[test]
fn a_blocked_traffic_class_does_not_block_the_other() {
    for (counts, passes) in [(&[3, 1][..], true), (&[2, 2], true), (&[1, 3], true), (&[4], false)] {
        let spec = NetworkSpec::new(MESH_6X6).partitioned(counts);
        let lanes = [SourceLane { terminal: 0, class: 0 }, SourceLane { terminal: 0, class: (counts.len() - 1) as u8 }];
        let (mut net, mut sink) = (Network::<1, 8, 32>::new(&spec, &lanes), RejectingSink::default());
        (0..200).for_each(|tag| net.offer(0, 4, 1, tag));
        (0..500).for_each(|now| net.step(Cycle(now), &mut sink));
        (0..100).for_each(|tag| net.offer(1, 4, 1, tag));
        (500..1500).for_each(|now| net.step(Cycle(now), &mut sink));
        assert_eq!(sink.0.len(), if passes { 100 } else { 0 }, "{counts:?}");
        assert!(net.next_event(Cycle(1500)) == Cycle::NEVER, "there is no event before the receiver accepts a packet");
    }
}

#[test]
fn impossible_networks_are_rejected_with_a_reason() {
    let spec = NetworkSpec::new(MESH_6X6);
    let bad = [
        spec.clone().with_vcs(17),
        NetworkSpec { buffers: 0, ..spec.clone() },
        NetworkSpec { speedup: 0, ..spec.clone() },
        NetworkSpec { topology: Topology::Mesh { columns: 0, rows: 3 }, ..spec.clone() },
        NetworkSpec { classes: vec![VcRange { first: 0, count: 3 }, VcRange { first: 2, count: 2 }], ..spec.clone() },
        NetworkSpec { topology: Topology::Crossbar { ports: 129 }, ..spec.clone() },
    ];
    for spec in bad {
        assert!(spec.check().is_err(), "{spec:?}");
    }
    assert_eq!(spec.check(), Ok(()));
}
