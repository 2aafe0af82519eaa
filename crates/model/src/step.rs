//! The parsed steps of a kernel's body.

use super::ops::OpInfo;
use super::text::Formula;

/// A register operand: a name, and an index if several registers have the name.
#[derive(Clone, Debug)]
pub(super) struct RegisterUse {
    /// The name; `rz` is the zero register.
    pub(super) name: String,
    /// Index among the registers of this name; also has the text and line of the operand.
    pub(super) index: Formula,
}

/// Caches that a load uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadCache {
    /// The L1 and the LLC.
    L1,
    /// Only the LLC.
    Llc,
    /// The texture cache, if the machine has one, and the LLC.
    Texture,
}

/// The memory access of an operation.
#[derive(Clone, Debug)]
pub(super) struct AccessStep {
    /// A buffer of the model or a shared array of the kernel.
    pub(super) buffer: String,
    /// Line of the buffer's name.
    pub(super) line: u32,
    /// Index of the element that a lane accesses.
    pub(super) index: Formula,
    /// Bytes per lane; by default an element of the buffer.
    pub(super) width: Option<Formula>,
    /// Caches that a load uses.
    pub(super) cache: LoadCache,
    /// Function of an atomic operation or reduction.
    pub(super) function: &'static str,
}

/// An instruction with its operands.
#[derive(Clone, Debug)]
pub(super) struct OpStep {
    /// Row of the operation table.
    pub(super) op: &'static OpInfo,
    /// Destination register.
    pub(super) dst: Option<RegisterUse>,
    /// Source registers in order.
    pub(super) src: Vec<RegisterUse>,
    /// The predicate: lanes for which it is 0 do not execute.
    pub(super) when: Option<Formula>,
    /// Memory access of the instruction.
    pub(super) access: Option<AccessStep>,
}

/// Kinds of steps.
#[derive(Clone, Debug)]
pub(super) enum StepKind {
    /// An instruction.
    Op(Box<OpStep>),
    /// A loop over steps, with a counter from 0.
    Loop { counter: String, count: Formula, unroll: bool, body: Vec<Step> },
    /// A choice between steps, lane by lane.
    If { condition: Formula, then: Vec<Step>, otherwise: Vec<Step> },
    /// A named value; emits no instruction.
    Let { name: String, value: Formula },
    /// The steps of a named block.
    Use(String),
}

/// A step with its location.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Line of the file.
    pub(super) line: u32,
    /// Kind of the step.
    pub(super) kind: StepKind,
}
