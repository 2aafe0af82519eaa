//! The interval series of a run, reduced to a maximum number of steps.

use super::{ReadError, RunFolder};

/// Counters whose sum is the number of L1 accesses; the first two are hits.
pub(super) const L1_COUNTERS: [&str; 8] = [
    "l1_read_hits",
    "l1_write_hits",
    "l1_read_pending_hits",
    "l1_write_pending_hits",
    "l1_read_misses",
    "l1_write_misses",
    "l1_read_sector_misses",
    "l1_write_sector_misses",
];

/// Numbers over simulated time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CounterSeries {
    /// The cycle at which each step ends.
    pub(super) ends: Vec<f64>,
    columns: Vec<(String, Vec<f64>)>,
}

/// Reductions of the rows of a step to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// The sum, for counts.
    Sum,
    /// The mean over time, for rates.
    Mean,
}

impl CounterSeries {
    /// Reads a file of a run in at most `steps` steps; `None` if the file does not exist or has no rows.
    ///
    /// # Errors
    /// Fails if the file is invalid.
    pub(super) fn of(run: &RunFolder, name: &str, fold: Fold, steps: usize) -> Result<Option<Self>, ReadError> {
        let Some(text) = run.file(name)? else { return Ok(None) };
        Self::read(&text, fold, steps).map_err(|problem| ReadError::Invalid { path: run.path.join(name), problem })
    }

    /// Parses a table whose first column is the cycle at which each row ends; `None` if it has no rows.
    fn read(text: &str, fold: Fold, steps: usize) -> Result<Option<Self>, String> {
        let rows = text.lines().count().saturating_sub(1);
        if rows == 0 {
            return Ok(None);
        }
        let at_once = rows.div_ceil(steps);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().map_err(|error| error.to_string())?.clone();
        let mut series = Self { ends: Vec::new(), columns: head.iter().skip(1).map(|name| (name.to_owned(), Vec::new())).collect() };
        let (mut before, mut begin) = (0.0, 0.0);
        for (i, record) in reader.records().enumerate() {
            let record = record.map_err(|error| error.to_string())?;
            let numbers: Result<Vec<f64>, _> = record.iter().map(str::parse).collect();
            let numbers = numbers.map_err(|error| format!("line {}: {error}", i + 2))?;
            let (cycle, values) = (numbers[0], &numbers[1..]);
            if i % at_once == 0 {
                begin = before;
                series.ends.push(cycle);
                series.columns.iter_mut().for_each(|(_, column)| column.push(0.0));
            }
            let step = series.ends.len() - 1;
            series.ends[step] = cycle;
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column[step] = match fold {
                    Fold::Sum => column[step] + value,
                    Fold::Mean if cycle > begin => (column[step] * (before - begin) + value * (cycle - before)) / (cycle - begin),
                    Fold::Mean => *value,
                };
            }
            before = cycle;
        }
        Ok(Some(series))
    }

    /// Returns a column by its name.
    pub(super) fn get(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }

    /// Returns the names and values of all columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.columns.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Returns the length of each step in cycles.
    pub(super) fn lengths(&self) -> Vec<f64> {
        let begins = std::iter::once(0.0).chain(self.ends.iter().copied());
        self.ends.iter().zip(begins).map(|(end, begin)| end - begin).collect()
    }

    /// Returns the sum of these columns over each step; `None` if no such column exists.
    pub(super) fn sum(&self, names: &[&str]) -> Option<Vec<f64>> {
        let columns = names.iter().filter_map(|name| self.get(name));
        columns.map(<[f64]>::to_vec).reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
    }
}

/// Returns `parts / wholes` for each step; `None` if the whole is zero.
pub(super) fn ratios(parts: &[f64], wholes: &[f64]) -> Vec<Option<f64>> {
    parts.iter().zip(wholes).map(|(part, whole)| (*whole > 0.0).then(|| part / whole)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_rates_are_averaged_over_time() {
        let rows: String = (1..=480).map(|i| format!("{},{},{}\n", i * 10, 2, i % 2)).collect();
        let text = format!("cycle,a.x,b.y\n{rows}");
        let counts = CounterSeries::read(&text, Fold::Sum, 240).unwrap().unwrap();
        assert_eq!((counts.ends.len(), counts.ends[0], counts.lengths()[239]), (240, 20.0, 20.0));
        assert_eq!((counts.get("a.x").unwrap()[7], counts.get("b.y").unwrap()[7], counts.get("c")), (4.0, 1.0, None));
        assert_eq!(counts.sum(&["a.x", "b.y", "c"]).unwrap()[0], 5.0);
        let rates = CounterSeries::read(&text, Fold::Mean, 240).unwrap().unwrap();
        assert_eq!((rates.get("a.x").unwrap()[7], rates.get("b.y").unwrap()[7]), (2.0, 0.5));
        assert_eq!(counts.columns().map(|(name, _)| name).collect::<Vec<_>>(), ["a.x", "b.y"]);
    }

    #[test]
    fn a_table_without_rows_is_none_and_words_are_errors() {
        assert_eq!(CounterSeries::read("cycle\n", Fold::Sum, 240), Ok(None));
        assert!(CounterSeries::read("cycle,a\n1,2\n2,x\n", Fold::Sum, 240).unwrap_err().starts_with("line 3: "));
        assert!(CounterSeries::read("cycle,a\n1\n", Fold::Sum, 240).is_err());
    }
}
