//! Tables of comma-separated values: lines that begin with `#` are comments, and the first other line has the names of the columns.

use std::str::FromStr;

use csv::StringRecord;

use crate::error::TaskError;

/// A table of reference data.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<StringRecord>,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    table: &'a Table,
    cells: &'a StringRecord,
}

impl Table {
    /// Parses a table that must have these columns; messages call it `name`.
    pub fn parse(name: &str, text: &str, columns: &[&str]) -> Result<Self, TaskError> {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(text.as_bytes());
        let broken = |error: csv::Error| format!("{name}: {error}");
        let header = reader.headers().map_err(broken)?.iter().map(str::to_owned).collect::<Vec<_>>();
        let rows = reader.records().collect::<Result<_, _>>().map_err(broken)?;
        let table = Self { name: name.to_owned(), columns: header, rows };
        match columns.iter().find(|column| table.column(column).is_none()) {
            Some(missing) => Err(format!("{name}: there is no column `{missing}`, only {}", table.columns.join(", ")).into()),
            None => Ok(table),
        }
    }

    /// Returns the name of the table in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rows of the table.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { table: self, cells })
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

impl<'a> Row<'a> {
    /// Returns the cell of a column; empty if the row is too short.
    pub fn text(self, column: &str) -> &'a str {
        self.table.column(column).and_then(|at| self.cells.get(at)).unwrap_or_default()
    }

    /// Returns the cell of a column as a number.
    pub fn number<T: FromStr>(self, column: &str) -> Result<T, TaskError> {
        self.text(column).trim().parse().map_err(|_| self.cell_error(column, "a number")).map_err(TaskError::from)
    }

    /// Returns a message about a cell with unexpected contents.
    pub fn cell_error(self, column: &str, expected: &str) -> String {
        let line = self.cells.position().map_or(0, csv::Position::line);
        format!("{}: line {line}: `{column}` is `{}`, expected {expected}", self.table.name, self.text(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_column_and_a_cell_that_is_no_number_are_named_with_their_line() {
        let text = "# a comment\nname,cycles\na,1\nb,many\nc\n";
        let error = Table::parse("t.csv", text, &["name", "seconds"]).unwrap_err().to_string();
        assert_eq!(error, "t.csv: there is no column `seconds`, only name, cycles");
        let table = Table::parse("t.csv", text, &["name", "cycles"]).unwrap();
        let number = |row: Row<'_>| row.number("cycles").map_err(|error| error.to_string());
        let cycles: Vec<Result<u64, String>> = table.rows().map(number).collect();
        assert_eq!(cycles[0], Ok(1));
        assert_eq!(cycles[1], Err("t.csv: line 4: `cycles` is `many`, expected a number".to_owned()));
        assert_eq!(cycles[2], Err("t.csv: line 5: `cycles` is ``, expected a number".to_owned()));
    }
}
