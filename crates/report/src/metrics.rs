//! Derived metrics: ratios, shares, bandwidths and sums over counters that are looked up by name.
//!
//! A component may lack any counter; a metric that cannot be computed is `None`, never zero.

use warpshard_base::StreamId;
use warpshard_stats::{ComponentStats, CounterValue, HostFacts, KernelStats, Outcome};

use super::facts::RunFacts;
use super::nsight;

/// The counter of thread instructions that SMs keep per kernel.
pub const THREAD_INSTRUCTIONS: &str = "thread_instructions";
/// The counter of warp instructions that SMs keep per kernel.
pub const WARP_INSTRUCTIONS: &str = "warp_instructions";
/// The unit that marks the counters of the closed list of scheduler states.
pub const SCHEDULER_CYCLES: &str = "scheduler cycles";
/// The unit of counters of warp cycles by state.
const WARP_CYCLES: &str = "warp cycles";

/// Returns `part / whole`; `None` if the whole is 0.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// Returns `amount / seconds`; `None` if no time has passed.
pub fn per_second(amount: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount / seconds)
}

/// Returns the simulated seconds in which components counted: from the start of the run to its last cut. All rates of component counters
/// are relative to this time. A run with CPU cores can count long after its last kernel has ended.
pub fn counted_seconds(facts: &RunFacts, outcome: &Outcome) -> f64 {
    facts.seconds(outcome.counted_until)
}

/// Returns the value of a counter in a list.
pub fn counter(counters: &[CounterValue], name: &str) -> Option<u64> {
    counters.iter().find(|c| c.info.name == name).map(|c| c.value)
}

/// Warps of a warp group; each warp issues the group's matrix instruction once.
const WARPS_OF_GROUP: u64 = 4;

/// Returns the use of the matrix units in percent, as Nsight Compute's `sm__pipe_tensor_cycles_active`: a warp-group product uses the units
/// of all schedulers, any other matrix instruction uses the unit of one of the `schedulers` for `interval` core cycles.
pub fn tensor_percent(totals: &Totals, schedulers: u32, interval: u32) -> f64 {
    let of = |name| totals.get("sm", name).unwrap_or_default();
    let single = of("issued_tensor").saturating_sub(WARPS_OF_GROUP * of("group_products"));
    let busy = of("group_product_cycles") as f64 + (single * u64::from(interval)) as f64 / f64::from(schedulers);
    100.0 * busy / of("active_cycles").max(1) as f64
}

/// The counters of one kind of component, summed over its instances.
#[derive(Clone, Debug, PartialEq)]
pub struct KindTotal {
    /// The kind of component ("sm", "llc").
    pub kind: &'static str,
    /// Number of components.
    pub count: u32,
    /// The sums, in the order of the first component's counters.
    pub counters: Vec<CounterValue>,
}

/// Sums per kind of component, in the order in which the kinds first occur.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals(pub Vec<KindTotal>);

impl Totals {
    /// Sums the counters of `components` by kind.
    pub fn of(components: &[ComponentStats]) -> Self {
        let mut kinds: Vec<KindTotal> = Vec::new();
        for component in components {
            let place = kinds.iter().position(|k| k.kind == component.kind).unwrap_or_else(|| {
                kinds.push(KindTotal { kind: component.kind, count: 0, counters: Vec::new() });
                kinds.len() - 1
            });
            let total = &mut kinds[place];
            total.count += 1;
            for (i, counted) in component.counters.iter().enumerate() {
                // Components of one kind nearly always have the same counters in the same order.
                let same = |c: &CounterValue| std::ptr::eq(c.info, counted.info) || c.info.name == counted.info.name;
                match total.counters.get(i).is_some_and(same).then_some(i).or_else(|| total.counters.iter().position(same)) {
                    Some(at) => total.counters[at].value += counted.value,
                    None => total.counters.push(*counted),
                }
            }
        }
        Self(kinds)
    }

    /// Returns the sums of one kind of component.
    pub fn kind(&self, kind: &str) -> Option<&KindTotal> {
        self.0.iter().find(|k| k.kind == kind)
    }

    /// Returns the sum of one counter over one kind of component.
    pub fn get(&self, kind: &str, name: &str) -> Option<u64> {
        counter(&self.kind(kind)?.counters, name)
    }

    /// Returns the sum of the existing counters among `names` of a kind; `None` if none exists.
    pub fn sum(&self, kind: &str, names: &[&str]) -> Option<u64> {
        names.iter().filter_map(|name| self.get(kind, name)).reduce(|a, b| a + b)
    }
}

/// Returns scheduler cycles by reason: the counters of the SMs whose unit is scheduler cycles, in their order of priority.
pub fn scheduler_cycles(totals: &Totals) -> Vec<CounterValue> {
    totals.kind("sm").map(|k| k.counters.iter().filter(|c| c.info.unit == SCHEDULER_CYCLES).copied().collect()).unwrap_or_default()
}

/// Returns warp cycles by state, with Nsight Compute's names, if the SMs count them.
pub fn warp_cycles(totals: &Totals) -> Vec<CounterValue> {
    let is_state = |counted: &CounterValue| counted.info.unit == WARP_CYCLES && counted.info.name.starts_with(nsight::WARP_COUNTER_PREFIX);
    totals.kind("sm").map(|k| k.counters.iter().filter(|c| is_state(c)).copied().collect()).unwrap_or_default()
}

/// The activity of one level of the memory hierarchy, summed over all its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLevel {
    /// Name of the level: L1, LLC or DRAM.
    pub name: &'static str,
    /// Accesses; bursts in DRAM.
    pub accesses: u64,
    /// Write accesses, if they are counted.
    pub writes: Option<u64>,
    /// Hits; in DRAM, requests to an open row.
    pub hits: u64,
    /// Hits in lines that are being fetched, if they are counted.
    pub pending: Option<u64>,
    /// Misses; in DRAM, requests that open a row.
    pub misses: u64,
    /// Bytes transferred, if they follow from the accesses.
    pub bytes: Option<u64>,
}

impl MemoryLevel {
    /// Returns `part` as a share of all hits, pending hits and misses.
    pub fn share(&self, part: u64) -> Option<f64> {
        ratio(part, self.hits + self.pending.unwrap_or(0) + self.misses)
    }
}

/// Returns the counters that SMs keep per kernel, summed over the kernels.
pub fn kernel_totals(outcome: &Outcome) -> Vec<CounterValue> {
    let mut sums = Vec::new();
    outcome.kernels.iter().for_each(|kernel| add(&mut sums, kernel.counters.iter()));
    sums
}

/// Adds counters by their names.
fn add(sums: &mut Vec<CounterValue>, counters: impl Iterator<Item = CounterValue>) {
    for counted in counters {
        match sums.iter_mut().find(|sum| sum.info.name == counted.info.name) {
            Some(sum) => sum.value += counted.value,
            None => sums.push(counted),
        }
    }
}

/// Returns the joules of the events of each kernel launch; empty for machines without event energies.
pub fn event_joules(facts: &RunFacts, outcome: &Outcome) -> Vec<f64> {
    facts.energy.as_ref().map(|model| model.by_kernel(outcome)).unwrap_or_default()
}

/// Occupancy of the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Share of SM cycles with a resident CTA.
    pub active: f64,
    /// Mean number of resident warps of an SM in cycles with a resident CTA.
    pub warps: f64,
}

/// Returns the occupancy of the SMs; `None` if its counters are missing or no CTA ran.
pub fn occupancy(totals: &Totals) -> Option<Occupancy> {
    let sm = |name| totals.get("sm", name);
    let active = sm("active_cycles")?;
    Some(Occupancy { active: ratio(active, sm("cycles")?)?, warps: ratio(sm("resident_warp_cycles")?, active)? })
}

/// Returns the levels of the memory hierarchy that have counters, from the SMs outwards. A DRAM burst has `burst_bytes` bytes.
pub fn memory_levels(outcome: &Outcome, totals: &Totals, burst_bytes: u64) -> Vec<MemoryLevel> {
    let sums = kernel_totals(outcome);
    memory_levels_by(&|name| counter(&sums, name), &|kind, name| totals.get(kind, name), burst_bytes)
}

/// Returns the levels of the memory hierarchy, as [`memory_levels`] does: `kernel` returns a counter summed over the kernels by name, and
/// `component` returns a counter summed over the components of a kind by kind and name.
pub fn memory_levels_by(
    kernel: &dyn Fn(&str) -> Option<u64>,
    component: &dyn Fn(&str, &str) -> Option<u64>,
    burst_bytes: u64,
) -> Vec<MemoryLevel> {
    [l1(kernel), llc(kernel, component), dram(component, burst_bytes)].into_iter().flatten().collect()
}

fn l1(get: &dyn Fn(&str) -> Option<u64>) -> Option<MemoryLevel> {
    let part = |read: &str, write: &str| Some(get(read)? + get(write)?);
    let hits = part("l1_read_hits", "l1_write_hits")?;
    let pending = part("l1_read_pending_hits", "l1_write_pending_hits")?;
    let misses = part("l1_read_misses", "l1_write_misses")? + part("l1_read_sector_misses", "l1_write_sector_misses")?;
    let writes = ["l1_write_hits", "l1_write_pending_hits", "l1_write_misses", "l1_write_sector_misses"];
    let writes = writes.iter().filter_map(|name| get(name)).sum();
    let accesses = hits + pending + misses;
    Some(MemoryLevel { name: "L1", accesses, writes: Some(writes), hits, pending: Some(pending), misses, bytes: None })
}

fn llc(kernel: &dyn Fn(&str) -> Option<u64>, component: &dyn Fn(&str, &str) -> Option<u64>) -> Option<MemoryLevel> {
    let get = |name| component("llc", name);
    Some(MemoryLevel {
        name: "LLC",
        accesses: get("accesses")?,
        writes: kernel("llc_writes"),
        hits: get("read_hits")? + get("write_hits")?,
        pending: get("pending_hits"),
        misses: get("misses")?,
        bytes: None,
    })
}

fn dram(component: &dyn Fn(&str, &str) -> Option<u64>, burst_bytes: u64) -> Option<MemoryLevel> {
    let get = |name| component("dram", name);
    let accesses = get("reads")? + get("writes")?;
    Some(MemoryLevel {
        name: "DRAM",
        accesses,
        writes: get("writes"),
        hits: get("row_hits")?,
        pending: None,
        misses: get("row_misses")? + get("row_conflicts").unwrap_or(0),
        bytes: Some(accesses * burst_bytes),
    })
}

/// Instructions and cycles of a kernel, a stream or the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkTotals {
    /// Core cycles.
    pub cycles: u64,
    /// Executed warp instructions.
    pub warp_instructions: u64,
    /// Executed thread instructions: warp instructions weighted with their active lanes.
    pub thread_instructions: u64,
}

impl WorkTotals {
    /// Returns the work of a kernel. Its cycles are counted from the start of its first CTA to the end of its last CTA, or to the end of
    /// the run.
    pub fn of_kernel(kernel: &KernelStats, outcome: &Outcome) -> Self {
        let end = kernel.ended.unwrap_or(outcome.cycles);
        Self {
            cycles: kernel.started.map_or(0, |start| end.saturating_sub(start)),
            warp_instructions: kernel.counters.get(WARP_INSTRUCTIONS).unwrap_or(0),
            thread_instructions: kernel.counters.get(THREAD_INSTRUCTIONS).unwrap_or(0),
        }
    }

    /// Returns the work of the whole run.
    pub fn of_run(outcome: &Outcome) -> Self {
        let kernels = outcome.kernels.iter().map(|k| Self::of_kernel(k, outcome));
        let sum = kernels.fold(Self::default(), Self::plus);
        Self { cycles: outcome.cycles, ..sum }
    }

    /// Returns the thread instructions per core cycle.
    pub fn ipc(&self) -> Option<f64> {
        ratio(self.thread_instructions, self.cycles)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            warp_instructions: self.warp_instructions + other.warp_instructions,
            thread_instructions: self.thread_instructions + other.thread_instructions,
        }
    }
}

/// The work of a CPU core between its warm-up and the end of its measurement, or over the whole run if the measurement did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuWork {
    /// Name of the application on the core.
    pub application: String,
    /// Retired instructions.
    pub instructions: u64,
    /// Cycles of the CPU clock.
    pub cycles: u64,
    /// Reads sent to the network.
    pub reads: u64,
    /// True if the measurement was completed.
    pub measured: bool,
    /// Mean latency of a read in cycles of the CPU clock, over the whole run.
    pub read_latency: Option<f64>,
}

impl CpuWork {
    /// Returns the instructions per cycle of the CPU clock.
    pub fn ipc(&self) -> Option<f64> {
        ratio(self.instructions, self.cycles)
    }

    /// Returns the reads sent per thousand instructions: misses of the last private cache.
    pub fn reads_per_kilo(&self) -> Option<f64> {
        ratio(self.reads * 1000, self.instructions)
    }
}

/// Returns the work of the CPU cores with applications, in the order of the cores.
pub fn cpu_cores(outcome: &Outcome) -> Vec<CpuWork> {
    let cores = outcome.components.iter().filter(|component| component.kind == "cpu");
    cores
        .zip(&outcome.cpu_applications)
        .map(|(core, application)| {
            let get = |name| counter(&core.counters, name).unwrap_or(0);
            let measured = get("measured_cycles") > 0;
            let pick = |marked, whole| if measured { get(marked) } else { get(whole) };
            CpuWork {
                application: application.clone(),
                instructions: pick("measured_instructions", "instructions"),
                cycles: pick("measured_cycles", "cycles"),
                reads: pick("measured_reads", "reads"),
                measured,
                read_latency: ratio(get("read_cycles"), get("reads")),
            }
        })
        .collect()
}

/// The work of all kernels in one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamWork {
    /// The stream.
    pub stream: StreamId,
    /// Number of kernels launched into the stream.
    pub kernels: u32,
    /// Work of the kernels. Kernels of one stream run in order, so their cycles add up.
    pub work: WorkTotals,
    /// Counters of the kernels, summed.
    pub counters: Vec<CounterValue>,
}

/// Returns the work per stream, by ascending stream id.
pub fn streams(outcome: &Outcome) -> Vec<StreamWork> {
    let mut streams: Vec<StreamWork> = Vec::new();
    for kernel in &outcome.kernels {
        let work = WorkTotals::of_kernel(kernel, outcome);
        match streams.binary_search_by_key(&kernel.stream, |s| s.stream) {
            Ok(at) => {
                streams[at].kernels += 1;
                streams[at].work = streams[at].work.plus(work);
                add(&mut streams[at].counters, kernel.counters.iter());
            }
            Err(at) => {
                streams.insert(at, StreamWork { stream: kernel.stream, kernels: 1, work, counters: kernel.counters.iter().collect() })
            }
        }
    }
    streams
}

/// Returns the launch latency of all kernels in core cycles.
pub fn launch_latency_cycles(outcome: &Outcome) -> u64 {
    outcome.kernels.iter().map(|k| k.launch_latency_cycles).sum()
}

/// Returns the cycles of the run without launch latency, as a hardware profiler reports them.
pub fn net_cycles(outcome: &Outcome) -> u64 {
    outcome.cycles.saturating_sub(launch_latency_cycles(outcome))
}

/// Load balance of the worker threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerBalance {
    /// Share of all worker time spent simulating.
    pub busy: f64,
    /// Share of all worker time spent waiting at the barrier.
    pub wait: f64,
    /// Busy time of the busiest worker over the mean busy time; 1 is perfect balance.
    pub imbalance: f64,
}

/// Returns the load balance over all workers; `None` if no worker reported time.
pub fn worker_balance(host: &HostFacts) -> Option<WorkerBalance> {
    let busy: f64 = host.workers.iter().map(|w| w.busy_seconds).sum();
    let wait: f64 = host.workers.iter().map(|w| w.wait_seconds).sum();
    let most = host.workers.iter().map(|w| w.busy_seconds).fold(0.0, f64::max);
    let mean = busy / host.workers.len() as f64;
    (busy > 0.0).then(|| WorkerBalance { busy: busy / (busy + wait), wait: wait / (busy + wait), imbalance: most / mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn counters_are_summed_per_kind_in_the_order_of_the_machine() {
        let totals = Totals::of(&sample::outcome().components);
        assert_eq!(totals.0.iter().map(|k| (k.kind, k.count)).collect::<Vec<_>>(), [("sm", 2), ("llc", 2), ("dram", 1)]);
        assert_eq!(totals.get("sm", "packets_sent"), Some(3_000));
        assert_eq!(totals.get("sm", "no such counter"), None);
        assert_eq!(totals.get("tile", "packets_sent"), None);
        assert_eq!(totals.sum("sm", &["packets_sent", "no such counter"]), Some(3_000));
    }

    #[test]
    fn a_level_without_counters_is_left_out_and_misses_of_all_kinds_count() {
        let mut outcome = sample::outcome();
        let levels = memory_levels(&outcome, &Totals::of(&outcome.components), 32);
        assert_eq!(levels.iter().map(|l| l.name).collect::<Vec<_>>(), ["L1", "LLC", "DRAM"]);
        let (l1, llc, dram) = (&levels[0], &levels[1], &levels[2]);
        assert_eq!((l1.accesses, l1.writes, l1.share(l1.hits)), (2 * 1_200, Some(2 * 200), Some(0.5)));
        assert_eq!((llc.accesses, llc.writes, llc.share(llc.misses)), (1_000, None, Some(0.75)));
        assert_eq!((dram.bytes, dram.share(dram.hits)), (Some(910 * 32), Some(0.8)));
        outcome.components.retain(|c| c.kind != "llc");
        let levels = memory_levels(&outcome, &Totals::of(&outcome.components), 32);
        assert_eq!(levels.iter().map(|l| l.name).collect::<Vec<_>>(), ["L1", "DRAM"]);
    }

    #[test]
    fn occupancy_counts_warps_only_while_a_cta_is_resident() {
        let totals = Totals::of(&sample::outcome().components);
        assert_eq!(occupancy(&totals), Some(Occupancy { active: 0.5, warps: 12.0 }));
        assert_eq!(occupancy(&Totals::default()), None);
    }

    #[test]
    fn net_cycles_leave_out_launch_latency() {
        let outcome = sample::outcome();
        assert_eq!(net_cycles(&outcome), outcome.cycles - 5_000);
    }

    #[test]
    fn streams_add_up_to_the_run() {
        let outcome = sample::outcome();
        let streams = streams(&outcome);
        assert_eq!(streams.iter().map(|s| s.stream.0).collect::<Vec<_>>(), [0, 7]);
        let sum: u64 = streams.iter().map(|s| s.work.thread_instructions).sum();
        assert_eq!(sum, WorkTotals::of_run(&outcome).thread_instructions);
    }

    #[test]
    fn a_kernel_that_did_not_end_counts_up_to_the_end_of_the_run() {
        let mut outcome = sample::outcome();
        outcome.kernels[1].ended = None;
        let work = WorkTotals::of_kernel(&outcome.kernels[1], &outcome);
        assert_eq!(work.cycles, outcome.cycles - outcome.kernels[1].started.unwrap());
    }

    #[test]
    fn zero_over_zero_is_none() {
        assert_eq!(ratio(0, 0), None);
        assert_eq!(WorkTotals::default().ipc(), None);
        assert_eq!(worker_balance(&HostFacts::default()), None);
    }
}
