//! `run.toml`: every value of a run with its origin. The file also loads as a machine, because machines ignore `[run]`.

use std::fmt::Write as _;

use super::inputs::WorkloadOrigin;
use super::request::{CpuOptions, Request, RunCondition, WorkloadSource};

/// Returns the settings of a run as TOML, to be appended to the machine.
pub(crate) fn run_table(
    request: &Request,
    origin: &WorkloadOrigin,
    threads: (usize, &str),
    kernels: usize,
    facts: &warpshard_report::RunFacts,
) -> String {
    let mut lines = TomlText(String::new());
    let given = |given: bool| if given { "command line" } else { "default" };
    lines.add_table_head("run");
    lines.add_text("version", &facts.version, "this program");
    lines.add_text("commit", &facts.commit, "this program");
    lines.add_value("seed", request.seed, given(request.seed != 1));
    lines.add_value("threads", threads.0, threads.1);
    match request.epoch {
        None => lines.add_text("epoch", "auto", "default: the lookahead"),
        Some(cycles) => lines.add_value("epoch", cycles, "command line"),
    }
    lines.add_value("relaxed", request.relaxed, given(request.relaxed));
    lines.add_value("pin", request.pin, given(request.pin));
    lines.add_value("lenient", request.lenient, given(request.lenient));
    if request.skip_matrix_values {
        lines.add_text("matrix_values", "skip", "command line");
    }
    if let Some(cycles) = request.max_cycles {
        lines.add_value("max_cycles", cycles, "command line");
    }
    if let Some(instructions) = request.max_instructions {
        lines.add_value("max_instructions", instructions, "command line");
    }
    if let Some(cycles) = request.interval {
        lines.add_value("interval", cycles, "command line");
    }
    if let Some(sample) = &request.sample {
        lines.add_text("sample", sample, "command line");
    }
    if let Some(wanted) = &request.kernels {
        lines.add_text("select_kernels", wanted, "command line");
    }
    if let Some(only) = &request.only {
        lines.add_text("only", only, "command line");
    }
    if request.skip > 0 {
        lines.add_value("skip", request.skip as u64, "command line");
    }
    if !request.policies.is_empty() {
        lines.add_value("policies", toml::Value::from(request.policies.clone()), "command line");
    }
    let cpu = &request.cpu;
    if !cpu.applications.is_empty() {
        lines.add_value("cpu", toml::Value::from(cpu.applications.clone()), "command line");
        lines.add_value("cpu_warm", cpu.warm, given(cpu.warm != CpuOptions::default().warm));
        lines.add_value("cpu_measure", cpu.measure, given(cpu.measure != CpuOptions::default().measure));
        lines.add_value("gpu_first", cpu.gpu_first, given(cpu.gpu_first));
        lines.add_text("until", &format!("{:?}", cpu.until).to_lowercase(), given(cpu.until != RunCondition::Both));
    }
    lines.add_table_head("run.workload");
    lines.add_text("name", &facts.workload, "the workload");
    lines.add_value("kernels", kernels, "the workload");
    match origin {
        WorkloadOrigin::Trace { path } => {
            lines.add_text("trace", &path.display().to_string(), "command line");
            if let Ok(absolute) = path.canonicalize() {
                lines.add_text("trace_path", &absolute.display().to_string(), "resolved path");
            }
        }
        WorkloadOrigin::Program { path, arch } => {
            lines.add_text("program", &path.display().to_string(), "command line");
            lines.add_text(
                "arch",
                &format!("sm_{arch}"),
                given(matches!(request.workload, Some(WorkloadSource::Program { arch: Some(_), .. }))),
            );
        }
        WorkloadOrigin::Memory => lines.add_text("origin", "memory", "made by the calling program"),
        WorkloadOrigin::Applications => {
            if let Some(WorkloadSource::Applications { apps, once, .. }) = &request.workload {
                lines.add_value("applications", toml::Value::from(apps.clone()), "command line");
                lines.add_value("once", once, given(*once));
            }
        }
        WorkloadOrigin::Model { name, parameters } => {
            lines.add_text("model", name, given(request.workload.is_some()));
            lines.add_table_head("run.workload.parameters");
            for (key, value) in parameters {
                let set = request.set.iter().any(|(set, _)| set.strip_prefix("workload.") == Some(key));
                lines.add_value(key, value, if set { "command line" } else { "the model" });
            }
        }
    }
    lines.0
}

struct TomlText(String);

impl TomlText {
    fn add_table_head(&mut self, table: &str) {
        let _ = write!(self.0, "\n[{table}]\n");
    }

    fn add_text(&mut self, key: &str, text: &str, origin: &str) {
        self.add_value(key, toml::Value::from(text), origin);
    }

    fn add_value(&mut self, key: &str, value: impl std::fmt::Display, origin: &str) {
        let _ = writeln!(self.0, "{:<40} # {origin}", format!("{key} = {value}"));
    }
}
