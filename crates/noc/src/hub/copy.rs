//! The copy engine: moves memory between GPUs line by line, as reads and, when these are answered, writes.
//!
//! In: copies, answers. Out: requests and finished copies. Copies under way take turns. Invariant: a line is written once, after
//! all of its sectors were read.

use std::collections::VecDeque;

use warpshard_base::{Addr, KernelIndex, LINE_BYTES, SECTOR_BYTES, SectorMask};
use warpshard_protocol::{COPY_PORT, MemOp, MemPacket, PacketPart};

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CopyJob {
    /// The name under which it was launched.
    pub kernel: KernelIndex,
    /// First byte read.
    pub from: Addr,
    /// First byte written.
    pub to: Addr,
    /// Length.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Active {
    job: CopyJob,
    /// Bytes of which the reading has begun.
    begun: u64,
    /// Lines under way.
    open: u32,
}

/// A line under way.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Line {
    kernel: KernelIndex,
    to: Addr,
    bytes: u32,
    left: SectorMask,
    writing: bool,
}

/// What an answer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing yet.
    Wait,
    /// This is written.
    Write(MemPacket),
    /// The line is done.
    Line,
    /// It was the last one of a copy.
    Copy(KernelIndex),
}

/// The copy engine.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CopyEngine {
    active: VecDeque<Active>,
    lines: Vec<Line>,
    free: Vec<u32>,
    most: usize,
}

impl CopyEngine {
    pub(super) fn new(most: u32) -> Self {
        Self { active: VecDeque::new(), lines: Vec::new(), free: Vec::new(), most: most as usize }
    }

    pub(super) fn start(&mut self, job: CopyJob) {
        self.active.push_back(Active { job, begun: 0, open: 0 });
    }

    /// Lines under way.
    pub(super) fn open(&self) -> usize {
        self.lines.len() - self.free.len()
    }

    /// The next line to read, if there is one and it has room.
    pub(super) fn read(&mut self) -> Option<MemPacket> {
        if self.free.is_empty() && self.lines.len() >= self.most {
            return None;
        }
        let place = self.active.iter().position(|copy| copy.begun < copy.job.bytes)?;
        let mut copy = self.active.remove(place)?;
        let CopyJob { kernel, from, to, bytes } = copy.job;
        let (from, to) = (Addr(from.0 + copy.begun), Addr(to.0 + copy.begun));
        let within = |addr: Addr| LINE_BYTES - addr.0 % LINE_BYTES;
        let length = within(from).min(within(to)).min(bytes - copy.begun);
        copy.begun += length;
        copy.open += 1;
        self.active.push_back(copy);
        let packet = packet(from, length, MemOp::Read, kernel);
        let line = Line { kernel, to, bytes: length as u32, left: packet.sectors(), writing: false };
        let token = match self.free.pop() {
            Some(token) => {
                self.lines[token as usize] = line;
                token
            }
            None => {
                self.lines.push(line);
                self.lines.len() as u32 - 1
            }
        };
        Some(MemPacket { token, ..packet })
    }

    /// An answer to a line came.
    pub(super) fn answer(&mut self, token: u32, sectors: SectorMask) -> Then {
        let line = &mut self.lines[token as usize];
        line.left.0 &= !sectors.0;
        if line.left.0 != 0 {
            return Then::Wait;
        }
        if !line.writing {
            let packet = packet(line.to, u64::from(line.bytes), MemOp::Write, line.kernel);
            (line.writing, line.left) = (true, packet.sectors());
            return Then::Write(MemPacket { token, ..packet });
        }
        let kernel = line.kernel;
        self.free.push(token);
        let Some(place) = self.active.iter().position(|copy| copy.job.kernel == kernel) else { return Then::Line };
        let copy = &mut self.active[place];
        copy.open -= 1;
        if copy.open > 0 || copy.begun < copy.job.bytes {
            return Then::Line;
        }
        self.active.remove(place);
        Then::Copy(kernel)
    }
}

/// A request for bytes of one line.
fn packet(addr: Addr, bytes: u64, op: MemOp, kernel: KernelIndex) -> MemPacket {
    let (first, last) = (addr.sector_index(), (addr.0 % LINE_BYTES + bytes - 1) / SECTOR_BYTES);
    let sectors = SectorMask((((2u32 << last) - 1) & !((1u32 << first) - 1)) as u8);
    let (addr, mask) = if sectors.count() == 1 {
        let ones = ((1u64 << bytes) - 1) as u32;
        (addr.sector(), if op == MemOp::Write { ones << (addr.0 % SECTOR_BYTES) } else { u32::MAX })
    } else {
        (addr.line(), u32::MAX)
    };
    MemPacket { addr, bytes: mask, port: COPY_PORT, part: PacketPart::new(kernel, sectors), op, ..MemPacket::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_and_written_once_and_the_last_line_ends_the_copy() {
        let job = CopyJob { kernel: KernelIndex(4), from: Addr(0x1010), to: Addr(0x8050), bytes: 1000 };
        let mut engine = CopyEngine::new(3);
        engine.start(job);
        let (mut written, mut done) = (0, None);
        while done.is_none() {
            let reads: Vec<MemPacket> = std::iter::from_fn(|| engine.read()).collect();
            assert!(!reads.is_empty() && reads.len() <= 3);
            for read in reads {
                assert_eq!((read.port, read.op), (COPY_PORT, MemOp::Read));
                let Then::Write(write) = engine.answer(read.token, read.sectors()) else { panic!("a read leads to a write") };
                written += engine.lines[read.token as usize].bytes;
                assert_eq!(write.op, MemOp::Write);
                match engine.answer(write.token, write.sectors()) {
                    Then::Copy(kernel) => done = Some(kernel),
                    then => assert_eq!(then, Then::Line),
                }
            }
        }
        assert_eq!((written, done, engine.open()), (1000, Some(KernelIndex(4)), 0));
        assert!(engine.read().is_none());
    }

    #[test]
    fn sectors_and_bytes_are_those_of_the_address() {
        let whole = packet(Addr(0x1000), 128, MemOp::Write, KernelIndex(0));
        assert_eq!((whole.addr, whole.sectors(), whole.bytes), (Addr(0x1000), SectorMask::ALL, u32::MAX));
        let part = packet(Addr(0x1044), 4, MemOp::Write, KernelIndex(0));
        assert_eq!((part.addr, part.sectors(), part.bytes), (Addr(0x1040), SectorMask(0b0100), 0xf0));
        let sector = packet(Addr(0x1060), 32, MemOp::Write, KernelIndex(0));
        assert_eq!((sector.addr, sector.sectors(), sector.bytes), (Addr(0x1060), SectorMask(0b1000), u32::MAX));
        assert_eq!(packet(Addr(0x1030), 0x21, MemOp::Read, KernelIndex(0)).sectors(), SectorMask(0b0110));
    }
}
