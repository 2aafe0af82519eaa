//! `study onac`: the kernels of Table 4.4 on the machine of 32 cores, with every number of cores and under ONAC and Seq-Det,
//! compared with Section 4.4 of the thesis.
//!
//! The oracle is the least number of cores with 98 % of the IPC of all cores, from steady stretches of runs with fixed numbers.
//! Detections are simulated in full, with some further CTA waves; the rest of the grid is extrapolated at the rate of these waves
//! and marked. The baseline with all cores is extrapolated in the same way. Some
//! kernels are also run to completion.
//!
//! Searches begin after some CTA waves, when the LLC is full; the study also shows the result of ONAC from an empty LLC.
//! `--configuration programs` runs programs in place of models, for the kernels that have a program with the grid of Table 4.4.

mod detect;
mod oracle;
mod point;
mod published;
mod show;

use rayon::prelude::*;

use warpshard_lab::error::TaskError;
use warpshard_lab::job::{Job, Row, Run};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::request::Request;

use super::programs::KernelJob;
use super::{CoreType, ThesisKernel, StudyError, Thesis, kernel_library};
use detect::{Detection, waves_after, whole_grid};
use oracle::{MACHINE_CORES, CoreCountCurve};
use point::{GatingPoint, RelativeResult};
use published::{KernelEntry, StudySection, DetectionScheme, published};

/// Runs the study; with `--full` grids are simulated to their end, and nothing is extrapolated.
///
/// # Errors
/// Fails if `--only` names no kernel, or a kernel cannot be run.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let programs = match request.configuration.as_deref() {
        None | Some("models") => false,
        Some("programs") => true,
        Some(other) => return Err(StudyError::Input(format!("--configuration {other}: expected one of models, programs"))),
    };
    let thesis = Thesis::new(request);
    let kernels = thesis.kernels("Table 4.4", |kernel| kernel.cores.is_some())?;
    let entries = published()
        .own
        .kernel
        .iter()
        .filter_map(|entry| kernels.iter().find(|kernel| kernel.name == entry.name).map(|kernel| (entry, *kernel)));
    let entries: Vec<(&'static KernelEntry, &ThesisKernel)> = entries.collect();
    let points = entries.par_iter().map(|(entry, kernel)| measure_point(&thesis, entry, kernel, programs));
    let points: Vec<GatingPoint> = points.collect::<Result<_, TaskError>>().map_err(StudyError::input)?;
    let waves = published().own.parameters.waves;
    let how =
        if request.full { "whole grids".to_owned() } else { format!("detection and {waves} CTA waves or more, the rest extrapolated") };
    let machine = &kernel_library().own.machines.cores;
    let of = if programs { ", with programs for the kernels that have one" } else { "" };
    let mut output = StudyOutput::new("onac", format!("ONAC and Seq-Det on {machine}{of}, compared with {}: {how}", published().source));
    show::add_all(&mut output, &points, thesis.candidate_name());
    Ok(output)
}

fn measure_point(thesis: &Thesis<'_>, entry: &'static KernelEntry, kernel: &ThesisKernel, programs: bool) -> Result<GatingPoint, TaskError> {
    let full = thesis.request.full;
    let StudySection { parameters, shown, .. } = &published().own;
    let base = thesis.kernel_job(kernel, &kernel_library().own.machines.cores, &entry.grid);
    let launched = |job: Job| KernelJob::of_launch(job, entry.program.as_ref().filter(|_| programs));
    let grid = launched(base.clone()).grid()?;
    let instructions = grid.grid_instructions();
    let run = |job: Job| thesis.lab.run_task(&launched(job));
    let [stretch, of_all] = [parameters.stretch, parameters.all_cores].map(|least| if full { None } else { grid.cycles(least) });
    let all = run(base.clone().cycles(of_all))?;
    let curve = CoreCountCurve::measure(shown.swept.contains(&entry.name), |cores| {
        let fixed = (cores < MACHINE_CORES).then(|| base.clone().policy(format!("static_limit:cores={cores}")).cycles(stretch));
        // The run with all cores is longer; its first part equals a run of this length.
        let of_fixed = fixed.map(run).transpose()?;
        let run = of_fixed.as_ref().unwrap_or(&all);
        let end = stretch.map_or(run.cycles, |stretch| run.cycles.min(stretch));
        Ok(run.sum_within_or_all(if run.ended && end == run.cycles { 0 } else { end / 4 }, end))
    })?;
    let wave = grid.per_cta * f64::from(grid.most * MACHINE_CORES) / curve.row_at(MACHINE_CORES).map_or(1.0, Row::rate);
    let search = |scheme: DetectionScheme, warm: u32, to_the_end: bool| {
        let stop = if to_the_end { 0 } else { waves_after(wave) };
        let policy = format!("{}:warm={warm},stop_after={stop}", scheme.policy());
        run(base.clone().policy(policy).cycles((!to_the_end).then_some(parameters.longest)))
    };
    let of = |run: &Run| Detection::from_run(run, instructions);
    let [onac, seq] = DetectionScheme::ALL.map(|scheme| search(scheme, parameters.warm, full));
    let cold = of(&search(DetectionScheme::Onac, 0, full)?);
    let to_the_end = (!full && shown.to_the_end.contains(&entry.name))
        .then(|| {
            let all = of(&run(base.clone().cycles(None))?).whole_grid;
            let [onac, seq] = DetectionScheme::ALL.map(|scheme| search(scheme, parameters.warm, true));
            Ok::<_, TaskError>([of(&onac?), of(&seq?)].map(|detected| RelativeResult::compare(&all, &detected.whole_grid)))
        })
        .transpose()?;
    let candidate = candidate_result(thesis, &base.clone().cycles(of_all), &all, instructions, &run)?;
    Ok(GatingPoint {
        entry: entry.clone(),
        published: kernel.cores.unwrap_or(CoreType::B),
        ctas: grid.ctas,
        program: programs && entry.program.is_some(),
        fitted: ["Table 4.4", "Figure 4.", "4.4"].iter().any(|table| grid.is_fitted_to(table, &[])),
        curve,
        detected: [of(&onac?), of(&seq?)],
        cold_detection: cold,
        all: whole_grid(&all, all.cycles / 4, instructions),
        to_the_end,
        candidate,
    })
}

/// Runs the user's policy and warp order in place of all cores, whose run is `all`; returns `None` without a policy or order.
fn candidate_result(
    thesis: &Thesis<'_>,
    of_all: &Job,
    all: &Run,
    instructions: f64,
    run: &dyn Fn(Job) -> Result<Run, TaskError>,
) -> Result<Option<RelativeResult>, TaskError> {
    let Some(candidate) = &thesis.candidate else { return Ok(None) };
    let run = run(candidate.apply(of_all))?;
    let whole_of = |run: &Run| whole_grid(run, run.cycles / 4, instructions);
    Ok(Some(RelativeResult::compare(&whole_of(all), &whole_of(&run))))
}

/// Returns the first sample of ONAC for a kernel, as a row of `samples.csv` without its last cell.
#[cfg(test)]
pub(crate) fn first_sample(kernel: &str, request: &Request, lab: &warpshard_lab::Lab) -> Result<String, TaskError> {
    /// Core cycles that contain the first sample.
    const FIRST_SAMPLE_CYCLES: u64 = 31_000;
    let StudySection { parameters, kernel: entries, .. } = &published().own;
    let entry = entries.iter().find(|entry| entry.name == kernel).ok_or("no such kernel")?;
    let thesis = Thesis::new(request);
    let job = thesis.kernel_job(kernel_library().own.kernel_named(kernel).ok_or("no such kernel")?, &kernel_library().own.machines.cores, &entry.grid);
    let run = lab.run_task(&job.policy(format!("onac:warm={},stop_after=0", parameters.warm)).cycles(Some(FIRST_SAMPLE_CYCLES)))?;
    let value = |name: &str| run.of_machine(name).next().map(|record| record.value).ok_or("no sample ended");
    Ok(format!("{kernel},ONAC,1,{},{:.4}", value("sample_cores")?, value("sample_ipc")?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpshard_lab::published::Published;

    use super::super::KernelGrid;
    use super::published::{ValueSelector, Quantity, KernelGroups};
    use super::*;

    #[test]
    fn grids_are_as_large_as_table_4_4_states() {
        let request = Request::default();
        let thesis = Thesis::new(&request);
        for entry in &published().own.kernel {
            let kernel = kernel_library().own.kernel_named(&entry.name).unwrap();
            let ctas = KernelGrid::from_job(&thesis.kernel_job(kernel, &kernel_library().own.machines.cores, &entry.grid)).unwrap().ctas;
            assert!(ctas.abs_diff(entry.ctas) * 1000 <= entry.ctas, "{}: {ctas} CTAs, published {}", entry.name, entry.ctas);
        }
    }

    #[test]
    fn programs_have_the_grids_of_table_4_4() {
        let request = Request::default();
        let thesis = Thesis::new(&request);
        let programs: Vec<&KernelEntry> = published().own.kernel.iter().filter(|entry| entry.program.is_some()).collect();
        assert_eq!(programs.len(), 3);
        for entry in programs {
            let kernel = kernel_library().own.kernel_named(&entry.name).unwrap();
            let job = thesis.kernel_job(kernel, &kernel_library().own.machines.cores, &entry.grid);
            let grid = KernelJob::of_launch(job, entry.program.as_ref()).grid().unwrap();
            assert_eq!((grid.ctas, Some(grid.most)), (entry.ctas, entry.program.as_ref().unwrap().ctas), "{}", entry.name);
        }
    }

    #[test]
    fn a_policy_of_the_user_is_compared_with_all_cores_in_columns_of_its_name() {
        let policy = "static_limit:cores=8";
        let request = Request { policy: vec![policy.into()], ..Request::default() };
        let thesis = Thesis::new(&request);
        let kernel = kernel_library().own.kernel_named("hotspot").unwrap();
        let of_all = thesis.kernel_job(kernel, &kernel_library().own.machines.cores, &BTreeMap::new()).cycles(Some(8_000));
        let instructions = KernelGrid::from_job(&of_all).unwrap().grid_instructions();
        let all = thesis.lab.run_task(&of_all).unwrap();
        let eight = candidate_result(&thesis, &of_all, &all, instructions, &|job| thesis.lab.run_task(&job)).unwrap().unwrap();
        assert!((20.0..40.0).contains(&eight.performance), "8 of 32 cores of a kernel that uses all: {eight:?}");
        assert!(eight.saved < 0.0, "static power is paid for longer: {eight:?}");
        let mut output = StudyOutput::new("onac", String::new());
        show::add_rows(&mut output, &[], thesis.candidate_name());
        assert!(output.column(&format!("{policy} perf. %")).is_some() && output.column(&format!("{policy} saves %")).is_some());
    }

    #[test]
    fn the_kernels_are_those_with_a_published_type_and_figures_of_a_search_name_it() {
        let Published { own, values, .. } = published();
        let mut named: Vec<&str> = own.kernel.iter().map(|entry| entry.name.as_str()).collect();
        let mut typed: Vec<&str> =
            kernel_library().own.kernel.iter().filter(|kernel| kernel.cores.is_some()).map(|kernel| kernel.name.as_str()).collect();
        named.sort_unstable();
        typed.sort_unstable();
        assert_eq!(named, typed);
        let KernelGroups { swept, to_the_end, curves } = &own.shown;
        assert!([swept, to_the_end, curves].into_iter().flatten().all(|name| named.contains(&name.as_str())));
        let needs = |of: &ValueSelector| matches!(of.quantity, Quantity::Performance | Quantity::Saved | Quantity::Exact | Quantity::Detection);
        assert!(values.iter().all(|value| value.of.scheme.is_some() == needs(&value.of)));
    }
}
