//! Host instructions of small runs, counted by callgrind. The counts are the same on every host, so a change that exceeds the limit fails.
//!
//! The benchmark needs valgrind and `cargo install gungraun-runner`. `cargo bench --bench instructions -- --save-baseline=before` keeps a
//! baseline; after a change `cargo bench --bench instructions -- --baseline=before` compares, and fails beyond 5 %.
#![expect(unused_qualifications, missing_docs, clippy::exit, reason = "the macros of the benchmark harness write them")]

use std::hint::black_box;
use std::sync::Arc;

use gungraun::{Callgrind, EntryPoint, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::Machine;
use warpshard::{model, workload::Workload};

/// Prepares a machine and a workload outside of the counted region.
fn prepare_run(machine: &str, name: &str, parameters: &[(&str, &str)]) -> (Machine, Arc<Workload>) {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let workload = model::builtin(name, 1, &parameters).expect("the model is built in");
    (warpshard::catalogue().machine(machine, &[]).expect("the machine is built in").machine, Arc::new(workload))
}

#[library_benchmark]
#[bench::compute(prepare_run("v100", "gemm_tiled", &[("n", "256"), ("k", "32")]))]
#[bench::divergent(prepare_run("v100", "divergent", &[("cta_count", "80")]))]
#[bench::stream(prepare_run("v100", "stream", &[("cta_count", "80")]))]
#[bench::gather(prepare_run("v100", "gather", &[("cta_count", "40")]))]
#[bench::latency(prepare_run("v100", "gather", &[("cta_count", "1"), ("rounds", "20"), ("chains", "1")]))]
#[bench::fermi(prepare_run("m2090", "stream", &[("cta_count", "64")]))]
#[bench::mesh(prepare_run("hetero", "stream", &[("cta_count", "28")]))]
fn run((machine, workload): (Machine, Arc<Workload>)) -> u64 {
    black_box(simulate(&machine, &workload, RunOptions::default()).expect("it runs").outcome.cycles)
}

library_benchmark_group!(name = runs; benchmarks = run);

main!(
    // Workers are separate threads, so the whole process is counted instead of the benchmark's thread.
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().entry_point(EntryPoint::None).soft_limits([(EventKind::Ir, 5.0)]));
    library_benchmark_groups = runs
);
