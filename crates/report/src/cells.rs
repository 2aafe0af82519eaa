//! Cells of tables and their kinds.

/// What the cells of a column hold. A column with counts and numbers holds numbers, and one with any text holds texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Whole numbers.
    Count,
    /// Any other numbers.
    Number,
    /// Texts.
    Text,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// Nothing: the row does not have it.
    Empty,
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A whole number, if there is one.
    pub fn count(value: Option<u64>) -> Self {
        value.map_or(Self::Empty, Self::Count)
    }

    /// A number, if there is one.
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }

    /// The value in a column of whole numbers.
    pub fn as_count(&self) -> Option<u64> {
        if let Self::Count(value) = self { Some(*value) } else { None }
    }

    /// The value in a column of numbers.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Count(value) => Some(*value as f64),
            Self::Text(_) | Self::Empty => None,
        }
    }

    /// The value in a column of texts.
    pub fn as_text(&self) -> Option<String> {
        if matches!(self, Self::Empty) { None } else { Some(self.csv()) }
    }

    /// What stands in a CSV file.
    pub(super) fn csv(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Empty => String::new(),
        }
    }

    /// The kind of column that holds it without loss; `None` for an empty cell, which every column holds.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Text(_) => Some(Kind::Text),
            Self::Count(_) => Some(Kind::Count),
            Self::Number(_) => Some(Kind::Number),
            Self::Empty => None,
        }
    }
}
