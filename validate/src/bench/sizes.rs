//! `bench --sizes`: host cost of a warp instruction on machines of 1 to 320 SMs with the same work per SM.
//!
//! There are six cases: compute, divergent gathers and streams, each with eight CTAs of the same length per SM; one CTA, and one warp, on
//! an otherwise empty machine; and many kernels of a few CTAs. The number of partitions grows with the number of SMs, so that each SM has
//! the same share of the memory.

use std::sync::Arc;

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Machine, Override};
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::statistics::median;
use warpshard_model::{Model, builtin};
use warpshard_report::metrics;
use warpshard_workload::Workload;

/// Model of kernels that run one after the other, with one CTA per four SMs.
const SEQUENTIAL_KERNELS_MODEL: &str = r#"
name = "launches"
summary = "Many small kernels one after the other"

[parameters]
width = 20

[buffers]
a = { elements = "width * 64" }

[[kernel]]
name = "small"
launches = 640
grid = "width"
block = 64
body = [
  { op = "s2r", dst = "i" },
  { op = "imad_wide", dst = "p", src = ["i"] },
  { loop = "k", count = 16, body = [{ op = "ffma", dst = "x", src = ["x", "x", "x"] }] },
  { op = "store", src = ["p", "x"], buffer = "a", index = "global_thread" },
]
"#;

/// Model of one warp that loads, computes and loads again.
const ONE_WARP_MODEL: &str = r#"
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
  { loop = "i", count = 20000, body = [
    { op = "load", dst = "x", src = ["p"], buffer = "a", index = "(i * 37 + thread) % 1048576" },
    { loop = "k", count = 4, body = [{ op = "ffma", dst = "x", src = ["x", "x", "x"] }] },
    { op = "iadd", dst = "p", src = ["p"] },
  ] },
]
"#;

/// CTAs per SM in the cases that grow with the machine.
pub(super) const CTAS_PER_SM: u32 = 8;
/// Rows and columns of the `gemm_tiled` tile that a CTA computes.
const TILE_SIZE: u32 = 64;

/// A workload whose size depends on the machine.
struct SizeCase {
    name: &'static str,
    workload: fn(sms: u32, per_sm: u32) -> Result<Workload, TaskError>,
}

const SIZE_CASES: [SizeCase; 6] = [
    SizeCase {
        name: "compute",
        workload: |sms, per_sm| {
            // The matrices grow in the dimensions of the CTA grid and not in the dimension of the sums, so a CTA has as many instructions
            // on every machine.
            let (rows, columns) = near_square_tiles(sms * per_sm);
            workload_from_model("gemm_tiled", &[("m", TILE_SIZE * rows), ("n", TILE_SIZE * columns), ("k", 64)])
        },
    },
    SizeCase { name: "divergent", workload: |sms, per_sm| workload_from_model("divergent", &[("cta_count", sms * per_sm)]) },
    SizeCase { name: "memory", workload: |sms, per_sm| workload_from_model("stream", &[("cta_count", sms * per_sm)]) },
    SizeCase { name: "one CTA", workload: |_, _| workload_from_model("gather", &[("cta_count", 1), ("rounds", 400)]) },
    SizeCase { name: "one warp", workload: |_, _| workload_from_text("one_warp", ONE_WARP_MODEL, &[]) },
    SizeCase {
        name: "launches",
        workload: |sms, _| {
            let width = [("width".to_owned(), sms.div_ceil(4).to_string())];
            workload_from_text("launches", SEQUENTIAL_KERNELS_MODEL, &width)
        },
    },
];

/// Builds the workload of a case for a machine of `sms` SMs, with `per_sm` CTAs per SM if the case grows with the machine.
///
/// # Errors
/// Fails if the case does not exist, or its model is invalid.
pub(super) fn case_workload(case: &str, sms: u32, per_sm: u32) -> Result<Workload, TaskError> {
    let case = SIZE_CASES.iter().find(|known| known.name == case).ok_or_else(|| format!("there is no case `{case}`"))?;
    (case.workload)(sms, per_sm)
}

/// Returns the rows and columns of a matrix of exactly `tiles` tiles: the two divisors nearest to each other.
fn near_square_tiles(tiles: u32) -> (u32, u32) {
    let rows = (1..=tiles.isqrt()).rev().find(|rows| tiles.is_multiple_of(*rows)).unwrap_or(1);
    (rows, tiles / rows)
}

fn workload_from_text(name: &str, text: &str, parameters: &[(String, String)]) -> Result<Workload, TaskError> {
    Model::from_text(name, text, 1, parameters).map(|model| model.workload()).map_err(TaskError::from)
}

fn workload_from_model(name: &str, parameters: &[(&str, u32)]) -> Result<Workload, TaskError> {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    builtin(name, 1, &parameters).map_err(TaskError::from)
}

/// Returns the number of partitions, a power of two, that gives a machine of `sms` SMs as much memory per SM as machine `of`.
fn partition_count(sms: u32, of: &Machine) -> u32 {
    let exact = f64::from(of.mem.map.partitions) * f64::from(sms) / f64::from(of.gpu.sms);
    (1..=of.mem.map.partitions.max(1) * 8)
        .filter(|n| n.is_power_of_two())
        .min_by(|a, b| {
            let distance = |n: u32| (f64::from(n) / exact).ln().abs();
            distance(*a).total_cmp(&distance(*b))
        })
        .unwrap_or(1)
}

/// Measures every case on every size and compares the sizes with the first one of at least 8 SMs.
///
/// # Errors
/// Fails if a machine of one of the sizes cannot be built or does not run.
pub(super) fn run(machine: &str, overrides: &[(String, String)], sizes: &[u32], runs: usize) -> Result<StudyOutput, StudyError> {
    let base = load(machine, overrides, &[])?;
    let mut output =
        StudyOutput::new("bench-sizes", format!("host cost on {machine} with other numbers of SMs, one thread, medians of {runs} runs"));
    output.columns(&["case", "SMs", "partitions", "CTAs", "warp instr", "cycles", "ms", "ns per warp instr", "against 8 SMs"]);
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut worst: f64 = 1.0;
    for case in &SIZE_CASES {
        let mut reference = None;
        for &sms in &sizes {
            let partitions = partition_count(sms, &base);
            let sized = [("gpu.sms".to_owned(), sms.to_string()), ("mem.map.partitions".to_owned(), partitions.to_string())];
            let machine = load(machine, overrides, &sized)?;
            let workload = Arc::new((case.workload)(sms, CTAS_PER_SM).map_err(StudyError::input)?);
            let ctas: u32 = workload.kernels.iter().map(|kernel| kernel.info.ctas()).sum();
            let mut seconds = Vec::new();
            let mut measured = (0, 0);
            for _ in 0..runs.max(1) {
                let result = simulate(&machine, &workload, RunOptions::default()).map_err(StudyError::input)?;
                seconds.push(result.host.simulate_seconds);
                let issued = result.outcome.kernels.iter().filter_map(|kernel| kernel.counters.get(metrics::WARP_INSTRUCTIONS));
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
                ctas.to_string(),
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

pub(super) fn load(machine: &str, overrides: &[(String, String)], more: &[(String, String)]) -> Result<Machine, StudyError> {
    let overrides: Vec<Override> = overrides.iter().chain(more).map(|(key, value)| Override::new(key, value)).collect();
    Machine::load(machine, &overrides).map(|loaded| loaded.machine).map_err(StudyError::input)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use warpshard_base::CtaIndex;

    #[test]
    fn memory_grows_with_the_machine() {
        let v100 = load("v100", &[], &[]).unwrap();
        assert_eq!([1, 8, 28, 56, 80, 160, 320].map(|sms| partition_count(sms, &v100)), [1, 4, 8, 16, 32, 64, 128]);
    }

    #[test]
    fn cases_that_grow_have_the_same_work_per_sm_on_every_machine() {
        for name in ["compute", "divergent", "memory"] {
            let case = SIZE_CASES.iter().find(|case| case.name == name).unwrap();
            let mut lengths = BTreeSet::new();
            for sms in [1, 7, 8, 28, 56, 80, 160, 320] {
                let workload = (case.workload)(sms, CTAS_PER_SM).unwrap();
                let [kernel] = &workload.kernels[..] else { panic!("{name} has one kernel") };
                let ctas = kernel.info.ctas();
                assert_eq!(ctas, 8 * sms, "{name} on {sms} SMs");
                let instructions = |cta: u32| kernel.source.cta(CtaIndex(cta)).warps.iter().map(|warp| warp.len()).sum::<u32>();
                lengths.extend([0, ctas / 2, ctas - 1].map(instructions));
            }
            let (least, most) = (*lengths.first().unwrap(), *lengths.last().unwrap());
            // Data-dependent branches make the lengths of divergent CTAs differ slightly.
            assert!(least > 100 && most - least <= most / 20, "{name}: CTAs of {lengths:?} instructions");
        }
    }

    #[test]
    fn every_case_runs_on_machines_of_several_sizes() {
        let output = run("tiny", &[], &[1, 8], 1).unwrap();
        assert_eq!(output.column("case").unwrap().len(), 2 * SIZE_CASES.len());
        assert!(output.column("warp instr").unwrap().iter().all(|count| count.parse::<u64>().unwrap() > 0));
    }
}
