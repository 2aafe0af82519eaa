//! Recorded traces, which are not part of the project.

use std::path::PathBuf;

use warpshard::lab::reference::References;

/// A file or folder of the shared references; prints that the test is skipped, and returns nothing, where it is absent.
#[expect(clippy::print_stderr, reason = "the gate looks for skipped tests")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let references = References::default();
    let found = references.recorded(path);
    if found.is_none() {
        eprintln!("SKIPPED: recorded traces: {} is not there", references.folder().join(path).display());
    }
    found
}
