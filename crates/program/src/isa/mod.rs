//! Semantics of opcodes: the table from mnemonics to operations and operand shapes, and the decoder that binds an instruction's text to
//! register rows.
//!
//! Inputs are the text of a kernel and the constant banks of a launch; the output is an [`Inst`] per instruction.

mod banks;
mod codes;
mod decode;
mod hopper;
mod hopper_operands;
mod image;
mod inst;
mod kinds;
mod op;
mod parts;
mod table;
mod tensor;
mod texture;

pub(super) use banks::Banks;
pub(super) use codes::{BARRIERS, access_registers, codes_of, writes_first};
pub(super) use decode::{DecodedKernel, decode, unsupported_instructions};
pub(super) use inst::{Address, Inst, PREDICATE_SINK, PredicateSource, Rows, Source};
pub(super) use kinds::{
    Amount, AtomicOp, AtomicType, Barrier, Bulk, BulkType, Compare, Element, Float, GroupProduct, Halves, Image, ImageAccess, Logic,
    Mbarrier, MinMaxOperands, MufuOp, Number, Pick, Round, ShuffleMode, Space, Special, SummationRule, SurfaceOverrun, Tensor, VoteMode,
};
pub(super) use op::{ExecutorGroup, Op};
