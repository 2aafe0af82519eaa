//! Plans: many runs, simulated in this process and stored by content, in the folders of `warpshard sweep`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;

use warpshard::catalogue;
use warpshard::report::frame::Frame;
use warpshard::run::Exit;
use warpshard::sweep::{Bytes, BytesError, Done, Entry, Limits, Plan as Model, Planned, Slice, SliceError, SweepError, Watch};
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
    /// A plan from an object of JSON with the keys of plan files, or from the text of such a file.
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

    /// The text of the plan file.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The options of every run in one line.
    fn runs(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.plan.runs().iter().map(|run| run.line()).collect())
    }
}

/// Runs that have ended, runs of them that failed, runs that are running, and runs to be simulated.
type Counts = (usize, usize, usize, usize);

/// Publishes how far a sweep is.
struct Counted {
    all: usize,
    published: Published<Counts>,
}

impl Watch for Counted {
    fn begin(&mut self, all: usize) {
        self.all = all;
        self.published.publish((0, 0, 0, all));
    }

    fn show(&mut self, ended: usize, failed: usize, active: usize) {
        self.published.publish((ended, failed, active, self.all));
    }

    fn say(&mut self, _text: &str) {}
}

/// What is left of a sweep when it has ended.
#[derive(Clone, Debug)]
struct Ended {
    done: Done,
    frame: Arc<Frame>,
    missing: usize,
    folders: Vec<Option<PathBuf>>,
    /// The first run that failed, with its number.
    failure: Option<(usize, Failure)>,
    warnings: Vec<String>,
}

/// A sweep that was started.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Sweep {
    task: Task<Ended>,
    stop: StopFlag,
    counts: Published<Counts>,
}

/// What is to be done with a plan.
#[derive(Clone, Copy, Debug)]
struct Asked {
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

/// Everything that a sweep does.
fn sweep(plan: &Model, out: Option<&Path>, asked: Asked, stop: &StopFlag, watch: Counted) -> Result<Ended, SweepError> {
    let Asked { simulates, slice, limits } = asked;
    let planned = Planned::new(catalogue(), plan, out)?;
    let done = if simulates { planned.simulate(slice, limits, stop, Box::new(watch))? } else { Done::default() };
    // A slice leaves the table to whoever collects.
    let table = if slice.is_some() { planned.table() } else { planned.collect(false)? };
    let failure =
        planned.runs().filter(|(run, ..)| slice.is_none_or(|slice| slice.has(run.number))).find_map(|(run, _, entry)| match entry {
            Entry::Failed(code, message) => Some((run.number, Failure::new(Exit::from_code(code), message))),
            _ => None,
        });
    let folder = |entry| if let Entry::Done(folder) = entry { Some(folder) } else { None };
    let folders = planned.runs().map(|(.., entry)| folder(entry)).collect();
    Ok(Ended { done, frame: Arc::new(table.frame), missing: table.missing, folders, failure, warnings: planned.warnings().to_vec() })
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
        let asked = Asked { simulates, slice, limits: Limits { jobs: jobs.map(|jobs| jobs.max(1)), memory } };
        let (stop, counts) = (StopFlag::new(), Published::new());
        let (model, flag, watch) = (plan.plan.clone(), stop.clone(), Counted { all: 0, published: counts.clone() });
        let task = Task::start(move || sweep(&model, out.as_deref(), asked, &flag, watch))?;
        Ok(Self { task, stop, counts })
    }

    /// Whether it has ended, well or not.
    #[getter]
    fn done(&self) -> bool {
        self.task.done()
    }

    /// Runs that have ended, runs of them that failed, runs that are running, and runs in all that were not there.
    #[getter]
    fn progress(&self) -> Counts {
        self.counts.newest().map_or((0, 0, 0, 0), |counts| *counts)
    }

    /// Ends it; finished runs are stored.
    fn cancel(&self) {
        self.stop.request();
    }

    /// Waits for the end, at most `seconds`; whether it has come.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        self.task.wait(py, seconds)
    }

    /// The table of what there is; with `strict` the exception of the first run that failed.
    fn table(&self, strict: bool) -> PyResult<Table> {
        let ended = self.task.outcome()??;
        if let (true, Some((number, failure))) = (strict, ended.failure) {
            return Err(Failure::new(failure.exit, format!("run {number} of the plan failed: {}", failure.message)).into());
        }
        Columns::of(&ended.frame).table()
    }

    /// The result folder of each run; None where it has no results.
    fn folders(&self) -> PyResult<Vec<Option<PathBuf>>> {
        Ok(self.task.outcome()??.folders)
    }

    /// Runs that were simulated, runs that were there, and runs that are missing.
    fn counts(&self) -> PyResult<(usize, usize, usize)> {
        let ended = self.task.outcome()??;
        Ok((ended.done.simulated, ended.done.earlier, ended.missing))
    }

    /// What is allowed but probably not intended.
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.task.outcome()??.warnings)
    }
}

impl Drop for Sweep {
    /// Nobody can ask for the results any more.
    fn drop(&mut self) {
        self.stop.request();
    }
}
