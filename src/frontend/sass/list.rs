//! The kernel list: host-to-device copies and kernel files, in program order.

use std::path::{Path, PathBuf};

use crate::base::Addr;

use super::error::{Problem, ProblemKind, TraceError, unreadable};
use super::reader::resolve;
use super::text::quote;

/// The name of a list in a trace's folder.
const LIST: &str = "kernelslist.g";

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Copy `bytes` bytes to `addr`.
    Copy { addr: Addr, bytes: u64 },
    /// Launch the kernel of this file.
    Kernel(PathBuf),
}

/// What a path of the user leads to.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    /// The trace's name: its folder, or the file without suffix.
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
    /// Things accepted though unusual, with how often they occurred.
    pub(super) notes: Vec<(String, u64)>,
}

impl List {
    /// Reads the list that `path` is, or holds; a kernel's file makes a list of one kernel.
    pub(super) fn read(path: &Path) -> Result<Self, TraceError> {
        if path.is_dir() {
            let list = path.join(LIST);
            if !list.exists() {
                return Err(no_list(path).into());
            }
            return Self::parse(&list);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.contains(".traceg") || name.ends_with(".trace") {
            let lines = vec![Line::Kernel(resolve(path))];
            return Ok(Self { name: name.split(".trace").next().unwrap_or(&name).to_string(), lines, notes: Vec::new() });
        }
        Self::parse(path)
    }

    fn parse(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = folder.canonicalize().ok().and_then(|full| full.file_name().map(|n| n.to_string_lossy().into_owned()));
        let mut list = Self { name: name.unwrap_or_else(|| "trace".into()), ..Self::default() };
        let mut missing = Vec::new();
        for (number, line) in (1..).zip(text.split(|&b| b == b'\n')) {
            let line = line.trim_ascii();
            if line.starts_with(b"MemcpyHtoD") {
                let copy = list.copy(line).ok_or_else(|| bad_copy(path, number, line))?;
                list.lines.push(copy);
            } else if is_kernel(line) {
                let file = resolve(&folder.join(String::from_utf8_lossy(line).as_ref()));
                if !file.exists() {
                    missing.push(no_file(path, number, line, &file));
                }
                list.lines.push(Line::Kernel(file));
            } else if !line.is_empty() {
                list.note("lines of the kernel list that are neither a copy nor a kernel were ignored");
            }
        }
        if !list.lines.iter().any(|line| matches!(line, Line::Kernel(_))) {
            return Err(no_kernel(path, &text).into());
        }
        if missing.is_empty() { Ok(list) } else { Err(TraceError { problems: missing }) }
    }

    fn copy(&mut self, line: &[u8]) -> Option<Line> {
        let text = std::str::from_utf8(line).ok()?;
        let mut fields = text.split(',').map(str::trim).skip(1);
        let addr = fields.next()?.trim_start_matches("0x");
        let addr = Addr(u64::from_str_radix(addr, 16).ok()?);
        let bytes = fields.next()?.parse().ok()?;
        if fields.next().is_some() {
            self.note("MemcpyHtoD lines with more than three fields: the further fields were ignored");
        }
        Some(Line::Copy { addr, bytes })
    }

    fn note(&mut self, text: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == text) {
            Some((_, times)) => *times += 1,
            None => self.notes.push((text.to_string(), 1)),
        }
    }
}

/// A kernel's line names a file called `kernel...`, perhaps in another folder, or any `.traceg`.
fn is_kernel(line: &[u8]) -> bool {
    let name = line.rsplit(|&b| b == b'/').next().unwrap_or(line);
    name.starts_with(b"kernel") || memchr::memmem::find(name, b".traceg").is_some()
}

fn no_list(folder: &Path) -> Problem {
    Problem {
        kind: ProblemKind::Missing,
        file: folder.to_path_buf(),
        line: None,
        what: "the folder holds no kernel list".into(),
        found: format!("a folder without `{LIST}`"),
        expected: format!("`{LIST}`, as the tracer's post-traces-processing tool writes it"),
        help: "give the folder of the list, the list itself or one .traceg file".into(),
    }
}

fn no_kernel(path: &Path, text: &[u8]) -> Problem {
    let first = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    Problem {
        kind: ProblemKind::List,
        file: path.to_path_buf(),
        line: None,
        what: "the kernel list names no kernel".into(),
        found: first.map_or("an empty file".into(), |line| format!("{} as its first line", quote(line))),
        expected: "at least one line with the file name of a kernel, as in kernel-1.traceg".into(),
        help: "give a kernelslist.g of the Accel-Sim tracer, or a .traceg file".into(),
    }
}

fn no_file(list: &Path, line: u64, name: &[u8], file: &Path) -> Problem {
    Problem {
        kind: ProblemKind::Missing,
        file: list.to_path_buf(),
        line: Some(line),
        what: "the kernel's file is not there".into(),
        found: quote(name),
        expected: format!("{}, plain or with .xz, .gz or .zst", file.display()),
        help: "copy the whole folder of the trace, or correct the line".into(),
    }
}

fn bad_copy(path: &Path, line: u64, text: &[u8]) -> Problem {
    Problem {
        kind: ProblemKind::List,
        file: path.to_path_buf(),
        line: Some(line),
        what: "the copy cannot be read".into(),
        found: quote(text),
        expected: "`MemcpyHtoD,0xADDRESS,BYTES`".into(),
        help: "correct the line; without it the copy is not simulated".into(),
    }
}
