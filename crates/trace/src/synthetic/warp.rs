//! Instructions of one warp as lines of a trace.

use std::fmt::Write as _;

/// Threads per warp.
pub(super) const LANES: u64 = 32;
/// Bytes of an instruction.
const INSTRUCTION_BYTES: u32 = 16;
/// Mask of all lanes.
pub(super) const ALL_LANES: u32 = u32::MAX;
/// The register that reads as zero.
pub(super) const ZERO_REGISTER: u8 = 255;
/// Registers for indices and for the scale of 64-bit addresses, common to all programs.
pub(super) const INDEX_REGISTER: u8 = 6;
pub(super) const SCALE_REGISTER: u8 = 7;

/// The position of a warp in its grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpPosition {
    pub(super) cta: u64,
    pub(super) warp: u64,
    /// Warps per CTA.
    pub(super) warps: u64,
}

impl WarpPosition {
    /// Returns the index of the warp's first thread in the grid.
    pub(super) fn first_thread(self) -> u64 {
        (self.cta * self.warps + self.warp) * LANES
    }

    /// Returns the index of the warp's first thread in its CTA.
    pub(super) fn first_of_cta(self) -> u64 {
        self.warp * LANES
    }
}

/// The buffers of a kernel, as offsets from its base address.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum KernelBuffer {
    /// First input.
    A = 0,
    /// Second input.
    B = 0x1000_0000,
    /// Output.
    C = 0x2000_0000,
}

/// The text form of an access's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressTextForm {
    /// The form that the tracer writes: first address and stride if the lanes are contiguous and equally spaced, otherwise first address
    /// and distances.
    Shortest,
    /// The first address and the distance from each active lane to the next.
    Distances,
    /// The address of each active lane.
    List,
}

/// An instruction that accesses memory, without its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryInstruction<'a> {
    pub(super) opcode: &'a str,
    /// Bytes per lane.
    pub(super) width: u32,
    pub(super) dst: Option<u8>,
    pub(super) src: &'a [u8],
}

impl<'a> MemoryInstruction<'a> {
    pub(super) fn load(opcode: &'a str, width: u32, dst: u8, src: &'a [u8]) -> Self {
        Self { opcode, width, dst: Some(dst), src }
    }

    pub(super) fn store(opcode: &'a str, width: u32, src: &'a [u8]) -> Self {
        Self { opcode, width, dst: None, src }
    }
}

/// A builder of a warp's lines.
#[derive(Debug)]
pub(super) struct WarpText {
    lines: String,
    instructions: u32,
    base: u64,
    /// Program counter of the next instruction; a backward step makes a loop.
    pub(super) pc: u32,
    /// Active lanes of the next instructions.
    pub(super) mask: u32,
    /// Text form of addresses.
    pub(super) form: AddressTextForm,
}

impl WarpText {
    pub(super) fn new(base: u64) -> Self {
        Self { lines: String::new(), instructions: 0, base, pc: 0, mask: ALL_LANES, form: AddressTextForm::Shortest }
    }

    /// Resets the builder for another warp.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        (self.instructions, self.pc, self.mask, self.form) = (0, 0, ALL_LANES, AddressTextForm::Shortest);
    }

    pub(super) fn lines(&self) -> &str {
        &self.lines
    }

    pub(super) fn instructions(&self) -> u32 {
        self.instructions
    }

    /// Skips `count` instructions that this warp does not execute.
    pub(super) fn skip(&mut self, count: u32) {
        self.pc += count * INSTRUCTION_BYTES;
    }

    /// Returns the address at byte `offset` of a buffer.
    pub(super) fn at(&self, buffer: KernelBuffer, offset: u64) -> u64 {
        self.base + buffer as u64 + offset
    }

    /// Writes an instruction without a result.
    pub(super) fn write_without_result(&mut self, opcode: &str, src: &[u8]) {
        self.plain(opcode, None, src);
    }

    /// Writes an instruction that writes a register.
    pub(super) fn alu(&mut self, opcode: &str, dst: u8, src: &[u8]) {
        self.plain(opcode, Some(dst), src);
    }

    fn plain(&mut self, opcode: &str, dst: Option<u8>, src: &[u8]) {
        self.begin(opcode, dst, src);
        self.lines.push_str("0 \n");
    }

    /// Writes instructions under another mask.
    pub(super) fn write_masked(&mut self, mask: u32, instructions: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.mask, mask);
        instructions(self);
        self.mask = before;
    }

    /// Writes an access of all active lanes; `address` maps a lane's number to its address.
    pub(super) fn access(&mut self, access: MemoryInstruction<'_>, address: impl FnMut(u64) -> u64) {
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
            (AddressTextForm::List, _) => {
                self.lines.push('0');
                active.iter().try_for_each(|address| write!(self.lines, " {address:#018x}"))
            }
            (AddressTextForm::Shortest, Some(stride)) if neighbours => write!(self.lines, "1 {first:#018x} {stride}"),
            _ => {
                let _ = write!(self.lines, "2 {first:#018x}");
                distances().try_for_each(|distance| write!(self.lines, " {distance}"))
            }
        };
        self.lines.push_str(" \n");
    }

    /// Writes program counter, mask, opcode and registers.
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
        self.pc += INSTRUCTION_BYTES;
        self.instructions += 1;
    }

    /// Writes the instructions that a compiler emits to compute the thread's index.
    pub(super) fn prologue(&mut self) {
        self.alu("IMAD.MOV.U32", 1, &[ZERO_REGISTER, ZERO_REGISTER]);
        self.alu("S2R", INDEX_REGISTER, &[]);
        self.alu("S2R", 3, &[]);
        self.alu("IMAD", INDEX_REGISTER, &[INDEX_REGISTER, 3]);
    }

    /// Writes the computation of a 64-bit address from an index.
    pub(super) fn wide(&mut self, dst: u8) {
        self.alu("IMAD.WIDE", dst, &[INDEX_REGISTER, SCALE_REGISTER]);
    }

    /// Writes a load of each thread's word from a buffer.
    pub(super) fn load_per_thread(&mut self, buffer: KernelBuffer, place: WarpPosition, dst: u8, address: u8) {
        let first = self.at(buffer, 4 * place.first_thread());
        self.access(MemoryInstruction::load("LDG.E.SYS", 4, dst, &[address]), |lane| first + 4 * lane);
    }

    /// Writes a store of each thread's word to the output.
    pub(super) fn store_per_thread(&mut self, place: WarpPosition, address: u8, value: u8) {
        let first = self.at(KernelBuffer::C, 4 * place.first_thread());
        self.access(MemoryInstruction::store("STG.E.SYS", 4, &[address, value]), |lane| first + 4 * lane);
    }

    pub(super) fn exit(&mut self) {
        self.write_without_result("EXIT", &[]);
    }
}

/// Marsaglia's 64-bit xorshift generator, seeded with a thread's number.
#[derive(Debug)]
pub(super) struct Xorshift(u64);

impl Xorshift {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2_654_435_761).wrapping_add(88_172_645_463_325_252))
    }

    /// Returns a random number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
