//! `run.toml`: every value of a run with its origin. The file also loads as a machine, because machines ignore `[run]`.

use std::fmt::Write as _;

use super::inputs::Origin;
use super::request::{Cpu, Request, Source, Until};

/// Returns the settings of a run as TOML, to be appended to the machine.
pub(crate) fn run_table(
    request: &Request,
    origin: &Origin,
    threads: (usize, &str),
    kernels: usize,
    facts: &warpshard_report::RunFacts,
) -> String {
    let mut lines = Lines(String::new());
    let given = |given: bool| if given { "command line" } else { "default" };
    lines.head("run");
    lines.text("version", &facts.version, "this program");
    lines.text("commit", &facts.commit, "this program");
    lines.value("seed", request.seed, given(request.seed != 1));
    lines.value("threads", threads.0, threads.1);
    match request.epoch {
        None => lines.text("epoch", "auto", "default: the lookahead"),
        Some(cycles) => lines.value("epoch", cycles, "command line"),
    }
    lines.value("relaxed", request.relaxed, given(request.relaxed));
    lines.value("pin", request.pin, given(request.pin));
    lines.value("lenient", request.lenient, given(request.lenient));
    if request.skip_matrix_values {
        lines.text("matrix_values", "skip", "command line");
    }
    if let Some(cycles) = request.max_cycles {
        lines.value("max_cycles", cycles, "command line");
    }
    if let Some(instructions) = request.max_instructions {
        lines.value("max_instructions", instructions, "command line");
    }
    if let Some(cycles) = request.interval {
        lines.value("interval", cycles, "command line");
    }
    if let Some(sample) = &request.sample {
        lines.text("sample", sample, "command line");
    }
    if let Some(wanted) = &request.kernels {
        lines.text("select_kernels", wanted, "command line");
    }
    if let Some(only) = &request.only {
        lines.text("only", only, "command line");
    }
    if request.skip > 0 {
        lines.value("skip", request.skip as u64, "command line");
    }
    if !request.policies.is_empty() {
        lines.value("policies", toml::Value::from(request.policies.clone()), "command line");
    }
    let cpu = &request.cpu;
    if !cpu.applications.is_empty() {
        lines.value("cpu", toml::Value::from(cpu.applications.clone()), "command line");
        lines.value("cpu_warm", cpu.warm, given(cpu.warm != Cpu::default().warm));
        lines.value("cpu_measure", cpu.measure, given(cpu.measure != Cpu::default().measure));
        lines.value("gpu_first", cpu.gpu_first, given(cpu.gpu_first));
        lines.text("until", &format!("{:?}", cpu.until).to_lowercase(), given(cpu.until != Until::Both));
    }
    lines.head("run.workload");
    lines.text("name", &facts.workload, "the workload");
    lines.value("kernels", kernels, "the workload");
    match origin {
        Origin::Trace { path } => {
            lines.text("trace", &path.display().to_string(), "command line");
            if let Ok(absolute) = path.canonicalize() {
                lines.text("trace_path", &absolute.display().to_string(), "resolved path");
            }
        }
        Origin::Program { path, arch } => {
            lines.text("program", &path.display().to_string(), "command line");
            lines.text("arch", &format!("sm_{arch}"), given(matches!(request.workload, Some(Source::Program { arch: Some(_), .. }))));
        }
        Origin::Memory => lines.text("origin", "memory", "made by the calling program"),
        Origin::Applications => {
            if let Some(Source::Applications { apps, once, .. }) = &request.workload {
                lines.value("applications", toml::Value::from(apps.clone()), "command line");
                lines.value("once", once, given(*once));
            }
        }
        Origin::Model { name, parameters } => {
            lines.text("model", name, given(request.workload.is_some()));
            lines.head("run.workload.parameters");
            for (key, value) in parameters {
                let set = request.set.iter().any(|(set, _)| set.strip_prefix("workload.") == Some(key));
                lines.value(key, value, if set { "command line" } else { "the model" });
            }
        }
    }
    lines.0
}

struct Lines(String);

impl Lines {
    fn head(&mut self, table: &str) {
        let _ = write!(self.0, "\n[{table}]\n");
    }

    fn text(&mut self, key: &str, text: &str, origin: &str) {
        self.value(key, toml::Value::from(text), origin);
    }

    fn value(&mut self, key: &str, value: impl std::fmt::Display, origin: &str) {
        let _ = writeln!(self.0, "{:<40} # {origin}", format!("{key} = {value}"));
    }
}
