//! The choice of the number of active workers by measured speed.
//!
//! If other processes use the host's cores, or an epoch has too little work to share, fewer workers can be faster than all of them: every
//! epoch waits for its slowest worker, and a worker that the operating system has preempted is milliseconds late. The coordinator therefore
//! measures the cost of a unit's step with the present number of workers, tries the next smaller and the next larger number for a short
//! time, and keeps the faster number. Failed trials make further trials rarer. The assignment of units to workers changes no result.
//!
//! Inputs: the host time, the work and the workers' busy time of each epoch. Outputs: the number of active workers of the next
//! epochs. Invariants: at least one worker is active; this module reads no clock, so that tests can simulate any host.

use std::time::Duration;

/// The policy that chooses the number of active workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// All workers take part in every epoch.
    #[default]
    Fixed,
    /// The number of workers with the fastest run, by measured host time.
    Adaptive,
    /// A number that changes at random every few epochs; holds the seed. For tests, since results must not depend on the number.
    Random(u64),
}

/// Minimum host time and epochs for measuring a number of workers. Time slices of an operating system are 3 to 10 ms.
const MIN_WINDOW_TIME: Duration = Duration::from_millis(20);
const MIN_WINDOW_EPOCHS: u64 = 8;
/// First epochs of a window that do not count, since the state of moved units is still in another core's cache.
const WARMUP_EPOCHS: u64 = 2;
/// Factor of the step cost above which a trial fails before the end of its window.
const FAILED_TRIAL_RATIO: f64 = 1.3;
const FAILED_TRIAL_TIME: Duration = Duration::from_millis(4);
const FAILED_TRIAL_EPOCHS: u64 = 4;
/// Relative step cost below which a trial succeeds: with more workers and with fewer workers. Fewer workers may cost slightly more, since
/// they free cores for other processes.
const MORE_WORKERS_MAX_COST: f64 = 0.95;
const FEWER_WORKERS_MAX_COST: f64 = 1.02;
/// Relative step cost below which fewer workers need no second trial. On hosts of varying speed fewer workers sometimes look as fast as
/// more.
const CLEAR_SUCCESS_MAX_COST: f64 = 0.85;
/// Busy share of the workers' time below which a trial of fewer workers starts soon.
const LOW_UTILISATION: f64 = 0.8;
/// Minimum and maximum time from a failed trial of fewer workers to the next trial; doubles with each failure.
const FEWER_RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(1600));
/// Minimum and maximum time from a failed trial of more workers to the next trial; doubles with each failure.
const MORE_RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1600));
/// Minimum and maximum time to a trial of fewer workers while all workers are busy; quadruples with each failure.
const BUSY_TRIAL_DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// The coordinator's measurements of an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct EpochFacts {
    /// Host time since the start of the run.
    pub(super) now: Duration,
    /// Units that were due.
    pub(super) steps: u64,
    /// Busy time of all workers since the start of the run.
    pub(super) busy: Duration,
}

/// The number of active workers and its history in the run.
#[derive(Debug)]
pub(super) struct ActiveWorkers {
    scaling: Scaling,
    /// Numbers of workers that may be active, ascending.
    levels: Vec<usize>,
    /// Index of the present number in `levels`.
    level: usize,
    /// Level before the current trial; `None` without a trial.
    tried_from: Option<usize>,
    /// True if the trial may end early.
    may_end_early: bool,
    /// True if a trial of fewer workers has succeeded narrowly, so that a second trial must confirm it.
    needs_confirmation: bool,
    /// Host nanoseconds per step with the number of workers that is not on trial.
    reference: Option<f64>,
    window: MeasurementWindow,
    fewer_backoff: TrialBackoff,
    more_backoff: TrialBackoff,
    busy_backoff: TrialBackoff,
    random: u64,
    /// Worker seconds used so far, and the host time up to which they are counted.
    worker_seconds: f64,
    counted_until: Duration,
    changes: u64,
}

/// A series of epochs with the same number of workers.
#[derive(Debug, Default)]
struct MeasurementWindow {
    epochs: u64,
    began: Duration,
    busy: Duration,
    steps: u64,
}

/// The earliest time of the next trial, with backoff.
#[derive(Debug)]
struct TrialBackoff {
    at: Duration,
    wait: Duration,
    bounds: (Duration, Duration),
    factor: u32,
}

impl TrialBackoff {
    fn new(bounds: (Duration, Duration), factor: u32, first: Duration) -> Self {
        Self { at: first, wait: bounds.0, bounds, factor }
    }

    fn record_failure(&mut self, now: Duration) {
        self.at = now + self.wait;
        self.wait = (self.wait * self.factor).min(self.bounds.1);
    }

    fn record_success(&mut self, now: Duration) {
        self.wait = (self.wait / self.factor).max(self.bounds.0);
        self.at = now;
    }
}

/// Returns the numbers of workers from one to `workers`; each is about three quarters of the next.
fn levels(workers: usize) -> Vec<usize> {
    let mut levels = vec![workers];
    let mut last = workers;
    while last > 1 {
        last -= (last / 4).max(1);
        levels.push(last);
    }
    levels.reverse();
    levels
}

impl ActiveWorkers {
    /// Starts with all `workers` workers active.
    pub(super) fn new(scaling: Scaling, workers: usize) -> Self {
        let levels = levels(workers);
        Self {
            level: levels.len() - 1,
            levels,
            tried_from: None,
            may_end_early: false,
            needs_confirmation: false,
            reference: None,
            window: MeasurementWindow::default(),
            fewer_backoff: TrialBackoff::new(FEWER_RETRY_DELAY, 2, Duration::ZERO),
            more_backoff: TrialBackoff::new(MORE_RETRY_DELAY, 2, Duration::ZERO),
            busy_backoff: TrialBackoff::new(BUSY_TRIAL_DELAY, 4, BUSY_TRIAL_DELAY.0),
            random: match scaling {
                Scaling::Random(seed) => seed,
                Scaling::Fixed | Scaling::Adaptive => 0,
            },
            scaling,
            worker_seconds: 0.0,
            counted_until: Duration::ZERO,
            changes: 0,
        }
    }

    /// Returns the number of active workers.
    pub(super) fn count(&self) -> usize {
        self.levels[self.level]
    }

    /// Returns true if the number can change, so that epochs must be recorded.
    pub(super) fn varies(&self) -> bool {
        self.scaling != Scaling::Fixed && self.levels.len() > 1
    }

    /// Returns the mean number of active workers until `end`, and the number of changes.
    pub(super) fn history(&self, end: Duration) -> (f64, u64) {
        let used = self.worker_seconds + self.count() as f64 * (end.saturating_sub(self.counted_until)).as_secs_f64();
        let mean = if end.is_zero() { self.count() as f64 } else { used / end.as_secs_f64() };
        (mean, self.changes)
    }

    /// Records an epoch, which may change [`ActiveWorkers::count`].
    pub(super) fn note(&mut self, epoch: EpochFacts) {
        match self.scaling {
            Scaling::Fixed => {}
            Scaling::Random(_) => self.change_randomly(epoch.now),
            Scaling::Adaptive => self.measure(epoch),
        }
    }

    /// Changes to a random number in about one epoch of four, with a private generator (splitmix64).
    fn change_randomly(&mut self, now: Duration) {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ mixed >> 31;
        let level = (mixed >> 8) as usize % self.levels.len();
        if mixed.is_multiple_of(4) && level != self.level {
            self.change(level, now);
        }
    }

    fn measure(&mut self, epoch: EpochFacts) {
        let window = &mut self.window;
        window.epochs += 1;
        if window.epochs <= WARMUP_EPOCHS {
            *window = MeasurementWindow { epochs: window.epochs, began: epoch.now, busy: epoch.busy, steps: 0 };
            return;
        }
        window.steps += epoch.steps;
        let (elapsed, epochs) = (epoch.now.saturating_sub(window.began), window.epochs - WARMUP_EPOCHS);
        let cost = elapsed.as_nanos() as f64 / window.steps.max(1) as f64;
        let early = self.may_end_early && elapsed >= FAILED_TRIAL_TIME && epochs >= FAILED_TRIAL_EPOCHS;
        if let (Some(from), Some(reference)) = (self.tried_from, self.reference)
            && early
            && cost > FAILED_TRIAL_RATIO * reference
        {
            self.end_trial(from, false, cost, epoch.now);
            return;
        }
        if elapsed < MIN_WINDOW_TIME || epochs < MIN_WINDOW_EPOCHS || window.steps == 0 {
            return;
        }
        let busy = epoch.busy.saturating_sub(window.busy).as_secs_f64() / (elapsed.as_secs_f64() * self.count() as f64);
        match (self.tried_from, self.reference) {
            (Some(from), Some(reference)) => {
                let below = if self.level > from { MORE_WORKERS_MAX_COST } else { FEWER_WORKERS_MAX_COST };
                self.end_trial(from, cost < below * reference, cost, epoch.now);
            }
            _ => {
                // The average halves the weight of older windows and limits the effect of one disturbed window.
                self.reference = Some(self.reference.map_or(cost, |reference| (reference + cost) / 2.0));
                self.window = MeasurementWindow { epochs: WARMUP_EPOCHS, began: epoch.now, busy: epoch.busy, steps: 0 };
                self.try_another(busy, epoch.now);
            }
        }
    }

    /// Begins a trial if one is due.
    fn try_another(&mut self, busy: f64, now: Duration) {
        let prompted = busy < LOW_UTILISATION && now >= self.fewer_backoff.at;
        let to = if self.needs_confirmation {
            self.level - 1
        } else if self.level > 0 && (prompted || now >= self.busy_backoff.at) {
            // A disturbed run is also disturbed during its trial and needs the whole window.
            self.may_end_early = !prompted;
            self.level - 1
        } else if self.level + 1 < self.levels.len() && now >= self.more_backoff.at {
            self.may_end_early = true;
            self.level + 1
        } else {
            return;
        };
        self.tried_from = Some(self.level);
        self.change(to, now);
    }

    /// Ends the trial that began at level `from`; keeps the present level if `pays` is true.
    fn end_trial(&mut self, from: usize, pays: bool, cost: f64, now: Duration) {
        self.tried_from = None;
        let fewer = self.level < from;
        let clearly = self.reference.is_some_and(|reference| cost < CLEAR_SUCCESS_MAX_COST * reference);
        if pays && fewer && !clearly && !self.needs_confirmation {
            self.needs_confirmation = true;
            self.reference = None;
            self.change(from, now);
            return;
        }
        self.needs_confirmation = false;
        if pays {
            self.reference = Some(cost);
            self.window.epochs = 0;
            let (tried, back) =
                if fewer { (&mut self.fewer_backoff, &mut self.more_backoff) } else { (&mut self.more_backoff, &mut self.fewer_backoff) };
            tried.record_success(now);
            back.record_failure(now);
        } else {
            match (fewer, self.may_end_early) {
                (true, true) => self.busy_backoff.record_failure(now),
                (true, false) => self.fewer_backoff.record_failure(now),
                (false, _) => self.more_backoff.record_failure(now),
            }
            self.change(from, now);
        }
    }

    fn change(&mut self, level: usize, now: Duration) {
        self.worker_seconds += self.count() as f64 * now.saturating_sub(self.counted_until).as_secs_f64();
        self.counted_until = now;
        self.changes += 1;
        self.level = level;
        self.window = MeasurementWindow::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulated host; `epoch` returns the microseconds of an epoch of 1000 steps and the busy share of the workers.
    struct Host<F> {
        now: Duration,
        busy: Duration,
        epoch: F,
    }

    impl<F: FnMut(usize, Duration) -> (f64, f64)> Host<F> {
        fn new(epoch: F) -> Self {
            Self { now: Duration::ZERO, busy: Duration::ZERO, epoch }
        }

        /// Runs for `seconds`; returns the number of steps.
        fn run(&mut self, workers: &mut ActiveWorkers, seconds: f64) -> u64 {
            let end = self.now + Duration::from_secs_f64(seconds);
            let mut steps = 0;
            while self.now < end {
                let (micros, busy) = (self.epoch)(workers.count(), self.now);
                let took = Duration::from_secs_f64(micros * 1e-6);
                self.now += took;
                self.busy += took.mul_f64(busy * workers.count() as f64);
                workers.note(EpochFacts { now: self.now, steps: 1000, busy: self.busy });
                steps += 1000;
            }
            steps
        }
    }

    /// Returns a pseudorandom number in 0..1.
    fn noise(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f64 / f64::from(1 << 24)
    }

    #[test]
    fn numbers_of_workers_go_down_to_one_in_steps() {
        assert_eq!(levels(1), [1]);
        assert_eq!(levels(2), [1, 2]);
        assert_eq!(levels(8), [1, 2, 3, 4, 5, 6, 8]);
    }

    #[test]
    fn workers_that_pay_stay_active_and_trials_cost_little() {
        for (workers, epoch) in [(2, 500.0), (8, 100.0), (16, 10.0), (2, 2000.0)] {
            let mut active = ActiveWorkers::new(Scaling::Adaptive, workers);
            let steps = Host::new(|count, _| (epoch * workers as f64 / count as f64, 0.93)).run(&mut active, 3.0);
            let all = 3.0e6 / epoch * 1000.0;
            assert!(steps as f64 > 0.98 * all, "{workers} workers, epochs of {epoch} us: {steps} of {all}");
            assert_eq!(active.count(), workers);
        }
    }

    #[test]
    fn a_host_without_free_cores_soon_runs_one_worker() {
        for workers in [2, 4, 8] {
            let mut state = 1;
            let mut active = ActiveWorkers::new(Scaling::Adaptive, workers);
            // A single worker has 40 % of a core in slices of 3 ms; with more workers, each epoch waits for a preempted worker.
            let mut host = Host::new(|count, _| {
                let disturbed = if noise(&mut state) < 0.2 { 7000.0 * noise(&mut state) } else { 0.0 };
                if count == 1 { (500.0 + disturbed, 0.99) } else { (500.0 / count as f64 + 4.0 * disturbed, 0.6) }
            });
            host.run(&mut active, 1.0);
            let before = active.history(host.now).0 * host.now.as_secs_f64();
            host.run(&mut active, 4.0);
            let mean = (active.history(host.now).0 * host.now.as_secs_f64() - before) / 4.0;
            assert!(mean < 1.4, "{workers} workers: {mean} on average after a second");
        }
    }

    #[test]
    fn a_host_of_varying_speed_keeps_its_workers() {
        // The run is a tenth faster with sixteen workers than with twelve, and the host's speed changes by up to a third every 30 ms.
        let mean = |seed| {
            let mut state = seed;
            let (mut until, mut speed) = (Duration::ZERO, 1.0);
            let mut active = ActiveWorkers::new(Scaling::Adaptive, 16);
            let mut host = Host::new(|count, now| {
                if now >= until {
                    until = now + Duration::from_millis(30);
                    speed = 1.0 + 0.35 * noise(&mut state);
                }
                (300.0 * (16.0 / count as f64).powf(0.35) * speed, 0.7)
            });
            host.run(&mut active, 0.5);
            active.history(host.now).0
        };
        let mean = (1..=50).map(mean).sum::<f64>() / 50.0;
        assert!(mean > 14.5, "{mean}");
    }

    #[test]
    fn epochs_with_too_little_work_run_on_one_worker() {
        let mut active = ActiveWorkers::new(Scaling::Adaptive, 2);
        let mut host = Host::new(|count, _| if count == 1 { (3.0, 0.95) } else { (6.0, 0.4) });
        host.run(&mut active, 0.2);
        let (mean, _) = active.history(host.now);
        assert_eq!(active.count(), 1);
        assert!(mean < 1.3, "{mean}");
    }

    #[test]
    fn workers_return_when_the_host_is_free_again() {
        let mut active = ActiveWorkers::new(Scaling::Adaptive, 4);
        let busy_until = Duration::from_secs(2);
        let mut host = Host::new(|count, now| match (now < busy_until, count) {
            (true, 1) => (1000.0, 0.99),
            (true, _) => (4000.0, 0.5),
            (false, _) => (1000.0 / count as f64, 0.95),
        });
        host.run(&mut active, 2.0);
        assert_eq!(active.count(), 1);
        host.run(&mut active, 4.0);
        assert_eq!(active.count(), 4);
    }

    #[test]
    fn a_random_schedule_visits_every_number_and_is_the_same_for_the_same_seed() {
        let schedule = |seed| {
            let mut active = ActiveWorkers::new(Scaling::Random(seed), 5);
            let epoch = EpochFacts { now: Duration::ZERO, steps: 1, busy: Duration::ZERO };
            (0..200).map(|_| (active.note(epoch), active.count()).1).collect::<Vec<_>>()
        };
        assert_eq!(schedule(1), schedule(1));
        assert_ne!(schedule(1), schedule(2));
        assert!((1..=5).all(|count| schedule(7).contains(&count)));
    }

    #[test]
    fn all_workers_stay_active_by_default() {
        let active = ActiveWorkers::new(Scaling::default(), 8);
        assert!(!active.varies());
        assert_eq!(active.history(Duration::from_secs(1)), (8.0, 0));
    }
}
