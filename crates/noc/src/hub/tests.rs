//! Two hubs at the two ends of a link, by the cycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::{ClockDomain, SliceId, Tick, UnitId};
use warpshard_engine::Route;
use warpshard_protocol::{HomeRule, OWN_PAGE, PacketPart, PartitionHash};

use super::*;

/// Links: of each hub sixteen, then the link between them.
const PER_HUB: u16 = 16;
const LANES: u16 = 2 * PER_HUB;
/// Nanoseconds, and cycles at 1 GHz.
const LATENCY: u64 = 20;

fn net(first: u16) -> NetPorts {
    let [from, credit_to, to, credit_from] = [0, 1, 2, 3].map(|link| LinkId(first + link));
    NetPorts { from, credit_to, to, credit_from, places: (64, 64) }
}

/// The hub of a GPU of two, with a port at each network and a link of 16 GB/s to the other: 16 bytes per cycle.
fn hub(gpu: u8, rule: HomeRule, buffer: u32) -> Hub {
    let first = PER_HUB * u16::from(gpu);
    let lane = |number: u16| LanePort {
        lane: number,
        data: LinkId(LANES + 2 * number),
        credit: LinkId(LANES + 2 * number + 1),
        host: false,
        bandwidth: 16_000,
        header_bytes: 16,
        buffer,
    };
    let (out, back) = (u16::from(gpu), 1 - u16::from(gpu));
    let inside = GpuPorts {
        gpu: GpuId(gpu),
        ports: 1,
        request: net(first),
        reply: net(first + 4),
        first_port: 4,
        sms: 4,
        to_grid: LinkId(first + 8),
        from_grid: LinkId(first + 9),
    };
    let ways = (0..2).map(|to| if to == gpu { Vec::new() } else { vec![0] }).collect();
    let ports = HubPorts { gpu: Some(inside), lanes_out: vec![lane(out)], lanes_in: vec![lane(back)], ways, hops: 1 };
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

struct Pair {
    hubs: [Hub; 2],
    /// What left the hubs for their GPUs: hub, link within the hub, cycle, packet.
    out: Vec<(u8, u16, u64, Payload)>,
    now: u64,
}

impl Pair {
    fn new(rule: HomeRule, buffer: u32) -> Self {
        Self { hubs: [hub(0, rule.clone(), buffer), hub(1, rule, buffer)], out: Vec::new(), now: 0 }
    }

    fn give(&mut self, hub: u8, link: u16, at: u64, packet: MemPacket) {
        self.hubs[usize::from(hub)].deliver(LinkId(PER_HUB * u16::from(hub) + link), Cycle(at), &Payload::Mem(packet));
    }

    /// Runs both to a cycle; what goes between them takes the link's latency, and credits for what leaves come back at once.
    fn run(&mut self, until: u64) {
        let clock = ClockDomain { period: 1 };
        let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(LATENCY) };
        while self.now < until {
            self.now += 1;
            for number in 0..2 {
                let mut out = Outbox::new(Arc::from(vec![route; usize::from(LANES) + 4]), vec![0], 1);
                self.hubs[number].run(Cycle(self.now), true, &mut out);
                for sent in out.batch(0).drain(..) {
                    let (link, at) = (sent.link.0, u64::from(sent.at));
                    if link >= LANES {
                        let to = (link - LANES) / 2 % 2;
                        let to = if (link - LANES).is_multiple_of(2) { 1 - to } else { to };
                        self.hubs[usize::from(to)].deliver(sent.link, Cycle(at), &sent.payload);
                    } else {
                        self.out.push((number as u8, link - PER_HUB * number as u16, at - LATENCY, sent.payload));
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
fn a_remote_read_takes_header_link_and_data_there_and_back() {
    let mut pair = Pair::new(HomeRule::Interleaved, 8);
    // A line of GPU 1, asked for by SM 1 of GPU 0.
    pair.give(0, 0, 10, read(0x1080, 77));
    pair.run(100);
    // A header of 16 bytes takes a cycle: it has left in 11 and arrives in 31.
    let (at, there) = pair.packets(1, 2)[0];
    assert_eq!((at, there.port, there.slice, there.addr), (31, PortId(4), SliceId(0), Addr(0x1080)));
    // The memory answers in two halves; data and header are 80 bytes, 5 cycles: 105 and 110, and 20 more to arrive.
    pair.give(1, 4, 100, MemPacket { part: there.part.with(SectorMask(0b0011)), ..there });
    pair.give(1, 4, 100, MemPacket { part: there.part.with(SectorMask(0b1100)), ..there });
    pair.run(200);
    let back: Vec<_> = pair.packets(0, 6).iter().map(|(at, packet)| (*at, packet.port, packet.token, packet.sectors().0)).collect();
    assert_eq!(back, [(125, PortId(1), 77, 0b0011), (130, PortId(1), 77, 0b1100)]);
    assert_eq!(pair.hubs[1].inside().slots.used(), 0);
}

#[test]
fn a_link_sends_as_many_bytes_as_it_has_bandwidth_and_no_more_than_it_has_credits() {
    // 40 writes of a line: header and data are 144 bytes, 9 cycles. With 8 places the link sends without a break: a credit is back after two
    // latencies and what the network takes, 41 cycles, less than the 72 of 8 packets.
    for (buffer, span) in [(8, 9 * 39), (2, 0)] {
        let mut pair = Pair::new(HomeRule::Interleaved, buffer);
        let write = |n: u64| MemPacket { op: MemOp::Write, ..read(0x1000 + 0x2000 * n, n as u32) };
        (0..40).for_each(|n| pair.give(0, 0, 5, write(n)));
        let mut answered = 0;
        while answered < 40 && pair.now < 10_000 {
            pair.run(pair.now + 1);
            let there = pair.packets(1, 2);
            for (at, packet) in &there[answered..] {
                pair.give(1, 4, at + 1, *packet);
            }
            answered = there.len();
        }
        pair.run(pair.now + 200);
        let there = pair.packets(1, 2);
        let (first, last) = (there[0].0, there[39].0);
        assert_eq!(there.len(), 40);
        // First: visible in 5, sent by 14, there in 34.
        assert_eq!(first, 34);
        if span > 0 {
            assert_eq!(last - first, span);
        } else {
            // Two packets per round trip: 9 cycles to send, 20 there, and 20 back for the credit.
            assert_eq!(last - first, 19 * 49 + 9);
        }
        assert_eq!(pair.packets(0, 6).len(), 40, "every write is acknowledged once");
    }
}

#[test]
fn a_page_goes_to_the_gpu_that_asks_first_and_its_sms_hear_of_it() {
    let mut pair = Pair::new(HomeRule::FirstTouch, 8);
    // Page 1, whose entry GPU 1 keeps.
    pair.give(0, 0, 10, read(0x1080, 5));
    pair.run(90);
    assert!(pair.out.is_empty() || pair.packets(0, 2).is_empty());
    // The lookup leaves in 11, since what the hub itself sends is visible a cycle later, has left in 12 and is there in 32; 50 cycles later its
    // answer becomes visible in 83, has left in 84 and is back in 104; the request goes on in 105.
    pair.run(300);
    assert_eq!(pair.packets(0, 2).iter().map(|(at, packet)| (*at, packet.addr.0)).collect::<Vec<_>>(), [(105, 0x1080)]);
    let heard: Vec<_> = pair.packets(0, 6).iter().map(|(_, packet)| (packet.port.0, packet.token, packet.addr.0)).collect();
    assert_eq!(heard, [0, 1, 2, 3].map(|sm| (sm, OWN_PAGE, 0x1000)));
    // The other GPU asks later, and is sent there.
    pair.give(1, 0, 400, read(0x1000, 6));
    pair.run(700);
    assert_eq!(pair.packets(0, 2).len(), 2);
    assert!(pair.packets(1, 2).is_empty());
}

#[test]
fn a_copy_reads_here_and_writes_there_and_tells_the_grid_scheduler() {
    let mut pair = Pair::new(HomeRule::Interleaved, 8);
    pair.hubs[0].deliver(LinkId(9), Cycle(3), &Payload::StartCopy(KernelIndex(3)));
    let (mut read, mut written) = (0, 0);
    for _ in 0..1000 {
        pair.run(pair.now + 1);
        let now = pair.now + 1;
        for (_, packet) in pair.packets(0, 2).split_off(read) {
            assert_eq!((packet.op, packet.sectors()), (MemOp::Read, SectorMask::ALL));
            pair.give(0, 4, now, packet);
            read += 1;
        }
        for (_, packet) in pair.packets(1, 2).split_off(written) {
            assert_eq!((packet.op, packet.sectors(), packet.kernel()), (MemOp::Write, SectorMask::ALL, KernelIndex(3)));
            pair.give(1, 4, now, packet);
            written += 1;
        }
    }
    assert_eq!((read, written), (2, 2));
    let done: Vec<_> = pair.out.iter().filter(|(.., payload)| *payload == Payload::CopyDone(KernelIndex(3))).collect();
    assert_eq!(done.len(), 1);
    assert_eq!((done[0].0, done[0].1), (0, 8));
}
