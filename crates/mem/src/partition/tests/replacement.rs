//! Tests of replacement in the LLC of a partition: the reused lines that each policy keeps.

use warpshard_seam::Identity;

use super::*;

/// Returns the sectors that miss in small slices under a policy such as LRU or SHiP. One instruction reads lines in rounds, another scans
/// three times the capacity of the slices between two rounds.
fn misses_of_two_instructions(replacement: Replacement) -> u64 {
    const ROUNDS: u64 = 24;
    const REUSED_LINES: u64 = 32;
    const SCANNED_LINES: u64 = 192;
    let mut machine = machine();
    let llc = &mut machine.mem.llc;
    (llc.sets, llc.ways, llc.index, llc.replacement) = (4, 8, SetIndex::Linear, replacement);
    let (mut unit, mut out) = (partition(&machine), outbox());
    let lines = (0..ROUNDS).flat_map(|round| {
        let scan = (0..SCANNED_LINES).map(move |line| (REUSED_LINES + round * SCANNED_LINES + line, 2));
        (0..REUSED_LINES).map(|line| (line, 1)).chain(scan)
    });
    for ((line, instruction), at) in lines.zip((0..).step_by(1000)) {
        let packet = MemPacket { bytes: Identity::signature(instruction, 0), ..read(&machine.mem.map, line * 128, 0) };
        deliver(&mut unit, at, packet);
        unit.run(Cycle(at + 1000), true, &mut out);
        let [(_, answer)] = sent_replies(&mut out)[..] else { panic!("one reply to the read of line {line}") };
        unit.deliver(LinkId(30 + answer.slice.0), Cycle(at + 1000), &Payload::Credit(Credit { queue: answer.slice.0, count: 1 }));
    }
    unit.slices().map(|slice| slice.counters().misses).sum::<u64>() - ROUNDS * SCANNED_LINES
}

/// Returns the misses of the slices, their prefetches, and all counters, if the same lines, which exceed the capacity, are read four times
/// in an order without strides.
fn misses_of_repeated_walk(prefetch: Prefetch, skip: bool) -> (u64, u64, CounterValues) {
    const REPEATED_LINES: u64 = 512;
    let mut machine = machine();
    let llc = &mut machine.mem.llc;
    (llc.sets, llc.ways, llc.index) = (4, 8, SetIndex::Linear);
    machine.mem.prefetch = Prefetching { policy: prefetch, distance: 1, degree: 2 };
    let (mut unit, mut out) = (partition(&machine), outbox());
    for (step, at) in (0..4 * REPEATED_LINES).zip((0..).step_by(1000)) {
        let line = step % REPEATED_LINES * 387 % 521;
        let packet = MemPacket { bytes: Identity::signature(1, 0), port: PortId(0), ..read(&machine.mem.map, line * 4096, 0) };
        deliver(&mut unit, at, packet);
        unit.run(Cycle(at + 1000), skip, &mut out);
        let [(_, answer)] = sent_replies(&mut out)[..] else { panic!("one reply to the read of line {line}") };
        unit.deliver(LinkId(30 + answer.slice.0), Cycle(at + 1000), &Payload::Credit(Credit { queue: answer.slice.0, count: 1 }));
    }
    let useful = unit.slices().filter_map(|slice| slice.prefetches()).map(|counters| counters.prefetches_useful).sum();
    (unit.slices().map(|slice| slice.counters().misses).sum(), useful, counter_values(&unit))
}

#[test]
fn a_history_prefetcher_fetches_the_next_lines_of_a_repeated_walk() {
    let (none, _, _) = misses_of_repeated_walk(Prefetch::None, true);
    let (misses, useful, counts) = misses_of_repeated_walk(Prefetch::Ghb, true);
    assert_eq!(none, 4 * 512);
    assert!(misses < 700 && useful > 1300, "{misses} misses and {useful} useful prefetches, {none} misses without");
    assert_eq!(misses_of_repeated_walk(Prefetch::Ghb, false), (misses, useful, counts));
}

#[test]
fn ship_learns_which_instruction_scans_and_lru_and_srrip_do_not() {
    let [lru, srrip, ship] = [Replacement::Lru, Replacement::Srrip, Replacement::Ship].map(misses_of_two_instructions);
    assert_eq!(lru, 24 * 32, "under LRU every scan replaces every line");
    assert!(ship * 2 < lru && ship * 2 < srrip, "{ship} misses of reused lines under SHiP, {srrip} under SRRIP, {lru} under LRU");
}

/// Returns the sectors that miss in small slices if, in each round, a set of lines is read twice and followed by lines that are read once.
fn misses_of_scan(replacement: Replacement) -> u64 {
    const ROUNDS: u64 = 12;
    /// Half of the lines that the slices hold.
    const REUSED_LINES: u64 = 32;
    const SCANNED_LINES: u64 = 64;
    let mut machine = machine();
    let llc = &mut machine.mem.llc;
    (llc.sets, llc.ways, llc.index, llc.replacement) = (4, 8, SetIndex::Linear, replacement);
    let (mut unit, mut out) = (partition(&machine), outbox());
    let lines = (0..ROUNDS).flat_map(|round| {
        let scan = (0..SCANNED_LINES).map(move |line| REUSED_LINES + round * SCANNED_LINES + line);
        (0..REUSED_LINES).chain(0..REUSED_LINES).chain(scan)
    });
    for (line, at) in lines.zip((0..).step_by(1000)) {
        deliver(&mut unit, at, read(&machine.mem.map, line * 128, 0));
        unit.run(Cycle(at + 1000), true, &mut out);
        let [(_, answer)] = sent_replies(&mut out)[..] else { panic!("one reply to the read of line {line}") };
        unit.deliver(LinkId(30 + answer.slice.0), Cycle(at + 1000), &Payload::Credit(Credit { queue: answer.slice.0, count: 1 }));
    }
    unit.slices().map(|slice| slice.counters().misses).sum()
}

#[test]
fn srrip_keeps_reused_lines_during_a_scan_that_evicts_them_under_lru() {
    let (lru, srrip) = (misses_of_scan(Replacement::Lru), misses_of_scan(Replacement::Srrip));
    assert!(srrip * 4 < lru * 3, "{srrip} misses under SRRIP, {lru} under LRU");
}
