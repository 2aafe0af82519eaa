//! A plan that is ready to be simulated, step by step, for the command line and for programs that embed the simulator such as the Python package.
//!
//! In: a [`Plan`] and the folder of its results. Out: stored results and their [`Table`]. Whoever asks, equal plans have equal results under equal
//! names.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use warpshard_report::frame::NoParquet;
use warpshard_report::write_whole;
use warpshard_run::{Catalogue, Digest, Digests, Exit};
use warpshard_sync::StopFlag;

use super::error::SweepError;
use super::execute::{self, Done, Limits};
use super::expand::Run;
use super::picture;
use super::plan::Plan;
use super::prepare::{self, Prepared};
use super::slice::Slice;
use super::store::{Entry, Store};
use super::table::Table;
use super::watch::Watch;

/// A plan whose runs are checked, and the folder of its results.
#[derive(Debug)]
pub struct Planned {
    catalogue: &'static Catalogue,
    keys: Vec<String>,
    prepared: Vec<Prepared>,
    store: Store,
    warnings: Vec<String>,
}

impl Planned {
    /// Checks every run of a plan, and opens the folder of its results.
    ///
    /// # Errors
    /// When a run is wrong, or the folder holds something else.
    pub fn new(catalogue: &'static Catalogue, plan: &Plan, out: Option<&Path>) -> Result<Self, SweepError> {
        let store = Store::open(&out.map_or_else(|| default_folder(plan), Path::to_path_buf))?;
        let known = Digests::new(&store.path("inputs.json"));
        let (prepared, warnings) = prepare::prepare(catalogue, plan.runs(), &known)?;
        known.keep();
        Ok(Self { catalogue, keys: plan.keys(), prepared, store, warnings })
    }

    /// What is allowed but probably not intended.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The runs, what their results are stored under, and what there is of them, in the order of the plan.
    pub fn runs(&self) -> impl Iterator<Item = (&Run, Digest, Entry)> {
        self.prepared.iter().map(|one| (&one.run, one.digest, self.store.entry(one.digest)))
    }

    /// A file of the result folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.store.path(name)
    }

    /// Simulates what the folder does not have. Runs end at their next cut when `stop` is requested, and nothing of them is kept.
    ///
    /// # Errors
    /// When results cannot be stored. Runs that fail do not end the others.
    pub fn simulate(&self, slice: Option<Slice>, limits: Limits, stop: &StopFlag, watch: Box<dyn Watch + '_>) -> Result<Done, SweepError> {
        let wanted: Vec<&Prepared> = self.prepared.iter().filter(|one| slice.is_none_or(|slice| slice.has(one.run.number))).collect();
        execute::execute(self.catalogue, &wanted, &self.store, limits, stop, watch)
    }

    /// The table of what there is.
    pub fn table(&self) -> Table {
        let (runs, digests): (Vec<Run>, Vec<Digest>) = self.prepared.iter().map(|one| (one.run.clone(), one.digest)).unzip();
        Table::collect(&runs, &digests, &self.keys, &self.store)
    }

    /// Writes the table of what there is, sweep.csv, and with `parquet` sweep.parquet.
    ///
    /// # Errors
    /// When a file cannot be written, or the program has no Parquet.
    pub fn collect(&self, parquet: bool) -> Result<Table, SweepError> {
        if parquet {
            NoParquet::check()?;
        }
        let table = self.table();
        self.write("sweep.csv", table.frame.csv().as_bytes())?;
        if parquet {
            self.write("sweep.parquet", &table.frame.parquet()?)?;
        }
        Ok(table)
    }

    /// Writes the picture of a table, sweep.svg, and returns its path; `None` where there is nothing to draw or too much to tell apart.
    /// Then the picture of an earlier table is removed.
    ///
    /// # Errors
    /// When a number cannot be drawn, or the file cannot be written.
    pub fn draw(&self, table: &Table) -> Result<Option<PathBuf>, SweepError> {
        let path = self.path("sweep.svg");
        let Some(svg) = picture::draw(&table.frame, &self.keys)? else {
            let removed =
                std::fs::remove_file(&path).or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) });
            removed.map_err(|source| SweepError::File { file: path.display().to_string(), source })?;
            return Ok(None);
        };
        self.write("sweep.svg", svg.as_bytes())?;
        Ok(Some(path))
    }

    /// Writes a file beside the results: whole, or not at all.
    fn write(&self, name: &str, contents: &[u8]) -> Result<(), SweepError> {
        write_whole(&self.path(name), contents).map_err(|source| SweepError::File { file: self.path(name).display().to_string(), source })
    }

    /// The exit code of the first run that failed.
    pub fn verdict(&self, slice: Option<Slice>) -> Exit {
        let mut wanted = self.runs().filter(|(run, ..)| slice.is_none_or(|slice| slice.has(run.number)));
        let failed = wanted.find_map(|(.., entry)| match entry {
            Entry::Failed(code, _) => Some(Exit::from_code(code)),
            _ => None,
        });
        failed.unwrap_or(Exit::Ok)
    }
}

/// Where the results of a plan go without a folder of their own.
pub fn default_folder(plan: &Plan) -> PathBuf {
    PathBuf::from(format!("results/sweep-{}", plan.name))
}
