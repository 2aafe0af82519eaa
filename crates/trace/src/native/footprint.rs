//! What a kernel does to memory: counts in the index, and a block with the lines that it used last.
//!
//! Sampled runs put lines of launches that they skip into the LLC. A file that has them saves decoding these launches.

use roaring::RoaringTreemap;

use warpshard_base::{Addr, LINE_BYTES, SECTORS_PER_LINE, SectorBytes, SectorMask};
use warpshard_workload::{CtaProgram, KernelInfo, LaunchCounts, OpClass, UsedLine, UsedLines, count_classes, touches};

use super::frame::BlockRef;
use super::wire::{Bytes, put, put_signed};

/// Lines of a kernel that a file has at most, those used last: more than any LLC holds, 128 MiB.
const MOST: usize = 1 << 20;
const SECTORS: usize = SECTORS_PER_LINE as usize;

/// What the index says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Sectors of device memory that its accesses touch, summed over accesses.
    sectors: u64,
    /// Warp instructions by the class of their opcodes.
    classes: [u64; OpClass::COUNT],
    /// Lines that it uses.
    lines: u64,
    /// Those of them that no kernel before it in the file uses.
    new_lines: u64,
    /// The lines used last; a trace of one launch, which cannot be skipped, does not have them.
    pub(super) block: Option<BlockRef>,
}

impl Footprint {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put(out, self.sectors);
        put(out, self.classes.len() as u64);
        self.classes.iter().for_each(|count| put(out, *count));
        put(out, self.lines);
        put(out, self.new_lines);
        put(out, u64::from(self.block.is_some()));
        self.block.iter().for_each(|block| block.put(out));
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let sectors = bytes.number()?;
        let mut classes = [0; OpClass::COUNT];
        bytes.number().filter(|count| *count == classes.len() as u64)?;
        for count in &mut classes {
            *count = bytes.number()?;
        }
        let (lines, new_lines) = (bytes.number()?, bytes.number()?);
        let block = match bytes.byte()? {
            0 => None,
            1 => Some(BlockRef::read(bytes)?),
            _ => return None,
        };
        Some(Self { sectors, classes, lines, new_lines, block })
    }

    /// What the kernel comes to, with its warp instructions.
    pub(super) fn counts(&self, warp_instructions: u64) -> LaunchCounts {
        LaunchCounts {
            warp_instructions,
            sectors: Some(self.sectors),
            classes: Some(self.classes),
            lines: Some(self.lines),
            new_lines: Some(self.new_lines),
        }
    }

    /// The block, where it has as many of the lines used last, or all.
    pub(super) fn block_with(&self, limit: usize) -> Option<&BlockRef> {
        self.block.as_ref().filter(|_| limit <= MOST || self.lines <= MOST as u64)
    }
}

/// Reads kernels while a file is written.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Lines of the kernels so far, by their number.
    before: RoaringTreemap,
}

/// Reads one kernel.
pub(super) struct OfKernel<'a> {
    info: &'a KernelInfo,
    footprint: Footprint,
    used: UsedLines,
    all: RoaringTreemap,
}

impl<'a> OfKernel<'a> {
    pub(super) fn new(info: &'a KernelInfo) -> Self {
        Self { info, footprint: Footprint::default(), used: UsedLines::new(MOST), all: RoaringTreemap::new() }
    }

    pub(super) fn cta(&mut self, program: &CtaProgram) {
        touches(self.info, program, |touch| {
            self.footprint.sectors += 1;
            if self.used.touch(touch) {
                self.all.insert(touch.line / LINE_BYTES);
            }
        });
        count_classes(program, &mut self.footprint.classes);
    }

    /// The footprint, and what its block holds.
    pub(super) fn finish(self, reading: &mut Reading) -> (Footprint, Vec<u8>) {
        let (lines, before) = (self.all.len(), reading.before.len());
        reading.before |= self.all;
        let new_lines = reading.before.len() - before;
        (Footprint { lines, new_lines, ..self.footprint }, encode(&self.used.last()))
    }
}

fn encode(lines: &[UsedLine]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, lines.len() as u64);
    let mut before = 0;
    for line in lines {
        let number = line.addr.0 / LINE_BYTES;
        put_signed(&mut out, number.wrapping_sub(before) as i64);
        before = number;
        let mask = |is: &dyn Fn(u32) -> bool| (0..SECTORS).filter(|i| is(line.bytes[*i])).fold(0, |mask, i| mask | 1_u8 << i);
        let partial = mask(&|bytes| bytes != 0 && bytes != u32::MAX);
        out.extend([mask(&|bytes| bytes != 0) | line.written.0 << SECTORS, partial]);
        for bytes in line.bytes.iter().filter(|bytes| ![0, u32::MAX].contains(bytes)) {
            out.extend_from_slice(&bytes.to_le_bytes());
        }
    }
    out
}

/// The last `limit` lines of a block; `None` where it is malformed.
pub(super) fn decode(raw: &[u8], limit: usize) -> Option<Vec<UsedLine>> {
    let mut bytes = Bytes::new(raw);
    let count = bytes.count()?;
    let mut lines = Vec::with_capacity(count.min(limit));
    let mut number = 0_u64;
    for place in 0..count {
        number = number.wrapping_add(bytes.signed()? as u64);
        let [known, partial] = *bytes.take(2)?.first_chunk()?;
        let written = SectorMask(known >> SECTORS);
        let known = known & SectorMask::ALL.0;
        if partial & !known != 0 || written.0 & !known != 0 || number > u64::MAX / LINE_BYTES {
            return None;
        }
        let mut of_sectors = SectorBytes::default();
        for (i, of_sector) in of_sectors.iter_mut().enumerate().filter(|(i, _)| known >> i & 1 != 0) {
            *of_sector = if partial >> i & 1 != 0 { bytes.word()? } else { u32::MAX };
        }
        if count - place <= limit {
            lines.push(UsedLine { addr: Addr(number * LINE_BYTES), bytes: of_sectors, written });
        }
    }
    (bytes.left() == 0).then_some(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_come_back_as_they_were_and_any_bytes_can_be_read(
            lines in proptest::collection::vec((0..u64::MAX / LINE_BYTES, any::<SectorBytes>(), any::<u8>(), any::<u8>()), 0..20),
            limit in 0_usize..30,
            data: Vec<u8>,
        ) {
            let line = |&(number, mut bytes, whole, written): &(u64, SectorBytes, u8, u8)| {
                (0..SECTORS).filter(|i| whole >> i & 1 != 0).for_each(|i| bytes[i] = u32::MAX);
                let known = (0..SECTORS).filter(|i| bytes[*i] != 0).fold(0, |mask, i| mask | 1_u8 << i);
                UsedLine { addr: Addr(number * LINE_BYTES), bytes, written: SectorMask(written & known) }
            };
            let lines: Vec<UsedLine> = lines.iter().map(line).collect();
            let last = &lines[lines.len().saturating_sub(limit)..];
            let decoded = decode(&encode(&lines), limit);
            prop_assert_eq!(decoded.as_deref(), Some(last));
            let _ = decode(&data, limit);
        }
    }
}
