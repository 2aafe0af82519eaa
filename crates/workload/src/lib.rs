//! The form of a workload: kernels, CTAs and launches, with instructions decoded into compact streams. Recorded traces, kernel models and
//! programs all take this form.
//!
//! A [`Workload`] is a list of commands over kernels; a [`Kernel`] hands out its CTAs one by one, decoded, as
//! [`CtaProgram`]s. The rest of the simulator sees nothing of files and formats.
#![forbid(unsafe_code)]

mod beside;
mod control;
mod error;
mod inst;
mod mix;
pub mod phases;
mod spread;
mod stream;
mod used;
mod used_line;
mod workload;

pub use beside::{BarrierAccess, BarrierOp, Beside, BulkCopy, BulkKind, Mbarrier, Pieces};
pub use control::{CONSTANT_LINE_BYTES, Control, FenceScope, Pipe, constant_address};
pub use error::SpreadError;
pub use inst::{CachePolicy, MemInst, MemKind, MemSpace, NO_REGISTER, OpClass, RegisterSets, StaticInst};
pub use mix::{MixError, Part, mix};
pub use spread::{Nothing, for_gpus};
pub use stream::{AddressForm, Cursor, DynInst, Reader, StreamBuilder, WarpStream, streams_failure};
pub use used::{Touch, UsedLines, count_classes, touches};
pub use used_line::UsedLine;
pub use workload::{Application, Code, Command, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, LaunchCounts, PeerCopy, Units, Workload};
