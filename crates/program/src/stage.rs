//! Execution of a program's CTAs, which delivers their instruction streams to SMs.
//!
//! The input is a launch and a CTA, requested by an SM, in any order and from any thread. The output is one instruction stream per warp.
//! CTAs execute in program order, on demand; a CTA that executes before its request is kept. A run with several threads has an execution
//! thread, which runs ahead of the requests by at most [`MAX_CTAS_AHEAD`] CTAs and [`MAX_INSTRUCTIONS_AHEAD`] instructions, so that SMs seldom wait. The
//! streams are the same with and without this thread.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use warpshard_base::{CtaIndex, LINE_BYTES};
use warpshard_state::{Reader, State, StateError, Writer};
use warpshard_workload::{CodeRequirements, CtaProgram, CtaSource, LaunchCounts, MemSpace, OpClass, WarpStream};

use super::error::ProgramError;
use super::exec::Tally;
use super::run::Runner;
use super::{BoundLaunch, Program, WorkloadOptions};

/// Maximum CTAs that execute ahead of the last requested one: two for each SM of a large GPU.
const MAX_CTAS_AHEAD: u32 = 264;
/// Warp instructions kept ahead of the requests at which the execution thread pauses; they take about 100 megabytes.
const MAX_INSTRUCTIONS_AHEAD: u64 = 4 << 20;

/// Indices of a launch and of a CTA in it.
type CtaKey = (usize, u32);

/// The execution of a program, shared by all launches of a workload.
pub(super) struct ExecutionStage {
    shared: Arc<StageState>,
    worker: Option<JoinHandle<()>>,
}

struct StageState {
    program: Arc<Program>,
    /// True if there is an execution thread. In this case no other thread executes CTAs.
    ahead: bool,
    skip_products: bool,
    queue: Mutex<CtaQueue>,
    /// Signals a change of the queue.
    changed: Condvar,
}

struct CtaQueue {
    /// The runner, or `None` while a thread executes a CTA with it.
    runner: Option<Box<Runner>>,
    /// The next CTA to execute.
    position: CtaKey,
    /// CTAs that executed before their request.
    ready: BTreeMap<CtaKey, Arc<CtaProgram>>,
    /// Launches with at least one request since execution began.
    requested: Vec<bool>,
    /// The last requested CTA in program order.
    needed: Option<CtaKey>,
    /// CTAs that will be requested, for sampled launches; launches without an entry are requested completely.
    selected_ctas: BTreeMap<usize, Vec<Range<u32>>>,
    /// Instruction and sector counts of each launch, once requested.
    counts: Option<Vec<LaunchCounts>>,
    /// Error of the execution and the CTA in which it occurred. It is reported when this CTA, or a later one, is requested.
    failure: Option<(CtaKey, String)>,
    /// Panic of a failed execution, until a requesting thread resumes it.
    panic: Option<Box<dyn Any + Send>>,
    /// True if the execution thread must end.
    stop: bool,
}

impl ExecutionStage {
    pub(super) fn new(program: &Arc<Program>, mut runner: Runner, options: WorkloadOptions) -> Self {
        let WorkloadOptions { ahead, skip_products } = options;
        if skip_products {
            runner.skip_products();
        }
        let queue = CtaQueue {
            position: runner.position(),
            runner: Some(Box::new(runner)),
            ready: BTreeMap::new(),
            requested: vec![false; program.launches.len()],
            needed: None,
            selected_ctas: BTreeMap::new(),
            counts: None,
            failure: None,
            panic: None,
            stop: false,
        };
        let (program, queue) = (Arc::clone(program), Mutex::new(queue));
        let shared = Arc::new(StageState { program, ahead, skip_products, queue, changed: Condvar::new() });
        let worker = ahead.then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.run_worker())
        });
        Self { shared, worker }
    }
}

impl Drop for ExecutionStage {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl StageState {
    fn lock(&self) -> MutexGuard<'_, CtaQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_change<'a>(&self, queue: MutexGuard<'a, CtaQueue>) -> MutexGuard<'a, CtaQueue> {
        self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no CTA executes and none will execute before the next request; returns the queue.
    fn wait_idle(&self) -> MutexGuard<'_, CtaQueue> {
        let mut queue = self.lock();
        while queue.runner.is_none() || self.ahead && queue.should_execute() {
            queue = self.wait_for_change(queue);
        }
        queue
    }

    /// Runs the loop of the execution thread.
    fn run_worker(&self) {
        let mut queue = self.lock();
        while !queue.stop {
            queue = match queue.should_execute() {
                true => self.execute_next(queue),
                false => self.wait_for_change(queue),
            };
        }
    }

    /// Executes the next CTA; the queue is unlocked meanwhile.
    fn execute_next<'a>(&'a self, mut queue: MutexGuard<'a, CtaQueue>) -> MutexGuard<'a, CtaQueue> {
        let Some(mut runner) = queue.runner.take() else { return self.wait_for_change(queue) };
        let record = queue.keeps_cta(runner.position());
        drop(queue);
        // A panic must not leave threads waiting for this CTA for ever: one of them resumes it.
        let step = catch_unwind(AssertUnwindSafe(|| runner.next(record)));
        let mut queue = self.lock();
        queue.position = runner.position();
        queue.runner = Some(runner);
        match step {
            Ok(Ok(Some((launch, cta, warps)))) if record => {
                let made = CtaProgram { warps, ..empty_program(&self.program.launches[launch]) };
                queue.ready.insert((launch, cta), Arc::new(made));
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => queue.failure = Some((queue.position, error.to_string())),
            Err(panic) => {
                queue.failure = Some((queue.position, "the execution of a CTA panicked".to_owned()));
                queue.panic = Some(panic);
            }
        }
        self.changed.notify_all();
        queue
    }

    /// Takes a CTA; returns `None` if execution fails before it, or if it is not among the chosen CTAs.
    fn take(&self, place: CtaKey) -> Option<Arc<CtaProgram>> {
        let mut queue = self.lock();
        loop {
            // This is repeated in every iteration because another thread may have restarted execution, which clears both.
            if !queue.requested[place.0] || queue.needed < Some(place) {
                queue.requested[place.0] = true;
                queue.needed = queue.needed.max(Some(place));
                self.changed.notify_all();
            }
            if let Some(ready) = queue.ready.remove(&place) {
                return Some(ready);
            }
            if queue.reported_failure().is_some()
                && let Some(panic) = queue.panic.take()
            {
                drop(queue);
                resume_unwind(panic);
            }
            if queue.reported_failure().is_some() || !queue.keeps_cta(place) {
                return None;
            }
            if queue.position > place {
                queue = self.restart(queue, place);
                continue;
            }
            queue = match self.ahead {
                true => self.wait_for_change(queue),
                false => self.execute_next(queue),
            };
        }
    }

    /// Restarts execution for a CTA that has executed without being kept: the workload runs again, or its launch had no request so far.
    fn restart<'a>(&'a self, mut queue: MutexGuard<'a, CtaQueue>, (launch, cta): CtaKey) -> MutexGuard<'a, CtaQueue> {
        if queue.runner.is_none() {
            return self.wait_for_change(queue);
        }
        queue.failure = None;
        match Runner::new(&self.program) {
            Ok(mut runner) => {
                if self.skip_products {
                    runner.skip_products();
                }
                queue.position = runner.position();
                queue.runner = Some(Box::new(runner));
            }
            Err(error) => queue.failure = Some(((0, 0), error.to_string())),
        }
        queue.ready.clear();
        queue.needed = Some((launch, cta));
        if cta == 0 {
            queue.requested.fill(false);
        }
        queue.requested[launch] = true;
        self.changed.notify_all();
        queue
    }
}

impl CtaQueue {
    /// Returns true if the execution thread should execute the next CTA.
    fn should_execute(&self) -> bool {
        let (launch, cta) = self.position;
        if self.runner.is_none() || self.failure.is_some() || launch >= self.requested.len() {
            return false;
        }
        let Some(needed) = self.needed else { return false };
        if self.position <= needed {
            return true;
        }
        // A launch without a request may never get one, and CTAs that execute without a request for their launch are not kept.
        self.requested[launch]
            && (needed.0 < launch || cta - needed.1 <= MAX_CTAS_AHEAD)
            && self.kept_instructions(needed) < MAX_INSTRUCTIONS_AHEAD
    }

    /// Returns the error of execution, if it occurred at or before the last requested CTA.
    fn reported_failure(&self) -> Option<&str> {
        self.failure.as_ref().filter(|(place, _)| self.needed.is_some_and(|needed| needed >= *place)).map(|(_, what)| what.as_str())
    }

    /// Returns the warp instructions of the kept CTAs after CTA `needed`.
    fn kept_instructions(&self, needed: CtaKey) -> u64 {
        let ahead = self.ready.range((needed.0, needed.1 + 1)..);
        ahead.flat_map(|(_, cta)| cta.warps.iter()).map(|warp| u64::from(warp.len())).sum()
    }

    /// Returns true if a CTA is kept for a later request.
    fn keeps_cta(&self, (launch, cta): CtaKey) -> bool {
        let chosen = self.selected_ctas.get(&launch).is_none_or(|ctas| ctas.iter().any(|part| part.contains(&cta)));
        chosen && self.requested.get(launch).copied().unwrap_or(false)
    }
}

fn empty_program(launch: &BoundLaunch) -> CtaProgram {
    let warps = launch.kernel.block.count().div_ceil(32) as usize;
    CtaProgram {
        code: launch.kernel.statics.clone().unwrap_or_default(),
        warps: vec![WarpStream::default(); warps].into(),
        repeatable: Arc::clone(&launch.repeatable),
    }
}

/// The CTAs of one launch.
pub(super) struct LaunchSource {
    stage: Arc<ExecutionStage>,
    launch: usize,
}

impl LaunchSource {
    pub(super) fn new(stage: &Arc<ExecutionStage>, launch: usize) -> Self {
        Self { stage: Arc::clone(stage), launch }
    }

    fn launch(&self) -> &BoundLaunch {
        &self.stage.shared.program.launches[self.launch]
    }
}

impl CtaSource for LaunchSource {
    fn save(&self, to: &mut Writer) {
        if !to.first_visit(&*self.stage) {
            return;
        }
        let mut queue = self.stage.shared.wait_idle();
        let CtaQueue { runner, position: _, ready, requested, needed, selected_ctas: _, counts: _, failure, panic: _, stop: _ } =
            &mut *queue;
        if let Some(runner) = runner {
            runner.save(to);
        }
        ready.save(to);
        requested.save(to);
        needed.save(to);
        failure.save(to);
    }

    fn load(&self, from: &mut Reader<'_>) -> Result<(), StateError> {
        if !from.first_visit(&*self.stage) {
            return Ok(());
        }
        let mut queue = self.stage.shared.wait_idle();
        let CtaQueue { runner, position, ready, requested, needed, selected_ctas: _, counts: _, failure, panic: _, stop: _ } = &mut *queue;
        if let Some(runner) = runner {
            runner.load(from)?;
            *position = runner.position();
        }
        ready.load(from)?;
        requested.load(from)?;
        needed.load(from)?;
        failure.load(from)
    }

    fn code(&self) -> Option<CodeRequirements> {
        Some(self.stage.shared.program.code_of(std::slice::from_ref(self.launch())))
    }

    fn cta(&self, index: CtaIndex) -> Arc<CtaProgram> {
        self.stage.shared.take((self.launch, index.0)).unwrap_or_else(|| Arc::new(empty_program(self.launch())))
    }

    fn select_ctas(&self, ctas: Option<&[Range<u32>]>) {
        let mut queue = self.stage.shared.wait_idle();
        match ctas {
            Some(ctas) => queue.selected_ctas.insert(self.launch, ctas.to_vec()),
            None => queue.selected_ctas.remove(&self.launch),
        };
    }

    fn return_cta(&self, index: CtaIndex, program: &Arc<CtaProgram>) {
        self.stage.shared.lock().ready.insert((self.launch, index.0), Arc::clone(program));
    }

    fn failure(&self) -> Option<String> {
        self.stage.shared.lock().reported_failure().map(str::to_owned)
    }

    fn counts(&self) -> Option<LaunchCounts> {
        let shared = &self.stage.shared;
        let mut queue = shared.lock();
        if queue.counts.is_none() && queue.reported_failure().is_none() {
            match counts(&shared.program) {
                Ok(counts) => queue.counts = Some(counts),
                Err(error) => (queue.failure, queue.needed) = (Some(((0, 0), error.to_string())), queue.needed.max(Some((0, 0)))),
            }
        }
        queue.counts.as_ref().and_then(|counts| counts.get(self.launch).copied())
    }
}

impl fmt::Debug for LaunchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchSource").field("launch", &self.launch).finish_non_exhaustive()
    }
}

/// Executes a program without recording streams; returns the counts of each launch.
fn counts(program: &Arc<Program>) -> Result<Vec<LaunchCounts>, ProgramError> {
    let mut runner = Runner::counting(program, true)?;
    while runner.next(false)?.is_some() {}
    // The first launch is counted as the user of all memory.
    let bytes: u64 = runner.memory.allocations().iter().map(|allocation| allocation.bytes.len() as u64).sum();
    let one = |(number, (launch, tally)): (usize, (&BoundLaunch, &Tally))| {
        let accesses = |place: usize| launch.kernel.access[place].is_some_and(|access| access.space != MemSpace::Shared);
        let sectors = tally.0.iter().enumerate().filter(|(place, _)| accesses(*place)).map(|(_, count)| count.parts).sum();
        let code = launch.kernel.statics.as_deref().unwrap_or_default();
        let mut classes = [0; OpClass::COUNT];
        code.iter().zip(&tally.0).for_each(|(inst, count)| classes[inst.class as usize] += count.warps);
        let warp_instructions = tally.0.iter().map(|count| count.warps).sum();
        let new_lines = Some(if number == 0 { bytes.div_ceil(LINE_BYTES) } else { 0 });
        LaunchCounts { warp_instructions, sectors: Some(sectors), classes: Some(classes), lines: None, new_lines }
    };
    Ok(program.launches.iter().zip(&runner.tallies).enumerate().map(one).collect())
}
