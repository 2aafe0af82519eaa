//! The host's time of every unit in every epoch of a run on one thread, to foretell runs on many.

use std::time::{Duration, Instant};

use warpshard_sync::{EpochBarrier, WaitPolicy};

use crate::base::UnitId;

/// What stepping cost in one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedEpoch {
    /// Units that were stepped, in the order of their numbers, with the host nanoseconds of each.
    pub units: Vec<(UnitId, u32)>,
    /// Nanoseconds of delivering messages and handing them on, and of finding the units that are due.
    pub exchanging: u32,
    /// Nanoseconds of all else: the coordinator.
    pub rest: u32,
    /// Messages sent.
    pub messages: u32,
}

/// What a run on one thread cost, epoch by epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The epochs, those included that only one half of the machine was stepped in.
    pub epochs: Vec<RecordedEpoch>,
    /// Messages between units: sender, receiver, how many.
    pub traffic: Vec<(UnitId, UnitId, u64)>,
}

impl Recording {
    /// Takes the shorter time of each unit and epoch from another recording of the same run: whatever disturbed one did not disturb the other at
    /// the same place.
    ///
    /// # Panics
    /// When the recordings are of different runs.
    pub fn shorten(&mut self, other: &Self) {
        assert_eq!(self.epochs.len(), other.epochs.len(), "recordings of different runs");
        for (epoch, other) in self.epochs.iter_mut().zip(&other.epochs) {
            epoch.rest = epoch.rest.min(other.rest);
            epoch.exchanging = epoch.exchanging.min(other.exchanging);
            // A unit without measurable time may be missing.
            epoch.units.retain_mut(|(unit, nanos)| {
                let known = other.units.binary_search_by_key(unit, |(unit, _)| *unit);
                if let Ok(at) = known {
                    *nanos = (*nanos).min(other.units[at].1);
                }
                known.is_ok()
            });
        }
    }
}

/// Makes a [`Recording`] of a run.
#[derive(Debug)]
pub(super) struct Recorder {
    epochs: Vec<RecordedEpoch>,
    /// Nanoseconds of each unit up to the last epoch.
    before: Vec<u64>,
    mark: Instant,
    /// What reading the clock adds to the time of each unit.
    clock: Duration,
}

impl Recorder {
    /// A recorder for a machine of so many units.
    pub(super) fn new(units: usize) -> Self {
        const READINGS: u32 = 1000;
        let began = Instant::now();
        (1..READINGS).for_each(|_| _ = Instant::now());
        let clock = began.elapsed() / READINGS;
        Self { epochs: Vec::new(), before: vec![0; units], mark: Instant::now(), clock }
    }

    /// An epoch has ended, after which each of `units` has taken so many nanoseconds in all.
    pub(super) fn note(&mut self, units: impl Iterator<Item = (UnitId, u64)>, exchanging: Duration, messages: u64) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.mark, now);
        let exchanging = exchanging.as_nanos() as u64;
        let mut epoch = RecordedEpoch { messages: messages as u32, exchanging: exchanging as u32, ..RecordedEpoch::default() };
        let mut stepping = exchanging;
        for (unit, nanos) in units {
            let spent = nanos - std::mem::replace(&mut self.before[unit.index()], nanos);
            if spent > 0 {
                stepping += spent;
                epoch.units.push((unit, spent.saturating_sub(self.clock.as_nanos() as u64) as u32));
            }
        }
        epoch.rest = (took.as_nanos() as u64).saturating_sub(stepping) as u32;
        self.epochs.push(epoch);
    }

    /// All epochs, with the messages of each link.
    pub(super) fn finish(self, traffic: Vec<(UnitId, UnitId, u64)>) -> Recording {
        Recording { epochs: self.epochs, traffic }
    }
}

/// Nanoseconds of a barrier between two threads, for each of them; a core that is taken away in the middle counts as it would in a run.
pub fn barrier_nanos() -> f64 {
    const ROUNDS: u32 = 20_000;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parties = EpochBarrier::new(vec![(), ()], 0u32, WaitPolicy::for_threads(2, cores));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for mut party in parties {
            scope.spawn(move || {
                while *party.both().1 < ROUNDS {
                    if party.wait(|rounds, _| *rounds += 1).is_err() {
                        return;
                    }
                }
                party.finish();
            });
        }
    });
    began.elapsed().as_nanos() as f64 / f64::from(ROUNDS) / 2.0
}
