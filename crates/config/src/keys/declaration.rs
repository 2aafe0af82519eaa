//! Declaration of keys, and conversion of values to fields of `Machine`.

use super::super::choices::Words;
use super::super::machine::Machine;
use super::super::value::{Value, ValueKind};

/// The declaration of a key.
#[derive(Debug)]
pub struct Key {
    /// The full dotted name.
    pub path: &'static str,
    /// The kind of value.
    pub kind: ValueKind,
    /// The meaning of the key, for messages and the reference.
    pub doc: &'static str,
    /// The default value as TOML; `None` for a required key.
    pub default: Option<&'static str>,
    /// The corresponding option of Accel-Sim, if there is one.
    pub option: Option<&'static str>,
    /// A condition: the key is read only if the named flag, choice or count is set ([`Value::is_set`]), or only if it is not set. A key
    /// that is not read counts as not set.
    pub when: Option<(&'static str, bool)>,
    /// A second condition of the kind of `when`.
    pub and: Option<(&'static str, bool)>,
    /// `true` if resolved machines omit the key when it has its default, because most machines do not use it.
    pub quiet: bool,
    /// The response to a value that is given although the key is not read; `None` ignores the value.
    pub rejection: Option<Rejection>,
    /// Sets the field of the machine.
    pub set: fn(&mut Machine, &Value),
}

/// The rejection of a value whose key is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The help text of the error.
    pub help: &'static str,
    /// `true` if a value in the same layer as the condition is ignored, so that only values of higher layers are rejected.
    pub same_layer: bool,
}

impl Key {
    pub(super) const fn new(path: &'static str, kind: ValueKind, doc: &'static str, set: fn(&mut Machine, &Value)) -> Self {
        Self { path, kind, doc, default: None, option: None, when: None, and: None, quiet: false, rejection: None, set }
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
        self.rejection = Some(Rejection { help, same_layer: false });
        self
    }

    pub(super) const fn refused_above(mut self, help: &'static str) -> Self {
        self.rejection = Some(Rejection { help, same_layer: true });
        self
    }

    /// Returns the conditions under which the key is read: the name of each choice, and whether it must be set.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.when.into_iter().chain(self.and)
    }

    /// Returns the name of the key's table.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Returns the name of the key without its table.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

/// Conversion of a value that is already checked against the kind of its key.
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

/// Values above 65535 are saturated; a later check rejects them by comparison with the given value.
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

/// Declares a key that sets one field: `key!("gpu.sms", ValueKind::Count(1, 4096), "Number of SMs.", |m| m.gpu.sms)`.
macro_rules! key {
    ($path:literal, $kind:expr, $doc:literal, |$machine:ident| $field:expr) => {
        Key::new($path, $kind, $doc, |$machine, value| $field = Field::of(value))
    };
}
pub(super) use key;
