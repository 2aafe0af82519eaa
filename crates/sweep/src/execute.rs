//! Simulation of the runs of a sweep: several at the same time in this process, each stored when it has ended.

use std::collections::BTreeSet;
use std::fmt;
use std::num::{NonZero, NonZeroU32};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpshard_report::text::counted;
use warpshard_report::{FolderError, ResultFile};
use warpshard_run::{Catalogue, Exit, Opened, Request};
use warpshard_stats::EndedBy;
use warpshard_sync::StopFlag;

use super::error::{Failed, SweepError};
use super::memory::{Bytes, Gate};
use super::prepare::Prepared;
use super::store::{Staging, Store};
use super::watch::Watch;

/// Time between two checks for enough memory to begin the next run.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of failed runs whose messages are shown during the sweep; the table has all messages.
const MAX_SHOWN: usize = 5;

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
pub struct Done {
    /// Runs that were simulated.
    pub simulated: usize,
    /// Runs whose results already existed.
    pub earlier: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Runs that were not started, or were interrupted.
    pub left: usize,
    /// True if the user interrupted the sweep.
    pub interrupted: bool,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} simulated, {} from before", counted(self.simulated as u64, "run"), self.earlier)?;
        if self.failed > 0 {
            write!(f, ", {} failed", self.failed)?;
        }
        if self.left > 0 {
            write!(f, ", {} left", self.left)?;
        }
        Ok(())
    }
}

/// State that the workers share.
struct Shared<'a> {
    next: usize,
    active: usize,
    done: Done,
    gate: Gate,
    watch: Box<dyn Watch + 'a>,
    /// Error of storing results, which ends the sweep.
    store_error: Option<FolderError>,
}

struct Sweep<'a> {
    catalogue: &'a Catalogue,
    runs: Vec<&'a Prepared>,
    threads: usize,
    staging: Staging<'a>,
    stop: StopFlag,
    shared: Mutex<Shared<'a>>,
    changed: Condvar,
}

/// Simulates the runs whose results are not in the store.
///
/// # Errors
/// Fails if results cannot be stored.
pub(super) fn execute<'a>(
    catalogue: &'a Catalogue,
    wanted: &[&'a Prepared],
    store: &'a Store,
    limits: Limits,
    stop: &StopFlag,
    mut watch: Box<dyn Watch + 'a>,
) -> Result<Done, SweepError> {
    let mut known = BTreeSet::new();
    let runs: Vec<&'a Prepared> = wanted.iter().copied().filter(|run| known.insert(run.digest) && !store.has(run.digest)).collect();
    let different = known.len();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = limits.jobs.unwrap_or(cores).min(runs.len());
    watch.begin(runs.len());
    let shared = Shared {
        next: 0,
        active: 0,
        done: Done { earlier: different - runs.len(), ..Done::default() },
        gate: Gate::new(limits.memory),
        watch,
        store_error: None,
    };
    // If there are fewer runs than cores, each run gets several threads, which do not affect its results.
    let threads = (cores / jobs.max(1)).max(1);
    let sweep = Sweep {
        catalogue,
        runs,
        threads,
        staging: store.staging()?,
        stop: stop.clone(),
        shared: Mutex::new(shared),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(|| sweep.work()))));
    let Shared { mut done, store_error, mut watch, .. } = sweep.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch.end();
    done.left = sweep.runs.len() - done.simulated - done.failed;
    done.interrupted = sweep.stop.requested() && store_error.is_none();
    store_error.map_or(Ok(done), |error| Err(error.into()))
}

impl<'a> Sweep<'a> {
    fn lock(&self) -> MutexGuard<'_, Shared<'a>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(run) = self.next() {
            // A panic in one run does not end the other runs; the panic hook has printed its message.
            let ended = catch_unwind(AssertUnwindSafe(|| self.one(run)));
            let panicked = |_| Err(Failed { exit: Exit::Internal, message: "a panic, whose message was on standard error".to_owned() });
            self.store(run, ended.unwrap_or_else(panicked));
        }
    }

    /// Waits until memory allows another run and returns the next one.
    fn next(&self) -> Option<&Prepared> {
        let mut shared = self.lock();
        loop {
            if self.stop.requested() || shared.store_error.is_some() || shared.next == self.runs.len() {
                return None;
            }
            let active = shared.active;
            if shared.gate.can_start(active) {
                break;
            }
            shared = self.changed.wait_timeout(shared, RETRY_PERIOD).unwrap_or_else(PoisonError::into_inner).0;
        }
        shared.next += 1;
        shared.active += 1;
        Some(self.runs[shared.next - 1])
    }

    /// Simulates a run and returns its files; `None` if it was interrupted.
    fn one(&self, run: &Prepared) -> Result<Option<Vec<ResultFile>>, Failed> {
        let threads = NonZeroU32::new(self.threads as u32);
        let request = Request { threads, ..run.run.request.clone() };
        let ready = Opened::new(self.catalogue, &request)?.load()?;
        let finished = ready.simulate(Vec::new(), self.stop.clone(), None)?;
        Ok((finished.outcome.ended_by != EndedBy::Interrupted).then(|| finished.tables()))
    }

    fn store(&self, run: &Prepared, ended: Result<Option<Vec<ResultFile>>, Failed>) {
        let stored = match &ended {
            Ok(Some(files)) => self.staging.put(run.digest, files),
            Ok(None) => Ok(()),
            Err(failure) => self.staging.fail(run.digest, failure.exit as u8, &failure.message),
        };
        let mut shared = self.lock();
        shared.active -= 1;
        match ended {
            Ok(Some(_)) => shared.done.simulated += 1,
            Ok(None) => {}
            Err(failure) => {
                shared.done.failed += 1;
                if shared.done.failed <= MAX_SHOWN {
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
        let (done, active) = (shared.done, shared.active);
        shared.watch.show(done.simulated + done.failed, done.failed, active);
        drop(shared);
        self.changed.notify_all();
    }
}
