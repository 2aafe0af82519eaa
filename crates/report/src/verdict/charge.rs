//! Charging of scheduler cycles to the resources that cause them.

use warpshard_base::WARP_SIZE;
use warpshard_stats::KernelStats;

use super::terms::{Charge, LaunchOccupancy, Limiter, MIN_LISTED_SHARE, rounded};
use super::uses::Utilisations;
use crate::roofs::Roofs;

/// A level of memory with at least this utilisation is at its roof: waits are caused by its bandwidth rather than by its latency. The
/// classes of `study silicon` use the same threshold.
const ROOF_UTILISATION: f64 = 0.5;
/// The LLC is also at its roof at this share of busy cycles. A write takes several busy cycles, but warps do not wait for writes.
const SLICE_ROOF_UTILISATION: f64 = 0.75;

/// Utilisation from which execution units are at their roof; they have no queues that smooth their work. The value is a choice without a
/// source.
const PIPE_ROOF_UTILISATION: f64 = 0.6;

/// The limit of the resident warps if all CTAs are resident.
pub(super) const GRID_LIMIT: &str = "grid";

/// Shares of the scheduler cycles of a kernel, by reason.
pub(super) struct KernelCycles {
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
    /// Share without a resident warp; `None` if the cycles of other kernels hide it.
    pub(super) idle: Option<f64>,
}

impl KernelCycles {
    /// Computes the shares of a kernel that took `cycles`; `alone` is true if no other kernel ran at the same time.
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

/// Inputs of the charges of a kernel.
pub(super) struct Charges<'a> {
    pub(super) counter: &'a dyn Fn(&str) -> f64,
    pub(super) cycles: &'a KernelCycles,
    /// Utilisation of the resources.
    pub(super) utilisations: &'a Utilisations,
    pub(super) launch: &'a LaunchOccupancy,
    pub(super) roofs: &'a Roofs,
    pub(super) hottest_slice: Option<f64>,
}

impl Charges<'_> {
    /// Returns the charges in descending order; equal charges keep their order.
    pub(super) fn all(&self) -> Vec<Charge> {
        let KernelCycles { issued, pipeline, arithmetic, fence, barrier, throttled, fetch, .. } = *self.cycles;
        let c = self.cycles;
        let idle = c.idle.unwrap_or(0.0);
        // Idle SMs use no resources, so that the utilisation during the other cycles is higher.
        let busy = (1.0 - idle).max(0.01);
        let pipe_at_roof = self.utilisations.pipe / busy >= PIPE_ROOF_UTILISATION;
        // Twice the rate would save half of the cycles in which the resource is busy.
        let (issue, pipe) = if pipe_at_roof { (0.0, pipeline + c.arithmetic + issued / 2.0) } else { (issued / 2.0, pipeline) };
        let few = self.few_warps().min(idle);
        let fence_of = if (self.counter)("atomic_instructions") > 0.0 { Limiter::Atomics } else { Limiter::Fence };
        let arithmetic = if pipe_at_roof { 0.0 } else { arithmetic };
        let memory = self.memory(busy);
        let latency = memory.iter().filter(|(limiter, _)| *limiter == Limiter::MemoryLatency).map(|(_, share)| share).sum::<f64>();
        // Further CTAs would also hide waits for arithmetic and at barriers. If the grid is the limit, there are no further CTAs.
        let more = self.launch.limited_by != GRID_LIMIT;
        let hidden = self.hidden_share(latency + if more { arithmetic + barrier } else { 0.0 }, busy);
        let (of_memory, of_others) = (hidden, if more { hidden } else { 0.0 });
        let lanes = (self.counter)("thread_instructions") / (self.counter)("warp_instructions").max(1.0) / f64::from(WARP_SIZE);
        let mut charges: Vec<Charge> = Vec::new();
        let mut add = |limiter: Limiter, share: f64| match charges.iter_mut().find(|charge| charge.limiter == limiter) {
            Some(charge) => charge.share += share,
            None => charges.push(Charge { limiter, share }),
        };
        // Idle lanes waste their share of the cost of instructions.
        let lost = (1.0 - lanes).clamp(0.0, 1.0);
        let kept = 1.0 - lost;
        add(Limiter::Divergence, lost * (issue + pipe + fetch + arithmetic * (1.0 - of_others)));
        add(Limiter::Issue, issue * kept);
        add(Limiter::Pipe, pipe * kept);
        add(Limiter::Dependency, arithmetic * (1.0 - of_others) * kept);
        for (limiter, share) in memory {
            add(limiter, if limiter == Limiter::MemoryLatency { share * (1.0 - of_memory) } else { share });
        }
        add(fence_of, fence);
        add(Limiter::Barrier, barrier * (1.0 - of_others));
        add(Limiter::Fetch, fetch * kept);
        add(Limiter::Throttle, throttled);
        add(Limiter::Occupancy, few + latency * of_memory + (arithmetic + barrier) * of_others);
        add(Limiter::Tail, idle - few);
        charges.retain(|charge| charge.share >= MIN_LISTED_SHARE);
        charges.sort_by(|a, b| b.share.total_cmp(&a.share));
        charges.iter_mut().for_each(|charge| charge.share = rounded(charge.share));
        charges
    }

    /// Returns the share of the schedulers that cannot have a warp, since an SM holds fewer warps than it has schedulers.
    fn few_warps(&self) -> f64 {
        let resident = self.launch.occupancy * f64::from(self.roofs.warps);
        (1.0 - resident / f64::from(self.roofs.schedulers.max(1))).clamp(0.0, 1.0)
    }

    /// Returns the part of `waits`, a share of all cycles, that full warp slots would hide. Full slots would do the same work in the share
    /// of the time in which warp slots are occupied, unless the cycles without waits take longer.
    fn hidden_share(&self, waits: f64, busy: f64) -> f64 {
        let empty = (1.0 - self.launch.occupancy).clamp(0.0, 1.0);
        if waits > 0.0 { (empty * busy / waits).min(1.0) } else { 0.0 }
    }

    /// Charges the cycles in which the input of the load/store unit is full, or in which warps wait for memory.
    fn memory(&self, busy: f64) -> Vec<(Limiter, f64)> {
        let (get, c, uses) = (self.counter, self.cycles, self.utilisations);
        let (full, waits) = (c.memory_pipeline + c.memory_collectors, c.memory + c.draining);
        let global = get("load_instructions") + get("store_instructions") + get("atomic_instructions");
        let hot = self.hottest_slice.unwrap_or(1.0);
        // If the load of slices differs, the busiest slice is the roof. A DRAM channel has several slices, so that its utilisation follows
        // a single slice only in part.
        let llc = if uses.llc >= SLICE_ROOF_UTILISATION * busy { uses.llc } else { uses.llc_requests };
        let levels = [(Limiter::Dram, uses.dram.max(uses.rows)), (Limiter::Llc, llc * hot), (Limiter::Network, uses.network)];
        let highest = levels.into_iter().fold((Limiter::Dram, 0.0), |best, level| if level.1 > best.1 { level } else { best });
        let unit = uses.shared + uses.l1;
        if get("atomic_instructions") * 2.0 > global && uses.shared < uses.l1.max(highest.1) {
            return vec![(Limiter::Atomics, full + waits)];
        }
        // The instruction in the load/store unit performs its accesses to shared memory or the L1, or waits for a later stage.
        let own = full * (unit / (unit + uses.behind_unit).max(f64::MIN_POSITIVE));
        let of_unit = |share: f64| {
            let of_l1 = share * uses.l1 / unit.max(f64::MIN_POSITIVE);
            [(Limiter::L1, of_l1), (Limiter::SharedMemory, share - of_l1)]
        };
        let mut charges = of_unit(own).to_vec();
        let rest = full - own + waits;
        if unit >= highest.1 && unit >= ROOF_UTILISATION * busy {
            charges.extend(of_unit(rest));
        } else if highest.1 >= ROOF_UTILISATION * busy {
            charges.push((highest.0, rest));
        } else if global == 0.0 && get("shared_instructions") > 0.0 {
            charges.push((Limiter::SharedMemory, rest));
        } else {
            charges.push((Limiter::MemoryLatency, rest));
        }
        charges
    }
}
