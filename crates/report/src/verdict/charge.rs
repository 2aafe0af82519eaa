//! Scheduler cycles charged to the resources that hold them up.

use warpshard_base::WARP_SIZE;
use warpshard_stats::KernelStats;

use super::terms::{Charge, Filling, LISTED, Limiter, Use, rounded};
use crate::roofs::Roofs;

/// A level of memory that is used for this share of the time is at its roof: waits are for its rate rather than for its latency. As in the classes
/// of `study silicon`.
const AT_ROOF: f64 = 0.5;

/// The same of execution units, which have no queues that smooth their work. Chosen.
const PIPE_AT_ROOF: f64 = 0.6;

/// With fewer of the warp slots taken than this, more warps hide more latency. Chosen: half.
const FEW_WARPS: f64 = 0.5;

/// Shares of the scheduler cycles of a kernel, by reason.
pub(super) struct Cycles {
    issued: f64,
    memory_pipeline: f64,
    memory_collectors: f64,
    pipeline: f64,
    memory: f64,
    arithmetic: f64,
    fence: f64,
    barrier: f64,
    throttled: f64,
    fetch: f64,
    draining: f64,
    /// Without a resident warp; `None` where that cannot be told from the cycles of other kernels.
    pub(super) idle: Option<f64>,
}

impl Cycles {
    /// Of a kernel that took `cycles`, during which no other ran if it ran `alone`.
    pub(super) fn of(kernel: &KernelStats, cycles: u64, roofs: &Roofs, alone: bool) -> Self {
        let get = |name: &str| kernel.counters.get(name).unwrap_or(0) as f64;
        let names = [
            "issued",
            "stall_memory_pipeline",
            "stall_memory_collectors",
            "stall_pipeline",
            "stall_scoreboard_memory",
            "stall_scoreboard_alu",
            "stall_fence",
            "stall_barrier",
            "stall_throttled",
            "stall_fetch",
            "stall_draining",
        ];
        let counts = names.map(get);
        let own: f64 = counts.iter().sum();
        let all = if alone { (cycles as f64 * f64::from(roofs.sms * roofs.schedulers)).max(own) } else { own };
        let [issued, memory_pipeline, memory_collectors, pipeline, memory, arithmetic, fence, barrier, throttled, fetch, draining] =
            counts.map(|count| if all > 0.0 { count / all } else { 0.0 });
        let idle = (alone && all > 0.0).then(|| 1.0 - own / all);
        Self { issued, memory_pipeline, memory_collectors, pipeline, memory, arithmetic, fence, barrier, throttled, fetch, draining, idle }
    }
}

/// What the cycles of a kernel are charged with.
pub(super) struct Charges<'a> {
    pub(super) get: &'a dyn Fn(&str) -> f64,
    pub(super) cycles: &'a Cycles,
    /// Use of the resources, in the order of [`super::uses`].
    pub(super) uses: &'a [Use],
    pub(super) launch: &'a Filling,
    pub(super) roofs: &'a Roofs,
    pub(super) hottest_slice: Option<f64>,
}

impl Charges<'_> {
    /// The charges, the largest first. The first of equals is the one that is listed first.
    pub(super) fn all(&self) -> Vec<Charge> {
        let Cycles { issued, pipeline, arithmetic, fence, barrier, throttled, fetch, .. } = *self.cycles;
        let c = self.cycles;
        let memory = c.memory_pipeline + c.memory_collectors + c.memory + c.draining;
        let idle = c.idle.unwrap_or(0.0);
        // While SMs were idle nothing was used, so that the others were nearer to the roof.
        let busy = (1.0 - idle).max(0.01);
        let pipe_at_roof = self.uses[1].share / busy >= PIPE_AT_ROOF;
        // Twice the rate would save half of the cycles in which the resource worked.
        let (issue, pipe) = if pipe_at_roof { (0.0, pipeline + arithmetic + issued / 2.0) } else { (issued / 2.0, pipeline) };
        let few = self.few_warps().min(idle);
        let (of_memory, fence_of) =
            (self.memory(busy), if (self.get)("atomic_instructions") > 0.0 { Limiter::Atomics } else { Limiter::Fence });
        let lanes = (self.get)("thread_instructions") / (self.get)("warp_instructions").max(1.0) / f64::from(WARP_SIZE);
        let mut charges: Vec<Charge> = Vec::new();
        let mut add = |limiter: Limiter, share: f64| match charges.iter_mut().find(|charge| charge.limiter == limiter) {
            Some(charge) => charge.share += share,
            None => charges.push(Charge { limiter, share }),
        };
        // Lanes that do nothing cost their part of what instructions take.
        let lost = (1.0 - lanes).clamp(0.0, 1.0);
        let kept = 1.0 - lost;
        add(Limiter::Divergence, lost * (issue + pipe + fetch + if pipe_at_roof { 0.0 } else { arithmetic }));
        add(Limiter::Issue, issue * kept);
        add(Limiter::Pipe, pipe * kept);
        add(Limiter::Dependency, if pipe_at_roof { 0.0 } else { arithmetic * kept });
        add(of_memory, memory);
        add(fence_of, fence);
        add(Limiter::Barrier, barrier);
        add(Limiter::Fetch, fetch * kept);
        add(Limiter::Throttle, throttled);
        add(Limiter::Occupancy, few);
        add(Limiter::Tail, idle - few);
        charges.retain(|charge| charge.share >= LISTED);
        charges.sort_by(|a, b| b.share.total_cmp(&a.share));
        charges.iter_mut().for_each(|charge| charge.share = rounded(charge.share));
        charges
    }

    /// The share of the schedulers that can have no warp, since an SM holds fewer warps than it has schedulers.
    fn few_warps(&self) -> f64 {
        let resident = self.launch.occupancy * f64::from(self.roofs.warps);
        (1.0 - resident / f64::from(self.roofs.schedulers.max(1))).clamp(0.0, 1.0)
    }

    /// What waits for memory are charged to.
    fn memory(&self, busy: f64) -> Limiter {
        let get = self.get;
        let global = get("load_instructions") + get("store_instructions") + get("atomic_instructions");
        let hot = self.hottest_slice.unwrap_or(1.0);
        // Where slices differ, the busiest is the roof. A channel of DRAM has several slices, which its share follows only in part.
        let [shared, l1, network, llc, data, rows] = [2, 3, 4, 5, 6, 7].map(|i| self.uses[i].share / busy);
        let levels = [
            (Limiter::Dram, data.max(rows)),
            (Limiter::Llc, llc * hot),
            (Limiter::Network, network),
            (Limiter::L1, l1),
            (Limiter::SharedMemory, shared),
        ];
        let highest = levels.into_iter().fold((Limiter::Dram, 0.0), |best, level| if level.1 > best.1 { level } else { best });
        if get("atomic_instructions") * 2.0 > global && highest.0 != Limiter::SharedMemory {
            return Limiter::Atomics;
        }
        if highest.1 >= AT_ROOF {
            return highest.0;
        }
        if global == 0.0 && get("shared_instructions") > 0.0 {
            return Limiter::SharedMemory;
        }
        // Instructions wait before the load/store unit: the one in it works on conflicts, or waits for an MSHR, which is free after the latency.
        if self.cycles.memory_pipeline > self.cycles.memory && shared > l1 {
            return Limiter::SharedMemory;
        }
        if self.launch.occupancy < FEW_WARPS { Limiter::Occupancy } else { Limiter::MemoryLatency }
    }
}
