//! Workload and statistics of a system: the distribution of the workload over the GPUs, and their combined results.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_base::Cycle;
use warpshard_config::Machine;
use warpshard_config::routes::Routes;
use warpshard_config::system::{Launch, System};
use warpshard_stats::{ComponentStats, CounterValue, GpuStats, KernelStats, Outcome, SystemStats};
use warpshard_workload::{Workload, for_gpus};

use super::system::SystemPlan;
use crate::BuildError;

/// Returns the workload as distributed over the GPUs of `machine`; unchanged for a single GPU.
///
/// # Errors
/// The workload names a GPU that the machine does not have; a message for the user.
pub fn for_machine(machine: &Machine, workload: &Arc<Workload>) -> Result<Arc<Workload>, BuildError> {
    let spread = machine.system.as_ref().is_some_and(|system| system.launch == Launch::Spread);
    let sms: Vec<u32> = machine.each_gpu().map(|gpu| gpu.gpu.sms).collect();
    let made = for_gpus(workload, &sms, spread)?;
    Ok(if machine.system.is_some() { Arc::new(made) } else { Arc::clone(workload) })
}

/// A numbering of components over all GPUs.
#[derive(Debug, Default)]
pub(super) struct CounterIds {
    /// Components of each kind on each GPU so far.
    counts: BTreeMap<&'static str, Vec<u32>>,
}

impl CounterIds {
    /// Numbers the components of a unit of `gpu`. Units must be passed in the order of the GPUs.
    pub(super) fn count_over_gpus(&mut self, gpu: u32, components: &mut [ComponentStats]) {
        for component in components.iter_mut().filter(|component| !of_system(component.kind)) {
            let counts = self.counts.entry(component.kind).or_default();
            counts.resize((gpu as usize + 1).max(counts.len()), 0);
            component.id += counts[..gpu as usize].iter().sum::<u32>();
            counts[gpu as usize] += 1;
        }
    }

    /// Returns the GPU of a component.
    fn gpu_of(&self, component: &ComponentStats) -> usize {
        if component.kind == "hub" {
            return component.id as usize;
        }
        let counts = self.counts.get(component.kind).map_or(&[][..], Vec::as_slice);
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        ends.take_while(|end| *end <= component.id).count()
    }
}

/// Returns `true` if components of a kind are already numbered over the whole system.
fn of_system(kind: &str) -> bool {
    kind == "hub" || kind == "link"
}

/// Adds the kernels of `gpu` from the rows of its grid scheduler.
pub(super) fn take_kernels(all: &mut Vec<KernelStats>, rows: Vec<KernelStats>, workload: &Workload, gpu: u32) {
    if all.is_empty() {
        *all = rows;
        return;
    }
    for (known, row) in all.iter_mut().zip(rows) {
        if u32::from(workload.kernel(row.index).info.on_gpu().0) == gpu {
            *known = row;
        }
    }
}

/// Merges executions and ends of applications: for an application on several GPUs, the minimum of the executions and the latest end.
pub(super) fn take_ends(
    all: &mut Vec<(u32, Option<Cycle>)>,
    rows: impl Iterator<Item = (u32, Option<Cycle>)>,
    workload: &Workload,
    gpu: u32,
) {
    for (number, (app, (executions, end))) in workload.applications().iter().zip(rows).enumerate() {
        let runs_on = |gpu: u32| app.kernels.clone().any(|kernel| u32::from(workload.kernels[kernel as usize].info.on_gpu().0) == gpu);
        if all.len() <= number {
            all.push((executions, end));
        } else if runs_on(gpu) {
            let earlier = (0..gpu).any(runs_on);
            let (known, latest) = all[number];
            let both = latest.zip(end).map(|(a, b)| a.max(b));
            all[number] = if earlier { (known.min(executions), both) } else { (executions, end) };
        }
    }
}

/// Returns the totals of each GPU and the names of links.
pub(super) fn system_stats(system: &System, workload: &Workload, ids: &CounterIds, outcome: &Outcome) -> Option<SystemStats> {
    let routes = Routes::of(system).ok()?;
    let mut gpus = vec![GpuStats::default(); system.gpus as usize];
    for component in outcome.components.iter().filter(|component| component.kind != "link") {
        let totals = &mut gpus[ids.gpu_of(component)].totals;
        match totals.iter_mut().find(|(kind, _)| *kind == component.kind) {
            Some((_, sums)) => sums.iter_mut().zip(&component.counters).for_each(|(sum, counted)| sum.value += counted.value),
            None => totals.push((component.kind, component.counters.iter().map(|counted| CounterValue { ..*counted }).collect())),
        }
    }
    let on = |row: &KernelStats| workload.kernel(row.index).info.on_gpu().0;
    for row in &outcome.kernels {
        let gpu = &mut gpus[usize::from(on(row))];
        gpu.kernels += 1;
        gpu.ended = gpu.ended.max(row.ended);
    }
    let kernel_gpus = outcome.kernels.iter().map(on).collect();
    Some(SystemStats { gpus, links: SystemPlan::lane_names(&routes), kernel_gpus })
}
