//! The SM-to-SM network of clusters: reads, writes and arrivals in the shared memory of other CTAs (distributed shared memory), and the
//! cluster barrier.
//!
//! Input: messages of SMs. Output: their deliveries and completions. The network knows the SM of each CTA of a cluster, because CTAs
//! announce themselves when they start; messages for a CTA that has not started wait for it. An access passes the requester's port on the
//! way out, and the port of the other SM or of the requester on the way back. Each port serves one access after the other, at the rates of
//! `gpu.cluster`. Shared memory itself adds no delay: the network uses at most a fifth of the rate of its banks.
//!
//! An SM has a bounded number of accesses in flight, and all other messages are notices of a CTA or of one instruction, so no credits are
//! needed.
//!
//! Source of the rates: our measurement of an H100 (`gpu.cluster.*`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;

use warpshard_base::{Cycle, LinkId, SmId};
use warpshard_config::machine::Cluster as Spec;
use warpshard_engine::Unit;
use warpshard_protocol::{EventKind, Outbox, Payload, PeerOp, PeerPacket};
use warpshard_stats::{CounterVisitor, counters};

/// The largest number of CTAs in a cluster.
const MAX_CLUSTER_CTAS: usize = 16;
/// Bytes of a sector, the unit of accesses; also the fractions of a cycle in which port time is counted. A sector takes as many fractions
/// as 1 KiB takes cycles.
const PARTS_PER_CYCLE: u64 = 32;

counters! {
    /// Counters of the SM-to-SM network of clusters.
    pub struct PeerCounters {
        peer_ctas: "CTAs", "CTAs of clusters that started.";
        peer_reads: "accesses", "Reads of shared memory of other CTAs of a cluster, including atomics: one per warp instruction and CTA.";
        peer_writes: "accesses", "Writes to shared memory of other CTAs of a cluster, including copies.";
        peer_sectors: "sectors", "Sectors of accesses and messages to shared memory of other CTAs of a cluster.";
        peer_arrivals: "messages", "Arrivals at barriers in shared memory of other CTAs of a cluster.";
        cluster_barriers: "barriers", "Cluster barriers that opened.";
    }
}

/// The links of the network: one to and one from each SM, with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct PeerPorts {
    /// The link from SM 0.
    pub first_from_sm: LinkId,
    /// The link to SM 0.
    pub first_to_sm: LinkId,
}

/// A cluster with a running CTA.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct ClusterState {
    /// The number of CTAs in the cluster.
    size: u8,
    /// The SM of each CTA that has started, by rank.
    sms: [Option<SmId>; MAX_CLUSTER_CTAS],
    /// CTAs that ended, and CTAs that wait at the barrier, as sets.
    ended_ctas: u16,
    ctas_at_barrier: u16,
    /// Messages for CTAs that had not started.
    early_messages: Vec<PeerPacket>,
}

/// A step of a message through the network.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum PeerStep {
    /// The message leaves for an SM.
    Deliver { to: SmId },
    /// A read reaches the SM that holds the data, which replies.
    Reply { other: SmId },
    /// Replies return to the requester; the last of them left the other SM at time `left`.
    Return { left: u64 },
    /// Stores reach an SM; the last of them left the requester at time `left`.
    Store { to: SmId, left: u64 },
}

/// The times at which the two ports of an SM become free, in fractions of a cycle.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct SmPortTimes {
    out: u64,
    into: u64,
}

/// Reserves a port for `parts` fractions of a cycle, not before `at`; returns the start and the end.
fn reserve_port(port: &mut u64, at: u64, parts: u64) -> (u64, u64) {
    let begins = at.max(*port);
    *port = begins + parts;
    (begins, *port)
}

/// The SM-to-SM network of a GPU.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct PeerNet {
    #[state(fixed)]
    spec: Spec,
    links: PeerPorts,
    present: Cycle,
    /// Messages of each SM, with their cycles of arrival.
    arrivals: Box<[VecDeque<(Cycle, PeerPacket)>]>,
    /// The cycle of the next arrival from each SM with messages in flight.
    next: BTreeSet<(Cycle, u16)>,
    ports: Box<[SmPortTimes]>,
    running_clusters: BTreeMap<u16, ClusterState>,
    /// Scheduled steps, by cycle and in the order of scheduling, each with its time in fractions of a cycle.
    steps: BTreeMap<(Cycle, u64), (u64, PeerStep, PeerPacket)>,
    scheduled_steps: u64,
    counters: PeerCounters,
}

impl PeerNet {
    /// Returns the network of a GPU with `sms` SMs, at cycle 0.
    pub fn new(spec: &Spec, sms: usize, links: PeerPorts) -> Self {
        Self {
            spec: spec.clone(),
            links,
            present: Cycle(0),
            arrivals: vec![VecDeque::new(); sms].into(),
            next: BTreeSet::new(),
            ports: vec![SmPortTimes::default(); sms].into(),
            running_clusters: BTreeMap::new(),
            steps: BTreeMap::new(),
            scheduled_steps: 0,
            counters: PeerCounters::default(),
        }
    }

    /// Schedules a step at a time in fractions of a cycle.
    fn schedule(&mut self, at: u64, step: PeerStep, packet: PeerPacket) {
        let cycle = if matches!(step, PeerStep::Deliver { .. }) { at.div_ceil(PARTS_PER_CYCLE) } else { at / PARTS_PER_CYCLE };
        self.steps.insert((Cycle(cycle).max(self.present), self.scheduled_steps), (at, step, packet));
        self.scheduled_steps += 1;
    }

    fn receive(&mut self, packet: PeerPacket) {
        let PeerPacket { cluster, from, rank, op, amount, .. } = packet;
        let running = self.running_clusters.entry(cluster).or_default();
        match op {
            PeerOp::CtaStarted => {
                self.counters.peer_ctas += 1;
                running.size = amount as u8;
                running.sms[usize::from(rank) % MAX_CLUSTER_CTAS] = Some(from);
                let early = std::mem::take(&mut running.early_messages);
                early.into_iter().for_each(|packet| self.receive(packet));
            }
            PeerOp::CtaEnded => {
                running.ended_ctas |= 1 << rank;
                if running.ended_ctas.count_ones() == u32::from(running.size) {
                    self.running_clusters.remove(&cluster);
                } else {
                    self.open_barrier(cluster);
                }
            }
            PeerOp::BarrierArrived => {
                running.ctas_at_barrier |= 1 << rank;
                self.open_barrier(cluster);
            }
            PeerOp::Read | PeerOp::Write | PeerOp::Arrive | PeerOp::Send => match running.sms[usize::from(rank) % MAX_CLUSTER_CTAS] {
                Some(to) => self.start_transfer(packet, to),
                None => running.early_messages.push(packet),
            },
            PeerOp::BarrierOpened | PeerOp::Done => unreachable!("{from} sent a message that only the network sends"),
        }
    }

    /// Opens the barrier of a cluster once all its running CTAs have arrived.
    fn open_barrier(&mut self, cluster: u16) {
        let Some(running) = self.running_clusters.get_mut(&cluster) else { return };
        let all = ((1u32 << running.size) - 1) as u16;
        if running.ctas_at_barrier == 0
            || (running.ctas_at_barrier | running.ended_ctas) & all != all
            || running.sms.iter().flatten().count() < running.size.into()
        {
            return;
        }
        running.ctas_at_barrier = 0;
        self.counters.cluster_barriers += 1;
        let (gone, sms) = (running.ended_ctas, running.sms);
        for (rank, sm) in (0u8..).zip(sms) {
            if let Some(sm) = sm.filter(|_| gone >> rank & 1 == 0) {
                let packet = PeerPacket { cluster, rank, op: PeerOp::BarrierOpened, ..PeerPacket::default() };
                self.schedule(self.present.0 * PARTS_PER_CYCLE, PeerStep::Deliver { to: sm }, packet);
            }
        }
    }

    /// Starts the transfer of an access or arrival to the SM on which its CTA runs.
    fn start_transfer(&mut self, packet: PeerPacket, to: SmId) {
        let Spec { request, store, hop, .. } = self.spec;
        let (sectors, now, hop) = (sectors_of(&packet), self.present.0 * PARTS_PER_CYCLE, u64::from(hop) * PARTS_PER_CYCLE);
        let out = &mut self.ports[packet.from.index()].out;
        match packet.op {
            PeerOp::Read => {
                self.counters.peer_reads += 1;
                let (leaves, _) = reserve_port(out, now, sectors * u64::from(request));
                self.schedule(leaves + hop, PeerStep::Reply { other: to }, packet);
            }
            PeerOp::Arrive => {
                let (leaves, _) = reserve_port(out, now, u64::from(request));
                self.schedule(leaves + hop, PeerStep::Deliver { to }, packet);
            }
            _ => {
                self.counters.peer_writes += 1;
                let (leaves, left) = reserve_port(out, now, sectors * u64::from(store));
                self.schedule(leaves + hop, PeerStep::Store { to, left }, packet);
            }
        }
        self.counters.peer_sectors += sectors;
        self.counters.peer_arrivals += u64::from(matches!(packet.op, PeerOp::Arrive | PeerOp::Send));
    }

    /// Executes a step of an access or message.
    fn step(&mut self, at: u64, step: PeerStep, packet: PeerPacket, out: &mut Outbox) {
        let Spec { reply, receive, accept, hop, .. } = self.spec;
        let (sectors, hop) = (sectors_of(&packet), u64::from(hop) * PARTS_PER_CYCLE);
        let done = PeerPacket { op: PeerOp::Done, ..packet };
        match step {
            PeerStep::Deliver { to } => out.send(LinkId(self.links.first_to_sm.0 + to.0), self.present, Payload::Peer(packet)),
            PeerStep::Reply { other } => {
                let (leaves, left) = reserve_port(&mut self.ports[other.index()].out, at, sectors * u64::from(reply));
                self.schedule(leaves + hop, PeerStep::Return { left }, packet);
            }
            PeerStep::Return { left } => {
                let (_, here) = reserve_port(&mut self.ports[packet.from.index()].into, at, sectors * u64::from(receive));
                self.schedule(here.max(left + hop), PeerStep::Deliver { to: packet.from }, done);
            }
            PeerStep::Store { to, left } => {
                let (_, here) = reserve_port(&mut self.ports[to.index()].into, at, sectors * u64::from(accept));
                let here = here.max(left + hop);
                if packet.op == PeerOp::Send {
                    self.schedule(here, PeerStep::Deliver { to }, PeerPacket { op: PeerOp::Arrive, ..packet });
                } else {
                    self.schedule(here + hop, PeerStep::Deliver { to: packet.from }, done);
                }
            }
        }
    }
}

/// Returns the number of data sectors that a packet represents.
fn sectors_of(packet: &PeerPacket) -> u64 {
    match packet.op {
        PeerOp::Send => u64::from(packet.bytes.unsigned_abs().div_ceil(PARTS_PER_CYCLE as u32)),
        PeerOp::Arrive => 0,
        _ => packet.amount.into(),
    }
}

impl Unit for PeerNet {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        let Payload::Peer(packet) = *payload else { panic!("network of clusters: {payload:?} came on {link} at {at}") };
        let sm = link.0 - self.links.first_from_sm.0;
        let queue = &mut self.arrivals[usize::from(sm)];
        if queue.is_empty() {
            self.next.insert((at, sm));
        }
        queue.push_back((at, packet));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.present < until {
            if skip {
                self.present = self.next_event().min(until);
                if self.present == until {
                    return;
                }
            }
            while let Some((_, sm)) = self.next.first().copied().filter(|(at, _)| *at <= self.present) {
                self.next.pop_first();
                let queue = &mut self.arrivals[usize::from(sm)];
                let packet = queue.pop_front();
                if let Some((at, _)) = queue.front() {
                    self.next.insert((*at, sm));
                }
                if let Some((_, packet)) = packet {
                    self.receive(packet);
                }
            }
            while let Some(first) = self.steps.first_entry().filter(|entry| entry.key().0 <= self.present) {
                let (at, step, packet) = first.remove();
                self.step(at, step, packet, out);
            }
            self.present = self.present.after(1);
        }
    }

    fn next_event(&self) -> Cycle {
        let arrival = self.next.first().map_or(Cycle::NEVER, |(at, _)| *at);
        let step = self.steps.keys().next().map_or(Cycle::NEVER, |(at, _)| *at);
        arrival.min(step).max(self.present)
    }

    // No counter spans several cycles, so there is nothing to count.
    fn settle(&mut self, at: Cycle) {
        self.present = self.present.max(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("peers", 0);
        visitor.counters(&self.counters);
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (cluster, running) in &self.running_clusters {
            let here = running.sms.iter().flatten().count();
            let (met, gone) = (running.ctas_at_barrier.count_ones(), running.ended_ctas.count_ones());
            let early = running.early_messages.len();
            lines.push(format!(
                "cluster {cluster} of {} CTAs: {here} started, {gone} ended, {met} at its barrier, {early} messages for CTAs that have not started",
                running.size
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpshard_base::{ClockDomain, Tick, UnitId};
    use warpshard_engine::Route;

    use super::*;

    const SM_COUNT: u16 = 4;
    /// The latency of a link in cycles.
    const LINK_LATENCY: u64 = 10;

    /// A network of four SMs, and the messages that reach them.
    struct PeerBench {
        net: PeerNet,
        out: Outbox,
        received_messages: Vec<(u64, u16, PeerPacket)>,
    }

    impl PeerBench {
        /// Returns a network with cluster 7, which has one CTA on each of `ctas` SMs.
        fn new(ctas: u16) -> Self {
            let spec = Spec { hop: 20, request: 20, reply: 40, receive: 48, store: 50, accept: 27, ..Spec::default() };
            let links = PeerPorts { first_from_sm: LinkId(0), first_to_sm: LinkId(SM_COUNT) };
            let clock = ClockDomain { period: 1 };
            let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(LINK_LATENCY) };
            let out = Outbox::new(Arc::from(vec![route; 2 * usize::from(SM_COUNT)]), vec![0], 1);
            let mut bench = Self { net: PeerNet::new(&spec, SM_COUNT.into(), links), out, received_messages: Vec::new() };
            for sm in 0..ctas {
                bench.send(0, sm, PeerPacket { op: PeerOp::CtaStarted, rank: sm as u8, amount: ctas.into(), ..PeerPacket::default() });
            }
            bench
        }

        fn send(&mut self, at: u64, sm: u16, packet: PeerPacket) {
            let packet = PeerPacket { cluster: 7, from: SmId(sm), ..packet };
            self.net.deliver(LinkId(sm), Cycle(at), &Payload::Peer(packet));
        }

        fn run(&mut self, until: u64, skip: bool) -> &mut Self {
            self.net.run(Cycle(until), skip, &mut self.out);
            for sent in self.out.batch(0).drain(..) {
                let Payload::Peer(packet) = sent.payload else { panic!("{:?}", sent.payload) };
                self.received_messages.push((sent.arrival(Cycle(until)).0 - LINK_LATENCY, sent.link.0 - SM_COUNT, packet));
            }
            self
        }
    }

    /// Runs accesses of whole warps, 16 bytes per lane, by the SMs `requesters`, each with eight in flight, until all are done. Returns the
    /// bytes per cycle and SM.
    fn access_rate(ctas: u16, requesters: std::ops::Range<u16>, op: PeerOp, of: impl Fn(u16) -> u8) -> f64 {
        const ACCESSES_PER_SM: u64 = 300;
        let mut bench = PeerBench::new(ctas);
        let access = |sm| PeerPacket { op, rank: of(sm), amount: 16, ..PeerPacket::default() };
        requesters.clone().for_each(|sm| (0..8).for_each(|_| bench.send(1, sm, access(sm))));
        let (mut now, mut seen) = (1, 0);
        while seen < ACCESSES_PER_SM as usize * requesters.len() {
            now += 1;
            bench.run(now, false);
            for at in std::mem::replace(&mut seen, bench.received_messages.len())..bench.received_messages.len() {
                let (_, sm, _) = bench.received_messages[at];
                bench.send(now, sm, access(sm));
            }
        }
        (512 * ACCESSES_PER_SM) as f64 / (now - 40) as f64
    }

    #[test]
    fn accesses_have_the_rates_of_an_h100() {
        let near = |rate: f64, measured: f64| assert!((rate / measured - 1.0).abs() < 0.03, "{rate} for {measured} bytes per cycle");
        // The cases: two SMs read each other; one SM reads; three SMs read one; two SMs store to each other; three SMs store to one.
        near(access_rate(2, 0..2, PeerOp::Read, |sm| 1 - sm as u8), 17.07);
        near(access_rate(2, 1..2, PeerOp::Read, |_| 0), 21.4);
        near(3.0 * access_rate(4, 1..4, PeerOp::Read, |_| 0), 25.6);
        near(access_rate(2, 0..2, PeerOp::Write, |sm| 1 - sm as u8), 20.4);
        near(3.0 * access_rate(4, 1..4, PeerOp::Write, |_| 0), 38.2);
    }

    #[test]
    fn a_read_takes_two_hops_and_an_arrival_one() {
        for skip in [false, true] {
            let mut bench = PeerBench::new(2);
            bench.send(100, 0, PeerPacket { op: PeerOp::Read, rank: 1, amount: 1, token: 5, ..PeerPacket::default() });
            bench.send(200, 0, PeerPacket { op: PeerOp::Arrive, rank: 1, amount: 2, address: 64, ..PeerPacket::default() });
            bench.send(300, 1, PeerPacket { op: PeerOp::Send, rank: 0, bytes: -64, address: 8, ..PeerPacket::default() });
            let received: Vec<_> =
                bench.run(1000, skip).received_messages.iter().map(|(at, sm, packet)| (*at, *sm, packet.op, packet.token)).collect();
            // A sector passes the last port in 1.5 cycles; two sectors leave the first port in 3.1 cycles.
            let expected = [(142, 0, PeerOp::Done, 5), (220, 1, PeerOp::Arrive, 0), (324, 0, PeerOp::Arrive, 0)];
            assert_eq!(received, expected, "{skip}");
        }
    }

    #[test]
    fn messages_for_a_cta_that_has_not_started_wait_for_it() {
        let mut bench = PeerBench::new(0);
        bench.send(0, 0, PeerPacket { op: PeerOp::CtaStarted, rank: 0, amount: 2, ..PeerPacket::default() });
        bench.send(10, 0, PeerPacket { op: PeerOp::Arrive, rank: 1, amount: 1, ..PeerPacket::default() });
        bench.send(11, 0, PeerPacket { op: PeerOp::BarrierArrived, rank: 0, ..PeerPacket::default() });
        assert!(bench.run(500, true).received_messages.is_empty());
        assert_eq!(
            bench.net.waiting(),
            ["cluster 7 of 2 CTAs: 1 started, 0 ended, 1 at its barrier, 1 messages for CTAs that have not started"]
        );
        bench.send(600, 3, PeerPacket { op: PeerOp::CtaStarted, rank: 1, amount: 2, ..PeerPacket::default() });
        bench.send(700, 3, PeerPacket { op: PeerOp::BarrierArrived, rank: 1, ..PeerPacket::default() });
        let received: Vec<_> = bench.run(1000, true).received_messages.iter().map(|(at, sm, packet)| (*at, *sm, packet.op)).collect();
        assert_eq!(received, [(620, 3, PeerOp::Arrive), (700, 0, PeerOp::BarrierOpened), (700, 3, PeerOp::BarrierOpened)]);
        // A CTA that ends no longer waits at the barrier; with the last CTA the network removes the cluster.
        bench.send(1100, 0, PeerPacket { op: PeerOp::CtaEnded, rank: 0, ..PeerPacket::default() });
        bench.send(1200, 3, PeerPacket { op: PeerOp::BarrierArrived, rank: 1, ..PeerPacket::default() });
        bench.send(1300, 3, PeerPacket { op: PeerOp::CtaEnded, rank: 1, ..PeerPacket::default() });
        let last = bench.run(2000, true).received_messages.last().map(|(at, sm, packet)| (*at, *sm, packet.op));
        assert_eq!((last, bench.net.waiting().len()), (Some((1200, 3, PeerOp::BarrierOpened)), 0));
    }
}
