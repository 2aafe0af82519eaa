//! Tables of the baseline, gains by kind of workload, their metrics, overall speed-ups, other systems, and all runs.

use warpshard_lab::output::StudyOutput;
use warpshard_lab::statistics::{harmonic_mean, mean};

use super::super::published::{applications, concurrency};
use super::job::{Cpus, JobMeasurements};
use super::metrics::overall_speedup;
use super::pairs::{CPU_TYPES, GPU_TYPES, WorkloadKind, WorkloadPair, kinds};
use super::results::{Gain, ConcurrencyResults, percent};
use super::runs::{gpu_alone_job, pair_job, cpus_only_job};
use super::scheme::{OTHER_SYSTEM_SCHEMES, OTHER_SYSTEMS, ConcurrencyScheme, System};
use super::span::Total;

/// Adds all tables to the output.
pub(super) fn add_tables(results: &ConcurrencyResults, output: &mut StudyOutput) {
    add_baseline_table(results, output);
    add_gains_table(results, output);
    add_metrics_table(results, output);
    add_overall_speedup_table(results, output);
    add_systems_table(results, output);
    add_alone_table(results, output);
    add_runs_table(results, output);
}

/// Returns the rows of a table: the name and the pairs of each group of workloads.
pub(super) fn workload_groups(results: &ConcurrencyResults) -> Vec<(String, Vec<&'static WorkloadPair>)> {
    let of_kind = kinds().map(|kind| (kind.to_string(), results.pairs_of(|other| other == kind)));
    let of_gpu = GPU_TYPES.map(|gpu| (format!("GPU type {gpu:?}"), results.pairs_of(|WorkloadKind(other, _)| other == gpu)));
    let of_cpu = CPU_TYPES.map(|cpu| (format!("CPU {cpu:?}-MPKI"), results.pairs_of(|WorkloadKind(_, other)| other == cpu)));
    let all = ("all".to_owned(), results.all());
    of_kind.chain(of_gpu).chain(of_cpu).chain([all]).filter(|(_, pairs)| !pairs.is_empty()).collect()
}

fn add_baseline_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    output.columns(&[
        "workload",
        "number",
        "kind",
        "stall_mc",
        "stall_net",
        "stall_gpu",
        "MPKI",
        "LLC /kcycle",
        "LLC miss %",
        "DRAM busy %",
        "GPU IPC",
        "SU",
        "CPU IPC",
        "WS / cores",
        "read latency",
        "GPU off, CPU %",
    ]);
    for (number, pair) in &results.pairs {
        let job = pair_job(System::Base, pair, ConcurrencyScheme::All);
        let run = results.get(&job);
        let cores = run.core_ipcs().count().max(1) as f64;
        output.row(vec![
            pair.to_string(),
            number.to_string(),
            pair.kind().to_string(),
            format!("{:.2}", run.per_cycle(Total::StallMc)),
            format!("{:.2}", run.per_cycle(Total::StallNet)),
            format!("{:.0}", run.stall_gpu()),
            format!("{:.1}", run.mpki()),
            format!("{:.0}", 1000.0 * run.per_cycle(Total::LlcAccesses)),
            format!("{:.0}", 100.0 * run.per_cycle(Total::LlcMisses) / run.per_cycle(Total::LlcAccesses).max(f64::MIN_POSITIVE)),
            format!("{:.0}", 100.0 * run.bandwidth_share()),
            format!("{:.2}", run.gpu_ipc()),
            format!("{:.3}", results.gpu_speedup(&job).unwrap_or(f64::NAN)),
            format!("{:.3}", mean(run.core_ipcs().map(|(_, ipc)| ipc)).unwrap_or(f64::NAN)),
            format!("{:.3}", results.weighted_speedup(&job).unwrap_or(f64::NAN) / cores),
            format!("{:.0}", run.read_latency()),
            percent(results.gpu_off(pair)),
        ]);
    }
}

/// Returns the schemes with a column of gains: all but the baseline.
fn managed_schemes(results: &ConcurrencyResults) -> Vec<ConcurrencyScheme> {
    results.schemes.iter().copied().filter(|scheme| *scheme != ConcurrencyScheme::All).collect()
}

fn add_gains_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let schemes = managed_schemes(results);
    let names: Vec<String> = schemes.iter().map(ToString::to_string).collect();
    let header = |first: &str| [first.to_owned()].into_iter().chain(names.clone()).collect::<Vec<_>>();
    let table = |of: fn(Gain) -> f64| -> Vec<Vec<String>> {
        let row = |(name, pairs): (String, Vec<&WorkloadPair>)| {
            let gain =
                |scheme: &ConcurrencyScheme| results.mean_gain(System::Base, &pairs, *scheme).map_or_else(|| "-".into(), |gain| percent(of(gain)));
            [name].into_iter().chain(schemes.iter().map(gain)).collect()
        };
        workload_groups(results).into_iter().map(row).collect()
    };
    output.section("GPU performance over 48 warps, %", "gpu.csv", header("kind"), table(|gain| gain.gpu));
    output.section("CPU performance over 48 warps, %", "cpu.csv", header("kind"), table(|gain| gain.cpu));
    let mut pairs = Vec::new();
    for (number, pair) in &results.pairs {
        for scheme in &schemes {
            let gain = results.gain(System::Base, pair, *scheme);
            let run = results.run_of(pair, *scheme);
            pairs.push(vec![
                number.to_string(),
                pair.to_string(),
                pair.kind().to_string(),
                scheme.to_string(),
                percent(gain.gpu),
                percent(gain.cpu),
                format!("{:.1}", run.active_warps()),
                format!("{:.2}", run.per_cycle(Total::StallMc)),
                format!("{:.2}", run.per_cycle(Total::StallNet)),
                format!("{:.0}", run.stall_gpu()),
            ]);
        }
    }
    let header = ["number", "workload", "kind", "scheme", "GPU %", "CPU %", "active warps", "stall_mc", "stall_net", "stall_gpu"];
    output.table("pairs.csv", &header, pairs);
}

/// A function that formats a quantity of pairs under a scheme.
type CellFormatter<'a> = dyn Fn(&[&WorkloadPair], ConcurrencyScheme) -> Option<String> + 'a;

/// Adds the metrics and the active warps under the schemes that manage them (Figures 15 and 18).
fn add_metrics_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let shown: Vec<ConcurrencyScheme> = managed_schemes(results).into_iter().filter(|scheme| !matches!(scheme, ConcurrencyScheme::Static(_))).collect();
    let mut header = vec!["kind".to_owned()];
    for name in ["active warps", "stall_mc %", "stall_gpu/instr. %", "LLC accesses %"] {
        header.extend(shown.iter().map(|scheme| format!("{scheme} {name}")));
    }
    let of: [&CellFormatter<'_>; 4] = [
        &|pairs, scheme| mean(pairs.iter().map(|pair| results.run_of(pair, scheme).active_warps())).map(|warps| format!("{warps:.1}")),
        &|pairs, scheme| results.mean_relative(pairs, scheme, negligible_stall_mc(), |run| run.per_cycle(Total::StallMc)).map(percent),
        &|pairs, scheme| results.mean_relative(pairs, scheme, 0.0, JobMeasurements::stall_gpu_per_instruction).map(percent),
        &|pairs, scheme| results.mean_relative(pairs, scheme, 0.0, |run| run.per_cycle(Total::LlcAccesses)).map(percent),
    ];
    let mut rows = Vec::new();
    for (name, pairs) in workload_groups(results) {
        let cells = of.iter().flat_map(|of| shown.iter().map(|scheme| of(&pairs, *scheme).unwrap_or_else(|| "-".into())));
        rows.push([name].into_iter().chain(cells).collect());
    }
    output.section("Active warps, and stalls and LLC accesses over 48 warps", "metrics.csv", header, rows);
}

/// Returns the `stall_mc` below which relative changes are meaningless.
pub(super) fn negligible_stall_mc() -> f64 {
    concurrency().own.margins.negligible
}

/// Returns the values of alpha of Figure 19.
pub(super) fn figure_19_alphas() -> impl Iterator<Item = f64> {
    (0..=10).map(|tenth| f64::from(tenth) / 10.0)
}

/// Returns the OSS of a scheme relative to the baseline: the harmonic mean over pairs of (1 - alpha) WS + alpha SU, with both WS and SU
/// relative to the baseline.
///
/// The paper's WS is a sum over 14 cores and its SU is at most 1, so WS would dominate the printed sum up to alpha = 0.9. Only relative
/// values agree with Section 6.2, where schemes with +24 % and -11 %, and with +7 % twice, are equal near 0.5.
pub(super) fn relative_oss(results: &ConcurrencyResults, scheme: ConcurrencyScheme, alpha: f64) -> Option<f64> {
    harmonic_mean(results.all().into_iter().map(|pair| {
        let gain = results.gain(System::Base, pair, scheme);
        overall_speedup(alpha, gain.cpu, gain.gpu)
    }))
}

fn add_overall_speedup_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let schemes = managed_schemes(results);
    let header = ["alpha".to_owned()].into_iter().chain(schemes.iter().map(ToString::to_string)).collect();
    let cell = |scheme: &ConcurrencyScheme, alpha| relative_oss(results, *scheme, alpha).map_or_else(|| "-".into(), percent);
    let row = |alpha: f64| [format!("{alpha:.1}")].into_iter().chain(schemes.iter().map(|scheme| cell(scheme, alpha))).collect();
    output.section("Overall system speed-up over 48 warps, %", "oss.csv", header, figure_19_alphas().map(row).collect());
}

fn add_systems_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let pairs = &results.other_system_pairs;
    if pairs.is_empty() {
        return;
    }
    let mut header = vec!["system".to_owned(), "pairs".to_owned()];
    let managed = || OTHER_SYSTEM_SCHEMES.into_iter().filter(|scheme| *scheme != ConcurrencyScheme::All);
    header.extend(managed().flat_map(|scheme| ["GPU", "CPU"].map(|of| format!("{scheme} {of} %"))));
    let names = pairs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let row = |system: System| {
        let gains = managed().flat_map(|scheme| match results.mean_gain(system, pairs, scheme) {
            Some(gain) => [percent(gain.gpu), percent(gain.cpu)],
            None => ["-".to_owned(), "-".to_owned()],
        });
        [system.to_string(), names.clone()].into_iter().chain(gains).collect()
    };
    let rows = [System::Base].into_iter().chain(OTHER_SYSTEMS).map(row).collect();
    output.section("Other systems, over 48 warps on each, %", "systems.csv", header, rows);
}

fn add_alone_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let mut rows = Vec::new();
    for application in applications() {
        let job = gpu_alone_job(System::Base, &application.name);
        if let Some((_, run)) = results.runs().find(|(other, _)| **other == job) {
            let kind = format!("GPU type {:?}", application.kind);
            rows.push(vec![application.name.clone(), kind, format!("{:.4}", run.gpu_ipc()), String::new(), String::new()]);
        }
    }
    for (job, run) in results.runs() {
        if let (System::Base, Cpus::One(name)) = (job.system, &job.cpus) {
            let ipc = run.core_ipcs().next().map_or(f64::NAN, |(_, ipc)| ipc);
            rows.push(vec![
                name.clone(),
                "CPU".into(),
                format!("{ipc:.4}"),
                format!("{:.2}", run.mpki()),
                format!("{:.0}", run.read_latency()),
            ]);
        }
    }
    output.table("alone.csv", &["application", "type", "IPC", "MPKI", "read latency"], rows);
}

/// Columns of the table of runs.
const RUN_COLUMNS: [&str; 27] = [
    "system",
    "gpu",
    "cpus",
    "scheme",
    "start",
    "cycles",
    "GPU warp instructions",
    "GPU cycles",
    "GPU through",
    "GPU IPC",
    "GPU IPC throughout",
    "SU",
    "WS",
    "mean CPU IPC",
    "CPU through",
    "MPKI",
    "CPU read latency",
    "stall_mc",
    "stall_net",
    "stall_gpu",
    "stall_gpu per instruction",
    "LLC accesses per 1000 cycles",
    "LLC miss share",
    "DRAM bus busy",
    "resident warps",
    "limit of warps",
    "CPU IPC by core",
];

fn add_runs_table(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let mut rows = Vec::new();
    for (job, run) in results.runs() {
        let counts = &run.counts;
        let together = matches!(job.cpus, Cpus::Mix(_));
        let cpus = match &job.cpus {
            Cpus::Off => "-".to_owned(),
            Cpus::One(name) => name.clone(),
            Cpus::Mix(mix) => format!("@{mix}"),
        };
        rows.push(vec![
            job.system.to_string(),
            job.gpu.clone().unwrap_or_else(|| "-".into()),
            cpus,
            job.scheme.to_string(),
            counts.start.to_string(),
            counts.cycles.to_string(),
            counts.gpu_issued.to_string(),
            counts.gpu_cycles.to_string(),
            counts.gpu_through.to_string(),
            format!("{:.4}", run.gpu_ipc()),
            format!("{:.4}", run.gpu_ipc_throughout()),
            optional(if together { results.gpu_speedup(job) } else { None }),
            optional(if together { results.weighted_speedup(job) } else { None }),
            optional(mean(run.core_ipcs().map(|(_, ipc)| ipc))),
            counts.cpu_through.to_string(),
            format!("{:.2}", run.mpki()),
            format!("{:.0}", run.read_latency()),
            format!("{:.4}", run.per_cycle(Total::StallMc)),
            format!("{:.4}", run.per_cycle(Total::StallNet)),
            format!("{:.1}", run.stall_gpu()),
            format!("{:.3}", run.stall_gpu_per_instruction()),
            format!("{:.1}", 1000.0 * run.per_cycle(Total::LlcAccesses)),
            format!("{:.4}", run.per_cycle(Total::LlcMisses) / run.per_cycle(Total::LlcAccesses).max(f64::MIN_POSITIVE)),
            format!("{:.4}", run.bandwidth_share()),
            format!("{:.2}", run.resident_warps()),
            format!("{:.2}", run.limit),
            run.core_ipcs().map(|(name, ipc)| format!("{name} {ipc:.4}")).collect::<Vec<_>>().join("; "),
        ]);
    }
    output.table("runs.csv", &RUN_COLUMNS, rows);
    debug_assert!(results.all().iter().all(|pair| results.get(&cpus_only_job(pair)).counts.cycles > 0));
}
