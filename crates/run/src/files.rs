//! The input files of a workload. Missing files are omitted, since the run reports them.

use std::path::{Path, PathBuf};

use warpshard_config::input;

/// File name extensions of compressed trace files, which the list of kernels may omit.
const COMPRESSION_SUFFIXES: [&str; 3] = [".xz", ".gz", ".zst"];

/// Returns the file of a kernel model that is not built in.
pub(crate) fn model_files(name: &str) -> Vec<PathBuf> {
    Some(PathBuf::from(name)).filter(|path| path.is_file()).into_iter().collect()
}

/// Returns a list of kernels and the files that its lines name, or a single file.
pub(crate) fn trace_files(path: &Path) -> Vec<PathBuf> {
    let list = if path.is_dir() { path.join("kernelslist.g") } else { path.to_owned() };
    let folder = list.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = vec![list.clone()];
    // A native trace is one binary file.
    let Ok(text) = input::read_text(&list) else { return files };
    for name in text.lines().flat_map(|line| line.split([',', ' ', '\t'])).map(str::trim).filter(|name| !name.is_empty()) {
        let plain = folder.join(name);
        let compressed = COMPRESSION_SUFFIXES.iter().map(|ending| folder.join(format!("{name}{ending}")));
        files.extend(std::iter::once(plain).chain(compressed).filter(|path| path.is_file()));
    }
    files
}

/// Returns a launch file or mix and every file that a string in it names: listings, contents of buffers, applications.
pub(crate) fn program_files(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = vec![path.to_owned()];
    // A program that comes with warpshard is part of the build, which results name in any case.
    files.retain(|path| path.is_file() || !input::exists(path));
    let table = input::read_text(path).ok().and_then(|text| text.parse::<toml::Table>().ok());
    let mut open: Vec<toml::Value> = table.map(toml::Value::Table).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            toml::Value::String(name) => files.extend(Some(folder.join(name)).filter(|path| path.is_file() && !files.contains(path))),
            toml::Value::Array(values) => open.extend(values),
            toml::Value::Table(table) => open.extend(table.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    files
}

/// Returns the files of `--cpu`: profiles and traces, and mixes with the files that they name.
pub(crate) fn cpu_files(names: &[String]) -> Vec<PathBuf> {
    let files = |name: &String| match name.strip_prefix('@') {
        Some(mix) if Path::new(mix).is_file() => program_files(Path::new(mix)),
        _ => model_files(name),
    };
    names.iter().flat_map(files).collect()
}
