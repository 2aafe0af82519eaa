//! The native trace format: a whole trace in one file, compact, seekable by kernel and CTA, and with every byte of its text.
//!
//! `frame` writes and reads blocks with checksums, `index` says where they are, `container` opens a file. Of a kernel
//! `footprint` says what it does to memory, `template` holds what lines have in common, `record` the CTAs as paths and addresses, `render` their text. `program` and
//! `decoder` make the streams that are simulated; `pack` and `unpack` convert. docs/traces.md specifies every byte.

mod container;
mod decoder;
mod facts;
mod footprint;
mod frame;
mod index;
mod pack;
mod program;
mod record;
mod render;
mod scan;
mod template;
mod unpack;
mod wire;

pub(super) use container::{Container, NativeKernel, is_native};
pub(super) use decoder::NativeDecoder;
pub use facts::{NativeFacts, native_facts};
pub use frame::VERSION as NATIVE_VERSION;
pub use pack::{ConvertError, ConvertProgress, Converted, Watcher, to_native};
pub use unpack::to_text;

/// Whether the file at `path` is a trace in the native format, by its first bytes.
pub fn trace_is_native(path: &std::path::Path) -> bool {
    is_native(path)
}
