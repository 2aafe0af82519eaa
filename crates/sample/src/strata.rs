//! Groups of launches of the same code, and strata of launches of about the same work within them.

use std::collections::BTreeMap;

use warpshard_workload::OpClass;

use super::launches::{LaunchCode, SampledLaunch};

/// Coefficient of variation of a measure of the launches' work above which a stratum is split.
const MAX_VARIATION: f64 = 0.35;
/// A stratum is also split if launches that differ by more than `OUTLIER_DISTANCE` from its median have more than `MAX_OUTLIER_SHARE` of
/// their group's measure. Otherwise a similarly different number of cycles per instruction of these launches would remain undetected.
const OUTLIER_DISTANCE: f64 = 0.25;
const MAX_OUTLIER_SHARE: f64 = 0.01;

/// Launches of about the same work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stratum {
    /// Indices of the launches, in ascending order.
    pub(super) launches: Vec<usize>,
}

/// Launches of the same code and resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaunchGroup {
    /// Name of the kernel.
    pub(super) name: String,
    /// Strata, in ascending order of their first launch.
    pub(super) strata: Vec<Stratum>,
}

/// Returns the groups of a workload in the order of their first launches; a split leaves at least `least` launches in each stratum.
pub(super) fn groups(launches: &[SampledLaunch], least: usize) -> Vec<LaunchGroup> {
    let mut by_code: BTreeMap<&LaunchCode, Vec<usize>> = BTreeMap::new();
    launches.iter().enumerate().for_each(|(i, launch)| by_code.entry(&launch.code).or_default().push(i));
    let mut groups: Vec<LaunchGroup> = by_code
        .into_iter()
        .map(|(code, members)| {
            let all: Vec<f64> = (0..MEASURE_COUNT).map(|which| sum(launches, &members, which)).collect();
            let mut strata = split_stratum(launches, members, &all, least);
            strata.sort_by_key(|stratum| stratum.launches[0]);
            LaunchGroup { name: code.name.clone(), strata }
        })
        .collect();
    groups.sort_by_key(|group| group.strata[0].launches[0]);
    groups
}

/// Number of measures of a launch's work.
const MEASURE_COUNT: usize = 3 + OpClass::COUNT;
/// Minimum share of a group's instructions for a class to be a measure.
const MIN_CLASS_SHARE: f64 = 0.01;

/// Returns a measure of a launch's work: warp instructions, sectors, CTAs, or instructions of a class.
fn measure(launch: &SampledLaunch, which: usize) -> f64 {
    match which {
        0 => launch.warp_instructions as f64,
        1 => launch.sectors,
        2 => f64::from(launch.ctas),
        class => launch.classes[class - 3],
    }
}

fn sum(launches: &[SampledLaunch], members: &[usize], which: usize) -> f64 {
    members.iter().map(|member| measure(&launches[*member], which)).sum()
}

/// Returns true if a measure is relevant for the work of these launches.
fn is_relevant(launches: &[SampledLaunch], members: &[usize], which: usize) -> bool {
    which < 3 || sum(launches, members, which) >= MIN_CLASS_SHARE * sum(launches, members, 0)
}

/// Splits launches into strata while some measure varies too much, at the value of the measure that leaves the least variation; `all` is
/// each measure's sum over the group.
fn split_stratum(launches: &[SampledLaunch], members: Vec<usize>, all: &[f64], least: usize) -> Vec<Stratum> {
    let whole = |mut members: Vec<usize>| {
        members.sort_unstable();
        vec![Stratum { launches: members }]
    };
    let value = |member: usize, which: usize| measure(&launches[member], which);
    let worst = (0..MEASURE_COUNT)
        .filter(|which| is_relevant(launches, &members, *which))
        .map(|which| {
            let values: Vec<f64> = members.iter().map(|&member| value(member, which)).collect();
            // The variation is relative to the allowed variation.
            (
                which,
                (coefficient_of_variation(values.iter().copied()) / MAX_VARIATION)
                    .max(outlier_sum(values) / (MAX_OUTLIER_SHARE * all[which]).max(1.0)),
            )
        })
        .reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
    let Some((which, _)) = worst.filter(|(_, excess)| *excess > 1.0 && members.len() >= 2 * least.max(1)) else {
        return whole(members);
    };
    let mut sorted = members;
    sorted.sort_by(|a, b| value(*a, which).total_cmp(&value(*b, which)).then(a.cmp(b)));
    let logs: Vec<f64> = sorted.iter().map(|&member| value(member, which).max(1.0).ln()).collect();
    let Some(at) = best_cut(&logs, least.max(1)) else { return whole(sorted) };
    let upper = sorted.split_off(at);
    let mut strata = split_stratum(launches, sorted, all, least);
    strata.extend(split_stratum(launches, upper, all, least));
    strata
}

/// Returns the coefficient of variation; 0 if the mean is 0.
fn coefficient_of_variation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// Returns the sum of the values that differ from the median by more than [`OUTLIER_DISTANCE`].
fn outlier_sum(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let median = values[values.len() / 2];
    values.into_iter().filter(|value| (value - median).abs() > OUTLIER_DISTANCE * median).sum()
}

/// Returns the index at which ascending values are split in two so that the squared distances from the means of both parts are least, with
/// at least `least` values in each part; never between equal values.
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
    use warpshard_base::KernelIndex;
    use warpshard_workload::{Kernel, KernelInfo, Workload};

    pub(crate) fn launch(index: usize, name: &str, warp_instructions: u64) -> SampledLaunch {
        let source = warpshard_model::builtin("vecadd", 1, &[("n".into(), "1024".into())]).unwrap();
        let info = KernelInfo { name: name.into(), ..source.kernels[0].info.clone() };
        let kernel = Kernel { info, source: source.kernels[0].source.clone() };
        let mut launch = super::super::launches::launches(&Workload { kernels: vec![kernel], ..source }).unwrap().remove(0);
        (launch.index, launch.warp_instructions, launch.ctas, launch.row) = (KernelIndex(index as u32), warp_instructions, 8, 8);
        (launch.sectors, launch.classes) = (0.0, [0.0; OpClass::COUNT]);
        (launch.lines, launch.new_lines) = (None, None);
        launch
    }

    #[test]
    fn launches_of_one_code_are_split_by_their_work_and_never_between_equals() {
        let works = [10, 10, 10, 10, 1000, 1000, 1000, 1000, 1010];
        let launches: Vec<SampledLaunch> = works.iter().enumerate().map(|(i, work)| launch(i, "a", *work)).collect();
        let groups = groups(&launches, 2);
        let strata: Vec<&[usize]> = groups[0].strata.iter().map(|stratum| &*stratum.launches).collect();
        assert_eq!((groups.len(), strata), (1, vec![&[0, 1, 2, 3][..], &[4, 5, 6, 7, 8]]));
    }

    #[test]
    fn a_few_different_launches_are_split_off_if_their_work_is_relevant() {
        // A tenth of the launches has a third less work than the others: a coefficient of variation of 0.1.
        let strata = |others: u64| {
            let work = |i| if i < 10 { others } else { 900 };
            let launches: Vec<SampledLaunch> = (0..100).map(|i| launch(i, "a", work(i))).collect();
            groups(&launches, 4)[0].strata.len()
        };
        assert_eq!([strata(600), strata(800), strata(50)], [2, 1, 1]);
    }

    #[test]
    fn launches_with_another_mix_are_split_off_unless_the_class_is_rare() {
        let strata = |loads: f64| {
            let mut launches: Vec<SampledLaunch> = (0..8).map(|i| launch(i, "a", 1000)).collect();
            launches[..4].iter_mut().for_each(|launch| launch.classes[OpClass::Load as usize] = loads);
            groups(&launches, 2)[0].strata.len()
        };
        assert_eq!([strata(300.0), strata(15.0)], [2, 1]);
    }

    #[test]
    fn other_code_is_another_group_even_with_similar_work() {
        let launches: Vec<SampledLaunch> = (0..6).map(|i| launch(i, if i % 2 == 0 { "b" } else { "a" }, 100)).collect();
        let groups = groups(&launches, 1);
        let members: Vec<(String, Vec<usize>)> =
            groups.iter().map(|group| (group.name.clone(), group.strata[0].launches.clone())).collect();
        assert_eq!(members, [("b".to_owned(), vec![0, 2, 4]), ("a".to_owned(), vec![1, 3, 5])]);
    }

    #[test]
    fn small_groups_stay_whole() {
        let launches: Vec<SampledLaunch> = [1, 100, 10_000].iter().enumerate().map(|(i, work)| launch(i, "a", *work)).collect();
        assert_eq!(groups(&launches, 2)[0].strata.len(), 1);
    }

    #[test]
    fn the_cut_leaves_the_least_squares() {
        assert_eq!(best_cut(&[1.0, 1.0, 5.0, 6.0], 1), Some(2));
        assert_eq!(best_cut(&[1.0, 5.0, 6.0, 6.0], 2), Some(2));
        assert_eq!(best_cut(&[3.0; 4], 1), None);
    }
}
