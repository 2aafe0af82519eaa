//! Tells the program which commit it was built from: its hash, with `-dirty` when files differ from it, or `unknown` where
//! there is no repository (a release tarball, a copy inside another project) or no git. A development build is told nothing and looks when it
//! is asked, so that a commit does not make cargo compile everything anew. Every build is told a digest of its sources, and one of those that
//! whole runs depend on.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "src/report/git.rs"]
mod git;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let (mut sources, mut simulator) = (Digest::default(), Digest::default());
    // What samples, compares and asks for runs: no whole run depends on it.
    let above: Vec<_> = ["src/cli", "src/sample", "src/study"].map(|folder| Path::new(&root).join(folder)).into();
    for watched in ["build.rs", "Cargo.toml", "Cargo.lock", "src", "host", "sync", "state", "state-derive", "configs"] {
        watch(&Path::new(&root).join(watched));
        sources.add(&Path::new(&root).join(watched), &[]);
        simulator.add(&Path::new(&root).join(watched), &above);
    }
    println!("cargo::rustc-env=WARPSHARD_SOURCES={:016x}{:016x}", sources.0, sources.1);
    println!("cargo::rustc-env=WARPSHARD_SIMULATOR={:016x}{:016x}", simulator.0, simulator.1);
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-env=WARPSHARD_COMMIT=");
        return;
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

/// Two digests with the multiplier of FNV-1a, which tell sources apart that differ by mistake; nobody attacks them.
struct Digest(u64, u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142)
    }
}

impl Digest {
    /// Adds a file, or all files of a folder by name, but for those of `without`; what does not exist adds nothing.
    fn add(&mut self, path: &Path, without: &[PathBuf]) {
        if without.iter().any(|other| other == path) {
            return;
        }
        if let Ok(entries) = fs::read_dir(path) {
            let mut inside: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            inside.iter().for_each(|path| self.add(path, without));
        } else if let Ok(contents) = fs::read(path) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.bytes(name.as_bytes());
            self.bytes(&contents);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            self.1 = (self.1.rotate_left(29) ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
