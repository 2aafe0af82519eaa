//! Facts about a native file from its index, without decoding.

use std::path::Path;

use super::super::error::TraceError;
use super::container::Container;

/// A summary of a native file from its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFacts {
    /// Name of the trace.
    pub name: String,
    /// True for a single kernel's file without a kernel list: its text form is a file, not a folder.
    pub single: bool,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the file that only its text needs.
    pub text_bytes: u64,
    /// Warp instructions of all kernels.
    pub warp_instructions: u64,
}

/// Reads the index of the native file at `path`.
///
/// # Errors
/// The file cannot be read, or its header or index is damaged.
pub fn native_facts(path: &Path) -> Result<NativeFacts, TraceError> {
    let container = Container::open(path)?;
    let index = &container.index;
    Ok(NativeFacts {
        name: index.name.clone(),
        single: index.list.is_none(),
        bytes: container.bytes(),
        text_bytes: index.kernels.iter().map(|kernel| kernel.file_bytes().1).sum(),
        warp_instructions: index.kernels.iter().map(|kernel| kernel.instructions).sum(),
    })
}
