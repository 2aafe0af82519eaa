//! What is read of the units at the end of a run: of this rank's own, and of other ranks' as they sent it.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_base::{ClockDomain, Cycle, UnitId};
use warpshard_engine::{Ranks, Unit, share};
use warpshard_gpu::cta::Grid;
use warpshard_gpu::sm::{
    ClassCounts, KernelCounters, StallCounts, WarpReasonCounts, add_classes, visit_classes, visit_stalls, visit_warp_reasons,
};
use warpshard_mem::llc::LlcKernelCounters;
use warpshard_stats::{ComponentStats, CounterInfo, Counters, KernelStats, LateMessages, Latencies, LaunchCounters, Values};
use warpshard_workload::Workload;

use super::layout::ChipLayout;
use super::system_stats::{Ids, take_ends, take_kernels};
use super::unit::ChipUnit;
use crate::BuildError;

/// Launches whose counters are summed at a time.
const LAUNCHES: usize = 1024;

/// What SMs and LLC slices counted for a kernel launch.
#[derive(Clone, Default)]
struct OfKernel {
    sm: KernelCounters,
    classes: ClassCounts,
    stalls: StallCounts,
    llc: LlcKernelCounters,
    /// On a machine whose SMs count them.
    reasons: Option<WarpReasonCounts>,
}

impl OfKernel {
    fn visit(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        self.sm.visit(see);
        visit_classes(&self.classes, see);
        visit_stalls(&self.stalls, see);
        self.llc.visit(see);
        self.reasons.iter().for_each(|reasons| visit_warp_reasons(reasons, see));
    }
}

/// What the grid scheduler knows of a kernel and other ranks do not.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct KernelTimes {
    ctas_done: u32,
    launched: Option<u64>,
    started: Option<u64>,
    ended: Option<u64>,
    launch_latency_cycles: u64,
}

/// What the grid scheduler has at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OfGrid {
    kernels: Vec<KernelTimes>,
    /// How often each application ended, and when first.
    ends: Vec<(u32, Option<Cycle>)>,
    end: Option<u64>,
}

impl OfGrid {
    /// The same in cycles of the clock `to`; these are cycles of the clock `from`.
    fn in_cycles_of(mut self, to: ClockDomain, from: ClockDomain) -> Self {
        if from == to {
            return self;
        }
        let convert = |cycle: u64| from.tick(Cycle(cycle)).0 / to.period;
        for kernel in &mut self.kernels {
            for cycle in [&mut kernel.launched, &mut kernel.started, &mut kernel.ended] {
                *cycle = cycle.map(convert);
            }
            kernel.launch_latency_cycles = convert(kernel.launch_latency_cycles);
        }
        self.ends.iter_mut().for_each(|(_, end)| *end = end.map(|end| Cycle(convert(end.0))));
        self.end = self.end.map(convert);
        self
    }
}

/// A rank's part of the results.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Share {
    /// The values of the counters of units, by unit.
    counters: Vec<(u32, Vec<u64>)>,
    /// The values of the counters of kernels over these units, by kernel; none of a kernel for which these counted nothing.
    kernels: Vec<Values>,
    /// Read latencies of DRAM channels, by unit.
    latencies: Vec<(u32, Latencies)>,
    /// What grid schedulers have, by unit.
    grids: Vec<(u32, OfGrid)>,
    late: LateMessages,
    messages: u64,
}

/// What is known of all units.
pub(super) struct Results {
    pub(super) components: Vec<ComponentStats>,
    pub(super) kernels: Vec<KernelStats>,
    pub(super) latencies: Vec<Latencies>,
    /// Warp and thread instructions of every kernel, those that were started again included.
    pub(super) warp_instructions: Vec<u64>,
    pub(super) thread_instructions: Vec<u64>,
    /// How often each application ended, and when first.
    pub(super) ends: Vec<(u32, Option<Cycle>)>,
    /// How components are numbered over GPUs.
    pub(super) ids: Ids,
    /// When the workload ended.
    pub(super) end: Option<u64>,
    /// Messages that came late, and all messages.
    pub(super) late: LateMessages,
    pub(super) messages: u64,
}

impl Share {
    /// That of this rank, which stepped the units that `owned` says.
    fn of(units: &[ChipUnit], owned: &[bool], kernels: usize, late: LateMessages, messages: u64) -> Self {
        let mut share = Self { late, messages, ..Self::default() };
        for (index, unit) in units.iter().enumerate().filter(|(index, _)| owned[*index]) {
            let mut values = Vec::new();
            unit.visit_counters(&mut values);
            share.counters.push((index as u32, values));
            match unit {
                ChipUnit::Grid(grid) => share.grids.push((index as u32, of_grid(grid))),
                ChipUnit::Partition(partition) => {
                    if partition.channel().command_level().is_some() {
                        share.latencies.push((index as u32, partition.channel().read_latency().clone()));
                    }
                }
                ChipUnit::Sm(_) | ChipUnit::Crossbar(_) | ChipUnit::Mesh(_) | ChipUnit::Cpu(_) | ChipUnit::Hub(_) | ChipUnit::Peers(_) => {}
            }
        }
        share.kernels.reserve(kernels);
        for first in (0..kernels).step_by(LAUNCHES) {
            let range = first..kernels.min(first + LAUNCHES);
            for of_kernel in of_kernels(units, owned, range) {
                let mut values = Vec::new();
                of_kernel.iter().for_each(|counted| counted.visit(&mut |_, value| values.push(value)));
                share.kernels.push(values.into_iter().collect());
            }
        }
        share
    }

    fn add(&mut self, other: Self) {
        self.counters.extend(other.counters);
        self.latencies.extend(other.latencies);
        for (sums, parts) in self.kernels.iter_mut().zip(&other.kernels) {
            *sums = sums.plus(parts);
        }
        self.grids.extend(other.grids);
        self.late.add(&other.late);
        self.messages += other.messages;
    }
}

/// What units counted for some launches; `None` for a launch for which they counted nothing.
fn of_kernels(units: &[ChipUnit], owned: &[bool], range: Range<usize>) -> Vec<Option<OfKernel>> {
    let mut sums: Vec<Option<OfKernel>> = vec![None; range.len()];
    let mut sum = |kernel: usize, add: &mut dyn FnMut(&mut OfKernel)| add(sums[kernel - range.start].get_or_insert_default());
    for (_, unit) in units.iter().enumerate().filter(|(index, _)| owned[*index]) {
        match unit {
            ChipUnit::Sm(sm) => {
                let stats = sm.stats();
                for (kernel, part) in stats.kernels.counted_in(range.clone()) {
                    sum(kernel, &mut |all| {
                        all.sm.add(&part);
                        add_classes(&mut all.classes, &part.classes);
                    });
                }
                for (kernel, part) in sm.warp_reasons().into_iter().flat_map(|reasons| reasons.counted_in(range.clone())) {
                    sum(kernel, &mut |all| add_each(all.reasons.get_or_insert_default(), &part));
                }
                // The first are of schedulers without warps.
                for (row, part) in stats.stalls.counted_in(range.start + 1..range.end + 1) {
                    sum(row - 1, &mut |all| add_each(&mut all.stalls, &part));
                }
            }
            ChipUnit::Partition(partition) => {
                for (kernel, part) in partition.kernels().flat_map(|slice| slice.counted_in(range.clone())) {
                    sum(kernel, &mut |all| all.llc.add(&part));
                }
            }
            ChipUnit::Grid(_) | ChipUnit::Crossbar(_) | ChipUnit::Mesh(_) | ChipUnit::Cpu(_) | ChipUnit::Hub(_) | ChipUnit::Peers(_) => {}
        }
    }
    sums
}

fn add_each(sums: &mut [u64], parts: &[u64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}

fn of_grid(grid: &Grid) -> OfGrid {
    let times = |kernel: KernelStats| {
        let KernelStats { ctas_done, launched, started, ended, launch_latency_cycles, .. } = kernel;
        KernelTimes { ctas_done, launched, started, ended, launch_latency_cycles }
    };
    let stats = grid.kernel_stats();
    // Collected, the times would keep the memory of the rows.
    let mut kernels = Vec::with_capacity(stats.len());
    kernels.extend(stats.into_iter().map(times));
    OfGrid { kernels, ends: grid.application_ends().collect(), end: grid.end_cycle().map(|cycle| cycle.0) }
}

/// What a grid scheduler knows of its kernels, whichever rank stepped it.
fn kernel_stats(grid: &Grid, of: &OfGrid) -> Vec<KernelStats> {
    let mut stats = grid.kernel_stats();
    for (kernel, times) in stats.iter_mut().zip(&of.kernels) {
        kernel.ctas_done = times.ctas_done;
        (kernel.launched, kernel.started, kernel.ended) = (times.launched, times.started, times.ended);
        kernel.launch_latency_cycles = times.launch_latency_cycles;
    }
    stats
}

/// The results of all units, with those of the ranks that stepped what this one did not.
///
/// # Errors
/// When a rank is gone; a message for the user.
pub(super) fn collect(
    (units, layout, clocks): (&[ChipUnit], &ChipLayout, &[ClockDomain]),
    owned: &[bool],
    workload: &Workload,
    (late, messages): (LateMessages, u64),
    ranks: Option<&mut Box<dyn Ranks>>,
) -> Result<Results, BuildError> {
    let mut all = Share::of(units, owned, workload.kernels.len(), late, messages);
    if let Some(ranks) = ranks {
        for other in share(ranks.as_mut(), &all)? {
            all.add(other);
        }
    }
    all.counters.sort_by_key(|(unit, _)| *unit);
    all.latencies.sort_by_key(|(unit, _)| *unit);
    all.grids.sort_by_key(|(unit, _)| *unit);
    let (mut components, mut kernels) = (Vec::new(), Vec::new());
    let (mut ends, mut end, mut ids) = (Vec::new(), Some(0), Ids::default());
    let mut grids = all.grids.into_iter();
    for (number, (unit, (_, values))) in (0..).zip(units.iter().zip(&all.counters)) {
        let first = components.len();
        unit.visit_counters(&mut components);
        let counted = components[first..].iter_mut().flat_map(|component: &mut ComponentStats| &mut component.counters);
        counted.zip(values).for_each(|(counted, value)| counted.value = *value);
        let gpu = layout.gpu_of(UnitId(number)).unwrap_or_default();
        if layout.gpus.len() > 1 {
            ids.count_over_gpus(gpu, &mut components[first..]);
        }
        if let (ChipUnit::Grid(grid), Some((_, of))) = (unit, if matches!(unit, ChipUnit::Grid(_)) { grids.next() } else { None }) {
            // Cycles of the run are those of GPU 0's core clock.
            let of = of.in_cycles_of(clocks[0], clocks[gpu as usize]);
            take_kernels(&mut kernels, kernel_stats(grid, &of), workload, gpu);
            take_ends(&mut ends, of.ends.iter().copied(), workload, gpu);
            end = end.zip(of.end).map(|(latest, cycle)| cycle.max(latest));
        }
    }
    let mut infos: Vec<&'static CounterInfo> = Vec::new();
    let reasons = units.iter().any(|unit| matches!(unit, ChipUnit::Sm(sm) if sm.warp_reasons().is_some()));
    OfKernel { reasons: reasons.then(Default::default), ..OfKernel::default() }.visit(&mut |info, _| infos.push(info));
    let of_all = |name: &str| -> Vec<u64> {
        let column = infos.iter().position(|info| info.name == name);
        all.kernels.iter().map(|values| column.and_then(|column| values.iter().nth(column)).unwrap_or(0)).collect()
    };
    let (warp_instructions, thread_instructions) = (of_all("warp_instructions"), of_all("thread_instructions"));
    let infos: Arc<[&'static CounterInfo]> = infos.into();
    for (kernel, values) in kernels.iter_mut().zip(all.kernels) {
        // Of launches that were never reached nothing is shown; the first one names the counters.
        if kernel.launched.is_some() || kernel.index.0 == 0 {
            kernel.counters = LaunchCounters::new(&infos, values);
        }
    }
    let latencies = all.latencies.into_iter().map(|(_, latencies)| latencies).collect();
    Ok(Results {
        components,
        kernels,
        latencies,
        warp_instructions,
        thread_instructions,
        ends,
        ids,
        end,
        late: all.late,
        messages: all.messages,
    })
}
