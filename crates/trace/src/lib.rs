//! Recorded SASS traces in the Accel-Sim format: read as streams with bounded memory, checked, and written.
//!
//! The way of a kernel: `list` finds its file, `reader` opens and decompresses it, `header` reads its needs, `decoder`
//! splits the body into CTA blocks, `block` turns a block into one stream per warp with the static instructions of
//! `table`, and `source` hands the CTAs out. Errors say file, line, what was found, what belongs there and what to do.
//! A trace in the native format (`native`) takes the same path, except that its blocks are already split; `decode` dispatches between the two
//! apart. What comes out depends on the files and on leniency only, not on threads, window or batch sizes.
#![forbid(unsafe_code)]

mod block;
mod decode;
mod decoder;
mod error;
mod header;
mod kernel;
mod list;
mod load;
mod native;
mod notes;
mod options;
mod reader;
mod report;
mod source;
mod synthetic;
mod table;
mod text;
mod write;

pub use error::unreadable;
pub use error::{Problem, ProblemKind, TraceError};
pub use load::{check, load};
pub use native::{
    ConvertError, ConvertProgress, Converted, NATIVE_VERSION, NativeFacts, Watcher, native_facts, to_native, to_text, trace_is_native,
};
pub use options::{DecodeClock, TraceOptions};
pub use reader::open;
pub use report::{KernelReport, TraceReport};
pub use synthetic::{SYNTHETIC_KERNELS, SyntheticKernel};
pub use write::write_kernel;
