//! `study cd-search`: applications that share the SMs of a GPU, partitioned evenly and by CD-search (Zhao, Wang and Eeckhout, ICS 2018).
//!
//! In: the applications of the paper's Table 1 as programs. Each application runs alone, on all SMs and on half of them. Every pair (or
//! group of four) runs with the even partition, with CD-search, and with CD-search's partition from the start; the third run shows the cost
//! of the search. Mixed pairs also run under SMK and Maestro (Section 7.5). Out: STP, ANTT and power over the even partition, next to the
//! published values. The configuration `classes` stops every pair after its classification; `hashed` has the L1 with Fermi's hashed index;
//! `curves` runs each application alone on different numbers of SMs.

mod classes;
mod curves;
mod findings;
mod published;
mod task;
#[cfg(test)]
mod tests;

use warpshard_lab::error::TaskError;
use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};

use classes::ClassifiedGroup;
use curves::{IpcCurve, CURVE_POINTS};
use findings::{AloneRuns, GroupRuns, SharedRuns, CdSearchResults};
use published::{Configuration, Members, ApplicationType, applications, applications_of_type, published};
use task::SharedRun;

/// Returns all pairs, in the order of Table 1.
fn all_pairs() -> Vec<Members> {
    let count = applications().len();
    (0..count).flat_map(|a| (a + 1..count).map(move |b| vec![a, b])).collect()
}

/// Returns a part of the pairs in which each application occurs equally often: compute with memory by row, and neighbours of one type in
/// the table.
fn quick_pairs() -> Vec<Members> {
    let (compute, memory) = (applications_of_type(ApplicationType::Compute), applications_of_type(ApplicationType::Memory));
    let next = |of: &Members, i: usize| of[(i + 1) % of.len()];
    let mixed = compute.iter().zip(&memory).map(|(a, b)| vec![*a, *b]);
    let alike = |of: &Members| (0..of.len()).map(|i| vec![of[i], next(of, i)]).collect::<Vec<_>>();
    let mut pairs: Vec<Members> = mixed.chain(alike(&memory)).chain(alike(&compute)).collect();
    pairs.iter_mut().for_each(|pair| pair.sort_unstable());
    pairs
}

/// Returns groups of four: two compute-intensive and two memory-intensive neighbours of the table, and four memory-intensive ones. The
/// paper does not list its groups.
fn groups_of_four() -> Vec<Members> {
    let (compute, memory) = (applications_of_type(ApplicationType::Compute), applications_of_type(ApplicationType::Memory));
    let nth = |of: &Members, i: usize| of[i % of.len()];
    let mixed = (0..memory.len()).map(|i| vec![nth(&compute, i), nth(&compute, i + 1), nth(&memory, i), nth(&memory, i + 1)]);
    mixed.chain((0..memory.len()).map(|i| (0..4).map(|k| nth(&memory, i + k)).collect())).collect()
}

/// Runs the study.
///
/// # Errors
/// Returns an error if a program does not exist, an option is wrong, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let configuration = configuration(request.configuration.as_deref()).map_err(StudyError::input)?;
    let parameters = &published().own.parameters;
    let cycles = if request.full { parameters.cycles } else { parameters.quick_cycles };
    let groups = match configuration {
        Configuration::Four => groups_of_four(),
        Configuration::Classes | Configuration::Curves => all_pairs(),
        _ if request.full => all_pairs(),
        _ => quick_pairs(),
    };
    let among = |number: usize| request.pairs.is_empty() || request.pairs.iter().any(|(first, last)| (*first..=*last).contains(&number));
    let groups: Vec<Members> = (1..).zip(groups).filter(|(number, _)| among(*number)).map(|(_, group)| group).collect();
    if groups.is_empty() {
        return Err(StudyError::Input("--pairs selects no pair".into()));
    }
    let settings: Vec<(String, String)> =
        parameters.set.iter().cloned().chain(configuration.settings()).chain(request.set.iter().cloned()).collect();
    let sharing = |group: &Members, policy: Option<String>| SharedRun {
        apps: group.iter().map(|app| &applications()[*app]).collect(),
        policy,
        machine: &parameters.machine,
        settings: settings.clone(),
        cycles,
    };
    let mut members: Members = groups.iter().flatten().copied().collect();
    members.sort_unstable();
    members.dedup();
    let sms = sms(&sharing(&members, None)).map_err(StudyError::input)?;
    let half = format!("static_limit:cores={}", sms / 2);
    let lab = request.lab();
    if configuration == Configuration::Classes {
        return classify(groups, &members, &lab, &sharing);
    }
    if configuration == Configuration::Curves {
        return run_curves(&groups, &members, sms, &lab, &sharing);
    }
    let alone: Vec<SharedRun> = members
        .iter()
        .flat_map(|app| [None, Some(half.clone())].map(|policy| sharing(&vec![*app], policy)))
        .chain(groups.iter().flat_map(|group| [None, Some("cd_search".to_owned())].map(|policy| sharing(group, policy))))
        .collect();
    let taken = lab.run_tasks(&alone).map_err(StudyError::input)?;
    let (alone, together) = taken.split_at(2 * members.len());
    let alone: Vec<AloneRuns> = members
        .iter()
        .zip(alone.chunks_exact(2))
        .map(|(app, runs)| AloneRuns { app: *app, full_run: runs[0].clone(), half_run: runs[1].clone() })
        .collect();
    let mut groups: Vec<GroupRuns> = groups
        .into_iter()
        .zip(together.chunks_exact(2))
        .map(|(members, runs)| GroupRuns { members, even_run: runs[0].clone(), search_run: runs[1].clone(), fixed_run: None, shared_runs: None })
        .collect();
    run_fixed_partitions(&mut groups, sms, &lab, &sharing)?;
    if configuration.compared_as() == Configuration::Base {
        run_shared(&mut groups, &lab, &sharing)?;
    }
    let results = CdSearchResults { configuration, sms, alone, groups };
    let title = format!("applications that share {sms} SMs, even and by CD-search, compared with {}", published().source);
    let mut output = StudyOutput::new("cd-search", title);
    findings::show_findings(&mut output, &results);
    Ok(output)
}

/// Runs each group until CD-search has classified its members, and each member alone.
fn classify(
    groups: Vec<Members>,
    members: &Members,
    lab: &warpshard_lab::Lab,
    sharing: &dyn Fn(&Members, Option<String>) -> SharedRun,
) -> Result<StudyOutput, StudyError> {
    let profile = |group| SharedRun { cycles: published().own.parameters.profile_cycles, ..sharing(group, Some("cd_search".to_owned())) };
    let tasks: Vec<SharedRun> = members.iter().map(|app| sharing(&vec![*app], None)).chain(groups.iter().map(profile)).collect();
    let mut alone = lab.run_tasks(&tasks).map_err(StudyError::input)?;
    let together = alone.split_off(members.len());
    let classified: Vec<ClassifiedGroup> = groups.into_iter().zip(together).map(|(members, run)| ClassifiedGroup { members, run }).collect();
    let utilisation: Vec<(usize, f64)> = members.iter().zip(&alone).map(|(app, run)| (*app, run.dram_utilisation())).collect();
    let title = format!("the classification of {} pairs, compared with {}", classified.len(), published().source);
    let mut output = StudyOutput::new("cd-search", title);
    classes::show_classes(&mut output, &classified, &utilisation);
    Ok(output)
}

/// Runs each member alone on one to six sixths of the SMs.
fn run_curves(
    groups: &[Members],
    members: &Members,
    sms: u32,
    lab: &warpshard_lab::Lab,
    sharing: &dyn Fn(&Members, Option<String>) -> SharedRun,
) -> Result<StudyOutput, StudyError> {
    let cycles = published().own.parameters.curve_cycles;
    let limited = |app: usize, point: u32| {
        let policy = (point < CURVE_POINTS).then(|| format!("static_limit:cores={}", point * sms / CURVE_POINTS));
        SharedRun { cycles, ..sharing(&vec![app], policy) }
    };
    let tasks: Vec<SharedRun> = members.iter().flat_map(|app| (1..=CURVE_POINTS).map(|point| limited(*app, point))).collect();
    let taken = lab.run_tasks(&tasks).map_err(StudyError::input)?;
    let ipc = |runs: &[task::RunResult]| std::array::from_fn(|point| runs[point].apps.first().map_or(0.0, |app| app.ipc()));
    let curves: Vec<IpcCurve> = members.iter().zip(taken.chunks_exact(CURVE_POINTS as usize)).map(|(app, runs)| IpcCurve { app: *app, ipc: ipc(runs) }).collect();
    let title = format!("{} applications by their number of SMs, and the best partitions of {} pairs by these curves", curves.len(), groups.len());
    let mut output = StudyOutput::new("cd-search", title);
    curves::show_curves(&mut output, &curves, groups, sms);
    Ok(output)
}

/// Runs each group whose partition CD-search changed once more, with CD-search's partition from the start.
fn run_fixed_partitions(
    groups: &mut [GroupRuns],
    sms: u32,
    lab: &warpshard_lab::Lab,
    sharing: &dyn Fn(&Members, Option<String>) -> SharedRun,
) -> Result<(), StudyError> {
    let partitions: Vec<Option<Vec<u32>>> = groups.iter().map(|group| group.chosen_partition(sms)).collect();
    let tasks: Vec<SharedRun> = groups
        .iter()
        .zip(&partitions)
        .filter_map(|(group, partition)| {
            let sms: Vec<String> = partition.as_ref()?.iter().map(u32::to_string).collect();
            Some(sharing(&group.members, Some(format!("static_partition:sms=[{}]", sms.join(",")))))
        })
        .collect();
    let mut fixed = lab.run_tasks(&tasks).map_err(StudyError::input)?.into_iter();
    for (group, _) in groups.iter_mut().zip(&partitions).filter(|(_, partition)| partition.is_some()) {
        group.fixed_run = fixed.next();
    }
    Ok(())
}

/// Runs the mixed groups with all applications on every SM, under SMK and under Maestro.
fn run_shared(groups: &mut [GroupRuns], lab: &warpshard_lab::Lab, sharing: &dyn Fn(&Members, Option<String>) -> SharedRun) -> Result<(), StudyError> {
    let interleaved = |members: &Members, policy: &str| {
        let mut task = sharing(members, Some(policy.to_owned()));
        for (key, value) in [("gpu.dispatch.sharing", "interleaved"), ("gpu.sm.order", "kernel-gto")] {
            task.settings.push((key.to_owned(), value.to_owned()));
        }
        task
    };
    let mixed = || groups.iter().filter(|group| group.is_mixed());
    let tasks: Vec<SharedRun> = mixed().flat_map(|group| ["smk", "maestro"].map(|policy| interleaved(&group.members, policy))).collect();
    let taken = lab.run_tasks(&tasks).map_err(StudyError::input)?;
    for (group, runs) in groups.iter_mut().filter(|group| group.is_mixed()).zip(taken.chunks_exact(2)) {
        group.shared_runs = Some(SharedRuns { smk: runs[0].clone(), maestro: runs[1].clone() });
    }
    Ok(())
}

fn configuration(name: Option<&str>) -> Result<Configuration, TaskError> {
    let Some(name) = name else { return Ok(Configuration::Base) };
    let known = Configuration::ALL.iter().find(|(known, _)| *known == name).map(|(_, configuration)| *configuration);
    known.ok_or_else(|| {
        let names: Vec<&str> = Configuration::ALL.iter().map(|(name, _)| *name).collect();
        format!("--configuration {name}: expected one of {}", names.join(", "))
    }).map_err(TaskError::from)
}

fn sms(task: &SharedRun) -> Result<u32, TaskError> {
    Ok(task.machine()?.machine.gpu.sms)
}
