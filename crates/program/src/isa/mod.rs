//! What each opcode means: the table from mnemonics to operations and the shape of their operands, and the decoder that binds
//! an instruction's text to register rows.
//!
//! Input is the text of a kernel and the constant banks of a launch; output is a [`Inst`] per instruction.

mod decode;
mod image;
mod inst;
mod kinds;
mod op;
mod parts;
mod table;
mod tensor;
mod texture;

pub(super) use decode::{Banks, Decoded, decode, refusals};
pub(super) use inst::{Address, Inst, PredicateSource, Rows, Source};
pub(super) use kinds::{
    AtomicOp, AtomicType, Barrier, Beyond, Compare, Element, Float, Halves, Image, ImageAccess, Logic, MufuOp, Number, Pick, Picked, Round,
    Rule, ShuffleMode, Space, Special, Tensor, VoteMode,
};
pub(super) use op::{Group, Op};
