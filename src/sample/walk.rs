//! What the warps of a CTA do to memory, read from their instructions without timing: the sectors of device memory that each access touches.

use crate::base::{LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE};
use crate::frontend::{CtaProgram, KernelInfo, MemInst, MemKind, MemSpace, OpClass};

/// Bytes of the window of generic addresses that is local memory, at most; nothing else lies there.
const LOCAL_WINDOW: u64 = 1 << 24;

/// An access to a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// The address of its line.
    pub(super) line: u64,
    /// Its place within the line.
    pub(super) sector: usize,
    /// The bytes that are known after it: all after a read, and those written.
    pub(super) bytes: u32,
    pub(super) written: bool,
}

/// Calls `see` for every sector that each access of a CTA touches, warp by warp. Local memory, whose place depends on the SM, is left out.
pub(super) fn touches(info: &KernelInfo, program: &CtaProgram, mut see: impl FnMut(Touch)) {
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
            of_lanes(&addresses[..count], mem, &mut see);
        }
    }
}

/// Whether a generic address, of the first active lane, is one of device memory.
fn is_global(info: &KernelInfo, address: u64) -> bool {
    let (shared, local) = (info.shared_base.0, info.local_base.0);
    shared != 0 && local != 0 && !(shared..local + LOCAL_WINDOW).contains(&address)
}

fn of_lanes(addresses: &[u64], mem: MemInst, see: &mut impl FnMut(Touch)) {
    let (written, reads) = (mem.kind != MemKind::Load, mem.kind != MemKind::Store);
    let mut send = |sector: u64, bytes: u32| {
        let per_line = u64::from(SECTORS_PER_LINE);
        see(Touch {
            line: sector / per_line * LINE_BYTES,
            sector: (sector % per_line) as usize,
            bytes: if reads { u32::MAX } else { bytes },
            written,
        });
    };
    // Neighbouring lanes share sectors.
    let (mut sector, mut bytes) = (0, 0);
    for address in addresses {
        let (mut at, end) = (*address, address + u64::from(mem.width.max(1)));
        while at < end {
            if at / SECTOR_BYTES != sector && bytes != 0 {
                send(sector, bytes);
                bytes = 0;
            }
            sector = at / SECTOR_BYTES;
            let stop = end.min((sector + 1) * SECTOR_BYTES);
            bytes |= (u32::MAX >> (SECTOR_BYTES - (stop - at))) << (at % SECTOR_BYTES);
            at = stop;
        }
    }
    if bytes != 0 {
        send(sector, bytes);
    }
}

/// Adds the instructions of a CTA by their class.
pub(super) fn count_classes(program: &CtaProgram, classes: &mut [u64; OpClass::COUNT]) {
    for warp in &program.warps {
        warp.read().for_each(|inst| classes[program.code[inst.index as usize].class as usize] += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::CachePolicy;

    fn seen(kind: MemKind, width: u8, addresses: &[u64]) -> Vec<(u64, usize, u32)> {
        let mut all = Vec::new();
        let mem = MemInst { kind, space: MemSpace::Global, width, cache: CachePolicy::All };
        of_lanes(addresses, mem, &mut |touch| all.push((touch.line, touch.sector, touch.bytes)));
        all
    }

    #[test]
    fn lanes_that_share_a_sector_are_one_access_and_stores_know_the_bytes_they_write() {
        assert_eq!(seen(MemKind::Store, 4, &[0, 4, 36]), [(0, 0, 0xff), (0, 1, 0xf0)]);
        assert_eq!(seen(MemKind::Load, 4, &[128, 132]), [(128, 0, u32::MAX)]);
        assert_eq!(seen(MemKind::Reduction, 4, &[64]), [(0, 2, u32::MAX)]);
        // An access that crosses a line.
        assert_eq!(seen(MemKind::Store, 8, &[124]), [(0, 3, 0xf000_0000), (128, 0, 0xf)]);
    }
}
