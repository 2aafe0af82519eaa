//! Tokenizer for CUDA C++: it separates comments, strings, preprocessor lines and brackets as a compiler does.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An identifier or a keyword.
    Name,
    /// A number.
    Number,
    /// A string or a character, with its quotes.
    Text,
    /// A character of punctuation; `::` is one token.
    Mark,
    /// A preprocessor line with its continuation lines.
    Line,
}

/// A token with its byte range in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Kind of the token.
    pub(super) kind: TokenKind,
    /// Offset of the first byte.
    pub(super) start: usize,
    /// Offset after the last byte.
    pub(super) end: usize,
}

impl Token {
    /// Returns the token's text.
    pub(super) fn of<'a>(&self, source: &'a str) -> &'a str {
        &source[self.start..self.end]
    }
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}

/// Returns the tokens of a source. An unclosed comment or string extends to the end of the text, and NVRTC reports it.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let (mut all, mut at, mut fresh) = (Vec::new(), 0, true);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' => {
                (at, fresh) = (at + 1, true);
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at = comment_end(bytes, at);
                continue;
            }
            b'\\' if line_end(bytes, at + 1).is_some() => {
                at = line_end(bytes, at + 1).unwrap_or(at + 1);
                continue;
            }
            b'#' if fresh => {
                at = directive_end(bytes, at);
                TokenKind::Line
            }
            b'"' | b'\'' => {
                at = quoted_end(bytes, at);
                TokenKind::Text
            }
            byte if byte.is_ascii_digit() || (byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) => {
                at = number_end(bytes, at);
                TokenKind::Number
            }
            byte if starts_name(byte) => {
                while at < bytes.len() && continues_name(bytes[at]) {
                    at += 1;
                }
                match (&source[start..at], bytes.get(at)) {
                    ("R" | "LR" | "uR" | "UR" | "u8R", Some(b'"')) => {
                        at = raw_string_end(source, at);
                        TokenKind::Text
                    }
                    ("L" | "u" | "U" | "u8", Some(b'"' | b'\'')) => {
                        at = quoted_end(bytes, at);
                        TokenKind::Text
                    }
                    _ => TokenKind::Name,
                }
            }
            b':' if bytes.get(at + 1) == Some(&b':') => {
                at += 2;
                TokenKind::Mark
            }
            _ => {
                at += 1;
                TokenKind::Mark
            }
        };
        fresh = false;
        all.push(Token { kind, start, end: at });
    }
    all
}

/// Returns the offset after a line end at `at`, if there is one.
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\n'), _) => Some(at + 1),
        (Some(b'\r'), Some(b'\n')) => Some(at + 2),
        _ => None,
    }
}

/// Returns the offset after a comment.
fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    if bytes[at + 1] == b'/' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at = if bytes[at] == b'\\' { line_end(bytes, at + 1).unwrap_or(at + 1) } else { at + 1 };
        }
        return at;
    }
    at += 2;
    while at < bytes.len() && !bytes[at..].starts_with(b"*/") {
        at += 1;
    }
    (at + 2).min(bytes.len())
}

/// Returns the offset of the line end of a preprocessor line.
fn directive_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at = match bytes[at] {
            b'\\' => line_end(bytes, at + 1).unwrap_or(at + 1),
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => comment_end(bytes, at),
            _ => at + 1,
        };
    }
    at
}

/// Returns the offset after a string or character; both end at the end of a line.
fn quoted_end(bytes: &[u8], mut at: usize) -> usize {
    let quote = bytes[at];
    at += 1;
    while at < bytes.len() && bytes[at] != b'\n' {
        match bytes[at] {
            b'\\' => at = line_end(bytes, at + 1).unwrap_or(at + 2),
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// Returns the offset after a raw string whose quote is at `at`.
fn raw_string_end(source: &str, at: usize) -> usize {
    let Some(open) = source[at..].find('(') else { return source.len() };
    let close = format!("){}\"", &source[at + 1..at + open]);
    source[at + open..].find(&close).map_or(source.len(), |found| at + open + found + close.len())
}

/// Returns the offset after a number, which may contain digit separators and signed exponents.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        at += match bytes[at] {
            b'e' | b'E' | b'p' | b'P' if matches!(bytes.get(at + 1), Some(b'+' | b'-')) => 2,
            b'\'' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) => 2,
            b'.' => 1,
            byte if continues_name(byte) => 1,
            _ => break,
        };
    }
    at
}
