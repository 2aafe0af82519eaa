//! Tests of the crossbar: cycle by cycle, against a model that scans, and in spans of any length.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use warpshard_base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PortId, SectorMask, SliceId, Tick, UnitId};
use warpshard_config::machine::{Arbiter, Crossbar, Noc, Topology, VcCrossbar};
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{Credit, MemOp, MemPacket, Outbox, PacketPart, Payload};

use super::*;

const INPUTS: usize = 5;
const OUTPUTS: usize = 3;
const DATA_IN: u16 = 0;
const CREDIT_OUT: u16 = 100;
const DATA_OUT: u16 = 200;
const CREDIT_IN: u16 = 300;

fn subnet(direction: Direction, arbiter: Arbiter, output_capacity: u32, input_queue: u32) -> Subnet<Fifo> {
    let spec = Noc {
        input_queue,
        output_queue: output_capacity,
        link_latency: 1,
        arbiter,
        crossbar: Crossbar::Fifo,
        vc: VcCrossbar::NONE,
        topology: Topology::Crossbar,
        mesh: None,
    };
    let ports = SubnetPorts {
        data_in: LinkId(DATA_IN),
        credit_out: LinkId(CREDIT_OUT),
        data_out: LinkId(DATA_OUT),
        credit_in: LinkId(CREDIT_IN),
        output_capacity,
    };
    Subnet::new(direction, &spec, INPUTS, OUTPUTS, ports)
}

fn outbox() -> Outbox {
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    Outbox::new(Arc::from(vec![route; 400]), vec![0], 1)
}

fn packet(output: usize, token: u32) -> MemPacket {
    MemPacket {
        addr: Addr(0),
        token,
        bytes: u32::MAX,
        port: PortId(output as u16),
        slice: SliceId(output as u16),
        part: PacketPart::new(KernelIndex(0), SectorMask(1)),
        op: MemOp::Read,
    }
}

fn send(net: &mut Subnet<Fifo>, at: u64, input: usize, output: usize, token: u32) {
    net.deliver(LinkId(DATA_IN + input as u16), Cycle(at), &Payload::Mem(packet(output, token)));
}

/// Returns the messages that left: (cycle of sending, link, token or credit count).
fn sent(out: &mut Outbox) -> Vec<(u64, u16, u32)> {
    out.batch(0)
        .drain(..)
        .map(|s| match s.payload {
            Payload::Mem(p) => (u64::from(s.at) - 1, s.link.0, p.token),
            Payload::Credit(c) => (u64::from(s.at) - 1, s.link.0, u32::from(c.count)),
            other => panic!("{other:?} left a crossbar"),
        })
        .collect()
}

fn packets(out: &mut Outbox) -> Vec<(u64, u16, u32)> {
    sent(out).into_iter().filter(|(_, link, _)| *link >= DATA_OUT).map(|(at, link, token)| (at, link - DATA_OUT, token)).collect()
}

#[test]
fn a_packet_is_granted_in_the_cycle_in_which_it_becomes_visible() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 8, 64), outbox());
    send(&mut net, 7, 2, 1, 42);
    assert_eq!(net.next_event(), Cycle(7));
    net.run(Cycle(100), true, &mut out);
    assert_eq!(packets(&mut out), [(7, 1, 42)]);
    assert_eq!(net.next_event(), Cycle::NEVER);
}

#[test]
fn an_output_serves_its_inputs_in_turn() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 80, 64), outbox());
    for input in 0..3 {
        for n in 0..3 {
            send(&mut net, 0, input, 0, (input * 10 + n) as u32);
        }
    }
    net.run(Cycle(9), true, &mut out);
    let tokens: Vec<_> = packets(&mut out).into_iter().map(|(.., token)| token).collect();
    assert_eq!(tokens, [0, 10, 20, 1, 11, 21, 2, 12, 22]);
    assert_eq!(net.switch().counters().conflicts, 2 * 7 + 1);
}

#[test]
fn an_input_may_be_granted_again_by_a_later_output_in_the_same_cycle() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 8, 64), outbox());
    send(&mut net, 0, 0, 0, 1);
    send(&mut net, 0, 0, 2, 2);
    send(&mut net, 0, 0, 1, 3);
    net.run(Cycle(4), true, &mut out);
    assert_eq!(packets(&mut out), [(0, 0, 1), (0, 2, 2), (1, 1, 3)]);
}

#[test]
fn round_robin_takes_one_packet_per_input_and_rotates_with_the_cycle() {
    let (mut net, mut out) = (subnet(Direction::Reply, Arbiter::RoundRobin, 8, 64), outbox());
    send(&mut net, 4, 0, 0, 1);
    send(&mut net, 4, 0, 2, 2);
    send(&mut net, 4, 1, 0, 3);
    net.run(Cycle(9), true, &mut out);
    // SMs have the numbers 0 to 2 and slices 3 to 7, so slice 1 has the turn in cycle 4.
    assert_eq!(packets(&mut out), [(4, 0, 3), (5, 0, 1), (6, 2, 2)]);
}

#[test]
fn by_age_an_output_serves_the_oldest_packet() {
    let granted = |arbiter, spans: usize| {
        let (mut net, mut out) = (subnet(Direction::Request, arbiter, 100, 100), outbox());
        // Three packets wait at input 3 before three packets arrive at input 0, which has the lower number and the turn.
        for token in 0..3 {
            send(&mut net, 5, 3, 1, token);
            send(&mut net, 6, 0, 1, 10 + token);
        }
        (0..30).step_by(spans).for_each(|until| net.run(Cycle(until + spans as u64), true, &mut out));
        packets(&mut out).into_iter().map(|(_, _, token)| token).collect::<Vec<_>>()
    };
    assert_eq!(granted(Arbiter::Age, 30), [0, 1, 2, 10, 11, 12]);
    assert_eq!(granted(Arbiter::Age, 1), granted(Arbiter::Age, 30));
    assert_eq!(granted(Arbiter::Islip, 30), [0, 10, 1, 11, 2, 12]);
}

#[test]
fn the_packet_behind_a_blocked_one_waits_although_its_output_is_free() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 1, 64), outbox());
    send(&mut net, 0, 0, 0, 1);
    send(&mut net, 0, 0, 0, 2);
    send(&mut net, 0, 0, 1, 3);
    net.run(Cycle(10), true, &mut out);
    assert_eq!(packets(&mut out), [(0, 0, 1)]);
    assert_eq!(net.next_event(), Cycle::NEVER);
    assert_eq!(net.waiting().len(), 1);
    assert!(net.waiting()[0].contains("output 0 since cycle 0: the receiver's queue is full"), "{:?}", net.waiting());
    net.deliver(LinkId(CREDIT_IN), Cycle(20), &Payload::Credit(Credit { queue: 0, count: 1 }));
    net.run(Cycle(30), true, &mut out);
    assert_eq!(packets(&mut out), [(20, 0, 2), (20, 1, 3)]);
    assert_eq!(net.switch().counters().credit_stalls, 19);
}

#[test]
fn slots_are_returned_in_batches() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 80, 64), outbox());
    for n in 0..5 {
        send(&mut net, n, 3, 0, n as u32);
    }
    net.run(Cycle(10), true, &mut out);
    let credits: Vec<_> = sent(&mut out).into_iter().filter(|(_, link, _)| *link < DATA_OUT).collect();
    assert_eq!(credits, [(1, CREDIT_OUT + 3, 2), (3, CREDIT_OUT + 3, 2)]);
}

/// Returns the largest number of slots that an input queue has needed.
fn allocated_slots(net: &Subnet<Fifo>) -> usize {
    net.ends.queues.as_slice().iter().map(|queue| queue.allocated_slots()).max().unwrap_or(0)
}

#[test]
fn queue_memory_follows_the_waiting_packets() {
    let (mut net, mut out) = (subnet(Direction::Request, Arbiter::Islip, 100_000, 512), outbox());
    for n in 0..10_000u64 {
        send(&mut net, n, (n % 5) as usize, (n % 3) as usize, n as u32);
        net.run(Cycle(n + 1), true, &mut out);
        sent(&mut out);
    }
    assert_eq!(net.switch().counters().packets, 10_000);
    assert!(allocated_slots(&net) <= 2, "{} slots for packets that leave immediately", allocated_slots(&net));
}

/// Simulates the crossbar as GPGPU-Sim describes it: in every cycle, every output scans every input.
fn scanning_islip(arrivals: &[(u64, usize, usize)], cycles: u64, capacity: u32) -> Vec<(u64, u16, u32)> {
    let mut queues = vec![VecDeque::new(); INPUTS];
    let mut pointer = [0; OUTPUTS];
    let mut credits = [capacity; OUTPUTS];
    let mut granted = Vec::new();
    for now in 0..cycles {
        for (token, (_, input, output)) in arrivals.iter().enumerate().filter(|(_, (at, ..))| *at == now) {
            queues[*input].push_back((*output, token as u32));
        }
        for output in 0..OUTPUTS {
            if credits[output] == 0 {
                continue;
            }
            let requests = |i: &usize| queues[*i].front().is_some_and(|(o, _)| *o == output);
            if let Some(input) = (0..INPUTS).map(|j| (j + pointer[output]) % INPUTS).find(requests) {
                pointer[output] = (input + 1) % INPUTS;
                credits[output] -= 1;
                let (_, token) = queues[input].pop_front().unwrap();
                granted.push((now, output as u16, token));
            }
        }
    }
    granted
}

proptest! {
    #[test]
    fn grants_equal_a_scan_for_any_division_into_spans(
        mut arrivals in prop::collection::vec((0u64..60, 0..INPUTS, 0..OUTPUTS), 1..120),
        spans in prop::collection::vec(1u64..25, 1..20),
        skip in any::<bool>(),
        capacity in prop::sample::select(vec![7u32, 1000]),
        round_robin in any::<bool>(),
    ) {
        arrivals.sort_by_key(|(at, ..)| *at);
        let arbiter = if round_robin { Arbiter::RoundRobin } else { Arbiter::Islip };
        let end = 400;
        let run = |spans: &[u64], skip: bool| {
            let (mut net, mut out) = (subnet(Direction::Request, arbiter, capacity, 64), outbox());
            let (mut now, mut next, mut events) = (0, 0, Vec::new());
            let mut spans = spans.iter().cycle();
            while now < end {
                let until = (now + spans.next().unwrap()).min(end);
                // Messages are delivered before the span in which they become visible, some of them long before it.
                while next < arrivals.len() && arrivals[next].0 < until + 7 {
                    let (at, input, output) = arrivals[next];
                    send(&mut net, at, input, output, next as u32);
                    next += 1;
                }
                net.run(Cycle(until), skip, &mut out);
                events.extend(sent(&mut out));
                now = until;
            }
            net.settle(Cycle(end));
            (events, net.switch().counters().clone())
        };
        let (events, counters) = run(&spans, skip);
        let (again, counted) = run(&[1], false);
        prop_assert_eq!(&events, &again);
        prop_assert_eq!(&counters, &counted);
        let granted: Vec<_> = events.into_iter().filter(|(_, link, _)| *link >= DATA_OUT).map(|(at, l, t)| (at, l - DATA_OUT, t)).collect();
        prop_assert_eq!(counters.packets as usize, granted.len());
        if !round_robin {
            prop_assert_eq!(granted, scanning_islip(&arrivals, end, capacity));
        } else if capacity == 1000 {
            prop_assert_eq!(granted.len(), arrivals.len());
        }
    }
}
