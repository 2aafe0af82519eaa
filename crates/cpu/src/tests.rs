//! Tests of the core as a unit: results do not depend on the spans in which it is run, with few credits and replies in parts.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, ClockDomain, CpuId, Cycle, LinkId, PortId, Rng, SectorMask, Tick, UnitId};
use warpshard_config::cpu::CpuSpec;
use warpshard_cpu_load::{CpuInst, CpuOp, CpuStream, ListStream, ProfileStream, builtin_profile};
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{Credit, Event, MemOp, MemPacket, Outbox, Payload};

use super::{CpuCore, CpuGoals, CpuPorts, CpuSample, machine_addr};

const END_CYCLE: u64 = 40_000;

/// The spans in which the core is run.
#[derive(Clone, Copy, Debug)]
enum SpanLengths {
    Each,
    Random(u64),
    /// Spans as in the engine: spans without events are run late, or settled.
    Events,
}

fn test_stream(name: &str) -> CpuStream {
    if name == "mixed" {
        let ops = [CpuOp::Load, CpuOp::Store, CpuOp::WriteBack, CpuOp::Load];
        let inst = |i: u64| CpuInst {
            bubbles: [0, 40, 0, 3, 200][i as usize % 5],
            addr: Addr(i * 3 % 1024 * 128),
            op: ops[i as usize % 4],
            dependent: i.is_multiple_of(3),
        };
        return CpuStream::List(ListStream::new((0..60).map(inst).collect()));
    }
    CpuStream::Profile(ProfileStream::new(&builtin_profile(name).unwrap(), 9, 0))
}

/// Simulates a core. Reads get replies after a latency that depends on the address, sector by sector for every third line, and credits
/// return 20 cycles after each request. Returns the samples at some cycles, the events, and all requests.
fn simulate(name: &str, spec: &CpuSpec, spans: SpanLengths) -> (Vec<CpuSample>, Vec<Event>, Vec<(Cycle, MemPacket)>) {
    let [request, reply_credit, reply, request_credit] = [0, 1, 2, 3].map(LinkId);
    let ports = CpuPorts {
        to_request_net: request,
        reply_credit,
        from_reply_net: reply,
        request_credit,
        port: PortId(4),
        credits: 6,
        write_credits: None,
        reply_queue: 64,
        map: None,
    };
    let clock = ClockDomain { period: 3 };
    let route = Route { to: UnitId(1), from_clock: clock, to_clock: clock, latency: Tick(3) };
    let mut out = Outbox::new(Arc::from([route, route]), vec![0, 0], 1);
    out.set_sender(UnitId(0), clock);
    let goals = CpuGoals { warm: Some(1_000), measured: Some(5_001) };
    let mut core = CpuCore::new(CpuId(2), spec, test_stream(name), goals, ports);
    let mut coming: VecDeque<(u64, LinkId, Payload)> = VecDeque::new();
    let (mut samples, mut requests) = (Vec::new(), Vec::new());
    let mut rng = Rng::keyed(1, &[7]);
    let mut now = 0;
    while now < END_CYCLE {
        // Requests sent from this cycle on get no reply within ten cycles.
        let longest = 10 - now % 10;
        let span = match spans {
            SpanLengths::Each => 1,
            SpanLengths::Random(seed) => 1 + (rng.next_u64() ^ seed) % longest,
            SpanLengths::Events => longest,
        };
        let until = now + span;
        coming.make_contiguous().sort_by_key(|(at, ..)| *at);
        while coming.front().is_some_and(|(at, ..)| *at < until) {
            let (at, link, payload) = coming.pop_front().unwrap();
            core.deliver(link, Cycle(at), &payload);
        }
        if !(matches!(spans, SpanLengths::Events) && core.next_event() >= Cycle(until)) {
            core.run(Cycle(until), !matches!(spans, SpanLengths::Each), &mut out);
        }
        for sent in std::mem::take(out.batch(0)) {
            let at = sent.arrival(Cycle(until)).0 - 1;
            let Payload::Mem(packet) = sent.payload else { continue };
            requests.push((Cycle(at), packet));
            coming.push_back((at + 20, request_credit, Payload::Credit(Credit { queue: 0, count: 1 })));
            let answer = at + 11 + packet.addr.0 / 128 % 90;
            let pieces = packet.op == MemOp::Read && packet.addr.0 / 128 % 3 == 0;
            for sector in packet.sectors().iter().filter(|_| pieces) {
                let piece = MemPacket {
                    addr: Addr(packet.addr.line().0 + u64::from(sector) * 32),
                    part: packet.part.with(SectorMask(1 << sector)),
                    ..packet
                };
                coming.push_back((answer + u64::from(sector), reply, Payload::Mem(piece)));
            }
            if !pieces {
                coming.push_back((answer, reply, Payload::Mem(packet)));
            }
        }
        now = until;
        if now.is_multiple_of(1000) {
            core.settle(Cycle(now));
            samples.push(core.sample());
        }
    }
    (samples, std::mem::take(out.events()), requests)
}

#[test]
fn nothing_depends_on_how_the_span_is_cut() {
    let unfiltered = CpuSpec::kayiran_2014();
    for name in ["mixed", "mcf", "gromacs", "lbm", "xalan"] {
        for spec in [unfiltered.clone(), CpuSpec { caches: None, ..unfiltered.clone() }, CpuSpec::ramulator()] {
            let expected = simulate(name, &spec, SpanLengths::Each);
            assert_eq!(expected.1.len(), 2, "{name}: both goals are told once");
            assert!(expected.2.len() > 5, "{name}: {} requests", expected.2.len());
            for spans in [SpanLengths::Random(0), SpanLengths::Random(0x1234_5678_9abc), SpanLengths::Events] {
                assert!(simulate(name, &spec, spans) == expected, "{name} {spans:?} {spec:?}");
            }
        }
    }
}

#[test]
fn cores_have_private_address_spaces() {
    let addrs = [0, 4096, (1 << 48) - 128].map(Addr);
    for core in 0..64 {
        for addr in addrs {
            let placed = machine_addr(CpuId(core), addr);
            assert_eq!(placed.0 >> 48, u64::from(core) + 1);
            assert_eq!(placed.0 % 8192, addr.0 % 8192, "the place within a page stays");
        }
    }
    assert_eq!(machine_addr(CpuId(0), Addr(4096)).0 & ((1 << 48) - 1), 4096);
}

#[test]
fn a_waiting_core_reports_the_cause() {
    let list = vec![CpuInst { bubbles: 0, addr: Addr(0), op: CpuOp::Load, dependent: true }];
    let ports = CpuPorts {
        to_request_net: LinkId(0),
        reply_credit: LinkId(1),
        from_reply_net: LinkId(2),
        request_credit: LinkId(3),
        port: PortId(0),
        credits: 1,
        write_credits: None,
        reply_queue: 64,
        map: None,
    };
    let mut core = CpuCore::new(CpuId(0), &CpuSpec::ramulator(), CpuStream::List(ListStream::new(list)), CpuGoals::default(), ports);
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(Arc::from([route, route]), vec![0], 1);
    core.run(Cycle(1000), true, &mut out);
    assert_eq!(core.next_event(), Cycle::NEVER);
    let waiting = core.waiting();
    assert!(waiting.len() == 1 && waiting[0].contains("128 of 128 instructions in the window at cycle 1000"), "{waiting:?}");
    assert_eq!(core.sample().counters.window_full_cycles, 1000 - 128);
}
