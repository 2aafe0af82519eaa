//! `study kernel-mgmt`: two kernels that share every SM under kernel management (Liang and Li, ACM TECS 16(4), 2017).
//!
//! In: the kernels of the paper's Table III as programs. Each kernel runs alone with every number of CTAs per SM for its profile: the
//! fastest number of CTAs, the type, and the utilisation of the pipelines. With these profiles every pair of Table IV runs under LeftOver
//! (one kernel after the other), with static TLP modulation, with dynamic modulation added, with cache bypassing added, and with SMs
//! divided between the kernels (Smart-Even, SMC). Out: speedup, energy, L1 misses and stalls over LeftOver, next to the published values.
//!
//! `--configuration pools` runs groups of four and five kernels, `--configuration exhaustive` all numbers of CTAs of the pairs,
//! `--configuration fits` the pairs of KMS with an input of which one CTA fits the L1, `fits=N` with N features. In `within-opt` and
//! `fits-within-opt` dynamic modulation gives no kernel more CTAs than its optimum; the paper has no such limit. `revised` has the L1
//! index, the optima and the matrix of D-034.

mod findings;
mod published;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use warpshard_lab::error::TaskError;
use warpshard_lab::Lab;
use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};

use findings::{KernelGroupRuns, ProfileRuns, KernelMgmtResults};
use published::{Input, kernel_index, kernels, published};
use task::{Occupancy, SchemeRun, SharingScheme, RunResult, occupancy};

/// The runs after the profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Configuration {
    Pairs,
    Pools,
    Exhaustive,
    /// The pairs, with numbers of CTAs that do not exceed the optimum of either kernel.
    WithinOpt,
    /// The pairs with a kernel whose input has features, with this number of features.
    Fits(u32),
    /// `Fits` with the limit of `WithinOpt`.
    FitsWithinOpt(u32),
    /// The pairs with the hashed index of Fermi's L1, optima beyond a tolerance, and a finite-element matrix for SPM (D-034).
    Revised,
}

/// Number of features with which the rows of one CTA fit the L1.
const FITTING_FEATURES: u32 = 16;

impl Configuration {
    const ALL: [(&'static str, Self); 7] = [
        ("pairs", Self::Pairs),
        ("pools", Self::Pools),
        ("exhaustive", Self::Exhaustive),
        ("within-opt", Self::WithinOpt),
        ("fits", Self::Fits(FITTING_FEATURES)),
        ("fits-within-opt", Self::FitsWithinOpt(FITTING_FEATURES)),
        ("revised", Self::Revised),
    ];

    /// Returns the number of features of inputs that have features, if the configuration sets it.
    fn feature_count(self) -> Option<u32> {
        match self {
            Self::Fits(features) | Self::FitsWithinOpt(features) => Some(features),
            _ => None,
        }
    }

    /// Returns true if dynamic modulation gives no kernel more CTAs than its optimum.
    fn within_opt(self) -> bool {
        matches!(self, Self::WithinOpt | Self::FitsWithinOpt(_))
    }

    fn named(name: Option<&str>) -> Result<Self, TaskError> {
        let Some(name) = name else { return Ok(Self::Pairs) };
        let (word, number) = name.split_once('=').map_or((name, None), |(word, number)| (word, Some(number)));
        let known = Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, configuration)| *configuration);
        let inputs = kernels().iter().flat_map(|kernel| kernel.features.keys());
        let features: BTreeSet<u32> = inputs.filter_map(|number| number.parse().ok()).collect();
        let number = number.map(|number| number.parse().ok().filter(|number| features.contains(number)));
        let configuration = match (known, number) {
            (Some(Self::Fits(_)), Some(Some(number))) => Some(Self::Fits(number)),
            (Some(Self::FitsWithinOpt(_)), Some(Some(number))) => Some(Self::FitsWithinOpt(number)),
            (known, None) => known,
            _ => None,
        };
        configuration.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            let features: Vec<String> = features.iter().map(u32::to_string).collect();
            let (names, features) = (names.join(", "), features.join(", "));
            format!("--configuration {name}: expected one of {names}; after fits and fits-within-opt `=N` may follow, N one of {features}")
        }).map_err(TaskError::from)
    }
}

/// A builder of runs, for kernels given by their indices in Table III.
struct RunBuilder<'a> {
    request: &'a Request,
    input: Input,
    within_opt: bool,
}

impl RunBuilder<'_> {
    fn run(&self, members: &[usize], scheme: SharingScheme) -> SchemeRun {
        let index = (self.input == Input::Revised).then(|| ("gpu.sm.l1.cache.index".to_owned(), "fermi".to_owned()));
        let settings = index.into_iter().chain(self.request.set.iter().cloned()).collect();
        let kernels = members.iter().map(|member| &kernels()[*member]).collect();
        SchemeRun { kernels, scheme, machine: &published().own.parameters.machine, settings, input: self.input }
    }
}

/// Runs the study.
///
/// # Errors
/// Returns an error if a program does not exist, an option is wrong, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let configuration = Configuration::named(request.configuration.as_deref()).map_err(StudyError::input)?;
    let among = |number: usize| request.pairs.is_empty() || request.pairs.iter().any(|(first, last)| (*first..=*last).contains(&number));
    let groups: Vec<Vec<usize>> =
        (1..).zip(all_groups(configuration)).filter(|(number, _)| among(*number)).map(|(_, group)| group).collect();
    if groups.is_empty() {
        return Err(StudyError::Input("--pairs selects nothing".into()));
    }
    let input = match configuration.feature_count() {
        _ if configuration == Configuration::Revised && request.full => {
            return Err(StudyError::Input("--full and --configuration revised each choose inputs: leave one of them out".into()));
        }
        _ if configuration == Configuration::Revised => Input::Revised,
        Some(_) if request.full => {
            return Err(StudyError::Input("--full and this --configuration each choose inputs: leave one of them out".into()));
        }
        Some(features) => Input::Features(features),
        None if request.full => Input::Full,
        None => Input::Quick,
    };
    let (builder, lab) = (RunBuilder { request, input, within_opt: configuration.within_opt() }, request.lab());
    let profiles = run_profiles(&groups, &builder, &lab).map_err(StudyError::input)?;
    let groups = match configuration {
        Configuration::Exhaustive => run_exhaustive_search(groups, &profiles, &builder, &lab),
        _ => run_groups(groups, &profiles, &builder, &lab),
    };
    let results = KernelMgmtResults { profiles, groups: groups.map_err(StudyError::input)? };
    let title = format!("kernels that share SMs under kernel management, compared with {}", published().source);
    let mut output = StudyOutput::new("kernel-mgmt", title);
    match configuration {
        Configuration::Pairs
        | Configuration::WithinOpt
        | Configuration::Fits(_)
        | Configuration::FitsWithinOpt(_)
        | Configuration::Revised => findings::show_pairs(&mut output, &results),
        Configuration::Pools => findings::show_pools(&mut output, &results),
        Configuration::Exhaustive => findings::show_exhaustive(&mut output, &results),
    }
    Ok(output)
}

/// Returns the groups of a configuration, as indices of kernels in Table III: pairs in the order of Table IV.
fn all_groups(configuration: Configuration) -> Vec<Vec<usize>> {
    let own = &published().own;
    match configuration {
        Configuration::Pools => own.pool.iter().map(|pool| pool.iter().map(|name| kernel_index(name)).collect()).collect(),
        _ => {
            let pairs = own.pair.iter().map(|pair| pair.kernels.iter().map(|name| kernel_index(name)).collect());
            let have = |members: &Vec<usize>| members.iter().any(|member| !kernels()[*member].features.is_empty());
            pairs.filter(|members| configuration.feature_count().is_none() || have(members)).collect()
        }
    }
}

/// Runs each kernel of the groups alone, with every number of CTAs per SM.
fn run_profiles(groups: &[Vec<usize>], builder: &RunBuilder<'_>, lab: &Lab) -> Result<Vec<ProfileRuns>, TaskError> {
    let mut members: Vec<usize> = groups.iter().flatten().copied().collect();
    members.sort_unstable();
    members.dedup();
    let machine = builder.run(&members, SharingScheme::LeftOver).machine()?.machine;
    let of =
        |member: &usize| -> Result<(usize, Occupancy), TaskError> { Ok((*member, occupancy(&kernels()[*member], &machine, builder.input)?)) };
    let known: Vec<(usize, Occupancy)> = members.iter().map(of).collect::<Result<_, _>>()?;
    let runs: Vec<SchemeRun> =
        known.iter().flat_map(|(member, known)| (1..=known.most).map(|ctas| builder.run(&[*member], SharingScheme::Alone(ctas)))).collect();
    let mut taken = lab.run_tasks(&runs)?.into_iter();
    let profiled = |(kernel, occupancy): (usize, Occupancy)| {
        let runs: Vec<RunResult> = taken.by_ref().take(occupancy.most as usize).collect();
        let tolerance = if builder.input == Input::Revised { published().own.parameters.tolerance } else { 0.0 };
        ProfileRuns { kernel, occupancy, runs, tolerance }
    };
    Ok(known.into_iter().map(profiled).collect())
}

/// Returns the schemes that each group runs under, LeftOver first.
fn group_schemes(members: &[usize], profiles: &[ProfileRuns], within_opt: bool) -> Vec<SharingScheme> {
    let of = |member: &usize| profiles.iter().find(|profiled| profiled.kernel == *member).expect("every member is profiled");
    let opt: Vec<u32> = members.iter().map(|member| of(member).optimal_ctas()).collect();
    let preference: Vec<f64> = members.iter().map(|member| of(member).preference()).collect();
    // Static modulation alone never exceeds the optimum.
    let managed = |dynamic, bypass| SharingScheme::Managed {
        opt: opt.clone(),
        preference: preference.clone(),
        dynamic,
        bypass,
        within_opt: within_opt && dynamic,
    };
    let mut schemes = vec![SharingScheme::LeftOver, managed(false, false), managed(true, false), managed(true, true), SharingScheme::SmartEven];
    if members.len() == 2 {
        schemes.push(SharingScheme::Smc(&published().own.parameters.smc));
    }
    schemes
}

/// Runs the groups under all schemes.
fn run_groups(groups: Vec<Vec<usize>>, profiles: &[ProfileRuns], builder: &RunBuilder<'_>, lab: &Lab) -> Result<Vec<KernelGroupRuns>, TaskError> {
    let runs: Vec<SchemeRun> = groups
        .iter()
        .flat_map(|members| group_schemes(members, profiles, builder.within_opt).into_iter().map(|scheme| builder.run(members, scheme)))
        .collect();
    let mut taken = lab.run_tasks(&runs)?.into_iter();
    let group = |members: Vec<usize>| {
        let mut next = || taken.next().expect("every run has a result");
        let [left_over, first, dynamic, bypassing, smart_even] = std::array::from_fn(|_| next());
        let smc = (members.len() == 2).then(next);
        KernelGroupRuns { members, left_over_run: left_over, static_run: first, dynamic_run: dynamic, bypassing, smart_even_run: smart_even, smc, fixed_runs: Vec::new() }
    };
    Ok(groups.into_iter().map(group).collect())
}

/// Runs the pairs under LeftOver, with static modulation, and with every number of CTAs that fits.
fn run_exhaustive_search(groups: Vec<Vec<usize>>, profiles: &[ProfileRuns], builder: &RunBuilder<'_>, lab: &Lab) -> Result<Vec<KernelGroupRuns>, TaskError> {
    let space = |members: &[usize]| -> Vec<[u32; 2]> {
        let of = |member: usize| profiles.iter().find(|profiled| profiled.kernel == member).expect("every member is profiled").occupancy;
        let (a, b) = (of(members[0]), of(members[1]));
        let slots = published().own.pair.iter().map(|pair| pair.ctas.iter().sum::<u32>()).max().unwrap_or(8).max(8);
        let fits = |ctas: &[u32; 2]| {
            let room = |part: usize| f64::from(ctas[0]) * a.each[part] + f64::from(ctas[1]) * b.each[part] <= 100.0 + 1e-9;
            ctas[0] + ctas[1] <= slots && (0..3).all(room)
        };
        (1..=a.most).flat_map(|first| (1..=b.most).map(move |second| [first, second])).filter(fits).collect()
    };
    let of = |members: &Vec<usize>| {
        let fixed = space(members).into_iter().map(SharingScheme::Fixed);
        let first = group_schemes(members, profiles, false).into_iter().take(2);
        first.chain(fixed).map(|scheme| builder.run(members, scheme)).collect::<Vec<SchemeRun>>()
    };
    let runs: Vec<SchemeRun> = groups.iter().flat_map(of).collect();
    let mut taken = lab.run_tasks(&runs)?.into_iter();
    let group = |members: Vec<usize>| {
        let (left_over, first) = (taken.next().unwrap_or_default(), taken.next().unwrap_or_default());
        let fixed = space(&members).into_iter().zip(taken.by_ref()).collect();
        KernelGroupRuns { members, left_over_run: left_over, static_run: first, fixed_runs: fixed, ..KernelGroupRuns::default() }
    };
    Ok(groups.into_iter().map(group).collect())
}
