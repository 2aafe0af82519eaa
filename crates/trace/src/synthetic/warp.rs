//! The instructions of one warp as lines of a trace.

use std::fmt::Write as _;

/// Threads of a warp.
pub(super) const LANES: u64 = 32;
/// Bytes of an instruction.
const INSTRUCTION: u32 = 16;
/// All lanes.
pub(super) const FULL: u32 = u32::MAX;
/// The register that reads as zero.
pub(super) const ZERO: u8 = 255;
/// Registers of 64-bit addresses and indices that all programs use alike.
pub(super) const INDEX: u8 = 6;
pub(super) const SCALE: u8 = 7;

/// Where a warp is in its grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) cta: u64,
    pub(super) warp: u64,
    /// Warps of a CTA.
    pub(super) warps: u64,
}

impl Place {
    /// The grid's number of the warp's first thread.
    pub(super) fn first_thread(self) -> u64 {
        (self.cta * self.warps + self.warp) * LANES
    }

    /// The CTA's number of the warp's first thread.
    pub(super) fn first_of_cta(self) -> u64 {
        self.warp * LANES
    }
}

/// The buffers that kernels read and write, as offsets from the kernel's base address.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Buffer {
    /// First input.
    A = 0,
    /// Second input.
    B = 0x1000_0000,
    /// Output.
    C = 0x2000_0000,
}

/// How the addresses of an access are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a first address and a stride where lanes are neighbours and equally spaced, as distances otherwise: what the tracer writes.
    Shortest,
    /// As a first address and the distance from each active lane to the next.
    Distances,
    /// One by one.
    List,
}

/// An instruction that accesses memory, but for its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'a> {
    pub(super) opcode: &'a str,
    /// Bytes per lane.
    pub(super) width: u32,
    pub(super) dst: Option<u8>,
    pub(super) src: &'a [u8],
}

impl<'a> Access<'a> {
    pub(super) fn load(opcode: &'a str, width: u32, dst: u8, src: &'a [u8]) -> Self {
        Self { opcode, width, dst: Some(dst), src }
    }

    pub(super) fn store(opcode: &'a str, width: u32, src: &'a [u8]) -> Self {
        Self { opcode, width, dst: None, src }
    }
}

/// Collects the lines of a warp.
#[derive(Debug)]
pub(super) struct WarpText {
    lines: String,
    instructions: u32,
    base: u64,
    /// Program counter of the next instruction; going back makes a loop.
    pub(super) pc: u32,
    /// Active lanes of the next instructions.
    pub(super) mask: u32,
    /// How addresses are written.
    pub(super) form: Form,
}

impl WarpText {
    pub(super) fn new(base: u64) -> Self {
        Self { lines: String::new(), instructions: 0, base, pc: 0, mask: FULL, form: Form::Shortest }
    }

    /// Begins another warp.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        (self.instructions, self.pc, self.mask, self.form) = (0, 0, FULL, Form::Shortest);
    }

    pub(super) fn lines(&self) -> &str {
        &self.lines
    }

    pub(super) fn instructions(&self) -> u32 {
        self.instructions
    }

    /// Passes over `count` instructions that this warp does not execute.
    pub(super) fn skip(&mut self, count: u32) {
        self.pc += count * INSTRUCTION;
    }

    /// The address of a byte of a buffer.
    pub(super) fn at(&self, buffer: Buffer, offset: u64) -> u64 {
        self.base + buffer as u64 + offset
    }

    /// An instruction without a result.
    pub(super) fn effect(&mut self, opcode: &str, src: &[u8]) {
        self.plain(opcode, None, src);
    }

    /// An instruction that writes a register.
    pub(super) fn alu(&mut self, opcode: &str, dst: u8, src: &[u8]) {
        self.plain(opcode, Some(dst), src);
    }

    fn plain(&mut self, opcode: &str, dst: Option<u8>, src: &[u8]) {
        self.begin(opcode, dst, src);
        self.lines.push_str("0 \n");
    }

    /// The same instructions under another mask.
    pub(super) fn masked(&mut self, mask: u32, instructions: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.mask, mask);
        instructions(self);
        self.mask = before;
    }

    /// An access of every active lane, at the address that its number gives.
    pub(super) fn access(&mut self, access: Access<'_>, address: impl FnMut(u64) -> u64) {
        self.begin(access.opcode, access.dst, access.src);
        let mask = self.mask;
        let active: Vec<u64> = (0..LANES).filter(|lane| mask >> lane & 1 != 0).map(address).collect();
        let Some(&first) = active.first() else {
            let _ = writeln!(self.lines, "{} 1 0x0 0 ", access.width);
            return;
        };
        let distances = || active.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed());
        let stride = distances().next().filter(|stride| distances().all(|distance| distance == *stride));
        let run = mask >> mask.trailing_zeros();
        let neighbours = run & run.wrapping_add(1) == 0;
        let _ = write!(self.lines, "{} ", access.width);
        let _ = match (self.form, stride) {
            (Form::List, _) => {
                self.lines.push('0');
                active.iter().try_for_each(|address| write!(self.lines, " {address:#018x}"))
            }
            (Form::Shortest, Some(stride)) if neighbours => write!(self.lines, "1 {first:#018x} {stride}"),
            _ => {
                let _ = write!(self.lines, "2 {first:#018x}");
                distances().try_for_each(|distance| write!(self.lines, " {distance}"))
            }
        };
        self.lines.push_str(" \n");
    }

    /// Program counter, mask and registers.
    fn begin(&mut self, opcode: &str, dst: Option<u8>, src: &[u8]) {
        let _ = write!(self.lines, "{:04x} {:08x} ", self.pc, self.mask);
        let _ = match dst {
            Some(dst) => write!(self.lines, "1 R{dst} "),
            None => write!(self.lines, "0 "),
        };
        let _ = write!(self.lines, "{opcode} {} ", src.len());
        for register in src {
            let _ = write!(self.lines, "R{register} ");
        }
        self.pc += INSTRUCTION;
        self.instructions += 1;
    }

    /// What a compiler emits to form the thread's index.
    pub(super) fn prologue(&mut self) {
        self.alu("IMAD.MOV.U32", 1, &[ZERO, ZERO]);
        self.alu("S2R", INDEX, &[]);
        self.alu("S2R", 3, &[]);
        self.alu("IMAD", INDEX, &[INDEX, 3]);
    }

    /// A 64-bit address from an index.
    pub(super) fn wide(&mut self, dst: u8) {
        self.alu("IMAD.WIDE", dst, &[INDEX, SCALE]);
    }

    /// Every lane loads the word of its thread from a buffer.
    pub(super) fn load_own(&mut self, buffer: Buffer, place: Place, dst: u8, address: u8) {
        let first = self.at(buffer, 4 * place.first_thread());
        self.access(Access::load("LDG.E.SYS", 4, dst, &[address]), |lane| first + 4 * lane);
    }

    /// Every lane stores the word of its thread to the output.
    pub(super) fn store_own(&mut self, place: Place, address: u8, value: u8) {
        let first = self.at(Buffer::C, 4 * place.first_thread());
        self.access(Access::store("STG.E.SYS", 4, &[address, value]), |lane| first + 4 * lane);
    }

    pub(super) fn exit(&mut self) {
        self.effect("EXIT", &[]);
    }
}

/// Marsaglia's xorshift generator of 64 bits, seeded by a thread's number.
#[derive(Debug)]
pub(super) struct Xorshift(u64);

impl Xorshift {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2_654_435_761).wrapping_add(88_172_645_463_325_252))
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
