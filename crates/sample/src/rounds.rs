//! Rounds of simulation, which are repeated until the interval is narrow enough.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpshard_chip::{RunError, RunResult, occupancies};
use warpshard_config::Machine;
use warpshard_stats::EndedBy;
use warpshard_workload::Workload;

use super::launches::launches;
use super::options::SamplingOptions;
use super::simulate::{SampleError, SimulateFn};
use super::state::SamplingState;

/// Maximum number of rounds.
const MAX_ROUNDS: u32 = 5;
/// Share of the warp instructions above which the whole workload is simulated instead.
const MAX_SAMPLE_SHARE: f64 = 0.5;

/// Simulates a sample of `workload` on `machine` with the function `simulate`, and estimates the rest.
///
/// If the sample would be most of the workload, the whole workload is simulated, and the results are exact.
///
/// # Errors
/// See [`SampleError`].
pub fn sample(
    machine: &Machine,
    workload: &Arc<Workload>,
    options: &SamplingOptions,
    simulate: &mut SimulateFn<'_>,
) -> Result<RunResult, SampleError> {
    check_sampling(machine, workload)?;
    let launches = launches(workload).map_err(|error| SampleError::Run(RunError::Trace(error)))?;
    let resident = occupancies(machine, workload).map_err(|error| SampleError::Run(RunError::Config(error.to_string())))?;
    let mut state = SamplingState::new(workload, options, launches, &resident, machine);
    let mut wanted = state.first_round();
    let mut results: Vec<RunResult> = Vec::new();
    loop {
        let kept = state.with_warming_launches(&wanted);
        let parts = state.partial_launches(&wanted, &kept);
        if state.cost(&kept, &parts) > MAX_SAMPLE_SHARE {
            return simulate_whole(workload, simulate);
        }
        state.rounds += 1;
        let result = state.round(&wanted, &kept, &parts, simulate)?;
        results.push(result);
        if state.rounds == 1
            && !state.caches
            && let Some(start) = state.extended_start()
        {
            // In the present measurements the LLC holds fewer lines, and fewer modified lines, than in the whole run.
            state.restart(start);
            wanted = state.first_round();
            continue;
        }
        let missing: BTreeSet<usize> = wanted.iter().copied().filter(|launch| !state.samples.contains_key(launch)).collect();
        if !missing.is_empty() {
            wanted = missing;
            continue;
        }
        let (groups, interval) = state.estimate();
        if interval.half_width <= options.error * interval.value || state.rounds >= MAX_ROUNDS {
            break;
        }
        let more = state.next_round(&groups, interval);
        if more.is_empty() {
            break;
        }
        wanted = more;
    }
    Ok(state.finish(results, &resident))
}

/// Rejects machines and workloads for which sampling is not sound.
fn check_sampling(machine: &Machine, workload: &Workload) -> Result<(), SampleError> {
    let problem = if machine.gpus() > 1 {
        "a system of several GPUs runs launches at the same time; sample the GPUs' workloads one by one"
    } else if !workload.applications.is_empty() {
        "applications that share the GPU run launches at the same time; sample each application alone"
    } else if workload.kernels.iter().any(|kernel| kernel.info.copy.is_some()) {
        "the workload copies between GPUs"
    } else if machine.gpu.dispatch.max_kernels > 1
        && workload.kernels.iter().any(|kernel| kernel.info.stream != workload.kernels[0].info.stream)
    {
        "launches of several streams may overlap; set gpu.dispatch.max_kernels=1 to run them one after another"
    } else if workload.kernels.iter().any(|kernel| kernel.info.programmatic.is_some()) {
        "programmatic dependent launches overlap with the previous launch; remove `programmatic` to run launches one after another"
    } else if workload.kernels.is_empty() {
        "the workload launches no kernel"
    } else {
        return Ok(());
    };
    Err(SampleError::Unsuited(problem.into()))
}

/// Simulates the whole workload, because a sample would be most of it.
fn simulate_whole(workload: &Arc<Workload>, simulate: &mut SimulateFn<'_>) -> Result<RunResult, SampleError> {
    let mut result = simulate(workload, None)?;
    if result.outcome.ended_by != EndedBy::Completed {
        return Ok(result);
    }
    let note = "--sample: a sample would have been most of the workload, so the whole workload was simulated; the results are exact";
    result.outcome.notes.push((note.into(), 1));
    Ok(result)
}
