//! Host time of whole runs: a small matrix product on the V100, on one and two threads, in warp instructions per second.
//!
//! `cargo bench --bench simulate`. The benchmark has no budget; it shows the sum of the parts that have one.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::chip::{RunOptions, simulate};
use warpshard::model;

fn whole_runs(criterion: &mut Criterion) {
    let machine = warpshard::catalogue().machine("v100", &[]).unwrap().machine;
    let parameters = [("n", "512"), ("k", "32")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let workload = Arc::new(model::builtin("gemm_tiled", 1, &parameters).unwrap());
    let run = |threads| simulate(&machine, &workload, RunOptions { threads, ..RunOptions::default() }).unwrap().outcome;
    let issued = |counter: &warpshard::stats::CounterValue| counter.info.name == "warp_instructions";
    let instructions = run(1).kernels.iter().flat_map(|kernel| kernel.counters.iter()).filter(issued).map(|counter| counter.value).sum();
    let mut group = criterion.benchmark_group("gemm_tiled of 512x32 on v100");
    group.sample_size(10);
    group.throughput(Throughput::Elements(instructions));
    for threads in [1, 2] {
        group.bench_function(format!("{threads} threads"), |bencher| bencher.iter(|| black_box(run(threads).cycles)));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().without_plots(); targets = whole_runs }
criterion_main!(benches);
