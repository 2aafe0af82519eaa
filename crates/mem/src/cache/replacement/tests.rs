//! Tests of replacement policies against plain models, and against the examples and claims of their papers.

use proptest::prelude::*;

use warpshard_base::{Addr, LINE_BYTES, SectorMask};
use warpshard_config::Machine;
use warpshard_config::machine::{Cache, Replacement, SetIndex};

use crate::cache::{Lookup, TagArray};

const POLICIES: [Replacement; 4] = [Replacement::Lru, Replacement::Fifo, Replacement::Random, Replacement::Srrip];
const FIRST_SECTOR: SectorMask = SectorMask(1);

/// Returns tags with one set.
fn tags(replacement: Replacement, ways: u32, room: u32) -> TagArray {
    let llc = Machine::load("v100", &[]).unwrap().machine.mem.llc;
    TagArray::new(&Cache { sets: 1, ways, index: SetIndex::Linear, replacement, ..llc }, room, 0)
}

fn addr(line: u64) -> Addr {
    Addr(line * LINE_BYTES)
}

/// Reads the first sector of a line, whose data arrives in the same cycle. Returns true for a hit.
fn read(tags: &mut TagArray, line: u64, now: u64) -> bool {
    let probe = tags.probe(addr(line), 0, FIRST_SECTOR, false);
    tags.access(probe, addr(line), FIRST_SECTOR, now);
    tags.fill(probe.line, addr(line), FIRST_SECTOR);
    probe.lookup == Lookup::Hit
}

fn hits(replacement: Replacement, ways: u32, lines: impl IntoIterator<Item = u64>) -> usize {
    let mut tags = tags(replacement, ways, ways);
    lines.into_iter().zip(1..).filter(|(line, now)| read(&mut tags, *line, *now)).count()
}

/// The example is Figure 3 of Jaleel et al., ISCA 2010: a1 a2 a2 a1, a scan of four lines, a1 a2, in four ways.
#[test]
fn srrip_keeps_the_reused_lines_of_the_paper_s_example_through_the_scan() {
    let mixed = [1, 2, 2, 1, 11, 12, 13, 14, 1, 2];
    assert_eq!(hits(Replacement::Srrip, 4, mixed), 4, "both find their lines again");
    assert_eq!(hits(Replacement::Lru, 4, mixed), 2, "the scan replaces all four ways");
}

#[test]
fn a_reused_set_survives_scans_under_srrip_and_not_under_lru() {
    // Half of the ways are read again and again; between the rounds, as many new lines as there are ways are read.
    let round = |round: u64| {
        let reused = (0..8).chain(0..8);
        reused.chain((0..16).map(move |line| 100 + 16 * round + line))
    };
    let rounds = || (0..50).flat_map(round);
    let (srrip, lru) = (hits(Replacement::Srrip, 16, rounds()), hits(Replacement::Lru, 16, rounds()));
    assert_eq!(lru, 50 * 8, "only the second read of a round hits");
    assert!(srrip > lru + 45 * 8, "{srrip} hits, {lru} under LRU: from the second round on the first read hits, too");
}

#[test]
fn accesses_to_missing_or_pending_sectors_are_not_reuse() {
    let mut tags = tags(Replacement::Srrip, 2, 2);
    let sectors = |tags: &mut TagArray, line: u64, now: u64| {
        for sector in 0..4 {
            let (at, mask) = (Addr(addr(line).0 + 32 * sector), SectorMask(1 << sector));
            let probe = tags.probe(at, 0, mask, false);
            tags.access(probe, at, mask, now + sector);
            tags.access(tags.probe(at, 0, mask, false), at, mask, now + sector);
            tags.fill(probe.line, at, mask);
        }
    };
    assert!(!read(&mut tags, 1, 1) && read(&mut tags, 1, 2), "line 1 is used twice");
    sectors(&mut tags, 2, 10);
    sectors(&mut tags, 3, 20);
    assert!(read(&mut tags, 1, 30), "line 3 replaced line 2, whose sectors were each read once");
}

#[test]
fn fifo_evicts_the_oldest_insertion_regardless_of_reads() {
    let reads = [1, 2, 1, 1, 3, 1];
    assert_eq!(hits(Replacement::Fifo, 2, reads), 2, "line 3 replaces line 1");
    assert_eq!(hits(Replacement::Lru, 2, reads), 3);
}

#[test]
fn random_replaces_all_ways_about_equally_often_and_the_same_ones_in_every_run() {
    let victims = || {
        let mut tags = tags(Replacement::Random, 8, 8);
        (0..8).for_each(|line| assert!(!read(&mut tags, line, line)));
        let draw = |line: u64| {
            let victim = tags.probe(addr(line), 0, FIRST_SECTOR, false).line;
            read(&mut tags, line, line);
            victim
        };
        (8..4008).map(draw).collect::<Vec<u16>>()
    };
    let drawn = victims();
    let counts: Vec<usize> = (0..8).map(|way| drawn.iter().filter(|victim| **victim == way).count()).collect();
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?} of 4000 draws");
    assert_eq!(drawn, victims());
}

/// A way of a set in the plain model.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    line: Option<u64>,
    waits: bool,
    placed: u64,
    used: u64,
    interval: u8,
}

/// Returns the victim way of the plain model: the last empty way, else the choice of the policy. For SRRIP, it also ages the lines.
fn victim(ways: &mut [Way], replacement: Replacement) -> Option<usize> {
    if let Some(empty) = ways.iter().rposition(|way| way.line.is_none()) {
        return Some(empty);
    }
    let evictable: Vec<usize> = (0..ways.len()).filter(|way| !ways[*way].waits).collect();
    match replacement {
        Replacement::Lru => evictable.into_iter().min_by_key(|way| (ways[*way].used, *way)),
        Replacement::Fifo => evictable.into_iter().min_by_key(|way| (ways[*way].placed, *way)),
        Replacement::Srrip if evictable.is_empty() => None,
        Replacement::Srrip => loop {
            if let Some(way) = evictable.iter().find(|way| ways[**way].interval == 3) {
                return Some(*way);
            }
            ways.iter_mut().for_each(|way| way.interval = (way.interval + 1).min(3));
        },
        Replacement::Random | Replacement::Ship | Replacement::TaDrrip | Replacement::Own => {
            unreachable!("the model does not have this policy")
        }
    }
}

proptest! {
    #[test]
    fn every_policy_agrees_with_its_plain_model(
        replacement in prop::sample::select(POLICIES.to_vec()),
        ways in 1u32..25,
        // LRU order is stored in bytes or in lists.
        room in prop::sample::select(vec![24u32, 25, 70]),
        steps in prop::collection::vec((0u64..40, 0u8..4, 0u64..3), 1..400),
    ) {
        let mut tags = tags(replacement, ways, room);
        let mut set = vec![Way::default(); ways as usize];
        let mut now = 1;
        for (line, action, wait) in steps {
            now += wait;
            let at = addr(line);
            let probe = tags.probe(at, 0, FIRST_SECTOR, false);
            prop_assert_eq!(probe, tags.probe(at, 0, FIRST_SECTOR, false), "a probe changes nothing");
            let known = set.iter().position(|way| way.line == Some(line));
            let Some(way) = known else {
                let drawn = replacement == Replacement::Random && set.iter().all(|way| way.line.is_some());
                let mut aged = set.clone();
                let expected = if drawn {
                    (probe.lookup == Lookup::Miss).then_some(usize::from(probe.line))
                } else {
                    victim(&mut aged, replacement)
                };
                prop_assert_eq!(probe.lookup == Lookup::NoLine, set.iter().all(|way| way.waits), "there is a victim if a line is evictable");
                let Some(way) = expected else { continue };
                prop_assert_eq!(usize::from(probe.line), way);
                prop_assert!(!set[way].waits);
                set = aged;
                set[way] = Way { line: Some(line), waits: true, placed: now, used: now, interval: 2 };
                tags.access(probe, at, FIRST_SECTOR, now);
                if action > 0 {
                    tags.fill(probe.line, at, FIRST_SECTOR);
                    set[way].waits = false;
                }
                continue;
            };
            prop_assert_eq!(probe.lookup, if set[way].waits { Lookup::HitReserved } else { Lookup::Hit });
            if action == 3 && !set[way].waits {
                tags.evict_sector(probe.line, FIRST_SECTOR);
                set[way] = Way { interval: 3, ..Way::default() };
                continue;
            }
            tags.access(probe, at, FIRST_SECTOR, now);
            set[way].used = now;
            set[way].interval = if set[way].waits { set[way].interval } else { 0 };
            if set[way].waits {
                tags.fill(probe.line, at, FIRST_SECTOR);
                set[way].waits = false;
            }
        }
    }
}
