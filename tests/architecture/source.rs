//! Source files as the checks read them: text, code without comments and literals, and every path in the code.
//!
//! This is not a Rust parser. It recognises comments, literals, braces of inline modules, test-only items and `use` trees, which suffices
//! for the checks, and it keeps line numbers.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Folders of the repository that contain packages or are a package. A folder may be missing.
const PACKAGE_FOLDERS: [&str; 7] = ["configs", "crates", "papers", "programs", "src", "sync", "validate"];

/// A source file.
#[derive(Clone)]
pub(crate) struct Source {
    /// Path from the repository's root, with forward slashes.
    pub(crate) path: String,
    /// Unmodified text of the file.
    pub(crate) text: String,
    /// Text with comments and literals blanked; bytes and lines keep their positions.
    pub(crate) code: String,
    /// Byte ranges of test-only code.
    tests: Vec<Range<usize>>,
}

/// A path in the code, or a leaf of a `use` tree.
pub(crate) struct CodePath {
    /// Byte offset of the end of the last segment.
    pub(crate) at: usize,
    /// Segments as written; `*` for a glob import.
    pub(crate) segments: Vec<String>,
    /// Local name of a `use` leaf, possibly an alias.
    pub(crate) local_name: Option<String>,
    /// `true` if the import is visible to other modules (`pub use`).
    pub(crate) exported: bool,
}

impl Source {
    /// Creates a source file from its path and text.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = blank_comments_and_literals(text);
        let tests = items_for_tests(&code);
        Self { path: path.to_owned(), text: text.to_owned(), code, tests }
    }

    /// Reads all Rust files under `folder` of the repository, sorted by path.
    pub(crate) fn read_folder(folder: &str) -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        collect_files(&root.join(folder), &mut files);
        files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
        files.sort();
        let read = |file: &PathBuf| {
            let path = relative_path(file);
            Self::new(&path, &fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}")))
        };
        files.iter().map(read).collect()
    }

    /// Returns the sources of all packages, without their tests, benches and build scripts.
    pub(crate) fn package_sources() -> Vec<Self> {
        // The sources are read once, because most tests look at all of them.
        static PACKAGE_SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
            PACKAGE_FOLDERS
                .iter()
                .flat_map(|folder| Source::read_folder(folder))
                .filter(|source| source.package_and_path().is_some())
                .collect()
        });
        PACKAGE_SOURCES.clone()
    }

    /// Returns all Rust files of the repository.
    pub(crate) fn repository_sources() -> Vec<Self> {
        PACKAGE_FOLDERS.iter().chain(&["benches", "examples", "tests"]).flat_map(|folder| Self::read_folder(folder)).collect()
    }

    /// Returns the package, as paths name it without `warpshard_`, and the path below its `src`.
    fn package_and_path(&self) -> Option<(String, &str)> {
        if let Some(inside) = self.path.strip_prefix("src/") {
            return Some(("main".to_owned(), inside));
        }
        let (package, inside) = self.path.strip_prefix("crates/").unwrap_or(&self.path).split_once("/src/")?;
        (!package.contains('/')).then(|| (package.replace('-', "_"), inside))
    }

    /// Returns the package: `mem` for `crates/mem`, `main` for the program itself, empty for files outside of packages.
    pub(crate) fn package(&self) -> String {
        self.package_and_path().map(|place| place.0).unwrap_or_default()
    }

    /// Returns the package and the modules from its root to the file.
    pub(crate) fn module(&self) -> Vec<String> {
        let (package, inside) = self.package_and_path().unwrap_or_default();
        // `main.rs` is a separate root, which names the library as other packages do.
        let parts = inside.split('/').filter(|part| !matches!(*part, "mod.rs" | "lib.rs"));
        [package].into_iter().chain(parts.map(|part| part.trim_end_matches(".rs").to_owned())).collect()
    }

    /// Returns the package and the folders from its root to the file.
    pub(crate) fn folder(&self) -> Vec<String> {
        let (package, inside) = self.package_and_path().unwrap_or_default();
        let folders = inside.rsplit_once('/').map_or("", |(folders, _)| folders);
        [package.as_str()].into_iter().chain(folders.split('/').filter(|folder| !folder.is_empty())).map(str::to_owned).collect()
    }

    /// Returns the line number, from 1, of a byte offset.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// Returns `true` if the file contains only tests.
    pub(crate) fn is_test_file(&self) -> bool {
        self.module().iter().any(|name| name == "tests" || name.ends_with("_tests"))
    }

    /// Returns `true` if the byte `at` belongs to test-only code.
    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|part| part.contains(&at))
    }

    /// Iterates over the test-only modules that the file declares.
    pub(crate) fn test_modules(&self) -> impl Iterator<Item = &str> {
        let declared = |part: &Range<usize>| self.code[part.clone()].trim_end().strip_suffix(';').and_then(|item| item.rsplit_once("mod "));
        self.tests.iter().filter_map(declared).map(|(_, name)| name.trim())
    }

    /// Iterates over the byte offsets of whole-word occurrences of `word` in the code.
    pub(crate) fn word_offsets<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let in_word = |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b'_' || byte.is_ascii_alphanumeric());
        self.code.match_indices(word).map(|found| found.0).filter(move |&at| {
            let bytes = self.code.as_bytes();
            !in_word(at.checked_sub(1).and_then(|before| bytes.get(before))) && !in_word(bytes.get(at + word.len()))
        })
    }

    /// Returns every path of two segments or more, and every leaf of a `use`.
    pub(crate) fn paths(&self) -> Vec<CodePath> {
        let mut found = Vec::new();
        let mut statements = Vec::new();
        for at in self.word_offsets("use") {
            let before = self.code[..at].trim_end();
            let end = at + self.code[at..].find(';').unwrap_or(self.code.len() - at);
            // `use<'a>` in a return type captures lifetimes and imports nothing.
            if self.code[at + 3..].trim_start().starts_with('<') {
                continue;
            }
            let visible =
                before.ends_with("pub") || before.ends_with(')') && before.rsplit_once('(').is_some_and(|(head, _)| head.ends_with("pub"));
            statements.push(at..end);
            self.read_use_tree(at + 3, &[], visible, &mut found);
        }
        for (at, _) in self.code.match_indices("::") {
            let (first, rest) = (self.code[..at].trim_end(), self.code[at + 2..].trim_start());
            let name = last_name(first);
            let begins = first.len() - name.len();
            let before = first[..begins].trim_end();
            // `$crate` in a macro is the package that defines it; `pub(in path)` limits visibility and imports nothing.
            let inside = before.ends_with("::") || before.ends_with(['.', '$']) || before.ends_with("pub(in");
            if name.is_empty() || inside || statements.iter().any(|statement| statement.contains(&at)) {
                continue;
            }
            let (mut segments, mut at) = (vec![name.to_owned()], self.code.len() - rest.len());
            loop {
                let name = first_name(&self.code[at..]);
                if name.is_empty() {
                    break;
                }
                segments.push(name.to_owned());
                at += name.len();
                let Some(rest) = self.code[at..].trim_start().strip_prefix("::") else { break };
                at = self.code.len() - rest.trim_start().len();
            }
            found.push(CodePath { at, segments, local_name: None, exported: false });
        }
        found
    }

    /// Resolves a path of two segments or more that starts at `crate`, `self`, `super` or a package to one that begins with its package.
    pub(crate) fn absolute_path(&self, path: &CodePath) -> Option<Vec<String>> {
        let up = path.segments.iter().take_while(|segment| *segment == "super").count();
        let here = || [self.module(), self.inline_modules(path.at)].concat();
        let (base, rest) = match path.segments[0].as_str() {
            "crate" => (vec![self.package()], 1),
            "warpshard" => (vec!["main".to_owned()], 1),
            "self" => (here(), 1),
            "super" => {
                let mut base = here();
                base.truncate(base.len().checked_sub(up).filter(|left| *left > 0)?);
                (base, up)
            }
            package => (vec![package.strip_prefix("warpshard_")?.to_owned()], 1),
        };
        Some([base.as_slice(), &path.segments[rest..]].concat())
    }

    /// Returns the names of the inline modules around the byte `at`.
    fn inline_modules(&self, at: usize) -> Vec<String> {
        let mut open: Vec<Option<String>> = Vec::new();
        let mut statement = 0;
        for (i, byte) in self.code.bytes().enumerate().take(at) {
            match byte {
                b'{' => {
                    let head = self.code[statement..i].trim();
                    let mut words = head.rsplit(']').next().unwrap_or_default().split_whitespace().rev();
                    let name = words.next();
                    open.push(name.filter(|_| words.next() == Some("mod")).map(str::to_owned));
                    statement = i + 1;
                }
                b'}' => {
                    open.pop();
                    statement = i + 1;
                }
                b';' => statement = i + 1,
                _ => {}
            }
        }
        open.into_iter().flatten().collect()
    }

    /// Reads a `use` tree at `at` whose leaves begin with the segments `before`.
    fn read_use_tree(&self, at: usize, before: &[String], exported: bool, found: &mut Vec<CodePath>) {
        let rest = self.code[at..].trim_start();
        let at = self.code.len() - rest.len();
        if rest.starts_with('{') {
            for branch in branch_offsets(rest) {
                self.read_use_tree(at + branch, before, exported, found);
            }
            return;
        }
        if let Some(rest) = rest.strip_prefix("::") {
            return self.read_use_tree(self.code.len() - rest.len(), before, exported, found);
        }
        let name = if rest.starts_with('*') { "*" } else { first_name(rest) };
        let end = at + name.len();
        let after = self.code[end..].trim_start();
        let segments = [before, &[name.to_owned()]].concat();
        if let Some(rest) = after.strip_prefix("::") {
            return self.read_use_tree(self.code.len() - rest.len(), &segments, exported, found);
        }
        let segments = if name == "self" && !before.is_empty() { before.to_vec() } else { segments };
        let alias = after.strip_prefix("as ").map(|rest| first_name(rest.trim_start()));
        let local_name = alias.unwrap_or_else(|| segments.last().map_or("", String::as_str)).to_owned();
        if !name.is_empty() {
            found.push(CodePath { at: end, segments, local_name: Some(local_name), exported });
        }
    }
}

/// Returns the path of a file relative to the repository's root, with forward slashes.
pub(crate) fn relative_path(file: &Path) -> String {
    file.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("files lie under the root").to_string_lossy().replace('\\', "/")
}

/// Returns the identifier at the beginning of `text`.
fn first_name(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// Returns the identifier at the end of `text`.
fn last_name(text: &str) -> &str {
    text.rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(text, |at| &text[at + text[at..].chars().next().map_or(1, char::len_utf8)..])
}

/// Returns the byte ranges of items that follow `#[cfg(test)]`, each up to its semicolon or closing brace.
fn items_for_tests(code: &str) -> Vec<Range<usize>> {
    let item = |(at, mark): (usize, &str)| {
        let mut depth = 0;
        for (i, byte) in code.bytes().enumerate().skip(at + mark.len()) {
            match byte {
                b'{' | b'(' | b'[' => depth += 1,
                b'}' | b')' | b']' => depth -= 1,
                _ => {}
            }
            if depth < 0 || depth == 0 && matches!(byte, b';' | b'}') {
                return at..i + 1;
            }
        }
        at..code.len()
    };
    code.match_indices("#[cfg(test)]").map(item).collect()
}

/// Returns the offsets of the top-level branches of a group such as `{a, b::{c, d}}`.
fn branch_offsets(group: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let (mut depth, mut expecting) = (0, false);
    for (i, c) in group.char_indices() {
        match c {
            '{' => {
                depth += 1;
                expecting = depth == 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            ',' if depth == 1 => expecting = true,
            c if expecting && !c.is_whitespace() => {
                starts.push(i);
                expecting = false;
            }
            _ => {}
        }
    }
    starts
}

/// Collects all files under `folder`.
pub(crate) fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Replaces comments and the contents of literals by spaces; keeps line breaks.
fn blank_comments_and_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut blank = |from: usize, until: usize| {
        for byte in &mut out[from..until.min(bytes.len())] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_length(rest)
        } else if let Some(raw) = raw_string_length(bytes, at) {
            raw
        } else if bytes[at] == b'"' {
            quoted_length(rest)
        } else if bytes[at] == b'\'' {
            char_literal_length(rest)
        } else {
            0
        };
        blank(at, at + skip);
        at += skip.max(1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    String::from_utf8(out).expect("whole characters were replaced by spaces")
}

fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let step = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

fn raw_string_length(bytes: &[u8], at: usize) -> Option<usize> {
    let starts =
        bytes[at] == b'r' && (at == 0 || !(bytes[at - 1] == b'_' || bytes[at - 1].is_ascii_alphanumeric()) || bytes[at - 1] == b'b');
    let hashes = bytes[at..].iter().skip(1).take_while(|&&byte| byte == b'#').count();
    if !starts || bytes.get(at + 1 + hashes) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let body = at + 2 + hashes;
    let end = bytes[body..].windows(close.len()).position(|window| window == close)?;
    Some(body + end + close.len() - at)
}

fn quoted_length(rest: &str) -> usize {
    let mut escaped = false;
    for (i, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return i + 1,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// Returns the length of a character literal; 0 for a lifetime.
fn char_literal_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => chars.find(|found| found.1 == '\'').map_or(0, |found| found.0 + 1),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 0,
    }
}
