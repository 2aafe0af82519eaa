//! `run.toml`: every value of a run with its origin. The file also loads as a machine, because machines ignore `[run]`.

use std::fmt::Write as _;

use super::args::{Epoch, RunArgs, Until};
use super::inputs::Origin;

/// The settings of a run as TOML, to be appended to the machine.
pub(super) fn run_table(
    args: &RunArgs,
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
    lines.value("seed", args.seed, given(args.seed != 1));
    lines.value("threads", threads.0, threads.1);
    match args.epoch {
        Epoch::Auto => lines.text("epoch", "auto", "default: the lookahead"),
        Epoch::Cycles(cycles) => lines.value("epoch", cycles, "command line"),
    }
    lines.value("relaxed", args.relaxed, given(args.relaxed));
    lines.value("pin", args.pin, given(args.pin));
    lines.value("lenient", args.lenient, given(args.lenient));
    if let Some(cycles) = args.max_cycles {
        lines.value("max_cycles", cycles, "command line");
    }
    if let Some(cycles) = args.interval {
        lines.value("interval", cycles, "command line");
    }
    if let Some(sampling) = &args.sampling.sample {
        lines.text("sample", &sampling.text, "command line");
    }
    if let Some(wanted) = &args.kernels {
        lines.text("select_kernels", wanted, "command line");
    }
    if !args.policy.is_empty() {
        lines.value("policies", toml::Value::from(args.policy.clone()), "command line");
    }
    if !args.cpu.is_empty() {
        lines.value("cpu", toml::Value::from(args.cpu.clone()), "command line");
        lines.value("cpu_warm", args.cpu_warm, given(args.cpu_warm != 500_000));
        lines.value("cpu_measure", args.cpu_measure, given(args.cpu_measure.get() != 4_500_000));
        lines.value("gpu_first", args.gpu_first, given(args.gpu_first));
        lines.text("until", &format!("{:?}", args.until).to_lowercase(), given(args.until != Until::Both));
    }
    lines.head("run.workload");
    lines.text("name", &facts.workload, "the workload");
    lines.value("kernels", kernels, "the workload");
    match origin {
        Origin::Trace { path } => {
            lines.text("trace", &path.display().to_string(), "command line");
            if let Ok(absolute) = path.canonicalize() {
                lines.text("trace_path", &absolute.display().to_string(), "where it was found");
            }
        }
        Origin::Program { path, arch } => {
            lines.text("program", &path.display().to_string(), "command line");
            lines.text("arch", &format!("sm_{arch}"), given(args.arch.is_some()));
        }
        Origin::Memory => lines.text("origin", "memory", "made by the calling program"),
        Origin::Applications => {
            lines.value("applications", toml::Value::from(args.app.clone()), "command line");
            lines.value("once", args.once, given(args.once));
        }
        Origin::Model { name, parameters } => {
            lines.text("model", name, given(args.workload.is_some()));
            lines.head("run.workload.parameters");
            for (key, value) in parameters {
                let set = args.set.iter().any(|(set, _)| set.strip_prefix("workload.") == Some(key));
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
