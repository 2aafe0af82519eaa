//! `bench --sizes`: what a warp instruction costs on machines of 1 to 320 SMs with the same work per SM.
//!
//! Six cases: compute, divergent gathers and streams in proportion to the machine, one CTA and one warp on an otherwise empty
//! machine, and many kernels of a few CTAs. Partitions grow with the SMs, so that each SM has the same share of the memory.

use std::sync::Arc;

use crate::config::{Machine, Override};
use crate::engine::{RunOptions, simulate};
use crate::frontend::Workload;
use crate::frontend::model::{Model, builtin};
use crate::report::metrics;

use super::super::compare::median;
use super::super::{StudyError, StudyOutput};

/// Kernels one after the other, of a CTA for every fourth SM.
const LAUNCHES: &str = r#"
name = "launches"
summary = "Many small kernels one after the other"

[parameters]
width = 20

[buffers]
a = { elements = "width * 64" }

[[kernel]]
name = "small"
launches = 64
grid = "width"
block = 64
body = [
  { op = "s2r", dst = "i" },
  { op = "imad_wide", dst = "p", src = ["i"] },
  { loop = "k", count = 16, body = [{ op = "ffma", dst = "x", src = ["x", "x", "x"] }] },
  { op = "store", src = ["p", "x"], buffer = "a", index = "global_thread" },
]
"#;

/// One warp that loads, computes and loads again.
const ONE_WARP: &str = r#"
name = "one_warp"
summary = "One warp"

[buffers]
a = { elements = 1048576 }

[[kernel]]
name = "one_warp"
grid = 1
block = 32
body = [
  { op = "s2r", dst = "p" },
  { loop = "i", count = 2000, body = [
    { op = "load", dst = "x", src = ["p"], buffer = "a", index = "(i * 37 + thread) % 1048576" },
    { loop = "k", count = 4, body = [{ op = "ffma", dst = "x", src = ["x", "x", "x"] }] },
    { op = "iadd", dst = "p", src = ["p"] },
  ] },
]
"#;

/// A workload that grows with the machine.
struct Case {
    name: &'static str,
    workload: fn(sms: u32) -> Result<Workload, String>,
}

const CASES: [Case; 6] = [
    Case { name: "compute", workload: |sms| model("gemm_tiled", &[("n", 64 * tiles(sms * 8))]) },
    Case { name: "divergent", workload: |sms| model("divergent", &[("cta_count", sms * 8)]) },
    Case { name: "memory", workload: |sms| model("stream", &[("cta_count", sms * 8)]) },
    Case { name: "one CTA", workload: |_| model("gather", &[("cta_count", 1), ("rounds", 400)]) },
    Case { name: "one warp", workload: |_| text("one_warp", ONE_WARP, &[]) },
    Case {
        name: "launches",
        workload: |sms| {
            let width = [("width".to_owned(), sms.div_ceil(4).to_string())];
            text("launches", LAUNCHES, &width)
        },
    },
];

/// Tiles along each side of a matrix that has `ctas` of them, or a few more.
fn tiles(ctas: u32) -> u32 {
    ctas.isqrt() + u32::from(ctas.isqrt().pow(2) < ctas)
}

fn text(name: &str, text: &str, parameters: &[(String, String)]) -> Result<Workload, String> {
    Model::from_text(name, text, 1, parameters).map(|model| model.workload()).map_err(|error| error.to_string())
}

fn model(name: &str, parameters: &[(&str, u32)]) -> Result<Workload, String> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    builtin(name, 1, &parameters).map_err(|error| error.to_string())
}

/// Partitions of a machine of `sms` SMs that has as much memory per SM as `of` with its own; a power of two.
fn partitions(sms: u32, of: &Machine) -> u32 {
    let exact = f64::from(of.mem.map.partitions) * f64::from(sms) / f64::from(of.gpu.sms);
    (1..=of.mem.map.partitions.max(1) * 8)
        .filter(|n| n.is_power_of_two())
        .min_by(|a, b| {
            let distance = |n: u32| (f64::from(n) / exact).ln().abs();
            distance(*a).total_cmp(&distance(*b))
        })
        .unwrap_or(1)
}

/// Measures every case on every size; the sizes are compared with the first of at least 8 SMs.
///
/// # Errors
/// When a machine of that size cannot be built or does not run.
pub(super) fn run(machine: &str, overrides: &[(String, String)], sizes: &[u32], runs: usize) -> Result<StudyOutput, StudyError> {
    let base = load(machine, overrides, &[])?;
    let mut output =
        StudyOutput::new("bench-sizes", format!("host cost on {machine} with other numbers of SMs, one thread, medians of {runs} runs"));
    output.columns(&["case", "SMs", "partitions", "warp instr", "cycles", "ms", "ns per warp instr", "against 8 SMs"]);
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut worst: f64 = 1.0;
    for case in &CASES {
        let mut reference = None;
        for &sms in &sizes {
            let partitions = partitions(sms, &base);
            let sized = [("gpu.sms".to_owned(), sms.to_string()), ("mem.map.partitions".to_owned(), partitions.to_string())];
            let machine = load(machine, overrides, &sized)?;
            let workload = Arc::new((case.workload)(sms).map_err(StudyError::Input)?);
            let mut seconds = Vec::new();
            let mut measured = (0, 0);
            for _ in 0..runs.max(1) {
                let result = simulate(&machine, &workload, RunOptions::default()).map_err(|error| StudyError::Input(error.to_string()))?;
                seconds.push(result.host.simulate_seconds);
                let issued =
                    result.outcome.kernels.iter().filter_map(|kernel| metrics::counter(&kernel.counters, metrics::WARP_INSTRUCTIONS));
                measured = (issued.sum::<u64>(), result.outcome.cycles);
            }
            let seconds = median(&seconds).unwrap_or(f64::NAN);
            let cost = seconds * 1e9 / measured.0.max(1) as f64;
            if sms >= 8 && reference.is_none() {
                reference = Some(cost);
            }
            let ratio = reference.map(|reference| cost / reference);
            worst = worst.max(ratio.map_or(1.0, |ratio| ratio.max(1.0)));
            output.row(vec![
                case.name.to_owned(),
                sms.to_string(),
                partitions.to_string(),
                measured.0.to_string(),
                measured.1.to_string(),
                format!("{:.2}", seconds * 1e3),
                format!("{cost:.1}"),
                ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            ]);
        }
    }
    output.figure("greatest cost per warp instruction against 8 SMs", worst);
    Ok(output)
}

fn load(machine: &str, overrides: &[(String, String)], more: &[(String, String)]) -> Result<Machine, StudyError> {
    let overrides: Vec<Override> = overrides.iter().chain(more).map(|(key, value)| Override::new(key, value)).collect();
    Machine::load(machine, &overrides).map(|loaded| loaded.machine).map_err(|errors| StudyError::Input(errors.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_machine() {
        let v100 = load("v100", &[], &[]).unwrap();
        assert_eq!([1, 8, 28, 56, 80, 160, 320].map(|sms| partitions(sms, &v100)), [1, 4, 8, 16, 32, 64, 128]);
    }

    #[test]
    fn every_case_runs_on_machines_of_several_sizes() {
        let output = run("tiny", &[], &[1, 8], 1).unwrap();
        assert_eq!(output.column("case").unwrap().len(), 2 * CASES.len());
        assert!(output.column("warp instr").unwrap().iter().all(|count| count.parse::<u64>().unwrap() > 0));
    }
}
