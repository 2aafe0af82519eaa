//! Dependence information in machine code since Volta: the control bits of an instruction, and the pipe that executes it.
//!
//! Source of the fields: R. Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, Section 4.

use super::AsyncOp;

/// A pipe of a sub-core. All instructions of a pipe have the same latency and issue interval, which the machine defines (`gpu.sm.control`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
#[repr(u8)]
pub enum Pipe {
    /// Single precision on both halves of the unit: FFMA, FADD, FMUL.
    Fma,
    /// Integer multiplication on one half of the FMA unit: IMAD, IDP.
    Heavy,
    /// Integer multiplication with a wide result: IMAD.HI, IMAD.WIDE.
    Wide,
    /// Half precision on the matrix unit: HFMA2.MMA.
    Half,
    /// Integer and logic operations.
    #[default]
    Alu,
    /// Double precision.
    Dp,
    /// Special functions, conversions, POPC, FLO, BREV.
    Xu,
    /// Warp shuffles: SHFL.
    Shuffle,
    /// Matches across lanes: MATCH.
    Match,
    /// Integer reductions across lanes: REDUX.
    Redux,
    /// Matrix products.
    Tensor,
    /// Branches.
    Branch,
    /// The uniform datapath.
    Uniform,
    /// Special registers.
    System,
    /// Loads from constant banks: LDC.
    Constant,
    /// Reconvergence of divergent paths: BSYNC.
    Converge,
    /// Calls and returns.
    Call,
    /// Exit of a warp.
    Exit,
}

impl Pipe {
    /// Number of pipes.
    pub const COUNT: usize = 18;
}

/// The scope of a memory fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
#[repr(u8)]
pub enum FenceScope {
    /// The CTA.
    Cta,
    /// The GPU.
    #[default]
    Gpu,
    /// All devices that share memory with the GPU.
    System,
}

/// The control bits of an instruction, decoded once. Instructions of traces and kernel models have [`Control::NONE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct Control {
    /// Cycles until the warp may issue again, from the stall count and the yield bit; 0 without control bits.
    pub stall: u8,
    /// The dependence counter that is decremented when the result is written, in bits 0 to 2, and the counter that is decremented when the
    /// operands are read, in bits 4 to 6; 7 means no counter.
    pub counters: u8,
    /// Counters that must be zero before the instruction issues, as a bit set.
    pub wait: u8,
    /// Operand positions that stay in the reuse cache, as a bit set.
    pub reuse: u8,
    /// For DEPBAR: the number of the counter that must not exceed a limit, plus 8 times the limit.
    pub at_most: Option<u16>,
    /// The constant operand at a fixed address: the bank in bits 16 to 20, the byte offset in bits 0 to 15.
    pub constant: Option<u32>,
    /// The pipe that executes the instruction, unless it is a memory access.
    pub pipe: Pipe,
    /// Scope of a memory fence.
    pub scope: FenceScope,
    /// The asynchronous operation that the instruction starts or waits for.
    pub async_op: AsyncOp,
}

/// Bytes of a line of the constant cache. The payload of an LDC has an address of each line that it reads, in the format of
/// [`Control::constant`].
pub const CONSTANT_LINE_BYTES: u32 = 64;

/// Returns the address of a constant in the format of [`Control::constant`].
pub fn constant_address(bank: u8, offset: u32) -> u32 {
    u32::from(bank) << 16 | offset & 0xffff
}

/// Value of a counter field that means no counter.
const NO_COUNTER: u8 = 7;

impl Control {
    /// Control of an instruction without control bits; its dependences follow from its registers.
    pub const NONE: Self = Self {
        stall: 0,
        counters: NO_COUNTER | NO_COUNTER << 4,
        wait: 0,
        reuse: 0,
        at_most: None,
        constant: None,
        pipe: Pipe::Alu,
        scope: FenceScope::Gpu,
        async_op: AsyncOp::Nothing,
    };

    /// Decodes the control bits from the two words of an instruction since Volta; the caller adds the fields that depend on the opcode.
    ///
    /// A stall of 1 with the yield bit clear leaves one cycle to other warps. A stall of 0 with the yield bit clear means 45 cycles (Huerta
    /// et al., Section 4).
    pub fn of_words(words: [u64; 2]) -> Self {
        let field = |at: u32, bits: u32| (words[1] >> at & ((1 << bits) - 1)) as u8;
        let (stall, yields) = (field(41, 4), field(45, 1) == 0);
        let stall = match stall {
            0 if yields => 45,
            0 | 1 => 1 + u8::from(yields),
            more => more,
        };
        let (write, read) = (field(46, 3), field(49, 3));
        Self { stall, counters: write.min(NO_COUNTER) | read.min(NO_COUNTER) << 4, wait: field(52, 6), reuse: field(58, 4), ..Self::NONE }
    }

    /// Encodes the field `counters` from the counters that are decremented when the result is written and when the operands are read.
    pub fn counters(write: Option<u8>, read: Option<u8>) -> u8 {
        write.unwrap_or(NO_COUNTER) | read.unwrap_or(NO_COUNTER) << 4
    }

    /// Returns true if the instruction has control bits.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.stall > 0
    }

    /// Returns the counter that is decremented when the result is written.
    #[inline]
    pub fn write_counter(&self) -> Option<u8> {
        Some(self.counters & 7).filter(|counter| *counter < 6)
    }

    /// Returns the counter that is decremented when the operands are read.
    #[inline]
    pub fn read_counter(&self) -> Option<u8> {
        Some(self.counters >> 4 & 7).filter(|counter| *counter < 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `F2F.F64.F32 R18, R24` with stall 1, yield, counter 1 for its result, and a wait for counter 2.
    #[test]
    fn fields_are_read_from_the_second_word() {
        let control = Control::of_words([0x0000_0018_0012_7310, 0x004e_7000_0020_1800]);
        assert_eq!((control.stall, control.write_counter(), control.read_counter(), control.wait), (8, Some(1), None, 0b100));
        let store = Control::of_words([0x0000_040f_0c00_7986, 0x0023_e800_0c10_1904]);
        assert_eq!((store.stall, store.write_counter(), store.read_counter(), store.wait), (4, None, Some(1), 0b10));
        let reuse = Control::of_words([0, 0x140f_e400_0000_0006]);
        assert_eq!((reuse.stall, reuse.reuse), (2, 0b101));
    }

    #[test]
    fn yield_matters_only_with_a_short_stall() {
        let stall = |stall: u64, bit: u64| Control::of_words([0, stall << 41 | bit << 45]).stall;
        assert_eq!([stall(1, 1), stall(1, 0), stall(2, 0), stall(0, 1), stall(0, 0), stall(13, 0)], [1, 2, 2, 1, 45, 13]);
    }
}
