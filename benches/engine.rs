//! What an epoch costs when nearly nothing happens: 147 units, as many as a V100 has, and one token on its way round.
//!
//! `cargo bench --bench engine`. The budget is 2 us per epoch on one thread.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpshard::engine::Settings;

#[path = "../tests/ring/mod.rs"]
mod ring;

fn idle_epochs(c: &mut Criterion) {
    let ring = ring::Ring { nodes: 147, tokens: 1, rounds: 20, latency: 41, ..ring::Ring::default() };
    let mut group = c.benchmark_group("idle epochs of 147 units");
    for threads in [1, 2] {
        let settings = Settings { threads, ..Settings::default() };
        let epochs = ring.epochs(&settings);
        group.throughput(Throughput::Elements(epochs));
        group.bench_function(format!("{threads} threads, {epochs} epochs"), |b| b.iter(|| ring.epochs(&settings)));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = idle_epochs }
criterion_main!(benches);
