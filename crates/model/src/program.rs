//! A compiled kernel: what the generator executes once per warp.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use warpshard_workload::{CtaProgram, KernelInfo, StaticInst};

use super::address::{Comparison, Pattern, Sum};
use super::value::{Lanes, Value};

/// A bound formula and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The formula.
    pub(super) value: Value,
    /// Whether it varies by lane.
    pub(super) varies: bool,
    /// The same as a comparison that can be decided quickly, if it is one.
    pub(super) comparison: Option<Box<Comparison>>,
    /// Index into [`Program::origins`].
    pub(super) origin: u32,
}

/// Where a formula comes from, for messages.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// Line of the file.
    pub(super) line: u32,
    /// The key whose value it is.
    pub(super) key: String,
    /// As written.
    pub(super) text: String,
}

/// A memory access.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Byte address of element 0.
    pub(super) base: u64,
    /// Bytes of an element.
    pub(super) element_bytes: i64,
    /// Elements of the buffer, less those that one lane covers beyond its first: the greatest index is below this.
    pub(super) limit: i64,
    /// The index.
    pub(super) index: Sum,
    /// Per warp of the CTA, index into [`Program::patterns`].
    pub(super) patterns: Box<[u32]>,
    /// Index into [`Program::origins`].
    pub(super) origin: u32,
}

/// The frame slot of a `let`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// One value for the warp.
    Uniform(u16),
    /// One value per lane.
    Lane(u16),
}

/// Static instructions that bracket divergent code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    /// BSSY.
    pub(super) open: u32,
    /// BSYNC.
    pub(super) close: u32,
}

/// A piece of the body.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Instructions without predicates or addresses: a range of [`Program::stretches`].
    Stretch(Range<u32>),
    /// An instruction that some lanes may skip.
    Predicated { index: u32, when: Bound },
    /// A memory access: static instruction and index into [`Program::accesses`].
    Access { index: u32, access: u32, when: Option<Bound> },
    /// Threads end.
    Exit { index: u32, when: Option<Bound> },
    /// A name gets a value.
    Let { slot: Slot, value: Bound },
    /// Repetition; `step` holds the instructions that advance and test the counter, `branch` jumps back.
    Loop { counter: u16, count: Bound, body: Vec<Node>, step: [u32; 2], branch: u32, bracket: Option<Bracket> },
    /// A choice; `branch` jumps over `then`, `skip` over `otherwise`.
    If { condition: Bound, branch: u32, then: Vec<Node>, skip: Option<u32>, otherwise: Vec<Node>, bracket: Option<Bracket> },
}

/// Which CTAs and warps may share a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sharing {
    /// All CTAs of the kernel are alike.
    pub(super) ctas: bool,
    /// All warps of a CTA are alike.
    pub(super) warps: bool,
}

/// A compiled kernel, of one or more launches.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Needs and names.
    pub(super) info: KernelInfo,
    /// Seed of the run.
    pub(super) seed: u64,
    /// Static instructions.
    pub(super) code: Arc<[StaticInst]>,
    /// The static instructions that start a basic block, ascending.
    pub(super) blocks: Vec<u32>,
    /// The body, ending in the final EXIT.
    pub(super) body: Vec<Node>,
    /// Indices of static instructions, as stretches refer to them.
    pub(super) stretches: Vec<u32>,
    /// Memory accesses.
    pub(super) accesses: Vec<Access>,
    /// Lane patterns, each once.
    pub(super) patterns: Vec<Pattern>,
    /// The file, for messages.
    pub(super) file: String,
    /// Where formulas come from.
    pub(super) origins: Vec<Origin>,
    /// Uniform slots of a frame.
    pub(super) uniform_slots: u16,
    /// Lane slots of a frame.
    pub(super) lane_slots: u16,
    /// The fixed lane slots, per warp.
    pub(super) places: Box<[[Lanes; super::value::lanes::COUNT as usize]]>,
    /// Lanes of each warp that hold threads.
    pub(super) threads: Box<[u32]>,
    /// What may be shared.
    pub(super) sharing: Sharing,
    /// The one program of a kernel whose CTAs are all alike.
    pub(super) alike: OnceLock<Arc<CtaProgram>>,
}
