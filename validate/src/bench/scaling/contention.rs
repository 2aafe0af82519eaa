//! What workers cost each other, from recordings of one run on one worker and on several.
//!
//! Both recordings have the same units in the same epochs, so whatever a step costs more on several workers comes from the host: caches and memory
//! that they share, and lines that another core has written. Messages are delivered by the owner of the receiving unit, so what delivering
//! costs more is the price of messages that another worker wrote.

use std::collections::BTreeMap;

use warpshard_base::UnitId;
use warpshard_chip::host::{RecordedEpoch, Recording};
use warpshard_lab::statistics::median;

/// Steps by another worker than the owner that a median needs, at least.
const ENOUGH_TAKEN: usize = 20;

/// What several workers cost each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contention {
    /// The time of a step relative to that on one worker, by kind of unit.
    pub(super) steps: BTreeMap<&'static str, f64>,
    /// Nanoseconds more for a message from another worker.
    pub(super) message_ns: f64,
    /// Nanoseconds more for a step by another worker than the owner, where there were enough of them.
    pub(super) taken_ns: Option<f64>,
    /// Nanoseconds of barrier and coordinator, beyond what the coordinator takes with one worker.
    pub(super) barrier_ns: f64,
}

impl Contention {
    /// Of the medians of recordings on one worker and of recordings on `workers` workers; nothing when these do not have the same epochs.
    pub(super) fn of(one: &Recording, several: &[Recording], workers: usize, kind_of: &[&'static str]) -> Option<Self> {
        if several.iter().any(|recording| recording.epochs.len() != one.epochs.len()) {
            return None;
        }
        let medians = Recording::medians(several)?;
        let mut spent: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
        let (mut exchanging, mut messages, mut rest) = (0.0, 0.0, Vec::new());
        for (alone, shared) in one.epochs.iter().zip(&medians.epochs) {
            for (unit, nanos, before) in pairs(shared, alone) {
                let of_kind = spent.entry(kind_of[unit.index()]).or_default();
                *of_kind = (of_kind.0 + before, of_kind.1 + nanos);
            }
            exchanging += f64::from(shared.exchanging) - f64::from(alone.exchanging);
            messages += f64::from(alone.messages);
            rest.push(f64::from(shared.rest) - f64::from(alone.rest));
        }
        let steps = spent.into_iter().filter(|(_, (before, _))| *before > 0.0).map(|(kind, (before, now))| (kind, now / before));
        let mut found = Self {
            steps: steps.collect(),
            message_ns: exchanging / (messages * from_others(workers)).max(1.0),
            taken_ns: None,
            // The median, since the system may take a core away at a barrier.
            barrier_ns: median(&rest)?.max(0.0),
        };
        found.taken_ns = found.taken(one, several, kind_of);
        Some(found)
    }

    /// How much longer steps by another worker take than those by the owner: medians over all single steps.
    fn taken(&self, one: &Recording, several: &[Recording], kind_of: &[&'static str]) -> Option<f64> {
        let (mut own, mut taken) = (Vec::new(), Vec::new());
        for (alone, shared) in several.iter().flat_map(|recording| one.epochs.iter().zip(&recording.epochs)) {
            for (unit, nanos, before) in pairs(shared, alone) {
                let more = nanos - before * self.factor(kind_of[unit.index()]);
                if shared.taken.binary_search(&unit).is_ok() { taken.push(more) } else { own.push(more) }
            }
        }
        if taken.len() < ENOUGH_TAKEN {
            return None;
        }
        Some((median(&taken)? - median(&own)?).max(0.0))
    }

    fn factor(&self, kind: &str) -> f64 {
        self.steps.get(kind).copied().unwrap_or(1.0)
    }

    /// The epochs of a recording on one worker with the times that they have on `workers` workers.
    pub(super) fn applied(&self, epochs: &[RecordedEpoch], kind_of: &[&'static str], workers: usize) -> Vec<RecordedEpoch> {
        let mut epochs = epochs.to_vec();
        for epoch in &mut epochs {
            for (unit, nanos) in &mut epoch.units {
                *nanos = (f64::from(*nanos) * self.factor(kind_of[unit.index()])) as u32;
            }
            let more = self.message_ns * f64::from(epoch.messages) * from_others(workers);
            epoch.exchanging = (f64::from(epoch.exchanging) + more) as u32;
        }
        epochs
    }
}

/// The share of messages that come from another worker, where units are spread evenly over the workers.
fn from_others(workers: usize) -> f64 {
    1.0 - 1.0 / workers as f64
}

/// The units that both recordings have in an epoch, with their nanoseconds in each.
fn pairs<'a>(shared: &'a RecordedEpoch, alone: &'a RecordedEpoch) -> impl Iterator<Item = (UnitId, f64, f64)> + 'a {
    shared.units.iter().filter_map(|(unit, nanos)| {
        let before = alone.nanos(*unit)?;
        Some((*unit, f64::from(*nanos), f64::from(before)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [&str; 4] = ["sm", "sm", "network", "sm"];

    /// Epochs in which unit 3 is taken by another worker.
    fn recording(nanos: [u32; 4], exchanging: u32, taken: bool) -> Recording {
        let units = (0..).map(UnitId).zip(nanos).collect();
        let taken = if taken { vec![UnitId(3)] } else { Vec::new() };
        let epoch = RecordedEpoch { units, taken, exchanging, messages: 100, rest: 7, ..RecordedEpoch::default() };
        Recording { epochs: vec![epoch; 30], traffic: Vec::new() }
    }

    #[test]
    fn steps_and_messages_cost_what_the_recordings_differ_by() {
        let one = recording([1000, 1000, 400, 1000], 5000, false);
        let mut two = recording([1200, 1200, 600, 1200], 6000, false);
        two.epochs.iter_mut().for_each(|epoch| epoch.rest = 507);
        let found = Contention::of(&one, std::slice::from_ref(&two), 2, &KINDS).unwrap();
        assert_eq!(
            found,
            Contention { steps: [("network", 1.5), ("sm", 1.2)].into(), message_ns: 20.0, taken_ns: None, barrier_ns: 500.0 }
        );
        // On two workers what was recorded there, but for the barrier, and on four three quarters of the messages come from others.
        two.epochs.iter_mut().for_each(|epoch| epoch.rest = 7);
        assert_eq!(found.applied(&one.epochs, &KINDS, 2), two.epochs);
        assert_eq!(found.applied(&one.epochs, &KINDS, 4)[0].exchanging, 6500);
    }

    #[test]
    fn a_step_by_another_worker_costs_more_than_one_by_the_owner() {
        let one = recording([1000; 4], 0, false);
        let two = recording([1000, 1000, 1000, 1600], 0, true);
        let undisturbed = recording([1000; 4], 0, false);
        let found = Contention::of(&one, &[undisturbed, two], 2, &KINDS).unwrap();
        assert_eq!((found.taken_ns, found.factor("sm")), (Some(600.0), 1.0));
    }

    #[test]
    fn recordings_with_other_epochs_say_nothing() {
        let one = recording([1000; 4], 0, false);
        let mut other = one.clone();
        other.epochs.pop();
        assert_eq!(Contention::of(&one, &[other], 2, &KINDS), None);
        assert_eq!(Contention::of(&one, &[], 2, &KINDS), None);
    }
}
