//! The commit that the program was built from. The build script shares this file.

use std::path::Path;
use std::process::Command;

/// The commit of the repository whose top folder is `root`, with `-dirty` where files that the program is built from differ from it; `None`
/// where there is no repository, or it is somebody else's further up, or there is no git.
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

/// What git prints; `None` when it fails. Takes no locks, so that it never disturbs the user's own git.
pub(crate) fn git(root: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--no-optional-locks").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
