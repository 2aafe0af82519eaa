//! Reader and writer of recorded SASS traces in the Accel-Sim format, with streaming in bounded memory and checks.
//!
//! Modules in the order of use: `list` finds a kernel's file, `reader` opens and decompresses it, `header` parses its header, `decoder`
//! splits the body into CTA blocks, `block` decodes a block into one stream per warp with the static instructions of `table`, and `source`
//! delivers the CTAs. Errors state file, line, the text found, the text expected and a remedy. A trace in the native format (`native`)
//! takes the same path, except that its blocks are already split; `decode` selects between the two decoders. The decoded program depends
//! only on the files and on leniency, not on threads, window or batch sizes.
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
    Conversion, ConvertError, ConvertProgress, NATIVE_VERSION, NativeFacts, ProgressWatcher, native_facts, to_native, to_text,
    trace_is_native,
};
pub use options::{DecodeClock, TraceOptions};
pub use reader::open;
pub use report::{KernelReport, TraceReport};
pub use synthetic::{SYNTHETIC_KERNELS, SyntheticKernel};
pub use write::write_kernel;
