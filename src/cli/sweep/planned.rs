//! A plan that is ready to be simulated, step by step, for the command line and for programs that embed the simulator such as the Python package.
//!
//! In: a [`Plan`] and the folder of its results. Out: stored results and their [`Table`]. Whoever asks, equal plans have equal results under equal
//! names.

use std::path::{Path, PathBuf};

use warpshard_sync::StopFlag;

use warpshard_report::frame::NoParquet;
use warpshard_sweep::{Digest, Digests, Entry, Plan, Run, Slice, Store, Table};

use super::super::exit::{Exit, Failure};
use super::super::output;
use super::execute::{self, Done, Limits};
use super::prepare::{self, Prepared};
use super::watch::Watch;

/// A plan whose runs are checked, and the folder of its results.
#[derive(Debug)]
pub struct Planned {
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
    pub fn new(plan: &Plan, out: Option<&Path>) -> Result<Self, Failure> {
        let store = Store::open(&folder(out, plan))?;
        let known = Digests::new(&store.path("inputs.json"));
        let (prepared, warnings) = prepare::prepare(plan.runs(), &known)?;
        known.keep();
        Ok(Self { keys: plan.keys(), prepared, store, warnings })
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
    pub fn simulate(&self, slice: Option<Slice>, limits: Limits, stop: &StopFlag, watch: Box<dyn Watch + '_>) -> Result<Done, Failure> {
        let wanted: Vec<&Prepared> = self.prepared.iter().filter(|one| slice.is_none_or(|slice| slice.has(one.run.number))).collect();
        execute::execute(&wanted, &self.store, limits, stop, watch)
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
    pub fn collect(&self, parquet: bool) -> Result<Table, Failure> {
        if parquet {
            NoParquet::check()?;
        }
        let table = self.table();
        output::file(&self.path("sweep.csv"), table.frame.csv().as_bytes())?;
        if parquet {
            output::file(&self.path("sweep.parquet"), &table.frame.parquet()?)?;
        }
        Ok(table)
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

/// Where the results of a plan go.
pub(super) fn folder(asked: Option<&Path>, plan: &Plan) -> PathBuf {
    asked.map_or_else(|| PathBuf::from(format!("results/sweep-{}", plan.name)), Path::to_path_buf)
}
