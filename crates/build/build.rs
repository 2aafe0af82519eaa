//! Passes the commit of the sources to the program: its hash, with `-dirty` if files differ from the commit, or `unknown` without a
//! repository (a release tarball, a copy inside another project) or without git. A development build gets no commit; it asks git when the
//! commit is needed, so that a commit does not make cargo rebuild everything. Every build gets a digest of its sources and a digest of the
//! sources that affect whole runs. The packages come from the manifest of the workspace, and their dependencies from their own manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "src/git.rs"]
mod git;

/// The package whose dependencies affect the result of a whole run.
const RUN_PACKAGE: &str = "warpshard-run";
/// Packages that choose and compare runs, and do not affect whole runs.
const EXCLUDED_FROM_RUN: &[&str] = &["warpshard-sample"];
/// The Python package, which depends on the program.
const PYTHON_PACKAGE: &str = "python";
/// Folders of a package that are not compiled into any program.
const UNCOMPILED_FOLDERS: &[&str] = &["tests", "benches", "target"];

fn main() {
    // The path is relative to this package's folder, in which cargo runs build scripts. With absolute paths, cargo would rebuild everything
    // for a tree that links to the packages of this tree (tests/adding.rs).
    let root = PathBuf::from("../..");
    let members = members(&root);
    let covered = dependencies(&members, RUN_PACKAGE);
    let (mut sources, mut simulator) = (Digest::default(), Digest::default());
    for file in ["Cargo.toml", "Cargo.lock", "src"] {
        rerun_if_changed(&root.join(file));
        sources.add(&root.join(file));
        if file != "src" {
            simulator.add(&root.join(file));
        }
    }
    for (name, package) in &members {
        rerun_if_changed(&package.folder);
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
    // The log of HEAD grows with every commit and checkout on any branch.
    if let (Some(_), Some(log)) = (&commit, git::git(&root, &["rev-parse", "--git-path", "logs/HEAD"])) {
        rerun_if_changed(&Path::new(&*root).join(log));
    }
    println!("cargo::rustc-env=WARPSHARD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// A package of the workspace.
struct Package {
    folder: PathBuf,
    /// The workspace packages that the manifest names as dependencies, without development dependencies.
    dependencies: Vec<String>,
}

/// Returns the packages in the workspace's manifest by name; only this package if there is no workspace.
fn members(root: &Path) -> BTreeMap<String, Package> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let list = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).filter(|folder| *folder != PYTHON_PACKAGE).map(|folder| package(&root.join(folder))).collect()
}

/// Reads the name and the dependencies of the package in a folder. The manifests of this workspace have one key per line and no inline
/// sub-tables; a test compares the dependencies with the output of `cargo tree`.
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
    (name, Package { folder: folder.to_owned(), dependencies: needs })
}

/// Returns a package and all its dependencies except [`EXCLUDED_FROM_RUN`].
fn dependencies(members: &BTreeMap<String, Package>, of: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![of.to_owned()]);
    while let Some(name) = open.pop() {
        if !EXCLUDED_FROM_RUN.contains(&name.as_str()) && found.insert(name.clone()) {
            open.extend(members.get(&name).into_iter().flat_map(|package| package.dependencies.iter().cloned()));
        }
    }
    found
}

/// Watching a path that does not exist would make cargo run this script on every build.
fn rerun_if_changed(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Two digests with the multiplier of FNV-1a. They detect accidental differences between sources; they are not cryptographic.
struct Digest(u64, u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142)
    }
}

impl Digest {
    /// Adds a file, or all files of a folder in the order of their names, except folders that are not compiled. A path that does not exist
    /// adds nothing.
    fn add(&mut self, path: &Path) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Ok(entries) = fs::read_dir(path) {
            let mut inside: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            inside.retain(|path| !UNCOMPILED_FOLDERS.iter().any(|folder| path.is_dir() && path.ends_with(folder)));
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
