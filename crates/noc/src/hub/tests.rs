//! Tests of two hubs at the two ends of a link, cycle by cycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{ClockDomain, SliceId, Tick, UnitId};
use warpshard_engine::Route;
use warpshard_protocol::{HomeRule, OWN_PAGE_TOKEN, PacketPart, PartitionHash};

use super::*;

/// Links of each hub; the link between the hubs follows.
const LANES_PER_HUB: u16 = 16;
const ALL_LANES: u16 = 2 * LANES_PER_HUB;
/// The link latency in nanoseconds, and in cycles at 1 GHz.
const LINK_LATENCY: u64 = 20;

fn net_ports(first: u16) -> NetPorts {
    let [from, credit_to, to, credit_from] = [0, 1, 2, 3].map(|link| LinkId(first + link));
    NetPorts { from, credit_to, to, credit_from, places: (64, 64) }
}

/// Returns the hub of one of two GPUs, with one port per network and a link of 16 GB/s to the other hub: 16 bytes per cycle.
fn hub(gpu: u8, rule: HomeRule, buffer: u32) -> Hub {
    let first = LANES_PER_HUB * u16::from(gpu);
    let lane = |number: u16| LanePort {
        lane: number,
        data: LinkId(ALL_LANES + 2 * number),
        credit: LinkId(ALL_LANES + 2 * number + 1),
        host: false,
        bandwidth: 16_000,
        header_bytes: 16,
        buffer,
    };
    let (out, back) = (u16::from(gpu), 1 - u16::from(gpu));
    let inside = GpuPorts {
        gpu: GpuId(gpu),
        ports: 1,
        request: net_ports(first),
        reply: net_ports(first + 4),
        first_port: 4,
        sms: 4,
        to_grid: LinkId(first + 8),
        from_grid: LinkId(first + 9),
    };
    let ways = (0..2).map(|to| if to == gpu { Vec::new() } else { vec![0] }).collect();
    let ports = HubPorts { gpu: Some(inside), lanes_out: vec![lane(out)], lanes_in: vec![lane(back)], lanes_to_gpu: ways, hops: 1 };
    let map = AddressMap {
        partitions: 2,
        slices_per_partition: 1,
        interleave_bit: 8,
        row_mask: 0xff_0000,
        bank_mask: 0xf000,
        column_mask: 0xfff,
        hash: PartitionHash::Linear,
        ..AddressMap::default()
    };
    let homes = Homes { own: GpuId(gpu), gpus: 2, page_bit: 12, rule, hub: (2, 1) };
    let copies = BTreeMap::from([(KernelIndex(3), CopyJob { kernel: KernelIndex(3), from: Addr(0), to: Addr(0x1000), bytes: 256 })]);
    let spec = HubSpec { homes, map, pending: 2, copy_lines: 4, fault_latency: 50, copies: Arc::new(copies) };
    Hub::new(format!("gpu{gpu}"), ports, Some(spec), 1_000_000)
}

struct HubPair {
    hubs: [Hub; 2],
    /// Messages from the hubs to their GPUs: hub, link within the hub, cycle, packet.
    out: Vec<(u8, u16, u64, Payload)>,
    now: u64,
}

impl HubPair {
    fn new(rule: HomeRule, buffer: u32) -> Self {
        Self { hubs: [hub(0, rule.clone(), buffer), hub(1, rule, buffer)], out: Vec::new(), now: 0 }
    }

    fn deliver_packet(&mut self, hub: u8, link: u16, at: u64, packet: MemPacket) {
        self.hubs[usize::from(hub)].deliver(LinkId(LANES_PER_HUB * u16::from(hub) + link), Cycle(at), &Payload::Mem(packet));
    }

    /// Runs both hubs until a cycle. Messages between them take the latency of the link, and credits for packets that leave are returned
    /// immediately.
    fn run(&mut self, until: u64) {
        let clock = ClockDomain { period: 1 };
        let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(LINK_LATENCY) };
        while self.now < until {
            self.now += 1;
            for number in 0..2 {
                let mut out = Outbox::new(Arc::from(vec![route; usize::from(ALL_LANES) + 4]), vec![0], 1);
                self.hubs[number].run(Cycle(self.now), true, &mut out);
                for sent in out.batch(0).drain(..) {
                    let (link, at) = (sent.link.0, u64::from(sent.at));
                    if link >= ALL_LANES {
                        let to = (link - ALL_LANES) / 2 % 2;
                        let to = if (link - ALL_LANES).is_multiple_of(2) { 1 - to } else { to };
                        self.hubs[usize::from(to)].deliver(sent.link, Cycle(at), &sent.payload);
                    } else {
                        self.out.push((number as u8, link - LANES_PER_HUB * number as u16, at - LINK_LATENCY, sent.payload));
                    }
                }
            }
        }
    }

    fn packets(&self, hub: u8, link: u16) -> Vec<(u64, MemPacket)> {
        let packet = |(of, from, at, payload): &(u8, u16, u64, Payload)| match payload {
            Payload::Mem(packet) if (*of, *from) == (hub, link) => Some((*at, *packet)),
            _ => None,
        };
        self.out.iter().filter_map(packet).collect()
    }
}

fn read(addr: u64, token: u32) -> MemPacket {
    MemPacket {
        addr: Addr(addr),
        token,
        bytes: u32::MAX,
        port: PortId(1),
        part: PacketPart::new(KernelIndex(0), SectorMask::ALL),
        ..MemPacket::default()
    }
}

#[test]
fn a_remote_read_takes_the_time_of_header_link_and_data() {
    let mut pair = HubPair::new(HomeRule::Interleaved, 8);
    // SM 1 of GPU 0 reads a line of GPU 1.
    pair.deliver_packet(0, 0, 10, read(0x1080, 77));
    pair.run(100);
    // A header of 16 bytes takes one cycle: the packet leaves in cycle 11 and arrives in cycle 31.
    let (at, there) = pair.packets(1, 2)[0];
    assert_eq!((at, there.port, there.slice, there.addr), (31, PortId(4), SliceId(0), Addr(0x1080)));
    // The memory replies in two halves. Data and header are 80 bytes, which take 5 cycles: they leave in 105 and 110 and arrive 20 cycles
    // later.
    pair.deliver_packet(1, 4, 100, MemPacket { part: there.part.with(SectorMask(0b0011)), ..there });
    pair.deliver_packet(1, 4, 100, MemPacket { part: there.part.with(SectorMask(0b1100)), ..there });
    pair.run(200);
    let back: Vec<_> = pair.packets(0, 6).iter().map(|(at, packet)| (*at, packet.port, packet.token, packet.sectors().0)).collect();
    assert_eq!(back, [(125, PortId(1), 77, 0b0011), (130, PortId(1), 77, 0b1100)]);
    assert_eq!(pair.hubs[1].gpu_state().slots.used(), 0);
}

#[test]
fn a_link_sends_as_many_bytes_as_it_has_bandwidth_and_no_more_than_it_has_credits() {
    // The test sends 40 writes of a line: header and data are 144 bytes, 9 cycles. With 8 slots the link sends without a gap: a credit
    // returns after two latencies and the time in the network, 41 cycles, less than the 72 cycles of 8 packets.
    for (buffer, span) in [(8, 9 * 39), (2, 0)] {
        let mut pair = HubPair::new(HomeRule::Interleaved, buffer);
        let write = |n: u64| MemPacket { op: MemOp::Write, ..read(0x1000 + 0x2000 * n, n as u32) };
        (0..40).for_each(|n| pair.deliver_packet(0, 0, 5, write(n)));
        let mut answered = 0;
        while answered < 40 && pair.now < 10_000 {
            pair.run(pair.now + 1);
            let there = pair.packets(1, 2);
            for (at, packet) in &there[answered..] {
                pair.deliver_packet(1, 4, at + 1, *packet);
            }
            answered = there.len();
        }
        pair.run(pair.now + 200);
        let there = pair.packets(1, 2);
        let (first, last) = (there[0].0, there[39].0);
        assert_eq!(there.len(), 40);
        // The first packet is visible in cycle 5, leaves by 14 and arrives in 34.
        assert_eq!(first, 34);
        if span > 0 {
            assert_eq!(last - first, span);
        } else {
            // Two packets are sent per round trip: 9 cycles to send, 20 of latency, and 20 for the returning credit.
            assert_eq!(last - first, 19 * 49 + 9);
        }
        assert_eq!(pair.packets(0, 6).len(), 40, "every write is acknowledged once");
    }
}

#[test]
fn a_page_is_assigned_to_its_first_requester_whose_sms_are_notified() {
    let mut pair = HubPair::new(HomeRule::FirstTouch, 8);
    // GPU 1 has the directory entry of page 1.
    pair.deliver_packet(0, 0, 10, read(0x1080, 5));
    pair.run(90);
    assert!(pair.out.is_empty() || pair.packets(0, 2).is_empty());
    // The hub's lookup becomes visible after one cycle, in 11, leaves in 12 and arrives in 32. After 50 cycles its reply becomes visible in
    // 83, leaves in 84 and arrives in 104; the request proceeds in 105.
    pair.run(300);
    assert_eq!(pair.packets(0, 2).iter().map(|(at, packet)| (*at, packet.addr.0)).collect::<Vec<_>>(), [(105, 0x1080)]);
    let heard: Vec<_> = pair.packets(0, 6).iter().map(|(_, packet)| (packet.port.0, packet.token, packet.addr.0)).collect();
    assert_eq!(heard, [0, 1, 2, 3].map(|sm| (sm, OWN_PAGE_TOKEN, 0x1000)));
    // A later lookup of the other GPU returns the same home.
    pair.deliver_packet(1, 0, 400, read(0x1000, 6));
    pair.run(700);
    assert_eq!(pair.packets(0, 2).len(), 2);
    assert!(pair.packets(1, 2).is_empty());
}

#[test]
fn a_copy_reads_locally_writes_remotely_and_notifies_the_grid_scheduler() {
    let mut pair = HubPair::new(HomeRule::Interleaved, 8);
    pair.hubs[0].deliver(LinkId(9), Cycle(3), &Payload::StartCopy(KernelIndex(3)));
    let (mut read, mut written) = (0, 0);
    for _ in 0..1000 {
        pair.run(pair.now + 1);
        let now = pair.now + 1;
        for (_, packet) in pair.packets(0, 2).split_off(read) {
            assert_eq!((packet.op, packet.sectors()), (MemOp::Read, SectorMask::ALL));
            pair.deliver_packet(0, 4, now, packet);
            read += 1;
        }
        for (_, packet) in pair.packets(1, 2).split_off(written) {
            assert_eq!((packet.op, packet.sectors(), packet.kernel()), (MemOp::Write, SectorMask::ALL, KernelIndex(3)));
            pair.deliver_packet(1, 4, now, packet);
            written += 1;
        }
    }
    assert_eq!((read, written), (2, 2));
    let done: Vec<_> = pair.out.iter().filter(|(.., payload)| *payload == Payload::CopyDone(KernelIndex(3))).collect();
    assert_eq!(done.len(), 1);
    assert_eq!((done[0].0, done[0].1), (0, 8));
}
