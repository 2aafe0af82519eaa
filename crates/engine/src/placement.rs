//! The assignment of shards to workers.
//!
//! Kinds with few but expensive units (network subnets, the grid scheduler) are assigned first. The shards of numerous kinds
//! are then assigned one by one in proportion to the remaining capacity, so that neighbours go to different workers. CTAs are
//! dispatched breadth first from SM 0, so a small grid keeps only the first SMs busy; a worker that owned all of these SMs would
//! work while the other workers wait.
//!
//! During the run, measured costs move the fewest shards that balance the loads, since a shard that moves leaves its state in
//! another core's cache.

/// The kind and cost of a shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardCost {
    /// Kind of the units of the shard.
    pub kind: &'static str,
    /// Host cost, in an arbitrary unit.
    pub cost: f64,
}

/// Minimum cost, relative to an SM, of a unit that its worker steps before its other units. A worker that started such a unit last would
/// stay busy while all others wait.
pub const LONG_UNIT_COST: f64 = 2.0;

/// Host nanoseconds per step below which thieves leave the last unit of a worker to its owner, which is about to step it. The value is
/// twice the cost of fetching a unit's state from another core's cache.
const MIN_STEAL_NANOS: u64 = 5000;

/// Returns the number of units that thieves leave to the owner if a step takes `step_nanos` host nanoseconds on average.
pub const fn units_left_to_owner(step_nanos: u64) -> usize {
    if step_nanos < MIN_STEAL_NANOS { 1 } else { 0 }
}
/// Minimum number of units that a worker offers to other workers. With fewer units, fetching their state costs more than waiting for them.
pub(super) const MIN_OFFERED_UNITS: usize = 4;
/// Number of shards below which a kind is assigned shard by shard.
const NUMEROUS_SHARDS: usize = 4;

/// Returns the worker of each shard, balanced by cost; depends only on the arguments.
pub fn assign_shards(shards: &[ShardCost], workers: usize) -> Vec<u16> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for shard in shards {
        if !kinds.contains(&shard.kind) {
            kinds.push(shard.kind);
        }
    }
    let members = |kind: &str| shards.iter().enumerate().filter(|(_, s)| s.kind == kind).map(|(i, _)| i).collect::<Vec<_>>();
    let (few, many): (Vec<_>, Vec<_>) = kinds.iter().map(|kind| members(kind)).partition(|shards| shards.len() < NUMEROUS_SHARDS);
    let mut load = vec![0.0f64; workers];
    let mut worker_of = vec![0; shards.len()];

    let mut singles: Vec<usize> = few.into_iter().flatten().collect();
    singles.sort_by(|&a, &b| shards[b].cost.total_cmp(&shards[a].cost).then(a.cmp(&b)));
    for shard in singles {
        let worker = (0..workers).min_by(|&a, &b| load[a].total_cmp(&load[b])).unwrap_or(0);
        load[worker] += shards[shard].cost;
        worker_of[shard] = worker as u16;
    }

    let rest: f64 = many.iter().flatten().map(|&shard| shards[shard].cost).sum();
    let target = (load.iter().sum::<f64>() + rest) / workers as f64;
    let room: Vec<f64> = load.iter().map(|load| (target - load).max(0.0)).collect();
    for kind in many {
        let mut filled = vec![0.0f64; workers];
        for shard in kind {
            // Selects the worker with the least filled share of this kind; of several, the first.
            let fullness = |worker: usize| (filled[worker] + shards[shard].cost / 2.0) / room[worker].max(f64::MIN_POSITIVE);
            let worker = (0..workers).min_by(|&a, &b| fullness(a).total_cmp(&fullness(b))).unwrap_or(0);
            filled[worker] += shards[shard].cost;
            worker_of[shard] = worker as u16;
        }
    }
    worker_of
}

/// Fraction of the mean load by which the heaviest load may exceed the lightest load after shards have moved.
const MAX_IMBALANCE: f64 = 0.02;
/// Mean shard costs by which the heaviest load may exceed the lightest load before any shard moves. Work stealing already evens out such a
/// difference, and a move stops all workers.
const MAX_IMBALANCE_SHARDS: u64 = 2;

/// Returns the cost by which the heaviest of `workers` loads may exceed the lightest before shards move; `shards` shards cost `all`
/// together.
pub(super) fn max_imbalance(all: u64, shards: usize, workers: usize) -> u64 {
    // Workers with few units do not steal from each other.
    let spare = if shards >= MIN_OFFERED_UNITS * workers { MAX_IMBALANCE_SHARDS } else { 0 };
    imbalance_after_moves(all, workers).max(spare * all / shards.max(1) as u64)
}

fn imbalance_after_moves(all: u64, workers: usize) -> u64 {
    (all as f64 / workers as f64 * MAX_IMBALANCE) as u64
}

/// Moves shards from the heaviest to the lightest worker as long as this balances their loads and the loads differ by more than the
/// tolerance; returns true if any shard moved.
pub fn move_shards(costs: &[u64], worker_of: &mut [u16], workers: usize) -> bool {
    let mut load = vec![0u64; workers];
    costs.iter().zip(&*worker_of).for_each(|(cost, &worker)| load[usize::from(worker)] += cost);
    let all = load.iter().sum();
    let mut bound = max_imbalance(all, costs.iter().filter(|cost| **cost > 0).count(), workers);
    let mut moved = false;
    // Each move reduces the difference between two workers, so one move per shard suffices.
    for _ in 0..costs.len() {
        let by_load = |&worker: &usize| load[worker];
        let (Some(light), Some(heavy)) = ((0..workers).min_by_key(by_load), (0..workers).max_by_key(by_load)) else { break };
        let gap = load[heavy] - load[light];
        if gap <= bound {
            break;
        }
        bound = imbalance_after_moves(all, workers);
        let ours = (0..costs.len()).filter(|&shard| usize::from(worker_of[shard]) == heavy && costs[shard] > 0);
        let Some(best) = ours.min_by_key(|&shard| (gap / 2).abs_diff(costs[shard])).filter(|&shard| costs[shard] < gap) else { break };
        load[heavy] -= costs[best];
        load[light] += costs[best];
        worker_of[best] = light as u16;
        moved = true;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_go_to_different_workers_and_loads_are_balanced() {
        let mut shards = vec![ShardCost { kind: "net", cost: 3.0 }, ShardCost { kind: "net", cost: 3.0 }];
        shards.extend([ShardCost { kind: "sm", cost: 1.0 }; 12]);
        let placed = assign_shards(&shards, 3);
        assert_eq!(&placed[..2], [0, 1]);
        assert!(placed[2..].windows(3).all(|run| run[0] != run[1] || run[1] != run[2]), "{placed:?}");
        let load = |worker| shards.iter().zip(&placed).filter(|(_, w)| **w == worker).map(|(s, _)| s.cost).sum::<f64>();
        assert!((0..3).all(|worker| (5.0..=7.0).contains(&load(worker))), "{placed:?}");
    }

    #[test]
    fn few_moves_balance_measured_loads() {
        let costs: Vec<u64> = [900, 80, 120, 100].into_iter().chain([100; 16]).collect();
        let mut worker_of: Vec<u16> = (0..costs.len()).map(|shard| (shard % 2) as u16).collect();
        let before = worker_of.clone();
        assert!(move_shards(&costs, &mut worker_of, 2));
        let load = |worker| costs.iter().zip(&worker_of).filter(|(_, w)| **w == worker).map(|(cost, _)| cost).sum::<u64>();
        assert!(load(0).abs_diff(load(1)) <= 30, "{} and {}", load(0), load(1));
        assert!(worker_of.iter().zip(&before).filter(|(now, before)| now != before).count() <= 5, "{worker_of:?}");
        assert!(!move_shards(&costs, &mut worker_of, 2), "balanced loads stay as they are");
    }

    #[test]
    fn imbalance_that_stealing_evens_out_moves_no_shard() {
        // With eight and ten shards, one worker steals one shard from the other and none moves; with 7 and 11, two shards move permanently.
        let of = |first: usize| (0..18).map(|shard| u16::from(shard >= first)).collect::<Vec<u16>>();
        let costs = [100; 18];
        assert!(!move_shards(&costs, &mut of(8), 2));
        let mut worker_of = of(7);
        assert!(move_shards(&costs, &mut worker_of, 2));
        assert_eq!(worker_of.iter().filter(|worker| **worker == 0).count(), 9);
        // A worker does not offer only three shards.
        assert!(move_shards(&costs[..3], &mut [0, 0, 0], 2));
    }

    #[test]
    fn a_shard_heavier_than_all_others_stays_and_the_others_move() {
        let mut worker_of = [0, 0, 1];
        move_shards(&[1000, 10, 10], &mut worker_of, 2);
        assert_eq!(worker_of[0], 0);
        assert_eq!(worker_of[1..], [1, 1]);
    }

    #[test]
    fn one_worker_gets_all_shards() {
        assert!(assign_shards(&[ShardCost { kind: "sm", cost: 1.0 }; 9], 1).iter().all(|&worker| worker == 0));
    }
}
