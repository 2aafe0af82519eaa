//! Runs in the background: a thread each, which Python can look at, wait for and cancel.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use warpshard::chip::Progress;
use warpshard::cli::args::RunArgs;
use warpshard::cli::exit::{Exit, Failure};
use warpshard::cli::session::{Opened, request};
use warpshard::config::Loaded;
use warpshard::control::Controller;
use warpshard::frontend::Workload;
use warpshard_sync::{Published, StopFlag};

use crate::control::{PyController, Raised};
use crate::device::Device;
use crate::errors::raise;
use crate::machine::Machine;
use crate::result::Outcome;

/// The longest time for which Python's signals wait.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct Shared {
    ended: Mutex<Option<Result<Outcome, Failure>>>,
    changed: Condvar,
    warnings: Mutex<Vec<String>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Result<Outcome, Failure>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that was started.
#[pyclass(module = "warpshard._native", frozen)]
pub(crate) struct Run {
    shared: Arc<Shared>,
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
    fn run(self, shared: &Shared) -> Result<Outcome, Failure> {
        let Self { arguments, args, machine, workload, controllers, stop, progress } = self;
        let opened = match machine {
            Some(loaded) => Opened::with_machine(&args, &arguments, loaded)?,
            None => Opened::new(&args, &arguments)?,
        };
        *shared.warnings.lock().unwrap_or_else(PoisonError::into_inner) = opened.warnings().collect();
        let partitions = opened.machine().mem.map.partitions;
        let ready = match workload {
            Some(workload) => opened.with_workload(workload)?,
            None => opened.load()?,
        };
        Ok(Outcome::new(ready.simulate(controllers, stop, Some(progress))?, partitions))
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
        let (shared, stop, progress) = (Arc::new(Shared::default()), StopFlag::new(), Published::new());
        let job = Job {
            arguments,
            args,
            machine: machine.and_then(Machine::unnamed),
            workload,
            controllers: made,
            stop: stop.clone(),
            progress: progress.clone(),
        };
        let seen = Arc::clone(&shared);
        let work = move || {
            let ended = catch_unwind(AssertUnwindSafe(|| job.run(&seen)));
            let ended = ended.unwrap_or_else(|_| Err(Failure::new(Exit::Internal, "a panic, whose message is on standard error")));
            *seen.lock() = Some(ended);
            seen.changed.notify_all();
        };
        let started = std::thread::Builder::new().name("warpshard".into()).spawn(work);
        started.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
        Ok(Self { shared, stop, progress, raised })
    }

    /// Whether the run has ended, well or not.
    #[getter]
    fn done(&self) -> bool {
        self.shared.lock().is_some()
    }

    /// How far the run is: core cycles, warp instructions, CTAs that ended, CTAs in all.
    #[getter]
    fn progress(&self) -> (u64, u64, u64, u64) {
        self.progress.newest().map_or((0, 0, 0, 0), |seen| (seen.cycles, seen.warp_instructions, seen.ctas_done, seen.ctas))
    }

    /// What is allowed but probably not intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the run at its next cut; its results are complete up to there.
    fn cancel(&self) {
        self.stop.request();
    }

    /// Waits for the end, at most `seconds`; whether the run has ended.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()).min(LOOK));
            let done = py.detach(|| {
                let ended = self.shared.lock();
                let (ended, _) =
                    self.shared.changed.wait_timeout_while(ended, left, |ended| ended.is_none()).unwrap_or_else(PoisonError::into_inner);
                ended.is_some()
            });
            if done || end.is_some_and(|end| Instant::now() >= end) {
                return Ok(done);
            }
            py.check_signals()?;
        }
    }

    /// The results, or the exception that ended the run.
    fn outcome(&self, py: Python<'_>) -> PyResult<Outcome> {
        if let Some(error) = &*self.raised.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.clone_ref(py));
        }
        match &*self.shared.lock() {
            Some(Ok(outcome)) => Ok(outcome.clone()),
            Some(Err(failure)) => Err(raise(failure.clone())),
            None => Err(PyRuntimeError::new_err("the run has not ended; wait() for it")),
        }
    }
}

impl Drop for Run {
    /// Nobody can ask for the results any more.
    fn drop(&mut self) {
        self.stop.request();
    }
}
