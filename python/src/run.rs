//! Runs in background threads, which Python can observe, wait for and cancel.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::{Value, json};

use warpshard::catalogue;
use warpshard::chip::Progress;
use warpshard::config::Loaded;
use warpshard::control::Controller;
use warpshard::run::{Error, Exit, OpenedRun, Request, remove_checkpoint};
use warpshard::stats::EndedBy;
use warpshard::workload::Workload;
use warpshard_sync::{Published, StopFlag};

use crate::background::Task;
use crate::control::{PyController, RaisedError};
use crate::device::Device;
use crate::errors::Failure;
use crate::machine::Machine;
use crate::result::Outcome;

/// A started run.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Run {
    task: Task<Outcome>,
    warnings: Arc<Mutex<Vec<String>>>,
    stop: StopFlag,
    progress: Published<Progress>,
    raised: RaisedError,
}

/// Inputs of a run's thread.
struct PreparedJob {
    request: Request,
    machine: Option<Loaded>,
    workload: Option<Workload>,
    controllers: Vec<Box<dyn Controller>>,
    stop: StopFlag,
    progress: Published<Progress>,
}

impl PreparedJob {
    fn run(self, warnings: &Mutex<Vec<String>>) -> Result<Outcome, Error> {
        let Self { request, machine, workload, controllers, stop, progress } = self;
        let opened = match machine {
            Some(loaded) => OpenedRun::with_machine(catalogue(), &request, loaded)?,
            None => OpenedRun::new(catalogue(), &request)?,
        };
        *warnings.lock().unwrap_or_else(PoisonError::into_inner) = opened.warnings().collect();
        let partitions = opened.machine().mem.map.partitions;
        let ready = match workload {
            Some(workload) => opened.with_workload(workload)?,
            None => opened.load()?,
        };
        let finished = ready.simulate(controllers, stop, Some(progress))?;
        if matches!(finished.outcome.ended_by, EndedBy::Completed | EndedBy::Controller | EndedBy::MaxInstructions) {
            remove_checkpoint(&request)?;
        }
        Ok(Outcome::new(finished, partitions))
    }
}

/// Parses a request. The message of an error begins with the name of the part that has the error.
fn read(text: &str) -> Result<Request, Failure> {
    let request = |value: Value| serde_json::from_value::<Request>(value);
    let given: Value = serde_json::from_str(text).map_err(|error| Failure::new(Exit::Usage, error))?;
    request(given.clone()).map_err(|whole| {
        // Every part has a default, so that a single part is a valid request.
        let mut parts = Vec::new();
        for (name, value) in given.as_object().into_iter().flatten() {
            match value.as_object().filter(|_| name == "cpu") {
                Some(of_cpu) => parts.extend(of_cpu.iter().map(|(part, value)| (format!("cpu {part}"), json!({ "cpu": { part: value } })))),
                None => parts.push((name.clone(), json!({ name: value }))),
            }
        }
        let wrong = parts.into_iter().find_map(|(name, part)| request(part).err().map(|error| format!("{name}: {error}")));
        Failure::new(Exit::Usage, wrong.unwrap_or_else(|| whole.to_string()))
    })
}

#[pymethods]
impl Run {
    /// Starts a run from a request in JSON.
    #[new]
    #[pyo3(signature = (request, machine=None, device=None, controllers=Vec::new()))]
    fn new(
        py: Python<'_>,
        request: &str,
        machine: Option<&Machine>,
        device: Option<&Device>,
        controllers: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let request = read(request)?;
        let raised = RaisedError::default();
        let mut made: Vec<Box<dyn Controller>> = Vec::new();
        for controller in &controllers {
            made.push(Box::new(PyController::new(controller, &raised)?));
        }
        let workload = device.map(|device| device.workload(py)).transpose()?;
        let (warnings, stop, progress) = (Arc::<Mutex<Vec<String>>>::default(), StopFlag::new(), Published::new());
        let job = PreparedJob {
            request,
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

    /// True if the run has ended, with or without an error.
    #[getter]
    fn done(&self) -> bool {
        self.task.done()
    }

    /// Progress of the run: core cycles, warp instructions, ended CTAs, total CTAs.
    #[getter]
    fn progress(&self) -> (u64, u64, u64, u64) {
        self.progress.newest().map_or((0, 0, 0, 0), |seen| (seen.cycles, seen.warp_instructions, seen.ctas_done, seen.ctas))
    }

    /// Warnings about settings that are allowed but probably unintended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the run at its next cut, with complete results up to this cut.
    fn cancel(&self) {
        self.stop.request();
    }

    /// Waits for the end of the run, at most `seconds`; returns true if the run has ended.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        self.task.wait(py, seconds)
    }

    /// Returns the results, or raises the exception that ended the run.
    fn outcome(&self, py: Python<'_>) -> PyResult<Outcome> {
        if let Some(error) = &*self.raised.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.clone_ref(py));
        }
        Ok(self.task.outcome()??)
    }
}

impl Drop for Run {
    /// No Python object can access the results any more.
    fn drop(&mut self) {
        self.stop.request();
    }
}
