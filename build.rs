//! Tells the program which commit it was built from: its hash, with `-dirty` when files differ from it, or `unknown` where
//! there is no repository (a release tarball, a copy inside another project) or no git.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    for watched in ["build.rs", "Cargo.toml", "src", "host", "sync", "configs"] {
        watch(&Path::new(&root).join(watched));
    }
    let commit = commit(&root).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=WARPSHARD_COMMIT={commit}");
}

/// The commit of the repository whose top folder is `root`; one further up is somebody else's.
fn commit(root: &str) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(root).canonicalize().ok()? {
        return None;
    }
    let hash = git(root, &["rev-parse", "HEAD"])?;
    // The log of HEAD grows with every commit and checkout, on whichever branch.
    watch(&Path::new(root).join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?));
    let changes = git(root, &["status", "--porcelain", "--", "build.rs", "Cargo.toml", "src", "host", "sync", "configs"])?;
    Some(if changes.is_empty() { hash } else { format!("{hash}-dirty") })
}

/// A path that does not exist would make cargo run this script on every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// What git prints; `None` when it fails. Takes no locks, so that a build never disturbs the user's own git.
fn git(root: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--no-optional-locks").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
