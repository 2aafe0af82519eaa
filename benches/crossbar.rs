//! Host time per packet in the crossbar: uniform random traffic between 80 SMs and 64 slices, in both directions.
//!
//! `cargo bench --bench crossbar`. The budget is about 15 ns per packet, including arbitration, queues and credits.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PortId, Rng, SectorMask, SliceId, Tick, UnitId};
use warpshard::config::machine::{Arbiter, Crossbar, Noc, Topology, VcCrossbar};
use warpshard::engine::{Route, Unit};
use warpshard::noc::{Direction, Fifo, Subnet, SubnetPorts};
use warpshard::protocol::{Credit, MemOp, MemPacket, Outbox, PacketPart, Payload};

const SMS: u64 = 80;
const SLICES: u64 = 64;
const EPOCHS: u64 = 64;
const EPOCH_CYCLES: u64 = 41;
/// Packets that a sender offers per thousand cycles, below the load at which head-of-line blocking saturates the crossbar.
const PACKETS_PER_KILOCYCLE: u64 = 400;
const PORTS: SubnetPorts =
    SubnetPorts { data_in: LinkId(0), credit_out: LinkId(100), data_out: LinkId(200), credit_in: LinkId(300), output_capacity: 512 };

/// Returns packets with their arrivals and inputs, in the order in which an epoch delivers them.
fn random_traffic(direction: Direction) -> Vec<Vec<(u64, u64, MemPacket)>> {
    let (inputs, outputs) = if direction == Direction::Request { (SMS, SLICES) } else { (SLICES, SMS) };
    let mut rng = Rng::keyed(1, &[inputs]);
    let mut one = |at: u64, input: u64| {
        let goal = rng.below(outputs);
        let (port, slice) = if direction == Direction::Request { (input, goal) } else { (goal, input) };
        let (port, slice) = (PortId(port as u16), SliceId(slice as u16));
        let part = PacketPart::new(KernelIndex(0), SectorMask(1));
        (at, input, MemPacket { addr: Addr(0), token: 0, bytes: u32::MAX, port, slice, part, op: MemOp::Read })
    };
    let mut chance = Rng::keyed(2, &[inputs]);
    let epochs = 1..=EPOCHS;
    epochs
        .map(|epoch| {
            let all = (0..inputs).flat_map(|input| (0..EPOCH_CYCLES).map(move |cycle| (epoch * EPOCH_CYCLES + cycle, input)));
            let offered: Vec<(u64, u64)> = all.filter(|_| chance.below(1000) < PACKETS_PER_KILOCYCLE).collect();
            offered.into_iter().map(|(at, input)| one(at, input)).collect()
        })
        .collect()
}

/// Sends all of `traffic` through a new subnet, whose receivers return their credits at the end of each epoch.
fn run(direction: Direction, traffic: &[Vec<(u64, u64, MemPacket)>]) -> u64 {
    let spec = Noc {
        input_queue: 512,
        output_queue: 512,
        link_latency: 1,
        arbiter: Arbiter::Islip,
        crossbar: Crossbar::Fifo,
        vc: VcCrossbar::NONE,
        topology: Topology::Crossbar,
        mesh: None,
    };
    let (inputs, outputs) = if direction == Direction::Request { (SMS, SLICES) } else { (SLICES, SMS) };
    let mut subnet = Subnet::<Fifo>::new(direction, &spec, inputs as usize, outputs as usize, PORTS);
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(Arc::from(vec![route; 400]), vec![0], 1);
    for epoch in 0..EPOCHS + 20 {
        if let Some(packets) = traffic.get(epoch as usize) {
            for (at, input, packet) in packets {
                subnet.deliver(LinkId(PORTS.data_in.0 + *input as u16), Cycle(*at), &Payload::Mem(*packet));
            }
        }
        let until = (epoch + 2) * EPOCH_CYCLES;
        subnet.run(Cycle(until), true, &mut out);
        let mut taken = [0u16; 80];
        for sent in out.batch(0).drain(..) {
            if sent.link >= PORTS.data_out {
                taken[usize::from(sent.link.0 - PORTS.data_out.0)] += 1;
            }
        }
        for (queue, count) in (0..).zip(taken).filter(|(_, count)| *count > 0) {
            subnet.deliver(LinkId(PORTS.credit_in.0 + queue), Cycle(until), &Payload::Credit(Credit { queue, count }));
        }
    }
    subnet.switch().counters().packets
}

fn crossbar(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("crossbar");
    group.sample_size(20);
    for (name, direction) in [("requests, 80 to 64", Direction::Request), ("replies, 64 to 80", Direction::Reply)] {
        let traffic = random_traffic(direction);
        let packets = traffic.iter().map(|epoch| epoch.len() as u64).sum();
        assert_eq!(run(direction, &traffic), packets, "all packets get through");
        group.throughput(Throughput::Elements(packets));
        group.bench_function(name, |bencher| bencher.iter(|| run(direction, black_box(&traffic))));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().without_plots(); targets = crossbar }
criterion_main!(benches);
