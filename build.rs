//! Tells the program which commit it was built from: its hash, with `-dirty` when files differ from it, or `unknown` where
//! there is no repository (a release tarball, a copy inside another project) or no git. A development build is told nothing and looks when it
//! is asked, so that a commit does not make cargo compile everything anew.

use std::path::Path;

#[path = "src/report/git.rs"]
mod git;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rerun-if-changed=build.rs");
        println!("cargo::rustc-env=WARPSHARD_COMMIT=");
        return;
    }
    for watched in ["build.rs", "Cargo.toml", "src", "host", "sync", "configs"] {
        watch(&Path::new(&root).join(watched));
    }
    let commit = git::commit_of(&root);
    // The log of HEAD grows with every commit and checkout, on whichever branch.
    if let (Some(_), Some(log)) = (&commit, git::git(&root, &["rev-parse", "--git-path", "logs/HEAD"])) {
        watch(&Path::new(&root).join(log));
    }
    println!("cargo::rustc-env=WARPSHARD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// A path that does not exist would make cargo run this script on every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
