//! Tests of a partition with mocks on its links: exact cycles, saturation, conservation, and independence of the division into spans.

mod copies;
mod order;
mod replacement;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use warpshard_base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PartitionId, PortId, SectorMask, SliceId, Tick, UnitId};
use warpshard_config::dram::{BankHash, DramControl, DramPage, DramRefresh, OwnTiming, RefreshWhen};
use warpshard_config::machine::*;
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{AddressMap, Credit, MemOp, MemPacket, Outbox, PacketPart, Payload};
use warpshard_stats::LatencyCounts;

use crate::dram::DramCounters;
use crate::dram::control::BankCounters;
use crate::dram::standard::Standard;
use crate::{Partition, PartitionPorts, arrival_capacity};

const LLC_CLOCK: ClockDomain = ClockDomain { period: 425 };
const DRAM_CLOCK: ClockDomain = ClockDomain { period: 566 };
const PORTS: PartitionPorts =
    PartitionPorts { request_in: LinkId(0), credit_out: LinkId(10), reply_out: LinkId(20), credit_in: LinkId(30), from_grid: LinkId(40) };

/// Returns `v100` with one partition of two slices.
fn machine() -> Machine {
    let mut machine = Machine::load("v100", &[]).expect("a built-in machine").machine;
    machine.gpu.sms = 7;
    machine.mem.map.partitions = 1;
    machine.mem.memcpy_warms = MemcpyWarms::Full;
    machine
}

fn partition(machine: &Machine) -> Partition {
    Partition::new(PartitionId(0), machine, LLC_CLOCK, DRAM_CLOCK, PORTS)
}

fn outbox() -> Outbox {
    let route = Route { to: UnitId(0), from_clock: LLC_CLOCK, to_clock: LLC_CLOCK, latency: Tick(LLC_CLOCK.period) };
    Outbox::new(Arc::from(vec![route; 40]), vec![0], 1)
}

fn packet(map: &AddressMap, addr: u64, op: MemOp, sectors: u8, bytes: u32, token: u32) -> MemPacket {
    let addr = Addr(addr);
    let port = PortId((token % 7) as u16);
    let part = PacketPart::new(KernelIndex(0), SectorMask(sectors));
    MemPacket { addr, token, bytes, port, slice: map.slice_of(addr), part, op }
}

fn read(map: &AddressMap, addr: u64, token: u32) -> MemPacket {
    packet(map, addr, MemOp::Read, SectorMask::of(Addr(addr)).0, u32::MAX, token)
}

/// The devices under test: the machine's timing table, and devices that are not slower than its clock.
const DRAM_DEVICES: [Option<&str>; 4] = [None, Some("hbm2-2000"), Some("gddr6-14g"), Some("gddr5-fermi")];

/// Returns a command-level controller with short refresh intervals; the machine's timing table is used if `device` is `None`.
fn command_controller(device: Option<&str>, queue: u32) -> DramControl {
    DramControl {
        standard: device.map(|name| Standard::named(name).unwrap()),
        mapping: "RoBaCoBgPcCo1".into(),
        bank_hash: BankHash::Plain,
        row_hit_cap: 0,
        age_cap: if queue > 8 { 0 } else { 100 },
        page: if queue > 8 { DramPage::Open } else { DramPage::Closed },
        read_queue: queue,
        write_queue: queue,
        drain_high: 75,
        drain_low: 25,
        refresh: true,
        refresh_banks: DramRefresh::All,
        refresh_when: RefreshWhen::Due,
        own: OwnTiming { four_activates: 20, refresh_cycle: 90, refresh_interval: 700 },
    }
}

type CounterValues = (Vec<(&'static str, u64)>, Vec<BankCounters>, LatencyCounts);

/// Returns all counters of a partition.
fn counter_values(unit: &Partition) -> CounterValues {
    let mut all = Vec::new();
    unit.channel().visit_counters(&mut |info, value| all.push((info.name, value)));
    (all, unit.channel().bank_counters().to_vec(), unit.channel().read_latency().clone())
}

fn counters(unit: &Partition) -> &DramCounters {
    unit.channel().simple().expect("the machine has GPGPU-Sim's channel").counters()
}

fn deliver(unit: &mut Partition, at: u64, packet: MemPacket) {
    unit.deliver(LinkId(packet.slice.0 % 2), Cycle(at), &Payload::Mem(packet));
}

/// Returns the replies that left, with the cycle of sending.
fn sent_replies(out: &mut Outbox) -> Vec<(u64, MemPacket)> {
    let sent = out.batch(0).drain(..);
    sent.filter_map(|s| match s.payload {
        Payload::Mem(p) => Some((u64::from(s.at) - 1, p)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_dram_request_has_the_port_and_kernel_of_its_requester() {
    let mut machine = machine();
    (machine.mem.llc.sets, machine.mem.llc.ways) = (1, 1);
    machine.mem.llc.index = SetIndex::Linear;
    let (mut unit, mut out) = (partition(&machine), outbox());
    let map = machine.mem.map.clone();
    let owned = |packet: MemPacket, port, kernel| MemPacket {
        port: PortId(port),
        part: PacketPart::new(KernelIndex(kernel), packet.sectors()),
        ..packet
    };
    let second = (1..).map(|line| line * 128).find(|addr| map.slice_of(Addr(*addr)) == map.slice_of(Addr(0))).unwrap();
    // The test writes a line, which the read of another line then evicts.
    deliver(&mut unit, 0, owned(packet(&map, 0, MemOp::Write, 1, u32::MAX, 0), 5, 3));
    deliver(&mut unit, 1000, owned(read(&map, second, 1), 6, 4));
    let mut seen = Vec::new();
    for until in 1..4000 {
        unit.run(Cycle(until), true, &mut out);
        let now = unit.channel().moving(0).map(|request| (request.is_read(), request.port.0, request.kernel().0));
        if now.is_some() && seen.last() != now.as_ref() {
            seen.extend(now);
        }
    }
    assert_eq!(seen, [(true, 6, 4), (false, 6, 4)], "the write-back belongs to the read that evicted the line");
}

#[test]
fn a_hit_replies_one_cycle_after_the_request_is_visible() {
    let machine = machine();
    let (mut unit, mut out) = (partition(&machine), outbox());
    deliver(&mut unit, 10, read(&machine.mem.map, 0x40, 1));
    unit.run(Cycle(1000), true, &mut out);
    sent_replies(&mut out);
    deliver(&mut unit, 1162, read(&machine.mem.map, 0x40, 2));
    unit.run(Cycle(2000), true, &mut out);
    let [(at, answer)] = sent_replies(&mut out)[..] else { panic!("one answer") };
    assert_eq!((at, answer.token), (1163, 2));
    assert_eq!(unit.slices().nth(answer.slice.index()).unwrap().counters().read_hits, 1);
}

#[test]
fn a_slice_reads_several_sectors_of_a_line_in_a_cycle_and_one_of_two_lines() {
    for (read_sectors, at) in [(1, [1, 2, 3, 4, 5, 6]), (2, [1, 1, 2, 2, 3, 4]), (4, [1, 1, 1, 1, 2, 3])] {
        let mut machine = machine();
        machine.mem.llc.read_sectors = read_sectors;
        let (mut unit, mut out) = (partition(&machine), outbox());
        let map = &machine.mem.map;
        let requests = [(0, 0b1111), (0x80, 1), (0, 1)].map(|(addr, sectors)| packet(map, addr, MemOp::Read, sectors, u32::MAX, 1));
        requests[..2].iter().for_each(|request| deliver(&mut unit, 10, *request));
        unit.run(Cycle(1000), true, &mut out);
        sent_replies(&mut out);
        requests.iter().for_each(|request| deliver(&mut unit, 2000, *request));
        unit.run(Cycle(3000), true, &mut out);
        let answered = sent_replies(&mut out).iter().map(|(at, _)| at - 2000).collect::<Vec<_>>();
        assert_eq!(answered, at, "{read_sectors} sectors");
    }
}

#[test]
fn readers_of_the_same_sectors_share_one_look_up_and_leave_in_the_same_cycle() {
    let mut machine = machine();
    machine.mem.coalescing = Coalescing { requesters: 4, sms: 8, reads: 8, latency: 20 };
    let (mut unit, mut out) = (partition(&machine), outbox());
    deliver(&mut unit, 10, read(&machine.mem.map, 0x40, 0));
    unit.run(Cycle(1000), true, &mut out);
    sent_replies(&mut out);
    // One request is accepted per cycle; the last request arrives after all replies have left.
    (1..6).for_each(|token| deliver(&mut unit, 2000, read(&machine.mem.map, 0x40, token)));
    deliver(&mut unit, 2030, read(&machine.mem.map, 0x40, 6));
    unit.run(Cycle(3000), true, &mut out);
    let answers = sent_replies(&mut out).iter().map(|(at, answer)| (*at, answer.token, answer.port.0)).collect::<Vec<_>>();
    assert_eq!(answers, [(2021, 1, 1), (2021, 2, 2), (2021, 3, 3), (2021, 4, 4), (2025, 5, 5), (2051, 6, 6)]);
    assert_eq!(unit.slices().map(|slice| slice.counters().accesses).sum::<u64>(), 4);
}

#[test]
fn a_miss_takes_the_delay_and_the_dram_cycles_between_the_edges_of_both_clocks() {
    let machine = machine();
    let (mut unit, mut out) = (partition(&machine), outbox());
    deliver(&mut unit, 162, read(&machine.mem.map, 0x40, 1));
    unit.run(Cycle(1000), true, &mut out);
    let [(at, _)] = sent_replies(&mut out)[..] else { panic!("one answer") };
    // The read is looked up in cycle 163 and enters the queue to DRAM in 164. The next DRAM edge, 124, at tick 70184, is within cycle 166:
    // the request is ready at 266. The first edge after cycle 265 is 199; activate, read and data take 1 + 12 + 12 edges, and in 225 the
    // data is sent to the slice: tick 127350, visible in 300. The reply is ready one cycle after the fill and leaves immediately.
    let edge = |cycle: u64| cycle * 425 / 566 + 1;
    assert_eq!((edge(164), edge(265)), (124, 199));
    let seen = ((199u64 + 1 + 12 + 12 + 1) * 566).div_ceil(425);
    assert_eq!(at, seen + 1);
    assert_eq!(counters(&unit).activates, 1);
}

#[test]
fn a_stream_of_reads_saturates_the_channel() {
    let machine = machine();
    let map = &machine.mem.map;
    let (mut unit, mut out) = (partition(&machine), outbox());
    let sectors = 6000u64;
    let (mut sent, mut now, mut got) = ([0; 2], 0u64, 0u64);
    // Each slice gets one sector per cycle while it has free slots; a credit returns for each batch.
    let mut queue = [Vec::new(), Vec::new()];
    for i in (0..sectors).rev() {
        queue[map.slice_of(Addr(i * 32)).index()].push(i * 32);
    }
    let mut credits = [arrival_capacity(&machine); 2];
    while got < sectors {
        for s in 0..2 {
            if credits[s] > 0
                && let Some(addr) = queue[s].pop()
            {
                credits[s] -= 1;
                sent[s] += 1;
                deliver(&mut unit, now, read(map, addr, addr as u32));
            }
        }
        unit.run(Cycle(now + 1), true, &mut out);
        for message in out.batch(0).drain(..).collect::<Vec<_>>() {
            match message.payload {
                Payload::Mem(answer) => {
                    got += 1;
                    unit.deliver(LinkId(30 + answer.slice.0), Cycle(now + 2), &Payload::Credit(Credit { queue: 0, count: 1 }));
                }
                Payload::Credit(credit) => credits[usize::from(message.link.0 - 10)] += u32::from(credit.count),
                other => panic!("{other:?}"),
            }
        }
        now += 1;
        assert!(now < 100_000, "{:?}", unit.waiting());
    }
    let dram_cycles = now * 425 / 566;
    assert!(sectors * 100 / dram_cycles >= 93, "{sectors} sectors took {dram_cycles} DRAM cycles");
    let latency = unit.channel().read_latency().histogram();
    assert_eq!(latency.len(), sectors);
    assert!(latency.min() >= 75 + 25, "the delay and an open row at least, not {}", latency.min());
}

#[test]
fn atomics_are_performed_in_the_order_of_arrival_and_leave_the_sector_modified() {
    let machine = machine();
    let (mut unit, mut out) = (partition(&machine), outbox());
    for token in 0..8 {
        deliver(&mut unit, 5 + u64::from(token), packet(&machine.mem.map, 0, MemOp::Atomic, 1, 0xf, token));
    }
    unit.run(Cycle(2000), true, &mut out);
    let tokens: Vec<_> = sent_replies(&mut out).into_iter().map(|(_, p)| p.token).collect();
    // Four atomics wait for the data and are performed when it arrives, in order; the others hit the line while the replies of the four are
    // sent.
    assert_eq!(tokens.iter().copied().filter(|t| *t < 4).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(tokens.iter().copied().filter(|t| *t >= 4).collect::<Vec<_>>(), [4, 5, 6, 7]);
    let slice = unit.slices().next().unwrap();
    assert_eq!(slice.cache().tags().dirty(), 1);
    assert_eq!(slice.counters().atomics, 8);
    assert!(slice.counters().fail_merge_full > 0, "four atomics merge, the fifth waits");
}

#[test]
fn without_credits_of_the_reply_network_the_partition_stops_and_reports_why() {
    let mut machine = machine();
    machine.noc.input_queue = 2;
    machine.mem.queues.out_queue = 2;
    let map = machine.mem.map.clone();
    let (mut unit, mut out) = (partition(&machine), outbox());
    for i in 0..8 {
        deliver(&mut unit, i, packet(&map, 0, MemOp::Write, 1, u32::MAX, i as u32));
    }
    unit.run(Cycle(500), true, &mut out);
    assert_eq!(sent_replies(&mut out).len(), 2);
    assert_eq!(unit.next_event(), Cycle::NEVER);
    let lines = unit.waiting();
    assert!(lines.iter().any(|l| l.contains("the queue to the network is full")), "{lines:?}");
    for at in [600, 700, 800] {
        unit.deliver(LinkId(30), Cycle(at), &Payload::Credit(Credit { queue: 0, count: 2 }));
        unit.run(Cycle(at + 100), true, &mut out);
        let left: Vec<u64> = sent_replies(&mut out).iter().map(|(at, _)| *at).collect();
        assert!(left.len() == 2 && left[0] == at, "{left:?}");
    }
    assert!(unit.waiting().is_empty());
}

#[test]
fn a_write_through_slice_acknowledges_writes_after_dram() {
    let mut machine = machine();
    machine.mem.llc.write = WritePolicy::Through;
    machine.mem.llc.write_miss = WriteMiss::NoAllocate;
    let (mut unit, mut out) = (partition(&machine), outbox());
    deliver(&mut unit, 0, packet(&machine.mem.map, 0, MemOp::Write, 1, u32::MAX, 77));
    unit.run(Cycle(1000), true, &mut out);
    let [(at, answer)] = sent_replies(&mut out)[..] else { panic!("one answer") };
    assert!(at > 100 && answer.token == 77);
    assert_eq!(unit.channel().bursts().1, 1);
}

#[test]
fn a_missing_write_that_allocates_sends_its_bytes_fetches_the_line_and_gets_one_reply() {
    let mut machine = machine();
    let llc = &mut machine.mem.llc;
    (llc.sectored, llc.write_miss) = (false, WriteMiss::WriteAllocate);
    let (mut unit, mut out) = (partition(&machine), outbox());
    let map = &machine.mem.map;
    deliver(&mut unit, 0, packet(map, 0x80, MemOp::Write, 0b1111, u32::MAX, 77));
    unit.run(Cycle(2000), true, &mut out);
    let [(at, answer)] = sent_replies(&mut out)[..] else { panic!("one answer") };
    assert!(at > 100 && answer.token == 77);
    assert_eq!(unit.channel().bursts(), (4, 4), "bursts of 32 bytes");
    deliver(&mut unit, 2000, read(map, 0x80, 78));
    unit.run(Cycle(4000), true, &mut out);
    let [(at, answer)] = sent_replies(&mut out)[..] else { panic!("one answer") };
    assert_eq!((at, answer.token), (2001, 78), "the line is present");
    assert!(unit.waiting().is_empty());
}

#[derive(Clone, Debug)]
struct RequestStep {
    gap: u64,
    line: u64,
    sectors: u8,
    op: MemOp,
    bytes: u32,
}

fn request_steps() -> impl Strategy<Value = Vec<RequestStep>> {
    let op = prop::sample::select(vec![MemOp::Read, MemOp::Read, MemOp::Write, MemOp::Write, MemOp::Atomic, MemOp::Reduction]);
    let bytes = prop::sample::select(vec![u32::MAX, 0xff, 0xff00_0000]);
    let step = (prop::sample::select(vec![0u64, 0, 0, 1, 2, 40, 700]), 0u64..300, 1u8..16, op, bytes)
        .prop_map(|(gap, line, sectors, op, bytes)| RequestStep { gap, line, sectors, op, bytes });
    prop::collection::vec(step, 1..250)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_sector_gets_one_reply_for_any_division_into_spans(
        steps in request_steps(),
        spans in prop::collection::vec(1u64..60, 1..12),
        tiny in any::<bool>(),
        device in prop::option::of(0..DRAM_DEVICES.len()),
        line_cache in any::<bool>(),
        read_sectors in 1u32..5,
        requesters in 1u32..5,
        scheduler in prop::sample::select(vec![DramScheduler::FrFcfs, DramScheduler::Fcfs]),
        write_miss in prop::sample::select(vec![WriteMiss::LazyFetchOnRead, WriteMiss::FetchOnWrite, WriteMiss::WriteAllocate]),
    ) {
        let mut machine = machine();
        let llc = &mut machine.mem.llc;
        llc.write_miss = write_miss;
        (llc.port_bytes, llc.read_sectors) = (32 * read_sectors.next_power_of_two(), read_sectors);
        (llc.fill_cycles, llc.merge_cycles, llc.merge_latency, llc.atomic_cycles) = (1, 1, 4, 2);
        machine.mem.coalescing = Coalescing { requesters, sms: 8, reads: 8, latency: u64::from(requesters) };
        let llc = &mut machine.mem.llc;
        if line_cache {
            llc.sectored = false;
            if write_miss == WriteMiss::LazyFetchOnRead {
                llc.write_miss = WriteMiss::FetchOnWrite;
            }
        }
        if tiny {
            (llc.sets, llc.ways, llc.mshrs, llc.mshr_merge, llc.miss_queue) = (2, 2, 3, 2, 4);
            machine.mem.queues = PartitionQueues { in_queue: 8, to_dram: 2, from_dram: 2, out_queue: 2 };
            machine.mem.dram.queue = 3;
            machine.mem.dram.return_queue = 2;
            machine.mem.dram.dual_command_bus = false;
            machine.mem.dram.scheduler = scheduler;
            machine.noc.input_queue = 4;
        }
        if let Some(device) = device {
            machine.mem.dram.control = Some(command_controller(DRAM_DEVICES[device], if tiny { 4 } else { 64 }));
        }
        let map = machine.mem.map.clone();
        let mut at = 0;
        let sent: Vec<_> = steps.iter().enumerate().map(|(token, step)| {
            at += step.gap;
            let whole = step.sectors.count_ones() > 1;
            let first = u64::from(step.sectors.trailing_zeros()) * 32;
            let addr = step.line * 128 + if whole { 0 } else { first };
            (at, packet(&map, addr, step.op, step.sectors, if whole { u32::MAX } else { step.bytes }, token as u32))
        }).collect();
        let end = at + 60_000;
        let run = |spans: &[u64], skip: bool| {
            let (mut unit, mut out) = (partition(&machine), outbox());
            let mut spans = spans.iter().cycle();
            let (mut now, mut next, mut got) = (0, 0, Vec::new());
            // Credits return 50 cycles after a reply left; they are delivered after the span before them.
            let mut credits: Vec<(u64, u16)> = Vec::new();
            while now < end {
                let idle = next == sent.len() && credits.is_empty() && unit.next_event() == Cycle::NEVER;
                let until = if idle { end } else { (now + spans.next().unwrap().min(&50)).min(end) };
                while next < sent.len() && sent[next].0 < until {
                    deliver(&mut unit, sent[next].0, sent[next].1);
                    next += 1;
                }
                for (at, slice) in credits.extract_if(.., |(at, _)| *at < until) {
                    unit.deliver(LinkId(30 + slice), Cycle(at), &Payload::Credit(Credit { queue: slice, count: 1 }));
                }
                unit.run(Cycle(until), skip, &mut out);
                for (at, answer) in sent_replies(&mut out) {
                    credits.push((at + 50, answer.slice.0));
                    got.push((at, answer));
                }
                now = until;
            }
            unit.settle(Cycle(end));
            (got, unit)
        };
        let (got, unit) = run(&spans, true);
        let (again, other) = run(&[1, 3], false);
        prop_assert_eq!(&got, &again);
        for (a, b) in unit.slices().zip(other.slices()) {
            prop_assert_eq!(a.counters(), b.counters());
        }
        prop_assert_eq!(counter_values(&unit), counter_values(&other));
        prop_assert!(unit.waiting().is_empty(), "{:?}", unit.waiting());

        // The sums at both ends agree: every sector of every request returns once, with the request's token and to its sender.
        let mut open: BTreeMap<u32, u8> = sent.iter().map(|(_, p)| (p.token, p.sectors().0)).collect();
        for (_, answer) in &got {
            let asked = &sent[answer.token as usize].1;
            prop_assert_eq!((answer.port, answer.op, answer.slice, answer.addr.line()), (asked.port, asked.op, asked.slice, asked.addr.line()));
            let left = open.get_mut(&answer.token).unwrap();
            prop_assert_eq!(*left & answer.sectors().0, answer.sectors().0);
            *left &= !answer.sectors().0;
        }
        prop_assert!(open.values().all(|left| *left == 0));
        let total = |of: fn(&crate::llc::LlcCounters) -> u64| unit.slices().map(|s| of(&s.counters())).sum::<u64>();
        let asked: u64 = sent.iter().map(|(_, p)| if line_cache { 1 } else { u64::from(p.sectors().count()) }).sum();
        // Reads that share the replies of others are not looked up.
        let accesses = total(|c| c.accesses);
        prop_assert!(accesses == asked || requesters > 1 && accesses < asked, "{accesses} of {asked} sectors");
        let (burst_bytes, _) = machine.mem.dram.burst();
        let bursts = if line_cache { 128 / burst_bytes } else { 1 };
        let count = |name: &str| counter_values(&unit).0.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        prop_assert_eq!(count("reads") + count("forwarded"), total(|c| c.fetches) * bursts);
        let (written, sectors) = (count("writes") + count("coalesced"), total(|c| c.write_backs));
        // Writes that were passed on: writes that missed, and others whose line was being fetched.
        let writes = sent.iter().filter(|(_, p)| p.op == MemOp::Write).map(|(_, p)| if line_cache { 4 } else { u64::from(p.sectors().count()) });
        let sent_on = match machine.mem.llc.write_miss {
            WriteMiss::WriteAllocate => (total(|c| c.write_misses + c.write_sector_misses), writes.sum()),
            _ => (0, 0),
        };
        let (least, most) = (sectors + sent_on.0, sectors + sent_on.1);
        prop_assert!(written <= most && written * burst_bytes >= least * 32, "{written} bursts for {least} to {most} sectors");
        prop_assert!(burst_bytes > 32 || (least..=most).contains(&written));
        let pending = count("reads") + count("writes");
        prop_assert!(device.is_none() || count("row_hits") + count("row_misses") + count("row_conflicts") == pending);
        prop_assert_eq!(unit.channel().occupancy(), 0);
        prop_assert_eq!(total(|c| c.kinds_sum()), accesses);
    }
}

impl crate::llc::LlcCounters {
    fn kinds_sum(&self) -> u64 {
        let reads = self.read_hits + self.read_misses + self.read_sector_misses;
        reads + self.write_hits + self.write_misses + self.write_sector_misses + self.pending_hits
    }
}

#[test]
fn a_slice_is_numbered_over_the_chip() {
    let unit = Partition::new(PartitionId(5), &machine(), LLC_CLOCK, DRAM_CLOCK, PORTS);
    assert_eq!(unit.slices().map(|s| s.id()).collect::<Vec<_>>(), [SliceId(10), SliceId(11)]);
}
