//! A chip of mock SMs around the grid scheduler. Each SM starts bound CTAs in order, at most one per cycle, when they fit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use warpshard_base::{Addr, AppId, ClockDomain, CtaIndex, Cycle, KernelIndex, LinkId, SmId, StreamId, Tick, UnitId};
use warpshard_config::machine::{CtaOrder, Dispatch, InFlightPolicy, Machine, Sharing, Switch};
use warpshard_engine::{Route, Unit};
use warpshard_protocol::{CtaLaunch, CtaNotice, Event, EventKind, Outbox, Payload};
use warpshard_state::{Reader, StateError, Writer};
use warpshard_workload::{Command, CtaProgram, CtaSource, Dim3, Kernel, KernelInfo, MixedApplication, Workload, mix};

use super::super::capacity::Capacity;
use super::super::clusters::ClusterLauncher;
use super::super::{Grid, GridDecision, GridPorts};

/// The amount of each resource of a mock SM, divisible by 1 to 6.
const SM_RESOURCE_AMOUNT: u32 = 60;

/// A kernel of the mock chip.
#[derive(Clone, Copy)]
pub(super) struct MockKernel {
    pub(super) stream: u64,
    pub(super) ctas: u32,
    pub(super) resident: u32,
    /// Run time of a CTA in cycles.
    pub(super) cycles: fn(u32) -> u64,
    /// The application.
    pub(super) app: u16,
}

#[derive(Debug)]
struct NoInstructions;

impl CtaSource for NoInstructions {
    fn cta(&self, _index: CtaIndex) -> Arc<CtaProgram> {
        Arc::default()
    }

    fn save(&self, _: &mut Writer) {}

    fn load(&self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn mock_kernel_info(i: usize, job: &MockKernel) -> KernelInfo {
    KernelInfo {
        name: format!("job{i}"),
        id: i as u64 + 1,
        grid: Dim3 { x: job.ctas, y: 1, z: 1 },
        cluster: Dim3::SINGLE_ELEMENT,
        block: Dim3 { x: 32, y: 1, z: 1 },
        shared_bytes: 0,
        registers: 16,
        app: AppId(0),
        stream: StreamId(job.stream),
        after: Vec::new(),
        programmatic: None,
        shared_base: Addr(0),
        local_base: Addr(0),
        gpu: None,
        copy: None,
    }
}

/// Returns a workload of one copy and the kernels in order.
pub(super) fn workload_of(infos: Vec<KernelInfo>) -> Arc<Workload> {
    let mut commands = vec![Command::CopyToDevice { addr: Addr(0), bytes: 4 }];
    commands.extend((0..infos.len()).map(|i| Command::Launch(KernelIndex(i as u32))));
    let kernels = infos.into_iter().map(|info| Kernel { info, source: Arc::new(NoInstructions) }).collect();
    Arc::new(Workload { name: "mock".to_owned(), commands, kernels, applications: Vec::new(), notes: Vec::new(), homes: Vec::new() })
}

/// Returns a workload with the kernels and the priority of each application, by application number; with `again`, applications that end
/// start again.
fn workload_of_apps(jobs: &[MockKernel], priorities: &[i32], again: bool) -> Arc<Workload> {
    let part = |(app, priority): (usize, &i32)| {
        let own = jobs.iter().enumerate().filter(|(_, job)| usize::from(job.app) == app);
        let workload = workload_of(own.map(|(i, job)| mock_kernel_info(i, job)).collect());
        MixedApplication { workload: (*workload).clone(), priority: *priority }
    };
    Arc::new(mix(priorities.iter().enumerate().map(part).collect(), again).unwrap())
}

/// Returns a dispatch configuration with latency 5, launch latency 20 and one CTA bound ahead.
pub(super) fn dispatch_spec() -> Dispatch {
    Dispatch {
        latency: 5,
        ahead: 1,
        order: Vec::new(),
        cta_order: CtaOrder::Rotating,
        ctas_per_cycle: 0,
        cta_interval: 0,
        warp_interval: 0,
        launch_latency: 20,
        max_kernels: 8,
        share_sm: false,
        sharing: Sharing::LeftOver,
        switch: Switch::Time,
        under_way: InFlightPolicy::Awaited,
    }
}

#[derive(Clone, Default)]
struct MockSm {
    arrivals: VecDeque<(u64, CtaLaunch)>,
    bound: VecDeque<CtaLaunch>,
    running: Vec<(u64, CtaLaunch)>,
    /// Cycles in which CTAs trigger the dependent launch.
    triggers: Vec<(u64, CtaNotice)>,
    /// The cycle in which the stores of ended CTAs are acknowledged.
    stores_until: Option<u64>,
    limit: Option<usize>,
    /// True if the SM returns all its CTAs in the next cycle.
    returns_ctas: bool,
}

/// Order and granularity of stepping the chip; the results do not depend on it.
#[derive(Clone, Copy)]
pub(super) struct Stepping {
    /// Cycles between two exchanges of messages, at most the latency.
    pub(super) span: u64,
    pub(super) skip: bool,
    /// The SM whose messages are delivered first.
    pub(super) first_sm: usize,
}

pub(super) const EVERY_CYCLE: Stepping = Stepping { span: 1, skip: false, first_sm: 0 };

/// Lifetime of a CTA: its SM, start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lifetime {
    pub(super) sm: u16,
    pub(super) start: u64,
    pub(super) end: u64,
}

pub(super) struct MockChip {
    pub(super) grid: Grid,
    jobs: Vec<MockKernel>,
    sms: Vec<MockSm>,
    out: Outbox,
    pub(super) now: u64,
    /// Lifetimes of CTAs by (kernel, CTA).
    pub(super) lifetimes: BTreeMap<(u32, u32), Lifetime>,
    pub(super) events: Vec<(u64, EventKind)>,
    /// Maximum number of CTAs of each kernel that ran on an SM at the same time as CTAs of other kernels.
    pub(super) max_sharing: BTreeMap<u32, usize>,
    /// Maximum number of CTAs, bound or running, that each SM held.
    pub(super) max_held: Vec<usize>,
    /// Cycles from the start of a CTA until it triggers the dependent launch, if the trigger is awaited.
    trigger: Option<fn(u32) -> u64>,
    /// Cycles from the end of a CTA of the first kernel until its stores are acknowledged.
    pub(super) stores: Option<u64>,
    /// CTAs that were sent and whose warps wait for the preceding launch, by (kernel, CTA).
    pub(super) waiting: BTreeSet<(u32, u32)>,
    /// The cycle in which each SM is notified that a dependency is met, the SM, and the kernel.
    pub(super) met_dependencies: Vec<(u64, u16, u32)>,
}

impl MockChip {
    pub(super) fn new(sms: usize, spec: &Dispatch, jobs: &[MockKernel]) -> Self {
        Self::with_workload(sms, spec, workload_of(jobs.iter().enumerate().map(|(i, job)| mock_kernel_info(i, job)).collect()), jobs)
    }

    /// Creates a chip that the applications of the jobs share; the jobs are in application order.
    pub(super) fn with_applications(sms: usize, spec: &Dispatch, jobs: &[MockKernel], priorities: &[i32], again: bool) -> Self {
        assert!(jobs.is_sorted_by_key(|job| job.app));
        let all = if again { [jobs, jobs].concat() } else { jobs.to_vec() };
        Self::with_workload(sms, spec, workload_of_apps(jobs, priorities, again), &all)
    }

    /// Creates a chip whose jobs, except the first, are programmatic dependent launches; their CTAs trigger `trigger` cycles after their
    /// start.
    pub(super) fn with_dependents(sms: usize, spec: &Dispatch, jobs: &[MockKernel], trigger: Option<fn(u32) -> u64>) -> Self {
        let infos = jobs.iter().enumerate().map(|(i, job)| KernelInfo {
            programmatic: i.checked_sub(1).map(|before| KernelIndex(before as u32)),
            ..mock_kernel_info(i, job)
        });
        Self { trigger, ..Self::with_workload(sms, spec, workload_of(infos.collect()), jobs) }
    }

    /// Creates a chip on which no application starts again and the launches of the last application arrive in the cycles of `arrivals`.
    pub(super) fn with_arrivals(sms: usize, spec: &Dispatch, jobs: &[MockKernel], priorities: &[i32], arrivals: &[u64]) -> Self {
        let mut workload = (*workload_of_apps(jobs, priorities, false)).clone();
        workload.applications.last_mut().unwrap().arrivals = arrivals.iter().map(|cycle| Cycle(*cycle)).collect();
        Self::with_workload(sms, spec, Arc::new(workload), jobs)
    }

    /// Creates a chip with the SMs of a machine, whose only kernel is launched in clusters of `size` CTAs.
    pub(super) fn with_clusters(machine: &Machine, job: &MockKernel, size: u32) -> Self {
        let workload = workload_of(vec![KernelInfo { cluster: Dim3 { x: size, ..Dim3::SINGLE_ELEMENT }, ..mock_kernel_info(0, job) }]);
        let (sms, spec) = (machine.gpu.sms, dispatch_spec());
        let mut chip = Self::with_workload(sms as usize, &spec, Arc::clone(&workload), &[*job]);
        let dispatch = chip.grid.dispatch.clone();
        chip.grid.dispatch = dispatch.with_clusters(ClusterLauncher::of(&machine.gpu.cluster, sms, &workload));
        chip
    }

    fn with_workload(sms: usize, spec: &Dispatch, workload: Arc<Workload>, jobs: &[MockKernel]) -> Self {
        let clock = ClockDomain { period: 1 };
        let route = |to: usize| Route { to: UnitId(to as u16), from_clock: clock, to_clock: clock, latency: Tick(spec.latency) };
        let routes: Vec<Route> = (0..sms).map(|sm| route(1 + sm)).chain((0..sms).map(|_| route(0))).collect();
        let worker_of = (0..=sms).map(|unit| u16::from(unit > 0)).collect();
        let ports = GridPorts {
            first_to_sm: LinkId(0),
            first_from_sm: LinkId(sms as u16),
            first_to_partition: LinkId(0),
            partitions: 0,
            system: None,
        };
        let capacity = Capacity {
            sm_resources: [SM_RESOURCE_AMOUNT; 5],
            needs: jobs.iter().map(|job| [SM_RESOURCE_AMOUNT / job.resident.max(1); 5]).collect(),
            resident: jobs.iter().map(|job| job.resident).collect(),
        };
        Self {
            grid: Grid::build(sms as u32, spec, workload, capacity, ports),
            jobs: jobs.to_vec(),
            sms: vec![MockSm::default(); sms],
            out: Outbox::new(routes.into(), worker_of, 2),
            now: 0,
            lifetimes: BTreeMap::new(),
            max_sharing: BTreeMap::new(),
            events: Vec::new(),
            max_held: vec![0; sms],
            trigger: None,
            stores: None,
            waiting: BTreeSet::new(),
            met_dependencies: Vec::new(),
        }
    }

    /// Limits the CTAs of an SM as a controller does: at the grid scheduler and at the SM.
    pub(super) fn limit_ctas(&mut self, sm: u16, limit: u32) {
        self.grid.settle(Cycle(self.now));
        self.grid.apply(Cycle(self.now), &GridDecision::CtaLimit { sm: SmId(sm), limit });
        self.sms[usize::from(sm)].limit = Some(limit as usize);
    }

    /// Steps the chip up to `until`, or up to the exchange after the end of the run.
    pub(super) fn run(&mut self, until: u64, how: Stepping) -> &mut Self {
        while self.now < until && !self.events.iter().any(|event| event.1 == EventKind::RunEnded) {
            let next = (self.now + how.span).min(until);
            for cycle in self.now..next {
                (0..self.sms.len()).for_each(|sm| self.step_sm(sm, cycle));
            }
            self.grid.run(Cycle(next), how.skip, &mut self.out);
            self.exchange(how, next);
            self.now = next;
        }
        self
    }

    fn exchange(&mut self, how: Stepping, now: u64) {
        for sent in self.out.batch(1).drain(..) {
            let (at, sm) = (sent.arrival(Cycle(now)).0, sent.link.index());
            match sent.payload {
                Payload::Launch(launch) => {
                    self.sms[sm].arrivals.push_back((at, launch));
                    if launch.waits {
                        self.waiting.insert((launch.kernel.0, launch.cta.0));
                    }
                }
                Payload::DependencyMet(kernel) => self.met_dependencies.push((at, sm as u16, kernel.0)),
                other => panic!("the grid sends {other:?} to an SM"),
            }
        }
        let sms = self.sms.len();
        let mut words: Vec<_> = self.out.batch(0).drain(..).collect();
        words.sort_by_key(|sent| (sent.link.index() + sms - how.first_sm) % sms);
        for sent in words {
            self.grid.deliver(sent.link, sent.arrival(Cycle(now)), &sent.payload);
        }
        self.events.extend(self.out.events().drain(..).map(|Event { at, kind, .. }| (at.0, kind)));
    }

    fn step_sm(&mut self, id: usize, cycle: u64) {
        let (sm, jobs) = (&mut self.sms[id], &self.jobs);
        while sm.arrivals.front().is_some_and(|arrival| arrival.0 == cycle) {
            sm.bound.extend(sm.arrivals.pop_front().map(|arrival| arrival.1));
        }
        self.max_held[id] = self.max_held[id].max(sm.bound.len() + sm.running.len());
        let link = LinkId((self.max_held.len() + id) as u16);
        let notice = |launch: CtaLaunch| CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: SmId(id as u16) };
        let out = &mut self.out;
        if std::mem::take(&mut sm.returns_ctas) {
            for launch in sm.bound.drain(..) {
                out.send(link, Cycle(cycle), Payload::CtaReturned(notice(launch)));
            }
            sm.triggers.clear();
            for (_, launch) in sm.running.drain(..) {
                self.lifetimes.remove(&(launch.kernel.0, launch.cta.0));
                out.send(link, Cycle(cycle), Payload::CtaPreempted(notice(launch)));
            }
        }
        sm.triggers.retain(|&(at, notice)| {
            if at == cycle {
                out.send(link, Cycle(cycle), Payload::CtaTriggered(notice));
            }
            at != cycle
        });
        if sm.stores_until.take_if(|until| *until == cycle).is_some() {
            out.send(link, Cycle(cycle), Payload::StoresAcknowledged(SmId(id as u16)));
        }
        let (stores, stores_until) = (self.stores, &mut sm.stores_until);
        sm.running.retain(|&(end, launch)| {
            if end == cycle {
                if let Some(stores) = stores.filter(|_| launch.kernel == KernelIndex(0))
                    && stores_until.replace(cycle + stores).is_none()
                {
                    out.send(link, Cycle(cycle), Payload::StoresPending(SmId(id as u16)));
                }
                out.send(link, Cycle(cycle), Payload::CtaDone(notice(launch)));
            }
            end != cycle
        });
        let share = |launch: &CtaLaunch| SM_RESOURCE_AMOUNT / jobs[launch.kernel.index()].resident;
        let used: u32 = sm.running.iter().map(|(_, launch)| share(launch)).sum();
        let allowed = sm.limit.is_none_or(|limit| sm.running.len() < limit);
        let of = |running: &[(u64, CtaLaunch)], kernel| running.iter().filter(|(_, launch)| launch.kernel == kernel).count();
        let next = sm.bound.iter().position(|launch| of(&sm.running, launch.kernel) < usize::from(launch.share));
        let next = next.filter(|at| allowed && used + share(&sm.bound[*at]) <= SM_RESOURCE_AMOUNT);
        if let Some(launch) = next.and_then(|at| sm.bound.remove(at)) {
            let end = cycle + (jobs[launch.kernel.index()].cycles)(launch.cta.0);
            sm.running.push((end, launch));
            if let Some(trigger) = self.trigger.filter(|_| launch.triggers) {
                sm.triggers.push((cycle + trigger(launch.cta.0), notice(launch)));
            }
            if sm.running.iter().any(|(_, other)| other.kernel != launch.kernel) {
                let most = self.max_sharing.entry(launch.kernel.0).or_default();
                *most = (*most).max(of(&sm.running, launch.kernel));
            }
            let life = Lifetime { sm: id as u16, start: cycle, end };
            let before = self.lifetimes.insert((launch.kernel.0, launch.cta.0), life);
            let again = launch.kernel.index() >= self.grid.workload.first_launches();
            assert!(before.is_none() || again, "a CTA starts once");
            out.send(link, Cycle(cycle), Payload::CtaStarted(notice(launch)));
        }
    }

    /// Makes an SM return all its CTAs.
    pub(super) fn return_ctas(&mut self, sm: u16) {
        self.sms[usize::from(sm)].returns_ctas = true;
    }

    /// Applies a decision about the grid scheduler.
    pub(super) fn apply_decision(&mut self, decision: &GridDecision) {
        self.grid.settle(Cycle(self.now));
        self.grid.apply(Cycle(self.now), decision);
    }

    /// Returns the start cycles of the CTAs of a kernel, in CTA order.
    pub(super) fn start_cycles(&self, kernel: u32) -> Vec<u64> {
        self.lifetimes.range((kernel, 0)..=(kernel, u32::MAX)).map(|(_, life)| life.start).collect()
    }

    /// Returns the SMs of the CTAs of a kernel, in CTA order.
    pub(super) fn sms_of(&self, kernel: u32) -> Vec<u16> {
        self.lifetimes.range((kernel, 0)..=(kernel, u32::MAX)).map(|(_, life)| life.sm).collect()
    }
}
