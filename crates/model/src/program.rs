//! A compiled kernel, which the generator executes once per warp.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use warpshard_workload::{CtaProgram, KernelInfo, StaticInst};

use super::address::{Comparison, Pattern, Sum};
use super::value::{Lanes, Value};

/// A bound formula and its origin.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The bound formula.
    pub(super) value: Value,
    /// True if the value varies by lane.
    pub(super) varies: bool,
    /// The formula as a comparison that can be decided quickly, if it has this form.
    pub(super) comparison: Option<Box<Comparison>>,
    /// Index into [`CompiledKernel::origins`].
    pub(super) origin: u32,
}

/// The location of a formula, for messages.
#[derive(Clone, Debug)]
pub(super) struct FormulaOrigin {
    /// Line of the file.
    pub(super) line: u32,
    /// The key of the formula.
    pub(super) key: String,
    /// The formula as written.
    pub(super) text: String,
}

/// A memory access.
#[derive(Clone, Debug)]
pub(super) struct MemoryAccess {
    /// Byte address of element 0.
    pub(super) base: u64,
    /// Bytes of an element.
    pub(super) element_bytes: i64,
    /// Elements of the buffer minus the additional elements that one lane covers; indices must be below this limit.
    pub(super) limit: i64,
    /// The index of the accessed element.
    pub(super) index: Sum,
    /// Index into [`CompiledKernel::patterns`] for each warp of the CTA.
    pub(super) patterns: Box<[u32]>,
    /// Index into [`CompiledKernel::origins`].
    pub(super) origin: u32,
}

/// The frame slot of a `let`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetSlot {
    /// One value for the warp.
    Uniform(u16),
    /// One value per lane.
    Lane(u16),
}

/// Static instructions at the start and end of divergent code.
#[derive(Clone, Copy, Debug)]
pub(super) struct DivergenceBracket {
    /// Index of the BSSY instruction.
    pub(super) open: u32,
    /// Index of the BSYNC instruction.
    pub(super) close: u32,
}

/// A node of the body.
#[derive(Clone, Debug)]
pub(super) enum BodyNode {
    /// Instructions without predicates or addresses: a range of [`CompiledKernel::stretches`].
    Stretch(Range<u32>),
    /// A predicated instruction, which some lanes may skip.
    Predicated { index: u32, when: Bound },
    /// A memory access: index of the static instruction, and index into [`CompiledKernel::accesses`].
    Access { index: u32, access: u32, when: Option<Bound> },
    /// An EXIT instruction.
    Exit { index: u32, when: Option<Bound> },
    /// An assignment of a value to a `let`.
    Let { slot: LetSlot, value: Bound },
    /// A loop; `step` holds the instructions that advance and test the counter, `branch` jumps back.
    Loop { counter: u16, count: Bound, body: Vec<BodyNode>, step: [u32; 2], branch: u32, bracket: Option<DivergenceBracket> },
    /// A conditional; `branch` jumps over `then`, `skip` over `otherwise`.
    If {
        condition: Bound,
        branch: u32,
        then: Vec<BodyNode>,
        skip: Option<u32>,
        otherwise: Vec<BodyNode>,
        bracket: Option<DivergenceBracket>,
    },
}

/// CTAs and warps that may share a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sharing {
    /// True if all CTAs of the kernel execute the same stream.
    pub(super) ctas: bool,
    /// True if all warps of a CTA execute the same stream.
    pub(super) warps: bool,
}

/// A compiled kernel, of one or more launches.
#[derive(Clone, Debug)]
pub(super) struct CompiledKernel {
    /// Resources and names of the kernel.
    pub(super) info: KernelInfo,
    /// Random seed of the run.
    pub(super) seed: u64,
    /// Static instructions.
    pub(super) code: Arc<[StaticInst]>,
    /// The static instructions that start a basic block, ascending.
    pub(super) blocks: Vec<u32>,
    /// The body, which ends with the final EXIT.
    pub(super) body: Vec<BodyNode>,
    /// Indices of static instructions, in the order of the stretches that contain them.
    pub(super) stretches: Vec<u32>,
    /// All memory accesses of the body.
    pub(super) accesses: Vec<MemoryAccess>,
    /// Lane patterns without duplicates.
    pub(super) patterns: Vec<Pattern>,
    /// Name of the file, for messages.
    pub(super) file: String,
    /// Locations of formulas.
    pub(super) origins: Vec<FormulaOrigin>,
    /// Number of uniform slots of a frame.
    pub(super) uniform_slots: u16,
    /// Number of lane slots of a frame.
    pub(super) lane_slots: u16,
    /// The fixed lane slots of each warp.
    pub(super) positions: Box<[[Lanes; super::value::lanes::COUNT as usize]]>,
    /// Masks of the lanes with threads, per warp.
    pub(super) threads: Box<[u32]>,
    /// CTAs and warps that share streams.
    pub(super) sharing: Sharing,
    /// The generated program that all CTAs of a kernel share, if they execute the same stream.
    pub(super) common_program: OnceLock<Arc<CtaProgram>>,
}
