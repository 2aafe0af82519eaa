//! Tables with typed columns, as CSV and, in builds with the feature `parquet`, as Parquet.
//!
//! A table has columns of one kind each, and rows of cells. Equal tables give files with equal bytes.

use super::rows;

pub use super::cells::{Cell, ColumnKind};

/// A table: a name and a kind per column, and rows with a cell for each column. Equal tables give equal bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    columns: Vec<(String, ColumnKind)>,
    rows: Vec<Vec<Cell>>,
}

impl Frame {
    /// Creates a table with these columns. A cell that does not fit the kind of its column widens the kind.
    ///
    /// # Panics
    /// Panics if the number of cells in a row differs from the number of columns.
    pub fn new(mut columns: Vec<(String, ColumnKind)>, rows: Vec<Vec<Cell>>) -> Self {
        for row in &rows {
            assert_eq!(row.len(), columns.len(), "a row of a table with {} columns", columns.len());
            for ((_, kind), cell) in columns.iter_mut().zip(row) {
                *kind = cell.kind().map_or(*kind, |needed| needed.max(*kind));
            }
        }
        Self { columns, rows }
    }

    /// Returns the names and kinds of the columns.
    pub fn columns(&self) -> &[(String, ColumnKind)] {
        &self.columns
    }

    /// Returns the rows of the table.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Formats the table as CSV.
    pub fn csv(&self) -> String {
        let head: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(Cell::csv).collect()).collect();
        rows::table(&head, &rows)
    }

    /// Returns the table as Parquet: columns of unsigned 64-bit integers, doubles or UTF-8 strings, in which empty cells are nulls.
    ///
    /// # Errors
    /// Fails in builds without the feature `parquet`, with a message about how to build with it.
    pub fn parquet(&self) -> Result<Vec<u8>, NoParquet> {
        parquet(&self.columns, self.rows.len(), |row, column| self.rows[row][column].clone())
    }
}

/// Returns a table of `rows` rows as Parquet, as [`Frame::parquet`] does; `cell` computes each cell, so that a large table need not exist
/// in memory.
///
/// # Errors
/// Fails as [`Frame::parquet`] does.
pub fn parquet(columns: &[(String, ColumnKind)], rows: usize, cell: impl Fn(usize, usize) -> Cell) -> Result<Vec<u8>, NoParquet> {
    #[cfg(feature = "parquet")]
    return Ok(super::parquet::write(columns, rows, cell));
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (columns, rows, cell);
        Err(NoParquet)
    }
}

/// The error of a program that was built without Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this program was built without Parquet; build it with `cargo build --release --features parquet`")]
pub struct NoParquet;

impl NoParquet {
    /// Checks that this program can write Parquet, before a long computation.
    ///
    /// # Errors
    /// Fails in builds without the feature `parquet`.
    pub fn check() -> Result<(), Self> {
        if cfg!(feature = "parquet") { Ok(()) } else { Err(Self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kinds: &[(&str, ColumnKind)]) -> Vec<(String, ColumnKind)> {
        kinds.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect()
    }

    #[test]
    fn cells_widen_the_kind_of_their_column() {
        let given = columns(&[("a", ColumnKind::Count), ("b", ColumnKind::Count), ("c", ColumnKind::Number), ("d", ColumnKind::Count)]);
        let rows = vec![
            vec![Cell::Count(1), Cell::Count(2), Cell::Empty, Cell::Count(3)],
            vec![Cell::Empty, Cell::text("gto"), Cell::Empty, Cell::Number(0.5)],
        ];
        let frame = Frame::new(given, rows);
        let kinds: Vec<ColumnKind> = frame.columns().iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [ColumnKind::Count, ColumnKind::Text, ColumnKind::Number, ColumnKind::Number]);
        assert_eq!(frame.csv(), "a,b,c,d\n1,2,,3\n,gto,,0.5\n");
    }

    #[test]
    fn a_build_without_parquet_returns_an_error() {
        let made = Frame::new(columns(&[("a", ColumnKind::Count)]), Vec::new()).parquet();
        assert_eq!(made.is_ok(), cfg!(feature = "parquet"));
        assert_eq!(NoParquet::check().is_ok(), made.is_ok());
        assert!(NoParquet.to_string().contains("--features parquet"));
    }
}
