//! The memory footprint of a kernel: counts in the index, and a block with the most recently used cache lines.
//!
//! Sampled runs insert the lines of skipped launches into the LLC. With stored lines these launches need not be decoded.

use roaring::RoaringTreemap;

use warpshard_base::{Addr, LINE_BYTES, SECTORS_PER_LINE, SectorBytes, SectorMask};
use warpshard_workload::{CtaProgram, KernelInfo, LaunchCounts, OpClass, UsedLine, UsedLines, count_classes, touches};

use super::frame::BlockRef;
use super::wire::{ByteReader, write_number, write_signed};

/// Maximum cache lines per kernel in a file, of which the most recently used are stored: 128 MiB, more than any LLC holds.
const MAX_LINES: usize = 1 << 20;
const SECTORS: usize = SECTORS_PER_LINE as usize;

/// The memory footprint of a kernel in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Sectors of device memory that the kernel's accesses touch, summed over accesses.
    sectors: u64,
    /// Warp instructions per opcode class.
    classes: [u64; OpClass::COUNT],
    /// Cache lines that the kernel uses.
    lines: u64,
    /// Cache lines of the kernel that no earlier kernel in the file uses.
    new_lines: u64,
    /// Block with the most recently used lines; `None` in a trace of one launch, because a single launch is never skipped.
    pub(super) block: Option<BlockRef>,
}

impl Footprint {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_number(out, self.sectors);
        write_number(out, self.classes.len() as u64);
        self.classes.iter().for_each(|count| write_number(out, *count));
        write_number(out, self.lines);
        write_number(out, self.new_lines);
        write_number(out, u64::from(self.block.is_some()));
        self.block.iter().for_each(|block| block.write(out));
    }

    pub(super) fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
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

    /// Returns the counts of the kernel, which has `warp_instructions` warp instructions.
    pub(super) fn counts(&self, warp_instructions: u64) -> LaunchCounts {
        LaunchCounts {
            warp_instructions,
            sectors: Some(self.sectors),
            classes: Some(self.classes),
            lines: Some(self.lines),
            new_lines: Some(self.new_lines),
        }
    }

    /// Returns the block if it contains the `limit` most recently used lines or all lines.
    pub(super) fn block_with(&self, limit: usize) -> Option<&BlockRef> {
        self.block.as_ref().filter(|_| limit <= MAX_LINES || self.lines <= MAX_LINES as u64)
    }
}

/// Cache lines collected over the kernels of a file that is being written.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    /// Line numbers used by the kernels so far.
    before: RoaringTreemap,
}

/// A collector of one kernel's footprint.
pub(super) struct KernelFootprint<'a> {
    info: &'a KernelInfo,
    footprint: Footprint,
    used: UsedLines,
    all: RoaringTreemap,
}

impl<'a> KernelFootprint<'a> {
    pub(super) fn new(info: &'a KernelInfo) -> Self {
        Self { info, footprint: Footprint::default(), used: UsedLines::new(MAX_LINES), all: RoaringTreemap::new() }
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

    /// Returns the footprint and the contents of its block of lines.
    pub(super) fn finish(self, reading: &mut FileLines) -> (Footprint, Vec<u8>) {
        let (lines, before) = (self.all.len(), reading.before.len());
        reading.before |= self.all;
        let new_lines = reading.before.len() - before;
        (Footprint { lines, new_lines, ..self.footprint }, encode(&self.used.last()))
    }
}

fn encode(lines: &[UsedLine]) -> Vec<u8> {
    let mut out = Vec::new();
    write_number(&mut out, lines.len() as u64);
    let mut before = 0;
    for line in lines {
        let number = line.addr.0 / LINE_BYTES;
        write_signed(&mut out, number.wrapping_sub(before) as i64);
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

/// Decodes the last `limit` lines of a block; returns `None` if the block is malformed.
pub(super) fn decode(raw: &[u8], limit: usize) -> Option<Vec<UsedLine>> {
    let mut bytes = ByteReader::new(raw);
    let count = bytes.count()?;
    let mut lines = Vec::with_capacity(count.min(limit));
    let mut number = 0_u64;
    for place in 0..count {
        number = number.wrapping_add(bytes.signed()? as u64);
        let [known, partial] = *bytes.take_bytes(2)?.first_chunk()?;
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
    (bytes.remaining() == 0).then_some(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn used_lines_round_trip_and_arbitrary_bytes_are_safe(
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
