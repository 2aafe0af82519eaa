//! Compresses the launch files and listings of this package (LZMA: an eighth of their size) and writes their index. The library embeds
//! both.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Compression preset: the default of `xz`.
const LEVEL: u32 = 6;

fn main() {
    if let Err(error) = write() {
        println!("cargo::error=cannot embed the programs: {error}");
    }
}

fn write() -> std::io::Result<()> {
    // The path is relative: with absolute paths, cargo would rebuild everything for a tree that links to this package.
    let root = PathBuf::from(".");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    let (mut list, mut data) = (format!("static FILES: [File; {}] = [\n", files.len()), Vec::new());
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        // The library returns the files as texts, so each file must be valid UTF-8.
        let text = fs::read_to_string(file)?;
        let start = data.len();
        data.extend(liblzma::encode_all(text.as_bytes(), LEVEL)?);
        let _ = writeln!(list, "    File::new(\"programs/{name}\", {start}..{}),", data.len());
    }
    list.push_str("];");
    fs::write(out.join("files.rs"), list)?;
    fs::write(out.join("files.xz"), data)
}

/// Collects the launch files and listings in a folder and its subfolders, without the manifest.
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
