//! Rounds of simulation: which launches are simulated, until the interval is narrow enough.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpshard_chip::{RunError, RunResult, occupancies};
use warpshard_config::Machine;
use warpshard_stats::EndedBy;
use warpshard_workload::Workload;

use super::launches::launches;
use super::options::Options;
use super::simulate::{SampleError, Simulate};
use super::state::State;

/// Rounds at most.
const ROUNDS: u32 = 5;
/// The share of the warp instructions above which the whole workload is simulated instead.
const WHOLE: f64 = 0.5;

/// Simulates a sample of `workload` on `machine` by `simulate`, and estimates the rest.
///
/// Where the sample would be most of the workload, all of it is simulated, and the results are exact.
///
/// # Errors
/// See [`SampleError`].
pub fn sample(
    machine: &Machine,
    workload: &Arc<Workload>,
    options: &Options,
    simulate: &mut Simulate<'_>,
) -> Result<RunResult, SampleError> {
    check(machine, workload)?;
    let launches = launches(workload).map_err(|error| SampleError::Run(RunError::Trace(error)))?;
    let resident = occupancies(machine, workload).map_err(|error| SampleError::Run(RunError::Config(error.to_string())))?;
    let mut state = State::new(workload, options, launches, &resident, machine);
    let mut wanted = state.first();
    let mut results: Vec<RunResult> = Vec::new();
    loop {
        let kept = state.with_warming(&wanted);
        let parts = state.in_parts(&wanted, &kept);
        if state.cost(&kept, &parts) > WHOLE {
            return whole(workload, simulate);
        }
        state.rounds += 1;
        let result = state.round(&wanted, &kept, &parts, simulate)?;
        results.push(result);
        if state.rounds == 1
            && !state.caches
            && let Some(start) = state.longer_start()
        {
            // What was measured so far found an LLC that holds less, and less that is modified, than it does in the whole run.
            state.restart(start);
            wanted = state.first();
            continue;
        }
        let missing: BTreeSet<usize> = wanted.iter().copied().filter(|launch| !state.samples.contains_key(launch)).collect();
        if !missing.is_empty() {
            wanted = missing;
            continue;
        }
        let (groups, interval) = state.estimate();
        if interval.half_width <= options.error * interval.value || state.rounds >= ROUNDS {
            break;
        }
        let more = state.more(&groups, interval);
        if more.is_empty() {
            break;
        }
        wanted = more;
    }
    Ok(state.finish(results, &resident))
}

/// Refuses what sampling is not sound for.
fn check(machine: &Machine, workload: &Workload) -> Result<(), SampleError> {
    let problem = if machine.gpus() > 1 {
        "a system of several GPUs runs launches at once; sample the GPUs' workloads one by one"
    } else if !workload.applications.is_empty() {
        "applications that share the GPU run launches at once; sample each application alone"
    } else if workload.kernels.iter().any(|kernel| kernel.info.copy.is_some()) {
        "the workload copies between GPUs"
    } else if machine.gpu.dispatch.max_kernels > 1
        && workload.kernels.iter().any(|kernel| kernel.info.stream != workload.kernels[0].info.stream)
    {
        "launches of several streams may run at once; set gpu.dispatch.max_kernels=1 to run them one after the other"
    } else if workload.kernels.iter().any(|kernel| kernel.info.programmatic.is_some()) {
        "programmatic dependent launches run at once with the launch before; remove `programmatic` to run launches one after the other"
    } else if workload.kernels.is_empty() {
        "the workload launches no kernel"
    } else {
        return Ok(());
    };
    Err(SampleError::Unsuited(problem.into()))
}

/// Simulates everything, because a sample would be most of it.
fn whole(workload: &Arc<Workload>, simulate: &mut Simulate<'_>) -> Result<RunResult, SampleError> {
    let mut result = simulate(workload, None)?;
    if result.outcome.ended_by != EndedBy::Completed {
        return Ok(result);
    }
    let note = "--sample: a sample would have been most of the workload, so all of it was simulated; the results are exact";
    result.outcome.notes.push((note.into(), 1));
    Ok(result)
}
