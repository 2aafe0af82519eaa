//! Tests of the tag array against a model that scans.

use proptest::prelude::*;

use warpshard_base::{Addr, SectorMask};
use warpshard_config::machine::{Cache, SetIndex};

use super::llc_spec;
use crate::cache::{Lookup, TagArray};

/// A sector of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Sector {
    #[default]
    Invalid,
    Reserved {
        modified: bool,
    },
    Valid,
    Modified {
        readable: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct ModelLine {
    line: u64,
    time: u64,
    sectors: [Sector; 4],
}

impl ModelLine {
    fn any(&self, test: impl Fn(&Sector) -> bool) -> bool {
        self.sectors.iter().any(test)
    }
    fn modified(&self) -> bool {
        self.any(|s| matches!(s, Sector::Modified { .. }))
    }
}

/// One set as GPGPU-Sim describes it: a scan of all ways that selects the last empty way or else the least recently used one.
struct SetModel {
    ways: Vec<ModelLine>,
    ratio: usize,
}

impl SetModel {
    fn probe(&self, line: u64, sector: usize, write: bool) -> (Lookup, usize) {
        if let Some(way) = self.ways.iter().position(|w| w.line == line && w.any(|s| *s != Sector::Invalid)) {
            let lookup = match self.ways[way].sectors[sector] {
                Sector::Reserved { .. } => Lookup::HitReserved,
                Sector::Valid => Lookup::Hit,
                Sector::Modified { readable } if write || readable => Lookup::Hit,
                _ => Lookup::SectorMiss,
            };
            return (lookup, way);
        }
        let dirty = self.ways.iter().filter(|w| w.modified()).count();
        let any = dirty * 100 >= self.ratio * self.ways.len();
        if let Some(way) = self.ways.iter().rposition(|w| !w.any(|s| *s != Sector::Invalid)) {
            return (Lookup::Miss, way);
        }
        let free = |w: &ModelLine| !w.any(|s| matches!(s, Sector::Reserved { .. })) && (any || !w.modified());
        match (0..self.ways.len()).filter(|w| free(&self.ways[*w])).min_by_key(|w| (self.ways[*w].time, *w)) {
            Some(way) => (Lookup::Miss, way),
            None => (Lookup::NoLine, 0),
        }
    }
}

proptest! {
    #[test]
    fn the_tags_behave_like_a_scan_over_the_ways(
        ratio in prop::sample::select(vec![0u32, 25, 60]),
        ways in 1u32..25,
        // Few ways use the packed directory, more ways use the hashed one.
        room in prop::sample::select(vec![24u32, 25, 130]),
        steps in prop::collection::vec((0u64..32, 0usize..4, 0u8..5, 0u64..2), 1..400),
    ) {
        let spec = Cache { sets: 1, ways, index: SetIndex::Linear, ..llc_spec() };
        let mut tags = TagArray::new(&spec, room, ratio);
        let mut model = SetModel { ways: vec![ModelLine::default(); ways as usize], ratio: ratio as usize };
        let mut now = 1;
        for (line, sector, action, wait) in steps {
            now += wait;
            let (addr, one) = (Addr(line * 128 + sector as u64 * 32), SectorMask(1 << sector));
            let write = action >= 3;
            let probe = tags.probe(addr, 0, one, write);
            let (lookup, way) = model.probe(line, sector, write);
            prop_assert_eq!(probe.lookup, lookup);
            if lookup == Lookup::NoLine {
                continue;
            }
            prop_assert_eq!(usize::from(probe.line), way);
            let slot = &mut model.ways[way];
            if action == 0 {
                // The data of a waiting sector arrives.
                if let Sector::Reserved { modified } = slot.sectors[sector] {
                    slot.sectors[sector] = if modified { Sector::Modified { readable: true } } else { Sector::Valid };
                    tags.fill(probe.line, addr, one);
                }
                continue;
            }
            let evicted = tags.access(probe, addr, one, now);
            let dirty: u8 = (0..4).map(|i| u8::from(matches!(slot.sectors[i], Sector::Modified { .. })) << i).sum();
            let expected = (lookup == Lookup::Miss && dirty != 0).then_some((slot.line * 128, dirty));
            prop_assert_eq!(evicted.map(|e| (e.addr.0, e.sectors.0)), expected);
            if lookup == Lookup::Miss {
                *slot = ModelLine { line, ..ModelLine::default() };
            }
            slot.time = now;
            if matches!(lookup, Lookup::Miss | Lookup::SectorMiss) {
                slot.sectors[sector] = Sector::Reserved { modified: matches!(slot.sectors[sector], Sector::Modified { .. }) };
            }
            if write {
                let partial = action == 4;
                // A write to a valid or readable sector leaves it readable; a write to an absent sector does so only if it covers the
                // sector.
                let readable = !partial || matches!(slot.sectors[sector], Sector::Valid | Sector::Modified { readable: true });
                tags.write(probe.line, one, if partial { 0xf } else { u32::MAX });
                if lookup != Lookup::Hit {
                    tags.write_missed(probe.line, one, false);
                }
                slot.sectors[sector] = Sector::Modified { readable };
            }
            prop_assert_eq!(tags.dirty() as usize, model.ways.iter().filter(|w| w.modified()).count());
        }
    }
}
