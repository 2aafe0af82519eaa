//! What machine code since Volta says about its own dependences: the control bits of an instruction, and the pipe that executes it.
//!
//! Source of the fields: R. Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, Section 4.

use super::Beside;

/// A pipe of a sub-core. Instructions of one pipe have one latency and one interval, which the machine says (`gpu.sm.control`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
#[repr(u8)]
pub enum Pipe {
    /// Single precision on both halves of the unit: FFMA, FADD, FMUL.
    Fma,
    /// Integer multiplication on one half of it: IMAD, IDP.
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
    /// SHFL.
    Shuffle,
    /// MATCH.
    Match,
    /// REDUX.
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
    /// The end of divergent paths: BSYNC.
    Converge,
    /// Calls and returns.
    Call,
    /// The end of a warp.
    Exit,
}

impl Pipe {
    /// How many pipes there are.
    pub const COUNT: usize = 18;
}

/// How far a memory fence reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
#[repr(u8)]
pub enum FenceScope {
    /// The CTA.
    Cta,
    /// The GPU.
    #[default]
    Gpu,
    /// All that the GPU shares memory with.
    System,
}

/// The control bits of an instruction, decoded once. An instruction of a trace or a kernel model has none: [`Control::NONE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, warpshard_state::State)]
pub struct Control {
    /// Cycles until the warp may issue again, from stall count and yield bit together; 0 where no control bits are known.
    pub stall: u8,
    /// The dependence counter that falls when the result is written, in bits 0 to 2, and the one that falls when the operands are read, in bits 4
    /// to 6; 7 is none.
    pub counters: u8,
    /// The counters that have to be zero before it issues, as a set.
    pub wait: u8,
    /// The operands that stay in the reuse cache, as a set of places.
    pub reuse: u8,
    /// For DEPBAR: the counter that has to be at most a limit, and the limit times 8.
    pub at_most: Option<u16>,
    /// The constant that it reads as an operand at a fixed address: the bank in bits 16 to 20, the byte below.
    pub constant: Option<u32>,
    /// The pipe that executes it, if it is no access to memory.
    pub pipe: Pipe,
    /// How far a fence reaches.
    pub scope: FenceScope,
    /// What it starts or waits for beside the pipeline.
    pub beside: Beside,
}

/// Bytes of the lines in which constants are cached; the payload of an LDC has an address of each line that it reads, as [`Control::constant`].
pub const CONSTANT_LINE_BYTES: u32 = 64;

/// The address of a constant, as in [`Control::constant`].
pub fn constant_address(bank: u8, offset: u32) -> u32 {
    u32::from(bank) << 16 | offset & 0xffff
}

/// Stands for no counter.
const NO_COUNTER: u8 = 7;

impl Control {
    /// Of an instruction without control bits: dependences are found from its registers.
    pub const NONE: Self = Self {
        stall: 0,
        counters: NO_COUNTER | NO_COUNTER << 4,
        wait: 0,
        reuse: 0,
        at_most: None,
        constant: None,
        pipe: Pipe::Alu,
        scope: FenceScope::Gpu,
        beside: Beside::Nothing,
    };

    /// Those of the two words of an instruction since Volta; what its opcode says has to be added.
    ///
    /// A stall of 1 with the yield bit clear leaves one cycle to others. A stall of 0 with it clear stands 45 cycles (Huerta et al., Section 4).
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

    /// The field `counters` with the counters that fall when the result is written and when the operands are read.
    pub fn counters(write: Option<u8>, read: Option<u8>) -> u8 {
        write.unwrap_or(NO_COUNTER) | read.unwrap_or(NO_COUNTER) << 4
    }

    /// Whether the instruction has control bits.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.stall > 0
    }

    /// The counter that falls when the result is written.
    #[inline]
    pub fn write_counter(&self) -> Option<u8> {
        Some(self.counters & 7).filter(|counter| *counter < 6)
    }

    /// The counter that falls when the operands are read.
    #[inline]
    pub fn read_counter(&self) -> Option<u8> {
        Some(self.counters >> 4 & 7).filter(|counter| *counter < 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `F2F.F64.F32 R18, R24` with stall 1, yield, counter 1 for its result, and a wait for counter 2.
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
    fn yield_counts_only_where_the_stall_is_short() {
        let stall = |stall: u64, bit: u64| Control::of_words([0, stall << 41 | bit << 45]).stall;
        assert_eq!([stall(1, 1), stall(1, 0), stall(2, 0), stall(0, 1), stall(0, 0), stall(13, 0)], [1, 2, 2, 1, 45, 13]);
    }
}
