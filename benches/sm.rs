//! Host time of an SM of the V100: per cycle with 64 warps of arithmetic, and per coalesced load that hits in the L1.
//!
//! `cargo bench --bench sm`. The budget of an SM's hot state is 32 KB, so that the times hold when 80 SMs share a cache. The programs are
//! hand-made streams without a front end.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::base::{Addr, AppId, ClockDomain, CtaIndex, Cycle, KernelIndex, LaneMask, LinkId, SmId, StreamId, Tick, UnitId};
use warpshard::config::Machine;
use warpshard::engine::{Route, Unit};
use warpshard::gpu::sm::{Sm, SmPorts};
use warpshard::protocol::{Credit, CtaLaunch, NO_CLUSTER, Outbox, Payload};
use warpshard::state::{Reader, StateError, Writer};
use warpshard::workload::{
    CachePolicy, Command, Control, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, MemInst, MemKind, MemSpace, NO_REGISTER, OpClass,
    RegisterSets, StaticInst, StreamBuilder, Workload,
};

const WARPS: u32 = 64;
const INSTRUCTIONS: u32 = 1000;
const EPOCH_CYCLES: u64 = 40;
const PORTS: SmPorts = SmPorts {
    to_request_net: LinkId(0),
    to_grid: LinkId(1),
    reply_credit: LinkId(2),
    from_reply_net: LinkId(3),
    request_credit: LinkId(4),
    peers: None,
    from_grid: LinkId(5),
};

#[derive(Debug)]
struct FixedWorkload(Arc<CtaProgram>);

impl CtaSource for FixedWorkload {
    fn cta(&self, _: CtaIndex) -> Arc<CtaProgram> {
        Arc::clone(&self.0)
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Returns two CTAs of 32 warps, each of which executes the instructions that `body` writes and then exits. Instruction 0 adds, 1 loads, 2
/// exits.
fn workload(body: impl Fn(&mut StreamBuilder)) -> Arc<Workload> {
    let plain = |class, dst, src: u16| {
        let src = [src, NO_REGISTER, NO_REGISTER, NO_REGISTER];
        StaticInst {
            pc: 0,
            class,
            packed_half: false,
            flops: 0,
            dst,
            src,
            mem: None,
            immediate: 0,
            control: Control::NONE,
            registers: RegisterSets::new(dst, src),
        }
    };
    let mem = Some(MemInst { space: MemSpace::Global, kind: MemKind::Load, width: 4, cache: CachePolicy::All });
    let adds = (0..8).map(|i| plain(OpClass::Sp, 8 + i, 16 + i));
    let code = adds.chain([StaticInst { mem, ..plain(OpClass::Load, 4, 2) }, plain(OpClass::Exit, NO_REGISTER, NO_REGISTER)]).collect();
    let warp = || {
        let mut builder = StreamBuilder::default();
        body(&mut builder);
        builder.op(9, LaneMask::FULL);
        builder.finish()
    };
    let program = CtaProgram { code, warps: (0..WARPS / 2).map(|_| warp()).collect(), ..CtaProgram::default() };
    let info = KernelInfo {
        name: "bench".into(),
        id: 1,
        grid: Dim3 { x: 2, y: 1, z: 1 },
        cluster: Dim3::SINGLE_ELEMENT,
        block: Dim3 { x: WARPS * 16, y: 1, z: 1 },
        shared_bytes: 0,
        registers: 32,
        app: AppId(0),
        stream: StreamId(0),
        after: Vec::new(),
        programmatic: None,
        shared_base: Addr(0),
        local_base: Addr(0),
        gpu: None,
        copy: None,
    };
    let kernels = vec![Kernel { info, source: Arc::new(FixedWorkload(Arc::new(program))) }];
    Arc::new(Workload {
        name: "bench".into(),
        commands: vec![Command::Launch(KernelIndex(0))],
        kernels,
        applications: Vec::new(),
        notes: Vec::new(),
        homes: Vec::new(),
    })
}

/// Runs both CTAs to their end with a memory that replies immediately; returns active cycles and loads.
fn run(machine: &Machine, workload: &Arc<Workload>) -> (u64, u64) {
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(Arc::from(vec![route; 6]), vec![0], 1);
    let mut sm = Sm::new(SmId(0), machine, Arc::clone(workload), PORTS);
    for cta in 0..2 {
        sm.deliver(
            PORTS.from_grid,
            Cycle(0),
            &Payload::Launch(CtaLaunch {
                kernel: KernelIndex(0),
                cta: CtaIndex(cta),
                share: u16::MAX,
                resumes: false,
                cluster: NO_CLUSTER,
                rank: 0,
                waits: false,
                triggers: false,
            }),
        );
    }
    let (mut now, mut done) = (0, 0);
    while done < 2 {
        now += EPOCH_CYCLES;
        sm.run(Cycle(now), true, &mut out);
        for sent in std::mem::take(out.batch(0)) {
            match sent.payload {
                Payload::Mem(_) => {
                    sm.deliver(PORTS.from_reply_net, Cycle(now), &sent.payload);
                    sm.deliver(PORTS.request_credit, Cycle(now), &Payload::Credit(Credit { queue: 0, count: 1 }));
                }
                Payload::CtaDone(_) => done += 1,
                _ => {}
            }
        }
    }
    (sm.stats().sm.active_cycles, sm.stats().kernels[0].load_instructions)
}

fn sm(criterion: &mut Criterion) {
    let machine = warpshard::catalogue().machine("v100", &[]).unwrap().machine;
    let arithmetic = workload(|builder| (0..INSTRUCTIONS).for_each(|i| builder.op(i % 8, LaneMask::FULL)));
    let loads =
        workload(|builder| (0..u64::from(INSTRUCTIONS / 4)).for_each(|i| builder.affine(8, LaneMask::FULL, (1 << 20) + i % 16 * 128, 4)));
    let mut group = criterion.benchmark_group("sm of the v100");
    group.sample_size(20);
    group.throughput(Throughput::Elements(run(&machine, &arithmetic).0));
    group.bench_function("active cycles, 64 warps of arithmetic", |bencher| bencher.iter(|| black_box(run(&machine, &arithmetic))));
    group.throughput(Throughput::Elements(run(&machine, &loads).1));
    group.bench_function("coalesced loads", |bencher| bencher.iter(|| black_box(run(&machine, &loads))));
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().without_plots(); targets = sm }
criterion_main!(benches);
