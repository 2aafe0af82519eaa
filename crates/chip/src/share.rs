//! Collection of results from the units at the end of a run: from this rank, and from the messages of other ranks.

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
use warpshard_stats::{ComponentStats, CounterInfo, Counters, EncodedValues, KernelStats, LateMessages, LatencyCounts, LaunchCounters};
use warpshard_workload::Workload;

use super::layout::ChipLayout;
use super::system_stats::{CounterIds, take_ends, take_kernels};
use super::unit::ChipUnit;
use crate::BuildError;

/// Number of launches whose counters are summed in one pass.
const LAUNCHES_PER_PASS: usize = 1024;

/// The counters of SMs and LLC slices for one kernel launch.
#[derive(Clone, Default)]
struct KernelCounts {
    sm: KernelCounters,
    classes: ClassCounts,
    stalls: StallCounts,
    llc: LlcKernelCounters,
    /// Stall reasons of warps, on a machine whose SMs count them.
    reasons: Option<WarpReasonCounts>,
}

impl KernelCounts {
    fn visit(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        self.sm.visit(see);
        visit_classes(&self.classes, see);
        visit_stalls(&self.stalls, see);
        self.llc.visit(see);
        self.reasons.iter().for_each(|reasons| visit_warp_reasons(reasons, see));
    }
}

/// Times of a kernel that only the rank of its grid scheduler knows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct KernelTimes {
    ctas_done: u32,
    launched: Option<u64>,
    started: Option<u64>,
    ended: Option<u64>,
    launch_latency_cycles: u64,
}

/// The results of a grid scheduler at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GridResults {
    kernels: Vec<KernelTimes>,
    /// For each application, the number of its ends and the cycle of the first one.
    ends: Vec<(u32, Option<Cycle>)>,
    end: Option<u64>,
}

impl GridResults {
    /// Converts all times from cycles of the clock `from` to cycles of the clock `to`.
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
pub(super) struct RankShare {
    /// The values of the counters of units, by unit.
    counters: Vec<(u32, Vec<u64>)>,
    /// The counters of kernels over the rank's units, by kernel; empty for a kernel without counts.
    kernels: Vec<EncodedValues>,
    /// Read latencies of DRAM channels, by unit.
    latencies: Vec<(u32, LatencyCounts)>,
    /// The results of grid schedulers, by unit.
    grids: Vec<(u32, GridResults)>,
    late: LateMessages,
    messages: u64,
}

/// The results of all units.
pub(super) struct ChipResults {
    pub(super) components: Vec<ComponentStats>,
    pub(super) kernels: Vec<KernelStats>,
    pub(super) latencies: Vec<LatencyCounts>,
    /// Warp and thread instructions of every kernel, including repeated launches.
    pub(super) warp_instructions: Vec<u64>,
    pub(super) thread_instructions: Vec<u64>,
    /// For each application, the number of its ends and the cycle of the first one.
    pub(super) ends: Vec<(u32, Option<Cycle>)>,
    /// The numbering of components over GPUs.
    pub(super) ids: CounterIds,
    /// The cycle at which the workload ended.
    pub(super) end: Option<u64>,
    /// The number of late messages and of all messages.
    pub(super) late: LateMessages,
    pub(super) messages: u64,
}

impl RankShare {
    /// Returns the share of this rank, which stepped the units selected by `owned`.
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
        for first in (0..kernels).step_by(LAUNCHES_PER_PASS) {
            let range = first..kernels.min(first + LAUNCHES_PER_PASS);
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

/// Returns the counters of some launches; `None` for a launch without counts.
fn of_kernels(units: &[ChipUnit], owned: &[bool], range: Range<usize>) -> Vec<Option<KernelCounts>> {
    let mut sums: Vec<Option<KernelCounts>> = vec![None; range.len()];
    let mut sum = |kernel: usize, add: &mut dyn FnMut(&mut KernelCounts)| add(sums[kernel - range.start].get_or_insert_default());
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
                // The first row belongs to schedulers without warps.
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

fn of_grid(grid: &Grid) -> GridResults {
    let times = |kernel: KernelStats| {
        let KernelStats { ctas_done, launched, started, ended, launch_latency_cycles, .. } = kernel;
        KernelTimes { ctas_done, launched, started, ended, launch_latency_cycles }
    };
    let stats = grid.kernel_stats();
    // Collecting the times in place would keep the memory of the rows.
    let mut kernels = Vec::with_capacity(stats.len());
    kernels.extend(stats.into_iter().map(times));
    GridResults { kernels, ends: grid.application_ends().collect(), end: grid.end_cycle().map(|cycle| cycle.0) }
}

/// Returns the statistics of a grid scheduler's kernels, which any rank may have stepped.
fn kernel_stats(grid: &Grid, of: &GridResults) -> Vec<KernelStats> {
    let mut stats = grid.kernel_stats();
    for (kernel, times) in stats.iter_mut().zip(&of.kernels) {
        kernel.ctas_done = times.ctas_done;
        (kernel.launched, kernel.started, kernel.ended) = (times.launched, times.started, times.ended);
        kernel.launch_latency_cycles = times.launch_latency_cycles;
    }
    stats
}

/// Returns the results of all units, including the shares of other ranks.
///
/// # Errors
/// A rank is gone; a message for the user.
pub(super) fn collect(
    (units, layout, clocks): (&[ChipUnit], &ChipLayout, &[ClockDomain]),
    owned: &[bool],
    workload: &Workload,
    (late, messages): (LateMessages, u64),
    ranks: Option<&mut Box<dyn Ranks>>,
) -> Result<ChipResults, BuildError> {
    let mut all = RankShare::of(units, owned, workload.kernels.len(), late, messages);
    if let Some(ranks) = ranks {
        for other in share(ranks.as_mut(), &all)? {
            all.add(other);
        }
    }
    all.counters.sort_by_key(|(unit, _)| *unit);
    all.latencies.sort_by_key(|(unit, _)| *unit);
    all.grids.sort_by_key(|(unit, _)| *unit);
    let (mut components, mut kernels) = (Vec::new(), Vec::new());
    let (mut ends, mut end, mut ids) = (Vec::new(), Some(0), CounterIds::default());
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
            // Cycles of the run are cycles of GPU 0's core clock.
            let of = of.in_cycles_of(clocks[0], clocks[gpu as usize]);
            take_kernels(&mut kernels, kernel_stats(grid, &of), workload, gpu);
            take_ends(&mut ends, of.ends.iter().copied(), workload, gpu);
            end = end.zip(of.end).map(|(latest, cycle)| cycle.max(latest));
        }
    }
    let mut infos: Vec<&'static CounterInfo> = Vec::new();
    let reasons = units.iter().any(|unit| matches!(unit, ChipUnit::Sm(sm) if sm.warp_reasons().is_some()));
    KernelCounts { reasons: reasons.then(Default::default), ..KernelCounts::default() }.visit(&mut |info, _| infos.push(info));
    let of_all = |name: &str| -> Vec<u64> {
        let column = infos.iter().position(|info| info.name == name);
        all.kernels.iter().map(|values| column.and_then(|column| values.iter().nth(column)).unwrap_or(0)).collect()
    };
    let (warp_instructions, thread_instructions) = (of_all("warp_instructions"), of_all("thread_instructions"));
    let infos: Arc<[&'static CounterInfo]> = infos.into();
    for (kernel, values) in kernels.iter_mut().zip(all.kernels) {
        // Launches that were never reached are omitted, except the first one, which names the counters.
        if kernel.launched.is_some() || kernel.index.0 == 0 {
            kernel.counters = LaunchCounters::new(&infos, values);
        }
    }
    let latencies = all.latencies.into_iter().map(|(_, latencies)| latencies).collect();
    Ok(ChipResults {
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
