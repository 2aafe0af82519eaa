//! The results of a run: everything simulated, and separately what the host did.

use warpshard_base::{AppId, KernelIndex, StreamId};

use super::{Counted, CounterInfo, CounterVisitor, IntervalSeries, Latencies, LaunchCounters, Relaxed, Sampled};

/// Why a run ended.
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
    /// The user interrupted it.
    Interrupted,
    /// A sample of it was simulated: all numbers are estimates of the completed run.
    Sampled,
}

/// All counters of one component ("sm" 3, "llc" 17, "dram" 2, "request_net" 0, "grid" 0).
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentStats {
    /// Kind of component.
    pub kind: &'static str,
    /// Number among its kind.
    pub id: u32,
    /// Its counters.
    pub counters: Vec<Counted>,
}

/// Collects components with all their counters, in the order in which they are visited.
impl CounterVisitor for Vec<ComponentStats> {
    fn component(&mut self, kind: &'static str, id: u32) {
        self.push(ComponentStats { kind, id, counters: Vec::new() });
    }

    fn counter(&mut self, info: &'static CounterInfo, value: u64) {
        let Some(component) = self.last_mut() else { panic!("the counter `{}` belongs to no component", info.name) };
        component.counters.push(Counted { info, value });
    }
}

/// An application among those that share the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationStats {
    /// Its name.
    pub name: String,
    /// Kernels of one execution.
    pub kernels: u32,
    /// When its first kernel was launched, in core cycles.
    pub launched: Option<u64>,
    /// When its first execution ended, in core cycles.
    pub ended: Option<u64>,
    /// Executions that ended; more than one where it was started again.
    pub executions: u32,
    /// Warp instructions of its first execution, as far as it went.
    pub warp_instructions: u64,
    /// Thread instructions of its first execution, as far as it went.
    pub thread_instructions: u64,
    /// Warp instructions of all later executions.
    pub later_warp_instructions: u64,
    /// The same application with the GPU to itself, where that is known.
    pub alone: Option<Alone>,
}

/// An application that has the GPU to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Alone {
    /// Core cycles from its first launch to its end, or to the limit of cycles.
    pub cycles: u64,
    /// Warp instructions in these.
    pub warp_instructions: u64,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelStats {
    /// Which launch.
    pub index: KernelIndex,
    /// The kernel's name.
    pub name: String,
    /// The number that the trace or model gives it.
    pub id: u64,
    /// The application that launched it.
    pub app: AppId,
    /// Its stream.
    pub stream: StreamId,
    /// CTAs of the grid.
    pub ctas: u32,
    /// CTAs that ended.
    pub ctas_done: u32,
    /// CTAs of this kernel that fit an SM at once.
    pub ctas_per_sm: u32,
    /// Core cycle of its launch (its predecessors having ended); `None` when it was not reached.
    pub launched: Option<u64>,
    /// Core cycle in which its first CTA started.
    pub started: Option<u64>,
    /// Core cycle in which its last CTA ended.
    pub ended: Option<u64>,
    /// The part of its launch latency in which no other kernel ran, in core cycles.
    pub launch_latency_cycles: u64,
    /// Counters that the SMs keep per kernel, summed over the SMs.
    pub counters: LaunchCounters,
}

/// What a controller decided or computed at a cut: one knob, one number, or a remark.
#[derive(Clone, Debug, PartialEq, warpshard_state::State)]
pub struct TimelineEntry {
    /// Core cycle of the cut.
    pub cycle: u64,
    /// Which controller.
    pub controller: String,
    /// The SM that it is for; for the whole machine when `None`.
    pub sm: Option<u16>,
    /// The knob, or the number's name; empty for a remark.
    pub name: &'static str,
    /// The value that the knob was set to, or the number.
    pub value: Option<f64>,
    /// The controller's reason; empty for a number.
    pub reason: String,
}

/// What is known of the GPUs and links of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemStats {
    /// The GPUs in their order.
    pub gpus: Vec<GpuStats>,
    /// The names of the links, in the order of the components `link`: "gpu0 -> gpu1".
    pub links: Vec<String>,
    /// The GPU of each kernel launch.
    pub kernel_gpus: Vec<u8>,
}

/// What is known of one GPU of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuStats {
    /// Kernel launches on it.
    pub kernels: u32,
    /// Core cycle in which the last of them ended.
    pub ended: Option<u64>,
    /// The counters of its components, as sums by kind.
    pub totals: Vec<(&'static str, Vec<Counted>)>,
}

/// Everything simulated. Contains nothing about the host, so that equal inputs give equal outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why the run ended.
    pub ended_by: EndedBy,
    /// Core cycle at which the last kernel ended, or the cut at which the run was stopped.
    pub cycles: u64,
    /// Core cycle of the final cut, up to which all components counted.
    pub counted_until: u64,
    /// Kernel launches in their order.
    pub kernels: Vec<KernelStats>,
    /// The applications that shared the GPU; empty where there was one.
    pub applications: Vec<ApplicationStats>,
    /// Components in the order of the machine.
    pub components: Vec<ComponentStats>,
    /// Read latencies of the DRAM channels in their order, in DRAM cycles from leaving the slice to the last data; empty for
    /// channels without a command-level controller.
    pub dram_read_latencies: Vec<Latencies>,
    /// The applications of the CPU cores that were on, core by core.
    pub cpu_applications: Vec<String>,
    /// Interval series; empty when none was requested.
    pub intervals: IntervalSeries,
    /// Decisions of controllers.
    pub timeline: Vec<TimelineEntry>,
    /// What makes the results approximate; `None` for an exact run.
    pub relaxed: Option<Relaxed>,
    /// What makes the results estimates; `None` for a run that was simulated whole.
    pub sampled: Option<Sampled>,
    /// The GPUs and links of a system of several GPUs.
    pub system: Option<SystemStats>,
    /// Notes to the user, each with the number of times it applied.
    pub notes: Vec<(String, u64)>,
}

/// What one worker did on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerFacts {
    /// Seconds of stepping.
    pub busy_seconds: f64,
    /// Seconds of waiting at the barrier.
    pub wait_seconds: f64,
    /// Waits that did not end while the worker was polling, so that it slept and had to be woken.
    pub sleeps: u64,
    /// Shards at the end of the run.
    pub shards: u32,
    /// Times that it stepped a unit of another worker in an epoch, having finished its own.
    pub taken: u64,
}

/// What it costs that several processes, ranks, simulate one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankFacts {
    /// How many there are.
    pub count: u32,
    /// Exchanges, one per epoch and one per cut at which counters are read.
    pub exchanges: u64,
    /// Seconds of these, waiting for slower ranks included.
    pub seconds: f64,
    /// Bytes that this rank sent.
    pub bytes: u64,
}

/// What the host did. Differs from run to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// Seconds from the start of the process's work to the first epoch, without decoding.
    pub startup_seconds: f64,
    /// Seconds of decoding before and during the run.
    pub decode_seconds: f64,
    /// Seconds of simulating, without decoding.
    pub simulate_seconds: f64,
    /// Worker threads.
    pub threads: u32,
    /// Workers that took part, on average over the time of simulating: fewer than there are where more did not make the run faster.
    pub mean_workers: f64,
    /// How often their number changed.
    pub worker_changes: u64,
    /// Epochs stepped.
    pub epochs: u64,
    /// Cuts made.
    pub cuts: u64,
    /// How often shards moved to other workers, to balance their loads or because the number of active ones changed.
    pub moves: u64,
    /// Seconds of the coordinator between epochs, for which all workers wait.
    pub coordinator_seconds: f64,
    /// Core cycles that a unit is stepped for in an epoch, at most.
    pub epoch_cycles: u64,
    /// Whether two halves of the machine took turns, one in each epoch.
    pub halves: bool,
    /// The machine's lookahead in core cycles.
    pub lookahead_cycles: u64,
    /// The links of the loop that limits it.
    pub limiting_link: String,
    /// Workers in their order.
    pub workers: Vec<WorkerFacts>,
    /// Share of all stepping time spent in each network shard, with its name.
    pub network_share: Vec<(String, f64)>,
    /// Messages exchanged.
    pub messages: u64,
    /// What it cost that several processes simulated the machine, where they did.
    pub ranks: Option<RankFacts>,
    /// Peak resident memory of the process in bytes, where the host reports it.
    pub peak_memory_bytes: Option<u64>,
}
