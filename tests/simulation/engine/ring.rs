//! A toy machine for the engine: nodes on a ring, alternately on a fast and a slow clock, forward tokens to the next node. A token keeps
//! its node busy for a while. After a number of rounds, node 0 removes the token.

use std::sync::{Arc, Mutex};

use warpshard::base::{ClockDomain, Cycle, Frequency, LinkId, Tick, TimeBase, UnitId};
use warpshard::engine::{
    Cut, CutEvent, Director, EngineError, EngineFacts, EngineResult, Latency, Outbox, Plan, PlannedUnit, Settings, StopReason, Unit,
    retime, run,
};
use warpshard::stats::{CounterInfo, CounterVisitor};

#[derive(Clone, Debug)]
pub(crate) struct Ring {
    pub(crate) nodes: u16,
    pub(crate) tokens: u32,
    pub(crate) rounds: u32,
    /// Link latency in cycles of the reference clock.
    pub(crate) latency: u64,
    pub(crate) nodes_per_shard: u16,
    pub(crate) interval: Option<u64>,
    /// `true` if a controller makes nodes work faster when a token is removed.
    pub(crate) react: bool,
    pub(crate) stop_after: Option<(u64, warpshard::sync::StopFlag)>,
    pub(crate) lose_token_at: Option<u32>,
    pub(crate) panic_at: Option<u32>,
    /// `true` if node 3 sends messages with a time in the past.
    pub(crate) send_into_past: bool,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            nodes: 12,
            tokens: 6,
            rounds: 20,
            latency: 9,
            nodes_per_shard: 1,
            interval: None,
            react: false,
            stop_after: None,
            lose_token_at: None,
            panic_at: None,
            send_into_past: false,
        }
    }
}

/// A cut, and the hops that each node had counted.
pub(crate) type SeenCut = (u64, Vec<u64>);

/// A token in flight: link, low half of the arrival, number of the token.
pub(crate) type LoggedToken = (u16, u32, u32);

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize, warpshard::state::State)]
pub(crate) struct RingToken {
    id: u32,
    hops_left: u32,
}

/// Events that nodes report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, warpshard::state::State)]
pub(crate) enum NodeEvent {
    /// A token has made all its rounds.
    TakenOut,
    /// The last token has made all its rounds.
    LastTakenOut,
}

static HOPS_COUNTER: CounterInfo = CounterInfo { name: "hops", unit: "tokens", help: "Tokens handled." };

#[derive(Clone, Debug, PartialEq, Eq, warpshard::state::State)]
pub(crate) struct NodeStats {
    pub(crate) hops: u64,
    pub(crate) busy: u64,
    pub(crate) idle: u64,
    pub(crate) cycles: u64,
    /// Hash of all events of the node, in order.
    pub(crate) history: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) nodes: Vec<NodeStats>,
    pub(crate) cuts: Vec<SeenCut>,
    pub(crate) at: u64,
    pub(crate) reason: StopReason,
    pub(crate) late: u64,
}

#[derive(warpshard::state::State)]
pub(crate) struct RingNode {
    id: u16,
    now: Cycle,
    queue: Vec<(Cycle, RingToken)>,
    work: Option<(Cycle, RingToken)>,
    next_link: LinkId,
    work_cycles: u64,
    left: u32,
    start: u32,
    lose: Option<u32>,
    panic_at: Option<u32>,
    back_dated: u64,
    handled: u32,
    /// Tokens that the last node has yet to remove.
    outstanding: u32,
    stats: NodeStats,
}

impl RingNode {
    fn advance_to(&mut self, at: Cycle) {
        let span = at.0.saturating_sub(self.now.0);
        if self.work.is_some() {
            self.stats.busy += span;
        } else {
            self.stats.idle += span;
        }
        self.stats.cycles += span;
        self.now = self.now.max(at);
    }

    fn note(&mut self, value: u64) {
        self.stats.history = (self.stats.history ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(17) ^ self.now.0;
    }

    fn step(&mut self, out: &mut Outbox<RingToken, NodeEvent>) {
        if self.start > 0 && self.now.0.is_multiple_of(5) {
            self.queue.push((self.now, RingToken { id: self.start, hops_left: self.left }));
            self.start -= 1;
        }
        if let Some((done, mut token)) = self.work
            && done == self.now
        {
            self.work = None;
            self.handled += 1;
            self.stats.hops += 1;
            self.note(u64::from(token.id) << 32 | u64::from(token.hops_left));
            assert!(self.panic_at != Some(self.handled), "node {} broke on token {}", self.id, token.id);
            token.hops_left -= 1;
            if self.lose == Some(self.handled) {
                return;
            }
            if token.hops_left == 0 {
                out.event(self.now, NodeEvent::TakenOut);
                self.outstanding -= 1;
                if self.outstanding == 0 {
                    out.event(self.now, NodeEvent::LastTakenOut);
                }
            } else {
                out.send(self.next_link, Cycle(self.now.0.saturating_sub(self.back_dated)), token);
            }
        }
        if self.work.is_none()
            && let Some(index) =
                (0..self.queue.len()).filter(|&i| self.queue[i].0 <= self.now).min_by_key(|&i| (self.queue[i].0, self.queue[i].1.id))
        {
            let (_, token) = self.queue.remove(index);
            self.work = Some((self.now.after(self.work_cycles + u64::from(token.id % 3)), token));
        }
    }
}

impl Unit for RingNode {
    type Payload = RingToken;
    type Event = NodeEvent;
    type Decision = u64;

    fn deliver(&mut self, _: LinkId, at: Cycle, token: &RingToken) {
        self.queue.push((at, *token));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox<RingToken, NodeEvent>) {
        while self.now < until {
            if skip && self.next_event() > self.now {
                self.advance_to(self.next_event().min(until));
                continue;
            }
            self.step(out);
            self.advance_to(self.now.after(1));
        }
    }

    fn next_event(&self) -> Cycle {
        let start = if self.start > 0 { Cycle(self.now.0.next_multiple_of(5)) } else { Cycle::NEVER };
        let work = self.work.map_or(Cycle::NEVER, |(done, _)| done);
        let queue = if self.work.is_some() { None } else { self.queue.iter().map(|(at, _)| *at).min() };
        start.min(work).min(queue.unwrap_or(Cycle::NEVER)).max(self.now)
    }

    fn settle(&mut self, at: Cycle) {
        self.advance_to(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("node", u32::from(self.id));
        visitor.counter(&HOPS_COUNTER, self.stats.hops);
    }

    fn apply(&mut self, at: Cycle, decision: &u64) {
        assert_eq!(at, self.now);
        self.work_cycles = *decision;
        self.note(*decision);
    }

    fn waiting(&self) -> Vec<String> {
        if self.id == 0 { vec!["waits for 1 tokens".into()] } else { Vec::new() }
    }
}

#[derive(Default, warpshard::state::State)]
pub(crate) struct RingDirector {
    interval: Option<u64>,
    react: bool,
    tokens: u32,
    nodes: u16,
    #[state(fixed)]
    stop_after: Option<(u64, warpshard::sync::StopFlag)>,
    #[state(fixed)]
    cuts: Arc<Mutex<Vec<SeenCut>>>,
}

impl RingDirector {
    pub(crate) fn seen_cuts(&self) -> Vec<SeenCut> {
        self.cuts.lock().unwrap().clone()
    }
}

impl Director<RingNode> for RingDirector {
    fn next_cut(&self, now: Cycle) -> Option<Cycle> {
        self.interval.map(|interval| Cycle((now.0 / interval + 1) * interval))
    }

    fn causes_cut(&self, kind: NodeEvent) -> bool {
        kind == NodeEvent::LastTakenOut || self.react
    }

    fn is_over(&mut self, events: &[CutEvent<NodeEvent>]) -> bool {
        events.iter().any(|event| event.kind == NodeEvent::LastTakenOut)
    }

    fn at_cut(&mut self, cut: &Cut<'_, NodeEvent>) -> Vec<(UnitId, u64)> {
        self.cuts.lock().unwrap().push((cut.at.0, cut.counters.concat()));
        if let Some((after, stop)) = &self.stop_after
            && cut.at.0 >= *after
        {
            stop.request();
        }
        if !self.react || cut.events.is_empty() {
            return Vec::new();
        }
        self.tokens = self.tokens.saturating_sub(cut.events.len() as u32);
        (0..self.nodes).map(|node| (UnitId(node), 2 + u64::from(self.tokens) % 4)).collect()
    }
}

impl Ring {
    pub(crate) fn expected_hops(&self) -> u64 {
        u64::from(self.tokens) * u64::from(self.hops_per_token())
    }

    fn hops_per_token(&self) -> u32 {
        self.rounds * u32::from(self.nodes)
    }

    pub(crate) fn lookahead(&self) -> u64 {
        retime(&self.plan()).unwrap().lookahead
    }

    fn plan(&self) -> Plan<RingNode> {
        let base = TimeBase::of(&[Frequency::mhz(1400), Frequency::mhz(1000)]).unwrap();
        let clocks: [ClockDomain; 2] = [base.domain(Frequency::mhz(1400)), base.domain(Frequency::mhz(1000))];
        let mut plan = Plan::new(clocks[0]);
        for id in 0..self.nodes {
            let unit = RingNode {
                id,
                now: Cycle(0),
                queue: Vec::new(),
                work: None,
                next_link: LinkId(id),
                work_cycles: 3 + u64::from(id % 4),
                left: self.hops_per_token(),
                start: if id == 0 { self.tokens } else { 0 },
                lose: self.lose_token_at.filter(|_| id == 3),
                panic_at: self.panic_at.filter(|_| id == 3),
                back_dated: if self.send_into_past && id == 3 { 200 } else { 0 },
                handled: 0,
                outstanding: self.tokens,
                stats: NodeStats { hops: 0, busy: 0, idle: 0, cycles: 0, history: 0 },
            };
            plan.add_unit(PlannedUnit {
                name: format!("node{id}"),
                unit,
                clock: clocks[usize::from(id % 2)],
                kind: "node",
                shard: u32::from(id / self.nodes_per_shard),
                cost: 1.0,
                part: 0,
            });
        }
        for id in 0..self.nodes {
            // The latencies are uneven, so that retiming has an effect.
            let latency = if self.latency == 0 { 0 } else { (self.latency + u64::from(id % 5) * 7) * clocks[0].period };
            plan.add_link(UnitId(id), UnitId((id + 1) % self.nodes), Latency::Fixed(Tick(latency)));
        }
        plan
    }

    fn execute(&self, settings: &Settings) -> Result<(EngineResult<RingNode, RingDirector>, Vec<SeenCut>), EngineError> {
        let director = RingDirector {
            interval: self.interval,
            react: self.react,
            tokens: self.tokens,
            nodes: self.nodes,
            stop_after: self.stop_after.clone(),
            cuts: Arc::default(),
        };
        let cuts = Arc::clone(&director.cuts);
        let finished = run(self.plan(), director, settings)?;
        let cuts = cuts.lock().unwrap().clone();
        Ok((finished, cuts))
    }

    pub(crate) fn run(&self, settings: &Settings) -> Result<Snapshot, EngineError> {
        let (finished, cuts) = self.execute(settings)?;
        Ok(Snapshot {
            nodes: finished.units.into_iter().map(|node| node.stats).collect(),
            cuts,
            at: finished.at.0,
            reason: finished.reason,
            late: finished.late.count,
        })
    }

    /// Returns the engine's statistics of a run.
    pub(crate) fn engine_facts(&self, settings: &Settings) -> EngineFacts {
        self.execute(settings).unwrap().0.host
    }

    /// Returns the number of epochs of a run.
    pub(crate) fn epochs(&self, settings: &Settings) -> u64 {
        self.engine_facts(settings).epochs
    }

    /// Returns the number of changes of the active workers.
    pub(crate) fn worker_changes(&self, settings: &Settings) -> u64 {
        self.engine_facts(settings).worker_changes
    }

    /// Returns the sent and the delivered messages as (link, low half of the arrival, token), sorted.
    pub(crate) fn message_log(&self, settings: &Settings) -> (Vec<LoggedToken>, Vec<LoggedToken>) {
        let (finished, _) = self.execute(settings).unwrap();
        let sorted = |log: &[warpshard::engine::LoggedMessage<RingToken>]| {
            let mut log: Vec<_> = log.iter().map(|m| (m.link.0, m.at as u32, m.payload.id)).collect();
            log.sort_unstable();
            log
        };
        (sorted(&finished.log.sent), sorted(&finished.log.delivered))
    }
}
