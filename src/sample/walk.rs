//! What the warps of a CTA do to memory, read from their instructions without timing: the sectors of device memory that each access touches.

use crate::base::{LINE_BYTES, SECTOR_BYTES};
use crate::frontend::{CtaProgram, KernelInfo, MemInst, MemKind, MemSpace, OpClass};

/// Bytes of the window of generic addresses that is local memory, at most; nothing else lies there.
const LOCAL_WINDOW: u64 = 1 << 24;

/// An access to a sector: its line, the sector's bit within it, and whether it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) line: u64,
    pub(super) sector: u8,
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
    let written = mem.kind != MemKind::Load;
    let mut last = u64::MAX;
    for address in addresses {
        let (mut at, end) = (address / SECTOR_BYTES, (address + u64::from(mem.width.max(1)) - 1) / SECTOR_BYTES);
        while at <= end {
            // Neighbouring lanes share sectors.
            if at != last {
                let per_line = LINE_BYTES / SECTOR_BYTES;
                see(Touch { line: at / per_line * LINE_BYTES, sector: 1 << (at % per_line), written });
            }
            (last, at) = (at, at + 1);
        }
    }
}

/// Adds the instructions of a CTA by their class.
pub(super) fn count_classes(program: &CtaProgram, classes: &mut [u64; OpClass::COUNT]) {
    for warp in &program.warps {
        warp.read().for_each(|inst| classes[program.code[inst.index as usize].class as usize] += 1);
    }
}
