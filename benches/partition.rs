//! Host time per sector in a memory partition of the V100: reads that hit, and reads that always miss.
//!
//! `cargo bench --bench partition`. The benchmark runs one partition with its two slices and its channel. Hits arrive at one sector per
//! slice and cycle; misses run as fast as the channel's queues allow. The budget of a slice's hot state is 24 KB, so that the times hold
//! when 64 slices share a cache.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use warpshard::base::{Addr, ClockDomain, Cycle, KernelIndex, LinkId, PartitionId, PortId, SectorMask, Tick, UnitId};
use warpshard::config::Machine;
use warpshard::engine::{Route, Unit};
use warpshard::mem::{Partition, PartitionPorts};
use warpshard::protocol::{Credit, MemOp, MemPacket, Outbox, PacketPart, Payload};

const SECTORS: u64 = 8192;
const EPOCH_CYCLES: u64 = 40;
const PORTS: PartitionPorts =
    PartitionPorts { request_in: LinkId(0), credit_out: LinkId(10), reply_out: LinkId(20), credit_in: LinkId(30), from_grid: LinkId(40) };

/// Returns the addresses of the first partition's sectors, from 0 on.
fn partition_addresses(machine: &Machine, count: usize) -> Vec<Addr> {
    let all = (0..).map(|sector| Addr(sector * 32));
    all.filter(|addr| u32::from(machine.mem.map.slice_of(*addr).0) < machine.mem.map.slices_per_partition).take(count).collect()
}

/// A partition under test, with its outbox and its current cycle.
struct PartitionReader {
    partition: Partition,
    out: Outbox,
    now: u64,
}

impl PartitionReader {
    fn new(machine: &Machine) -> Self {
        let (llc, dram) = (ClockDomain { period: 425 }, ClockDomain { period: 566 });
        let route = Route { to: UnitId(0), from_clock: llc, to_clock: llc, latency: Tick(llc.period) };
        let out = Outbox::new(Arc::from(vec![route; 40]), vec![0], 1);
        Self { partition: Partition::new(PartitionId(0), machine, llc, dram, PORTS), out, now: 0 }
    }

    fn read(&mut self, machine: &Machine, addresses: &[Addr], per_epoch: usize) -> u64 {
        let (mut answered, mut groups) = (0, addresses.chunks(per_epoch));
        while answered < addresses.len() as u64 {
            for (nth, addr) in groups.next().unwrap_or_default().iter().enumerate() {
                let slice = machine.mem.map.slice_of(*addr);
                let (part, port) = (PacketPart::new(KernelIndex(0), SectorMask::of(*addr)), PortId(0));
                let packet = MemPacket { addr: *addr, token: 0, bytes: u32::MAX, port, slice, part, op: MemOp::Read };
                let at = self.now + nth as u64 * EPOCH_CYCLES / per_epoch as u64;
                self.partition.deliver(LinkId(PORTS.request_in.0 + slice.0), Cycle(at), &Payload::Mem(packet));
            }
            self.now += EPOCH_CYCLES;
            self.partition.run(Cycle(self.now), true, &mut self.out);
            for sent in std::mem::take(self.out.batch(0)) {
                if let Payload::Mem(packet) = sent.payload {
                    answered += 1;
                    let link = LinkId(PORTS.credit_in.0 + packet.slice.0);
                    self.partition.deliver(link, Cycle(self.now), &Payload::Credit(Credit { queue: packet.slice.0, count: 1 }));
                }
            }
        }
        self.now
    }
}

fn partition(criterion: &mut Criterion) {
    let machine = warpshard::catalogue().machine("v100", &[]).unwrap().machine;
    let mut group = criterion.benchmark_group("partition of the v100");
    group.sample_size(20);
    group.throughput(Throughput::Elements(SECTORS));
    let few = partition_addresses(&machine, 512);
    let hits: Vec<Addr> = few.iter().cycle().take(SECTORS as usize).copied().collect();
    let mut reader = PartitionReader::new(&machine);
    reader.read(&machine, &few, 20);
    group.bench_function("sectors that hit", |bencher| bencher.iter(|| reader.read(&machine, black_box(&hits), 60)));
    let misses = partition_addresses(&machine, SECTORS as usize);
    group.bench_function("sectors that miss", |bencher| {
        bencher.iter_batched_ref(
            || PartitionReader::new(&machine),
            |reader| reader.read(&machine, black_box(&misses), 20),
            criterion::BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().without_plots(); targets = partition }
criterion_main!(benches);
