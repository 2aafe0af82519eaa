//! The results of a run: all simulated results, and separate statistics of the host.

use warpshard_base::{AppId, KernelIndex, StreamId};

use super::{CounterInfo, CounterValue, CounterVisitor, IntervalSeries, LatencyCounts, LaunchCounters, RelaxedDeviations, SamplingData};

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// All kernels completed.
    Completed,
    /// `--max-cycles` was reached.
    MaxCycles,
    /// `--max-instructions` was reached.
    MaxInstructions,
    /// A controller ended the run.
    Controller,
    /// The user interrupted the run.
    Interrupted,
    /// A sample of the run was simulated: all numbers are estimates of the completed run.
    Sampled,
}

/// All counters of one component ("sm" 3, "llc" 17, "dram" 2, "request_net" 0, "grid" 0).
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentStats {
    /// Kind of component.
    pub kind: &'static str,
    /// Number of the component within its kind.
    pub id: u32,
    /// Counters of the component.
    pub counters: Vec<CounterValue>,
}

/// Collects components with all their counters, in the order of the visit.
impl CounterVisitor for Vec<ComponentStats> {
    fn component(&mut self, kind: &'static str, id: u32) {
        self.push(ComponentStats { kind, id, counters: Vec::new() });
    }

    fn counter(&mut self, info: &'static CounterInfo, value: u64) {
        let Some(component) = self.last_mut() else { panic!("the counter `{}` belongs to no component", info.name) };
        component.counters.push(CounterValue { info, value });
    }
}

/// Statistics of one of the applications that share the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationStats {
    /// Name of the application.
    pub name: String,
    /// Kernels of one execution.
    pub kernels: u32,
    /// Core cycle in which the application's first kernel was launched.
    pub launched: Option<u64>,
    /// Core cycle in which the application's first execution ended.
    pub ended: Option<u64>,
    /// Number of executions that ended; more than one if the application was restarted.
    pub executions: u32,
    /// Warp instructions of the first execution, or of its simulated part.
    pub warp_instructions: u64,
    /// Thread instructions of the first execution, or of its simulated part.
    pub thread_instructions: u64,
    /// Warp instructions of all later executions.
    pub later_warp_instructions: u64,
    /// The result of the application running alone on the GPU, if known.
    pub alone: Option<StandaloneResult>,
}

/// The result of an application that runs alone on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StandaloneResult {
    /// Core cycles from the first launch to the end of the application, or to the cycle limit.
    pub cycles: u64,
    /// Warp instructions in these cycles.
    pub warp_instructions: u64,
}

/// Statistics of a kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelStats {
    /// Index of the launch.
    pub index: KernelIndex,
    /// Name of the kernel.
    pub name: String,
    /// Number of the launch in the trace or model.
    pub id: u64,
    /// The application that launched the kernel.
    pub app: AppId,
    /// Stream of the launch.
    pub stream: StreamId,
    /// CTAs of the grid.
    pub ctas: u32,
    /// CTAs that ended.
    pub ctas_done: u32,
    /// Maximum number of this kernel's CTAs that fit on an SM at the same time.
    pub ctas_per_sm: u32,
    /// Core cycle of the launch, after its predecessors have ended; `None` if the run did not reach it.
    pub launched: Option<u64>,
    /// Core cycle in which its first CTA started.
    pub started: Option<u64>,
    /// Core cycle in which its last CTA ended.
    pub ended: Option<u64>,
    /// Core cycles of the launch latency in which no other kernel ran.
    pub launch_latency_cycles: u64,
    /// Counters that the SMs keep per kernel, summed over the SMs.
    pub counters: LaunchCounters,
}

/// A decision or a number of a controller at a cut: the setting of a knob, a number, or a remark.
#[derive(Clone, Debug, PartialEq, warpshard_state::State)]
pub struct TimelineEntry {
    /// Core cycle of the cut.
    pub cycle: u64,
    /// Name of the controller.
    pub controller: String,
    /// The SM to which the entry applies; `None` for the whole machine.
    pub sm: Option<u16>,
    /// Name of the knob or number; empty for a remark.
    pub name: &'static str,
    /// New value of the knob, or the number.
    pub value: Option<f64>,
    /// The controller's reason; empty for a number.
    pub reason: String,
}

/// Statistics of the GPUs and links of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemStats {
    /// Statistics of the GPUs, in their order.
    pub gpus: Vec<GpuStats>,
    /// Names of the links, in the order of the components `link`: "gpu0 -> gpu1".
    pub links: Vec<String>,
    /// The GPU of each kernel launch.
    pub kernel_gpus: Vec<u8>,
}

/// Statistics of one GPU of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuStats {
    /// Number of kernel launches on the GPU.
    pub kernels: u32,
    /// Core cycle in which the last of these launches ended.
    pub ended: Option<u64>,
    /// Counters of the GPU's components, summed by kind.
    pub totals: Vec<(&'static str, Vec<CounterValue>)>,
}

/// All simulated results. They contain no host data, so that equal inputs give equal outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The reason for the end of the run.
    pub ended_by: EndedBy,
    /// Core cycle at which the last kernel ended, or the cut at which the run was stopped.
    pub cycles: u64,
    /// Core cycle of the final cut, up to which all components counted.
    pub counted_until: u64,
    /// Kernel launches in their order.
    pub kernels: Vec<KernelStats>,
    /// Statistics of the applications that shared the GPU; empty for a single application.
    pub applications: Vec<ApplicationStats>,
    /// Components in the order of the machine.
    pub components: Vec<ComponentStats>,
    /// Read latencies of the DRAM channels in their order, in DRAM cycles from the time at which the request leaves the slice to the last
    /// data; empty for channels without a command-level controller.
    pub dram_read_latencies: Vec<LatencyCounts>,
    /// Applications of the active CPU cores, core by core.
    pub cpu_applications: Vec<String>,
    /// Interval series; empty if none was requested.
    pub intervals: IntervalSeries,
    /// Decisions of controllers.
    pub timeline: Vec<TimelineEntry>,
    /// Deviations that make the results approximate; `None` for an exact run.
    pub relaxed: Option<RelaxedDeviations>,
    /// Sampling data that make the results estimates; `None` for a run that was simulated completely.
    pub sampled: Option<SamplingData>,
    /// Statistics of the GPUs and links; `None` for a single GPU.
    pub system: Option<SystemStats>,
    /// Notes to the user, each with the number of times it applied.
    pub notes: Vec<(String, u64)>,
}

/// Host statistics of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerFacts {
    /// Seconds spent stepping units.
    pub busy_seconds: f64,
    /// Seconds spent waiting at the barrier.
    pub wait_seconds: f64,
    /// Number of waits in which the worker slept, after polling without success, and had to be woken.
    pub sleeps: u64,
    /// Number of shards at the end of the run.
    pub shards: u32,
    /// Number of stolen steps: after its own units the worker stepped a unit of another worker.
    pub taken: u64,
}

/// Statistics of the exchanges between the processes, or ranks, that simulate one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankFacts {
    /// Number of ranks.
    pub count: u32,
    /// Number of exchanges: one per epoch and one per cut at which counters are read.
    pub exchanges: u64,
    /// Seconds spent in exchanges, including the wait for slower ranks.
    pub seconds: f64,
    /// Bytes that this rank sent.
    pub bytes: u64,
}

/// Host statistics of a run, which differ from run to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// Seconds from the start of the process's work to the first epoch, without decoding.
    pub startup_seconds: f64,
    /// Seconds spent decoding before and during the run.
    pub decode_seconds: f64,
    /// Seconds spent simulating, without decoding.
    pub simulate_seconds: f64,
    /// Number of worker threads.
    pub threads: u32,
    /// Mean number of active workers over the simulation time; less than `threads` if more workers did not make the run faster.
    pub mean_workers: f64,
    /// Number of changes of the number of active workers.
    pub worker_changes: u64,
    /// Number of stepped epochs.
    pub epochs: u64,
    /// Number of cuts.
    pub cuts: u64,
    /// Number of times that shards moved to other workers, to balance their loads or after a change of the number of active workers.
    pub moves: u64,
    /// Seconds spent in the coordinator between epochs, for which all workers wait.
    pub coordinator_seconds: f64,
    /// Maximum of core cycles per step of a unit.
    pub epoch_cycles: u64,
    /// True if two halves of the machine alternated by epoch.
    pub halves: bool,
    /// The machine's lookahead in core cycles.
    pub lookahead_cycles: u64,
    /// The links of the loop that limits the lookahead.
    pub limiting_link: String,
    /// Statistics of the workers, in their order.
    pub workers: Vec<WorkerFacts>,
    /// Name of each network shard and its share of the stepping time.
    pub network_share: Vec<(String, f64)>,
    /// Number of exchanged messages.
    pub messages: u64,
    /// Statistics of the exchanges between ranks; `None` for a single process.
    pub ranks: Option<RankFacts>,
    /// Peak resident memory of the process in bytes, if the host reports it.
    pub peak_memory_bytes: Option<u64>,
}
