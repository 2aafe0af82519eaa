//! Memory accesses of a CTA's warps, read from their instructions without timing: the sectors of device memory that each access touches,
//! and the most recently used lines.

use rustc_hash::FxHashMap;

use warpshard_base::{Addr, LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, SectorBytes, SectorMask};

use crate::{CtaProgram, KernelInfo, MemInst, MemKind, MemSpace, OpClass, UsedLine};

/// Maximum number of bytes of the local memory window of generic addresses, which holds nothing else.
const LOCAL_WINDOW: u64 = 1 << 24;

/// An access to a sector of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorAccess {
    /// Address of the sector's line.
    pub line: u64,
    /// Number of the sector within the line.
    pub sector: usize,
    /// Bytes that are valid after the access, as a bit set: all bytes after a read, otherwise the written bytes.
    pub bytes: u32,
    /// True if the access writes the sector.
    pub written: bool,
}

/// Calls `see` for every sector that each access of a CTA touches, warp by warp. Omits local memory, whose location depends on the SM.
pub fn touches(info: &KernelInfo, program: &CtaProgram, mut see: impl FnMut(SectorAccess)) {
    let mut addresses = [0; 32];
    for warp in &program.warps {
        let mut reader = warp.read();
        while let Some(inst) = reader.next() {
            let Some(mem) = program.code[inst.index as usize].mem else { continue };
            if !matches!(mem.space, MemSpace::Global | MemSpace::Generic | MemSpace::Texture) || inst.mask.0 == 0 {
                continue;
            }
            let count = reader.addresses(&inst, &mut addresses);
            if count == 0 || mem.space == MemSpace::Generic && !is_global(info, addresses[0]) {
                continue;
            }
            visit_lanes(&addresses[..count], mem, &mut see);
        }
    }
}

/// Returns true if a generic address, of the first active lane, is in device memory.
fn is_global(info: &KernelInfo, address: u64) -> bool {
    let (shared, local) = (info.shared_base.0, info.local_base.0);
    shared != 0 && local != 0 && !(shared..local + LOCAL_WINDOW).contains(&address)
}

/// Maximum number of sectors of an access: each of 32 lanes may touch two sectors.
const MAX_SECTORS: usize = 64;

fn visit_lanes(addresses: &[u64], mem: MemInst, see: &mut impl FnMut(SectorAccess)) {
    let (mut sectors, mut count) = ([(0, 0_u32); MAX_SECTORS], 0);
    for address in addresses {
        let (mut at, end) = (*address, address.saturating_add(mem.width.clamp(1, SECTOR_BYTES as u8).into()));
        while at < end {
            let sector = at / SECTOR_BYTES;
            let stop = end.min((sector + 1).saturating_mul(SECTOR_BYTES));
            let bytes = (u32::MAX >> (SECTOR_BYTES - (stop - at))) << (at % SECTOR_BYTES);
            // Neighbouring lanes share sectors.
            match sectors[..count].iter_mut().rev().find(|known| known.0 == sector) {
                Some(known) => known.1 |= bytes,
                None => {
                    sectors[count] = (sector, bytes);
                    count += 1;
                }
            }
            at = stop;
        }
    }
    let (written, reads) = (mem.kind != MemKind::Load, mem.kind != MemKind::Store);
    let per_line = u64::from(SECTORS_PER_LINE);
    for (sector, bytes) in &sectors[..count] {
        see(SectorAccess {
            line: sector / per_line * LINE_BYTES,
            sector: (sector % per_line) as usize,
            bytes: if reads { u32::MAX } else { *bytes },
            written,
        });
    }
}

/// Adds the instructions of a CTA to the counts by class.
pub fn count_classes(program: &CtaProgram, classes: &mut [u64; OpClass::COUNT]) {
    for warp in &program.warps {
        warp.read().for_each(|inst| classes[program.code[inst.index as usize].class as usize] += 1);
    }
}

/// The most recently used lines, up to a limit.
///
/// At most twice as many lines as the limit are kept. Older lines are discarded, together with their record of written sectors.
#[derive(Debug)]
pub struct UsedLines {
    limit: usize,
    /// Indices into `lines`, by address.
    places: FxHashMap<u64, u32>,
    /// The lines, each with the time of its last use.
    lines: Vec<(u64, UsedLine)>,
    use_count: u64,
}

impl UsedLines {
    /// Creates an empty list with the given limit.
    pub fn new(limit: usize) -> Self {
        Self { limit, places: FxHashMap::default(), lines: Vec::new(), use_count: 0 }
    }

    /// Records an access to a sector; returns true if its line is new.
    pub fn touch(&mut self, touch: SectorAccess) -> bool {
        let mut bytes = SectorBytes::default();
        bytes[touch.sector] = touch.bytes;
        self.use_line(UsedLine { addr: Addr(touch.line), bytes, written: SectorMask(u8::from(touch.written) << touch.sector) })
    }

    /// Records a use of a line; returns true if the line is not in the list.
    pub fn use_line(&mut self, used: UsedLine) -> bool {
        self.use_count += 1;
        let known = self.lines.len();
        let place = *self.places.entry(used.addr.0).or_insert_with(|| {
            self.lines.push((0, UsedLine { bytes: SectorBytes::default(), written: SectorMask(0), ..used }));
            self.lines.len() as u32 - 1
        });
        let (last, line) = &mut self.lines[place as usize];
        *last = self.use_count;
        line.bytes.iter_mut().zip(used.bytes).for_each(|(known, bytes)| *known |= bytes);
        line.written.0 |= used.written.0;
        let new = self.lines.len() > known;
        if self.lines.len() > self.limit.max(1).saturating_mul(2) {
            self.discard_oldest();
        }
        new
    }

    /// Returns the most recently used lines, in the order of their last use.
    pub fn last(mut self) -> Vec<UsedLine> {
        self.discard_oldest();
        self.lines.into_iter().map(|(_, line)| line).collect()
    }

    /// Sorts the lines by their last use, and discards the oldest lines beyond the limit.
    fn discard_oldest(&mut self) {
        self.lines.sort_unstable_by_key(|(last, _)| *last);
        self.lines.drain(..self.lines.len().saturating_sub(self.limit));
        self.places.clear();
        self.places.extend((0..).zip(&self.lines).map(|(place, (_, line))| (line.addr.0, place)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CachePolicy;

    #[test]
    fn lines_are_ordered_by_last_use_and_keep_written_sectors() {
        let mut used = UsedLines::new(2);
        const ALL_BYTES: u32 = u32::MAX;
        let line = |addr, bytes, written| UsedLine { addr: Addr(addr), bytes, written: SectorMask(written) };
        for (addr, bytes, written) in
            [(0, [0xf, 0, 0, 0], 1), (128, [ALL_BYTES, 0, 0, 0], 0), (256, [0, ALL_BYTES, 0, 0], 0), (0, [0xf0, ALL_BYTES, 0, 0], 1)]
        {
            used.use_line(line(addr, bytes, written));
        }
        assert_eq!(used.last(), [line(256, [0, ALL_BYTES, 0, 0], 0), line(0, [0xff, ALL_BYTES, 0, 0], 1)]);
        // Many lines, each of which is used twice.
        let mut used = UsedLines::new(2);
        for addr in (0..200).flat_map(|i| [i, i]) {
            used.touch(SectorAccess { line: addr * 128, sector: 3, bytes: 1, written: true });
            assert!(used.lines.len() <= 4);
        }
        assert_eq!(used.last(), [line(198 * 128, [0, 0, 0, 1], 8), line(199 * 128, [0, 0, 0, 1], 8)]);
    }

    fn touched_sectors(kind: MemKind, width: u8, addresses: &[u64]) -> Vec<(u64, usize, u32)> {
        let mut all = Vec::new();
        let mem = MemInst { kind, space: MemSpace::Global, width, cache: CachePolicy::All };
        visit_lanes(addresses, mem, &mut |touch| all.push((touch.line, touch.sector, touch.bytes)));
        all
    }

    #[test]
    fn lanes_that_share_a_sector_are_one_access_and_stores_have_byte_masks() {
        assert_eq!(touched_sectors(MemKind::Store, 4, &[0, 4, 36]), [(0, 0, 0xff), (0, 1, 0xf0)]);
        assert_eq!(touched_sectors(MemKind::Load, 4, &[128, 132]), [(128, 0, u32::MAX)]);
        assert_eq!(touched_sectors(MemKind::Reduction, 4, &[64]), [(0, 2, u32::MAX)]);
        // Two lanes return to a sector that earlier lanes touched.
        assert_eq!(touched_sectors(MemKind::Load, 4, &[0, 96, 4, 100]), [(0, 0, u32::MAX), (0, 3, u32::MAX)]);
        // An access that crosses a line.
        assert_eq!(touched_sectors(MemKind::Store, 8, &[124]), [(0, 3, 0xf000_0000), (128, 0, 0xf)]);
    }
}
