//! The common framework of all studies.
//!
//! - a [`Study`](request::Study) is a row of a list: its name, the options of a [`Request`](request::Request) that it accepts, and the
//!   function that runs it;
//! - tasks ([`Task`], [`job::Job`]) are simulated in parallel, stored by content and returned in the order of their index;
//! - [`published`] reads published values, [`verdict`] grades our results and summarises headlines;
//! - [`output::StudyOutput`] is the result: tables, the comparison, figures and plots.
#![forbid(unsafe_code)]

pub mod error;
pub mod job;
pub mod output;
pub mod programs;
pub mod published;
pub mod reference;
pub mod request;
pub mod statistics;
pub mod stored;
pub mod verdict;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use warpshard_report::store;

use crate::error::TaskError;

/// A simulation that runs once and whose result is stored. `Display` names the task in progress lines and errors.
pub trait Task: fmt::Display + Sync {
    /// Result of the task.
    type Result: Serialize + DeserializeOwned + Send;

    /// Returns a key with everything that the result depends on, except the build of the program.
    ///
    /// # Errors
    /// Fails if the inputs of the task are invalid.
    fn key(&self) -> Result<String, TaskError>;

    /// Returns the digest of the program sources that the result depends on.
    fn sources(&self) -> &'static str {
        warpshard_build::SOURCES_DIGEST
    }

    /// Simulates the task.
    ///
    /// # Errors
    /// Fails as [`Task::key`] does.
    fn run(&self) -> Result<Self::Result, TaskError>;
}

/// A function that receives a line per finished run.
pub type ProgressFn = Arc<dyn Fn(&str) + Send + Sync>;

/// The executor of a study's tasks.
#[derive(Clone, Default)]
pub struct Lab {
    /// Folder of stored results; `None` stores no results.
    store: Option<PathBuf>,
    progress: Option<ProgressFn>,
    counts: Arc<Mutex<TaskCounts>>,
}

/// Progress of a study's tasks.
#[derive(Clone, Copy, Debug, Default)]
struct TaskCounts {
    /// Number of finished tasks.
    finished_tasks: usize,
    /// Number of tasks requested so far.
    requested_tasks: usize,
}

impl Lab {
    /// Creates an executor without progress lines.
    pub fn new(store: Option<PathBuf>) -> Self {
        Self { store, ..Self::default() }
    }

    /// Returns the result of one task, from the store or simulated.
    ///
    /// # Errors
    /// Fails if the task fails; the error has the name of the task.
    pub fn run_task<T: Task>(&self, task: &T) -> Result<T::Result, TaskError> {
        self.add_requested(1);
        self.run_and_count(task, false)
    }

    /// Returns the results of all tasks in their order. Tasks start in their order and run in parallel.
    ///
    /// # Errors
    /// Fails if a task fails; the error has the name of the first failed task.
    pub fn run_tasks<T: Task>(&self, tasks: &[T]) -> Result<Vec<T::Result>, TaskError> {
        self.add_requested(tasks.len());
        tasks.par_iter().with_max_len(1).map(|task| self.run_and_count(task, true)).collect()
    }

    fn add_requested(&self, tasks: usize) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).requested_tasks += tasks;
    }

    /// Runs a task and reports the number of finished tasks, with the total number if `several`.
    fn run_and_count<T: Task>(&self, task: &T, several: bool) -> Result<T::Result, TaskError> {
        let result = task.key().and_then(|key| store::load_or_compute(self.store.as_deref(), task.sources(), &key, || task.run()));
        let TaskCounts { finished_tasks: done, requested_tasks: known } = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.finished_tasks += 1;
            *counts
        };
        if let Some(progress) = &self.progress {
            let of = if several { format!(" of {known}") } else { String::new() };
            progress(&format!("{done:>4}{of}  {task}"));
        }
        result.map_err(|why| TaskError::Of { task: task.to_string(), source: Box::new(why) })
    }
}
