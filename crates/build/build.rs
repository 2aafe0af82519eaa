//! Tells the program which commit it was built from: its hash, with `-dirty` when files differ from it, or `unknown` where
//! there is no repository (a release tarball, a copy inside another project) or no git. A development build is told nothing and looks when it
//! is asked, so that a commit does not make cargo compile everything anew. Every build is told a digest of its sources, and one of those that
//! whole runs depend on. The packages are those of the workspace's manifest, and what depends on what is read from their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "src/git.rs"]
mod git;

/// The package whose dependencies a whole run depends on.
const RUN: &str = "warpshard-run";
/// What chooses and compares runs, which no whole run depends on.
const ABOVE: &[&str] = &["warpshard-sample"];
/// The Python package, which stands above the program.
const PYTHON: &str = "python";
/// Folders of a package that are in no program.
const NOT_BUILT: &[&str] = &["tests", "benches", "target"];

fn main() {
    // Relative to this package's folder, in which cargo runs build scripts. With absolute paths, cargo would rebuild everything for a tree that links to
    // this one's packages (tests/adding.rs).
    let root = PathBuf::from("../..");
    let members = members(&root);
    let covered = dependencies(&members, RUN);
    let (mut sources, mut simulator) = (Digest::default(), Digest::default());
    for file in ["Cargo.toml", "Cargo.lock", "src"] {
        watch(&root.join(file));
        sources.add(&root.join(file));
        if file != "src" {
            simulator.add(&root.join(file));
        }
    }
    for (name, package) in &members {
        watch(&package.folder);
        sources.add(&package.folder);
        if covered.contains(name) {
            simulator.add(&package.folder);
        }
    }
    println!("cargo::rustc-env=WARPSHARD_SOURCES={:016x}{:016x}", sources.0, sources.1);
    println!("cargo::rustc-env=WARPSHARD_SIMULATOR={:016x}{:016x}", simulator.0, simulator.1);
    println!("cargo::rustc-env=WARPSHARD_SIMULATOR_PACKAGES={}", covered.into_iter().collect::<Vec<_>>().join(","));
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-env=WARPSHARD_COMMIT=");
        return;
    }
    let root = root.to_string_lossy();
    let commit = git::commit_of(&root);
    // The log of HEAD grows with every commit and checkout, on whichever branch.
    if let (Some(_), Some(log)) = (&commit, git::git(&root, &["rev-parse", "--git-path", "logs/HEAD"])) {
        watch(&Path::new(&*root).join(log));
    }
    println!("cargo::rustc-env=WARPSHARD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// A package of the workspace.
struct Package {
    folder: PathBuf,
    /// The packages of the workspace that its manifest names outside of its development dependencies.
    needs: Vec<String>,
}

/// The packages that the workspace's manifest lists, by name; this one alone where there is no workspace around it.
fn members(root: &Path) -> BTreeMap<String, Package> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let list = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).filter(|folder| *folder != PYTHON).map(|folder| package(&root.join(folder))).collect()
}

/// Reads the name and the dependencies of the package in a folder. The manifests of this workspace have one key per line and no inline sub-tables;
/// a test compares the dependencies with those that `cargo tree` finds.
fn package(folder: &Path) -> (String, Package) {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let (mut table, mut name, mut needs) = ("", String::new(), Vec::new());
    for line in manifest.lines() {
        if let Some(head) = line.strip_prefix('[') {
            table = head.trim_end_matches(']');
        } else if let (true, Some(value)) = (table == "package", line.strip_prefix("name = ")) {
            name = value.trim_matches('"').to_owned();
        } else if table == "dependencies" || table == "build-dependencies" || table.starts_with("target") {
            let key: String = line.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
            needs.extend(Some(key).filter(|key| key.starts_with("warpshard-")));
        }
    }
    (name, Package { folder: folder.to_owned(), needs })
}

/// A package and all that it depends on, but for [`ABOVE`].
fn dependencies(members: &BTreeMap<String, Package>, of: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![of.to_owned()]);
    while let Some(name) = open.pop() {
        if !ABOVE.contains(&name.as_str()) && found.insert(name.clone()) {
            open.extend(members.get(&name).into_iter().flat_map(|package| package.needs.iter().cloned()));
        }
    }
    found
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
    /// Adds a file, or all files of a folder by name, but for those that are in no program; what does not exist adds nothing.
    fn add(&mut self, path: &Path) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Ok(entries) = fs::read_dir(path) {
            let mut inside: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            inside.retain(|path| !NOT_BUILT.iter().any(|folder| path.is_dir() && path.ends_with(folder)));
            inside.iter().for_each(|path| self.add(path));
        } else if let (false, Ok(contents)) = (name.ends_with(".md"), fs::read(path)) {
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
