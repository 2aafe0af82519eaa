//! The grid scheduler: launches kernels in the order of their streams and assigns their CTAs to SMs.
//!
//! The grid scheduler is a unit of the simulator: an SM receives a CTA one link latency after the binding, and the scheduler is notified of
//! the end of the CTA one link latency after the end. To avoid a bubble between two CTAs, some CTAs are bound to an SM ahead of time; to
//! avoid delaying kernels, the first CTAs of a kernel are sent one latency before its launch latency is over. Copies from the host are
//! performed in program order when a later kernel is launched: the partitions receive them before the first CTA of the kernel starts.
//!
//! In: starts and ends of CTAs. Out: CTAs to launch, and events. Order within a cycle: messages, then kernels, then CTAs.
//! Invariants: each CTA of a kernel is bound once, in ascending order; nothing happens between events, and [`Grid::next_event`] is the next
//! cycle with an event.

mod capacity;
mod clusters;
mod counters;
mod dependents;
mod dispatch;
mod inbox;
mod order;
mod records;
mod shares;
mod streams;
#[cfg(test)]
mod tests;
mod wait_report;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use warpshard_base::{AppId, CtaIndex, Cycle, GpuId, KernelIndex, LinkId, SmId};
use warpshard_config::machine::{self, Machine};
use warpshard_engine::{Unit, Work};
use warpshard_protocol::{CtaLaunch, CtaNotice, EventKind, HostCopy, KernelEndSignal, NO_CLUSTER, Outbox, Payload, WarpContext};
use warpshard_seam::GridSite;
use warpshard_stats::{CounterVisitor, KernelStats};
use warpshard_workload::{Application, Command, Workload};

use capacity::Capacity;
use clusters::ClusterLauncher;
pub use clusters::gpcs;
pub use counters::GridCounters;
use dependents::Dependents;
use dispatch::{Binding, CtaDispatcher};
use inbox::{GridNotice, Inbox, NoticeKind};
use records::{KernelRecord, KernelRecords};
use streams::{EndOutcome, KernelStreams};

/// The links of the grid scheduler: one per SM in each direction and one to each partition, with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct GridPorts {
    /// The link to SM 0.
    pub first_to_sm: LinkId,
    /// The link from SM 0.
    pub first_from_sm: LinkId,
    /// The link to partition 0.
    pub first_to_partition: LinkId,
    /// Partitions that are notified of copies; 0 if copies do not affect the LLC.
    pub partitions: u32,
    /// The number of this GPU and the links to and from its hub, in a system of several GPUs.
    pub system: Option<SystemPorts>,
}

/// Links between the grid scheduler and the hub of a system of several GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SystemPorts {
    /// The number of this GPU.
    pub gpu: GpuId,
    /// The link for copies to start and signals.
    pub to_hub: LinkId,
    /// Latency of the link to the hub, in core cycles.
    pub latency: u64,
    /// The link for completed copies and signals.
    pub from_hub: LinkId,
}

/// Decisions of a controller about the grid scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum GridDecision {
    /// Releases the kernels that are held.
    Release,
    /// Binds CTAs to `sm` as if at most `limit` CTAs fitted. A limit at or above the CTAs that fit has no effect, and 0 stops the SM. Bound
    /// CTAs stay. The SM receives the same limit and enforces it when it starts CTAs, so the grid scheduler can bind ahead as without a
    /// limit.
    CtaLimit {
        /// The SM.
        sm: SmId,
        /// Maximum number of CTAs.
        limit: u32,
    },
    /// Enables or disables `sm`: a disabled SM gets no CTAs. Bound CTAs stay.
    Serve {
        /// The SM.
        sm: SmId,
        /// True if the SM gets CTAs.
        serve: bool,
    },
    /// Assigns `sm` to `app`, if applications own SMs. Bound CTAs stay.
    Owner {
        /// The SM.
        sm: SmId,
        /// The new owner of the SM.
        app: AppId,
    },
    /// Limits the CTAs of a kernel per SM to `limit`, if kernels are interleaved. Bound CTAs stay.
    KernelCtas {
        /// The SM. `None` applies the limit to all SMs and overrides the limits of single SMs.
        sm: Option<SmId>,
        /// The kernel.
        kernel: KernelIndex,
        /// Maximum number of CTAs.
        limit: u32,
    },
}

/// Progress of the host copies of an application.
#[derive(Clone, Debug, warpshard_state::State)]
struct HostCopyProgress {
    /// The first command of the application, the end of its commands, and the next command whose copies have not been sent.
    start: usize,
    end: usize,
    next: usize,
    /// The difference between the number of a kernel launched now and its number in the commands.
    kernel_offset: u32,
    again: u32,
}

impl HostCopyProgress {
    fn new(app: &Application) -> Self {
        let Range { start, end } = app.commands;
        Self { start, end, next: start, kernel_offset: 0, again: app.again.start.saturating_sub(app.kernels.start) }
    }

    /// Resets the progress when the application starts again.
    fn start_over(&mut self) {
        (self.next, self.kernel_offset) = (self.start, self.again);
    }
}

/// The grid scheduler of a chip.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Grid {
    now: Cycle,
    /// Latency of a link in either direction, in core cycles.
    latency: u64,
    /// Cycles from the launch of a kernel to the start of its first CTA.
    launch_latency: u64,
    ports: GridPorts,
    #[state(fixed)]
    workload: Arc<Workload>,
    inbox: Inbox,
    streams: KernelStreams,
    dispatch: CtaDispatcher,
    /// State of programmatic dependent launches, if the workload has any.
    dependents: Option<Box<Dependents>>,
    records: KernelRecords,
    counters: GridCounters,
    /// Progress of the host copies of each application.
    copies: Box<[HostCopyProgress]>,
    /// Contexts of the warps of the CTAs that SMs returned, by warp.
    contexts: BTreeMap<(KernelIndex, CtaIndex), Vec<WarpContext>>,
    /// SMs with outstanding stores of ended CTAs: the run does not end before these stores are acknowledged.
    storing: u32,
    end_sent: bool,
    /// True while kernels are held, until [`GridDecision::Release`].
    launches_held: bool,
    /// The cycle of the release.
    release_cycle: Cycle,
    /// Launched copies between GPUs, and the cycle in which each is sent to the hub.
    copies_due: VecDeque<(Cycle, KernelIndex)>,
}

impl Grid {
    /// Creates the grid scheduler of `spec` before cycle 0 of `workload`; `resident[kernel]` CTAs of each kernel fit on an SM.
    ///
    /// # Panics
    /// If a kernel has no CTAs or does not fit on an SM: the caller refuses such a kernel with a message for the user.
    pub fn new(spec: &Machine, workload: Arc<Workload>, resident: Vec<u32>, ports: GridPorts) -> Self {
        assert_eq!(resident.len(), workload.kernels.len(), "grid: one occupancy for each kernel");
        let capacity = Capacity::of(&spec.gpu.sm, &workload, resident);
        let order = order::build_cta_order(spec.gpu.dispatch.cta_order, &GridSite { sms: spec.gpu.sms as usize }, &spec.own);
        let grid = Self::build(spec.gpu.sms, &spec.gpu.dispatch, workload, capacity, ports);
        let clusters = ClusterLauncher::of(&spec.gpu.cluster, spec.gpu.sms, &grid.workload);
        Self { dispatch: grid.dispatch.with_order(order).with_clusters(clusters), ..grid }
    }

    fn build(sms: u32, spec: &machine::Dispatch, workload: Arc<Workload>, capacity: Capacity, ports: GridPorts) -> Self {
        let sms = sms as usize;
        for (kernel, &fit) in workload.kernels.iter().zip(&capacity.resident) {
            assert!(fit > 0, "grid: no CTA of `{}` fits on an SM", kernel.info.name);
        }
        let streams = KernelStreams::new(&workload, spec.max_kernels, ports.system.map(|system| system.gpu));
        Self {
            now: Cycle(0),
            latency: spec.latency,
            launch_latency: spec.launch_latency,
            ports,
            inbox: Inbox::new(sms),
            dependents: Dependents::of(streams.programmatic_predecessors()),
            streams,
            dispatch: CtaDispatcher::new(sms, spec, workload.applications().len(), capacity),
            records: KernelRecords::new(workload.kernels.len(), workload.first_launches()),
            counters: GridCounters::default(),
            copies: workload.applications().into_iter().map(|app| HostCopyProgress::new(&app)).collect(),
            contexts: BTreeMap::new(),
            storing: 0,
            end_sent: false,
            launches_held: false,
            release_cycle: Cycle(0),
            copies_due: VecDeque::new(),
            workload,
        }
    }

    /// Returns the grid scheduler in a state in which no kernel is launched before [`GridDecision::Release`].
    #[must_use]
    pub fn with_held_launches(self) -> Self {
        Self { launches_held: true, ..self }
    }

    #[inline]
    fn can_launch(&self) -> bool {
        !self.launches_held && self.streams.can_launch()
    }

    /// Returns the launch cycle of a kernel that gets a slot at the present, and the first cycle in which its CTAs may be bound. The event
    /// for which the kernel waited happened one latency ago, except at the start of the run.
    fn launch(&self) -> (Cycle, Cycle) {
        let launched = Cycle(self.now.0.saturating_sub(self.latency)).max(self.release_cycle);
        // The first Launch message travels within the launch latency, and is sent immediately if the launch latency is too short (D-004).
        (launched, Cycle((launched.0 + self.launch_latency).saturating_sub(self.latency)))
    }

    /// Returns the first cycle, from the present on, in which the next kernel that has not arrived gets a slot, so that its first CTA can
    /// be bound at its arrival.
    fn arrival_due(&self) -> Cycle {
        let arrival = self.streams.next_arrival();
        if self.launches_held || arrival == Cycle::NEVER {
            return Cycle::NEVER;
        }
        if self.launch().1 >= arrival {
            return self.now;
        }
        Cycle((arrival.0 + 2 * self.latency).saturating_sub(self.launch_latency)).max(self.now)
    }

    /// Returns the counters since the start of the run.
    pub fn counters(&self) -> &GridCounters {
        &self.counters
    }

    /// Returns one row per kernel of the workload at the present, without the counters of the SMs.
    pub fn kernel_stats(&self) -> Vec<KernelStats> {
        self.records.rows(&self.workload, self.dispatch.resident_ctas(), self.now)
    }

    /// Returns the core cycle in which the last kernel ended, restarted kernels excluded; `None` while kernels remain.
    pub fn end_cycle(&self) -> Option<Cycle> {
        (self.streams.unfinished_apps() == 0).then(|| self.records.latest_end())
    }

    /// Returns the number of completed executions of each application, and the cycle of the first completion.
    pub fn application_ends(&self) -> impl Iterator<Item = (u32, Option<Cycle>)> {
        self.streams.apps().iter().map(|app| (app.ended, app.first_end))
    }

    fn cycle(&mut self, out: &mut Outbox) {
        let now = self.now;
        while let Some(notice) = self.inbox.pop_arrived(now) {
            self.handle(notice, out);
        }
        if self.arrival_due() <= now {
            self.streams.arrive(self.launch().1);
        }
        if self.can_launch() {
            self.launch_kernels(out);
        }
        if self.ports.system.is_some() {
            self.peer_copies(out);
        }
        if self.streams.becomes_ready(now) {
            self.streams.newly_ready(now).for_each(|kernel| out.event(now, EventKind::KernelReady(kernel)));
            self.dispatch.kernels_changed(&self.streams, now);
        }
        if self.dispatch.has_candidates() || self.cluster_due() <= now {
            self.bind_ctas(out);
        }
        if self.must_report_end() {
            self.end_sent = true;
            out.event(now, EventKind::RunEnded);
        }
    }

    /// Launches copies between GPUs, and sends copies that are due to the hub.
    fn peer_copies(&mut self, out: &mut Outbox) {
        let Some(system) = self.ports.system else { return };
        while !self.launches_held
            && let Some(kernel) = self.streams.next_copy()
        {
            let launched = Cycle(self.now.0.saturating_sub(self.latency)).max(self.release_cycle);
            *self.records.record_mut(kernel) = KernelRecord { launched: Some(launched), ..KernelRecord::default() };
            self.counters.kernels_launched += 1;
            let ready = Cycle((launched.0 + self.launch_latency).saturating_sub(system.latency)).max(self.now);
            self.copies_due.push_back((ready, kernel));
        }
        while let Some((_, kernel)) = self.copies_due.pop_front_if(|(at, _)| *at <= self.now) {
            self.records.record_mut(kernel).started = Some(self.now.after(system.latency));
            out.send(system.to_hub, self.now, Payload::StartCopy(kernel));
            out.event(self.now, EventKind::KernelStarted(kernel));
        }
    }

    /// Records the end of a kernel or copy: kernels and copies that wait for it may proceed, on this GPU and on other GPUs.
    fn record_end(&mut self, kernel: KernelIndex, ended: EndOutcome, out: &mut Outbox) {
        let now = self.now;
        if let (Some(system), false) = (self.ports.system, self.streams.listeners(kernel).is_empty()) {
            for &to in self.streams.listeners(kernel) {
                out.send(system.to_hub, now, Payload::Ended(KernelEndSignal { kernel, to }));
            }
        }
        if let EndOutcome::Application(app) = ended {
            self.copies[app.index()].start_over();
            out.event(now, EventKind::ApplicationEnded(app));
        }
    }

    /// Handles a notice about a CTA, which happened one latency earlier.
    fn handle(&mut self, notice: GridNotice, out: &mut Outbox) {
        let GridNotice { at: now, sm, kernel, cta, .. } = notice;
        let happened = Cycle(now.0 - self.latency);
        let record = self.records.record_mut(kernel);
        match notice.kind {
            NoticeKind::Started => {
                self.counters.ctas_started += 1;
                self.dispatch.record_cta_start(sm, now);
                if record.started.is_none() {
                    record.started = Some(happened);
                    out.event(now, EventKind::KernelStarted(kernel));
                }
            }
            NoticeKind::Copied => {
                record.ended_ctas = 1;
                record.ended = Some(happened);
                self.counters.kernels_ended += 1;
                out.event(now, EventKind::KernelEnded(kernel));
                let ended = self.streams.end_copy(kernel, self.workload.kernel(kernel).info.app, happened);
                self.record_end(kernel, ended, out);
            }
            NoticeKind::StoresOutstanding => {
                self.storing += 1;
                if let Some(dependents) = &mut self.dependents {
                    dependents.stores_outstanding(sm);
                }
            }
            NoticeKind::StoresAcknowledged => {
                self.storing -= 1;
                let met = self.dependents.as_mut().map_or_else(Vec::new, |dependents| dependents.stores_acknowledged(sm));
                met.into_iter().for_each(|kernel| self.dependency_met(kernel, out));
            }
            NoticeKind::Triggered => self.record_trigger(kernel, cta),
            NoticeKind::KernelEndedOnOtherGpu => self.streams.ended_on_other_gpu(kernel, self.workload.kernel(kernel).info.app),
            NoticeKind::Context(context) => self.contexts.entry((kernel, cta)).or_default().push(context),
            NoticeKind::Returned | NoticeKind::Preempted => {
                let started = notice.kind == NoticeKind::Preempted;
                self.counters.ctas_preempted += u64::from(started);
                self.streams.return_cta(kernel, cta);
                self.dispatch.cta_returned(sm, kernel, started, &self.streams, now);
            }
            NoticeKind::Done => {
                self.counters.ctas_done += 1;
                self.dispatch.record_cta_end(sm, kernel, &self.streams, now);
                record.ended_ctas += 1;
                out.event(now, EventKind::CtaEnded(sm, kernel));
                let whole = record.ended_ctas == self.workload.kernel(kernel).info.ctas();
                self.record_trigger(kernel, cta);
                if whole {
                    self.all_done(kernel, happened, out);
                }
            }
        }
    }

    /// Records that a CTA triggered the dependent launch or ended; after the last CTA, a programmatic dependent launch may begin.
    fn record_trigger(&mut self, kernel: KernelIndex, cta: CtaIndex) {
        if let Some(dependents) = &mut self.dependents
            && let Some(dependent) = dependents.record_trigger(kernel, cta)
        {
            self.streams.predecessor_done(dependent, self.workload.kernel(kernel).info.app);
        }
    }

    /// Handles the end of all CTAs of a kernel: the kernel ends now, or together with the launch on which it depends programmatically.
    fn all_done(&mut self, kernel: KernelIndex, happened: Cycle, out: &mut Outbox) {
        if let Some(dependents) = &mut self.dependents
            && dependents.preceding_launch(kernel).is_some_and(|before| self.records.record(before).ended.is_none())
        {
            return dependents.hold_end(kernel);
        }
        let mut ends = Some(kernel);
        while let Some(kernel) = ends {
            self.records.record_mut(kernel).ended = Some(happened);
            self.counters.kernels_ended += 1;
            out.event(self.now, EventKind::KernelEnded(kernel));
            let ended = self.streams.end(kernel, happened);
            self.record_end(kernel, ended, out);
            self.dispatch.kernels_changed(&self.streams, self.now);
            let (met, with_it) = self.dependents.as_mut().map_or((None, None), |dependents| dependents.record_end(kernel));
            if let Some(dependent) = met {
                self.dependency_met(dependent, out);
            }
            ends = with_it;
        }
    }

    /// Notifies the SMs, which may hold CTAs of a programmatic dependent launch, that its warps need not wait any more.
    fn dependency_met(&self, kernel: KernelIndex, out: &mut Outbox) {
        if self.streams.slot_of(kernel).and_then(|slot| self.streams.slot(slot)).is_none_or(|slot| slot.next == 0) {
            return;
        }
        for sm in 0..self.dispatch.sm_slots().len() as u16 {
            out.send(LinkId(self.ports.first_to_sm.0 + sm), self.now, Payload::DependencyMet(kernel));
        }
    }

    /// Assigns free slots to kernels.
    fn launch_kernels(&mut self, out: &mut Outbox) {
        let (launched, ready_at) = self.launch();
        while let Some(kernel) = self.streams.launch_next(&self.workload, ready_at) {
            *self.records.record_mut(kernel) = KernelRecord { launched: Some(launched), ..KernelRecord::default() };
            self.counters.kernels_launched += 1;
            if let Some(dependents) = &mut self.dependents {
                dependents.record_launch(kernel, self.workload.kernel(kernel).info.ctas());
            }
            self.send_copies_before(kernel, out);
        }
    }

    /// Sends the partitions the outstanding host copies of the application that precede `kernel`.
    fn send_copies_before(&mut self, kernel: KernelIndex, out: &mut Outbox) {
        let copies = &mut self.copies[self.workload.kernel(kernel).info.app.index()];
        let first = KernelIndex(kernel.0 - copies.kernel_offset);
        while let Some(&command) = self.workload.commands[..copies.end].get(copies.next) {
            match command {
                Command::Launch(launched) if launched > first => return,
                Command::Launch(_) => {}
                Command::CopyToDevice { addr, bytes } => {
                    for partition in 0..self.ports.partitions {
                        let link = LinkId(self.ports.first_to_partition.0 + partition as u16);
                        out.send(link, self.now, Payload::HostCopy(HostCopy { addr, bytes }));
                    }
                }
            }
            copies.next += 1;
            if command == Command::Launch(first) {
                return;
            }
        }
    }

    /// Returns the first cycle from the present on in which a cluster may be launched.
    fn cluster_due(&self) -> Cycle {
        self.dispatch.clusters.as_ref().map_or(Cycle::NEVER, |clusters| clusters.next_launch(self.now))
    }

    fn bind_ctas(&mut self, out: &mut Outbox) {
        let (now, before, cluster_due) = (self.now, self.counters.ctas_bound, self.cluster_due());
        let (counters, contexts, first, workload) = (&mut self.counters, &mut self.contexts, self.ports.first_to_sm, &self.workload);
        let dependents = self.dependents.as_deref();
        let mut give = |binding: Binding| {
            counters.ctas_bound += 1;
            counters.ctas_bound_ahead += u64::from(binding.ahead);
            let link = LinkId(first.0 + binding.sm.0);
            let Binding { kernel, cluster, rank, share, .. } = binding;
            let cta = if cluster == NO_CLUSTER { binding.cta } else { workload.kernel(kernel).info.cta_at(binding.cta.0) };
            let saved = contexts.remove(&(kernel, cta));
            let waits = dependents.is_some_and(|dependents| dependents.has_grid_wait(kernel));
            let triggers = dependents.is_some_and(|dependents| dependents.awaits_trigger(kernel, cta));
            let launch = CtaLaunch { kernel, cta, share, resumes: saved.is_some(), cluster, rank, waits, triggers };
            saved.into_iter().flatten().for_each(|context| out.send(link, now, Payload::Context(context)));
            out.send(link, now, Payload::Launch(launch));
            if binding.last {
                out.event(now, EventKind::KernelDispatched(binding.kernel));
            }
        };
        if self.dispatch.has_candidates() {
            self.dispatch.bind(&mut self.streams, now, &mut give);
        }
        if cluster_due <= now {
            self.dispatch.bind_cluster(&mut self.streams, now, &mut give);
        }
        self.counters.binding_cycles += u64::from(self.counters.ctas_bound > before);
    }

    fn must_report_end(&self) -> bool {
        !self.end_sent && self.streams.unfinished_apps() == 0 && self.storing == 0
    }
}

impl Unit for Grid {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = GridDecision;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        assert!(at >= self.now, "grid: a message on {link} for {at} arrived at {}", self.now);
        let (kind, notice) = match *payload {
            Payload::CtaStarted(notice) => (NoticeKind::Started, notice),
            Payload::CtaDone(notice) => (NoticeKind::Done, notice),
            Payload::CtaReturned(notice) => (NoticeKind::Returned, notice),
            Payload::CtaTriggered(notice) => (NoticeKind::Triggered, notice),
            Payload::StoresPending(sm) => (NoticeKind::StoresOutstanding, CtaNotice { kernel: KernelIndex(0), cta: CtaIndex(0), sm }),
            Payload::StoresAcknowledged(sm) => (NoticeKind::StoresAcknowledged, CtaNotice { kernel: KernelIndex(0), cta: CtaIndex(0), sm }),
            Payload::CtaPreempted(notice) => (NoticeKind::Preempted, notice),
            Payload::Context(context) => {
                let sm = SmId(link.0 - self.ports.first_from_sm.0);
                (NoticeKind::Context(context), CtaNotice { kernel: context.kernel, cta: context.cta, sm })
            }
            Payload::CopyDone(kernel) | Payload::Ended(KernelEndSignal { kernel, .. }) => {
                let kind = if matches!(payload, Payload::CopyDone(_)) { NoticeKind::Copied } else { NoticeKind::KernelEndedOnOtherGpu };
                debug_assert_eq!(Some(link), self.ports.system.map(|system| system.from_hub), "grid: {kind:?} arrived on {link}");
                let hub = SmId(self.dispatch.sm_slots().len() as u16);
                return self.inbox.insert(at, hub, kind, kernel, CtaIndex(0));
            }
            other => panic!("grid: {other:?} arrived on {link} at {at}"),
        };
        debug_assert_eq!(
            link.index(),
            self.ports.first_from_sm.index() + notice.sm.index(),
            "grid: {} sent a message on {link}",
            notice.sm
        );
        self.inbox.insert(at, notice.sm, kind, notice.kernel, notice.cta);
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            if skip {
                self.now = self.next_event().min(until);
                if self.now == until {
                    return;
                }
            }
            self.cycle(out);
            self.now = self.now.after(1);
        }
    }

    fn next_event(&self) -> Cycle {
        if self.dispatch.has_candidates() || self.can_launch() || self.must_report_end() {
            return self.now;
        }
        let copy = self.copies_due.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let copy = if self.streams.has_copy() && !self.launches_held { self.now } else { copy };
        self.inbox.next_at().min(self.cluster_due()).min(self.streams.next_ready()).min(copy).min(self.arrival_due()).max(self.now)
    }

    // The grid scheduler has no counters of elapsed cycles.
    fn settle(&mut self, at: Cycle) {
        debug_assert!(self.next_event() >= at, "grid: settled at {at} before its event at {}", self.next_event());
        self.now = self.now.max(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("grid", 0);
        visitor.counters(&self.counters);
    }

    fn apply(&mut self, at: Cycle, decision: &GridDecision) {
        match *decision {
            GridDecision::Release => (self.launches_held, self.release_cycle) = (false, at),
            GridDecision::CtaLimit { sm, limit } => self.dispatch.set_limit(sm, limit, &self.streams, at),
            GridDecision::Serve { sm, serve } => self.dispatch.set_served(sm, serve, &self.streams, at),
            GridDecision::Owner { sm, app } => self.dispatch.set_owner(sm, app, &self.streams, at),
            GridDecision::KernelCtas { sm, kernel, limit } => self.dispatch.set_share(sm, kernel, limit, &self.streams, at),
        }
    }

    fn progress(&self) -> Work {
        Work { instructions: 0, tasks: self.counters.ctas_done }
    }

    fn waiting(&self) -> Vec<String> {
        wait_report::describe(&self.workload, &self.streams, &self.dispatch, &self.records, self.dependents.as_deref())
    }
}
