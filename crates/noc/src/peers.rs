//! The network between the SMs of clusters: reads, writes and arrivals in the shared memory of other CTAs (distributed shared memory), and the
//! barrier of a cluster.
//!
//! In: messages of SMs. Out: what becomes of them. The network knows on which SM each CTA of a cluster runs, since CTAs say so when they start; what
//! is for a CTA that has not started waits for it. An access passes the requester's port on its way out, and the port of the other SM or the requester's
//! own on its way back; each port passes one after the other, with the rates of `gpu.cluster`. Shared memory itself answers at once: its banks see at
//! most a fifth of their rate from here.
//!
//! An SM has a bounded number of accesses under way, and everything else is a notice of a CTA or of one instruction, so nothing here needs credits.
//!
//! Source of the rates: our measurement of an H100 (`gpu.cluster.*`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;

use warpshard_base::{Cycle, LinkId, SmId};
use warpshard_config::machine::Cluster as Spec;
use warpshard_engine::Unit;
use warpshard_protocol::{EventKind, Outbox, Payload, PeerOp, PeerPacket};
use warpshard_stats::{CounterVisitor, counters};

/// Most CTAs of a cluster.
const MOST: usize = 16;
/// Bytes of a sector, of which accesses consist, and parts of a cycle in which a port counts: a sector takes as many of them as 1 KiB takes cycles.
const PARTS: u64 = 32;

counters! {
    /// Counters of the network between the SMs of clusters.
    pub struct PeerCounters {
        peer_ctas: "CTAs", "CTAs of clusters that started.";
        peer_reads: "accesses", "Reads of shared memory of other CTAs of a cluster, atomics included: one for each warp instruction and CTA.";
        peer_writes: "accesses", "Writes to shared memory of other CTAs of a cluster, copies included.";
        peer_sectors: "sectors", "Sectors of both.";
        peer_arrivals: "messages", "Arrivals at barriers in shared memory of other CTAs of a cluster.";
        cluster_barriers: "barriers", "Barriers of clusters that opened.";
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

/// A cluster of which a CTA runs.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct Running {
    /// Its CTAs.
    size: u8,
    /// The SM of each CTA that has started, by rank.
    sms: [Option<SmId>; MOST],
    /// CTAs that ended, and those that wait at the barrier, as sets.
    gone: u16,
    met: u16,
    /// What came for CTAs that had not started.
    early: Vec<PeerPacket>,
}

/// A step on the way of a message.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum Step {
    /// A message leaves for an SM.
    Leave { to: SmId },
    /// A request is at the SM that is read, which answers.
    Answer { other: SmId },
    /// Answers come back, of which the last left the other SM at a part of a cycle.
    Return { left: u64 },
    /// Stores come to an SM, of which the last left the other one at a part of a cycle.
    Bring { to: SmId, left: u64 },
}

/// When the ports of an SM are free, in parts of a cycle.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Port {
    out: u64,
    into: u64,
}

/// Takes a port for so many parts of a cycle from `at` on; returns from when until when.
fn take(port: &mut u64, at: u64, parts: u64) -> (u64, u64) {
    let begins = at.max(*port);
    *port = begins + parts;
    (begins, *port)
}

/// The network.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct PeerNet {
    #[state(fixed)]
    spec: Spec,
    links: PeerPorts,
    present: Cycle,
    /// What each SM sent, with the cycle in which it is here.
    arrivals: Box<[VecDeque<(Cycle, PeerPacket)>]>,
    /// The next cycle in which something arrives from each SM that has sent something.
    next: BTreeSet<(Cycle, u16)>,
    ports: Box<[Port]>,
    running: BTreeMap<u16, Running>,
    /// What happens, by cycle and in the order in which it was decided; each with its part of a cycle.
    steps: BTreeMap<(Cycle, u64), (u64, Step, PeerPacket)>,
    decided: u64,
    counters: PeerCounters,
}

impl PeerNet {
    /// The network of a GPU with so many SMs, at cycle 0.
    pub fn new(spec: &Spec, sms: usize, links: PeerPorts) -> Self {
        Self {
            spec: spec.clone(),
            links,
            present: Cycle(0),
            arrivals: vec![VecDeque::new(); sms].into(),
            next: BTreeSet::new(),
            ports: vec![Port::default(); sms].into(),
            running: BTreeMap::new(),
            steps: BTreeMap::new(),
            decided: 0,
            counters: PeerCounters::default(),
        }
    }

    /// Something happens at a part of a cycle.
    fn follow(&mut self, at: u64, step: Step, packet: PeerPacket) {
        let cycle = if matches!(step, Step::Leave { .. }) { at.div_ceil(PARTS) } else { at / PARTS };
        self.steps.insert((Cycle(cycle).max(self.present), self.decided), (at, step, packet));
        self.decided += 1;
    }

    fn hear(&mut self, packet: PeerPacket) {
        let PeerPacket { cluster, from, rank, op, amount, .. } = packet;
        let running = self.running.entry(cluster).or_default();
        match op {
            PeerOp::Here => {
                self.counters.peer_ctas += 1;
                running.size = amount as u8;
                running.sms[usize::from(rank) % MOST] = Some(from);
                let early = std::mem::take(&mut running.early);
                early.into_iter().for_each(|packet| self.hear(packet));
            }
            PeerOp::Gone => {
                running.gone |= 1 << rank;
                if running.gone.count_ones() == u32::from(running.size) {
                    self.running.remove(&cluster);
                } else {
                    self.meet(cluster);
                }
            }
            PeerOp::Meet => {
                running.met |= 1 << rank;
                self.meet(cluster);
            }
            PeerOp::Read | PeerOp::Write | PeerOp::Arrive | PeerOp::Send => match running.sms[usize::from(rank) % MOST] {
                Some(to) => self.pass(packet, to),
                None => running.early.push(packet),
            },
            PeerOp::Met | PeerOp::Done => unreachable!("{from} sent what only the network sends"),
        }
    }

    /// The barrier of a cluster opens when all its CTAs that run are at it.
    fn meet(&mut self, cluster: u16) {
        let Some(running) = self.running.get_mut(&cluster) else { return };
        let all = ((1u32 << running.size) - 1) as u16;
        if running.met == 0 || (running.met | running.gone) & all != all || running.sms.iter().flatten().count() < running.size.into() {
            return;
        }
        running.met = 0;
        self.counters.cluster_barriers += 1;
        let (gone, sms) = (running.gone, running.sms);
        for (rank, sm) in (0u8..).zip(sms) {
            if let Some(sm) = sm.filter(|_| gone >> rank & 1 == 0) {
                let packet = PeerPacket { cluster, rank, op: PeerOp::Met, ..PeerPacket::default() };
                self.follow(self.present.0 * PARTS, Step::Leave { to: sm }, packet);
            }
        }
    }

    /// An access or arrival begins its way to the SM where its CTA runs.
    fn pass(&mut self, packet: PeerPacket, to: SmId) {
        let Spec { request, store, hop, .. } = self.spec;
        let (sectors, now, hop) = (sectors_of(&packet), self.present.0 * PARTS, u64::from(hop) * PARTS);
        let out = &mut self.ports[packet.from.index()].out;
        match packet.op {
            PeerOp::Read => {
                self.counters.peer_reads += 1;
                let (leaves, _) = take(out, now, sectors * u64::from(request));
                self.follow(leaves + hop, Step::Answer { other: to }, packet);
            }
            PeerOp::Arrive => {
                let (leaves, _) = take(out, now, u64::from(request));
                self.follow(leaves + hop, Step::Leave { to }, packet);
            }
            _ => {
                self.counters.peer_writes += 1;
                let (leaves, left) = take(out, now, sectors * u64::from(store));
                self.follow(leaves + hop, Step::Bring { to, left }, packet);
            }
        }
        self.counters.peer_sectors += sectors;
        self.counters.peer_arrivals += u64::from(matches!(packet.op, PeerOp::Arrive | PeerOp::Send));
    }

    /// A step of the way of an access or message.
    fn step(&mut self, at: u64, step: Step, packet: PeerPacket, out: &mut Outbox) {
        let Spec { reply, receive, accept, hop, .. } = self.spec;
        let (sectors, hop) = (sectors_of(&packet), u64::from(hop) * PARTS);
        let done = PeerPacket { op: PeerOp::Done, ..packet };
        match step {
            Step::Leave { to } => out.send(LinkId(self.links.first_to_sm.0 + to.0), self.present, Payload::Peer(packet)),
            Step::Answer { other } => {
                let (leaves, left) = take(&mut self.ports[other.index()].out, at, sectors * u64::from(reply));
                self.follow(leaves + hop, Step::Return { left }, packet);
            }
            Step::Return { left } => {
                let (_, here) = take(&mut self.ports[packet.from.index()].into, at, sectors * u64::from(receive));
                self.follow(here.max(left + hop), Step::Leave { to: packet.from }, done);
            }
            Step::Bring { to, left } => {
                let (_, here) = take(&mut self.ports[to.index()].into, at, sectors * u64::from(accept));
                let here = here.max(left + hop);
                if packet.op == PeerOp::Send {
                    self.follow(here, Step::Leave { to }, PeerPacket { op: PeerOp::Arrive, ..packet });
                } else {
                    self.follow(here + hop, Step::Leave { to: packet.from }, done);
                }
            }
        }
    }
}

/// Sectors of data that a packet stands for.
fn sectors_of(packet: &PeerPacket) -> u64 {
    match packet.op {
        PeerOp::Send => u64::from(packet.bytes.unsigned_abs().div_ceil(PARTS as u32)),
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
                    self.hear(packet);
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

    // No counter spans time.
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
        for (cluster, running) in &self.running {
            let here = running.sms.iter().flatten().count();
            let (met, gone) = (running.met.count_ones(), running.gone.count_ones());
            let early = running.early.len();
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

    const SMS: u16 = 4;
    /// The latency of a link.
    const LINK: u64 = 10;

    /// A network of four SMs, and what comes to them.
    struct Bench {
        net: PeerNet,
        out: Outbox,
        heard: Vec<(u64, u16, PeerPacket)>,
    }

    impl Bench {
        /// Cluster 7 with a CTA on each of so many SMs.
        fn new(ctas: u16) -> Self {
            let spec = Spec { hop: 20, request: 20, reply: 40, receive: 48, store: 50, accept: 27, ..Spec::default() };
            let links = PeerPorts { first_from_sm: LinkId(0), first_to_sm: LinkId(SMS) };
            let clock = ClockDomain { period: 1 };
            let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(LINK) };
            let out = Outbox::new(Arc::from(vec![route; 2 * usize::from(SMS)]), vec![0], 1);
            let mut bench = Self { net: PeerNet::new(&spec, SMS.into(), links), out, heard: Vec::new() };
            for sm in 0..ctas {
                bench.send(0, sm, PeerPacket { op: PeerOp::Here, rank: sm as u8, amount: ctas.into(), ..PeerPacket::default() });
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
                self.heard.push((sent.arrival(Cycle(until)).0 - LINK, sent.link.0 - SMS, packet));
            }
            self
        }
    }

    /// Accesses of whole warps, 16 bytes a lane, by SMs of `askers`, each with eight under way until all are done; bytes of each in a cycle.
    fn rate(ctas: u16, askers: std::ops::Range<u16>, op: PeerOp, of: impl Fn(u16) -> u8) -> f64 {
        const TIMES: u64 = 300;
        let mut bench = Bench::new(ctas);
        let access = |sm| PeerPacket { op, rank: of(sm), amount: 16, ..PeerPacket::default() };
        askers.clone().for_each(|sm| (0..8).for_each(|_| bench.send(1, sm, access(sm))));
        let (mut now, mut seen) = (1, 0);
        while seen < TIMES as usize * askers.len() {
            now += 1;
            bench.run(now, false);
            for at in std::mem::replace(&mut seen, bench.heard.len())..bench.heard.len() {
                let (_, sm, _) = bench.heard[at];
                bench.send(now, sm, access(sm));
            }
        }
        (512 * TIMES) as f64 / (now - 40) as f64
    }

    #[test]
    fn accesses_have_the_rates_of_an_h100() {
        let near = |rate: f64, measured: f64| assert!((rate / measured - 1.0).abs() < 0.03, "{rate} for {measured} bytes per cycle");
        // Two that read each other; one alone; three that read one; stores; stores of three to one.
        near(rate(2, 0..2, PeerOp::Read, |sm| 1 - sm as u8), 17.07);
        near(rate(2, 1..2, PeerOp::Read, |_| 0), 21.4);
        near(3.0 * rate(4, 1..4, PeerOp::Read, |_| 0), 25.6);
        near(rate(2, 0..2, PeerOp::Write, |sm| 1 - sm as u8), 20.4);
        near(3.0 * rate(4, 1..4, PeerOp::Write, |_| 0), 38.2);
    }

    #[test]
    fn a_read_takes_two_hops_and_an_arrival_one() {
        for skip in [false, true] {
            let mut bench = Bench::new(2);
            bench.send(100, 0, PeerPacket { op: PeerOp::Read, rank: 1, amount: 1, token: 5, ..PeerPacket::default() });
            bench.send(200, 0, PeerPacket { op: PeerOp::Arrive, rank: 1, amount: 2, address: 64, ..PeerPacket::default() });
            bench.send(300, 1, PeerPacket { op: PeerOp::Send, rank: 0, bytes: -64, address: 8, ..PeerPacket::default() });
            let heard: Vec<_> = bench.run(1000, skip).heard.iter().map(|(at, sm, packet)| (*at, *sm, packet.op, packet.token)).collect();
            // A sector passes the last port in 1.5 cycles; two sectors leave in 3.1.
            let expected = [(142, 0, PeerOp::Done, 5), (220, 1, PeerOp::Arrive, 0), (324, 0, PeerOp::Arrive, 0)];
            assert_eq!(heard, expected, "{skip}");
        }
    }

    #[test]
    fn what_is_for_a_cta_that_has_not_started_waits_for_it() {
        let mut bench = Bench::new(0);
        bench.send(0, 0, PeerPacket { op: PeerOp::Here, rank: 0, amount: 2, ..PeerPacket::default() });
        bench.send(10, 0, PeerPacket { op: PeerOp::Arrive, rank: 1, amount: 1, ..PeerPacket::default() });
        bench.send(11, 0, PeerPacket { op: PeerOp::Meet, rank: 0, ..PeerPacket::default() });
        assert!(bench.run(500, true).heard.is_empty());
        assert_eq!(
            bench.net.waiting(),
            ["cluster 7 of 2 CTAs: 1 started, 0 ended, 1 at its barrier, 1 messages for CTAs that have not started"]
        );
        bench.send(600, 3, PeerPacket { op: PeerOp::Here, rank: 1, amount: 2, ..PeerPacket::default() });
        bench.send(700, 3, PeerPacket { op: PeerOp::Meet, rank: 1, ..PeerPacket::default() });
        let heard: Vec<_> = bench.run(1000, true).heard.iter().map(|(at, sm, packet)| (*at, *sm, packet.op)).collect();
        assert_eq!(heard, [(620, 3, PeerOp::Arrive), (700, 0, PeerOp::Met), (700, 3, PeerOp::Met)]);
        // One that ends waits no more; with the last the network forgets the cluster.
        bench.send(1100, 0, PeerPacket { op: PeerOp::Gone, rank: 0, ..PeerPacket::default() });
        bench.send(1200, 3, PeerPacket { op: PeerOp::Meet, rank: 1, ..PeerPacket::default() });
        bench.send(1300, 3, PeerPacket { op: PeerOp::Gone, rank: 1, ..PeerPacket::default() });
        let last = bench.run(2000, true).heard.last().map(|(at, sm, packet)| (*at, *sm, packet.op));
        assert_eq!((last, bench.net.waiting().len()), (Some((1200, 3, PeerOp::Met)), 0));
    }
}
