//! Cells of tables and the kinds of their columns.

/// Kinds of columns. A column with counts and other numbers has the kind `Number`, and a column with any text has the kind `Text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// Whole numbers.
    Count,
    /// Any other numbers.
    Number,
    /// Texts.
    Text,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// No value in this row.
    Empty,
}

impl Cell {
    /// Returns a text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a cell with a whole number, or an empty cell for `None`.
    pub fn count(value: Option<u64>) -> Self {
        value.map_or(Self::Empty, Self::Count)
    }

    /// Returns a cell with a number, or an empty cell for `None`.
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }

    /// Returns the value of the cell in a column of whole numbers.
    pub fn as_count(&self) -> Option<u64> {
        if let Self::Count(value) = self { Some(*value) } else { None }
    }

    /// Returns the value of the cell in a column of numbers.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Count(value) => Some(*value as f64),
            Self::Text(_) | Self::Empty => None,
        }
    }

    /// Returns the value of the cell in a column of texts.
    pub fn as_text(&self) -> Option<String> {
        if matches!(self, Self::Empty) { None } else { Some(self.csv()) }
    }

    /// Returns the text of the cell in a CSV file.
    pub(super) fn csv(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Empty => String::new(),
        }
    }

    /// Returns the kind of column that holds the cell without loss; `None` for an empty cell, which fits every column.
    pub(super) fn kind(&self) -> Option<ColumnKind> {
        match self {
            Self::Text(_) => Some(ColumnKind::Text),
            Self::Count(_) => Some(ColumnKind::Count),
            Self::Number(_) => Some(ColumnKind::Number),
            Self::Empty => None,
        }
    }
}
