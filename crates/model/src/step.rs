//! The steps of a kernel's body, as written.

use super::ops::OpInfo;
use super::text::Formula;

/// A register operand: a name, and an index when the name is that of several registers.
#[derive(Clone, Debug)]
pub(super) struct RegisterUse {
    /// The name; `rz` is the zero register.
    pub(super) name: String,
    /// Which of the registers of that name; also carries the text and line of the operand.
    pub(super) index: Formula,
}

/// The caches that a load goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadCache {
    /// L1 and LLC.
    L1,
    /// LLC only.
    Llc,
    /// The texture cache, where the machine has one, and the LLC.
    Texture,
}

/// The memory side of an operation.
#[derive(Clone, Debug)]
pub(super) struct AccessStep {
    /// A buffer of the model or a shared array of the kernel.
    pub(super) buffer: String,
    /// Line of the buffer's name.
    pub(super) line: u32,
    /// Element that a lane accesses.
    pub(super) index: Formula,
    /// Bytes per lane; an element of the buffer when absent.
    pub(super) width: Option<Formula>,
    /// Which cache a load goes through.
    pub(super) cache: LoadCache,
    /// What an atomic or reduction computes.
    pub(super) function: &'static str,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(super) struct OpStep {
    /// Its row in the operation table.
    pub(super) op: &'static OpInfo,
    /// Destination.
    pub(super) dst: Option<RegisterUse>,
    /// Sources in order.
    pub(super) src: Vec<RegisterUse>,
    /// The predicate: lanes for which it is 0 do not execute.
    pub(super) when: Option<Formula>,
    /// What it accesses.
    pub(super) access: Option<AccessStep>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum StepKind {
    /// Executes an instruction.
    Op(Box<OpStep>),
    /// Repeats steps, counting from 0.
    Loop { counter: String, count: Formula, unroll: bool, body: Vec<Step> },
    /// Chooses between steps, lane by lane.
    If { condition: Formula, then: Vec<Step>, otherwise: Vec<Step> },
    /// Gives a name a value; emits nothing.
    Let { name: String, value: Formula },
    /// The steps of a named block.
    Use(String),
}

/// A step with its place.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Line of the file.
    pub(super) line: u32,
    /// What it does.
    pub(super) kind: StepKind,
}
