//! Writes the list of the launch files and listings of this package, which the library embeds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    (\"programs/{name}\", include_str!({:?})),", file.display().to_string());
    }
    text.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("files.rs");
    if let Err(error) = fs::write(&out, text) {
        println!("cargo::error=cannot write {}: {error}", out.display());
    }
}

/// The launch files and listings in a folder and those below; the manifest is none.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is = |ending: &str| path.extension().is_some_and(|own| own == ending);
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tools") {
            collect(&path, files);
        } else if is("sass") || is("toml") && !path.ends_with("Cargo.toml") {
            files.push(path);
        }
    }
}
