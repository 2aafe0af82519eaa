//! How many workers take part in a run: as many as make it faster.
//!
//! Where other processes use the host's cores, or an epoch has too little work to share, fewer workers can be faster than all of
//! them: every epoch ends with its slowest worker, and one that another process has displaced is milliseconds late. So the
//! coordinator measures what a unit's step costs with the present number of workers, tries the next smaller and the next larger number for a
//! short while, and keeps what is faster. Trials that fail become rarer. Which workers step which units changes no result.
//!
//! Inputs: the host's time, and the work and the workers' busy time of each epoch. Outputs: the number of active workers of the next
//! epochs. Invariants: at least one worker is active; nothing here reads a clock, so that tests can play any host.

use std::time::Duration;

/// How the number of active workers is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// All workers take part in every epoch.
    #[default]
    Fixed,
    /// As many as the run is fastest with, by measured host time.
    Adaptive,
    /// A number that changes at random, from this seed, every few epochs: for tests, since results must not depend on it.
    Random(u64),
}

/// Host time and epochs that a number of workers is measured over, at least. Time slices of an operating system are 3 to 10 ms.
const WINDOW: Duration = Duration::from_millis(20);
const WINDOW_EPOCHS: u64 = 8;
/// Epochs of a window that do not count, since units that have moved to another worker are in another core's cache.
const UNCOUNTED: u64 = 2;
/// A trial ends before its window does, as a failure, when a step then costs this many times what it did.
const HOPELESS: f64 = 1.3;
const HOPELESS_AFTER: Duration = Duration::from_millis(4);
const HOPELESS_EPOCHS: u64 = 4;
/// More workers must lower the cost of a step to this part; fewer may raise it to this one, since they leave cores to others.
const MORE_PAY_BELOW: f64 = 0.95;
const FEWER_PAY_BELOW: f64 = 1.02;
/// Fewer workers that lower it to this part need no second trial. Hosts whose speed varies make fewer look as fast as more now and then.
const CLEARLY_BELOW: f64 = 0.85;
/// With a smaller share of the workers' time spent on stepping units, fewer workers are tried soon.
const POORLY_BUSY: f64 = 0.8;
/// Time to the next trial of fewer workers after one that failed; doubles with each failure.
const FEWER_AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(1600));
/// The same for more workers.
const MORE_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1600));
/// Time to the first trial of fewer workers where all are busy; four times as long after each that fails.
const UNPROMPTED: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// What the coordinator knows about an epoch that has just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EpochFacts {
    /// Host time since the run began.
    pub(super) now: Duration,
    /// Units that were due.
    pub(super) steps: u64,
    /// Time that all workers have spent busy since the run began.
    pub(super) busy: Duration,
}

/// The number of active workers, and what it was in the run so far.
#[derive(Debug)]
pub(super) struct ActiveWorkers {
    scaling: Scaling,
    /// Numbers of workers that may be active, ascending.
    levels: Vec<usize>,
    /// The present one, an index.
    level: usize,
    /// The one before the trial that is under way, if one is.
    tried_from: Option<usize>,
    /// Whether the trial may end early.
    hasty: bool,
    /// Whether a trial of fewer workers has paid, but not clearly, so that a second one has to confirm it.
    confirms: bool,
    /// Host nanoseconds of a step with the number of workers that is not on trial.
    reference: Option<f64>,
    window: Window,
    fewer: Retry,
    more: Retry,
    unprompted: Retry,
    random: u64,
    /// Worker time so far, and until when.
    used: f64,
    until: Duration,
    changes: u64,
}

/// A stretch of epochs with one number of workers.
#[derive(Debug, Default)]
struct Window {
    epochs: u64,
    began: Duration,
    busy: Duration,
    steps: u64,
}

/// When something may be tried again.
#[derive(Debug)]
struct Retry {
    at: Duration,
    wait: Duration,
    bounds: (Duration, Duration),
    factor: u32,
}

impl Retry {
    fn new(bounds: (Duration, Duration), factor: u32, first: Duration) -> Self {
        Self { at: first, wait: bounds.0, bounds, factor }
    }

    fn failed(&mut self, now: Duration) {
        self.at = now + self.wait;
        self.wait = (self.wait * self.factor).min(self.bounds.1);
    }

    fn succeeded(&mut self, now: Duration) {
        self.wait = (self.wait / self.factor).max(self.bounds.0);
        self.at = now;
    }
}

/// From one worker to all: each number is about three quarters of the next.
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
    /// All of `workers` workers.
    pub(super) fn new(scaling: Scaling, workers: usize) -> Self {
        let levels = levels(workers);
        Self {
            level: levels.len() - 1,
            levels,
            tried_from: None,
            hasty: false,
            confirms: false,
            reference: None,
            window: Window::default(),
            fewer: Retry::new(FEWER_AGAIN, 2, Duration::ZERO),
            more: Retry::new(MORE_AGAIN, 2, Duration::ZERO),
            unprompted: Retry::new(UNPROMPTED, 4, UNPROMPTED.0),
            random: match scaling {
                Scaling::Random(seed) => seed,
                Scaling::Fixed | Scaling::Adaptive => 0,
            },
            scaling,
            used: 0.0,
            until: Duration::ZERO,
            changes: 0,
        }
    }

    /// How many are active.
    pub(super) fn count(&self) -> usize {
        self.levels[self.level]
    }

    /// Whether the number can change at all, so that epochs need to be noted.
    pub(super) fn varies(&self) -> bool {
        self.scaling != Scaling::Fixed && self.levels.len() > 1
    }

    /// How many there were on average until `end`, and how often the number changed.
    pub(super) fn history(&self, end: Duration) -> (f64, u64) {
        let used = self.used + self.count() as f64 * (end.saturating_sub(self.until)).as_secs_f64();
        let mean = if end.is_zero() { self.count() as f64 } else { used / end.as_secs_f64() };
        (mean, self.changes)
    }

    /// Notes an epoch; [`ActiveWorkers::count`] may be another one afterwards.
    pub(super) fn note(&mut self, epoch: EpochFacts) {
        match self.scaling {
            Scaling::Fixed => {}
            Scaling::Random(_) => self.jump(epoch.now),
            Scaling::Adaptive => self.measure(epoch),
        }
    }

    /// Another number in one epoch of four, by a generator of its own (splitmix64).
    fn jump(&mut self, now: Duration) {
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
        if window.epochs <= UNCOUNTED {
            *window = Window { epochs: window.epochs, began: epoch.now, busy: epoch.busy, steps: 0 };
            return;
        }
        window.steps += epoch.steps;
        let (elapsed, epochs) = (epoch.now.saturating_sub(window.began), window.epochs - UNCOUNTED);
        let cost = elapsed.as_nanos() as f64 / window.steps.max(1) as f64;
        let early = self.hasty && elapsed >= HOPELESS_AFTER && epochs >= HOPELESS_EPOCHS;
        if let (Some(from), Some(reference)) = (self.tried_from, self.reference)
            && early
            && cost > HOPELESS * reference
        {
            self.decide(from, false, cost, epoch.now);
            return;
        }
        if elapsed < WINDOW || epochs < WINDOW_EPOCHS || window.steps == 0 {
            return;
        }
        let busy = epoch.busy.saturating_sub(window.busy).as_secs_f64() / (elapsed.as_secs_f64() * self.count() as f64);
        match (self.tried_from, self.reference) {
            (Some(from), Some(reference)) => {
                let below = if self.level > from { MORE_PAY_BELOW } else { FEWER_PAY_BELOW };
                self.decide(from, cost < below * reference, cost, epoch.now);
            }
            _ => {
                // What was measured last counts most, but one disturbed window alone decides less.
                self.reference = Some(self.reference.map_or(cost, |reference| (reference + cost) / 2.0));
                self.window = Window { epochs: UNCOUNTED, began: epoch.now, busy: epoch.busy, steps: 0 };
                self.try_another(busy, epoch.now);
            }
        }
    }

    /// Begins a trial if one is due.
    fn try_another(&mut self, busy: f64, now: Duration) {
        let prompted = busy < POORLY_BUSY && now >= self.fewer.at;
        let to = if self.confirms {
            self.level - 1
        } else if self.level > 0 && (prompted || now >= self.unprompted.at) {
            // A run that is disturbed is disturbed in its trial, too, and needs the whole window.
            self.hasty = !prompted;
            self.level - 1
        } else if self.level + 1 < self.levels.len() && now >= self.more.at {
            self.hasty = true;
            self.level + 1
        } else {
            return;
        };
        self.tried_from = Some(self.level);
        self.change(to, now);
    }

    /// Ends the trial that began with level `from`; the present level stays if it pays.
    fn decide(&mut self, from: usize, pays: bool, cost: f64, now: Duration) {
        self.tried_from = None;
        let fewer = self.level < from;
        let clearly = self.reference.is_some_and(|reference| cost < CLEARLY_BELOW * reference);
        if pays && fewer && !clearly && !self.confirms {
            self.confirms = true;
            self.reference = None;
            self.change(from, now);
            return;
        }
        self.confirms = false;
        if pays {
            self.reference = Some(cost);
            self.window.epochs = 0;
            let (tried, back) = if fewer { (&mut self.fewer, &mut self.more) } else { (&mut self.more, &mut self.fewer) };
            tried.succeeded(now);
            back.failed(now);
        } else {
            match (fewer, self.hasty) {
                (true, true) => self.unprompted.failed(now),
                (true, false) => self.fewer.failed(now),
                (false, _) => self.more.failed(now),
            }
            self.change(from, now);
        }
    }

    fn change(&mut self, level: usize, now: Duration) {
        self.used += self.count() as f64 * now.saturating_sub(self.until).as_secs_f64();
        self.until = now;
        self.changes += 1;
        self.level = level;
        self.window = Window::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that is asked for the time of an epoch of 1000 steps, and for the share of it that the workers are busy.
    struct Host<F> {
        now: Duration,
        busy: Duration,
        epoch: F,
    }

    impl<F: FnMut(usize, Duration) -> (f64, f64)> Host<F> {
        fn new(epoch: F) -> Self {
            Self { now: Duration::ZERO, busy: Duration::ZERO, epoch }
        }

        /// Runs for `seconds`; returns the steps made.
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

    /// Numbers in 0..1 that look random.
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
    fn a_host_without_free_cores_is_left_to_one_worker_soon() {
        for workers in [2, 4, 8] {
            let mut state = 1;
            let mut active = ActiveWorkers::new(Scaling::Adaptive, workers);
            // A worker alone has 40 % of a core in slices of 3 ms; with more of them, each epoch waits for a displaced one.
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
        // A tenth faster with sixteen workers than with twelve, and the host's speed changes by up to a third every 30 ms.
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
    fn epochs_with_too_little_work_are_left_to_one_worker() {
        let mut active = ActiveWorkers::new(Scaling::Adaptive, 2);
        let mut host = Host::new(|count, _| if count == 1 { (3.0, 0.95) } else { (6.0, 0.4) });
        host.run(&mut active, 0.2);
        let (mean, _) = active.history(host.now);
        assert_eq!(active.count(), 1);
        assert!(mean < 1.3, "{mean}");
    }

    #[test]
    fn workers_come_back_when_the_host_is_free_again() {
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
    fn all_workers_stay_active_unless_asked_otherwise() {
        let active = ActiveWorkers::new(Scaling::default(), 8);
        assert!(!active.varies());
        assert_eq!(active.history(Duration::from_secs(1)), (8.0, 0));
    }
}
