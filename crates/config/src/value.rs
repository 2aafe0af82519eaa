//! Conversion of raw values to typed values: the kinds of value that keys take, and the reading and writing of each kind.

use std::ops::RangeInclusive;

use warpshard_base::Frequency;

pub use super::choices::Choice;
use super::layout::AddressLayout;
use super::mesh_nodes::{self, Seat};
use super::quantity::{self, Bytes, QuantityError};
use super::system::{self, Wire};

/// A raw value, before its key is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawValue {
    /// A string, without its quotes.
    Text(String),
    /// A number as written.
    Number(String),
    /// `true` or `false`.
    Flag(bool),
    /// An array.
    List(Vec<RawValue>),
    /// A value of a type that no key takes: "a table", "a date".
    Other(&'static str),
}

/// The kind of value that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Any string.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number in the given range.
    Count(u64, u64),
    /// A duration in cycles of the named clock, in the given range.
    Cycles(&'static str, u64, u64),
    /// A size in bytes, in the given range.
    Bytes(u64, u64),
    /// A list of sizes.
    Sizes,
    /// A list of whole numbers.
    Numbers,
    /// A clock frequency.
    Frequency,
    /// A voltage.
    Voltage,
    /// A percentage.
    Percent,
    /// One of the given words.
    Choice(&'static [Choice]),
    /// An address layout.
    Layout,
    /// The nodes at each router of a mesh.
    Nodes,
    /// Links between the nodes of a system.
    Wires,
}

/// A typed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A flag.
    Flag(bool),
    /// A count, or a number of cycles, bytes, kilohertz, millivolts or percent, by the key's kind.
    Number(u64),
    /// A list of sizes in bytes.
    Sizes(Vec<u64>),
    /// A list of whole numbers.
    Numbers(Vec<u64>),
    /// The index of the choice.
    Choice(usize),
    /// An address layout.
    Layout(AddressLayout),
    /// The nodes at each router of a mesh.
    Nodes(Vec<Vec<Seat>>),
    /// Links between the nodes of a system.
    Wires(Vec<Wire>),
}

impl Value {
    /// Returns `true` if keys that depend on this value are read: for a true flag, a number above 0, or any choice but the first.
    pub fn is_set(&self) -> bool {
        match self {
            Self::Flag(flag) => *flag,
            Self::Number(number) => *number > 0,
            Self::Choice(choice) => *choice > 0,
            Self::Text(_) | Self::Sizes(_) | Self::Numbers(_) | Self::Layout(_) | Self::Nodes(_) | Self::Wires(_) => true,
        }
    }
}

/// The error for a value that does not fit its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The expected form, with an example.
    pub expected: String,
    /// A suggested correction.
    pub hint: Option<String>,
}

/// Range of clock frequencies in kilohertz. In this range the period of one clock is at most a thousand periods of another, and 64 bits of
/// base ticks last for more than 10^10 cycles.
const FREQUENCY_RANGE_KHZ: RangeInclusive<u64> = 10_000..=10_000_000;
/// The largest size in a list, in bytes.
const MAX_LISTED_BYTES: u64 = 1 << 24;

impl ValueKind {
    /// Returns a description of the expected form, for messages and the key reference.
    pub fn describe(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count(low, u64::MAX) => format!("a whole number, at least {low}"),
            Self::Count(low, high) => format!("a whole number from {low} to {high}"),
            Self::Cycles(clock, low, high) => format!("cycles of the {clock} clock, from {low} to {high}"),
            Self::Bytes(low, high) => format!("a size from {} to {}", Bytes(low), Bytes(high)),
            Self::Sizes => format!("a list of sizes up to {}, such as [\"0 B\", \"64 KiB\"]", Bytes(MAX_LISTED_BYTES)),
            Self::Numbers => "a list of whole numbers, such as [0, 2, 1]".to_owned(),
            Self::Frequency => {
                format!("a frequency from {} to {}, such as \"1132 MHz\"", Frequency(*FREQUENCY_RANGE_KHZ.start()), Frequency(*FREQUENCY_RANGE_KHZ.end()))
            }
            Self::Voltage => "a voltage, such as \"900 mV\"".to_owned(),
            Self::Percent => "a percentage, such as \"25 %\"".to_owned(),
            Self::Choice(choices) => format!("one of {}", names(choices)),
            Self::Layout => "an address layout, such as \"RRRR.RBBBCCCB.CCCSSSSS\"".to_owned(),
            Self::Nodes => "a string per router, such as [\"gpu0 gpu1\", \"cpu0\", \"mem0\", \"-\"] or, with cores distributed evenly, [\"gpu\", \"cpu\", \"mem\", \"-\"]".to_owned(),
            Self::Wires => "a list of links, such as [\"gpu0-gpu1 x2\", \"gpu1-switch0\"]; the nodes are gpuN, switchN and hostN".to_owned(),
        }
    }

    /// Converts a raw value.
    pub fn read(self, raw: &RawValue) -> Result<Value, Mismatch> {
        let fail = |hint| Err(Mismatch { expected: self.describe(), hint });
        match (self, raw) {
            (Self::Text, RawValue::Text(text)) => Ok(Value::Text(text.clone())),
            (Self::Flag, RawValue::Flag(flag)) => Ok(Value::Flag(*flag)),
            (Self::Flag, RawValue::Text(text)) => fail(unquoted(text, &["true", "false"])),
            (Self::Count(low, high), RawValue::Number(text)) => match parse_whole(text) {
                Some(number) if (low..=high).contains(&number) => Ok(Value::Number(number)),
                _ => fail(None),
            },
            (Self::Count(..), RawValue::Text(text)) => fail(parse_whole(text).map(|n| format!("write {n} without quotes"))),
            (Self::Cycles(_, low, high), RawValue::Number(text) | RawValue::Text(text)) => match quantity::parse_cycles(text) {
                Ok(cycles) if (low..=high).contains(&cycles) => Ok(Value::Number(cycles)),
                Ok(_) => fail(None),
                Err(error) => fail(error.hint),
            },
            (Self::Bytes(low, high), RawValue::Number(text) | RawValue::Text(text)) => match Bytes::parse(text) {
                Ok(bytes) if (low..=high).contains(&bytes.0) => Ok(Value::Number(bytes.0)),
                Ok(_) => fail(None),
                Err(error) => Err(error.into()),
            },
            (Self::Sizes, RawValue::List(list)) => list.iter().map(size_in_list).collect::<Result<_, _>>().map(Value::Sizes),
            (Self::Numbers, RawValue::List(list)) => {
                let number = |raw: &RawValue| if let RawValue::Number(text) = raw { parse_whole(text) } else { None };
                list.iter().map(number).collect::<Option<_>>().map_or_else(|| fail(None), |numbers| Ok(Value::Numbers(numbers)))
            }
            (Self::Frequency, RawValue::Number(text) | RawValue::Text(text)) => match quantity::parse_frequency(text)?.0 {
                khz if FREQUENCY_RANGE_KHZ.contains(&khz) => Ok(Value::Number(khz)),
                _ => fail(None),
            },
            (Self::Voltage, RawValue::Number(text) | RawValue::Text(text)) => Ok(Value::Number(quantity::parse_voltage(text)?)),
            (Self::Percent, RawValue::Number(text) | RawValue::Text(text)) => Ok(Value::Number(quantity::parse_percent(text)?)),
            (Self::Choice(choices), RawValue::Text(text)) => match choices.iter().position(|choice| choice.name == text) {
                Some(position) => Ok(Value::Choice(position)),
                None => fail(super::nearest::nearest(text, choices.iter().map(|c| c.name)).map(|name| format!("did you mean \"{name}\"?"))),
            },
            // A word may look like a number, such as a compute capability.
            (Self::Choice(choices), RawValue::Number(text)) => match choices.iter().position(|choice| choice.name == text) {
                Some(position) => Ok(Value::Choice(position)),
                None => fail(None),
            },
            (Self::Nodes, RawValue::List(list)) => {
                let router = |raw: &RawValue| if let RawValue::Text(text) = raw { mesh_nodes::read(text) } else { None };
                list.iter().map(router).collect::<Option<_>>().map_or_else(|| fail(None), |nodes| Ok(Value::Nodes(nodes)))
            }
            (Self::Wires, RawValue::List(list)) => {
                let wire = |raw: &RawValue| if let RawValue::Text(text) = raw { system::read(text) } else { None };
                list.iter().map(wire).collect::<Option<_>>().map_or_else(|| fail(None), |wires| Ok(Value::Wires(wires)))
            }
            (Self::Layout, RawValue::Text(text)) => Ok(Value::Layout(AddressLayout::parse(text)?)),
            _ => fail(None),
        }
    }

    /// Writes a value as TOML that [`ValueKind::read`] reads back.
    pub fn write(self, value: &Value) -> String {
        match (self, value) {
            (Self::Choice(choices), Value::Choice(position)) => format!("{:?}", choices[*position].name),
            (Self::Bytes(..), Value::Number(bytes)) => format!("\"{}\"", Bytes(*bytes)),
            (Self::Frequency, Value::Number(khz)) => format!("\"{}\"", Frequency(*khz)),
            (Self::Voltage, Value::Number(millivolts)) => format!("\"{millivolts} mV\""),
            (Self::Percent, Value::Number(percent)) => format!("\"{percent} %\""),
            (_, Value::Number(number)) => number.to_string(),
            (_, Value::Flag(flag)) => flag.to_string(),
            (_, Value::Text(text)) => toml::Value::String(text.clone()).to_string(),
            (_, Value::Layout(layout)) => format!("\"{}\"", layout.text()),
            (_, Value::Sizes(sizes)) => {
                let sizes: Vec<String> = sizes.iter().map(|size| format!("\"{}\"", Bytes(*size))).collect();
                format!("[{}]", sizes.join(", "))
            }
            (_, Value::Numbers(numbers)) => format!("{numbers:?}"),
            (_, Value::Nodes(nodes)) => mesh_nodes::write(nodes),
            (_, Value::Wires(wires)) => system::write(wires),
            (_, Value::Choice(position)) => panic!("choice {position} for a key without choices"),
        }
    }
}

impl From<QuantityError> for Mismatch {
    fn from(error: QuantityError) -> Self {
        Self { expected: error.expected.to_owned(), hint: error.hint }
    }
}

/// Returns the quoted names of the choices as a list.
pub fn names(choices: &[Choice]) -> String {
    let names: Vec<String> = choices.iter().map(|choice| format!("\"{}\"", choice.name)).collect();
    names.join(", ")
}

fn size_in_list(raw: &RawValue) -> Result<u64, Mismatch> {
    match ValueKind::Bytes(0, MAX_LISTED_BYTES).read(raw) {
        Ok(Value::Number(bytes)) => Ok(bytes),
        Ok(_) => Err(Mismatch { expected: ValueKind::Sizes.describe(), hint: None }),
        Err(mismatch) => Err(Mismatch { expected: ValueKind::Sizes.describe(), hint: mismatch.hint }),
    }
}

fn parse_whole(text: &str) -> Option<u64> {
    text.trim().replace('_', "").parse().ok()
}

fn unquoted(text: &str, words: &[&str]) -> Option<String> {
    words.contains(&text).then(|| format!("write {text} without quotes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        const WORDS: &[Choice] = &[Choice { name: "a", doc: "" }, Choice { name: "b", doc: "" }];
        let cases = [
            (ValueKind::Text, Value::Text("a \"quoted\" text".to_owned())),
            (ValueKind::Flag, Value::Flag(true)),
            (ValueKind::Count(0, 9), Value::Number(9)),
            (ValueKind::Cycles("core", 0, 40), Value::Number(40)),
            (ValueKind::Bytes(1, 98304), Value::Number(98304)),
            (ValueKind::Sizes, Value::Sizes(vec![0, 8192])),
            (ValueKind::Numbers, Value::Numbers(vec![3, 0, 2])),
            (ValueKind::Frequency, Value::Number(1_132_500)),
            (ValueKind::Voltage, Value::Number(925)),
            (ValueKind::Percent, Value::Number(25)),
            (ValueKind::Choice(WORDS), Value::Choice(1)),
        ];
        for (kind, value) in cases {
            let text = format!("x = {}", kind.write(&value));
            let raw = super::super::source::raw_of_text(&text);
            assert_eq!(kind.read(&raw).as_ref(), Ok(&value), "{text}");
        }
    }

    #[test]
    fn a_word_that_looks_like_a_number_is_read_with_and_without_quotes() {
        const WORDS: &[Choice] = &[Choice { name: "unknown", doc: "" }, Choice { name: "9.0", doc: "" }];
        for text in ["x = 9.0", "x = \"9.0\""] {
            assert_eq!(ValueKind::Choice(WORDS).read(&super::super::source::raw_of_text(text)), Ok(Value::Choice(1)), "{text}");
        }
        assert!(ValueKind::Choice(WORDS).read(&RawValue::Number("9".to_owned())).is_err());
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        assert!(ValueKind::Count(1, 64).read(&RawValue::Number("65".to_owned())).is_err());
        let refused = |kind: ValueKind, text: &str| kind.read(&RawValue::Text(text.to_owned())).is_err();
        for number in ["0", "1000", "65537", "4294967296", "18446744073709551617"] {
            assert!(refused(ValueKind::Cycles("core", 1, 999), number), "{number}");
        }
        assert!(
            refused(ValueKind::Bytes(32, 128), "31 B")
                && refused(ValueKind::Bytes(32, 128), "129 B")
                && !refused(ValueKind::Bytes(32, 128), "128 B")
        );
        assert!(
            refused(ValueKind::Frequency, "9999 kHz")
                && refused(ValueKind::Frequency, "10.1 GHz")
                && !refused(ValueKind::Frequency, "10 GHz")
        );
    }
}
