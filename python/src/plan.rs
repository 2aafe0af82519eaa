//! Plans: many runs, simulated in this process and stored by content, in the folders of `warpshard sweep`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;

use warpshard::catalogue;
use warpshard::report::frame::Frame;
use warpshard::run::Exit;
use warpshard::sweep::{
    Bytes, BytesError, Limits, Plan as Model, PreparedSweep, RunCounts, Slice, SliceError, StoreEntry, SweepError, SweepWatch,
};
use warpshard_sync::{Published, StopFlag};

use crate::background::Task;
use crate::errors::Failure;
use crate::table::{Columns, Table};

/// A plan: every combination of machines, workloads, policies, changes and seeds.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Plan {
    plan: Model,
    text: String,
}

#[pymethods]
impl Plan {
    /// Creates a plan from a JSON object with the keys of plan files, or from the text of a plan file.
    #[new]
    #[pyo3(signature = (name, json=None, text=None))]
    fn new(name: &str, json: Option<&str>, text: Option<String>) -> PyResult<Self> {
        let text = match (json, text) {
            (Some(json), None) => {
                let made = serde_json::from_str(json).map_err(|error| Failure::new(Exit::Usage, error))?;
                Model::text_of(&made).map_err(|error| Failure::new(Exit::Usage, error))?
            }
            (_, text) => text.unwrap_or_default(),
        };
        let plan = Model::parse(name, &text).map_err(Failure::from)?;
        Ok(Self { plan, text })
    }

    /// Reads a plan file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let plan = Model::read(&path).map_err(Failure::from)?;
        let text = warpshard::config::input::read_text(&path).map_err(|error| Failure::new(Exit::Config, error))?;
        Ok(Self { plan, text })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// Text of the plan file.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Returns the options of every run in one line.
    fn runs(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.plan.runs().iter().map(|run| run.line()).collect())
    }
}

/// Numbers of ended runs, failed runs, active runs, and runs to simulate.
type Counts = (usize, usize, usize, usize);

/// Publishes the progress of a sweep.
struct ProgressCounter {
    all: usize,
    published: Published<Counts>,
}

impl SweepWatch for ProgressCounter {
    fn begin(&mut self, all: usize) {
        self.all = all;
        self.published.publish((0, 0, 0, all));
    }

    fn show(&mut self, ended: usize, failed: usize, active: usize) {
        self.published.publish((ended, failed, active, self.all));
    }

    fn report_failure(&mut self, _text: &str) {}
}

/// The results of a sweep that has ended.
#[derive(Clone, Debug)]
struct SweepResults {
    done: RunCounts,
    frame: Arc<Frame>,
    missing: usize,
    folders: Vec<Option<PathBuf>>,
    /// The first failed run, with its number.
    failure: Option<(usize, Failure)>,
    warnings: Vec<String>,
}

/// A started sweep.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Sweep {
    task: Task<SweepResults>,
    stop: StopFlag,
    counts: Published<Counts>,
}

/// The requested parts of a sweep.
#[derive(Clone, Copy, Debug)]
struct SweepOptions {
    simulates: bool,
    slice: Option<Slice>,
    limits: Limits,
}

fn options(memory: Option<&str>, slice: Option<&str>) -> Result<(Option<Bytes>, Option<Slice>), Failure> {
    let wrong = |what: &str, problem: &dyn std::error::Error| Failure::new(Exit::Usage, format!("{what}: {problem}"));
    let memory = memory.map(str::parse).transpose().map_err(|problem: BytesError| wrong("memory", &problem))?;
    let slice = slice.map(str::parse).transpose().map_err(|problem: SliceError| wrong("slice", &problem))?;
    Ok((memory, slice))
}

/// Executes a sweep.
fn sweep(
    plan: &Model,
    out: Option<&Path>,
    asked: SweepOptions,
    stop: &StopFlag,
    watch: ProgressCounter,
) -> Result<SweepResults, SweepError> {
    let SweepOptions { simulates, slice, limits } = asked;
    let planned = PreparedSweep::new(catalogue(), plan, out)?;
    let done = if simulates { planned.simulate(slice, limits, stop, Box::new(watch))? } else { RunCounts::default() };
    // A slice does not write the table, which is collected separately.
    let table = if slice.is_some() { planned.table() } else { planned.collect(false)? };
    let failure =
        planned.runs().filter(|(run, ..)| slice.is_none_or(|slice| slice.contains(run.number))).find_map(|(run, _, entry)| match entry {
            StoreEntry::Failed(code, message) => Some((run.number, Failure::new(Exit::from_code(code), message))),
            _ => None,
        });
    let folder = |entry| if let StoreEntry::Done(folder) = entry { Some(folder) } else { None };
    let folders = planned.runs().map(|(.., entry)| folder(entry)).collect();
    Ok(SweepResults { done, frame: Arc::new(table.frame), missing: table.missing, folders, failure, warnings: planned.warnings().to_vec() })
}

#[pymethods]
impl Sweep {
    /// Starts a sweep with the options of `warpshard sweep`.
    #[new]
    #[pyo3(signature = (plan, out=None, jobs=None, memory=None, slice=None, simulates=true))]
    fn new(
        plan: &Plan,
        out: Option<PathBuf>,
        jobs: Option<usize>,
        memory: Option<&str>,
        slice: Option<&str>,
        simulates: bool,
    ) -> PyResult<Self> {
        let (memory, slice) = options(memory, slice)?;
        let asked = SweepOptions { simulates, slice, limits: Limits { jobs: jobs.map(|jobs| jobs.max(1)), memory } };
        let (stop, counts) = (StopFlag::new(), Published::new());
        let (model, flag, watch) = (plan.plan.clone(), stop.clone(), ProgressCounter { all: 0, published: counts.clone() });
        let task = Task::start(move || sweep(&model, out.as_deref(), asked, &flag, watch))?;
        Ok(Self { task, stop, counts })
    }

    /// True if the sweep has ended, with or without an error.
    #[getter]
    fn done(&self) -> bool {
        self.task.done()
    }

    /// Numbers of ended runs, failed runs, active runs, and runs to simulate.
    #[getter]
    fn progress(&self) -> Counts {
        self.counts.newest().map_or((0, 0, 0, 0), |counts| *counts)
    }

    /// Cancels the sweep; finished runs are stored.
    fn cancel(&self) {
        self.stop.request();
    }

    /// Waits for the end of the sweep, at most `seconds`; returns true if it has ended.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        self.task.wait(py, seconds)
    }

    /// Returns the table of the existing results; with `strict`, raises the exception of the first failed run.
    fn table(&self, strict: bool) -> PyResult<Table> {
        let ended = self.task.outcome()??;
        if let (true, Some((number, failure))) = (strict, ended.failure) {
            return Err(Failure::new(failure.exit, format!("run {number} of the plan failed: {}", failure.message)).into());
        }
        Columns::of(&ended.frame).table()
    }

    /// Returns the result folder of each run, or None for a run without results.
    fn folders(&self) -> PyResult<Vec<Option<PathBuf>>> {
        Ok(self.task.outcome()??.folders)
    }

    /// Returns the numbers of simulated runs, of runs with earlier results, and of missing runs.
    fn counts(&self) -> PyResult<(usize, usize, usize)> {
        let ended = self.task.outcome()??;
        Ok((ended.done.simulated, ended.done.stored, ended.missing))
    }

    /// Returns warnings about settings that are allowed but probably unintended.
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.task.outcome()??.warnings)
    }
}

impl Drop for Sweep {
    /// No Python object can access the results any more.
    fn drop(&mut self) {
        self.stop.request();
    }
}
