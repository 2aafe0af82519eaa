//! The format of `stats.json`: `docs/schema/stats.schema.json` is generated from the types below, and the results of runs of every kind
//! match it.
//!
//! `UPDATE_DOCS=1 cargo test --test command results::` regenerates the schema.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Counters by name.
type Counts = BTreeMap<String, u64>;

/// All simulation results of a run, layout 2. Optional fields are present only in runs that they apply to.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "warpshard stats.json, layout 2")]
struct Stats {
    /// Version of the layout, increased whenever a field changes its name or meaning.
    schema_version: u32,
    simulator: String,
    version: String,
    /// Commit that the program was built from.
    commit: String,
    machine: String,
    workload: String,
    /// Compute capability of the machine's GPU, or "unknown".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compute_capability: Option<String>,
    /// Architectures of the workload's machine code ("sm_70").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    seed: u64,
    /// Core clock in kHz.
    core_khz: u64,
    /// Bytes of a DRAM burst.
    dram_burst_bytes: u64,
    /// Peak bandwidth of all DRAM channels, in bytes per second.
    dram_bytes_per_second: f64,
    /// The command with the options that affect results, and these options by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    configuration: Option<BTreeMap<String, Value>>,
    /// Lateness of messages in a relaxed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relaxed: Option<Relaxed>,
    /// Method and confidence intervals of a sampled run, whose numbers are estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled>,
    ended_by: EndedBy,
    /// Core cycle at which all components stopped counting.
    counted_until: u64,
    total: Total,
    kernels: Vec<Kernel>,
    streams: Vec<Stream>,
    /// Applications that shared the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applications: Option<Applications>,
    /// Read latencies of DRAM channels with a command-level controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dram_read_latency_cycles: Option<Latencies>,
    /// CPU cores that execute applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_cores: Option<Vec<CpuCore>>,
    /// GPUs and links, on machines of several GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<System>,
    /// Energy of machines with event energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    energy: Option<Energy>,
    scheduler_cycles: SchedulerCycles,
    /// Components by kind.
    components: BTreeMap<String, Kind>,
    /// Unit and meaning of every counter, by kind and name.
    counters: BTreeMap<String, BTreeMap<String, Help>>,
    notes: Vec<Note>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EndedBy {
    Completed,
    MaxCycles,
    /// The run reached `--max-instructions`.
    MaxInstructions,
    Controller,
    Interrupted,
    /// All numbers are estimates of the completed run.
    Sampled,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sampled {
    /// Share of runs whose intervals contain the true value.
    confidence: f64,
    /// Requested half-width of the interval of net cycles, relative to the net cycles.
    wanted_error: f64,
    seed: u64,
    launches: u64,
    /// Number of launches that were simulated and measured.
    measured: u64,
    /// Number of measured launches that were simulated only in part.
    in_parts: u64,
    /// Number of launches that were simulated only to warm caches.
    warmed: u64,
    /// Number of simulation rounds.
    rounds: u64,
    /// Warp instructions of the workload.
    warp_instructions: u64,
    simulated_warp_instructions: u64,
    /// Extra time of launches without a simulated predecessor, relative to other launches.
    unwarmed_difference: f64,
    /// Simulated share of the warp instructions.
    fraction: f64,
    /// Estimates with their intervals, by name.
    estimates: BTreeMap<String, Estimate>,
    strata: Vec<Stratum>,
    /// Source of each kernel launch's row: "simulated", "in parts" or "estimated".
    kernels: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
    relative_half_width: Option<f64>,
}

/// Launches of the same code with about the same amount of work.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stratum {
    kernel: String,
    launches: u64,
    measured: u64,
    warp_instructions: u64,
    /// Core cycles of all launches of the stratum, without launch latency.
    net_cycles: f64,
    /// Standard deviation of a launch's cycles from the expected cycles.
    deviation: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Relaxed {
    epoch_cycles: u64,
    lookahead_cycles: u64,
    messages: u64,
    late_messages: u64,
    late_cycles: u64,
    late_cycles_mean: Option<f64>,
    late_cycles_max: u64,
    late_by: Vec<LateBy>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LateBy {
    from_cycles: u64,
    messages: u64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Total {
    /// Core cycles of the run.
    cycles: u64,
    /// Core cycles without launch latency.
    net_cycles: u64,
    launch_latency_cycles: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    /// Thread instructions per core cycle.
    ipc: Option<f64>,
    kernels: u64,
    kernels_ended: u64,
    /// Number of launches that did not start before the end of the run; `kernels` does not list them.
    kernels_not_launched: u64,
    ctas: u64,
    ctas_done: u64,
    /// Per-kernel counters of the SMs, summed over the kernels.
    counters: Counts,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kernel {
    index: u64,
    name: String,
    /// Number of the kernel in the trace or model.
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<u64>,
    /// GPU that ran the kernel, on machines with several GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu: Option<u64>,
    stream: u64,
    ctas: u64,
    ctas_done: u64,
    ctas_per_sm: u64,
    launched: Option<u64>,
    started: Option<u64>,
    ended: Option<u64>,
    cycles: u64,
    cycles_active: u64,
    launch_latency_cycles: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    ipc: Option<f64>,
    /// Energy of the kernel's events in joules, on machines with event energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_joules: Option<f64>,
    /// Performance limiter of the kernel; present if the kernel issued any instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    counters: Counts,
}

/// Analysis of a kernel's limiter; docs/results.md explains each number. Shares are from 0 to 1.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdict {
    /// Resource with the most scheduler cycles, such as `dram` or `memory_latency`.
    limiter: String,
    /// Busiest kind of execution unit.
    pipe: String,
    /// Resources with their shares of the scheduler cycles, in descending order.
    charges: Vec<Charge>,
    /// Use of each resource as a share of its peak.
    roofs: Vec<Use>,
    launch: Filling,
    sectors_per_request: Option<f64>,
    /// Bytes requested by lanes as a share of the bytes of the accessed sectors.
    sector_use: Option<f64>,
    /// Mean extra cycles of an access to shared memory due to bank conflicts.
    conflicts: Option<f64>,
    /// Mean active lanes of an instruction.
    lanes: f64,
    /// Accesses of the busiest LLC slice as a multiple of the mean.
    hottest_slice: Option<f64>,
    roofline: Option<Roofline>,
    /// Suggested change.
    change: String,
    trust: Option<Trust>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Charge {
    limiter: String,
    share: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Use {
    name: String,
    share: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filling {
    /// Threads per CTA.
    threads: u64,
    /// Registers per thread.
    registers: u64,
    /// Bytes of shared memory per CTA.
    shared_bytes: u64,
    /// Resident warps that the launch allows, as a share of the warp slots.
    occupancy: f64,
    /// Limit of the resident warps: a resource of the SM, or "grid".
    limited_by: String,
    /// CTAs of the grid as a multiple of the CTAs that all SMs hold at the same time.
    waves: f64,
    /// Share of the scheduler cycles without a resident warp.
    idle: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Roofline {
    /// Floating-point operations.
    operations: u64,
    /// Units that the peak refers to: FP32, or tensor.
    units: String,
    /// Share of the peak: of single-precision multiply-adds on all lanes, or of products of 16-bit elements on the matrix units.
    of_peak: f64,
    /// Operations per byte of DRAM traffic.
    per_byte: Option<f64>,
    /// Operations per byte above which DRAM is not the lower roof.
    ridge: f64,
}

/// Measured launches that resemble the kernel, and the simulation error on them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Trust {
    class: String,
    machine: String,
    launches: u64,
    error_percent: Option<f64>,
    worst_percent: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct System {
    gpus: Vec<Gpu>,
    /// Names of the links, in the order of the components `link`.
    links: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Gpu {
    gpu: u64,
    /// Kernel launches on the GPU.
    kernels: u64,
    /// Core cycle in which the last launch ended.
    ended: Option<u64>,
    /// Sums over the GPU's components, by kind and counter.
    totals: BTreeMap<String, Counts>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stream {
    stream: u64,
    kernels: u64,
    cycles: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    ipc: Option<f64>,
    /// Sums over the kernels of the stream.
    counters: Counts,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Applications {
    list: Vec<Application>,
    stp: Option<f64>,
    antt: Option<f64>,
    fairness: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Application {
    name: String,
    kernels: u64,
    launched: Option<u64>,
    ended: Option<u64>,
    cycles: Option<u64>,
    executions: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    later_warp_instructions: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alone: Option<Alone>,
    normalised_progress: Option<f64>,
    /// Energy of the application's events in joules, on machines with event energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_joules: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Alone {
    cycles: u64,
    warp_instructions: u64,
}

/// Latencies in DRAM cycles.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Latencies {
    unit: String,
    reads: u64,
    mean: Option<f64>,
    min: Option<u64>,
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
    channel_means: Vec<Option<f64>>,
    channel_p99s: Vec<Option<u64>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CpuCore {
    application: String,
    instructions: u64,
    cycles: u64,
    ipc: Option<f64>,
    /// `true` if the core completed the measured interval.
    measured: bool,
    reads_per_kilo_instruction: Option<f64>,
    read_latency_cycles: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Energy {
    /// Name of the set of event energies.
    set: String,
    volts: f64,
    seconds: f64,
    joules: f64,
    mean_watts: f64,
    at_rest_joules: f64,
    joules_per_thread_instruction: Option<f64>,
    /// Energy by component, in joules.
    components: BTreeMap<String, f64>,
    events: BTreeMap<String, Event>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Event {
    times: u64,
    joules: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SchedulerCycles {
    total: u64,
    /// Scheduler cycles by state. Each scheduler of each SM is in exactly one state per cycle.
    reasons: Counts,
}

/// The components of one kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kind {
    count: u64,
    total: Counts,
    /// Values of all components by counter, in the order of `id`.
    instances: BTreeMap<String, Vec<Option<u64>>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Help {
    unit: String,
    help: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Note {
    text: String,
    times: u64,
}

#[test]
fn the_committed_schema_matches_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema/stats.schema.json");
    let made = serde_json::to_string_pretty(&schemars::schema_for!(Stats)).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), made, "UPDATE_DOCS=1 cargo test --test command results:: writes it anew");
}

/// Returns `stats.json` of a run with these options.
fn run_stats(options: &str, out: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpshard"));
    command.current_dir(out).arg("run").args(options.split(' ')).args(["--threads", "1", "--out", "run", "--force"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&fs::read_to_string(out.join("run/stats.json")).unwrap()).unwrap()
}

#[test]
fn results_of_every_kind_match_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    for (options, part) in [
        ("--machine tiny --workload vecadd --set workload.n=1024", "streams"),
        ("--machine tiny --workload vecadd --max-cycles 10", "notes"),
        ("--machine v100 --app vecadd --app stream --alone --max-cycles 6000", "applications"),
        ("--machine tiny --workload vecadd --set workload.n=1024 --relaxed --epoch 500", "relaxed"),
        ("--machine tiny --workload vecadd --set workload.n=262144 --sample error=5%", "sampled"),
        ("--machine hetero-small --workload gather --cpu mcf --cpu-warm 100 --cpu-measure 500 --max-cycles 3000", "cpu_cores"),
        (
            "--machine rtx2060 --workload vecadd --max-cycles 7000 --set mem.dram.controller=standard --set mem.dram.refresh=false",
            "dram_read_latency_cycles",
        ),
        ("--machine v100 --workload vecadd --max-cycles 6000", "energy"),
    ] {
        let value = run_stats(options, folder.path());
        assert!(value.get(part).is_some(), "{options}: no {part}");
        let typed: Stats = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{options}: {error}"));
        // A round trip through the types loses only the order of names and null fields.
        let again = serde_json::to_value(&typed).unwrap();
        assert_eq!(again["components"], value["components"], "{options}");
        assert_eq!(typed.schema_version, warpshard::report::SCHEMA_VERSION);
    }
}

#[test]
fn the_page_of_counters_names_counters_that_exist() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/counters.md")).unwrap();
    let lists = warpshard::chip::counter_lists();
    let exists = |name: &str| {
        let (kind, counter) = name.split_once('.').unwrap();
        lists.iter().any(|(title, infos)| title.contains(kind) && infos.iter().any(|info| info.name == counter))
    };
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut checked = 0;
    for name in rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()) {
        if name.starts_with("total.") || name.starts_with("kernels[].") {
            continue;
        }
        assert!(exists(&name), "docs/counters.md: there is no counter {name}");
        checked += 1;
    }
    assert!(checked > 25, "{checked}");
}
