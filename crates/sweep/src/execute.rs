//! Simulation of the runs of a sweep: several at the same time in this process, each stored when it has ended.

use std::collections::BTreeSet;
use std::fmt;
use std::num::{NonZero, NonZeroU32};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpshard_report::text::count_with_noun;
use warpshard_report::{FolderError, ResultFile};
use warpshard_run::{Catalogue, Exit, OpenedRun, Request};
use warpshard_stats::EndedBy;
use warpshard_sync::StopFlag;

use super::error::{RunFailure, SweepError};
use super::memory::{Bytes, MemoryGate};
use super::prepare::PreparedRun;
use super::store::{Staging, Store};
use super::watch::SweepWatch;

/// Time between two checks for enough memory to begin the next run.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of failed runs whose messages are shown during the sweep; the table has all messages.
const MAX_SHOWN_FAILURES: usize = 5;

/// Limits of all concurrent runs together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Maximum number of concurrent runs; `None` means one per core.
    pub jobs: Option<usize>,
    /// Memory limit; `None` means the free memory.
    pub memory: Option<Bytes>,
}

/// Numbers of runs by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Runs that were simulated.
    pub simulated: usize,
    /// Runs whose results already existed.
    pub stored: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Runs that were not started, or were interrupted.
    pub remaining: usize,
    /// True if the user interrupted the sweep.
    pub interrupted: bool,
}

impl fmt::Display for RunCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} simulated, {} from before", count_with_noun(self.simulated as u64, "run"), self.stored)?;
        if self.failed > 0 {
            write!(f, ", {} failed", self.failed)?;
        }
        if self.remaining > 0 {
            write!(f, ", {} left", self.remaining)?;
        }
        Ok(())
    }
}

/// State that the workers share.
struct SweepState<'a> {
    next_run: usize,
    active_runs: usize,
    done: RunCounts,
    gate: MemoryGate,
    watch: Box<dyn SweepWatch + 'a>,
    /// Error of storing results, which ends the sweep.
    store_error: Option<FolderError>,
}

struct SweepExecution<'a> {
    catalogue: &'a Catalogue,
    runs: Vec<&'a PreparedRun>,
    threads: usize,
    staging: Staging<'a>,
    stop: StopFlag,
    state: Mutex<SweepState<'a>>,
    state_changed: Condvar,
}

/// Simulates the runs whose results are not in the store.
///
/// # Errors
/// Fails if results cannot be stored.
pub(super) fn execute<'a>(
    catalogue: &'a Catalogue,
    wanted: &[&'a PreparedRun],
    store: &'a Store,
    limits: Limits,
    stop: &StopFlag,
    mut watch: Box<dyn SweepWatch + 'a>,
) -> Result<RunCounts, SweepError> {
    let mut known = BTreeSet::new();
    let runs: Vec<&'a PreparedRun> = wanted.iter().copied().filter(|run| known.insert(run.digest) && !store.has(run.digest)).collect();
    let different = known.len();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = limits.jobs.unwrap_or(cores).min(runs.len());
    watch.begin(runs.len());
    let shared = SweepState {
        next_run: 0,
        active_runs: 0,
        done: RunCounts { stored: different - runs.len(), ..RunCounts::default() },
        gate: MemoryGate::new(limits.memory),
        watch,
        store_error: None,
    };
    // If there are fewer runs than cores, each run gets several threads, which do not affect its results.
    let threads = (cores / jobs.max(1)).max(1);
    let sweep = SweepExecution {
        catalogue,
        runs,
        threads,
        staging: store.staging()?,
        stop: stop.clone(),
        state: Mutex::new(shared),
        state_changed: Condvar::new(),
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(|| sweep.run_worker()))));
    let SweepState { mut done, store_error, mut watch, .. } = sweep.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch.end();
    done.remaining = sweep.runs.len() - done.simulated - done.failed;
    done.interrupted = sweep.stop.requested() && store_error.is_none();
    store_error.map_or(Ok(done), |error| Err(error.into()))
}

impl<'a> SweepExecution<'a> {
    fn lock(&self) -> MutexGuard<'_, SweepState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_worker(&self) {
        while let Some(run) = self.next() {
            // A panic in one run does not end the other runs; the panic hook has printed its message.
            let ended = catch_unwind(AssertUnwindSafe(|| self.simulate_run(run)));
            let panicked = |_| Err(RunFailure { exit: Exit::Internal, message: "a panic, whose message was on standard error".to_owned() });
            self.store_result(run, ended.unwrap_or_else(panicked));
        }
    }

    /// Waits until memory allows another run and returns the next one.
    fn next(&self) -> Option<&PreparedRun> {
        let mut shared = self.lock();
        loop {
            if self.stop.requested() || shared.store_error.is_some() || shared.next_run == self.runs.len() {
                return None;
            }
            let active = shared.active_runs;
            if shared.gate.can_start(active) {
                break;
            }
            shared = self.state_changed.wait_timeout(shared, RETRY_PERIOD).unwrap_or_else(PoisonError::into_inner).0;
        }
        shared.next_run += 1;
        shared.active_runs += 1;
        Some(self.runs[shared.next_run - 1])
    }

    /// Simulates a run and returns its files; `None` if it was interrupted.
    fn simulate_run(&self, run: &PreparedRun) -> Result<Option<Vec<ResultFile>>, RunFailure> {
        let threads = NonZeroU32::new(self.threads as u32);
        let request = Request { threads, ..run.run.request.clone() };
        let ready = OpenedRun::new(self.catalogue, &request)?.load()?;
        let finished = ready.simulate(Vec::new(), self.stop.clone(), None)?;
        Ok((finished.outcome.ended_by != EndedBy::Interrupted).then(|| finished.tables()))
    }

    fn store_result(&self, run: &PreparedRun, ended: Result<Option<Vec<ResultFile>>, RunFailure>) {
        let stored = match &ended {
            Ok(Some(files)) => self.staging.store_files(run.digest, files),
            Ok(None) => Ok(()),
            Err(failure) => self.staging.store_failure(run.digest, failure.exit as u8, &failure.message),
        };
        let mut shared = self.lock();
        shared.active_runs -= 1;
        match ended {
            Ok(Some(_)) => shared.done.simulated += 1,
            Ok(None) => {}
            Err(failure) => {
                shared.done.failed += 1;
                if shared.done.failed <= MAX_SHOWN_FAILURES {
                    shared.watch.report_failure(&format!(
                        "run {} failed: {}\n{}",
                        run.run.number,
                        run.run.line(),
                        failure.message.trim_end()
                    ));
                }
            }
        }
        if let Err(error) = stored {
            shared.store_error.get_or_insert(error);
        }
        let (done, active) = (shared.done, shared.active_runs);
        shared.watch.show(done.simulated + done.failed, done.failed, active);
        drop(shared);
        self.state_changed.notify_all();
    }
}
