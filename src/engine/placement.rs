//! Which worker steps which shard.
//!
//! Kinds of which there are few, but costly, units (network subnets, the grid scheduler) are spread first. The shards of
//! numerous kinds are then dealt out one by one in proportion to the room that is left, so that neighbours go to different
//! workers: CTAs are handed out breadth first from SM 0, so a small grid keeps only the first SMs busy, and a worker that
//! owned those alone would work while the others wait.

/// A shard as placement sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardCost {
    /// Kind of its units.
    pub kind: &'static str,
    /// Host cost, in any unit.
    pub cost: f64,
}

/// Shards of a kind below this number are placed one by one.
const FEW: usize = 4;

/// The worker of each shard, balanced by cost. A function of its arguments alone.
pub fn place(shards: &[ShardCost], workers: usize) -> Vec<u16> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for shard in shards {
        if !kinds.contains(&shard.kind) {
            kinds.push(shard.kind);
        }
    }
    let members = |kind: &str| shards.iter().enumerate().filter(|(_, s)| s.kind == kind).map(|(i, _)| i).collect::<Vec<_>>();
    let (few, many): (Vec<_>, Vec<_>) = kinds.iter().map(|kind| members(kind)).partition(|shards| shards.len() < FEW);
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
            // The worker whose share of this kind is furthest from being filled, the first of several.
            let fullness = |worker: usize| (filled[worker] + shards[shard].cost / 2.0) / room[worker].max(f64::MIN_POSITIVE);
            let worker = (0..workers).min_by(|&a, &b| fullness(a).total_cmp(&fullness(b))).unwrap_or(0);
            filled[worker] += shards[shard].cost;
            worker_of[shard] = worker as u16;
        }
    }
    worker_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_go_to_different_workers_and_loads_are_even() {
        let mut shards = vec![ShardCost { kind: "net", cost: 3.0 }, ShardCost { kind: "net", cost: 3.0 }];
        shards.extend([ShardCost { kind: "sm", cost: 1.0 }; 12]);
        let placed = place(&shards, 3);
        assert_eq!(&placed[..2], [0, 1]);
        assert!(placed[2..].windows(3).all(|run| run[0] != run[1] || run[1] != run[2]), "{placed:?}");
        let load = |worker| shards.iter().zip(&placed).filter(|(_, w)| **w == worker).map(|(s, _)| s.cost).sum::<f64>();
        assert!((0..3).all(|worker| (5.0..=7.0).contains(&load(worker))), "{placed:?}");
    }

    #[test]
    fn one_worker_gets_everything() {
        assert!(place(&[ShardCost { kind: "sm", cost: 1.0 }; 9], 1).iter().all(|&worker| worker == 0));
    }
}
