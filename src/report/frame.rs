//! Tables with typed columns, as CSV and, in builds with the feature `parquet`, as Parquet.
//!
//! In: columns with a kind each, and rows of cells. Out: the bytes of a file, which are the same for equal tables.

use super::csv;

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
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Text(_) => Some(Kind::Text),
            Self::Count(_) => Some(Kind::Count),
            Self::Number(_) => Some(Kind::Number),
            Self::Empty => None,
        }
    }
}

/// A table: a name and a kind per column, and rows with a cell for each. Equal tables give equal bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    columns: Vec<(String, Kind)>,
    rows: Vec<Vec<Cell>>,
}

impl Frame {
    /// A table with these columns. A cell that its column does not hold makes the column wider.
    ///
    /// # Panics
    /// When a row has another number of cells than there are columns.
    pub fn new(mut columns: Vec<(String, Kind)>, rows: Vec<Vec<Cell>>) -> Self {
        for row in &rows {
            assert_eq!(row.len(), columns.len(), "a row of a table with {} columns", columns.len());
            for ((_, kind), cell) in columns.iter_mut().zip(row) {
                *kind = cell.kind().map_or(*kind, |needed| needed.max(*kind));
            }
        }
        Self { columns, rows }
    }

    /// Names and kinds of the columns.
    pub fn columns(&self) -> &[(String, Kind)] {
        &self.columns
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        let head: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(Cell::csv).collect()).collect();
        csv::table(&head, &rows)
    }

    /// The table as Parquet: a column of unsigned 64-bit integers, doubles or UTF-8 strings each, where empty cells are nulls.
    ///
    /// # Errors
    /// In builds without the feature `parquet`: how to make one with it.
    pub fn parquet(&self) -> Result<Vec<u8>, NoParquet> {
        parquet(&self.columns, self.rows.len(), |row, column| self.rows[row][column].clone())
    }
}

/// A table of so many rows as [`Frame::parquet`] writes it, cell by cell, so that large ones need not be made first.
///
/// # Errors
/// As [`Frame::parquet`].
pub fn parquet(columns: &[(String, Kind)], rows: usize, cell: impl Fn(usize, usize) -> Cell) -> Result<Vec<u8>, NoParquet> {
    #[cfg(feature = "parquet")]
    return Ok(super::parquet::write(columns, rows, cell));
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (columns, rows, cell);
        Err(NoParquet)
    }
}

/// The program was built without Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this program was built without Parquet; `cargo build --release --features parquet` makes one that has it")]
pub struct NoParquet;

impl NoParquet {
    /// Whether this program writes Parquet, to be asked before long work.
    ///
    /// # Errors
    /// When it does not.
    pub fn check() -> Result<(), Self> {
        if cfg!(feature = "parquet") { Ok(()) } else { Err(Self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kinds: &[(&str, Kind)]) -> Vec<(String, Kind)> {
        kinds.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect()
    }

    #[test]
    fn a_column_holds_what_is_in_it() {
        let given = columns(&[("a", Kind::Count), ("b", Kind::Count), ("c", Kind::Number), ("d", Kind::Count)]);
        let rows = vec![
            vec![Cell::Count(1), Cell::Count(2), Cell::Empty, Cell::Count(3)],
            vec![Cell::Empty, Cell::text("gto"), Cell::Empty, Cell::Number(0.5)],
        ];
        let frame = Frame::new(given, rows);
        let kinds: Vec<Kind> = frame.columns().iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [Kind::Count, Kind::Text, Kind::Number, Kind::Number]);
        assert_eq!(frame.csv(), "a,b,c,d\n1,2,,3\n,gto,,0.5\n");
    }

    #[test]
    fn a_build_without_parquet_says_so() {
        let made = Frame::new(columns(&[("a", Kind::Count)]), Vec::new()).parquet();
        assert_eq!(made.is_ok(), cfg!(feature = "parquet"));
        assert_eq!(NoParquet::check().is_ok(), made.is_ok());
        assert!(NoParquet.to_string().contains("--features parquet"));
    }
}
