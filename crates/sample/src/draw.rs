//! The random choice of launches, and the number of launches per stratum.

use warpshard_base::Rng;

/// Returns the members of a stratum in the random order in which they are taken; the same for the same seed and stratum.
pub(super) fn draw_order(members: &[usize], seed: u64, group: usize, stratum: usize) -> Vec<usize> {
    let mut order = members.to_vec();
    let mut random = Rng::keyed(seed, &[0x7361_6d70_6c65, group as u64, stratum as u64]);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

/// The properties of a stratum for the allocation of launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StratumShare {
    /// Number of launches.
    pub(super) launches: usize,
    /// Number of launches measured so far.
    pub(super) measured_launches: usize,
    /// Standard deviation of the residuals of a launch.
    pub(super) deviation: f64,
    /// Cost of simulating one more launch.
    pub(super) cost: f64,
}

/// Returns the total number of launches to measure in each stratum, so that the variance of the total falls to `variance` at the least cost
/// (Neyman's allocation with costs, Cochran, Sampling Techniques, Section 5.5); never less than the number already measured.
pub(super) fn allocate(shares: &[StratumShare], variance: f64) -> Vec<usize> {
    let weight = |share: &StratumShare| share.launches as f64 * share.deviation;
    let mut taken: Vec<Option<usize>> = vec![None; shares.len()];
    loop {
        // A completely measured stratum has no variance, and the other strata share the allowed variance.
        let open = || shares.iter().zip(&taken).filter(|(_, taken)| taken.is_none()).map(|(share, _)| share);
        let sum: f64 = open().map(|share| weight(share) * share.cost.max(1.0).sqrt()).sum();
        let within: f64 = open().map(|share| share.launches as f64 * share.deviation.powi(2)).sum();
        let scale = if sum > 0.0 { sum / (variance + within) } else { 0.0 };
        let wanted = |share: &StratumShare| (scale * weight(share) / share.cost.max(1.0).sqrt()).ceil();
        let full = |share: &StratumShare| wanted(share) >= share.launches as f64;
        let before = taken.iter().flatten().count();
        for (share, taken) in shares.iter().zip(&mut taken) {
            if taken.is_none() && full(share) {
                *taken = Some(share.launches);
            }
        }
        if taken.iter().flatten().count() == before {
            let number =
                |(share, taken): (&StratumShare, &Option<usize>)| taken.unwrap_or((wanted(share) as usize).max(share.measured_launches));
            return shares.iter().zip(&taken).map(number).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_permutation_that_depends_on_seed_and_stratum() {
        let members: Vec<usize> = (0..50).collect();
        let drawn = draw_order(&members, 1, 0, 0);
        let mut sorted = drawn.clone();
        sorted.sort_unstable();
        assert_eq!((sorted, &drawn), (members.clone(), &draw_order(&members, 1, 0, 0)));
        assert!(drawn != draw_order(&members, 2, 0, 0) && drawn != draw_order(&members, 1, 0, 1));
    }

    #[test]
    fn the_allocation_reaches_the_variance_and_prefers_variable_and_cheap_strata() {
        let share = |deviation, cost| StratumShare { launches: 100, measured_launches: 2, deviation, cost };
        let shares = [share(1.0, 1.0), share(4.0, 1.0), share(4.0, 16.0), share(0.0, 1.0)];
        let wanted = 5_000.0;
        let taken = allocate(&shares, wanted);
        let variance = |(share, n): (&StratumShare, &usize)| {
            let (all, n) = (share.launches as f64, *n as f64);
            all * all * (1.0 - n / all) / n * share.deviation.powi(2)
        };
        let reached: f64 = shares.iter().zip(&taken).map(variance).sum();
        assert!(reached <= wanted && reached > 0.7 * wanted, "{taken:?}: {reached}");
        assert!(taken[1] > taken[2] && taken[1] > taken[0] && taken[3] == 2, "{taken:?}");
        assert_eq!(allocate(&shares, 0.0)[..3], [100, 100, 100]);
    }
}
