//! What each opcode means: the table from mnemonics to operations and the shape of their operands, and the decoder that binds
//! an instruction's text to register rows.
//!
//! Input is the text of a kernel and the constant banks of a launch; output is a [`Inst`] per instruction.

mod decode;
mod inst;
mod kinds;
mod op;
mod parts;
mod table;
mod tensor;

pub(super) use decode::{Banks, Decoded, decode};
pub(super) use inst::{Address, Inst, PredicateSource, Rows, Source};
pub(super) use kinds::{
    AtomicOp, AtomicType, Barrier, Compare, Element, Float, Halves, Logic, MufuOp, Number, Round, ShuffleMode, Space, Special, Tensor,
    VoteMode,
};
pub(super) use op::{Group, Op};
