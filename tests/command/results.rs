//! The form of `stats.json`: `docs/schema/stats.schema.json` is made from the types below, and results of runs of every kind have that form.
//!
//! `UPDATE_DOCS=1 cargo test --test command results::` writes the schema anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Counters by name.
type Counts = BTreeMap<String, u64>;

/// All simulation results of a run, layout 2. A field that is not required is there for runs that have it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "warpshard stats.json, layout 2")]
struct Stats {
    /// The layout; raised whenever a field changes its name or meaning.
    schema_version: u32,
    simulator: String,
    version: String,
    /// The commit the program was built from.
    commit: String,
    machine: String,
    workload: String,
    /// Compute capability of the machine's GPU, or "unknown".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compute_capability: Option<String>,
    /// Architectures that the workload's machine code is for ("sm_70").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    seed: u64,
    /// Core clock in kHz.
    core_khz: u64,
    /// Bytes of a DRAM burst.
    dram_burst_bytes: u64,
    /// Peak bandwidth of all DRAM channels.
    dram_bytes_per_second: f64,
    /// A command with the options that results depend on, and these options by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    configuration: Option<BTreeMap<String, Value>>,
    /// Lateness of messages in a relaxed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relaxed: Option<Relaxed>,
    /// What makes the numbers of a sampled run estimates, and how far they may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled>,
    ended_by: EndedBy,
    /// Core cycle up to which all components counted.
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
    /// CPU cores with applications.
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
    /// The run reached --max-instructions.
    MaxInstructions,
    Controller,
    Interrupted,
    /// All numbers are estimates of the completed run.
    Sampled,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sampled {
    /// Share of runs whose intervals contain the truth.
    confidence: f64,
    /// Half the width of the interval of net cycles that was aimed at, relative to them.
    wanted_error: f64,
    seed: u64,
    launches: u64,
    /// Launches that were simulated and measured.
    measured: u64,
    /// Of these, launches of which only parts were simulated.
    in_parts: u64,
    /// Launches that were simulated to warm caches, and not measured.
    warmed: u64,
    /// Rounds of simulation.
    rounds: u64,
    /// Warp instructions of the workload.
    warp_instructions: u64,
    simulated_warp_instructions: u64,
    /// By how much launches without a simulated predecessor took longer than others, relative to these.
    unwarmed_difference: f64,
    /// Share of the warp instructions that was simulated.
    fraction: f64,
    /// Estimates with their intervals, by name.
    estimates: BTreeMap<String, Estimate>,
    strata: Vec<Stratum>,
    /// Where the row of each kernel launch comes from: "simulated", "in parts" or "estimated".
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

/// Launches of the same code and of about the same work.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stratum {
    kernel: String,
    launches: u64,
    measured: u64,
    warp_instructions: u64,
    /// Core cycles of all its launches without launch latency.
    net_cycles: f64,
    /// Standard deviation of a launch about its expected cycles.
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
    /// Launches that were not reached; `kernels` does not list them.
    kernels_not_launched: u64,
    ctas: u64,
    ctas_done: u64,
    /// Counters that SMs keep per kernel, summed over the kernels.
    counters: Counts,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kernel {
    index: u64,
    name: String,
    /// The number that the trace or model gives it.
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<u64>,
    /// The GPU it ran on, on machines of several.
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
    /// Joules of its events, on machines with event energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_joules: Option<f64>,
    /// What limits it; only of kernels that issued anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    counters: Counts,
}

/// docs/results.md explains each number. Shares are from 0 to 1.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdict {
    /// The resource with the most scheduler cycles, such as `dram` or `memory_latency`.
    limiter: String,
    /// The busiest kind of execution units.
    pipe: String,
    /// Resources with their shares of the scheduler cycles, the most first.
    charges: Vec<Charge>,
    /// Use of each resource as a share of its peak.
    roofs: Vec<Use>,
    launch: Filling,
    sectors_per_request: Option<f64>,
    /// Bytes that lanes asked for as a share of the sectors that were accessed.
    sector_use: Option<f64>,
    /// Cycles of an access to shared memory beyond the first.
    conflicts: Option<f64>,
    /// Active lanes of an instruction, on average.
    lanes: f64,
    /// Accesses of the busiest LLC slice as a multiple of the mean.
    hottest_slice: Option<f64>,
    roofline: Option<Roofline>,
    /// What to change.
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
    /// Threads of a CTA.
    threads: u64,
    /// Registers of a thread.
    registers: u64,
    /// Bytes of shared memory of a CTA.
    shared_bytes: u64,
    /// Resident warps as a share of the warp slots, as the launch allows.
    occupancy: f64,
    /// What limits the resident warps: a resource of the SM, or "grid".
    limited_by: String,
    /// CTAs as a multiple of those that all SMs hold.
    waves: f64,
    /// Share of the scheduler cycles without a resident warp.
    idle: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Roofline {
    /// Floating-point operations.
    operations: u64,
    /// The units whose peak is meant: FP32, or tensor.
    units: String,
    /// As a share of multiply-adds in single precision on all lanes, or of products of 16-bit elements by matrix units.
    of_peak: f64,
    /// Operations per byte of DRAM.
    per_byte: Option<f64>,
    /// Operations per byte from which DRAM is no longer the lower roof.
    ridge: f64,
}

/// Measured launches that resemble the kernel, and how far the simulation is from them.
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
    /// Kernel launches on it.
    kernels: u64,
    /// Core cycle in which the last of them ended.
    ended: Option<u64>,
    /// Sums over its components, by kind and counter.
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
    /// Sums over its kernels.
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
    /// Joules of the events of the application, on machines with event energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_joules: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Alone {
    cycles: u64,
    warp_instructions: u64,
}

/// DRAM cycles.
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
    /// Whether the measurement was completed.
    measured: bool,
    reads_per_kilo_instruction: Option<f64>,
    read_latency_cycles: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Energy {
    /// The set of event energies.
    set: String,
    volts: f64,
    seconds: f64,
    joules: f64,
    mean_watts: f64,
    at_rest_joules: f64,
    joules_per_thread_instruction: Option<f64>,
    /// Joules by component.
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
    /// Each scheduler of each SM is in one of these states in every cycle.
    reasons: Counts,
}

/// The components of one kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kind {
    count: u64,
    total: Counts,
    /// By counter, the values of all components, in the order of `id`.
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
fn the_committed_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema/stats.schema.json");
    let made = serde_json::to_string_pretty(&schemars::schema_for!(Stats)).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), made, "UPDATE_DOCS=1 cargo test --test command results:: writes it anew");
}

/// `stats.json` of a run with these options.
fn stats(options: &str, out: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpshard"));
    command.current_dir(out).arg("run").args(options.split(' ')).args(["--threads", "1", "--out", "run", "--force"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&fs::read_to_string(out.join("run/stats.json")).unwrap()).unwrap()
}

#[test]
fn results_of_every_kind_have_the_form_of_the_schema() {
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
        let value = stats(options, folder.path());
        assert!(value.get(part).is_some(), "{options}: no {part}");
        let typed: Stats = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{options}: {error}"));
        // Nothing is lost on the way through the types but the order of names and fields that are null.
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
