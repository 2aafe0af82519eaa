//! Phases of a kernel: runs of instructions that a warp can execute without waiting for a long operation of the same run.
//!
//! Inputs: the static instructions of a kernel with one CTA's streams, and a latency per instruction class. Outputs: per static
//! instruction, the distance to the end of its phase and the length of its phase, in a table that a warp scheduler reads with one look-up
//! per instruction.
//!
//! Source: "Workload-aware scheduling techniques", 3.3.1 (definition) and 3.4.2.1 (method). A long-latency instruction is a load, a store,
//! a branch or a barrier. An instruction that reads a register that such an instruction of the same phase wrote starts a new phase, and
//! each basic block starts a new phase, too. The distance of an instruction is the sum of the latencies from it to the end of its phase,
//! including its own latency; the length of a phase is the distance of its first instruction.
//!
//! The result depends on the kernel alone: instructions are taken in the order of their program counters. Of a recorded trace only the
//! instructions that the first CTA executes count, regardless of other CTAs that are already decoded. Any other static instruction forms a
//! separate phase with distance 0.

mod blocks;
mod latency;
#[cfg(test)]
mod tests;

pub use latency::Latencies;

use warpshard_base::CtaIndex;

use crate::{CtaProgram, Kernel, MemSpace, NO_REGISTER, OpClass, StaticInst};

/// The set of long-latency instructions: reading the result of such an instruction ends a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongOps {
    /// Loads, stores and atomics on any memory, textures, branches and barriers, as in the thesis.
    #[default]
    All,
    /// Only accesses of device memory (global, local, generic, texture).
    DeviceMemory,
}

impl LongOps {
    /// Returns true if `inst` is a long-latency instruction.
    pub fn includes(self, inst: &StaticInst) -> bool {
        let device = |space| matches!(space, MemSpace::Global | MemSpace::Local | MemSpace::Generic | MemSpace::Texture);
        match self {
            Self::All => {
                matches!(inst.class, OpClass::Load | OpClass::Store | OpClass::Texture | OpClass::Branch | OpClass::Barrier)
                    || inst.mem.is_some()
            }
            Self::DeviceMemory => inst.class == OpClass::Texture || inst.mem.is_some_and(|mem| device(mem.space)),
        }
    }
}

/// A phase of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Position of the first instruction of the phase in [`Phases::order`].
    pub first: u32,
    /// Number of instructions in the phase.
    pub instructions: u32,
    /// Sum of the latencies of the instructions.
    pub length: u16,
    /// True if the phase starts with a basic block, false if it starts with a dependence.
    pub block: bool,
}

/// The phases of a kernel. Instructions are indexed as in [`CtaProgram::code`] and in streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Distance to the end of the phase, per static instruction.
    distance: Vec<u16>,
    length: Vec<u16>,
    starts: Vec<u64>,
    order: Vec<u32>,
    phases: Vec<Phase>,
}

impl Phases {
    /// Computes the phases of a kernel launch, from the blocks of its source or else from its first CTA, which this call decodes.
    pub fn of_kernel(kernel: &Kernel, latencies: &Latencies, long: LongOps) -> Self {
        let program = kernel.source.cta(CtaIndex(0));
        match kernel.source.blocks() {
            Some(blocks) => Self::of(&program.code, &blocks::listed_blocks(&program.code, blocks), latencies, long),
            None => Self::of_program(&program, latencies, long),
        }
    }

    /// Computes the phases of a program whose basic blocks follow from the execution of its warps.
    pub fn of_program(program: &CtaProgram, latencies: &Latencies, long: LongOps) -> Self {
        Self::of(&program.code, &blocks::observed_blocks(program), latencies, long)
    }

    fn of(code: &[StaticInst], blocks: &[(u32, bool)], latencies: &Latencies, long: LongOps) -> Self {
        let mut phases: Vec<Phase> = Vec::new();
        let mut written = Registers::default();
        for (place, &(index, leads)) in blocks.iter().enumerate() {
            let inst = &code[index as usize];
            let depends = inst.src.iter().any(|&register| written.contains(register));
            if leads || depends || place == 0 {
                phases.push(Phase { first: place as u32, instructions: 0, length: 0, block: leads || place == 0 });
                written = Registers::default();
            }
            if let Some(phase) = phases.last_mut() {
                phase.instructions += 1;
                phase.length = phase.length.saturating_add(latencies.of(inst));
            }
            if inst.dst != NO_REGISTER {
                // A wide load names only the first of its registers.
                let width = inst.mem.map_or(1, |mem| u16::from(mem.width).div_ceil(4));
                (inst.dst..inst.dst.saturating_add(width)).for_each(|register| written.set(register, long.includes(inst)));
            }
        }
        let mut table = Self {
            distance: vec![0; code.len()],
            length: vec![0; code.len()],
            starts: vec![u64::MAX; code.len().div_ceil(64)],
            order: blocks.iter().map(|&(index, _)| index).collect(),
            phases,
        };
        for phase in &table.phases {
            let members = &table.order[phase.first as usize..][..phase.instructions as usize];
            let mut distance = 0_u16;
            for &index in members.iter().rev() {
                distance = distance.saturating_add(latencies.of(&code[index as usize]));
                table.distance[index as usize] = distance;
                table.length[index as usize] = phase.length;
                table.starts[index as usize / 64] &= !(1 << (index % 64));
            }
            table.starts[members[0] as usize / 64] |= 1 << (members[0] % 64);
        }
        table
    }

    /// Returns the sum of latencies from the instruction to the end of its phase, including its own latency; at most 65535, and 0 for an
    /// instruction that is not in the table.
    #[inline]
    pub fn distance(&self, index: u32) -> u16 {
        self.distance.get(index as usize).copied().unwrap_or(0)
    }

    /// Returns the length of the instruction's phase, with the same limits as [`Self::distance`].
    #[inline]
    pub fn length(&self, index: u32) -> u16 {
        self.length.get(index as usize).copied().unwrap_or(0)
    }

    /// Returns true if the instruction is the first of its phase, or is not in the table.
    #[inline]
    pub fn starts(&self, index: u32) -> bool {
        self.starts.get(index as usize / 64).is_none_or(|bits| bits >> (index % 64) & 1 != 0)
    }

    /// Returns the indices of the static instructions that belong to phases, in program order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns all phases in program order.
    pub fn list(&self) -> &[Phase] {
        &self.phases
    }

    /// Returns the length of the longest phase; 0 without phases.
    pub fn longest(&self) -> u16 {
        self.phases.iter().map(|phase| phase.length).max().unwrap_or(0)
    }

    /// Returns the length of the shortest phase; 0 without phases.
    pub fn shortest(&self) -> u16 {
        self.phases.iter().map(|phase| phase.length).min().unwrap_or(0)
    }
}

/// A set of general registers; it never contains RZ or "no register".
#[derive(Clone, Copy, Debug, Default)]
struct Registers([u64; 4]);

impl Registers {
    fn contains(&self, register: u16) -> bool {
        register < 255 && self.0[usize::from(register / 64)] >> (register % 64) & 1 != 0
    }

    fn set(&mut self, register: u16, member: bool) {
        if register < 255 {
            let (word, bit) = (&mut self.0[usize::from(register / 64)], 1 << (register % 64));
            *word = if member { *word | bit } else { *word & !bit };
        }
    }
}
