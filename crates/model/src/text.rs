//! TOML with locations: reads tables key by key and collects all problems.
//!
//! The tables are walked by hand rather than with serde, because the allowed keys of a step depend on its kind, and because all problems
//! are reported together, each with its line.

use toml::de::{DeTable, DeValue};

use super::error::{Problem, suggest};
use super::expr::{self, Expr};
use super::keys::Table;

/// A TOML value with its location.
pub(super) type Value<'i> = toml::Spanned<DeValue<'i>>;

/// A formula with its location, for messages when it is bound or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formula {
    /// The parsed formula.
    pub(super) expr: Expr,
    /// The formula as written.
    pub(super) text: String,
    /// The key of the formula.
    pub(super) key: String,
    /// Line of the file.
    pub(super) line: u32,
}

impl Formula {
    /// Returns a number that is not in the text, such as a default, as a formula.
    pub(super) fn constant(value: i64, key: &str, line: u32) -> Self {
        Self { expr: Expr::Int(value), text: value.to_string(), key: key.to_owned(), line }
    }

    /// Adds the location of this formula to a problem that occurred while the formula was bound.
    pub(super) fn place(&self, problem: Problem) -> Problem {
        Problem { line: self.line, key: self.key.as_str().into(), given: self.text.clone(), ..problem }
    }

    /// Returns a problem of this formula.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.line, self.key.as_str(), message).given(&self.text)
    }
}

/// Locations in the file, and the problems found so far.
pub(super) struct ModelReader {
    /// Byte offsets at which lines start.
    lines: Vec<usize>,
    /// The problems found so far.
    pub(super) problems: Vec<Problem>,
}

impl ModelReader {
    /// Creates a reader of locations in `text`.
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        Self { lines: std::iter::once(0).chain(breaks).collect(), problems: Vec::new() }
    }

    /// Returns the line, from 1, of a byte offset.
    pub(super) fn line(&self, offset: usize) -> u32 {
        self.lines.partition_point(|&start| start <= offset) as u32
    }

    /// Returns the line of a value.
    pub(super) fn line_of(&self, value: &Value<'_>) -> u32 {
        self.line(value.span().start)
    }

    /// Records a problem.
    pub(super) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns a string value, or records a problem.
    pub(super) fn string(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let found = value.get_ref().as_str().map(str::to_owned);
        if found.is_none() {
            self.wrong_type(key, value, "a string");
        }
        found
    }

    /// Returns a boolean value, or records a problem.
    pub(super) fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong_type(key, value, "true or false");
        }
        found
    }

    /// Parses a formula from an integer or a string, or records a problem.
    pub(super) fn formula(&mut self, key: &str, value: &Value<'_>) -> Option<Formula> {
        let line = self.line_of(value);
        let (text, parsed) = match value.get_ref() {
            DeValue::Integer(integer) => {
                let text = integer.to_string();
                let parsed = i64::from_str_radix(integer.as_str(), integer.radix());
                (text, parsed.map(Expr::Int).map_err(|_| "the number does not fit 64 bits".to_owned()))
            }
            DeValue::String(text) => (text.to_string(), expr::parse(text)),
            _ => {
                self.wrong_type(key, value, "an integer or a formula in quotes");
                return None;
            }
        };
        match parsed {
            Ok(expr) => Some(Formula { expr, text, key: key.to_owned(), line }),
            Err(message) => {
                let problem = Problem::new(line, key, message).given(text);
                self.report(problem.help("write an integer, or a formula such as \"n / 256\" over + - * / % and parentheses"));
                None
            }
        }
    }

    /// Returns the elements of an array, or records a problem.
    pub(super) fn array<'v, 'i>(&mut self, key: &str, value: &'v Value<'i>) -> Option<&'v [Value<'i>]> {
        let found = value.get_ref().as_array();
        if found.is_none() {
            self.wrong_type(key, value, "an array");
        }
        found.map(|array| &array[..])
    }

    /// Returns the keys and values of a table, or records a problem.
    pub(super) fn table<'v, 'i>(&mut self, key: &str, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        let found = value.get_ref().as_table();
        if found.is_none() {
            self.wrong_type(key, value, "a table");
        }
        found
    }

    /// Records a value of the wrong type.
    pub(super) fn wrong_type(&mut self, key: &str, value: &Value<'_>, wanted: &str) {
        let line = self.line_of(value);
        let kind = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a floating-point number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
            DeValue::Datetime(_) => "a date",
        };
        let given = match value.get_ref() {
            DeValue::String(text) => format!("\"{text}\" ({kind})"),
            DeValue::Integer(number) => format!("{number} ({kind})"),
            DeValue::Float(number) => format!("{} ({kind})", number.as_str()),
            DeValue::Boolean(value) => value.to_string(),
            _ => kind.to_owned(),
        };
        let problem = Problem::new(line, key, format!("{wanted} is expected")).given(given);
        self.report(problem.help("docs/models.md describes every key"));
    }

    /// Records every key of `table` that `allowed` does not list.
    pub(super) fn check_keys(&mut self, allowed: &Table, table: &DeTable<'_>) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !allowed.names().any(|known| known == name) {
                let line = self.line(key.span().start);
                let help = suggest(name, allowed.names(), "remove the key; docs/models.md lists every key");
                let problem = Problem::new(line, name, format!("not a key of {}", allowed.what));
                self.report(problem.allowed(allowed.names()).help(help));
            }
        }
    }

    /// Returns the value of `key`, or records a problem if the key is missing; `line` is the first line of the table.
    pub(super) fn require<'v, 'i>(&mut self, what: &str, table: &'v DeTable<'i>, key: &str, line: u32) -> Option<&'v Value<'i>> {
        let found = table.get(key);
        if found.is_none() {
            self.report(Problem::new(line, key, format!("{what} needs this key")).help(format!("add `{key} = ...`")));
        }
        found
    }

    /// Returns the formula at `key`, if the key exists.
    pub(super) fn formula_at(&mut self, table: &DeTable<'_>, key: &str) -> Option<Formula> {
        table.get(key).and_then(|value| self.formula(key, value))
    }
}
