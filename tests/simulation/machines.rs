//! Every built-in machine runs a recorded trace and a kernel model to the end, with the expected counts.

use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::{Override, builtin_machines};
use warpshard::{model, workload::Workload};

use crate::common::shared;

/// Returns the kernels and warp instructions that a machine executed.
fn run(name: &str, workload: &Arc<Workload>) -> (u64, u64) {
    let machine = warpshard::catalogue().machine(name, &[Override::new("gpu.dispatch.launch_latency", "100")]).unwrap().machine;
    let result = simulate(&machine, workload, RunOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let counter = |wanted: &str| -> u64 {
        let kernels = result.outcome.kernels.iter();
        kernels.flat_map(|kernel| kernel.counters.iter()).filter(|counter| counter.info.name == wanted).map(|counter| counter.value).sum()
    };
    (result.outcome.kernels.len() as u64, counter("warp_instructions"))
}

#[test]
fn every_machine_executes_all_of_a_tiled_matrix_product() {
    let sizes = [("n", "64"), ("k", "32")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let workload = Arc::new(model::builtin("gemm_tiled", 1, &sizes).unwrap());
    let expected = run("tiny", &workload);
    assert!(expected.1 > 0);
    for machine in builtin_machines(warpshard::catalogue().files()) {
        assert_eq!(run(machine.name, &workload), expected, "{}", machine.name);
    }
}

#[test]
fn every_machine_executes_all_of_a_recorded_vector_addition() {
    let Some(folder) = shared("sass/vectoradd-100-pascal") else { return };
    let workload = Arc::new(warpshard::trace::load(&folder, &warpshard::trace::TraceOptions::default()).unwrap());
    // A CTA of 1024 threads does not fit an SM of the tiny machine.
    for machine in builtin_machines(warpshard::catalogue().files()).iter().filter(|machine| machine.name != "tiny") {
        assert_eq!(run(machine.name, &workload), (1, 344), "{}", machine.name);
    }
}
