//! Tests of the order of DRAM requests in a whole partition: the shares of two requesters in one channel, and independence of the division
//! into spans.

use warpshard_base::KernelSectors;
use warpshard_seam::UserPolicies;

use super::*;
use crate::dram::mapping::Mapping;
use crate::dram::{Channel, Clocked, DramRequest};

/// Returns sectors of one bank: consecutive sectors for one requester, and one sector of each of many rows for another.
fn row_reads_of_one_bank(machine: &Machine) -> [Vec<u64>; 2] {
    let map = machine.mem.map.clone();
    let device = machine.mem.device(machine.clocks.dram).unwrap();
    let mapping = machine.mem.dram.control.as_ref().zip(device);
    let mapping = mapping.map(|(control, standard)| Mapping::parse(&control.mapping, &standard.organisation, 1).unwrap());
    let place = |addr: Addr| match &mapping {
        Some(mapping) => {
            let place = mapping.locate_beyond(Addr(map.within_partition(addr.line())));
            (u32::from(place.bank), place.row)
        }
        None => {
            let place = map.locate(addr);
            (place.bank, place.row)
        }
    };
    let lines = || (0..1 << 21).map(|line| Addr(line * 128)).filter(|addr| place(*addr).0 == 0);
    let stream = lines().flat_map(|addr| (0..4).map(move |sector| addr.0 + sector * 32)).take(20_000).collect();
    let mut rows = Vec::new();
    for addr in lines().skip(20_000) {
        if rows.last().is_none_or(|(row, _)| *row != place(addr).1) {
            rows.push((place(addr).1, addr.0));
        }
    }
    [stream, rows.into_iter().map(|(_, addr)| addr).collect()]
}

/// Returns the replies to two requesters within a number of cycles, and the final counters. The first requester reads consecutive sectors
/// with many requests in flight, the second reads sectors of other rows of the same bank, one at a time.
fn two_streams(scheduler: DramScheduler, control: Option<DramControl>, skip: bool) -> ([u64; 2], CounterValues) {
    const MEASURED_CYCLES: u64 = 12_000;
    const MAX_IN_FLIGHT: u64 = 56;
    let mut machine = machine();
    (machine.mem.dram.scheduler, machine.mem.dram.control) = (scheduler, control);
    let (mut unit, mut out) = (partition(&machine), outbox());
    let map = machine.mem.map.clone();
    let sectors = row_reads_of_one_bank(&machine);
    let (mut asked, mut answered) = ([0u64; 2], [0u64; 2]);
    for at in (0..MEASURED_CYCLES).step_by(10) {
        for port in 0..2 {
            while asked[port] - answered[port] < [MAX_IN_FLIGHT, 1][port] {
                let number = asked[port];
                let addr = sectors[port][number as usize];
                deliver(&mut unit, at + 1, MemPacket { port: PortId(port as u16), ..read(&map, addr, number as u32) });
                asked[port] += 1;
            }
        }
        unit.run(Cycle(at + 10), skip, &mut out);
        for (sent, answer) in sent_replies(&mut out) {
            answered[answer.port.index()] += 1;
            let credit = Payload::Credit(Credit { queue: answer.slice.0, count: 1 });
            unit.deliver(LinkId(30 + answer.slice.0), Cycle(sent.max(at) + 10), &credit);
        }
    }
    unit.settle(Cycle(MEASURED_CYCLES));
    (answered, counter_values(&unit))
}

/// Returns the reads of two requesters that a channel serves within a number of cycles. The first requester always has many reads of one
/// row in flight, the second one read at a time, each of another row of the same bank.
fn served_reads<C: Clocked>(channel: &mut C, [one_row, rows]: &[Vec<DramRequest>; 2]) -> [u64; 2] {
    const MAX_IN_FLIGHT: u64 = 40;
    let (mut asked, mut answered) = ([0u64; 2], [0u64; 2]);
    for now in 0..12_000 {
        while let Some(request) = channel.oldest_returned() {
            answered[request.port.index()] += 1;
            channel.drop_returned();
        }
        channel.cycle(Cycle(now));
        let port = usize::from(asked[1] > answered[1]);
        if !channel.is_full() && asked[1 - port] - answered[1 - port] < [1, MAX_IN_FLIGHT][port] {
            let requests = if port == 0 { rows } else { one_row };
            let request = &requests[asked[1 - port] as usize % requests.len()];
            channel.push(Cycle(now), &DramRequest { since: now as u32, ..*request });
            asked[1 - port] += 1;
        }
    }
    answered
}

#[test]
fn batches_give_a_requester_with_few_requests_its_share_of_a_channel() {
    for control in [None, Some(command_controller(None, 64))] {
        let mut machine = machine();
        machine.mem.dram.control = control;
        let [stream, rows] = row_reads_of_one_bank(&machine);
        let request = |addr: u64, port| {
            let place = machine.mem.map.locate(Addr(addr));
            let (bank, row) = (place.bank as u8, place.row);
            DramRequest {
                addr: Addr(addr),
                bank,
                row,
                part: KernelSectors::new(KernelIndex(0), SectorMask::of(Addr(addr))),
                port: PortId(port),
                ..DramRequest::default()
            }
        };
        let requests =
            [stream.iter().take(16).map(|addr| request(*addr, 0)).collect(), rows.iter().map(|addr| request(*addr, 1)).collect()];
        let [row_hits, batches] = [DramScheduler::FrFcfs, DramScheduler::ParBs].map(|order| {
            machine.mem.dram.scheduler = order;
            match &mut Channel::new(&machine.mem, machine.clocks.dram, PartitionId(0), &UserPolicies::default()) {
                Channel::Simple(channel) => served_reads(&mut **channel, &requests),
                Channel::CommandLevel(channel) => served_reads(&mut **channel, &requests),
            }
        });
        assert!(batches[1] > 50 && batches[1] > 4 * row_hits[1], "{batches:?} reads in batches, {row_hits:?} with row hits first");
        assert!(batches[0] > 4 * batches[1] && batches[0] < row_hits[0], "{batches:?} reads in batches, {row_hits:?} with row hits first");
    }
}

#[test]
fn an_order_that_examines_the_queue_is_independent_of_skipped_cycles() {
    for control in [None, Some(command_controller(None, 64)), Some(command_controller(None, 8))] {
        let run = |skip| two_streams(DramScheduler::ParBs, control.clone(), skip);
        assert_eq!(run(true), run(false));
    }
}
