//! Predicted time of an engine that overlaps the two halves of a machine, from a replay of a recorded run. The real engine does not overlap
//! them.
//!
//! Units of one half (SMs, CPU cores, partitions) have links only to the other half (networks, the grid scheduler). So an epoch of one half
//! depends only on the previous epoch of the other half: while some workers step the last SMs of an epoch, other workers may begin the next
//! epoch as soon as the networks have finished. A worker without work left in an epoch thus continues with the next one, and imbalances of
//! two successive epochs even out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpshard_chip::host::{RecordedEpoch, assign_shards, move_shards, units_left_to_owner};

use super::replay::{BALANCE_EPOCHS, ReplayInput, WorkerCosts, stepping_ns};

/// Kinds of units in the smaller half.
const SMALLER_HALF_KINDS: [&str; 2] = ["network", "grid"];
/// Epochs whose units can be ready at the same time: one half is at most one epoch ahead of the other.
const WINDOW_EPOCHS: usize = 2;

/// State of an epoch in the window: its unstarted and its unfinished steps.
#[derive(Clone, Debug, Default)]
struct OpenEpoch {
    /// Unstarted steps by half and worker, as unit and nanoseconds; a worker takes the last step of a list.
    queues: [Vec<Vec<(usize, f64)>>; 2],
    /// Number of unfinished steps, by half.
    unfinished: [usize; 2],
    /// `true` for each unit whose step is unfinished.
    unfinished_units: Vec<bool>,
    /// `true` for each worker that has done its part of the exchange and coordination.
    entered: Vec<bool>,
    /// Nanoseconds of a worker's part of the exchange and coordination.
    entry: f64,
    leave: usize,
}

/// The step that a worker executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunningStep {
    ends_at: u64,
    worker: usize,
    epoch: usize,
    unit: usize,
}

struct OverlapReplay<'a> {
    recorded: &'a ReplayInput<'a>,
    host: WorkerCosts,
    workers: usize,
    half_of: Vec<usize>,
    worker_of: Vec<u16>,
    recent: Vec<u64>,
    /// State of the epochs `first_epoch..first_epoch + WINDOW_EPOCHS`.
    open_epochs: [OpenEpoch; WINDOW_EPOCHS],
    first_epoch: usize,
}

impl ReplayInput<'_> {
    /// Returns the nanoseconds of the run on `workers` workers with overlapping halves.
    pub(super) fn overlapped_ns(&self, workers: usize, host: WorkerCosts) -> f64 {
        let costs = self.shard_costs();
        let mut overlap = OverlapReplay {
            recorded: self,
            host,
            workers,
            half_of: self.kind_of.iter().map(|kind| usize::from(SMALLER_HALF_KINDS.contains(kind))).collect(),
            worker_of: assign_shards(&costs, workers),
            recent: vec![0; costs.len()],
            open_epochs: Default::default(),
            first_epoch: 0,
        };
        overlap.open_epochs = [overlap.open_epoch(0), overlap.open_epoch(1)];
        overlap.run()
    }
}

impl OverlapReplay<'_> {
    fn run(mut self) -> f64 {
        let mut running: BinaryHeap<Reverse<RunningStep>> = BinaryHeap::new();
        let mut idle: Vec<usize> = (0..self.workers).collect();
        let mut now = 0;
        loop {
            while self.first_epoch < self.recorded.epochs.len() && self.open_epochs[0].unfinished == [0, 0] {
                self.first_epoch += 1;
                let next = self.open_epoch(self.first_epoch + 1);
                self.open_epochs = [std::mem::take(&mut self.open_epochs[1]), next];
            }
            idle.retain(|&worker| {
                let begun = self.begin_step(worker);
                if let Some((epoch, unit, nanos)) = begun {
                    running.push(Reverse(RunningStep { ends_at: now + nanos as u64, worker, epoch, unit }));
                }
                begun.is_none()
            });
            let Some(Reverse(done)) = running.pop() else { return now as f64 };
            now = done.ends_at;
            let open = &mut self.open_epochs[done.epoch - self.first_epoch];
            open.unfinished[self.half_of[done.unit]] -= 1;
            open.unfinished_units[done.unit] = false;
            let at = idle.partition_point(|worker| *worker < done.worker);
            idle.insert(at, done.worker);
        }
    }

    /// Opens an epoch: puts its steps into the lists of their owners, long steps last.
    fn open_epoch(&mut self, number: usize) -> OpenEpoch {
        let (recorded, workers) = (self.recorded, self.workers);
        let none = RecordedEpoch::default();
        let epoch = recorded.epochs.get(number).unwrap_or(&none);
        let mut queues = [vec![Vec::new(); workers], vec![Vec::new(); workers]];
        let (mut unfinished, mut unfinished_units) = ([0; 2], vec![false; self.half_of.len()]);
        let mut push = |unit: usize, nanos: u32| {
            let (half, shard) = (self.half_of[unit], recorded.shard_of[unit] as usize);
            queues[half][usize::from(self.worker_of[shard])].push((unit, f64::from(nanos)));
            unfinished[half] += 1;
            unfinished_units[unit] = true;
            self.recent[shard] += u64::from(nanos);
        };
        let units = epoch.units.iter().map(|(unit, nanos)| (unit.index(), *nanos));
        if number.is_multiple_of(2) {
            units.rev().for_each(|(unit, nanos)| push(unit, nanos))
        } else {
            units.for_each(|(unit, nanos)| push(unit, nanos))
        }
        queues.iter_mut().flatten().for_each(|queue| queue.sort_by_key(|(unit, _)| recorded.long_of[*unit]));
        if number % BALANCE_EPOCHS == BALANCE_EPOCHS - 1 {
            move_shards(&self.recent, &mut self.worker_of, workers);
            self.recent.iter_mut().for_each(|nanos| *nanos /= 2);
        }
        let entry = f64::from(epoch.exchanging) / workers as f64 + f64::from(epoch.waiting) + self.host.barrier_ns;
        let leave = units_left_to_owner(stepping_ns(epoch) as u64 / epoch.units.len().max(1) as u64);
        OpenEpoch { queues, unfinished, unfinished_units, entered: vec![false; workers], entry, leave }
    }

    /// Returns `true` if a half may begin the epoch at `index` of the window.
    fn is_ready(&self, index: usize, half: usize) -> bool {
        index == 0 || self.open_epochs[index - 1].unfinished[1 - half] == 0
    }

    /// Begins a step for a worker and returns it: the worker's own steps come first, in the earliest epoch and the smaller half first, then
    /// steps of other owners.
    fn begin_step(&mut self, worker: usize) -> Option<(usize, usize, f64)> {
        for index in 0..WINDOW_EPOCHS {
            for (half, distance) in [(1, 0), (0, 0)].into_iter().chain((1..self.workers).map(|distance| (0, distance))) {
                let ready = self.is_ready(index, half) && self.open_epochs[index].unfinished[half] > 0;
                let owner = (worker + distance) % self.workers;
                let leave = if distance == 0 { 0 } else { self.open_epochs[index].leave };
                if !ready || self.open_epochs[index].queues[half][owner].len() <= leave {
                    continue;
                }
                // A unit cannot be stepped while its step of the previous epoch is unfinished.
                let free = |(unit, _): &(usize, f64)| index == 0 || !self.open_epochs[index - 1].unfinished_units[*unit];
                let Some(at) = self.open_epochs[index].queues[half][owner].iter().rposition(free) else { continue };
                let open = &mut self.open_epochs[index];
                let (unit, nanos) = open.queues[half][owner].remove(at);
                let fetching = if distance == 0 { 0.0 } else { self.host.steal_ns };
                let entry = if std::mem::replace(&mut open.entered[worker], true) { 0.0 } else { open.entry };
                return Some((self.first_epoch + index, unit, nanos + fetching + entry));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::UnitId;

    const NO_WORKER_COSTS: WorkerCosts = WorkerCosts { barrier_ns: 0.0, steal_ns: 0.0 };

    fn overlapped_ns(costs: &[u32], kinds: &[&'static str], workers: usize) -> f64 {
        let units: Vec<(UnitId, u32)> = (0..).map(UnitId).zip(costs.iter().copied()).collect();
        let epochs = vec![RecordedEpoch { units, ..RecordedEpoch::default() }; 40];
        let shards: Vec<u32> = (0..costs.len() as u32).collect();
        let run = ReplayInput { epochs: &epochs, shard_of: &shards, kind_of: kinds, long_of: &vec![false; costs.len()], traffic: &[] };
        run.overlapped_ns(workers, NO_WORKER_COSTS)
    }

    #[test]
    fn one_worker_takes_the_recorded_time() {
        assert_eq!(overlapped_ns(&[7000, 5000, 5000], &["network", "sm", "sm"], 1), 40.0 * 17000.0);
    }

    #[test]
    fn imbalances_even_out_over_two_epochs() {
        // Three equal units on two workers take the time of two steps per epoch with a barrier, and of one and a half steps without.
        let time = overlapped_ns(&[6000, 6000, 6000], &["sm"; 3], 2);
        assert!((40.0 * 9000.0..=41.0 * 9000.0).contains(&time), "{time}");
    }

    #[test]
    fn a_half_waits_for_the_previous_epoch_of_the_other() {
        // The network takes a whole epoch, so only the SMs of the same epoch can overlap with it.
        let time = overlapped_ns(&[9000, 1000, 1000], &["network", "sm", "sm"], 2);
        assert_eq!(time, 40.0 * 9000.0);
    }
}
