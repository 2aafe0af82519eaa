//! The memory side as a whole: SM mocks, both subnets and 32 partitions, joined by links as in a machine.
//!
//! An observer that sees only the mocks' links checks the round trips and that requests equal replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard::base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PartitionId, PortId, Rng, SectorMask, Tick, UnitId};
use warpshard::config::machine::*;
use warpshard::engine::{Route, Unit};
use warpshard::mem::{Partition, PartitionPorts, arrival_capacity};
use warpshard::noc::{Direction, Fifo, Subnet, SubnetPorts};
use warpshard::protocol::{AddressMap, Credit, MemOp, MemPacket, Outbox, PacketPart, Payload};

const SMS: usize = 6;
const PARTITIONS: u16 = 32;
const SLICES: usize = 64;
const LLC_CLOCK: ClockDomain = ClockDomain { period: 425 };
const DRAM_CLOCK: ClockDomain = ClockDomain { period: 566 };

// First link of each kind; the SM or slice is added to it.
const SM_REQUEST: u16 = 0;
const SM_REQUEST_CREDIT: u16 = 100;
const SLICE_REQUEST: u16 = 200;
const SLICE_REQUEST_CREDIT: u16 = 300;
const SLICE_REPLY: u16 = 400;
const SLICE_REPLY_CREDIT: u16 = 500;
const SM_REPLY: u16 = 600;
const SM_REPLY_CREDIT: u16 = 700;

/// Returns `v100` with as many SMs as there are mocks.
fn machine() -> Machine {
    let mut machine = warpshard::catalogue().machine("v100", &[]).expect("a built-in machine").machine;
    machine.gpu.sms = SMS as u32;
    machine
}

/// The memory side. Units 0 and 1 are the subnets, unit 2 is all SM mocks, the rest are the partitions.
struct MemorySide {
    request: Subnet<Fifo>,
    reply: Subnet<Fifo>,
    partitions: Vec<Partition>,
    map: AddressMap,
    out: Outbox,
    now: u64,
    credits: [u32; SMS],
    /// Requests that wait for credits, by SM.
    queued: Vec<Vec<MemPacket>>,
    /// Replies with the cycle of their arrival at the SM.
    replies: Vec<(u64, MemPacket)>,
    skip: bool,
}

impl MemorySide {
    fn new(machine: &Machine, skip: bool) -> Self {
        let capacity = arrival_capacity(machine);
        let request = SubnetPorts {
            data_in: LinkId(SM_REQUEST),
            credit_out: LinkId(SM_REQUEST_CREDIT),
            data_out: LinkId(SLICE_REQUEST),
            credit_in: LinkId(SLICE_REQUEST_CREDIT),
            output_capacity: capacity,
        };
        let reply = SubnetPorts {
            data_in: LinkId(SLICE_REPLY),
            credit_out: LinkId(SLICE_REPLY_CREDIT),
            data_out: LinkId(SM_REPLY),
            credit_in: LinkId(SM_REPLY_CREDIT),
            output_capacity: machine.noc.output_queue,
        };
        let ports = |slice: u16| PartitionPorts {
            request_in: LinkId(SLICE_REQUEST + slice),
            credit_out: LinkId(SLICE_REQUEST_CREDIT + slice),
            reply_out: LinkId(SLICE_REPLY + slice),
            credit_in: LinkId(SLICE_REPLY_CREDIT + slice),
            from_grid: LinkId(990),
        };
        let route = |link: u16| {
            let (kind, index) = (link / 100 * 100, link % 100);
            let to = match kind {
                SM_REQUEST | SLICE_REQUEST_CREDIT => 0,
                SLICE_REPLY | SM_REPLY_CREDIT => 1,
                SLICE_REQUEST | SLICE_REPLY_CREDIT => 3 + (index / 2).min(PARTITIONS - 1),
                _ => 2,
            };
            let cycles = if kind == SLICE_REQUEST { 1 + machine.mem.rop_latency } else { 1 };
            Route { to: UnitId(to), from_clock: LLC_CLOCK, to_clock: LLC_CLOCK, latency: Tick(cycles * LLC_CLOCK.period) }
        };
        Self {
            request: Subnet::new(Direction::Request, &machine.noc, SMS, SLICES, request),
            reply: Subnet::new(Direction::Reply, &machine.noc, SLICES, SMS, reply),
            partitions: (0..PARTITIONS).map(|i| Partition::new(PartitionId(i), machine, LLC_CLOCK, DRAM_CLOCK, ports(2 * i))).collect(),
            map: machine.mem.map.clone(),
            out: Outbox::new((0..800).map(route).collect::<Arc<[_]>>(), (0..3 + PARTITIONS).collect(), 3 + usize::from(PARTITIONS)),
            now: 0,
            credits: [machine.noc.input_queue; SMS],
            queued: vec![Vec::new(); SMS],
            replies: Vec::new(),
            skip,
        }
    }

    fn request_sectors(&mut self, sm: usize, op: MemOp, addr: u64, sectors: u8, token: u32) {
        let addr = Addr(addr);
        let (sectors, slice) = (SectorMask(sectors), self.map.slice_of(addr));
        let packet =
            MemPacket { addr, token, bytes: u32::MAX, port: PortId(sm as u16), slice, part: PacketPart::new(KernelIndex(0), sectors), op };
        self.queued[sm].push(packet);
    }

    /// Simulates one cycle of every unit; at its end each mock sends one packet, as an SM does.
    fn step_cycle(&mut self) {
        let now = Cycle(self.now);
        for unit in 0..3 + usize::from(PARTITIONS) {
            for message in self.out.batch(unit).drain(..).collect::<Vec<_>>() {
                let at = message.arrival(now);
                match (unit, message.payload) {
                    (0, payload) => self.request.deliver(message.link, at, &payload),
                    (1, payload) => self.reply.deliver(message.link, at, &payload),
                    (3.., payload) => self.partitions[unit - 3].deliver(message.link, at, &payload),
                    (_, Payload::Credit(credit)) => {
                        self.credits[usize::from(message.link.0 - SM_REQUEST_CREDIT)] += u32::from(credit.count);
                    }
                    (_, Payload::Mem(answer)) => {
                        assert_eq!(message.link.0, SM_REPLY + answer.port.0, "an answer reaches its sender");
                        self.replies.push((at.0, answer));
                        self.out.send(LinkId(SM_REPLY_CREDIT + answer.port.0), now, Payload::Credit(Credit { queue: 0, count: 1 }));
                    }
                    (_, other) => panic!("{other:?}"),
                }
            }
        }
        let until = now.after(1);
        self.request.run(until, self.skip, &mut self.out);
        self.reply.run(until, self.skip, &mut self.out);
        for partition in &mut self.partitions {
            partition.run(until, self.skip, &mut self.out);
        }
        for sm in 0..SMS {
            if self.credits[sm] > 0 && !self.queued[sm].is_empty() {
                let packet = self.queued[sm].remove(0);
                self.credits[sm] -= 1;
                self.out.send(LinkId(SM_REQUEST + sm as u16), now, Payload::Mem(packet));
            }
        }
        self.now += 1;
    }

    fn run_until(&mut self, until: u64) {
        while self.now < until {
            self.step_cycle();
        }
    }
}

#[test]
fn an_llc_hit_takes_165_cycles_from_the_sm_and_back() {
    let machine = machine();
    let mut memory = MemorySide::new(&machine, true);
    memory.request_sectors(3, MemOp::Read, 0x1000, 1, 1);
    memory.run_until(1000);
    memory.request_sectors(3, MemOp::Read, 0x1000, 1, 2);
    memory.run_until(2000);
    let cycles: Vec<_> = memory.replies.iter().map(|(at, answer)| (answer.token, *at)).collect();
    assert_eq!(cycles[1], (2, 1000 + 165));
}

#[test]
fn dependent_reads_from_dram_take_the_time_that_the_reference_measures() {
    // Accel-Sim on SM7_QV100 takes 68091 cycles for 192 dependent loads of stride 8320 and 25870 for the first 64 of them, through an L1 of
    // 20 cycles. The load-to-load loop also spends 172 - 165 cycles in the SM.
    let reference = f64::from(68091 - 25870) / 128.0 - 20.0 - 7.0;
    let mut memory = MemorySide::new(&machine(), true);
    let mut spans = Vec::new();
    for i in 0..192u64 {
        let start = memory.now;
        memory.request_sectors(0, MemOp::Read, 0x7f00_0000_0000 + i * 8320, 1, i as u32);
        while memory.replies.len() as u64 <= i {
            memory.step_cycle();
        }
        spans.push(memory.replies[i as usize].0 - start);
        // Time in the SM between a reply and the next load.
        memory.run_until(memory.replies[i as usize].0 + 27);
    }
    let mean = spans[64..].iter().sum::<u64>() as f64 / 128.0;
    assert!((mean - reference).abs() < reference * 0.01, "{mean} cycles, not {reference}: {spans:?}");
}

#[test]
fn requests_equal_replies_over_both_networks() {
    let mut machine = machine();
    // Short queues cause every kind of back-pressure.
    (machine.noc.input_queue, machine.noc.output_queue, machine.mem.rop_latency) = (4, 3, 5);
    machine.mem.queues = PartitionQueues { in_queue: 2, to_dram: 3, from_dram: 3, out_queue: 3 };
    (machine.mem.llc.sets, machine.mem.llc.ways, machine.mem.llc.mshrs) = (4, 4, 8);
    let run = |skip: bool| {
        let mut memory = MemorySide::new(&machine, skip);
        let mut rng = Rng::keyed(7, &[]);
        let mut asked = BTreeMap::new();
        for token in 0..6000u32 {
            let op = [MemOp::Read, MemOp::Write, MemOp::Read, MemOp::Atomic][rng.below(4) as usize];
            // All requests go to four slices.
            let line = loop {
                let line = rng.below(8192) * 128;
                if machine.mem.map.slice_of(Addr(line)).index() < 4 {
                    break line;
                }
            };
            let sectors = 1 + rng.below(15) as u8;
            let addr = if sectors.is_power_of_two() { line + u64::from(sectors.trailing_zeros()) * 32 } else { line };
            memory.request_sectors(rng.below(SMS as u64) as usize, op, addr, sectors, token);
            asked.insert(token, sectors);
        }
        memory.run_until(60_000);
        (asked, memory)
    };
    let (mut asked, memory) = run(true);
    for (_, answer) in &memory.replies {
        let left = asked.get_mut(&answer.token).expect("an answer to a request");
        assert_eq!(*left & answer.sectors().0, answer.sectors().0, "no sector is answered twice");
        *left &= !answer.sectors().0;
    }
    let waiting: Vec<_> = memory.partitions.iter().flat_map(Partition::waiting).chain(memory.request.waiting()).collect();
    assert!(asked.values().all(|left| *left == 0), "{waiting:#?}");
    assert!(waiting.is_empty(), "{waiting:#?}");
    assert_eq!(memory.request.switch().counters().packets, 6000);
    assert_eq!(memory.reply.switch().counters().packets as usize, memory.replies.len());

    let (_, stepped) = run(false);
    assert_eq!(memory.replies, stepped.replies);
    assert_eq!(memory.request.switch().counters(), stepped.request.switch().counters());
    assert_eq!(memory.reply.switch().counters(), stepped.reply.switch().counters());
}
