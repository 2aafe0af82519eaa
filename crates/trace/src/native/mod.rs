//! The native trace format: one compact file per trace, seekable by kernel and CTA, from which every byte of the text can be restored.
//!
//! `frame` reads and writes blocks with checksums, `index` locates them, and `container` opens a file. For each kernel `footprint` contains
//! its memory footprint, `template` the shared parts of its lines, `record` its CTAs as paths and addresses, and `render` their text.
//! `program` and `decoder` produce the streams that are simulated; `pack` and `unpack` convert between the formats. docs/traces.md
//! specifies every byte.

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
pub use pack::{Conversion, ConvertError, ConvertProgress, ProgressWatcher, to_native};
pub use unpack::to_text;

/// Returns true if the file at `path` starts with the magic bytes of the native trace format.
pub fn trace_is_native(path: &std::path::Path) -> bool {
    is_native(path)
}
