//! Replay of a recorded run on any number of workers or ranks: the length of each epoch and its causes.
//!
//! The workers are modelled on the engine: its functions place and move the shards, and a worker that has finished takes units of other
//! workers. Properties of the host that the recording does not contain are parameters of [`WorkerCosts`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpshard_chip::host::{RecordedEpoch, ShardCost, assign_shards, move_shards, units_left_to_owner};

/// Epochs between two balance checks, as in the engine.
pub(super) const BALANCE_EPOCHS: usize = 16;

/// Costs of more than one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WorkerCosts {
    /// Nanoseconds of a barrier, and of the coordinator beyond its time with one worker.
    pub(super) barrier_ns: f64,
    /// Extra nanoseconds of a unit's step at a worker other than its owner, because the unit's state comes from another core's cache.
    pub(super) steal_ns: f64,
}

/// Costs of an exchange between ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RankLink {
    /// Nanoseconds from sending to receiving an empty packet.
    pub(super) latency_ns: f64,
    /// Nanoseconds per additional rank that a rank sends to.
    pub(super) send_ns: f64,
    /// Nanoseconds to write, transfer and read a message.
    pub(super) message_ns: f64,
}

/// A recorded run in the form that the replay reads.
#[derive(Clone, Debug)]
pub(super) struct ReplayInput<'a> {
    pub(super) epochs: &'a [RecordedEpoch],
    /// Shard of each unit.
    pub(super) shard_of: &'a [u32],
    /// Kind of each unit.
    pub(super) kind_of: &'a [&'static str],
    /// `true` for each long unit, which a worker steps first.
    pub(super) long_of: &'a [bool],
    /// Messages between units: sender, receiver, count.
    pub(super) traffic: &'a [(usize, usize, u64)],
}

/// Nanoseconds of a replayed run, in total and by part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReplayedTimes {
    pub(super) total: f64,
    /// Nanoseconds at barriers, without the wait for the slowest worker.
    pub(super) barrier: f64,
    /// Nanoseconds of the serial part, which one worker executes for all.
    pub(super) serial: f64,
    /// Nanoseconds of exchanging packets with other ranks.
    pub(super) exchange: f64,
    /// Nanoseconds if the work of each epoch were divided evenly.
    pub(super) even: f64,
}

impl ReplayInput<'_> {
    /// Returns the nanoseconds of the recorded run.
    pub(super) fn one_worker_ns(&self) -> f64 {
        self.epochs.iter().map(|epoch| stepping_ns(epoch) + f64::from(epoch.exchanging + epoch.waiting)).sum()
    }

    /// Returns the critical path, the least time on any number of workers: the sum over epochs of the longest unit's time. The second value
    /// is the unit with the largest part of that sum.
    pub(super) fn critical_path(&self, wanted: impl Fn(&str) -> bool) -> (f64, Option<usize>) {
        let mut of_units = vec![0.0; self.shard_of.len()];
        for epoch in self.epochs {
            let units = epoch.units.iter().filter(|(unit, _)| wanted(self.kind_of[unit.index()]));
            if let Some((unit, nanos)) = units.max_by_key(|(_, nanos)| *nanos) {
                of_units[unit.index()] += f64::from(*nanos);
            }
        }
        let longest = (0..of_units.len()).max_by(|a, b| of_units[*a].total_cmp(&of_units[*b])).filter(|unit| of_units[*unit] > 0.0);
        (of_units.iter().sum(), longest)
    }

    pub(super) fn shard_costs(&self) -> Vec<ShardCost> {
        let shards = self.shard_of.iter().map(|shard| *shard as usize + 1).max().unwrap_or(0);
        let mut costs = vec![ShardCost { kind: "", cost: 0.0 }; shards];
        for (shard, kind) in self.shard_of.iter().zip(self.kind_of) {
            costs[*shard as usize].kind = kind;
        }
        for (unit, nanos) in self.epochs.iter().flat_map(|epoch| &epoch.units) {
            costs[self.shard_of[unit.index()] as usize].cost += f64::from(*nanos);
        }
        costs
    }

    /// Replays the run on `workers` workers of one process.
    pub(super) fn replay_on_workers(&self, workers: usize, host: WorkerCosts) -> ReplayedTimes {
        let mut worker_of = assign_shards(&self.shard_costs(), workers);
        let mut recent = vec![0u64; worker_of.len()];
        let mut replayed = ReplayedTimes::default();
        for (number, epoch) in self.epochs.iter().enumerate() {
            let mut queues: Vec<Vec<(bool, f64)>> = vec![Vec::new(); workers];
            for (unit, nanos) in &epoch.units {
                let shard = self.shard_of[unit.index()] as usize;
                recent[shard] += u64::from(*nanos);
                queues[usize::from(worker_of[shard])].push((self.long_of[unit.index()], f64::from(*nanos)));
            }
            let leave = units_left_to_owner(stepping_ns(epoch) as u64 / epoch.units.len().max(1) as u64);
            // A worker takes steps from the end of its list.
            queues.iter_mut().filter(|_| number % 2 == 0).for_each(|queue| queue.reverse());
            queues.iter_mut().for_each(|queue| queue.sort_by_key(|(long, _)| *long));
            let (serial, shared) = (f64::from(epoch.waiting), f64::from(epoch.exchanging) / workers as f64);
            let (barrier, stepping) = (if workers > 1 { host.barrier_ns } else { 0.0 }, stepping_ns(epoch));
            replayed.total += slowest_worker_ns(queues, leave, host.steal_ns) + shared + serial + barrier;
            replayed.barrier += barrier;
            replayed.serial += serial;
            replayed.even += stepping / workers as f64 + shared;
            if number % BALANCE_EPOCHS == BALANCE_EPOCHS - 1 {
                move_shards(&recent, &mut worker_of, workers);
                recent.iter_mut().for_each(|nanos| *nanos /= 2);
            }
        }
        replayed
    }

    /// Replays the run on `ranks` processes of one thread each, which take no units from each other; also returns the share of messages
    /// that cross ranks.
    pub(super) fn replay_on_ranks(&self, ranks: usize, link: RankLink) -> (ReplayedTimes, f64) {
        let rank_of_shard = assign_shards(&self.shard_costs(), ranks);
        let rank_of = |unit: usize| usize::from(rank_of_shard[self.shard_of[unit] as usize]);
        let all: u64 = self.traffic.iter().map(|(.., count)| count).sum();
        let across: u64 = self.traffic.iter().filter(|(from, to, _)| rank_of(*from) != rank_of(*to)).map(|(.., count)| count).sum();
        let crossing = across as f64 / all.max(1) as f64;
        let mut replayed = ReplayedTimes::default();
        for epoch in self.epochs {
            let mut busy = vec![0.0; ranks];
            epoch.units.iter().for_each(|(unit, nanos)| busy[rank_of(unit.index())] += f64::from(*nanos));
            let messages = f64::from(epoch.messages);
            let exchange = if ranks > 1 {
                link.latency_ns + link.send_ns * (ranks - 1) as f64 + link.message_ns * messages * crossing / ranks as f64
            } else {
                0.0
            };
            let (serial, shared) = (f64::from(epoch.waiting), f64::from(epoch.exchanging) / ranks as f64);
            replayed.total += busy.iter().copied().fold(0.0, f64::max) + shared + serial + exchange;
            replayed.exchange += exchange;
            replayed.serial += serial;
            replayed.even += stepping_ns(epoch) / ranks as f64 + shared;
        }
        (replayed, crossing)
    }
}

/// Returns the nanoseconds of stepping units in an epoch.
pub(super) fn stepping_ns(epoch: &RecordedEpoch) -> f64 {
    epoch.units.iter().map(|(_, nanos)| f64::from(*nanos)).sum()
}

/// Returns the nanoseconds until the last worker has finished. A worker takes its own units from the end of its list, then units of other
/// workers, but leaves the last `leave` units to their owner.
fn slowest_worker_ns(mut queues: Vec<Vec<(bool, f64)>>, leave: usize, steal_ns: f64) -> f64 {
    let workers = queues.len();
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = (0..workers).map(|worker| Reverse((0, worker))).collect();
    let mut end = 0;
    while let Some(Reverse((now, worker))) = free.pop() {
        end = end.max(now);
        let own = queues[worker].pop().map(|(_, nanos)| nanos);
        let taken = own.or_else(|| {
            let others = (1..workers).map(|distance| (worker + distance) % workers);
            let rich = others.into_iter().find(|other| queues[*other].len() > leave)?;
            queues[rich].pop().map(|(_, nanos)| nanos + steal_ns)
        });
        if let Some(nanos) = taken {
            free.push(Reverse((now + nanos as u64, worker)));
        }
    }
    end as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::UnitId;

    const NO_WORKER_COSTS: WorkerCosts = WorkerCosts { barrier_ns: 0.0, steal_ns: 0.0 };

    fn example_epochs(costs: &[u32], rest: u32) -> Vec<RecordedEpoch> {
        let units: Vec<(UnitId, u32)> = (0..).map(UnitId).zip(costs.iter().copied()).collect();
        vec![RecordedEpoch { units, waiting: rest, ..RecordedEpoch::default() }; 40]
    }

    fn example_input<'a>(epochs: &'a [RecordedEpoch], shards: &'a [u32], kinds: &'a [&'static str]) -> ReplayInput<'a> {
        ReplayInput { epochs, shard_of: shards, kind_of: kinds, long_of: &[false; 16], traffic: &[] }
    }

    #[test]
    fn equal_units_are_divided_evenly_and_one_worker_takes_the_recorded_time() {
        let epochs = example_epochs(&[100; 16], 50);
        let (shards, kinds) = ((0..16).collect::<Vec<u32>>(), ["sm"; 16]);
        let run = example_input(&epochs, &shards, &kinds);
        assert_eq!(run.one_worker_ns(), 40.0 * 1650.0);
        assert_eq!(run.replay_on_workers(1, NO_WORKER_COSTS).total, run.one_worker_ns());
        assert_eq!(run.replay_on_workers(4, NO_WORKER_COSTS).total, 40.0 * 450.0);
        let with_barrier = run.replay_on_workers(4, WorkerCosts { barrier_ns: 40.0, steal_ns: 0.0 });
        assert_eq!((with_barrier.total, with_barrier.barrier), (40.0 * 490.0, 40.0 * 40.0));
    }

    #[test]
    fn a_long_unit_bounds_every_number_of_workers() {
        let epochs = example_epochs(&[900, 100, 100, 100, 100, 100], 0);
        let (shards, kinds) = ((0..6).collect::<Vec<u32>>(), ["network", "sm", "sm", "sm", "sm", "sm"]);
        let run = example_input(&epochs, &shards, &kinds);
        assert_eq!(run.critical_path(|kind| kind == "network"), (40.0 * 900.0, Some(0)));
        assert!((2..20).all(|workers| run.replay_on_workers(workers, NO_WORKER_COSTS).total >= 40.0 * 900.0));
        assert_eq!(run.replay_on_workers(2, NO_WORKER_COSTS).total, 40.0 * 900.0);
    }

    #[test]
    fn an_idle_worker_takes_units_but_leaves_the_last_short_one() {
        let list = |count| vec![(false, 100.0); count];
        // One worker has four units; the other has none, takes one, and leaves the last unit to its owner.
        assert_eq!(slowest_worker_ns(vec![list(4), Vec::new()], 1, 0.0), 300.0);
        assert_eq!(slowest_worker_ns(vec![list(6), Vec::new()], 1, 30.0), 400.0);
        assert_eq!(slowest_worker_ns(vec![list(2), Vec::new()], 1, 0.0), 200.0);
        assert_eq!(slowest_worker_ns(vec![list(1), Vec::new()], 1, 0.0), 100.0);
        assert_eq!(slowest_worker_ns(vec![list(2), Vec::new()], 0, 30.0), 130.0);
        assert_eq!([4000, 6000].map(units_left_to_owner), [1, 0]);
    }

    #[test]
    fn workers_begin_with_long_units() {
        let mut epochs = example_epochs(&[100, 100, 100, 300], 0);
        epochs.truncate(1);
        let (shards, kinds) = ([0; 4], ["sm"; 4]);
        let run = |long_of| ReplayInput { long_of, ..example_input(&epochs, &shards, &kinds) }.replay_on_workers(2, NO_WORKER_COSTS).total;
        assert_eq!(run(&[false, false, false, true]), 400.0);
        assert_eq!(run(&[false; 4]), 500.0);
    }

    #[test]
    fn ranks_pay_for_crossing_messages() {
        let mut epochs = example_epochs(&[100; 4], 0);
        epochs.iter_mut().for_each(|epoch| epoch.messages = 10);
        let (shards, kinds) = ([0, 1, 2, 3], ["sm"; 4]);
        let traffic = [(0, 1, 300), (2, 3, 100)];
        let run = ReplayInput { traffic: &traffic, ..example_input(&epochs, &shards, &kinds) };
        let link = RankLink { latency_ns: 1000.0, send_ns: 10.0, message_ns: 8.0 };
        let (two, crossing) = run.replay_on_ranks(2, link);
        assert_eq!(crossing, 1.0, "neighbours are apart");
        assert_eq!(two.total, 40.0 * (200.0 + 1010.0 + 40.0));
        assert_eq!(run.replay_on_ranks(1, link).0.total, 40.0 * 400.0);
    }
}
