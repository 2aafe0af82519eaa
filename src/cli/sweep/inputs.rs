//! The files that the results of a run follow from, besides the machine.

use std::path::{Path, PathBuf};

use crate::config::input;

use super::super::args::RunArgs;

/// Endings that a trace's file may have beyond the name in its list.
const COMPRESSED: [&str; 3] = [".xz", ".gz", ".zst"];

/// The files of the workload that the options name, in a fixed order. What is missing is left to the run, which reports it.
pub(super) fn of(args: &RunArgs) -> Vec<PathBuf> {
    match (&args.trace, &args.program, &args.workload) {
        (Some(trace), _, _) => of_trace(trace),
        (None, Some(program), _) => of_program(program),
        (None, None, Some(model)) => Some(PathBuf::from(model)).filter(|path| path.is_file()).into_iter().collect(),
        (None, None, None) => Vec::new(),
    }
}

/// A list of kernels and the files that its lines name; or a single file.
fn of_trace(path: &Path) -> Vec<PathBuf> {
    let list = if path.is_dir() { path.join("kernelslist.g") } else { path.to_owned() };
    let folder = list.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = vec![list.clone()];
    // A native trace is one file, which is no text.
    let Ok(text) = input::read_text(&list) else { return files };
    for name in text.lines().flat_map(|line| line.split([',', ' ', '\t'])).map(str::trim).filter(|name| !name.is_empty()) {
        let plain = folder.join(name);
        let compressed = COMPRESSED.iter().map(|ending| folder.join(format!("{name}{ending}")));
        files.extend(std::iter::once(plain).chain(compressed).filter(|path| path.is_file()));
    }
    files
}

/// A launch file and every file that one of its texts names: listings and contents of buffers.
fn of_program(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = vec![path.to_owned()];
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
