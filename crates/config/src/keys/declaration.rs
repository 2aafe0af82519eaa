//! How a key is declared, and how its value comes into its field.

use super::super::choices::Words;
use super::super::machine::Machine;
use super::super::value::{Kind, Value};

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
    pub(super) const fn new(path: &'static str, kind: Kind, doc: &'static str, set: fn(&mut Machine, &Value)) -> Self {
        Self { path, kind, doc, default: None, option: None, when: None, and: None, quiet: false, refused: None, set }
    }

    pub(super) const fn default(mut self, toml: &'static str) -> Self {
        self.default = Some(toml);
        self
    }

    pub(super) const fn option(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    pub(super) const fn when(mut self, flag: &'static str, value: bool) -> Self {
        self.when = Some((flag, value));
        self
    }

    pub(super) const fn and(mut self, flag: &'static str, value: bool) -> Self {
        self.and = Some((flag, value));
        self
    }

    pub(super) const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(super) const fn refused(mut self, help: &'static str) -> Self {
        self.refused = Some(Refused { help, same_layer: false });
        self
    }

    pub(super) const fn refused_above(mut self, help: &'static str) -> Self {
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

impl Field for Vec<u16> {
    fn of(value: &Value) -> Self {
        match value {
            Value::Numbers(numbers) => numbers.iter().map(|number| u16::try_from(*number).unwrap_or(u16::MAX)).collect(),
            other => panic!("{other:?} for a list of numbers"),
        }
    }
}

/// `key!("gpu.sms", Kind::Count(1, 4096), "SMs of the chip.", |m| m.gpu.sms)`: a key that sets one field.
macro_rules! key {
    ($path:literal, $kind:expr, $doc:literal, |$machine:ident| $field:expr) => {
        Key::new($path, $kind, $doc, |$machine, value| $field = Field::of(value))
    };
}
pub(super) use key;
