//! Mnemonics split into opcode name and modifiers, and the meanings of modifiers.

use super::kinds::{Compare, Float, Halves, Logic, Number, Round};

/// A mnemonic split into opcode name and modifiers.
#[derive(Clone, Copy, Debug)]
pub(super) struct MnemonicParts<'a> {
    /// The whole mnemonic.
    mnemonic: &'a str,
}

impl<'a> MnemonicParts<'a> {
    pub(super) fn new(mnemonic: &'a str) -> Self {
        Self { mnemonic }
    }

    pub(super) fn name(self) -> &'a str {
        self.mnemonic.split('.').next().unwrap_or_default()
    }

    pub(super) fn modifiers(self) -> impl Iterator<Item = &'a str> {
        self.mnemonic.split('.').skip(1)
    }

    pub(super) fn has(self, modifier: &str) -> bool {
        self.modifiers().any(|part| part == modifier)
    }

    /// Returns the result of `read` for the first modifier that it accepts.
    pub(super) fn find<T>(self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.modifiers().find_map(read)
    }

    /// Returns the first modifier that `known` does not contain.
    pub(super) fn unknown(self, known: &[&[&str]]) -> Option<&'a str> {
        self.modifiers().find(|part| !known.iter().any(|group| group.contains(part)))
    }

    pub(super) fn round(self) -> Round {
        let read = |part: &str| match part {
            "RN" => Some(Round::Near),
            "RZ" | "TRUNC" => Some(Round::Zero),
            "RM" | "FLOOR" => Some(Round::Down),
            "RP" | "CEIL" => Some(Round::Up),
            _ => None,
        };
        self.find(read).unwrap_or_default()
    }

    pub(super) fn float(self) -> Float {
        Float { flush: self.has("FTZ"), saturate: self.has("SAT"), round: self.round() }
    }

    pub(super) fn halves(self) -> Halves {
        Halves { bfloat: self.has("BF16_V2"), saturate: self.has("SAT"), rectify: self.has("RELU") }
    }

    pub(super) fn compare(self) -> Option<Compare> {
        let read = |part: &str| {
            let (ordered, unordered) = match part.strip_suffix('U') {
                Some(rest) if !rest.is_empty() => (rest, Compare::UNORDERED_BIT),
                _ => (part, 0),
            };
            Some(match ordered {
                "F" => 0,
                "LT" => Compare::LESS_BIT | unordered,
                "EQ" => Compare::EQUAL_BIT | unordered,
                "LE" => Compare::LESS_BIT | Compare::EQUAL_BIT | unordered,
                "GT" => Compare::GREATER_BIT | unordered,
                "NE" => Compare::LESS_BIT | Compare::GREATER_BIT | unordered,
                "GE" => Compare::GREATER_BIT | Compare::EQUAL_BIT | unordered,
                "NUM" => Compare::LESS_BIT | Compare::EQUAL_BIT | Compare::GREATER_BIT,
                "NAN" => Compare::UNORDERED_BIT,
                "T" => 15,
                _ => return None,
            })
        };
        self.find(read).map(Compare)
    }

    pub(super) fn logic(self) -> Option<Logic> {
        self.find(|part| match part {
            "AND" => Some(Logic::And),
            "OR" => Some(Logic::Or),
            "XOR" => Some(Logic::Xor),
            _ => None,
        })
    }

    pub(super) fn floats(self) -> impl Iterator<Item = Number> + 'a {
        self.modifiers().filter_map(|part| match part {
            "F16" => Some(Number::Float(2)),
            "F32" => Some(Number::Float(4)),
            "F64" => Some(Number::Float(8)),
            "BF16" => Some(Number::Bfloat),
            _ => None,
        })
    }

    pub(super) fn integer(self) -> Option<Number> {
        self.find(|part| {
            let signed = part.starts_with('S');
            let bytes = match part.get(1..)? {
                "8" => 1,
                "16" => 2,
                "32" => 4,
                "64" => 8,
                _ => return None,
            };
            (signed || part.starts_with('U')).then_some(Number::Integer(bytes, signed))
        })
    }

    /// Returns the number format per lane and the number of registers of an access.
    pub(super) fn access(self) -> (Number, u8) {
        let read = |part: &str| {
            Some(match part {
                "U8" => (Number::Integer(1, false), 1),
                "S8" => (Number::Integer(1, true), 1),
                "U16" => (Number::Integer(2, false), 1),
                "S16" => (Number::Integer(2, true), 1),
                "64" => (Number::Integer(4, false), 2),
                "128" => (Number::Integer(4, false), 4),
                _ => return None,
            })
        };
        self.find(read).unwrap_or((Number::Integer(4, false), 1))
    }
}
