//! Source files as the checks read them: text, code without comments and literals, and every path into the crate.
//!
//! This is no parser of Rust: it knows comments, literals, braces of inline modules and `use` trees, which is what the
//! checks need, and it keeps line numbers.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file.
pub(crate) struct Source {
    /// Path from the repository's root, with forward slashes.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The same number of bytes and lines, comments and literals blanked.
    pub(crate) code: String,
}

/// A path that starts at the crate's root, however it was written.
pub(crate) struct CratePath {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Its segments: the room, then what is taken from it.
    pub(crate) segments: Vec<String>,
}

impl Source {
    /// A file of this path and text.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), code: blanked(text) }
    }

    /// All Rust files under `folder` of the repository, by path.
    pub(crate) fn all(folder: &str) -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        collect(&root.join(folder), &mut files);
        files.sort();
        let read = |file: &PathBuf| {
            let path = file.strip_prefix(root).expect("files lie under the root").to_string_lossy().replace('\\', "/");
            Self::new(&path, &fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}")))
        };
        files.iter().map(read).collect()
    }

    /// The room: the folder under `src`, or the file's stem directly under it.
    pub(crate) fn room(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or_default();
        inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// The line, from 1, of a byte of the text or code.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// Where `word` stands alone in the code: byte offsets.
    pub(crate) fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let in_word = |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b'_' || byte.is_ascii_alphanumeric());
        self.code.match_indices(word).map(|found| found.0).filter(move |&at| {
            let bytes = self.code.as_bytes();
            !in_word(at.checked_sub(1).and_then(|before| bytes.get(before))) && !in_word(bytes.get(at + word.len()))
        })
    }

    /// Every path into the crate, as seen from its root: `crate::a`, `warpshard::a`, and `super::a` of any depth.
    pub(crate) fn crate_paths(&self) -> Vec<CratePath> {
        let mut found = Vec::new();
        for root in ["crate", "warpshard"] {
            // `$crate` in a macro is the package that defines it.
            for at in self.words(root).filter(|&at| !self.code[..at].ends_with('$')) {
                self.expand(at + root.len(), &[], &mut found);
            }
        }
        for at in self.words("super") {
            if self.code[..at].trim_end().ends_with("::") {
                continue;
            }
            let mut end = at + "super".len();
            let mut up = 1;
            while let Some(rest) = self.code[end..].trim_start().strip_prefix("::").map(str::trim_start) {
                let Some(rest) = rest.strip_prefix("super") else { break };
                end = self.code.len() - rest.len();
                up += 1;
            }
            let module = self.module();
            if let Some(above) = self.depth_at(at).checked_sub(up).filter(|above| *above <= module.len()) {
                self.expand(end, &module[..above], &mut found);
            }
        }
        found
    }

    /// The modules from the crate's root to the file.
    pub(crate) fn module(&self) -> Vec<String> {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let parts = inside.split('/').filter(|part| !matches!(*part, "mod.rs" | "lib.rs" | "main.rs"));
        parts.map(|part| part.trim_end_matches(".rs").to_owned()).collect()
    }

    /// Modules between the crate's root and the byte `at`, the file's own and inline ones included.
    fn depth_at(&self, at: usize) -> usize {
        let files = self.module().len();
        let mut open: Vec<bool> = Vec::new();
        let mut statement = 0;
        for (i, byte) in self.code.bytes().enumerate().take(at) {
            match byte {
                b'{' => {
                    let head = self.code[statement..i].trim();
                    let last = head.rsplit(']').next().unwrap_or_default().trim();
                    open.push(last.split_whitespace().rev().nth(1) == Some("mod"));
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
        files + open.iter().filter(|&&module| module).count()
    }

    /// Reads what follows a path's segments: `::name`, `::{tree, tree}`, or the end.
    fn expand(&self, at: usize, before: &[String], found: &mut Vec<CratePath>) {
        let rest = &self.code[at..];
        let Some(tail) = rest.trim_start().strip_prefix("::") else {
            if !before.is_empty() {
                found.push(CratePath { line: self.line_of(at), segments: before.to_vec() });
            }
            return;
        };
        let tail = tail.trim_start();
        let at = self.code.len() - tail.len();
        if tail.starts_with('{') {
            for branch in branches(tail) {
                self.expand_name(at + branch, before, found);
            }
        } else {
            self.expand_name(at, before, found);
        }
    }

    fn expand_name(&self, at: usize, before: &[String], found: &mut Vec<CratePath>) {
        let name: String = self.code[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            found.push(CratePath { line: self.line_of(at), segments: [before, &["*".to_owned()]].concat() });
        } else {
            let segments = [before, std::slice::from_ref(&name)].concat();
            self.expand(at + name.len(), &segments, found);
        }
    }
}

/// Offsets of the branches of `{a, b::{c, d}}` at its own level.
fn branches(group: &str) -> Vec<usize> {
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

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The text with comments and the insides of literals replaced by spaces, lines kept.
fn blanked(text: &str) -> String {
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
            block_comment(rest)
        } else if let Some(raw) = raw_string(bytes, at) {
            raw
        } else if bytes[at] == b'"' {
            quoted(rest)
        } else if bytes[at] == b'\'' {
            char_literal(rest)
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

fn block_comment(rest: &str) -> usize {
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

fn raw_string(bytes: &[u8], at: usize) -> Option<usize> {
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

fn quoted(rest: &str) -> usize {
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

/// The length of a character literal, 0 for a lifetime.
fn char_literal(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => chars.find(|found| found.1 == '\'').map_or(0, |found| found.0 + 1),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 0,
    }
}
