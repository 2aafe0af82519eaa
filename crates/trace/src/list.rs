//! The kernel list: host-to-device copies and kernel files, in program order. A native file contains its list.

use std::path::Path;
use std::sync::Arc;

use warpshard_base::{Addr, MAX_KERNELS};
use warpshard_config::input;

use super::error::{Problem, ProblemKind, TraceError, unreadable};
use super::kernel::{KernelFile, too_many_kernels};
use super::native::{Container, is_native};
use super::reader::resolve;
use super::text::quote;

/// File name of the kernel list in a trace's folder.
pub(super) const LIST_FILE_NAME: &str = "kernelslist.g";
/// Conventional suffix of native files.
const NATIVE_SUFFIX: &str = "wst";
/// The suffix of kernels in the binary format of Accel-Sim 2.0.
const TRACEZ_SUFFIX: &str = ".tracez";
/// Maximum bytes of a list, and maximum copies in it.
const MAX_LIST_BYTES: u64 = 64 << 20;
const MAX_COPIES: usize = 1 << 20;
/// File next to a list that contains the trace's name if it differs from the folder's name.
pub(super) const NAME_FILE: &str = "trace.name";

/// One line of a list.
#[derive(Clone, Debug)]
pub(super) enum ListLine {
    /// A copy of `bytes` bytes to `addr`.
    Copy { addr: Addr, bytes: u64 },
    /// A kernel launch.
    Kernel {
        /// Location of the kernel.
        file: KernelFile,
        /// Name of the kernel in the list.
        listed: String,
    },
}

/// A function that finds a kernel by number and text of its line in the list.
type KernelFinder<'a> = &'a mut dyn FnMut(u64, &[u8]) -> Result<KernelFile, TraceError>;

/// The kernel list at a path that the user gives.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelList {
    /// Name of the trace: the folder's name, or the file's name without suffix.
    pub(super) name: String,
    /// Original text of the list, if there is a list file.
    pub(super) text: Option<Vec<u8>>,
    pub(super) lines: Vec<ListLine>,
    /// Descriptions of unusual but accepted input, each with its number of occurrences.
    pub(super) notes: Vec<(String, u64)>,
}

impl KernelList {
    /// Reads the list at `path` or in the folder `path`; a kernel's file is a list of one kernel.
    pub(super) fn read(path: &Path) -> Result<Self, TraceError> {
        if path.is_dir() {
            let list = path.join(LIST_FILE_NAME);
            if !list.exists() {
                return Err(missing_list(path).into());
            }
            return Self::parse(&list);
        }
        // A file with this suffix but without the magic bytes of the format is a damaged native file, not a kernel list.
        if is_native(path) || path.extension().is_some_and(|suffix| suffix == NATIVE_SUFFIX) && path.exists() {
            return Self::of_native(path);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(TRACEZ_SUFFIX) {
            return Err(tracez(path, None, name.as_bytes()).into());
        }
        if name.contains(".traceg") || name.ends_with(".trace") {
            let lines = vec![ListLine::Kernel { file: KernelFile::Text(resolve(path)), listed: name.clone() }];
            let name = name.split(".trace").next().unwrap_or(&name).to_string();
            return Ok(Self { name, lines, ..Self::default() });
        }
        Self::parse(path)
    }

    /// Reads the list in a native file; without a list the launches in its index are the list.
    fn of_native(path: &Path) -> Result<Self, TraceError> {
        let container = Container::open(path)?;
        let (name, text, launches) = container.contents();
        let mut list = Self { name: name.into(), ..Self::default() };
        let kernel = |number: u32| KernelFile::Native(Arc::clone(&container), number as usize);
        let Some(text) = text else {
            let line = |&number: &u32| ListLine::Kernel { file: kernel(number), listed: container.listed(number as usize).into() };
            list.lines = launches.iter().map(line).collect();
            return Ok(list);
        };
        let mut launches = launches.iter();
        list.read_lines(path, text, &mut |_, line| {
            let contradiction = || Problem {
                kind: ProblemKind::List,
                file: path.to_path_buf(),
                line: None,
                what: "the index launches fewer kernels than the list in it".into(),
                found: quote(line),
                expected: "a kernel for each line".into(),
                help: "convert the trace again from its text".into(),
            };
            launches.next().map(|&number| kernel(number)).ok_or_else(|| contradiction().into())
        })?;
        Ok(list)
    }

    fn parse(path: &Path) -> Result<Self, TraceError> {
        let text = input::read(path, MAX_LIST_BYTES).map_err(|error| unreadable(path, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let called = input::read_text(&folder.join(NAME_FILE)).ok().map(|name| name.trim().to_owned());
        let name = called.filter(|name| !name.is_empty()).or_else(|| {
            let full = folder.canonicalize().ok()?;
            full.file_name().map(|name| name.to_string_lossy().into_owned())
        });
        let mut list = Self { name: name.unwrap_or_else(|| "trace".into()), ..Self::default() };
        list.read_lines(path, &text, &mut |number, line| {
            if line.ends_with(TRACEZ_SUFFIX.as_bytes()) {
                return Err(tracez(path, Some(number), line).into());
            }
            let file = resolve(&folder.join(String::from_utf8_lossy(line).as_ref()));
            if file.exists() { Ok(KernelFile::Text(file)) } else { Err(missing_file(path, number, line, &file).into()) }
        })?;
        list.text = Some(text);
        Ok(list)
    }

    /// Parses the lines of `text`; `find` finds a kernel by number and text of its line. Missing kernels are reported together.
    fn read_lines(&mut self, path: &Path, text: &[u8], find: KernelFinder<'_>) -> Result<(), TraceError> {
        let lines = || text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        let (kernels, copies) = (lines().filter(|line| is_kernel(line)).count(), lines().filter(|line| is_copy(line)).count());
        if kernels == 0 {
            return Err(missing_kernel(path, text).into());
        }
        if kernels > MAX_KERNELS {
            return Err(too_many_kernels(path, kernels).into());
        }
        if copies > MAX_COPIES {
            return Err(too_many_copies(path, copies).into());
        }
        let mut missing = Vec::new();
        for (number, line) in (1..).zip(lines()) {
            if is_copy(line) {
                let copy = self.parse_copy(line).ok_or_else(|| malformed_copy(path, number, line))?;
                self.lines.push(copy);
            } else if is_kernel(line) {
                match find(number, line) {
                    Ok(file) => self.lines.push(ListLine::Kernel { file, listed: String::from_utf8_lossy(line).into_owned() }),
                    Err(error) => missing.extend(error.problems),
                }
            } else if !line.is_empty() {
                self.note("lines of the kernel list that are neither a copy nor a kernel were ignored");
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(TraceError { problems: missing }) }
    }

    fn parse_copy(&mut self, line: &[u8]) -> Option<ListLine> {
        let text = std::str::from_utf8(line).ok()?;
        let mut fields = text.split(',').map(str::trim).skip(1);
        let addr = fields.next()?.trim_start_matches("0x");
        let addr = Addr(u64::from_str_radix(addr, 16).ok()?);
        let bytes = fields.next()?.parse().ok()?;
        if fields.next().is_some() {
            self.note("MemcpyHtoD lines with more than three fields: the further fields were ignored");
        }
        Some(ListLine::Copy { addr, bytes })
    }

    fn note(&mut self, text: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == text) {
            Some((_, times)) => *times += 1,
            None => self.notes.push((text.to_string(), 1)),
        }
    }
}

fn is_copy(line: &[u8]) -> bool {
    line.starts_with(b"MemcpyHtoD")
}

/// Returns true if the line names a file called `kernel...`, in any folder, or a `.traceg` file.
fn is_kernel(line: &[u8]) -> bool {
    if is_copy(line) {
        return false;
    }
    let name = line.rsplit(|&b| b == b'/').next().unwrap_or(line);
    name.starts_with(b"kernel") || memchr::memmem::find(name, b".traceg").is_some()
}

fn missing_list(folder: &Path) -> Problem {
    Problem {
        kind: ProblemKind::Missing,
        file: folder.to_path_buf(),
        line: None,
        what: "the folder contains no kernel list".into(),
        found: format!("a folder without `{LIST_FILE_NAME}`"),
        expected: format!("`{LIST_FILE_NAME}`, as the tracer's post-traces-processing tool writes it"),
        help: "give the folder of the list, the list itself or one .traceg file".into(),
    }
}

fn missing_kernel(path: &Path, text: &[u8]) -> Problem {
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

fn tracez(file: &Path, line: Option<u64>, name: &[u8]) -> Problem {
    Problem {
        kind: ProblemKind::List,
        file: file.to_path_buf(),
        line,
        what: "a .tracez file, the binary format of Accel-Sim 2.0 with a zstd stream for each warp, cannot be read".into(),
        found: quote(name),
        expected: "a kernel as text: .traceg, plain or with .xz, .gz or .zst".into(),
        help: "decode it with Accel-Sim's traceDsm, name the .traceg files in kernelslist.g, or trace again with a tracer before 2.0"
            .into(),
    }
}

fn too_many_copies(path: &Path, copies: usize) -> Problem {
    Problem {
        kind: ProblemKind::List,
        file: path.to_path_buf(),
        line: None,
        what: "the trace has too many copies".into(),
        found: format!("{copies} copies"),
        expected: format!("at most {MAX_COPIES}"),
        help: "split the kernel list".into(),
    }
}

fn missing_file(list: &Path, line: u64, name: &[u8], file: &Path) -> Problem {
    Problem {
        kind: ProblemKind::Missing,
        file: list.to_path_buf(),
        line: Some(line),
        what: "the kernel's file does not exist".into(),
        found: quote(name),
        expected: format!("{}, plain or with .xz, .gz or .zst", file.display()),
        help: "copy the whole folder of the trace, or correct the line".into(),
    }
}

fn malformed_copy(path: &Path, line: u64, text: &[u8]) -> Problem {
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
