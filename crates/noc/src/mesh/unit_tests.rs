//! Tests of subnets as units: equal results for any division into spans, credits in both directions, and packets that fit the width of
//! their class.

use std::sync::Arc;

use proptest::prelude::*;

use warpshard_base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PortId, SectorMask, SliceId, Tick, UnitId};
use warpshard_config::machine::{Arbiter, Crossbar, Noc, Topology as NocTopology, VcCrossbar};
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{Credit, EventKind, MemOp, MemPacket, Outbox, PacketPart, Payload};

use super::super::{Direction, OutputQueued, Subnet, SubnetPorts};
use super::*;

const SENDERS: usize = 6;
const RECEIVERS: usize = 4;
const CREDIT_OUT: u16 = 100;
const DATA_OUT: u16 = 200;
const CREDIT_IN: u16 = 300;

fn spec() -> SubnetSpec {
    SubnetSpec {
        network: NetworkSpec::new(Topology::Mesh { columns: 3, rows: 3 }).partitioned(&[3, 1]),
        // Two senders share a terminal, and two receivers share a terminal.
        senders: vec![0, 0, 1, 3, 5, 7],
        receivers: vec![2, 6, 6, 8],
        class_of_core: vec![0, 0, 0, 1, 1, 1],
        flit_bytes: vec![24, 8],
        apart: false,
        header_bytes: 8,
        input_queue: 8,
    }
}

fn ports(output_capacity: u32) -> SubnetPorts {
    let (data_in, credit_out, data_out, credit_in) = (LinkId(0), LinkId(CREDIT_OUT), LinkId(DATA_OUT), LinkId(CREDIT_IN));
    SubnetPorts { data_in, credit_out, data_out, credit_in, output_capacity }
}

fn outbox() -> Outbox {
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    Outbox::new(Arc::from(vec![route; 400]), vec![0], 1)
}

fn packet(sm: usize, slice: usize, token: u32, op: MemOp) -> MemPacket {
    let (port, slice, part) = (PortId(sm as u16), SliceId(slice as u16), PacketPart::new(KernelIndex(0), SectorMask(3)));
    MemPacket { addr: Addr(0), token, bytes: u32::MAX, port, slice, part, op }
}

/// Returns the state of a subnet at the end, as text.
fn state_text_at_end(net: &mut impl Unit, at: Cycle) -> String {
    net.settle(at);
    let mut counters: Vec<u64> = Vec::new();
    net.visit_counters(&mut counters);
    format!("{counters:?} {:?} {:?}", net.waiting(), net.next_event())
}

/// Sends `arrivals` and returns a credit 9 cycles after each packet that left; returns the packets that left, and the counters.
fn simulate(
    net: &mut impl Unit<Payload = Payload, Event = EventKind>,
    arrivals: &[(u64, usize, usize)],
    end: u64,
    spans: &[u64],
    skip: bool,
) -> (Vec<(u64, u16, u32)>, String) {
    let (mut out, mut events, mut now, mut next) = (outbox(), Vec::new(), 0, 0);
    let mut spans = spans.iter().cycle();
    while now < end {
        let until = (now + spans.next().unwrap()).min(end);
        while next < arrivals.len() && arrivals[next].0 < until + 5 {
            let (at, input, output) = arrivals[next];
            let op = if next % 3 == 0 { MemOp::Write } else { MemOp::Read };
            net.deliver(LinkId(input as u16), Cycle(at), &Payload::Mem(packet(input, output, next as u32, op)));
            next += 1;
        }
        net.run(Cycle(until), skip, &mut out);
        for sent in out.batch(0).drain(..) {
            let at = u64::from(sent.at) - 1;
            match sent.payload {
                Payload::Mem(p) => {
                    events.push((at, sent.link.0, p.token));
                    let credit = Payload::Credit(Credit { queue: 0, count: 1 });
                    net.deliver(LinkId(CREDIT_IN + sent.link.0 - DATA_OUT), Cycle(at + 9), &credit);
                }
                Payload::Credit(c) => events.push((at, sent.link.0, u32::from(c.count))),
                other => panic!("{other:?} left a subnet"),
            }
        }
        now = until;
    }
    (events, state_text_at_end(net, Cycle(end)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn results_do_not_depend_on_spans_or_skipping(
        mut arrivals in prop::collection::vec((0u64..150, 0..SENDERS, 0..RECEIVERS), 1..80),
        spans in prop::collection::vec(1u64..9, 1..10),
        skip in any::<bool>(),
        capacity in prop::sample::select(vec![1u32, 4, 100]),
        queued in any::<bool>(),
        apart in any::<bool>(),
    ) {
        arrivals.sort_by_key(|(at, ..)| *at);
        let run = |spans: &[u64], skip: bool| {
            if queued {
                let noc = Noc { input_queue: 8, output_queue: capacity, link_latency: 1, arbiter: Arbiter::Islip, crossbar: Crossbar::Fifo, vc: VcCrossbar::NONE, topology: NocTopology::Crossbar, mesh: None };
                let mut net = Subnet::<OutputQueued>::new(Direction::Request, &noc, SENDERS, RECEIVERS, ports(capacity));
                simulate(&mut net, &arrivals, 2500, spans, skip)
            } else {
                simulate(&mut MeshNet::new(Direction::Request, &SubnetSpec { apart, ..spec() }, ports(capacity)), &arrivals, 2500, spans, skip)
            }
        };
        let (events, counted) = run(&spans, skip);
        let (again, counted_again) = run(&[1], false);
        prop_assert_eq!(&events, &again);
        prop_assert_eq!(counted, counted_again);
        let mut tokens: Vec<u32> = events.iter().filter(|(_, link, _)| *link >= DATA_OUT).map(|(.., token)| *token).collect();
        tokens.sort_unstable();
        prop_assert_eq!(tokens, (0..arrivals.len() as u32).collect::<Vec<_>>());
        let credits: u32 = events.iter().filter(|(_, link, _)| *link < DATA_OUT).map(|(.., count)| count).sum();
        prop_assert_eq!(credits as usize, arrivals.len());
    }
}

#[test]
fn a_packet_has_the_flits_that_its_bytes_need_in_its_class() {
    let spec = spec();
    let flits = |direction, sm, op| spec.flits(direction, &packet(sm, 0, 0, op));
    // A packet has 8 bytes of header, and 64 bytes of data if it carries data.
    assert_eq!([flits(Direction::Request, 0, MemOp::Read), flits(Direction::Reply, 0, MemOp::Read)], [1, 3]);
    assert_eq!([flits(Direction::Request, 5, MemOp::Read), flits(Direction::Reply, 5, MemOp::Read)], [1, 9]);
    assert_eq!([flits(Direction::Request, 0, MemOp::Write), flits(Direction::Reply, 0, MemOp::Write)], [3, 1]);
    assert_eq!([flits(Direction::Reply, 0, MemOp::Atomic), flits(Direction::Reply, 0, MemOp::Reduction)], [3, 1]);
}

#[test]
fn the_latency_of_a_packet_follows_from_its_route() {
    let mut net = MeshNet::new(Direction::Request, &spec(), ports(4));
    // The path from terminal 0 to terminal 8 of a 3x3 mesh has 5 routers.
    let (events, _) = simulate(&mut net, &[(10, 0, 3)], 100, &[7], true);
    let arrival = events.iter().find(|(_, link, _)| *link == DATA_OUT + 3).unwrap().0;
    assert_eq!(arrival, 10 + 2 + 4 * 5 + 2, "a write has 3 flits");
    assert_eq!(net.counters().flits, 3);
    assert_eq!(net.counters().packet_cycles, 24);
}

#[test]
fn classes_with_private_wires_do_not_wait_for_each_other() {
    // Both classes send from the left end of a row to its right end, over the same channels.
    let row = |apart| SubnetSpec {
        network: NetworkSpec { buffers: 16, ..NetworkSpec::new(Topology::Mesh { columns: 3, rows: 1 }).partitioned(&[3, 1]) },
        senders: vec![0; SENDERS],
        receivers: vec![2; RECEIVERS],
        apart,
        ..spec()
    };
    let last = |apart, senders: &[usize]| {
        let arrivals: Vec<(u64, usize, usize)> = (0..30).flat_map(|n| senders.iter().map(move |sender| (n, *sender, 0))).collect();
        let (events, _) = simulate(&mut MeshNet::new(Direction::Request, &row(apart), ports(1000)), &arrivals, 2000, &[7], true);
        let of_core = |core: usize| {
            let mine = |(_, link, token): &&(u64, u16, u32)| *link >= DATA_OUT && senders[*token as usize % senders.len()] == core;
            events.iter().filter(mine).map(|(at, ..)| *at).max().unwrap()
        };
        senders.iter().map(|sender| of_core(*sender)).collect::<Vec<_>>()
    };
    let (alone, other, both, shared) = (last(true, &[0]), last(true, &[5]), last(true, &[0, 5]), last(false, &[0, 5]));
    assert_eq!(alone, last(false, &[0]));
    // The packet number decides which packets are writes, so this differs between one sender and two.
    assert!(
        both.iter().zip(&shared).all(|(apart, shared)| apart <= shared) && both != shared,
        "{both:?} with private networks, {shared:?} with a shared one"
    );
    assert!(both[0] <= alone[0] + 8 && both[1] <= other[0] + 40, "{both:?} together, {alone:?} and {other:?} alone");
}

#[test]
fn a_full_receiver_is_named() {
    let (mut net, mut out) = (MeshNet::new(Direction::Request, &spec(), ports(1)), outbox());
    for token in 0..3 {
        net.deliver(LinkId(2), Cycle(0), &Payload::Mem(packet(2, 1, token, MemOp::Read)));
    }
    net.run(Cycle(100), true, &mut out);
    assert_eq!(net.waiting(), ["2 packets are in flight at cycle 100: receivers 1 are full"]);
    assert_eq!(net.next_event(), Cycle::NEVER);
    assert_eq!(net.counters().packets, 1);
}

#[test]
fn output_queues_serve_in_the_order_of_arrival_without_blocking_each_other() {
    let noc = Noc {
        input_queue: 8,
        output_queue: 8,
        link_latency: 1,
        arbiter: Arbiter::Islip,
        crossbar: Crossbar::Fifo,
        vc: VcCrossbar::NONE,
        topology: NocTopology::Crossbar,
        mesh: None,
    };
    let mut net = Subnet::<OutputQueued>::new(Direction::Request, &noc, SENDERS, RECEIVERS, ports(100));
    let arrivals = [(3, 4, 0), (3, 1, 0), (3, 1, 0), (3, 1, 2), (4, 0, 0)];
    let (events, _) = simulate(&mut net, &arrivals, 50, &[5], true);
    let packets: Vec<_> =
        events.into_iter().filter(|(_, link, _)| *link >= DATA_OUT).map(|(at, link, token)| (at, link - DATA_OUT, token)).collect();
    assert_eq!(packets, [(3, 0, 1), (3, 2, 3), (4, 0, 2), (5, 0, 0), (6, 0, 4)]);
}
