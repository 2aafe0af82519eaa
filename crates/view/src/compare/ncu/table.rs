//! The launches of a profile, each with its metrics in base units: bytes, nanoseconds, hertz, cycles, percent.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use thiserror::Error;

/// Maximum size of a profile in bytes.
const MAX_BYTES: u64 = 1 << 28;

/// Reasons for which a profile cannot be read.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// A system call failed.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a table of launches.
    #[error("{name}: {what}; expected the output of `ncu --csv --page raw`")]
    Form {
        /// Name of the file.
        name: String,
        /// Description of the problem.
        what: String,
    },
    /// A cell has an invalid value.
    #[error("{name}: line {line}: `{column}` is `{cell}`, expected {expected}")]
    Cell {
        /// Name of the file.
        name: String,
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column or metric.
        column: String,
        /// The text of the cell.
        cell: String,
        /// The expected contents.
        expected: &'static str,
    },
    /// A condition names a column or value that the file lacks.
    #[error("{name}: {what}")]
    Condition {
        /// Name of the file.
        name: String,
        /// The missing name and the available ones.
        what: String,
    },
}

/// A profiled launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfiledLaunch {
    /// The line of the launch in the file.
    pub line: u64,
    /// Name of the kernel.
    pub kernel: String,
    /// The number of the launch in its program, if the table has a column `launch`.
    pub launch: Option<usize>,
    /// Metrics in base units, by name.
    pub metrics: BTreeMap<String, f64>,
}

/// The profiled launches of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name of the file.
    pub name: String,
    /// The launches in the order of the file.
    pub launches: Vec<ProfiledLaunch>,
}

/// Returns the factor that converts a unit to the base unit; 1 for units without a prefix.
fn factor(unit: &str) -> f64 {
    let unit = unit.trim();
    for (suffix, base) in [("byte", 1.0), ("hz", 1.0), ("second", 1e9), ("byte/second", 1.0)] {
        let lower = unit.to_ascii_lowercase();
        let Some(prefix) = lower.strip_suffix(suffix) else { continue };
        let power = match prefix {
            "" => 0,
            "k" => 1,
            "m" if suffix == "second" => -1,
            "u" => -2,
            "n" => -3,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => continue,
        };
        return base * 1000_f64.powi(power);
    }
    match unit {
        "cycle/usecond" => 1e6,
        "cycle/nsecond" => 1e9,
        _ => 1.0,
    }
}

/// Parses a number in Nsight Compute's format, with commas between thousands.
fn number(cell: &str) -> Option<f64> {
    let plain: String = cell.trim().trim_end_matches('%').chars().filter(|c| *c != ',').collect();
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

impl Profile {
    /// Reads a profile; `conditions` are columns and the values that rows must have in them.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a profile, or no row meets the conditions.
    pub fn read(path: &Path, conditions: &[(String, String)]) -> Result<Self, ProfileError> {
        let io = |source| ProfileError::Io { path: path.to_owned(), source };
        let facts = fs::metadata(path).map_err(io)?;
        if !facts.is_file() {
            return Err(io(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
        }
        if facts.len() > MAX_BYTES {
            return Err(io(io::Error::new(io::ErrorKind::InvalidInput, format!("it is larger than {MAX_BYTES} bytes"))));
        }
        let text = fs::read_to_string(path).map_err(io)?;
        Self::parse(&path.display().to_string(), &text, conditions)
    }

    /// Parses a profile; messages call it `name`.
    ///
    /// # Errors
    /// Fails as [`Profile::read`] does.
    pub fn parse(name: &str, text: &str, conditions: &[(String, String)]) -> Result<Self, ProfileError> {
        let form = |what: String| ProfileError::Form { name: name.to_owned(), what };
        // Messages of the profiler precede the table.
        let begins = |line: &str| !line.trim().is_empty() && !line.starts_with("==") && !line.starts_with('#');
        let skipped = text.lines().take_while(|line| !begins(line)).count();
        let table: String = text.lines().skip(skipped).filter(|line| !line.starts_with("==")).flat_map(|line| [line, "\n"]).collect();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
        let head = reader.headers().map_err(|error| form(error.to_string()))?.clone();
        let column = |wanted: &str| head.iter().position(|known| known.trim() == wanted);
        let kernel = column("Kernel Name").ok_or_else(|| {
            let known: Vec<&str> = head.iter().take(8).collect();
            form(format!("there is no column `Kernel Name`, only {}", known.join(", ")))
        })?;
        let table = ProfileTable { name, head: &head, kernel, skipped: skipped as u64 };
        let mut wanted = Vec::new();
        for (key, value) in conditions {
            let at = column(key).ok_or_else(|| ProfileError::Condition {
                name: name.to_owned(),
                what: format!("there is no column `{key}` for --where {key}={value}"),
            })?;
            wanted.push((at, value.as_str()));
        }
        let records = reader.records().collect::<Result<Vec<StringRecord>, _>>().map_err(|error| form(error.to_string()))?;
        let meets = |row: &&StringRecord| wanted.iter().all(|(at, value)| row.get(*at).is_some_and(|cell| cell.trim() == *value));
        let long = column("Metric Name").zip(column("Metric Value"));
        let is_units = |row: &StringRecord| row.get(kernel).is_none_or(|cell| cell.trim().is_empty());
        let units = records.first().filter(|row| long.is_none() && is_units(row));
        let rows = records.iter().skip(usize::from(units.is_some())).filter(meets);
        let launches = match long {
            Some(columns) => table.long_row(rows, columns, column("Metric Unit"), column("ID"))?,
            None => rows.map(|row| table.wide_row(row, units)).collect::<Result<_, _>>()?,
        };
        if launches.is_empty() && !conditions.is_empty() && !records.is_empty() {
            let all: Vec<String> = conditions.iter().map(|(key, value)| format!("{key}={value}")).collect();
            return Err(ProfileError::Condition { name: name.to_owned(), what: format!("no row has {}", all.join(" and ")) });
        }
        if launches.is_empty() {
            return Err(form("there is no launch".into()));
        }
        Ok(Self { name: name.to_owned(), launches })
    }
}

/// State of parsing a table.
struct ProfileTable<'a> {
    name: &'a str,
    head: &'a StringRecord,
    /// Index of the column with the kernel's name.
    kernel: usize,
    /// Number of lines before the column names.
    skipped: u64,
}

impl ProfileTable<'_> {
    fn launch(&self, row: &StringRecord) -> Result<ProfiledLaunch, ProfileError> {
        let line = row.position().map_or(0, csv::Position::line) + self.skipped;
        let kernel = row.get(self.kernel).unwrap_or_default().trim();
        if kernel.is_empty() {
            return Err(self.cell(line, "Kernel Name", "", "the name of a kernel"));
        }
        let mut launch = None;
        if let Some(at) = self.head.iter().position(|known| known.trim() == "launch") {
            let cell = row.get(at).unwrap_or_default();
            launch = Some(cell.trim().parse().map_err(|_| self.cell(line, "launch", cell, "the number of the launch, from 0"))?);
        }
        Ok(ProfiledLaunch { line, kernel: kernel.to_owned(), launch, metrics: BTreeMap::new() })
    }

    fn cell(&self, line: u64, column: &str, cell: &str, expected: &'static str) -> ProfileError {
        ProfileError::Cell { name: self.name.to_owned(), line, column: column.to_owned(), cell: cell.to_owned(), expected }
    }

    /// Parses a launch from a row whose columns are metrics.
    fn wide_row(&self, row: &StringRecord, units: Option<&StringRecord>) -> Result<ProfiledLaunch, ProfileError> {
        let mut launch = self.launch(row)?;
        for (i, column) in self.head.iter().enumerate().filter(|(_, column)| is_metric(column)) {
            let cell = row.get(i).unwrap_or_default();
            // The profiler could not measure this metric.
            if cell.trim().is_empty() || cell.contains("n/a") {
                continue;
            }
            let value = number(cell).ok_or_else(|| self.cell(launch.line, column, cell, "a number"))?;
            let unit = units.and_then(|units| units.get(i)).unwrap_or_default();
            launch.metrics.insert(column.trim().to_owned(), value * factor(unit));
        }
        Ok(launch)
    }

    /// Parses launches from rows with one metric each; rows with the same `ID` belong to one launch.
    fn long_row<'r>(
        &self,
        rows: impl Iterator<Item = &'r StringRecord>,
        (metric, value): (usize, usize),
        unit: Option<usize>,
        id: Option<usize>,
    ) -> Result<Vec<ProfiledLaunch>, ProfileError> {
        let mut launches: Vec<(&str, ProfiledLaunch)> = Vec::new();
        for row in rows {
            let own = id.and_then(|at| row.get(at)).unwrap_or_default();
            if launches.last().is_none_or(|(last, _)| *last != own) {
                launches.push((own, self.launch(row)?));
            }
            let (Some((_, launch)), Some(name)) = (launches.last_mut(), row.get(metric)) else { continue };
            let Some(cell) = row.get(value).filter(|_| is_metric(name)) else { continue };
            if cell.trim().is_empty() || cell.contains("n/a") {
                continue;
            }
            let line = row.position().map_or(0, csv::Position::line) + self.skipped;
            let value = number(cell).ok_or_else(|| self.cell(line, name, cell, "a number"))?;
            let unit = unit.and_then(|at| row.get(at)).unwrap_or_default();
            launch.metrics.insert(name.trim().to_owned(), value * factor(unit));
        }
        Ok(launches.into_iter().map(|(_, launch)| launch).collect())
    }
}

/// Returns true if the column is a metric: its name is a hardware unit, two underscores, and a quantity.
fn is_metric(column: &str) -> bool {
    let units = ["dram__", "gpc__", "gpu__time", "l1tex__", "lts__", "sm__", "smsp__", "launch__occupancy_limit"];
    units.iter().any(|unit| column.trim().starts_with(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Profile, String> {
        Profile::parse("ncu.csv", text, &[]).map_err(|error| error.to_string())
    }

    const RAW: &str = "==PROF== Connected to process 1\n\
        \"ID\",\"Kernel Name\",\"Block Size\",\"sm__cycles_active.max\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n\
        \"\",\"\",\"\",\"cycle\",\"Mbyte\",\"usecond\"\n\
        \"0\",\"add(float *, int)\",\"(256, 1, 1)\",\"12,345\",\"1.5\",\"2.25\"\n\
        \"1\",\"add(float *, int)\",\"(256, 1, 1)\",\"7\",\"n/a\",\"1\"\n";

    #[test]
    fn the_raw_page_is_read_in_base_units() {
        let launches = read(RAW).unwrap().launches;
        assert_eq!(launches.len(), 2);
        assert_eq!((launches[0].kernel.as_str(), launches[0].line, launches[0].launch), ("add(float *, int)", 4, None));
        let metric = |name: &str| launches[0].metrics[name];
        assert_eq!(metric("sm__cycles_active.max"), 12345.0);
        assert_eq!(metric("dram__bytes_read.sum"), 1.5e6);
        assert!((metric("gpu__time_duration.sum") - 2250.0).abs() < 1e-9, "nanoseconds");
        assert!(!launches[1].metrics.contains_key("dram__bytes_read.sum"), "what was not measured is not there");
        assert_eq!(
            ["byte", "Kbyte", "Gbyte", "Ghz", "msecond", "second", "nsecond", "%", "cycle/nsecond"].map(factor),
            [1.0, 1e3, 1e9, 1e9, 1e6, 1e9, 1.0, 1.0, 1e9].map(|value: f64| value)
        );
    }

    #[test]
    fn long_tables_and_tables_without_units_are_parsed() {
        let long = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
            \"0\",\"k\",\"sm__cycles_active.max\",\"cycle\",\"10\"\n\"0\",\"k\",\"dram__bytes_read.sum\",\"Kbyte\",\"2\"\n\
            \"1\",\"k\",\"sm__cycles_active.max\",\"cycle\",\"11\"\n";
        let launches = read(long).unwrap().launches;
        assert_eq!(launches.len(), 2);
        assert_eq!((launches[0].metrics["dram__bytes_read.sum"], launches[1].metrics["sm__cycles_active.max"]), (2000.0, 11.0));
        let wide = "program,launch,Kernel Name,smsp__inst_executed.sum\na,3,k,5\nb,0,k,6\n";
        let where_b = [("program".to_owned(), "b".to_owned())];
        let launches = Profile::parse("t.csv", wide, &where_b).unwrap().launches;
        assert_eq!((launches.len(), launches[0].launch, launches[0].metrics["smsp__inst_executed.sum"]), (1, Some(0), 6.0));
        let none = |key: &str, value: &str| Profile::parse("t.csv", wide, &[(key.into(), value.into())]).unwrap_err().to_string();
        assert_eq!(none("program", "c"), "t.csv: no row has program=c");
        assert_eq!(none("set", "c"), "t.csv: there is no column `set` for --where set=c");
    }

    #[test]
    fn an_invalid_profile_is_rejected_with_its_line() {
        for (text, expected) in [
            ("", "there is no column `Kernel Name`"),
            ("a,b\n1,2\n", "no column `Kernel Name`, only a, b; expected the output of `ncu --csv --page raw`"),
            ("ID,Kernel Name\n", "there is no launch"),
            ("ID,Kernel Name,sm__cycles_active.max\n0,k,many\n", "line 2: `sm__cycles_active.max` is `many`, expected a number"),
            ("ID,Kernel Name,sm__cycles_active.max\n0,k,1e999\n", "expected a number"),
            ("launch,Kernel Name\n-1,k\n", "line 2: `launch` is `-1`, expected the number of the launch"),
            ("ID,Kernel Name\n0,k\n1,\n", "line 3: `Kernel Name` is ``"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(Profile::read(folder.path(), &[]).unwrap_err().to_string().contains("no regular file"));
        fs::write(folder.path().join("x"), b"Kernel Name\n\xff\xfe\n").unwrap();
        assert!(Profile::read(&folder.path().join("x"), &[]).unwrap_err().to_string().contains("UTF-8"));
    }
}
