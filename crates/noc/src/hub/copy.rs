//! The copy engine, which moves memory between GPUs line by line, with a read per line and, after its replies, a write.
//!
//! Input: copies and replies. Output: requests and finished copies. The active copies take turns. Invariant: a line is written once, after
//! all of its sectors were read.

use std::collections::VecDeque;

use warpshard_base::{Addr, KernelIndex, LINE_BYTES, SECTOR_BYTES, SectorMask};
use warpshard_protocol::{COPY_PORT, MemOp, MemPacket, PacketPart};

/// A copy between GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CopyJob {
    /// The number under which the copy was launched.
    pub kernel: KernelIndex,
    /// The first source address.
    pub from: Addr,
    /// The first destination address.
    pub to: Addr,
    /// The length in bytes.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct ActiveCopy {
    job: CopyJob,
    /// Bytes for which a read has been issued.
    read_bytes: u64,
    /// The number of lines in flight.
    open: u32,
}

/// A line in flight.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct CopyLine {
    kernel: KernelIndex,
    to: Addr,
    bytes: u32,
    missing_sectors: SectorMask,
    writing: bool,
}

/// The action that follows a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyAction {
    /// No action: the line waits for more replies.
    Wait,
    /// The write of the line is issued.
    Write(MemPacket),
    /// The line is complete.
    Line,
    /// The line is complete, and with it the copy.
    Copy(KernelIndex),
}

/// The copy engine.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CopyEngine {
    active: VecDeque<ActiveCopy>,
    lines: Vec<CopyLine>,
    free: Vec<u32>,
    max_lines: usize,
}

impl CopyEngine {
    pub(super) fn new(most: u32) -> Self {
        Self { active: VecDeque::new(), lines: Vec::new(), free: Vec::new(), max_lines: most as usize }
    }

    pub(super) fn start(&mut self, job: CopyJob) {
        self.active.push_back(ActiveCopy { job, read_bytes: 0, open: 0 });
    }

    /// Returns the number of lines in flight.
    pub(super) fn lines_in_flight(&self) -> usize {
        self.lines.len() - self.free.len()
    }

    /// Returns the read of the next line, unless all lines are read or too many are in flight.
    pub(super) fn next_read(&mut self) -> Option<MemPacket> {
        if self.free.is_empty() && self.lines.len() >= self.max_lines {
            return None;
        }
        let place = self.active.iter().position(|copy| copy.read_bytes < copy.job.bytes)?;
        let mut copy = self.active.remove(place)?;
        let CopyJob { kernel, from, to, bytes } = copy.job;
        let (from, to) = (Addr(from.0 + copy.read_bytes), Addr(to.0 + copy.read_bytes));
        let within = |addr: Addr| LINE_BYTES - addr.0 % LINE_BYTES;
        let length = within(from).min(within(to)).min(bytes - copy.read_bytes);
        copy.read_bytes += length;
        copy.open += 1;
        self.active.push_back(copy);
        let packet = packet(from, length, MemOp::Read, kernel);
        let line = CopyLine { kernel, to, bytes: length as u32, missing_sectors: packet.sectors(), writing: false };
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

    /// Records a reply with `sectors` of a line and returns the action that follows.
    pub(super) fn record_reply(&mut self, token: u32, sectors: SectorMask) -> CopyAction {
        let line = &mut self.lines[token as usize];
        line.missing_sectors.0 &= !sectors.0;
        if line.missing_sectors.0 != 0 {
            return CopyAction::Wait;
        }
        if !line.writing {
            let packet = packet(line.to, u64::from(line.bytes), MemOp::Write, line.kernel);
            (line.writing, line.missing_sectors) = (true, packet.sectors());
            return CopyAction::Write(MemPacket { token, ..packet });
        }
        let kernel = line.kernel;
        self.free.push(token);
        let Some(place) = self.active.iter().position(|copy| copy.job.kernel == kernel) else { return CopyAction::Line };
        let copy = &mut self.active[place];
        copy.open -= 1;
        if copy.open > 0 || copy.read_bytes < copy.job.bytes {
            return CopyAction::Line;
        }
        self.active.remove(place);
        CopyAction::Copy(kernel)
    }
}

/// Returns a request for bytes of one line.
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
            let reads: Vec<MemPacket> = std::iter::from_fn(|| engine.next_read()).collect();
            assert!(!reads.is_empty() && reads.len() <= 3);
            for read in reads {
                assert_eq!((read.port, read.op), (COPY_PORT, MemOp::Read));
                let CopyAction::Write(write) = engine.record_reply(read.token, read.sectors()) else {
                    panic!("the replies to a read cause a write")
                };
                written += engine.lines[read.token as usize].bytes;
                assert_eq!(write.op, MemOp::Write);
                match engine.record_reply(write.token, write.sectors()) {
                    CopyAction::Copy(kernel) => done = Some(kernel),
                    then => assert_eq!(then, CopyAction::Line),
                }
            }
        }
        assert_eq!((written, done, engine.lines_in_flight()), (1000, Some(KernelIndex(4)), 0));
        assert!(engine.next_read().is_none());
    }

    #[test]
    fn copy_requests_cover_the_sectors_and_bytes_of_their_address() {
        let whole = packet(Addr(0x1000), 128, MemOp::Write, KernelIndex(0));
        assert_eq!((whole.addr, whole.sectors(), whole.bytes), (Addr(0x1000), SectorMask::ALL, u32::MAX));
        let part = packet(Addr(0x1044), 4, MemOp::Write, KernelIndex(0));
        assert_eq!((part.addr, part.sectors(), part.bytes), (Addr(0x1040), SectorMask(0b0100), 0xf0));
        let sector = packet(Addr(0x1060), 32, MemOp::Write, KernelIndex(0));
        assert_eq!((sector.addr, sector.sectors(), sector.bytes), (Addr(0x1060), SectorMask(0b1000), u32::MAX));
        assert_eq!(packet(Addr(0x1030), 0x21, MemOp::Read, KernelIndex(0)).sectors(), SectorMask(0b0110));
    }
}
