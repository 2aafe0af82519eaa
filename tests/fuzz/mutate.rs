//! Mutations of inputs, of bytes and of structure: numbers, words, lines.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Largest size of an input, in bytes.
const MAX_INPUT_BYTES: usize = 1 << 17;

/// Numbers at the limits of field widths, and other numbers that parsers often get wrong.
const NUMBER_TOKENS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "31",
    "32",
    "33",
    "64",
    "65",
    "255",
    "256",
    "1000",
    "65535",
    "65536",
    "65537",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
];
/// Byte strings with a meaning in one of the formats.
const TEXT_PIECES: [&[u8]; 30] = [
    b"\n",
    b"\0",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\r\n",
    b" ",
    b"\t",
    b"=",
    b"\"",
    b"'",
    b"#",
    b"[",
    b"]",
    b"[[",
    b"{",
    b"}",
    b",",
    b"(",
    b")",
    b".",
    b"-",
    b"*",
    b"/",
    b"%",
    b"**",
    b"0x",
    b"1e308",
    b"nan",
    b"inf",
    "\u{202e}".as_bytes(),
];

/// Source of mutations, determined by a seed.
pub(crate) struct Mutator {
    random: TestRng,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self { random: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes) }
    }

    fn random_below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound.max(1) as u64) as usize
    }

    /// Returns one of `seeds` with one to eight mutations; `words` are keywords of the parser.
    pub(crate) fn mutate(&mut self, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let first = self.random_below(seeds.len());
        let mut input = seeds[first].clone();
        for _ in 0..1 + self.random_below(8) {
            let other = self.random_below(seeds.len());
            self.mutate_once(&mut input, &seeds[other], words);
        }
        input.truncate(MAX_INPUT_BYTES);
        input
    }

    fn mutate_once(&mut self, input: &mut Vec<u8>, other: &[u8], words: &[&str]) {
        let at = self.random_below(input.len() + 1);
        match self.random_below(12) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << (self.random.next_u64() % 8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.random.next_u64() as u8;
                }
            }
            2 => {
                let end = (at + 1 + self.random_below(64)).min(input.len());
                input.drain(at.min(end)..end);
            }
            3 => input.truncate(at),
            4 => {
                let piece = TEXT_PIECES[self.random_below(TEXT_PIECES.len())];
                input.splice(at..at, piece.iter().copied());
            }
            5 | 6 => {
                let number = NUMBER_TOKENS[self.random_below(NUMBER_TOKENS.len())];
                self.replace_token(input, |byte| byte.is_ascii_digit(), number.as_bytes());
            }
            7 | 8 if !words.is_empty() => {
                let word = words[self.random_below(words.len())];
                self.replace_token(input, |byte| byte.is_ascii_alphanumeric() || byte == b'_', word.as_bytes());
            }
            9 => {
                // Repeats a line one or more times.
                let line = self.random_line(input);
                let copy = input[line.clone()].to_vec();
                for _ in 0..1 + self.random_below(3) * self.random_below(40) {
                    input.splice(line.start..line.start, copy.iter().copied());
                }
            }
            10 => {
                let line = self.random_line(input);
                input.drain(line);
            }
            _ => {
                // Inserts a piece of another seed.
                let from = self.random_below(other.len() + 1);
                let to = (from + self.random_below(256)).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
        }
        input.truncate(MAX_INPUT_BYTES);
    }

    /// Returns the range of a random line, including its line break.
    fn random_line(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let at = self.random_below(input.len() + 1);
        let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let end = input[at..].iter().position(|&byte| byte == b'\n').map_or(input.len(), |end| at + end + 1);
        start..end
    }

    /// Replaces the first token after a random position.
    fn replace_token(&mut self, input: &mut Vec<u8>, belongs: impl Fn(u8) -> bool, new: &[u8]) {
        let at = self.random_below(input.len() + 1);
        let Some(start) = input[at..].iter().position(|&byte| belongs(byte)).map(|start| at + start) else { return };
        let end = input[start..].iter().position(|&byte| !belongs(byte)).map_or(input.len(), |end| start + end);
        input.splice(start..end, new.iter().copied());
    }
}
