//! The common form of workloads: kernels, CTAs and launches, with instructions decoded into compact streams. Recorded traces, kernel models
//! and programs are all converted to this form.
//!
//! A [`Workload`] is a list of commands over kernels; a [`Kernel`] supplies its CTAs one by one, decoded, as [`CtaProgram`]s. The rest of
//! the simulator does not depend on files and formats.
#![forbid(unsafe_code)]

mod async_op;
mod control;
mod error;
mod inst;
mod mix;
pub mod phases;
mod spread;
mod stream;
mod used_line;
mod used_lines;
mod workload;

pub use async_op::{AsyncOp, BarrierAccess, BarrierOp, BulkCopy, BulkKind, Mbarrier, Pieces};
pub use control::{CONSTANT_LINE_BYTES, Control, FenceScope, Pipe, constant_address};
pub use error::SpreadError;
pub use inst::{CachePolicy, MemInst, MemKind, MemSpace, NO_REGISTER, OpClass, RegisterSets, StaticInst};
pub use mix::{MixError, MixedApplication, mix};
pub use spread::{EmptySource, for_gpus};
pub use stream::{AddressForm, Cursor, DynInst, StreamBuilder, StreamReader, WarpStream, streams_failure};
pub use used_line::UsedLine;
pub use used_lines::{SectorAccess, UsedLines, count_classes, touches};
pub use workload::{
    Application, AsyncOpCounts, CodeRequirements, Command, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, LaunchCounts, PeerCopy,
    Workload,
};
