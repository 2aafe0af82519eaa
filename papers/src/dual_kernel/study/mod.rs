//! `study dual-kernel`: a task of higher priority preempts CTAs of benchmarks (Shieh, "Enabling Fast Preemption via Dual-Kernel Support on
//! GPUs", 2016).
//!
//! In: the kernels of the thesis's Table 4.2 as programs. Each benchmark runs alone to measure the duration of its CTAs, and then together
//! with a task that arrives at random cycles, under Chimera, Chimera with the thesis's estimate, the thesis's scheme and Oracle, with
//! latency bounds of 2 to 5 us. Out: violations, overhead, techniques, utilisation and errors of estimates, next to the published values.

mod cell;
mod figures;
mod findings;
mod oracle;
mod published;
mod strata;
mod task;
#[cfg(test)]
mod tests;

use std::iter;
use std::sync::Arc;

use warpshard_lab::error::TaskError;
use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};

use figures::{BoundedScheme, PreemptionFigures, BenchmarkRuns};
use findings::DualKernelResults;
use published::{Benchmark, Configuration, SCHEMES, PublishedScheme, benchmarks, published};
use task::{AloneRun, PreemptedRun, StudySetup, KernelStratum, TaskAloneRun, AloneTimes};

/// Runs the study.
///
/// # Errors
/// Returns an error if a program does not exist, an option is wrong, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let setup =
        StudySetup { configuration: configuration(request.configuration.as_deref()).map_err(StudyError::input)?, settings: request.set.clone() };
    let parameters = &published().own.parameters;
    let most = if request.full { parameters.full_most_points } else { parameters.most_points };
    let among = |number: usize| request.pairs.is_empty() || request.pairs.iter().any(|(first, last)| (*first..=*last).contains(&number));
    let chosen: Vec<&'static Benchmark> = (1..).zip(benchmarks()).filter(|(number, _)| among(*number)).map(|(_, one)| one).collect();
    if chosen.is_empty() {
        return Err(StudyError::Input("--pairs selects no benchmark".into()));
    }
    let lab = request.lab();
    let alone: Vec<AloneRun> = chosen.iter().map(|benchmark| AloneRun { setup: setup.clone(), benchmark }).collect();
    let alone: Vec<AloneTimes> = lab.run_tasks(&alone).map_err(StudyError::input)?;
    let task_alone = lab.run_task(&TaskAloneRun { setup: setup.clone() }).map_err(StudyError::input)?;
    let (mut tasks, mut further) = (Vec::new(), Vec::new());
    for (benchmark, times) in chosen.iter().zip(&alone) {
        let (points, window, overwrites) = (times.arrival_count(most), times.window_cycles(), Arc::new(times.overwrites.clone()));
        for (scheme, bound) in scheme_cells() {
            let overwrites = Arc::clone(&overwrites);
            let cell = PreemptedRun { setup: setup.clone(), benchmark, scheme, bound, points, window, at: None, overwrites };
            further.extend(times.rare_kernels(points).into_iter().map(|kernel| KernelStratum::new(cell.clone(), times, kernel)));
            tasks.push(cell);
        }
    }
    let counts = lab.run_tasks(&tasks).map_err(StudyError::input)?;
    let mut further = lab.run_tasks(&further).map_err(StudyError::input)?.into_iter();
    let per = tasks.len() / chosen.len();
    let cells = tasks.iter().zip(counts);
    let mut figures = cells.zip(alone.iter().flat_map(|times| iter::repeat_n(times, per))).map(|((task, counts), times)| {
        let rare = times.rare_kernels(task.points);
        let further = further.by_ref().take(rare.len()).collect();
        (BoundedScheme { scheme: task.scheme, bound: task.bound }, PreemptionFigures::new(task.benchmark, times, &rare, counts, further))
    });
    let mut points = Vec::new();
    for (benchmark, times) in chosen.iter().zip(&alone) {
        points.push(BenchmarkRuns { benchmark, times: times.clone(), figures: figures.by_ref().take(per).collect() });
    }
    let results = DualKernelResults { configuration: setup.configuration, task_alone, benchmarks: points };
    let mut output =
        StudyOutput::new("dual-kernel", format!("CTAs preempted by a task that arrives, compared with {}", published().source));
    findings::show_findings(&mut output, &results);
    Ok(output)
}

/// Returns the schemes and bounds that each benchmark runs with.
fn scheme_cells() -> impl Iterator<Item = (PublishedScheme, u32)> {
    let bounds = &published().own.parameters.bounds;
    let tightest = bounds.iter().min().copied();
    let all = SCHEMES.into_iter().flat_map(|scheme| bounds.iter().map(move |bound| (scheme, *bound)));
    all.filter(move |(scheme, bound)| *scheme != PublishedScheme::ChimeraPlus || Some(*bound) == tightest)
}

fn configuration(name: Option<&str>) -> Result<Configuration, TaskError> {
    let Some(name) = name else { return Ok(Configuration::Base) };
    let known = Configuration::ALL.iter().find(|(known, _)| *known == name).map(|(_, configuration)| *configuration);
    known.ok_or_else(|| {
        let names: Vec<&str> = Configuration::ALL.iter().map(|(name, _)| *name).collect();
        format!("--configuration {name}: expected one of {}", names.join(", "))
    }).map_err(TaskError::from)
}
