//! Recorded traces, which are not part of the project.

use std::path::PathBuf;

use warpshard::lab::reference::References;

/// Returns a file or folder of the shared references; if it is missing, prints that the test is skipped and returns `None`.
#[expect(clippy::print_stderr, reason = "the gate looks for skipped tests")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let references = References::default();
    let found = references.recorded(path);
    if found.is_none() {
        eprintln!("SKIPPED: recorded traces: {} is not there", references.folder().join(path).display());
    }
    found
}
