//! Host time of an epoch in which almost nothing happens: 147 units, as many as a V100 has, and one token that circulates.
//!
//! `cargo bench --bench engine`. The budget is 2 us per epoch on one thread.

use std::convert::Infallible;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::base::{ClockDomain, Cycle, LinkId, Tick, UnitId};
use warpshard::engine::{Cut, CutEvent, Director, Latency, Outbox, Plan, PlannedUnit, Settings, Unit, run};
use warpshard::stats::CounterVisitor;

/// A node of the ring, which forwards the token in the cycle of its arrival.
#[derive(warpshard::state::State)]
struct BenchNode {
    link: LinkId,
    now: Cycle,
    token: Option<(Cycle, u32)>,
}

impl Unit for BenchNode {
    type Payload = u32;
    /// Notification that the token has made its last hop.
    type Event = ();
    type Decision = Infallible;

    fn deliver(&mut self, _: LinkId, at: Cycle, hops: &u32) {
        self.token = Some((at, *hops));
    }

    fn run(&mut self, until: Cycle, _: bool, out: &mut Outbox<u32, ()>) {
        if let Some((at, hops)) = self.token.take_if(|(at, _)| *at < until) {
            match hops {
                0 => out.event(at, ()),
                _ => out.send(self.link, at, hops - 1),
            }
        }
        self.now = until;
    }

    fn next_event(&self) -> Cycle {
        self.token.map_or(Cycle::NEVER, |(at, _)| at)
    }

    fn settle(&mut self, at: Cycle) {
        self.now = at;
    }

    fn visit_counters(&self, _: &mut dyn CounterVisitor) {}

    fn waiting(&self) -> Vec<String> {
        Vec::new()
    }
}

#[derive(warpshard::state::State)]
struct IdleDirector;

impl Director<BenchNode> for IdleDirector {
    fn next_cut(&self, _: Cycle) -> Option<Cycle> {
        None
    }

    fn causes_cut(&self, (): ()) -> bool {
        true
    }

    fn is_over(&mut self, events: &[CutEvent<()>]) -> bool {
        !events.is_empty()
    }

    fn at_cut(&mut self, _: &Cut<'_, ()>) -> Vec<(UnitId, Infallible)> {
        Vec::new()
    }
}

const NODES: u16 = 147;
const TOKEN_HOPS: u32 = 20_000;

fn epochs(threads: usize) -> u64 {
    let clock = ClockDomain { period: 1 };
    let mut plan = Plan::new(clock);
    for id in 0..NODES {
        let token = (id == 0).then_some((Cycle(0), TOKEN_HOPS));
        let unit = BenchNode { link: LinkId(id), now: Cycle(0), token };
        plan.add_unit(PlannedUnit { name: format!("node{id}"), unit, clock, kind: "node", shard: u32::from(id), cost: 1.0, part: 0 });
    }
    for id in 0..NODES {
        plan.add_link(UnitId(id), UnitId((id + 1) % NODES), Latency::Fixed(Tick(41)));
    }
    run(plan, IdleDirector, &Settings { threads, ..Settings::default() }).expect("the ring runs").host.epochs
}

fn idle_epochs(c: &mut Criterion) {
    let mut group = c.benchmark_group("idle epochs of 147 units");
    for threads in [1, 2] {
        group.throughput(Throughput::Elements(epochs(threads)));
        group.bench_function(format!("{threads} threads"), |b| b.iter(|| epochs(threads)));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10).without_plots(); targets = idle_epochs }
criterion_main!(benches);
