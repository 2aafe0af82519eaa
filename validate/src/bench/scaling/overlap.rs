//! What an engine would gain that lets the two halves of a machine overlap, in a replay of a recorded run; the engine does not do this.
//!
//! Units of one half (SMs, CPU cores, partitions) have links to the other (networks, the grid scheduler) only. So an epoch of one half needs nothing
//! but the epoch before of the other: while the last SMs of an epoch are stepped, others may begin the next one once the networks are through. A
//! worker that has nothing left in an epoch then goes on, and what one has too much in an epoch is made up for in the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpshard_chip::host::{RecordedEpoch, improve, left_to_owner, place};

use super::replay::{BALANCE_EVERY, Host, Recorded, stepping};

/// Kinds of the smaller half.
const MIDDLE: [&str; 2] = ["network", "grid"];
/// Epochs of which units can be ready at the same time: one half is at most one epoch ahead of the other.
const WINDOW: usize = 2;

/// The steps of an epoch that nobody has begun, and what is left of it.
#[derive(Clone, Debug, Default)]
struct Open {
    /// Steps by half and worker: unit and nanoseconds; a worker takes the last one.
    queues: [Vec<Vec<(usize, f64)>>; 2],
    /// Steps that are not finished, by half.
    unfinished: [usize; 2],
    /// Whether the step of a unit is not finished.
    undone: Vec<bool>,
    /// Which workers have had their part of exchange and coordination.
    entered: Vec<bool>,
    /// That part.
    entry: f64,
    leave: usize,
}

/// A step that a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    until: u64,
    worker: usize,
    epoch: usize,
    unit: usize,
}

struct Overlap<'a> {
    recorded: &'a Recorded<'a>,
    host: Host,
    workers: usize,
    half_of: Vec<usize>,
    worker_of: Vec<u16>,
    recent: Vec<u64>,
    /// Epochs `first..first + WINDOW`.
    open: [Open; WINDOW],
    first: usize,
}

impl Recorded<'_> {
    /// Nanoseconds of the run on `workers` workers if halves overlapped.
    pub(super) fn overlapped(&self, workers: usize, host: Host) -> f64 {
        let costs = self.shard_costs();
        let mut overlap = Overlap {
            recorded: self,
            host,
            workers,
            half_of: self.kind_of.iter().map(|kind| usize::from(MIDDLE.contains(kind))).collect(),
            worker_of: place(&costs, workers),
            recent: vec![0; costs.len()],
            open: Default::default(),
            first: 0,
        };
        overlap.open = [overlap.opened(0), overlap.opened(1)];
        overlap.run()
    }
}

impl Overlap<'_> {
    fn run(mut self) -> f64 {
        let mut running: BinaryHeap<Reverse<Running>> = BinaryHeap::new();
        let mut idle: Vec<usize> = (0..self.workers).collect();
        let mut now = 0;
        loop {
            while self.first < self.recorded.epochs.len() && self.open[0].unfinished == [0, 0] {
                self.first += 1;
                let next = self.opened(self.first + 1);
                self.open = [std::mem::take(&mut self.open[1]), next];
            }
            idle.retain(|&worker| {
                let begun = self.begin(worker);
                if let Some((epoch, unit, nanos)) = begun {
                    running.push(Reverse(Running { until: now + nanos as u64, worker, epoch, unit }));
                }
                begun.is_none()
            });
            let Some(Reverse(done)) = running.pop() else { return now as f64 };
            now = done.until;
            let open = &mut self.open[done.epoch - self.first];
            open.unfinished[self.half_of[done.unit]] -= 1;
            open.undone[done.unit] = false;
            let at = idle.partition_point(|worker| *worker < done.worker);
            idle.insert(at, done.worker);
        }
    }

    /// An epoch with its steps in the lists of their owners, long ones last.
    fn opened(&mut self, number: usize) -> Open {
        let (recorded, workers) = (self.recorded, self.workers);
        let none = RecordedEpoch::default();
        let epoch = recorded.epochs.get(number).unwrap_or(&none);
        let mut queues = [vec![Vec::new(); workers], vec![Vec::new(); workers]];
        let (mut unfinished, mut undone) = ([0; 2], vec![false; self.half_of.len()]);
        let mut push = |unit: usize, nanos: u32| {
            let (half, shard) = (self.half_of[unit], recorded.shard_of[unit] as usize);
            queues[half][usize::from(self.worker_of[shard])].push((unit, f64::from(nanos)));
            unfinished[half] += 1;
            undone[unit] = true;
            self.recent[shard] += u64::from(nanos);
        };
        let units = epoch.units.iter().map(|(unit, nanos)| (unit.index(), *nanos));
        if number.is_multiple_of(2) {
            units.rev().for_each(|(unit, nanos)| push(unit, nanos))
        } else {
            units.for_each(|(unit, nanos)| push(unit, nanos))
        }
        queues.iter_mut().flatten().for_each(|queue| queue.sort_by_key(|(unit, _)| recorded.long_of[*unit]));
        if number % BALANCE_EVERY == BALANCE_EVERY - 1 {
            improve(&self.recent, &mut self.worker_of, workers);
            self.recent.iter_mut().for_each(|nanos| *nanos /= 2);
        }
        let entry = f64::from(epoch.exchanging) / workers as f64 + f64::from(epoch.rest) + self.host.barrier_ns;
        let leave = left_to_owner(stepping(epoch) as u64 / epoch.units.len().max(1) as u64);
        Open { queues, unfinished, undone, entered: vec![false; workers], entry, leave }
    }

    /// Whether a half may begin the epoch at `place` in the window.
    fn is_ready(&self, place: usize, half: usize) -> bool {
        place == 0 || self.open[place - 1].unfinished[1 - half] == 0
    }

    /// The step that a worker begins: one of its own, the earliest epoch and the smaller half first, or one of another's.
    fn begin(&mut self, worker: usize) -> Option<(usize, usize, f64)> {
        for place in 0..WINDOW {
            for (half, distance) in [(1, 0), (0, 0)].into_iter().chain((1..self.workers).map(|distance| (0, distance))) {
                let ready = self.is_ready(place, half) && self.open[place].unfinished[half] > 0;
                let owner = (worker + distance) % self.workers;
                let leave = if distance == 0 { 0 } else { self.open[place].leave };
                if !ready || self.open[place].queues[half][owner].len() <= leave {
                    continue;
                }
                // A unit whose step of the epoch before is not finished cannot be stepped yet.
                let free = |(unit, _): &(usize, f64)| place == 0 || !self.open[place - 1].undone[*unit];
                let Some(at) = self.open[place].queues[half][owner].iter().rposition(free) else { continue };
                let open = &mut self.open[place];
                let (unit, nanos) = open.queues[half][owner].remove(at);
                let fetching = if distance == 0 { 0.0 } else { self.host.steal_ns };
                let entry = if std::mem::replace(&mut open.entered[worker], true) { 0.0 } else { open.entry };
                return Some((self.first + place, unit, nanos + fetching + entry));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::UnitId;

    const FREE: Host = Host { barrier_ns: 0.0, steal_ns: 0.0 };

    fn overlapped(costs: &[u32], kinds: &[&'static str], workers: usize) -> f64 {
        let units: Vec<(UnitId, u32)> = (0..).map(UnitId).zip(costs.iter().copied()).collect();
        let epochs = vec![RecordedEpoch { units, ..RecordedEpoch::default() }; 40];
        let shards: Vec<u32> = (0..costs.len() as u32).collect();
        let run = Recorded { epochs: &epochs, shard_of: &shards, kind_of: kinds, long_of: &vec![false; costs.len()], traffic: &[] };
        run.overlapped(workers, FREE)
    }

    #[test]
    fn one_worker_takes_what_was_recorded() {
        assert_eq!(overlapped(&[7000, 5000, 5000], &["network", "sm", "sm"], 1), 40.0 * 17000.0);
    }

    #[test]
    fn what_is_left_of_an_epoch_is_made_up_for_in_the_next() {
        // Three equal units on two workers take two steps' time in every epoch with a barrier, and one and a half without.
        let time = overlapped(&[6000, 6000, 6000], &["sm"; 3], 2);
        assert!((40.0 * 9000.0..=41.0 * 9000.0).contains(&time), "{time}");
    }

    #[test]
    fn a_half_waits_for_the_epoch_before_of_the_other() {
        // The network is as long as an epoch, so nothing can hide behind it but the SMs of the same epoch.
        let time = overlapped(&[9000, 1000, 1000], &["network", "sm", "sm"], 2);
        assert_eq!(time, 40.0 * 9000.0);
    }
}
