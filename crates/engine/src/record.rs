//! A record of the host time of every unit in every epoch; it predicts runs on many workers from runs on few workers.

use std::time::{Duration, Instant};

use warpshard_base::UnitId;
use warpshard_sync::{EpochBarrier, WaitPolicy};

/// The host times that a run records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostTimes {
    /// No host times.
    #[default]
    Nothing,
    /// The host time of each epoch; the overhead is negligible.
    Epochs,
    /// The host time of each epoch and of each unit in it. The coordinator reads the times of all units while all workers wait.
    Units,
}

/// Host time of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedEpoch {
    /// Stepped units, in ascending order, with the host nanoseconds of each.
    pub units: Vec<(UnitId, u32)>,
    /// Units that a worker other than their owner stepped, in ascending order.
    pub taken: Vec<UnitId>,
    /// Nanoseconds of stepping units, summed over all workers, including clock reads.
    pub stepping: u32,
    /// Nanoseconds of delivering and sending messages and of finding due units, summed over all workers.
    pub exchanging: u32,
    /// Nanoseconds in which the busiest worker neither stepped units nor exchanged messages: the coordinator and, with several workers, the
    /// barrier.
    pub waiting: u32,
    /// Nanoseconds from the end of the previous epoch to the end of this epoch.
    pub elapsed: u32,
    /// Messages sent.
    pub messages: u32,
}

/// Host times of a run, epoch by epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// All epochs, including epochs that step only half of the units.
    pub epochs: Vec<RecordedEpoch>,
    /// Messages between units: sender, receiver, count.
    pub traffic: Vec<(UnitId, UnitId, u64)>,
}

impl Recording {
    /// Returns the medians of each unit and epoch over recordings of the same run, so that disturbances in less than half of the recordings
    /// have no effect. The set of stolen units comes from the first recording.
    ///
    /// # Panics
    /// If the recordings are of different runs.
    pub fn medians(recordings: &[Self]) -> Option<Self> {
        let (first, others) = recordings.split_first()?;
        assert!(others.iter().all(|other| other.epochs.len() == first.epochs.len()), "recordings of different runs");
        let mut medians = first.clone();
        for (at, epoch) in medians.epochs.iter_mut().enumerate() {
            let of_all = |part: fn(&RecordedEpoch) -> u32| median(recordings.iter().map(|recording| part(&recording.epochs[at])).collect());
            epoch.waiting = of_all(|epoch| epoch.waiting);
            epoch.stepping = of_all(|epoch| epoch.stepping);
            epoch.exchanging = of_all(|epoch| epoch.exchanging);
            epoch.elapsed = of_all(|epoch| epoch.elapsed);
            // A recording can lack a unit without measurable time.
            epoch.units.retain_mut(|(unit, nanos)| {
                let of_unit = recordings.iter().map(|recording| recording.epochs[at].nanos(*unit)).collect::<Option<Vec<u32>>>();
                of_unit.map(|of_unit| *nanos = median(of_unit)).is_some()
            });
        }
        Some(medians)
    }
}

impl RecordedEpoch {
    /// Returns the nanoseconds of a unit; `None` if it was not stepped.
    pub fn nanos(&self, unit: UnitId) -> Option<u32> {
        self.units.binary_search_by_key(&unit, |(unit, _)| *unit).ok().map(|at| self.units[at].1)
    }
}

/// Returns the median; of an even number of values, the lower middle value.
fn median(mut values: Vec<u32>) -> u32 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Collects a [`Recording`] during a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// True if the run records the time of each unit.
    pub(super) units: bool,
    epochs: Vec<RecordedEpoch>,
    /// Total nanoseconds of each unit at the end of the previous epoch.
    before: Vec<u64>,
    mark: Instant,
    /// Time that reading the clock adds to each unit.
    clock: Duration,
}

impl Recorder {
    /// Creates a recorder for a machine of `units` units; `None` if the run records nothing.
    pub(super) fn new(records: HostTimes, units: usize) -> Option<Self> {
        if records == HostTimes::Nothing {
            return None;
        }
        const CLOCK_READINGS: u32 = 1000;
        let began = Instant::now();
        (1..CLOCK_READINGS).for_each(|_| _ = Instant::now());
        let clock = began.elapsed() / CLOCK_READINGS;
        Some(Self { units: records == HostTimes::Units, epochs: Vec::new(), before: vec![0; units], mark: Instant::now(), clock })
    }

    /// Records an epoch. `units` yields each unit, its total nanoseconds so far, and true if another worker stepped it; `spent` yields the
    /// exchanging and stepping time of each worker.
    pub(super) fn note(
        &mut self,
        units: impl Iterator<Item = (UnitId, u64, bool)>,
        spent: impl Iterator<Item = (Duration, Duration)>,
        messages: u64,
    ) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.mark, now);
        let nanos = |duration: Duration| duration.as_nanos() as u32;
        let mut all = [Duration::ZERO; 3];
        for (exchanging, stepping) in spent {
            all = [all[0] + exchanging, all[1] + stepping, all[2].max(exchanging + stepping)];
        }
        let [exchanging, stepping, busiest] = all;
        let mut epoch = RecordedEpoch {
            stepping: nanos(stepping),
            exchanging: nanos(exchanging),
            waiting: nanos(took.saturating_sub(busiest)),
            elapsed: nanos(took),
            messages: messages as u32,
            ..RecordedEpoch::default()
        };
        for (unit, nanos, taken) in units {
            let spent = nanos - std::mem::replace(&mut self.before[unit.index()], nanos);
            if spent > 0 {
                epoch.units.push((unit, spent.saturating_sub(self.clock.as_nanos() as u64) as u32));
                if taken {
                    epoch.taken.push(unit);
                }
            }
        }
        epoch.units.sort_unstable_by_key(|(unit, _)| *unit);
        epoch.taken.sort_unstable();
        self.epochs.push(epoch);
    }

    /// Returns the recording of all epochs, with the number of messages on each link.
    pub(super) fn finish(self, traffic: Vec<(UnitId, UnitId, u64)>) -> Recording {
        Recording { epochs: self.epochs, traffic }
    }
}

/// Returns the nanoseconds per crossing of a barrier between two threads: the least over batches of crossings, since the operating system
/// may preempt a thread in the middle of a batch. The threads run on different cores, since the system might otherwise schedule both on the
/// same core.
pub fn barrier_nanos() -> f64 {
    const MEASURE_TIME: Duration = Duration::from_millis(50);
    const CROSSINGS_PER_BATCH: u32 = 200;
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let began = Instant::now();
    let parties = EpochBarrier::new(vec![(), ()], (0u32, began, Duration::MAX), WaitPolicy::for_threads(2, cores.len()));
    let left = std::thread::scope(|scope| {
        let run = |mut party: warpshard_sync::Party<(), (u32, Instant, Duration)>, core: Option<core_affinity::CoreId>| {
            if let Some(core) = core {
                core_affinity::set_for_current(core);
            }
            while party.local_and_shared().1.1 - began < MEASURE_TIME {
                let waited = party.wait(|(rounds, mark, least), _| {
                    *rounds += 1;
                    if rounds.is_multiple_of(CROSSINGS_PER_BATCH) {
                        let now = Instant::now();
                        *least = (*least).min(now - std::mem::replace(mark, now));
                    }
                });
                waited.ok()?;
            }
            party.finish()
        };
        let own = [0, 1].map(|thread| cores.get(thread).copied());
        let threads: Vec<_> = parties.into_iter().zip(own).map(|(party, core)| scope.spawn(move || run(party, core))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).next()
    });
    left.map_or(f64::NAN, |(_, (.., least))| least.as_nanos() as f64 / f64::from(CROSSINGS_PER_BATCH) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(nanos: [u32; 2], took: u32) -> Recording {
        let units = (0..).map(UnitId).zip(nanos).filter(|(_, nanos)| *nanos > 0).collect();
        Recording { epochs: vec![RecordedEpoch { units, elapsed: took, ..RecordedEpoch::default() }], traffic: Vec::new() }
    }

    #[test]
    fn a_disturbance_of_one_of_three_recordings_has_no_effect() {
        let recordings = [recording([100, 900], 1000), recording([100, 50], 150), recording([700, 60], 170)];
        assert_eq!(Recording::medians(&recordings), Some(recording([100, 60], 170)));
        assert_eq!(Recording::medians(&[]), None);
    }

    #[test]
    fn units_missing_from_a_recording_are_omitted() {
        let recordings = [recording([100, 900], 1000), recording([100, 0], 150)];
        assert_eq!(Recording::medians(&recordings), Some(recording([100, 0], 150)));
    }
}
