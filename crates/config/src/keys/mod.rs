//! Every key of a machine, declared once: its name, what it takes, what it means, where its value comes from in
//! Accel-Sim's configurations, its default, and the field of [`Machine`] that it sets.
//!
//! The reader, the writer, the checks for unknown and missing keys and the reference in `docs/machines.md` all walk this list.

mod cache;
mod ccws;
mod cpu;
mod dram;
mod energy;
mod gpu;
mod l1;
mod memory;
mod noc;
mod sm;
mod system;
mod texture;
mod units;

pub use units::CLASSES;

use super::choices::Words;
use super::machine::Machine;
use super::value::{Kind, Value};

/// The declaration of a key.
#[derive(Debug)]
pub struct Key {
    /// The whole dotted name.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
    /// The value when none is given, as TOML; `None` makes the key required.
    pub default: Option<&'static str>,
    /// The corresponding option of Accel-Sim, where there is one.
    pub option: Option<&'static str>,
    /// The key is read only when this flag, choice or count is set ([`Value::is_set`]), or is not; one that is not read itself
    /// counts as not set.
    pub when: Option<(&'static str, bool)>,
    /// A second condition of the same kind.
    pub and: Option<(&'static str, bool)>,
    /// Written in resolved machines only where it differs from the default, because it means nothing to most of them.
    pub quiet: bool,
    /// What to do about a value that is given where the key is not read; `None` ignores it.
    pub refused: Option<Refused>,
    /// Sets the field.
    pub set: fn(&mut Machine, &Value),
}

/// What to do about a value that is given where its key is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What to do instead.
    pub help: &'static str,
    /// Whether the layer that makes the choice may also give the value, so that only a value of a higher layer is refused.
    pub same_layer: bool,
}

impl Key {
    const fn new(path: &'static str, kind: Kind, doc: &'static str, set: fn(&mut Machine, &Value)) -> Self {
        Self { path, kind, doc, default: None, option: None, when: None, and: None, quiet: false, refused: None, set }
    }

    const fn default(mut self, toml: &'static str) -> Self {
        self.default = Some(toml);
        self
    }

    const fn option(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    const fn when(mut self, flag: &'static str, value: bool) -> Self {
        self.when = Some((flag, value));
        self
    }

    const fn and(mut self, flag: &'static str, value: bool) -> Self {
        self.and = Some((flag, value));
        self
    }

    const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    const fn refused(mut self, help: &'static str) -> Self {
        self.refused = Some(Refused { help, same_layer: false });
        self
    }

    const fn refused_above(mut self, help: &'static str) -> Self {
        self.refused = Some(Refused { help, same_layer: true });
        self
    }

    /// The choices that decide whether the key is read, each with what it must be.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.when.into_iter().chain(self.and)
    }

    /// The table of the key.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// The key without its table.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

/// All keys, in the order in which a resolved machine is written. A flag comes before the keys that depend on it.
pub fn all() -> impl Iterator<Item = &'static Key> {
    let sm = sm::KEYS.iter().chain(ccws::KEYS).chain(units::KEYS).chain(units::TIMING_KEYS);
    let l1 = l1::KEYS.iter().chain(l1::L1_CACHE_KEYS).chain(l1::UNIFIED_KEYS).chain(texture::KEYS);
    let memory = memory::KEYS.iter().chain(memory::LLC_KEYS).chain(dram::KEYS);
    gpu::KEYS.iter().chain(sm).chain(l1).chain(cpu::KEYS).chain(noc::KEYS).chain(memory).chain(energy::KEYS).chain(system::KEYS)
}

/// The key of that name.
pub fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// Conversion of a value that the kind of its key has already checked.
pub(super) trait Field {
    fn of(value: &Value) -> Self;
}

impl<T: Words> Field for T {
    fn of(value: &Value) -> Self {
        match value {
            Value::Choice(position) => T::ALL[*position],
            other => panic!("{other:?} for a choice"),
        }
    }
}

impl Field for u32 {
    fn of(value: &Value) -> Self {
        let number = u64::of(value);
        number.try_into().unwrap_or_else(|_| panic!("a kind let {number} through for a field of 32 bits"))
    }
}

/// For kinds that let only few values through, which a check then compares with what was given.
impl Field for u16 {
    fn of(value: &Value) -> Self {
        u64::of(value).try_into().unwrap_or(Self::MAX)
    }
}

impl Field for u64 {
    fn of(value: &Value) -> Self {
        match value {
            Value::Number(number) => *number,
            other => panic!("{other:?} for a number"),
        }
    }
}

impl Field for bool {
    fn of(value: &Value) -> Self {
        match value {
            Value::Flag(flag) => *flag,
            other => panic!("{other:?} for a flag"),
        }
    }
}

impl Field for String {
    fn of(value: &Value) -> Self {
        match value {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?} for a text"),
        }
    }
}

impl Field for warpshard_base::Frequency {
    fn of(value: &Value) -> Self {
        Self(u64::of(value))
    }
}

impl Field for Vec<u32> {
    fn of(value: &Value) -> Self {
        match value {
            Value::Sizes(sizes) => sizes.iter().map(|size| u32::of(&Value::Number(*size))).collect(),
            other => panic!("{other:?} for a list of sizes"),
        }
    }
}

/// `key!("gpu.sms", Kind::Count(1, 4096), "SMs of the chip.", |m| m.gpu.sms)`: a key that sets one field.
macro_rules! key {
    ($path:literal, $kind:expr, $doc:literal, |$machine:ident| $field:expr) => {
        Key::new($path, $kind, $doc, |$machine, value| $field = Field::of(value))
    };
}
use key;

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::super::seat::Seat;
    use super::super::system::{Node, Wire};
    use super::*;

    #[test]
    fn keys_are_unique_grouped_by_table_and_after_their_flags() {
        let mut seen: Vec<&str> = Vec::new();
        let mut tables: Vec<&str> = Vec::new();
        for key in all() {
            assert!(!seen.contains(&key.path), "{} is declared twice", key.path);
            if tables.last() != Some(&key.table()) {
                assert!(!tables.contains(&key.table()), "{} stands apart from its table", key.path);
                tables.push(key.table());
            }
            for (flag, _) in key.conditions() {
                assert!(seen.contains(&flag), "{} comes before its flag {flag}", key.path);
                assert!(matches!(find(flag).unwrap().kind, Kind::Flag | Kind::Choice(_) | Kind::Count(0, _)));
            }
            if let Some(default) = key.default {
                let raw = super::super::source::raw_of_text(&format!("x = {default}"));
                key.kind.read(&raw).unwrap_or_else(|e| panic!("default of {}: {e:?}", key.path));
            }
            seen.push(key.path);
        }
    }

    /// Sets every number to one of its own and looks for it in the machine: a key that sets a wrong field, or a field
    /// without a key, shows as a missing or an untouched number.
    #[test]
    fn every_number_of_the_machine_is_set_by_its_own_key() {
        let mut machine = Machine::default();
        let mut numbers = Vec::new();
        for (i, key) in all().enumerate() {
            let number = 5000 + i as u64;
            let value = match key.kind {
                Kind::Text => Value::Text("machine".to_owned()),
                Kind::Flag => Value::Flag(!key.path.ends_with(".perfect")),
                Kind::Choice(_) => Value::Choice(0),
                Kind::Sizes => Value::Sizes(vec![number]),
                Kind::Nodes => Value::Nodes(vec![vec![Seat::Gpu(Some(number as u32))]]),
                Kind::Wires => {
                    let (a, b) = (Node::Host(number as u32), Node::Host(7));
                    Value::Wires(vec![Wire { a, b, count: 7 }])
                }
                Kind::Layout => Value::Layout(Layout { row: 1 << 40, bank: 1 << 41, column: 1 << 42, burst_bits: 1 }),
                _ if key.path == "mem.map.interleave" => Value::Number(1 << 8),
                _ => Value::Number(number),
            };
            if matches!(value, Value::Number(n) if n == number) || matches!(value, Value::Sizes(_) | Value::Nodes(_) | Value::Wires(_)) {
                numbers.push((key.path, number));
            }
            (key.set)(&mut machine, &value);
        }
        // Bits that a system of several GPUs takes from the map follow from its other keys.
        let text = format!("{machine:?}").replace("constant_bits: (0, 0)", "");
        let found: Vec<u64> = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
        for (path, number) in numbers {
            assert_eq!(found.iter().filter(|n| **n == number).count(), 1, "{path}");
        }
        assert!(!found.contains(&0), "a field has no key: {text}");
    }

    #[test]
    fn every_flag_and_every_word_changes_the_machine() {
        for key in all() {
            let values: Vec<Value> = match key.kind {
                Kind::Flag => vec![Value::Flag(false), Value::Flag(true)],
                Kind::Choice(choices) => (0..choices.len()).map(Value::Choice).collect(),
                _ => continue,
            };
            let mut seen: Vec<Machine> = Vec::new();
            for value in values {
                let mut machine = Machine::default();
                (key.set)(&mut machine, &value);
                assert!(!seen.contains(&machine), "{} = {value:?}", key.path);
                seen.push(machine);
            }
        }
    }

    #[test]
    fn every_key_says_what_it_means_in_a_sentence() {
        for key in all() {
            assert!(key.doc.ends_with('.') && key.doc.starts_with(char::is_uppercase), "{}: {:?}", key.path, key.doc);
        }
    }
}
