//! The host's time of every unit in every epoch, to foretell runs on many workers from runs on few.

use std::time::{Duration, Instant};

use warpshard_base::UnitId;
use warpshard_sync::{EpochBarrier, WaitPolicy};

/// What a run records of the host's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostTimes {
    /// Nothing.
    #[default]
    Nothing,
    /// The time of each epoch, which costs little: runs are as fast as without.
    Epochs,
    /// The time of each unit in each epoch as well. The coordinator reads it of every unit while all workers wait.
    Units,
}

/// What stepping cost in one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedEpoch {
    /// Units that were stepped, in the order of their numbers, with the host nanoseconds of each.
    pub units: Vec<(UnitId, u32)>,
    /// Those of them that another worker than their owner stepped, in the same order.
    pub taken: Vec<UnitId>,
    /// Nanoseconds of stepping units, of all workers together, reading the clock included.
    pub stepping: u32,
    /// Nanoseconds of delivering messages and handing them on, and of finding the units that are due; of all workers together.
    pub exchanging: u32,
    /// Nanoseconds in which the busiest worker did neither: the coordinator and, with several workers, the barrier.
    pub rest: u32,
    /// Nanoseconds from the end of the epoch before to the end of this one.
    pub took: u32,
    /// Messages sent.
    pub messages: u32,
}

/// What a run cost, epoch by epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The epochs, those included that only one half of the machine was stepped in.
    pub epochs: Vec<RecordedEpoch>,
    /// Messages between units: sender, receiver, how many.
    pub traffic: Vec<(UnitId, UnitId, u64)>,
}

impl Recording {
    /// The medians of each unit and epoch over recordings of the same run: what disturbed less than half of them at the same place does not count,
    /// and what costs time in most of them does. Which units were taken is that of the first.
    ///
    /// # Panics
    /// When the recordings are of different runs.
    pub fn medians(recordings: &[Self]) -> Option<Self> {
        let (first, others) = recordings.split_first()?;
        assert!(others.iter().all(|other| other.epochs.len() == first.epochs.len()), "recordings of different runs");
        let mut medians = first.clone();
        for (at, epoch) in medians.epochs.iter_mut().enumerate() {
            let of_all = |part: fn(&RecordedEpoch) -> u32| median(recordings.iter().map(|recording| part(&recording.epochs[at])).collect());
            epoch.rest = of_all(|epoch| epoch.rest);
            epoch.stepping = of_all(|epoch| epoch.stepping);
            epoch.exchanging = of_all(|epoch| epoch.exchanging);
            epoch.took = of_all(|epoch| epoch.took);
            // A unit without measurable time may be missing.
            epoch.units.retain_mut(|(unit, nanos)| {
                let of_unit = recordings.iter().map(|recording| recording.epochs[at].nanos(*unit)).collect::<Option<Vec<u32>>>();
                of_unit.map(|of_unit| *nanos = median(of_unit)).is_some()
            });
        }
        Some(medians)
    }
}

impl RecordedEpoch {
    /// The nanoseconds of a unit, where it was stepped.
    pub fn nanos(&self, unit: UnitId) -> Option<u32> {
        self.units.binary_search_by_key(&unit, |(unit, _)| *unit).ok().map(|at| self.units[at].1)
    }
}

/// The median; of an even number the lower one in the middle.
fn median(mut values: Vec<u32>) -> u32 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Makes a [`Recording`] of a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Whether it records units, too.
    pub(super) units: bool,
    epochs: Vec<RecordedEpoch>,
    /// Nanoseconds of each unit up to the last epoch.
    before: Vec<u64>,
    mark: Instant,
    /// What reading the clock adds to the time of each unit.
    clock: Duration,
}

impl Recorder {
    /// A recorder for a machine of so many units, where anything is recorded.
    pub(super) fn new(records: HostTimes, units: usize) -> Option<Self> {
        if records == HostTimes::Nothing {
            return None;
        }
        const READINGS: u32 = 1000;
        let began = Instant::now();
        (1..READINGS).for_each(|_| _ = Instant::now());
        let clock = began.elapsed() / READINGS;
        Some(Self { units: records == HostTimes::Units, epochs: Vec::new(), before: vec![0; units], mark: Instant::now(), clock })
    }

    /// An epoch has ended, after which each of `units` has taken so many nanoseconds in all and was taken by another worker or not; the workers
    /// spent `spent` on exchanging and stepping.
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
            rest: nanos(took.saturating_sub(busiest)),
            took: nanos(took),
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

    /// All epochs, with the messages of each link.
    pub(super) fn finish(self, traffic: Vec<(UnitId, UnitId, u64)>) -> Recording {
        Recording { epochs: self.epochs, traffic }
    }
}

/// Nanoseconds of a barrier between two threads, for each of them: the least over batches of barriers, since the operating system may take a core
/// away in the middle of one. The threads have cores of their own, or the system might give both the same one.
pub fn barrier_nanos() -> f64 {
    const MEASURE: Duration = Duration::from_millis(50);
    const ROUNDS: u32 = 200;
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let began = Instant::now();
    let parties = EpochBarrier::new(vec![(), ()], (0u32, began, Duration::MAX), WaitPolicy::for_threads(2, cores.len()));
    let left = std::thread::scope(|scope| {
        let run = |mut party: warpshard_sync::Party<(), (u32, Instant, Duration)>, core: Option<core_affinity::CoreId>| {
            if let Some(core) = core {
                core_affinity::set_for_current(core);
            }
            while party.both().1.1 - began < MEASURE {
                let waited = party.wait(|(rounds, mark, least), _| {
                    *rounds += 1;
                    if rounds.is_multiple_of(ROUNDS) {
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
    left.map_or(f64::NAN, |(_, (.., least))| least.as_nanos() as f64 / f64::from(ROUNDS) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(nanos: [u32; 2], took: u32) -> Recording {
        let units = (0..).map(UnitId).zip(nanos).filter(|(_, nanos)| *nanos > 0).collect();
        Recording { epochs: vec![RecordedEpoch { units, took, ..RecordedEpoch::default() }], traffic: Vec::new() }
    }

    #[test]
    fn what_disturbs_one_of_three_recordings_at_a_place_does_not_count() {
        let recordings = [recording([100, 900], 1000), recording([100, 50], 150), recording([700, 60], 170)];
        assert_eq!(Recording::medians(&recordings), Some(recording([100, 60], 170)));
        assert_eq!(Recording::medians(&[]), None);
    }

    #[test]
    fn a_unit_that_a_recording_lacks_is_left_out() {
        let recordings = [recording([100, 900], 1000), recording([100, 0], 150)];
        assert_eq!(Recording::medians(&recordings), Some(recording([100, 0], 150)));
    }
}
