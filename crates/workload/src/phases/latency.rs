//! The contribution of an instruction to the length of a phase.

use warpshard_config::machine::OpTiming;

use crate::{OpClass, StaticInst};

/// Latency per instruction class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies([u16; OpClass::COUNT]);

impl Latencies {
    /// The latencies of the thesis's compiler pass: the latencies per operation of GPGPU-Sim 3.2 and its Fermi configuration
    /// (-ptx_opcode_latency_fp and _int 4,13,4,5; the third of _dp, 8, for special functions and double precision). Instructions without a
    /// latency in that simulator count 1: moves, conversions, accesses, branches, barriers.
    pub const COMPILER_PASS: Self = {
        let mut table = [1; OpClass::COUNT];
        table[OpClass::Sp as usize] = 4;
        table[OpClass::Int as usize] = 4;
        table[OpClass::Tensor as usize] = 4;
        table[OpClass::Uniform as usize] = 4;
        table[OpClass::Sfu as usize] = 8;
        table[OpClass::Dp as usize] = 8;
        Self(table)
    };

    /// Returns the latencies of a machine's units, from its table by class, in core cycles.
    pub fn of_machine(timing: &[OpTiming; OpClass::COUNT]) -> Self {
        Self(timing.map(|class| u16::try_from(class.latency).unwrap_or(u16::MAX)))
    }

    /// Returns the latency of an instruction.
    #[inline]
    pub fn of(&self, inst: &StaticInst) -> u16 {
        self.0[inst.class as usize]
    }
}
