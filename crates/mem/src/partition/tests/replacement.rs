//! Replacement in the LLC of a partition: which policy keeps what is read again.

use super::*;

/// Sectors that miss in small slices when a set of lines is read twice in each round, and after it lines that are read once.
fn misses(replacement: Replacement) -> u64 {
    const ROUNDS: u64 = 12;
    /// Half of the lines that the slices hold.
    const REUSED: u64 = 32;
    const SCANNED: u64 = 64;
    let mut machine = machine();
    let llc = &mut machine.mem.llc;
    (llc.sets, llc.ways, llc.index, llc.replacement) = (4, 8, SetIndex::Linear, replacement);
    let (mut unit, mut out) = (partition(&machine), outbox());
    let lines = (0..ROUNDS).flat_map(|round| {
        let scan = (0..SCANNED).map(move |line| REUSED + round * SCANNED + line);
        (0..REUSED).chain(0..REUSED).chain(scan)
    });
    for (line, at) in lines.zip((0..).step_by(1000)) {
        deliver(&mut unit, at, read(&machine.mem.map, line * 128, 0));
        unit.run(Cycle(at + 1000), true, &mut out);
        let [(_, answer)] = answers(&mut out)[..] else { panic!("one answer to the read of line {line}") };
        unit.deliver(LinkId(30 + answer.slice.0), Cycle(at + 1000), &Payload::Credit(Credit { queue: answer.slice.0, count: 1 }));
    }
    unit.slices().map(|slice| slice.counters().misses).sum()
}

#[test]
fn srrip_keeps_what_is_reused_from_a_scan_that_evicts_it_under_lru() {
    let (lru, srrip) = (misses(Replacement::Lru), misses(Replacement::Srrip));
    assert!(srrip * 4 < lru * 3, "{srrip} misses under SRRIP, {lru} under LRU");
}
