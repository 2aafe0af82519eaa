//! TOML with positions: takes tables apart key by key and collects everything that is wrong on the way.
//!
//! The tables are walked by hand rather than through serde, because a step's allowed keys depend on what the step is, and
//! because all problems are to be reported together, each with its line.

use toml::de::{DeTable, DeValue};

use super::error::{Problem, suggest};
use super::expr::{self, Expr};
use super::keys::Table;

/// A value with its place.
pub(super) type Value<'i> = toml::Spanned<DeValue<'i>>;

/// A formula with its place, for messages when it is bound or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formula {
    /// What it says.
    pub(super) expr: Expr,
    /// As written.
    pub(super) text: String,
    /// The key whose value it is.
    pub(super) key: String,
    /// Line of the file.
    pub(super) line: u32,
}

impl Formula {
    /// A number that is not in the text, such as a default.
    pub(super) fn constant(value: i64, key: &str, line: u32) -> Self {
        Self { expr: Expr::Int(value), text: value.to_string(), key: key.to_owned(), line }
    }

    /// A problem met while this formula was bound, with its place filled in.
    pub(super) fn place(&self, problem: Problem) -> Problem {
        Problem { line: self.line, key: self.key.as_str().into(), given: self.text.clone(), ..problem }
    }

    /// A problem with this formula.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.line, self.key.as_str(), message).given(&self.text)
    }
}

/// The file and what is wrong with it so far.
pub(super) struct Reader {
    /// Byte offsets at which lines start.
    lines: Vec<usize>,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
}

impl Reader {
    /// A reader of positions in `text`.
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        Self { lines: std::iter::once(0).chain(breaks).collect(), problems: Vec::new() }
    }

    /// The line, from 1, of a byte offset.
    pub(super) fn line(&self, offset: usize) -> u32 {
        self.lines.partition_point(|&start| start <= offset) as u32
    }

    /// The line of a value.
    pub(super) fn line_of(&self, value: &Value<'_>) -> u32 {
        self.line(value.span().start)
    }

    /// Notes a problem.
    pub(super) fn complain(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// A string.
    pub(super) fn string(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let found = value.get_ref().as_str().map(str::to_owned);
        if found.is_none() {
            self.wrong_type(key, value, "a string");
        }
        found
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong_type(key, value, "true or false");
        }
        found
    }

    /// A formula: an integer, or a string that holds one.
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
                self.complain(problem.help("write an integer, or a formula such as \"n / 256\" over + - * / % and parentheses"));
                None
            }
        }
    }

    /// The elements of an array.
    pub(super) fn array<'v, 'i>(&mut self, key: &str, value: &'v Value<'i>) -> Option<&'v [Value<'i>]> {
        let found = value.get_ref().as_array();
        if found.is_none() {
            self.wrong_type(key, value, "an array");
        }
        found.map(|array| &array[..])
    }

    /// The keys and values of a table.
    pub(super) fn table<'v, 'i>(&mut self, key: &str, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        let found = value.get_ref().as_table();
        if found.is_none() {
            self.wrong_type(key, value, "a table");
        }
        found
    }

    /// Notes a value of the wrong type.
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
        self.complain(problem.help("docs/models.md describes every key"));
    }

    /// Notes every key of `table` that `allowed` does not list.
    pub(super) fn check_keys(&mut self, allowed: &Table, table: &DeTable<'_>) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !allowed.names().any(|known| known == name) {
                let line = self.line(key.span().start);
                let help = suggest(name, allowed.names(), "remove the key; docs/models.md lists every key");
                let problem = Problem::new(line, name, format!("not a key of {}", allowed.what));
                self.complain(problem.allowed(allowed.names()).help(help));
            }
        }
    }

    /// The value of `key`, a problem when it is missing; `line` is where its table starts.
    pub(super) fn require<'v, 'i>(&mut self, what: &str, table: &'v DeTable<'i>, key: &str, line: u32) -> Option<&'v Value<'i>> {
        let found = table.get(key);
        if found.is_none() {
            self.complain(Problem::new(line, key, format!("{what} needs this key")).help(format!("add `{key} = ...`")));
        }
        found
    }

    /// The formula at `key`, if the key is there.
    pub(super) fn formula_at(&mut self, table: &DeTable<'_>, key: &str) -> Option<Formula> {
        table.get(key).and_then(|value| self.formula(key, value))
    }
}
