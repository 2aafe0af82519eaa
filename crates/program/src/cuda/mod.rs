//! Preparation of unmodified CUDA sources: host code is removed, headers are found, and the rest is compiled as device code.
//!
//! NVRTC compiles only device code. [`Sources::read`] reads files with the headers that they include, and blanks functions without a mark
//! of device code. NVRTC rejects other host code, such as a variable or a struct of `std::vector`: [`Sources::remove_host_code`] reads its
//! messages and blanks the declarations that they name, unless these are device code. Line numbers are preserved.

mod headers;
mod items;
mod launch;
mod tokens;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{ProgramError, listed};
use items::{DeclarationForm, Item, ParsedSource, find_marks, line_of, parse};
use tokens::TokenKind;

pub use items::{Kernel, Parameter};
pub use launch::{LaunchOptions, launch_file};

/// Maximum bytes of a source or header.
const MAX_SOURCE_BYTES: u64 = 1 << 24;
/// Name of the header with all of [`headers::CPP_HEADERS`].
const CPP_HEADER_NAME: &str = "warpshard_cpp.h";
/// Name of the header with [`headers::CPP_HEADERS`] and [`headers::TORCH_TYPES_HEADER`].
const TORCH: &str = "warpshard_torch.h";
/// Maximum files of one program.
const MAX_FILES: usize = 4096;

/// Sources with the headers that they include.
#[derive(Debug)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Number of files that the user named; they come first in `files`.
    named: usize,
    /// Headers that were not found, each with the including file and line.
    missing: Vec<(PathBuf, u32, String)>,
    /// Declarations that NVRTC rejected, each with file, line and message.
    refused: Vec<(PathBuf, u32, String)>,
    /// True if libcu++ is available.
    libcu: bool,
    /// True if all of libcu++ is included before the sources.
    whole: bool,
}

#[derive(Debug)]
struct SourceFile {
    path: PathBuf,
    text: String,
    parsed: ParsedSource,
    /// For each item, `true` if it is removed from the source.
    removed: Vec<bool>,
    /// Include lines that are replaced, as byte ranges with their replacement.
    includes: Vec<(usize, usize, IncludeTarget)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IncludeTarget {
    File(usize),
    /// The C++ headers of libcu++, and the number types of PyTorch.
    Cpp,
    Nothing,
}

impl Sources {
    /// Reads sources and the headers that they include. `folders` are the folders of `-I`; `system` are the folders of packages, whose
    /// headers are not modified.
    ///
    /// # Errors
    /// A file cannot be read, is not text or is too long.
    pub fn read(paths: &[PathBuf], folders: &[PathBuf], system: &[PathBuf]) -> Result<Self, ProgramError> {
        let libcu = system.iter().any(|folder| folder.join("cuda/std/type_traits").is_file());
        let mut sources = Self { files: Vec::new(), named: paths.len(), missing: Vec::new(), refused: Vec::new(), libcu, whole: false };
        let mut known: Vec<PathBuf> = Vec::new();
        for path in paths {
            sources.open(path)?;
            known.push(path.canonicalize().unwrap_or_else(|_| path.clone()));
        }
        let mut at = 0;
        while at < sources.files.len() {
            sources.includes(at, folders, system, &mut known)?;
            at += 1;
        }
        let mut marks = Vec::new();
        loop {
            let mut grown = false;
            for file in &sources.files {
                grown |= find_marks(&file.text, &mut marks);
            }
            if !grown {
                break;
            }
        }
        for file in &mut sources.files {
            file.parsed = parse(&file.text, &marks);
            file.removed = file.parsed.items.iter().map(|item| item.host).collect();
        }
        Ok(sources)
    }

    /// Includes all of libcu++ before the sources: headers of the host's C++ library include each other, and source code relies on it.
    #[must_use]
    pub fn with_whole_library(mut self) -> Self {
        self.whole = true;
        self
    }

    fn open(&mut self, path: &Path) -> Result<(), ProgramError> {
        let bad = |what: String| ProgramError::new(path, 0, what);
        if self.files.len() == MAX_FILES {
            return Err(bad("exceeds the number of files of a program".into()).expected(format!("at most {MAX_FILES} files")));
        }
        let length = fs::metadata(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        if !length.is_file() {
            return Err(bad("is no file".into()).expected("a CUDA source (.cu)"));
        }
        if length.len() > MAX_SOURCE_BYTES {
            return Err(bad("is too long".into())
                .found(format!("{} bytes", length.len()))
                .expected(format!("at most {MAX_SOURCE_BYTES} bytes")));
        }
        let bytes = fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        // Comments of old sources have various encodings; each byte of invalid UTF-8 becomes a character.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| error.into_bytes().into_iter().map(|byte| if byte < 128 { byte as char } else { '?' }).collect());
        self.files.push(SourceFile {
            path: path.to_path_buf(),
            text,
            parsed: ParsedSource::default(),
            removed: Vec::new(),
            includes: Vec::new(),
        });
        Ok(())
    }

    /// Finds the headers that a file includes, and reads new ones.
    fn includes(&mut self, at: usize, folders: &[PathBuf], system: &[PathBuf], known: &mut Vec<PathBuf>) -> Result<(), ProgramError> {
        let text = self.files[at].text.clone();
        let path = self.files[at].path.clone();
        let own = path.parent().unwrap_or(Path::new("")).to_path_buf();
        for token in tokens::tokens(&text).into_iter().filter(|token| token.kind == TokenKind::Line) {
            let Some((header, quoted)) = included(token.of(&text)) else { continue };
            let own = Some(&own).filter(|_| quoted);
            let found = own.into_iter().chain(folders).map(|folder| folder.join(header)).find(|path| path.is_file());
            let instead = if let Some(found) = found {
                let real = found.canonicalize().unwrap_or_else(|_| found.clone());
                let number = match known.iter().position(|path| *path == real) {
                    Some(number) => number,
                    None => {
                        self.open(&found)?;
                        known.push(real);
                        known.len() - 1
                    }
                };
                IncludeTarget::File(number)
            } else if self.provided(header) || system.iter().any(|folder| folder.join(header).is_file()) {
                continue;
            } else {
                self.missing.push((path.clone(), line_of(&text, token.start), header.to_owned()));
                if headers::HOST_LIBRARY_FOLDERS.iter().any(|folder| header.starts_with(folder)) {
                    IncludeTarget::Cpp
                } else {
                    IncludeTarget::Nothing
                }
            };
            self.files[at].includes.push((token.start, token.end, instead));
        }
        Ok(())
    }

    /// Returns true if [`Sources::write`] writes this header.
    fn provided(&self, header: &str) -> bool {
        let c = headers::C_HEADERS.iter().any(|(names, _)| names.contains(&header));
        c || headers::EMPTY_HEADERS.contains(&header) || (self.libcu && headers::CPP_HEADERS.iter().any(|(name, _)| *name == header))
    }

    /// Writes the input of NVRTC into an empty folder: the sources without host code, and the folder `include` with replacement headers.
    /// Returns the file to compile.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        let include = folder.join("include");
        fs::create_dir_all(include.join("sys"))?;
        for (names, text) in headers::C_HEADERS {
            for name in names {
                fs::write(include.join(name), text)?;
            }
        }
        for name in headers::EMPTY_HEADERS {
            fs::write(include.join(name), "")?;
        }
        if self.libcu {
            fs::create_dir_all(include.join("cub"))?;
            fs::write(include.join("cub/cub.cuh"), headers::CUB_HEADER)?;
        }
        let mut all = String::from("#pragma once\n");
        if self.libcu {
            all.push_str("#include <cuda/std/cmath>\n#include <cuda/std/cstdlib>\n");
            for (name, header) in headers::CPP_HEADERS.into_iter().chain(headers::LIBCU_C_HEADERS) {
                let text = format!(
                    "#pragma once\n#if __has_include(<cuda/std/{header}>)\n#include <cuda/std/{header}>\n#else\n#include <cuda/std/{name}>\n#endif\n\
                     namespace std {{ using namespace cuda::std; }}\n"
                );
                fs::write(include.join(name), text)?;
            }
            all.extend(headers::CPP_HEADERS.iter().map(|(name, _)| format!("#include <{name}>\n")));
        }
        all.push_str("#include <float.h>\n#include <limits.h>\n");
        fs::write(include.join(CPP_HEADER_NAME), all)?;
        fs::write(include.join(TORCH), format!("#pragma once\n#include <{CPP_HEADER_NAME}>\n{}", headers::TORCH_TYPES_HEADER))?;
        for (number, file) in self.files.iter().enumerate() {
            let line = format!("#line 1 {:?}\n", file.path.display().to_string());
            fs::write(folder.join(format!("{number}.h")), [line.into_bytes(), file.device_code()].concat())?;
        }
        let main = folder.join("main.cu");
        // NVCC includes headers with these types before every source.
        let first = "#include <stdint.h>\n#include <stddef.h>\n#include <math.h>\n#include <sys/types.h>\n";
        let first = if self.whole { format!("#include <{CPP_HEADER_NAME}>\n{first}") } else { first.to_owned() };
        let all: String = (0..self.named).map(|number| format!("#include \"{number}.h\"\n")).collect();
        fs::write(&main, first + &all)?;
        Ok(main)
    }

    /// Removes the declarations that NVRTC's messages name, unless these are device code; returns their number.
    pub fn remove_host_code(&mut self, log: &str) -> usize {
        let mut chosen: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut errors_of_host = 0;
        for (places, message) in errors(log) {
            for (path, line) in places {
                let Some(number) = self.files.iter().position(|file| file.path.display().to_string() == path) else { continue };
                if message.starts_with("#error") {
                    if self.files[number].remove_error_line(line) {
                        errors_of_host += 1;
                        self.refused.push((self.files[number].path.clone(), line, message.clone()));
                    }
                    break;
                }
                if let Some(item) = self.files[number].removable(line) {
                    if chosen.insert((number, item)) {
                        let file = &self.files[number];
                        let (at, name) = (line_of(&file.text, file.parsed.items[item].start), &file.parsed.items[item].name);
                        let name = if name.is_empty() { String::new() } else { format!("`{name}`: ") };
                        self.refused.push((file.path.clone(), at, format!("{name}{message}")));
                    }
                    break;
                }
            }
        }
        for &(file, item) in &chosen {
            self.files[file].removed[item] = true;
        }
        chosen.len() + errors_of_host
    }

    /// Returns the kernels of the sources that the user named, or of headers if these sources contain none.
    pub fn kernels(&self) -> Vec<&Kernel> {
        let of = |files: &'_ [SourceFile]| files.iter().flat_map(|file| 0..file.parsed.kernels.len()).count();
        let files = if of(&self.files[..self.named]) > 0 { &self.files[..self.named] } else { &self.files[..] };
        files.iter().flat_map(|file| &file.parsed.kernels).collect()
    }

    /// Returns kernels with template arguments that host code launches.
    pub fn launched(&self) -> Vec<&str> {
        self.files[..self.named].iter().flat_map(|file| file.parsed.launched.iter().map(String::as_str)).collect()
    }

    /// Returns notes on removed code: one line counts host functions and variables, and each other declaration that NVRTC rejected has a
    /// separate line.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let functions = self.files[..self.named].iter().flat_map(|file| file.parsed.items.iter().filter(|item| item.host)).count();
        let variables = self.refused.iter().filter(|(.., what)| is_unmarked(what)).count();
        let parts = [(functions, "function"), (variables, "variable")].into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" })).collect();
        if !parts.is_empty() {
            notes.push(format!("host code is left out: {}", parts.join(", ")));
        }
        let refused = self.refused.iter().filter(|(.., what)| !is_unmarked(what));
        notes.extend(refused.map(|(path, line, what)| format!("{}:{line}: left out as host code: {what}", path.display())));
        notes
    }

    /// Returns one line per missing header, with its package or a remedy; relevant if the sources do not compile.
    pub fn missing_headers(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut seen = BTreeSet::new();
        for (path, line, header) in &self.missing {
            if seen.insert(header) {
                let package = headers::package(header)
                    .or((!self.libcu && headers::CPP_HEADERS.iter().any(|(name, _)| name == header)).then_some("nvidia-cuda-cccl-cu12"));
                let what = package.map_or("name its folder with -I if device code needs it".to_owned(), |package| {
                    format!("it is in the Python package {package}")
                });
                notes.push(format!("{}:{line}: header {header} was not found and is left out; {what}", path.display()));
            }
        }
        notes
    }

    /// Returns the kernel that `entry` names, with or without template arguments; without `entry` the only kernel.
    ///
    /// # Errors
    /// The kernel does not exist or is ambiguous; the message lists the existing kernels.
    pub fn entry(&self, entry: Option<&str>) -> Result<(&Kernel, String), ProgramError> {
        let kernels = self.kernels();
        let file = &self.files[0].path;
        let names = || listed(kernels.iter().map(|kernel| kernel.name.as_str()));
        let bad = |what: &str| ProgramError::new(file, 0, what.to_owned());
        let Some(first) = kernels.first() else {
            return Err(bad("the source has no kernel")
                .expected("a function with __global__")
                .help("name the file that defines the kernel"));
        };
        let Some(entry) = entry else {
            let [only] = kernels.as_slice() else {
                return Err(bad("the source has several kernels").found(names()).help(format!("name one, such as --entry {}", first.name)));
            };
            return self.entry(Some(&only.name));
        };
        let bare = entry.split('<').next().unwrap_or(entry).trim();
        let short = bare.rsplit("::").next().unwrap_or(bare);
        let found = kernels
            .iter()
            .find(|kernel| kernel.name == bare)
            .or_else(|| kernels.iter().find(|kernel| kernel.name.rsplit("::").next() == Some(short)));
        let Some(kernel) = found else {
            return Err(bad(&format!("the source has no kernel `{bare}`")).expected(names()));
        };
        match (&kernel.template, entry.contains('<')) {
            (Some(template), false) => {
                let launched: Vec<&str> = self.launched().into_iter().filter(|name| name.split('<').next() == Some(short)).collect();
                let known = launched.first().map_or(format!("{}<..>", kernel.name), |name| format!("{name}, which the host code launches"));
                let example = format!("name an instance with --entry, such as {known}");
                Err(ProgramError::new(file, kernel.line, format!("kernel `{}` is a template", kernel.name))
                    .found(format!("template<{template}>"))
                    .help(example))
            }
            _ => Ok((kernel, format!("{}{}", kernel.name, &entry[entry.find('<').unwrap_or(entry.len())..]))),
        }
    }
}

impl SourceFile {
    /// Returns the text with removed code replaced by blanks. Preprocessor lines are kept, so that conditions remain complete.
    fn device_code(&self) -> Vec<u8> {
        let mut bytes = self.text.clone().into_bytes();
        let mut keep = vec![true; bytes.len()];
        for (item, _) in self.parsed.items.iter().zip(&self.removed).filter(|(_, removed)| **removed) {
            keep[item.start..item.end].fill(false);
        }
        for token in tokens::tokens(&self.text).iter().filter(|token| token.kind == TokenKind::Line) {
            keep[token.start..token.end].fill(true);
        }
        for (byte, keep) in bytes.iter_mut().zip(keep) {
            if !keep && !matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for &(start, end, included) in &self.includes {
            out.extend_from_slice(&bytes[at..start]);
            match included {
                IncludeTarget::File(number) => out.extend_from_slice(format!("#include \"{number}.h\"").as_bytes()),
                IncludeTarget::Cpp => out.extend_from_slice(format!("#include <{TORCH}>").as_bytes()),
                IncludeTarget::Nothing => {}
            }
            // Keeps the line ends of a continued line.
            out.extend(bytes[start..end].iter().filter(|&&byte| byte == b'\n'));
            at = end;
        }
        out.extend_from_slice(&bytes[at..]);
        out
    }

    /// Removes an `#error` line; returns false for any other line.
    fn remove_error_line(&mut self, line: u32) -> bool {
        let found =
            tokens::tokens(&self.text).into_iter().find(|token| token.kind == TokenKind::Line && line_of(&self.text, token.start) == line);
        let Some(token) = found.filter(|token| token.of(&self.text)[1..].trim_start().starts_with("error")) else { return false };
        if self.includes.iter().any(|(start, ..)| *start == token.start) {
            return false;
        }
        self.includes.push((token.start, token.end, IncludeTarget::Nothing));
        self.includes.sort_unstable_by_key(|(start, ..)| *start);
        true
    }

    /// Returns the smallest declaration at a line if it may be removed.
    fn removable(&self, line: u32) -> Option<usize> {
        let covers = |item: &Item| (line_of(&self.text, item.start)..=line_of(&self.text, item.end)).contains(&line);
        let all = self.parsed.items.iter().enumerate().filter(|(number, item)| !self.removed[*number] && covers(item));
        let (number, item) = all.min_by_key(|(_, item)| item.end - item.start)?;
        (!item.device || (item.both && item.form == DeclarationForm::Function)).then_some(number)
    }
}

/// Returns true if NVRTC treats a declaration as host code because it has no mark of device code.
fn is_unmarked(message: &str) -> bool {
    message.contains("A namespace scope variable without memory space") || message.contains("A function without execution space")
}

/// Returns the header that a line includes, and true if it is in quotes.
fn included(line: &str) -> Option<(&str, bool)> {
    let rest = line.strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (close, quoted) = if rest.starts_with('"') { ('"', true) } else { ('>', false) };
    rest.strip_prefix(['"', '<']).and_then(|rest| rest.split_once(close)).map(|(header, _)| (header.trim(), quoted))
}

/// Parses the errors in NVRTC's log: the locations that each error names, starting with its own, and its text.
fn errors(log: &str) -> Vec<(Vec<(String, u32)>, String)> {
    let mut all: Vec<(Vec<(String, u32)>, String)> = Vec::new();
    for line in log.lines() {
        let head =
            [" catastrophic error: ", " error: ", " error #"].iter().find_map(|word| line.split_once(word)).and_then(|(place, what)| {
                let (path, number) = place.strip_suffix(':')?.strip_suffix(')')?.rsplit_once('(')?;
                Some(((path.to_owned(), number.parse().ok()?), what.to_owned()))
            });
        match head {
            Some((place, what)) => all.push((vec![place], what)),
            None => {
                // NVRTC names the location of a template instantiation: `at line 12 of file`, or `at line 12` for the same file.
                let Some((_, rest)) = line.split_once(" at line ") else { continue };
                let Some((places, _)) = all.last_mut() else { continue };
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let path =
                    rest.split_once(" of ").map_or_else(|| places[0].0.clone(), |(_, path)| path.trim().trim_matches('"').to_owned());
                if let Ok(number) = digits.parse() {
                    places.push((path, number));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
