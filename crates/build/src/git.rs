//! The commit that the program was built from. The build script shares this file.

use std::path::Path;
use std::process::Command;

/// Returns the commit of the repository with the top folder `root`, with `-dirty` if source files differ from the commit; `None` without a
/// repository, inside another project's repository, or without git.
pub(crate) fn commit_of(root: &str) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(root).canonicalize().ok()? {
        return None;
    }
    let hash = git(root, &["rev-parse", "HEAD"])?;
    let changes = git(
        root,
        &["status", "--porcelain", "--", "Cargo.toml", "Cargo.lock", "src", "crates", "sync", "configs", "programs", "papers", "validate"],
    )?;
    Some(if changes.is_empty() { hash } else { format!("{hash}-dirty") })
}

/// Returns the output of git; `None` if git fails. Git takes no locks, so that it does not disturb the user's git commands.
pub(crate) fn git(root: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--no-optional-locks").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
