//! A plan that is ready to be simulated, for the command line and for programs that embed the simulator such as the Python package.
//!
//! The input is a [`Plan`] and the folder of its results, the output is stored results and their [`SweepTable`]. Equal plans have equal results
//! under equal names, whichever program runs them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use warpshard_report::frame::NoParquet;
use warpshard_report::write_whole;
use warpshard_run::{Catalogue, Digest, Digests, Exit};
use warpshard_sync::StopFlag;

use super::error::SweepError;
use super::execute::{self, Limits, RunCounts};
use super::expand::SweepRun;
use super::picture;
use super::plan::Plan;
use super::prepare::{self, PreparedRun};
use super::slice::Slice;
use super::store::{Store, StoreEntry};
use super::table::SweepTable;
use super::watch::SweepWatch;

/// A plan whose runs have been checked, and the folder of its results.
#[derive(Debug)]
pub struct PreparedSweep {
    catalogue: &'static Catalogue,
    keys: Vec<String>,
    prepared: Vec<PreparedRun>,
    store: Store,
    warnings: Vec<String>,
}

impl PreparedSweep {
    /// Checks every run of a plan, and opens the folder of its results.
    ///
    /// # Errors
    /// Fails if a run is invalid, or the folder contains other files.
    pub fn new(catalogue: &'static Catalogue, plan: &Plan, out: Option<&Path>) -> Result<Self, SweepError> {
        let store = Store::open(&out.map_or_else(|| default_folder(plan), Path::to_path_buf))?;
        let known = Digests::new(&store.path("inputs.json"));
        let (prepared, warnings) = prepare::prepare(catalogue, plan.runs(), &known)?;
        known.save();
        Ok(Self { catalogue, keys: plan.keys(), prepared, store, warnings })
    }

    /// Returns warnings about settings that are allowed but probably unintended.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the runs in the order of the plan, each with the digest of its results and its state in the store.
    pub fn runs(&self) -> impl Iterator<Item = (&SweepRun, Digest, StoreEntry)> {
        self.prepared.iter().map(|one| (&one.run, one.digest, self.store.entry(one.digest)))
    }

    /// Returns the path of a file in the result folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.store.path(name)
    }

    /// Simulates the runs whose results are missing. If `stop` is requested, runs end at their next cut, and their results are discarded.
    ///
    /// # Errors
    /// Fails if results cannot be stored. A run that fails does not end the others.
    pub fn simulate(
        &self,
        slice: Option<Slice>,
        limits: Limits,
        stop: &StopFlag,
        watch: Box<dyn SweepWatch + '_>,
    ) -> Result<RunCounts, SweepError> {
        let wanted: Vec<&PreparedRun> =
            self.prepared.iter().filter(|one| slice.is_none_or(|slice| slice.contains(one.run.number))).collect();
        execute::execute(self.catalogue, &wanted, &self.store, limits, stop, watch)
    }

    /// Returns the table of the existing results.
    pub fn table(&self) -> SweepTable {
        let (runs, digests): (Vec<SweepRun>, Vec<Digest>) = self.prepared.iter().map(|one| (one.run.clone(), one.digest)).unzip();
        SweepTable::collect(&runs, &digests, &self.keys, &self.store)
    }

    /// Writes the table of the existing results as sweep.csv, and with `parquet` also as sweep.parquet.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or the build has no Parquet.
    pub fn collect(&self, parquet: bool) -> Result<SweepTable, SweepError> {
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

    /// Writes the picture of a table, sweep.svg, and returns its path; `None` if there is nothing to draw or too much to distinguish, in
    /// which case the picture of an earlier table is removed.
    ///
    /// # Errors
    /// Fails if a number cannot be drawn, or the file cannot be written.
    pub fn draw(&self, table: &SweepTable) -> Result<Option<PathBuf>, SweepError> {
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

    /// Writes a file next to the results atomically.
    fn write(&self, name: &str, contents: &[u8]) -> Result<(), SweepError> {
        write_whole(&self.path(name), contents).map_err(|source| SweepError::File { file: self.path(name).display().to_string(), source })
    }

    /// Returns the exit code of the first failed run.
    pub fn verdict(&self, slice: Option<Slice>) -> Exit {
        let mut wanted = self.runs().filter(|(run, ..)| slice.is_none_or(|slice| slice.contains(run.number)));
        let failed = wanted.find_map(|(.., entry)| match entry {
            StoreEntry::Failed(code, _) => Some(Exit::from_code(code)),
            _ => None,
        });
        failed.unwrap_or(Exit::Ok)
    }
}

/// Returns the default result folder of a plan.
pub fn default_folder(plan: &Plan) -> PathBuf {
    PathBuf::from(format!("results/sweep-{}", plan.name))
}
