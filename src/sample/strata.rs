//! Groups of launches of the same code, and strata of launches of about the same work within them.

use std::collections::BTreeMap;

use super::launches::{Code, Launch};

/// A stratum is split while the coefficient of variation of some measure of its launches' work is above this.
const VARIATION: f64 = 0.35;

/// Launches of about the same work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stratum {
    /// Its launches, in their order.
    pub(super) launches: Vec<usize>,
}

/// Launches of the same code and resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The kernel's name.
    pub(super) name: String,
    /// Strata, in ascending order of their first launch.
    pub(super) strata: Vec<Stratum>,
}

/// The groups of a workload in the order of their first launches; no stratum that was split off has fewer than `least` launches.
pub(super) fn groups(launches: &[Launch], least: usize) -> Vec<Group> {
    let mut by_code: BTreeMap<&Code, Vec<usize>> = BTreeMap::new();
    launches.iter().enumerate().for_each(|(i, launch)| by_code.entry(&launch.code).or_default().push(i));
    let mut groups: Vec<Group> = by_code
        .into_iter()
        .map(|(code, members)| {
            let mut strata = split(launches, members, least);
            strata.sort_by_key(|stratum| stratum.launches[0]);
            Group { name: code.name.clone(), strata }
        })
        .collect();
    groups.sort_by_key(|group| group.strata[0].launches[0]);
    groups
}

/// How much work a launch has: warp instructions, sectors, CTAs.
fn measures(launch: &Launch) -> [f64; 3] {
    [launch.warp_instructions as f64, launch.sectors.map_or(0.0, |sectors| sectors as f64), f64::from(launch.ctas)]
}

/// Splits at the place that leaves the least variation, as long as there is too much.
fn split(launches: &[Launch], members: Vec<usize>, least: usize) -> Vec<Stratum> {
    let whole = |mut members: Vec<usize>| {
        members.sort_unstable();
        vec![Stratum { launches: members }]
    };
    let value = |member: usize, measure: usize| measures(&launches[member])[measure];
    let worst = (0..3)
        .map(|measure| (measure, variation(members.iter().map(|&member| value(member, measure)))))
        .reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
    let Some((measure, _)) = worst.filter(|(_, variation)| *variation > VARIATION && members.len() >= 2 * least.max(1)) else {
        return whole(members);
    };
    let mut sorted = members;
    sorted.sort_by(|a, b| value(*a, measure).total_cmp(&value(*b, measure)).then(a.cmp(b)));
    let logs: Vec<f64> = sorted.iter().map(|&member| value(member, measure).max(1.0).ln()).collect();
    let Some(at) = best_cut(&logs, least.max(1)) else { return whole(sorted) };
    let upper = sorted.split_off(at);
    let mut strata = split(launches, sorted, least);
    strata.extend(split(launches, upper, least));
    strata
}

/// The coefficient of variation; 0 of nothing.
fn variation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// Where to cut ascending values in two so that the squares of the distances from the means of both parts are least, with at least `least`
/// in each; never between equal values.
fn best_cut(values: &[f64], least: usize) -> Option<usize> {
    let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|value| value * value).sum::<f64>());
    let (mut low, mut low_squares) = (0.0, 0.0);
    let mut best: Option<(f64, usize)> = None;
    for at in 1..values.len() {
        low += values[at - 1];
        low_squares += values[at - 1] * values[at - 1];
        let (below, above) = (at as f64, (values.len() - at) as f64);
        let rest = (low_squares - low * low / below) + (squares - low_squares - (sum - low) * (sum - low) / above);
        let may = at >= least && values.len() - at >= least && values[at - 1] < values[at];
        if may && best.is_none_or(|(known, _)| rest < known) {
            best = Some((rest, at));
        }
    }
    best.map(|(_, at)| at)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::KernelIndex;
    use crate::frontend::{Kernel, KernelInfo, LaunchCounts, Workload};

    pub(crate) fn launch(index: usize, name: &str, warp_instructions: u64) -> Launch {
        let source = crate::frontend::model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap();
        let info = KernelInfo { name: name.into(), ..source.kernels[0].info.clone() };
        let kernel = Kernel { info, source: source.kernels[0].source.clone() };
        let mut launch = super::super::launches::launches(&Workload { kernels: vec![kernel], ..source }).unwrap().remove(0);
        (launch.index, launch.warp_instructions, launch.ctas) = (KernelIndex(index as u16), warp_instructions, 8);
        let LaunchCounts { sectors, .. } = LaunchCounts::default();
        launch.sectors = sectors;
        launch
    }

    #[test]
    fn launches_of_one_code_are_split_by_their_work_and_never_between_equals() {
        let works = [10, 10, 10, 10, 1000, 1000, 1000, 1000, 1010];
        let launches: Vec<Launch> = works.iter().enumerate().map(|(i, work)| launch(i, "a", *work)).collect();
        let groups = groups(&launches, 2);
        let strata: Vec<&[usize]> = groups[0].strata.iter().map(|stratum| &*stratum.launches).collect();
        assert_eq!((groups.len(), strata), (1, vec![&[0, 1, 2, 3][..], &[4, 5, 6, 7, 8]]));
    }

    #[test]
    fn other_code_is_another_group_however_alike_its_work() {
        let launches: Vec<Launch> = (0..6).map(|i| launch(i, if i % 2 == 0 { "b" } else { "a" }, 100)).collect();
        let groups = groups(&launches, 1);
        let members: Vec<(String, Vec<usize>)> =
            groups.iter().map(|group| (group.name.clone(), group.strata[0].launches.clone())).collect();
        assert_eq!(members, [("b".to_owned(), vec![0, 2, 4]), ("a".to_owned(), vec![1, 3, 5])]);
    }

    #[test]
    fn small_groups_stay_whole() {
        let launches: Vec<Launch> = [1, 100, 10_000].iter().enumerate().map(|(i, work)| launch(i, "a", *work)).collect();
        assert_eq!(groups(&launches, 2)[0].strata.len(), 1);
    }

    #[test]
    fn the_cut_leaves_the_least_squares() {
        assert_eq!(best_cut(&[1.0, 1.0, 5.0, 6.0], 1), Some(2));
        assert_eq!(best_cut(&[1.0, 5.0, 6.0, 6.0], 2), Some(2));
        assert_eq!(best_cut(&[3.0; 4], 1), None);
    }
}
