//! Contention between workers, from recordings of one run on one worker and on several.
//!
//! Both recordings have the same units in the same epochs, so a step that takes longer on several workers does so because of the host:
//! shared caches and memory, and cache lines written by another core. The owner of the receiving unit delivers the messages, so the extra
//! delivery time is the cost of messages written by another worker.

use std::collections::BTreeMap;

use warpshard_base::UnitId;
use warpshard_chip::host::{RecordedEpoch, Recording};
use warpshard_lab::statistics::median;

/// Minimum steps by a worker other than the owner for a median.
const MIN_TAKEN_STEPS: usize = 20;

/// Costs of contention between workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contention {
    /// Time of a step relative to its time on one worker, by kind of unit.
    pub(super) steps: BTreeMap<&'static str, f64>,
    /// Extra nanoseconds per message from another worker.
    pub(super) message_ns: f64,
    /// Extra nanoseconds per step by a worker other than the owner; `None` with fewer than [`MIN_TAKEN_STEPS`] such steps.
    pub(super) taken_ns: Option<f64>,
    /// Nanoseconds per epoch of the barrier and the coordinator, beyond the coordinator's time with one worker.
    pub(super) barrier_ns: f64,
}

impl Contention {
    /// Compares the medians of recordings on `workers` workers with the recording on one; returns `None` if their epochs differ.
    pub(super) fn compare(one: &Recording, several: &[Recording], workers: usize, kind_of: &[&'static str]) -> Option<Self> {
        if several.iter().any(|recording| recording.epochs.len() != one.epochs.len()) {
            return None;
        }
        let medians = Recording::medians(several)?;
        let mut spent: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
        let (mut exchanging, mut messages, mut rest) = (0.0, 0.0, Vec::new());
        for (alone, shared) in one.epochs.iter().zip(&medians.epochs) {
            for (unit, nanos, before) in unit_pairs(shared, alone) {
                let of_kind = spent.entry(kind_of[unit.index()]).or_default();
                *of_kind = (of_kind.0 + before, of_kind.1 + nanos);
            }
            exchanging += f64::from(shared.exchanging) - f64::from(alone.exchanging);
            messages += f64::from(alone.messages);
            rest.push(f64::from(shared.waiting) - f64::from(alone.waiting));
        }
        let steps = spent.into_iter().filter(|(_, (before, _))| *before > 0.0).map(|(kind, (before, now))| (kind, now / before));
        let mut found = Self {
            steps: steps.collect(),
            message_ns: exchanging / (messages * crossing_share(workers)).max(1.0),
            taken_ns: None,
            // The median, because the operating system may preempt a core at a barrier.
            barrier_ns: median(&rest)?.max(0.0),
        };
        found.taken_ns = found.taken_step_ns(one, several, kind_of);
        Some(found)
    }

    /// Returns the extra nanoseconds of a step by a worker other than the owner: difference of the medians over all single steps.
    fn taken_step_ns(&self, one: &Recording, several: &[Recording], kind_of: &[&'static str]) -> Option<f64> {
        let (mut own, mut taken) = (Vec::new(), Vec::new());
        for (alone, shared) in several.iter().flat_map(|recording| one.epochs.iter().zip(&recording.epochs)) {
            for (unit, nanos, before) in unit_pairs(shared, alone) {
                let more = nanos - before * self.step_factor(kind_of[unit.index()]);
                if shared.taken.binary_search(&unit).is_ok() { taken.push(more) } else { own.push(more) }
            }
        }
        if taken.len() < MIN_TAKEN_STEPS {
            return None;
        }
        Some((median(&taken)? - median(&own)?).max(0.0))
    }

    fn step_factor(&self, kind: &str) -> f64 {
        self.steps.get(kind).copied().unwrap_or(1.0)
    }

    /// Returns the epochs of a recording on one worker, scaled to `workers` workers.
    pub(super) fn scaled_epochs(&self, epochs: &[RecordedEpoch], kind_of: &[&'static str], workers: usize) -> Vec<RecordedEpoch> {
        let mut epochs = epochs.to_vec();
        for epoch in &mut epochs {
            for (unit, nanos) in &mut epoch.units {
                *nanos = (f64::from(*nanos) * self.step_factor(kind_of[unit.index()])) as u32;
            }
            let more = self.message_ns * f64::from(epoch.messages) * crossing_share(workers);
            epoch.exchanging = (f64::from(epoch.exchanging) + more) as u32;
        }
        epochs
    }
}

/// Returns the share of messages that cross workers if units are spread evenly over the workers.
fn crossing_share(workers: usize) -> f64 {
    1.0 - 1.0 / workers as f64
}

/// Iterates over the units that both recordings have in an epoch, with their nanoseconds in each.
fn unit_pairs<'a>(shared: &'a RecordedEpoch, alone: &'a RecordedEpoch) -> impl Iterator<Item = (UnitId, f64, f64)> + 'a {
    shared.units.iter().filter_map(|(unit, nanos)| {
        let before = alone.nanos(*unit)?;
        Some((*unit, f64::from(*nanos), f64::from(before)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT_KINDS: [&str; 4] = ["sm", "sm", "network", "sm"];

    /// Returns a recording of epochs in which another worker takes unit 3 if `taken`.
    fn example_recording(nanos: [u32; 4], exchanging: u32, taken: bool) -> Recording {
        let units = (0..).map(UnitId).zip(nanos).collect();
        let taken = if taken { vec![UnitId(3)] } else { Vec::new() };
        let epoch = RecordedEpoch { units, taken, exchanging, messages: 100, waiting: 7, ..RecordedEpoch::default() };
        Recording { epochs: vec![epoch; 30], traffic: Vec::new() }
    }

    #[test]
    fn step_and_message_costs_are_differences_of_recordings() {
        let one = example_recording([1000, 1000, 400, 1000], 5000, false);
        let mut two = example_recording([1200, 1200, 600, 1200], 6000, false);
        two.epochs.iter_mut().for_each(|epoch| epoch.waiting = 507);
        let found = Contention::compare(&one, std::slice::from_ref(&two), 2, &UNIT_KINDS).unwrap();
        assert_eq!(
            found,
            Contention { steps: [("network", 1.5), ("sm", 1.2)].into(), message_ns: 20.0, taken_ns: None, barrier_ns: 500.0 }
        );
        // On two workers the result is the recording made there, except for the barrier. On four workers three quarters of the messages
        // cross workers.
        two.epochs.iter_mut().for_each(|epoch| epoch.waiting = 7);
        assert_eq!(found.scaled_epochs(&one.epochs, &UNIT_KINDS, 2), two.epochs);
        assert_eq!(found.scaled_epochs(&one.epochs, &UNIT_KINDS, 4)[0].exchanging, 6500);
    }

    #[test]
    fn a_step_by_another_worker_costs_more_than_one_by_the_owner() {
        let one = example_recording([1000; 4], 0, false);
        let two = example_recording([1000, 1000, 1000, 1600], 0, true);
        let undisturbed = example_recording([1000; 4], 0, false);
        let found = Contention::compare(&one, &[undisturbed, two], 2, &UNIT_KINDS).unwrap();
        assert_eq!((found.taken_ns, found.step_factor("sm")), (Some(600.0), 1.0));
    }

    #[test]
    fn recordings_with_different_epochs_give_no_contention() {
        let one = example_recording([1000; 4], 0, false);
        let mut other = one.clone();
        other.epochs.pop();
        assert_eq!(Contention::compare(&one, &[other], 2, &UNIT_KINDS), None);
        assert_eq!(Contention::compare(&one, &[], 2, &UNIT_KINDS), None);
    }
}
