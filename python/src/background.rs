//! Tasks in a separate thread, for which Python waits without holding the interpreter lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use warpshard::run::Exit;

use crate::errors::Failure;

/// Maximum delay of Python's signals.
const SIGNAL_CHECK_PERIOD: Duration = Duration::from_millis(50);

/// A computation in a separate thread; clones share it.
#[derive(Debug)]
pub(crate) struct Task<T>(Arc<TaskState<T>>);

#[derive(Debug)]
struct TaskState<T> {
    result: Mutex<Option<Result<T, Failure>>>,
    result_set: Condvar,
}

impl<T: Clone + Send + 'static> Task<T> {
    /// Starts a thread that executes `work`.
    pub(crate) fn start<E: Into<Failure>>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> PyResult<Self> {
        let task = Self(Arc::new(TaskState { result: Mutex::new(None), result_set: Condvar::new() }));
        let seen = Arc::clone(&task.0);
        let work = move || {
            let panicked = |_| Err(Failure::new(Exit::Internal, "a panic, whose message is on standard error"));
            let ended = catch_unwind(AssertUnwindSafe(work)).map_or_else(panicked, |ended| ended.map_err(Into::into));
            *seen.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            seen.result_set.notify_all();
        };
        let started = std::thread::Builder::new().name("warpshard".into()).spawn(work);
        started.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
        Ok(task)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<T, Failure>>> {
        self.0.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the task has ended, with or without an error.
    pub(crate) fn done(&self) -> bool {
        self.lock().is_some()
    }

    /// Waits for the end of the task, at most `seconds`; returns true if it has ended.
    pub(crate) fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        loop {
            let left = end.map_or(SIGNAL_CHECK_PERIOD, |end| end.saturating_duration_since(Instant::now()).min(SIGNAL_CHECK_PERIOD));
            let done = py.detach(|| {
                let waited = self.0.result_set.wait_timeout_while(self.lock(), left, |ended| ended.is_none());
                waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
            });
            if done || end.is_some_and(|end| Instant::now() >= end) {
                return Ok(done);
            }
            py.check_signals()?;
        }
    }

    /// Returns the result of the task.
    pub(crate) fn outcome(&self) -> PyResult<Result<T, Failure>> {
        self.lock().clone().ok_or_else(|| PyRuntimeError::new_err("the task has not ended; call wait() first"))
    }
}
