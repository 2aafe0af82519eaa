//! The laboratory: what every study is made with.
//!
//! - a [`Study`](request::Study) is a row of a list: its name, what of a [`Request`](request::Request) it takes, and the function that runs it;
//! - tasks ([`Task`], [`job::Job`]) are simulated in parallel, stored by content and returned in the order of their index;
//! - [`published`] reads what a publication states, [`verdict`] grades ours and summarises headlines;
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

/// Something to simulate once. `Display` names it in progress lines and errors.
pub trait Task: fmt::Display + Sync {
    /// What it gives.
    type Result: Serialize + DeserializeOwned + Send;

    /// Everything that the result depends on, except the build of the program.
    ///
    /// # Errors
    /// When the task is not possible as asked,
    fn key(&self) -> Result<String, TaskError>;

    /// The sources of the program that the result depends on.
    fn sources(&self) -> &'static str {
        warpshard_build::SOURCES
    }

    /// Simulates it.
    ///
    /// # Errors
    /// As [`Task::key`].
    fn run(&self) -> Result<Self::Result, TaskError>;
}

/// Receives a line per finished run.
pub type ProgressFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Runs tasks for one study.
#[derive(Clone, Default)]
pub struct Lab {
    /// Where results are stored; nowhere when not given.
    store: Option<PathBuf>,
    progress: Option<ProgressFn>,
    counts: Arc<Mutex<Counts>>,
}

/// How far the tasks of a study are.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Finished tasks.
    done: usize,
    /// Tasks requested so far.
    known: usize,
}

impl Lab {
    /// A laboratory without progress lines.
    pub fn new(store: Option<PathBuf>) -> Self {
        Self { store, ..Self::default() }
    }

    /// The result of one task, read from the store or simulated.
    ///
    /// # Errors
    /// Those of the task, with its name.
    pub fn one<T: Task>(&self, task: &T) -> Result<T::Result, TaskError> {
        self.expect(1);
        self.counted(task, false)
    }

    /// The results of all tasks in their order. Tasks run in parallel, the first ones first.
    ///
    /// # Errors
    /// Those of the tasks, with the name of the first that failed.
    pub fn all<T: Task>(&self, tasks: &[T]) -> Result<Vec<T::Result>, TaskError> {
        self.expect(tasks.len());
        tasks.par_iter().with_max_len(1).map(|task| self.counted(task, true)).collect()
    }

    fn expect(&self, tasks: usize) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).known += tasks;
    }

    /// Runs a task and shows how many are done; of how many, where several were asked for together.
    fn counted<T: Task>(&self, task: &T, several: bool) -> Result<T::Result, TaskError> {
        let result = task.key().and_then(|key| store::stored(self.store.as_deref(), task.sources(), &key, || task.run()));
        let Counts { done, known } = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.done += 1;
            *counts
        };
        if let Some(progress) = &self.progress {
            let of = if several { format!(" of {known}") } else { String::new() };
            progress(&format!("{done:>4}{of}  {task}"));
        }
        result.map_err(|why| TaskError::Of { task: task.to_string(), source: Box::new(why) })
    }
}
