//! What a native file says of itself without being decoded.

use std::path::Path;

use super::super::error::TraceError;
use super::container::Container;

/// The contents of a native file by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFacts {
    /// The trace's name.
    pub name: String,
    /// A single kernel's file without a kernel list: its text is a file and not a folder.
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
/// When the file cannot be read, or its header or index is damaged.
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
