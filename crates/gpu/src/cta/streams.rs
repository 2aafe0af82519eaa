//! Selection of runnable kernels: program order, streams, and the slots of the chip for concurrent kernels.
//!
//! In: the commands of the workload, and ends of kernels. Out: kernels that get a slot, and the cycle from which their CTAs may be bound. A
//! kernel gets a slot when it has arrived, its predecessor in the stream and all kernels for which it waits by events have ended, and a
//! slot is free. Several waiting kernels are ordered by execution (first executions come first), then by priority, then by program order.
//! An application that ended starts again if the workload requests it and another application has not ended once. Copies take no time and
//! delay no kernel; the grid scheduler forwards them. A programmatic dependent launch waits for the trigger of its predecessor in the
//! stream ([`super::dependents`]), not for its end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use rustc_hash::FxHashMap;

use warpshard_base::{AppId, CtaIndex, Cycle, GpuId, KernelIndex, StreamId};
use warpshard_workload::{Command, KernelInfo, Workload};

/// A kernel that has a slot on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct KernelSlot {
    pub(super) kernel: KernelIndex,
    pub(super) app: AppId,
    priority: i32,
    /// The first cycle in which a CTA may be bound.
    pub(super) ready_at: Cycle,
    /// The next CTA to be bound; CTAs are bound in ascending order.
    pub(super) next: u32,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// CTAs per cluster; 1 for a kernel without clusters.
    pub(super) cluster: u32,
    /// CTAs that SMs returned; they are bound before new ones.
    returned: u32,
    /// CTAs that were unassigned at the start of the present round. Each SM gets at most one CTA per round.
    pub(super) round: u32,
    /// True if the event has been sent that CTAs of the kernel may be bound.
    announced: bool,
    /// The launch on which the kernel depends programmatically. CTAs of that launch that SMs returned are bound first, since CTAs of this
    /// kernel may wait for their end.
    depends_on: Option<KernelIndex>,
}

impl KernelSlot {
    /// Returns the number of unassigned CTAs.
    #[inline]
    pub(super) fn unassigned_ctas(&self) -> u32 {
        self.ctas - self.next + self.returned
    }

    /// Returns true if whole clusters are unassigned; a controller returns single CTAs.
    pub(super) fn has_clusters(&self) -> bool {
        self.cluster > 1 && self.returned == 0 && self.ctas - self.next >= self.cluster
    }

    /// Returns true if a CTA of the kernel may be bound at `now`.
    #[inline]
    pub(super) fn has_work(&self, now: Cycle) -> bool {
        self.ready_at <= now && self.unassigned_ctas() > 0
    }
}

/// A kernel that waits for a slot: true if its application was restarted, its priority, and the kernel.
type WaitKey = (bool, Reverse<i32>, KernelIndex);

/// Progress of an application.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct AppState {
    /// The kernels of the application.
    kernels: Range<u32>,
    /// The copies of the kernels for later executions.
    again: Range<u32>,
    priority: i32,
    /// Kernels of the present execution that have not ended.
    unfinished_kernels: usize,
    /// Completed executions.
    pub(super) ended: u32,
    /// The cycle in which the first execution ended.
    pub(super) first_end: Option<Cycle>,
}

/// Returns the arrival cycles of the kernels; empty if all applications arrive at the start.
fn arrivals(workload: &Workload) -> Box<[Cycle]> {
    if workload.applications.iter().all(|app| app.arrivals.is_empty()) {
        return Box::default();
    }
    let mut arrivals = vec![Cycle(0); workload.kernels.len()];
    for app in &workload.applications {
        let own = app.kernels.clone().zip(&app.arrivals);
        own.for_each(|(kernel, arrival)| arrivals[kernel as usize] = *arrival);
    }
    arrivals.into()
}

fn wait_key(app: &AppState, kernel: KernelIndex) -> WaitKey {
    (app.again.contains(&kernel.0), Reverse(app.priority), kernel)
}

/// Dependencies between the kernels of this GPU and other GPUs.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct MultiGpu {
    /// True for each kernel that runs on this GPU, by kernel.
    is_own_kernel: Box<[bool]>,
    /// Other GPUs that wait for the end of a kernel of this GPU, by kernel.
    listeners: Box<[Vec<GpuId>]>,
    /// True for each kernel that is a copy, by kernel.
    is_copy: Box<[bool]>,
    /// Copies whose predecessors have ended.
    copies: VecDeque<KernelIndex>,
}

impl MultiGpu {
    /// Creates the dependencies from the `successors` of each kernel.
    fn new(workload: &Workload, gpu: GpuId, successors: &[Vec<KernelIndex>]) -> Self {
        let on = |kernel: KernelIndex| workload.kernel(kernel).info.on_gpu();
        let all = || (0..workload.kernels.len() as u32).map(KernelIndex);
        let listeners = |kernel: KernelIndex| -> Vec<GpuId> {
            let others: BTreeSet<GpuId> = successors[kernel.index()].iter().map(|next| on(*next)).filter(|other| *other != gpu).collect();
            if on(kernel) == gpu { others.into_iter().collect() } else { Vec::new() }
        };
        Self {
            is_own_kernel: all().map(|kernel| on(kernel) == gpu).collect(),
            listeners: all().map(listeners).collect(),
            is_copy: workload.kernels.iter().map(|kernel| kernel.info.copy.is_some()).collect(),
            copies: VecDeque::new(),
        }
    }
}

/// State of all streams: the order of kernels.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct KernelStreams {
    /// Kernels by slot; the list grows only when needed, so the last slot is occupied.
    slots: Vec<Option<KernelSlot>>,
    /// CTAs that SMs returned, by kernel.
    returned: BTreeMap<KernelIndex, BTreeSet<CtaIndex>>,
    max_kernels: usize,
    apps: Box<[AppState]>,
    /// Kernels that wait for the end of a kernel (the next one of its stream, and others by events), by kernel.
    successors: Box<[Vec<KernelIndex>]>,
    /// The number of predecessors of each kernel; `None` if no command launches it.
    predecessors: Box<[Option<u32>]>,
    /// The number of predecessors of each kernel that have not ended.
    open_predecessors: Box<[u32]>,
    /// The launch on which each kernel depends programmatically, by kernel; empty if no kernel depends on one. It counts as a predecessor,
    /// but the kernel is no successor of the launch.
    programmatic: Box<[Option<KernelIndex>]>,
    /// The first cycle in which CTAs of a kernel may be bound, by kernel; kernels beyond the end of the list have no arrival.
    arrivals: Box<[Cycle]>,
    /// Kernels whose predecessors have ended and that have not arrived, by arrival. They occupy no slot.
    arriving: BTreeSet<(Cycle, WaitKey)>,
    /// Kernels whose predecessors have ended and that wait for a slot, in the order of service: first executions come first, so that every
    /// application completes; then by priority and in program order.
    eligible: BTreeSet<WaitKey>,
    /// Applications that have not ended once.
    apps_left: usize,
    /// The kernels of other GPUs, in a system of several GPUs.
    system: Option<Box<MultiGpu>>,
    /// The slot whose kernel was served last; it changes when a CTA is bound.
    last_served: usize,
    /// The least `ready_at` that has not been reached.
    next_ready: Cycle,
}

/// Outcome of the end of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndOutcome {
    /// Only the kernel ended.
    Kernel,
    /// An execution of the application of the kernel also ended.
    Application(AppId),
}

impl KernelStreams {
    /// # Panics
    /// If the commands do not launch kernels in ascending order, or a kernel has no CTAs: the front end refuses such workloads.
    pub(super) fn new(workload: &Workload, max_kernels: u32, gpu: Option<GpuId>) -> Self {
        let is_own = |info: &KernelInfo| gpu.is_none_or(|gpu| info.on_gpu() == gpu);
        let mut successors = vec![Vec::new(); workload.kernels.len()];
        let mut predecessors = vec![None; workload.kernels.len()];
        let any = workload.kernels.iter().any(|kernel| kernel.info.programmatic.is_some());
        let mut programmatic = vec![None; if any { workload.kernels.len() } else { 0 }];
        let mut apps = Vec::new();
        let mut last = None;
        for app in workload.applications() {
            let mut tail: FxHashMap<(GpuId, StreamId), KernelIndex> = FxHashMap::default();
            let again = app.again.start.wrapping_sub(app.kernels.start);
            let mut left = 0;
            for command in &workload.commands[app.commands] {
                let Command::Launch(kernel) = *command else { continue };
                assert!(last < Some(kernel), "{kernel} is launched out of order");
                let info = &workload.kernel(kernel).info;
                assert!(info.ctas() > 0, "{kernel} has no CTAs");
                let later = |kernel: KernelIndex| KernelIndex(kernel.0.wrapping_add(again));
                let awaited = info.after.iter().copied().filter(|before| predecessors[before.index()].is_some());
                let last_of_stream = tail.insert((info.on_gpu(), info.stream), kernel);
                let may_trigger = |before: &KernelIndex| info.programmatic == Some(*before) && workload.kernel(*before).info.copy.is_none();
                let trigger = last_of_stream.filter(may_trigger);
                let ended = last_of_stream.filter(|_| trigger.is_none());
                let before: Vec<KernelIndex> = ended.into_iter().chain(awaited).collect();
                let count = before.len() as u32 + u32::from(trigger.is_some());
                predecessors[kernel.index()] = Some(count);
                before.iter().for_each(|before| successors[before.index()].push(kernel));
                if let Some(before) = trigger {
                    programmatic[kernel.index()] = Some(before);
                    if !app.again.is_empty() {
                        programmatic[later(kernel).index()] = Some(later(before));
                    }
                }
                if !app.again.is_empty() {
                    predecessors[later(kernel).index()] = Some(count);
                    before.iter().for_each(|before| successors[later(*before).index()].push(later(kernel)));
                }
                last = Some(kernel);
                left += usize::from(is_own(info));
            }
            apps.push(AppState {
                kernels: app.kernels,
                again: app.again,
                priority: app.priority,
                unfinished_kernels: left,
                ended: 0,
                first_end: None,
            });
        }
        let mut streams = Self {
            slots: Vec::new(),
            returned: BTreeMap::new(),
            max_kernels: max_kernels as usize,
            apps_left: apps.iter().filter(|app: &&AppState| app.unfinished_kernels > 0).count(),
            apps: apps.into(),
            system: gpu.map(|gpu| Box::new(MultiGpu::new(workload, gpu, &successors))),
            successors: successors.into(),
            programmatic: programmatic.into(),
            open_predecessors: vec![0; predecessors.len()].into(),
            arrivals: arrivals(workload),
            arriving: BTreeSet::new(),
            predecessors: predecessors.into(),
            eligible: BTreeSet::new(),
            last_served: 0,
            next_ready: Cycle::NEVER,
        };
        for app in 0..streams.apps.len() {
            streams.begin(app, streams.apps[app].kernels.clone());
        }
        streams
    }

    /// Begins an execution of an application: kernels without predecessors may be launched.
    fn begin(&mut self, app: usize, kernels: Range<u32>) {
        for kernel in kernels.map(KernelIndex) {
            let Some(predecessors) = self.predecessors[kernel.index()] else { continue };
            self.open_predecessors[kernel.index()] = predecessors;
            if predecessors == 0 {
                self.becomes_eligible(app, kernel);
            }
        }
    }

    /// Makes a kernel without remaining predecessors eligible for a slot.
    fn becomes_eligible(&mut self, app: usize, kernel: KernelIndex) {
        match &mut self.system {
            Some(system) if !system.is_own_kernel[kernel.index()] => {}
            Some(system) if system.is_copy[kernel.index()] => system.copies.push_back(kernel),
            _ => {
                let wait_key = wait_key(&self.apps[app], kernel);
                let arrival = self.arrivals.get(kernel.index()).copied().unwrap_or_default();
                if arrival > Cycle(0) {
                    self.arriving.insert((arrival, wait_key));
                } else {
                    self.eligible.insert(wait_key);
                }
            }
        }
    }

    /// Removes and returns the next copy whose predecessors have ended. Copies occupy no slot.
    pub(super) fn next_copy(&mut self) -> Option<KernelIndex> {
        self.system.as_mut()?.copies.pop_front()
    }

    /// Returns true if a copy is ready to start.
    #[inline]
    pub(super) fn has_copy(&self) -> bool {
        self.system.as_ref().is_some_and(|system| !system.copies.is_empty())
    }

    /// Returns the other GPUs that wait for the end of a kernel of this GPU.
    pub(super) fn listeners(&self, kernel: KernelIndex) -> &[GpuId] {
        self.system.as_ref().map_or(&[], |system| &system.listeners[kernel.index()])
    }

    /// Records the end of a kernel of another GPU.
    pub(super) fn ended_on_other_gpu(&mut self, kernel: KernelIndex, app: AppId) {
        self.release_successors(kernel, app);
    }

    /// Records the end of a kernel at its successors.
    fn release_successors(&mut self, kernel: KernelIndex, app: AppId) {
        for next in 0..self.successors[kernel.index()].len() {
            self.predecessor_done(self.successors[kernel.index()][next], app);
        }
    }

    /// Records that one predecessor of a kernel ended, or that the launch on which the kernel depends programmatically triggered it.
    pub(super) fn predecessor_done(&mut self, kernel: KernelIndex, app: AppId) {
        let missing = &mut self.open_predecessors[kernel.index()];
        *missing -= 1;
        if *missing == 0 {
            self.becomes_eligible(app.index(), kernel);
        }
    }

    /// Returns the launch on which each kernel depends programmatically, by kernel; empty if no kernel depends on one.
    pub(super) fn programmatic_predecessors(&self) -> &[Option<KernelIndex>] {
        &self.programmatic
    }

    /// Returns true if unassigned CTAs of the launch on which the kernel depends are bound first.
    #[inline]
    fn is_blocked(&self, slot: &KernelSlot) -> bool {
        slot.depends_on.is_some_and(|before| self.occupied_slots().any(|other| other.kernel == before && other.unassigned_ctas() > 0))
    }

    /// Returns the applications, by [`AppId`].
    pub(super) fn apps(&self) -> &[AppState] {
        &self.apps
    }

    /// Returns true if a kernel waits for a slot and one is free.
    #[inline]
    pub(super) fn can_launch(&self) -> bool {
        !self.eligible.is_empty() && (self.slots.len() < self.max_kernels || self.slots.iter().any(Option::is_none))
    }

    /// Returns the first arrival among kernels that wait only for their arrival.
    #[inline]
    pub(super) fn next_arrival(&self) -> Cycle {
        self.arriving.first().map_or(Cycle::NEVER, |(arrival, _)| *arrival)
    }

    /// Makes kernels eligible that arrive until `ready_at`, the first cycle in which their CTAs may be bound.
    pub(super) fn arrive(&mut self, ready_at: Cycle) {
        while self.next_arrival() <= ready_at
            && let Some((_, wait_key)) = self.arriving.pop_first()
        {
            self.eligible.insert(wait_key);
        }
    }

    /// Assigns a slot, from `ready_at` on, to the next kernel in order; returns `None` if no kernel waits or no slot is free.
    pub(super) fn launch_next(&mut self, workload: &Workload, ready_at: Cycle) -> Option<KernelIndex> {
        if !self.can_launch() {
            return None;
        }
        let (_, Reverse(priority), kernel) = self.eligible.pop_first()?;
        let info = &workload.kernel(kernel).info;
        let ctas = info.ctas();
        let cluster = info.cluster_ctas();
        let taken = Some(KernelSlot {
            kernel,
            app: info.app,
            priority,
            ready_at,
            next: 0,
            ctas,
            cluster,
            returned: 0,
            round: ctas,
            announced: false,
            depends_on: self.programmatic.get(kernel.index()).copied().flatten(),
        });
        match self.slots.iter_mut().find(|slot| slot.is_none()) {
            Some(free) => *free = taken,
            None => self.slots.push(taken),
        }
        self.next_ready = self.next_ready.min(ready_at);
        Some(kernel)
    }

    /// Returns the kernels whose CTAs may be bound from `now` on and that have not been announced.
    pub(super) fn newly_ready(&mut self, now: Cycle) -> impl Iterator<Item = KernelIndex> {
        let new = self.slots.iter_mut().flatten().filter(move |slot| slot.ready_at <= now && !slot.announced);
        new.map(|slot| {
            slot.announced = true;
            slot.kernel
        })
    }

    /// Returns the first cycle in which CTAs of a further kernel may be bound.
    #[inline]
    pub(super) fn next_ready(&self) -> Cycle {
        self.next_ready
    }

    /// Returns true if a kernel becomes ready at `now`; called once per cycle.
    #[inline]
    pub(super) fn becomes_ready(&mut self, now: Cycle) -> bool {
        if self.next_ready > now {
            return false;
        }
        let later = self.slots.iter().flatten().map(|slot| slot.ready_at).filter(|&at| at > now);
        self.next_ready = later.min().unwrap_or(Cycle::NEVER);
        true
    }

    /// Returns the slot of `kernel`, if it has one.
    #[inline]
    pub(super) fn slot_of(&self, kernel: KernelIndex) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|slot| slot.kernel == kernel))
    }

    /// Returns the slot that is served next at `now` among the slots for which `may` is true: a slot of the highest priority. Ties go to
    /// the slot served last while it has CTAs, then to the following slots round robin.
    #[inline]
    pub(super) fn select(&self, now: Cycle, may: impl Fn(usize, &KernelSlot) -> bool) -> Option<usize> {
        let slots = self.slots.len();
        let mut best: Option<(usize, i32)> = None;
        for i in (0..slots).map(|i| (self.last_served + i) % slots) {
            if let Some(slot) = &self.slots[i]
                && slot.has_work(now)
                && !self.is_blocked(slot)
                && best.is_none_or(|(_, priority)| slot.priority > priority)
                && may(i, slot)
            {
                best = Some((i, slot.priority));
            }
        }
        best.map(|(slot, _)| slot)
    }

    /// Returns true if an application has ended and is not restarted.
    #[inline]
    pub(super) fn is_over(&self, app: AppId) -> bool {
        self.apps.get(app.index()).is_none_or(|app| app.unfinished_kernels == 0)
    }

    /// Returns the kernels that have a slot, by slot.
    pub(super) fn slots(&self) -> &[Option<KernelSlot>] {
        &self.slots
    }

    /// Returns the kernel in a slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Option<&KernelSlot> {
        self.slots[index].as_ref()
    }

    /// Returns all kernels that have a slot.
    pub(super) fn occupied_slots(&self) -> impl Iterator<Item = &KernelSlot> {
        self.slots.iter().flatten()
    }

    /// Records that an SM returned a CTA.
    pub(super) fn return_cta(&mut self, kernel: KernelIndex, cta: CtaIndex) {
        let slot = self.slot_of(kernel).and_then(|slot| self.slots[slot].as_mut());
        slot.unwrap_or_else(|| panic!("grid: {cta} of {kernel} was returned after the end of the kernel")).returned += 1;
        let new = self.returned.entry(kernel).or_default().insert(cta);
        assert!(new, "grid: {cta} of {kernel} was returned twice");
    }

    /// Removes and returns the next CTA of the kernel in a slot; returned CTAs come first. The kernel has at least one CTA left.
    #[inline]
    pub(super) fn take_cta(&mut self, index: usize) -> CtaIndex {
        let slot = self.slots[index].as_mut().expect("only a kernel in a slot is served");
        debug_assert!(slot.unassigned_ctas() > 0, "{} has no CTA left to bind", slot.kernel);
        self.last_served = index;
        if slot.returned > 0
            && let Some(cta) = self.returned.get_mut(&slot.kernel).and_then(BTreeSet::pop_first)
        {
            slot.returned -= 1;
            return cta;
        }
        slot.next += 1;
        CtaIndex(slot.next - 1)
    }

    /// Returns the kernel in a slot, and the CTA that [`KernelStreams::take_cta`] would return.
    pub(super) fn next_cta(&self, index: usize) -> Option<(KernelIndex, CtaIndex)> {
        let slot = self.slot(index)?;
        let returned = self.returned.get(&slot.kernel).filter(|_| slot.returned > 0).and_then(BTreeSet::first);
        Some((slot.kernel, returned.copied().unwrap_or(CtaIndex(slot.next))))
    }

    /// Ends a round of bindings.
    #[inline]
    pub(super) fn end_round(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            slot.round = slot.unassigned_ctas();
        }
    }

    /// Ends `kernel` at `now`: its slot is free, and its successors may proceed.
    pub(super) fn end(&mut self, kernel: KernelIndex, now: Cycle) -> EndOutcome {
        let slot = self.slot_of(kernel);
        let slot = slot.unwrap_or_else(|| panic!("grid: {kernel} ended without having been launched"));
        let KernelSlot { app, .. } = self.slots[slot].take().unwrap_or_else(|| panic!("grid: {kernel} has no slot"));
        while self.slots.pop_if(|last| last.is_none()).is_some() {}
        self.end_of(kernel, app, now)
    }

    /// Ends a copy of application `app` at `now`.
    pub(super) fn end_copy(&mut self, kernel: KernelIndex, app: AppId, now: Cycle) -> EndOutcome {
        self.end_of(kernel, app, now)
    }

    fn end_of(&mut self, kernel: KernelIndex, app: AppId, now: Cycle) -> EndOutcome {
        self.release_successors(kernel, app);
        let state = &mut self.apps[app.index()];
        state.unfinished_kernels -= 1;
        if state.unfinished_kernels > 0 {
            return EndOutcome::Kernel;
        }
        state.ended += 1;
        if state.ended == 1 {
            state.first_end = Some(now);
            self.apps_left -= 1;
        }
        if self.apps_left > 0 && !state.again.is_empty() {
            state.unfinished_kernels = state.again.len();
            let again = state.again.clone();
            self.begin(app.index(), again);
        }
        EndOutcome::Application(app)
    }

    /// Returns the number of applications that have not ended once.
    #[inline]
    pub(super) fn unfinished_apps(&self) -> usize {
        self.apps_left
    }

    /// Returns the kernels that wait only for their arrival, with their arrival cycles.
    pub(super) fn arriving_kernels(&self) -> impl Iterator<Item = (Cycle, KernelIndex)> {
        self.arriving.iter().map(|(arrival, (.., kernel))| (*arrival, *kernel))
    }

    /// Returns the kernels that wait only for a slot.
    pub(super) fn eligible_kernels(&self) -> impl Iterator<Item = KernelIndex> {
        self.eligible.iter().map(|(.., kernel)| *kernel)
    }
}
