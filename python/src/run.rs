//! Runs in the background: a thread each, which Python can look at, wait for and cancel.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use warpshard::chip::Progress;
use warpshard::cli::args::RunArgs;
use warpshard::cli::exit::Failure;
use warpshard::cli::session::{Opened, remove_checkpoint, request};
use warpshard::config::Loaded;
use warpshard::control::Controller;
use warpshard::stats::EndedBy;
use warpshard::workload::Workload;
use warpshard_sync::{Published, StopFlag};

use crate::background::Task;
use crate::control::{PyController, Raised};
use crate::device::Device;
use crate::errors::raise;
use crate::machine::Machine;
use crate::result::Outcome;

/// A run that was started.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Run {
    task: Task<Outcome>,
    warnings: Arc<Mutex<Vec<String>>>,
    stop: StopFlag,
    progress: Published<Progress>,
    raised: Raised,
}

/// All that the thread of a run needs.
struct Job {
    arguments: Vec<OsString>,
    args: RunArgs,
    machine: Option<Loaded>,
    workload: Option<Workload>,
    controllers: Vec<Box<dyn Controller>>,
    stop: StopFlag,
    progress: Published<Progress>,
}

impl Job {
    fn run(self, warnings: &Mutex<Vec<String>>) -> Result<Outcome, Failure> {
        let Self { arguments, args, machine, workload, controllers, stop, progress } = self;
        let opened = match machine {
            Some(loaded) => Opened::with_machine(&args, &arguments, loaded)?,
            None => Opened::new(&args, &arguments)?,
        };
        *warnings.lock().unwrap_or_else(PoisonError::into_inner) = opened.warnings().collect();
        let partitions = opened.machine().mem.map.partitions;
        let ready = match workload {
            Some(workload) => opened.with_workload(workload)?,
            None => opened.load()?,
        };
        let finished = ready.simulate(controllers, stop, Some(progress))?;
        if matches!(finished.outcome.ended_by, EndedBy::Completed | EndedBy::Controller) {
            remove_checkpoint(&args)?;
        }
        Ok(Outcome::new(finished, partitions))
    }
}

#[pymethods]
impl Run {
    /// Starts a run with the options of `warpshard run`, which `arguments` gives as the command line would.
    #[new]
    #[pyo3(signature = (arguments, machine=None, device=None, controllers=Vec::new()))]
    fn new(
        py: Python<'_>,
        arguments: Vec<OsString>,
        machine: Option<&Machine>,
        device: Option<&Device>,
        controllers: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let args = request(&arguments).map_err(raise)?;
        let raised = Raised::default();
        let mut made: Vec<Box<dyn Controller>> = Vec::new();
        for controller in &controllers {
            made.push(Box::new(PyController::new(controller, &raised)?));
        }
        let workload = device.map(|device| device.workload(py)).transpose()?;
        let (warnings, stop, progress) = (Arc::<Mutex<Vec<String>>>::default(), StopFlag::new(), Published::new());
        let job = Job {
            arguments,
            args,
            machine: machine.and_then(Machine::unnamed),
            workload,
            controllers: made,
            stop: stop.clone(),
            progress: progress.clone(),
        };
        let seen = Arc::clone(&warnings);
        let task = Task::start(move || job.run(&seen))?;
        Ok(Self { task, warnings, stop, progress, raised })
    }

    /// Whether the run has ended, well or not.
    #[getter]
    fn done(&self) -> bool {
        self.task.done()
    }

    /// How far the run is: core cycles, warp instructions, CTAs that ended, CTAs in all.
    #[getter]
    fn progress(&self) -> (u64, u64, u64, u64) {
        self.progress.newest().map_or((0, 0, 0, 0), |seen| (seen.cycles, seen.warp_instructions, seen.ctas_done, seen.ctas))
    }

    /// What is allowed but probably not intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the run at its next cut; its results are complete up to there.
    fn cancel(&self) {
        self.stop.request();
    }

    /// Waits for the end, at most `seconds`; whether the run has ended.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        self.task.wait(py, seconds)
    }

    /// The results, or the exception that ended the run.
    fn outcome(&self, py: Python<'_>) -> PyResult<Outcome> {
        if let Some(error) = &*self.raised.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.clone_ref(py));
        }
        self.task.outcome()?.map_err(raise)
    }
}

impl Drop for Run {
    /// Nobody can ask for the results any more.
    fn drop(&mut self) {
        self.stop.request();
    }
}
