//! Which kernels may run: program order, streams, and the chip's slots for concurrent kernels.
//!
//! In: the workload's commands, and ends of kernels. Out: kernels that get a slot, and the cycle from which their
//! CTAs may be bound. A kernel gets a slot when it has arrived, its predecessor in the stream and all that it waits for by events have ended, and a slot is free; among several
//! that wait, those of first executions, among these those of the highest priority, and among these the first in program order. An application that ended starts again
//! where the workload says so, as long as another has not ended once. Copies take no time and delay no kernel; the grid scheduler
//! forwards them. A programmatic dependent launch waits for the trigger of its predecessor in the stream ([`super::dependents`]), not for its end.

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
    /// First cycle in which a CTA may be bound.
    pub(super) ready_at: Cycle,
    /// The next CTA to be bound; CTAs are bound in ascending order.
    pub(super) next: u32,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// CTAs of a cluster; 1 where there are none.
    pub(super) cluster: u32,
    /// CTAs that SMs gave back; they are bound before new ones.
    returned: u32,
    /// CTAs that were unassigned at the start of the present round, in which each SM gets at most one.
    pub(super) round: u32,
    /// Whether it was said that its CTAs may be bound.
    announced: bool,
    /// The launch on which it depends programmatically: CTAs of that one that SMs gave back are bound first, since its own may wait for their end.
    behind: Option<KernelIndex>,
}

impl KernelSlot {
    /// Unassigned CTAs.
    #[inline]
    pub(super) fn unassigned(&self) -> u32 {
        self.ctas - self.next + self.returned
    }

    /// Whether whole clusters are left: a controller gives back single CTAs.
    pub(super) fn has_clusters(&self) -> bool {
        self.cluster > 1 && self.returned == 0 && self.ctas - self.next >= self.cluster
    }

    /// Whether one of its CTAs may be bound at `now`.
    #[inline]
    pub(super) fn has_work(&self, now: Cycle) -> bool {
        self.ready_at <= now && self.unassigned() > 0
    }
}

/// A kernel that waits for a slot: whether its application was started again, its priority, and the kernel.
type Waiting = (bool, Reverse<i32>, KernelIndex);

/// How far an application is.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct AppState {
    /// Its kernels, and the same once more for later executions.
    kernels: Range<u32>,
    again: Range<u32>,
    priority: i32,
    /// Kernels of the present execution that have not ended.
    left: usize,
    /// Executions that have ended.
    pub(super) ended: u32,
    /// When the first of them ended.
    pub(super) first_end: Option<Cycle>,
}

/// When the kernels of applications arrive; empty where all are there from the start.
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

fn waiting(app: &AppState, kernel: KernelIndex) -> Waiting {
    (app.again.contains(&kernel.0), Reverse(app.priority), kernel)
}

/// What other GPUs have to do with the kernels of this one.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct System {
    /// By kernel: whether it is of this GPU.
    own: Box<[bool]>,
    /// By kernel of this GPU: other GPUs that wait for its end.
    listeners: Box<[Vec<GpuId>]>,
    /// By kernel: whether it is a copy.
    is_copy: Box<[bool]>,
    /// Copies that wait for nothing any more.
    copies: VecDeque<KernelIndex>,
}

impl System {
    /// With `successors` by kernel.
    fn new(workload: &Workload, gpu: GpuId, successors: &[Vec<KernelIndex>]) -> Self {
        let on = |kernel: KernelIndex| workload.kernel(kernel).info.on_gpu();
        let all = || (0..workload.kernels.len() as u32).map(KernelIndex);
        let listeners = |kernel: KernelIndex| -> Vec<GpuId> {
            let others: BTreeSet<GpuId> = successors[kernel.index()].iter().map(|next| on(*next)).filter(|other| *other != gpu).collect();
            if on(kernel) == gpu { others.into_iter().collect() } else { Vec::new() }
        };
        Self {
            own: all().map(|kernel| on(kernel) == gpu).collect(),
            listeners: all().map(listeners).collect(),
            is_copy: workload.kernels.iter().map(|kernel| kernel.info.copy.is_some()).collect(),
            copies: VecDeque::new(),
        }
    }
}

/// The order of kernels.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Streams {
    /// Kernels by slot; it grows only when needed, so the last slot is occupied.
    slots: Vec<Option<KernelSlot>>,
    /// CTAs that SMs gave back, by kernel.
    returned: BTreeMap<KernelIndex, BTreeSet<CtaIndex>>,
    max_kernels: usize,
    apps: Box<[AppState]>,
    /// By kernel: those that wait for its end (the next one of its stream, and others by events), how many it waits for (`None` where no command
    /// launches it), and how many of these have not ended.
    successors: Box<[Vec<KernelIndex>]>,
    predecessors: Box<[Option<u32>]>,
    missing: Box<[u32]>,
    /// By kernel: the launch on which it depends programmatically; empty where no kernel depends on one. It counts among the predecessors, and is
    /// no successor of the other.
    programmatic: Box<[Option<KernelIndex>]>,
    /// By kernel: the first cycle in which its CTAs may be bound; those beyond have none.
    arrivals: Box<[Cycle]>,
    /// Kernels whose predecessors have ended and that have not arrived, by arrival. They take no slot.
    arriving: BTreeSet<(Cycle, Waiting)>,
    /// Kernels whose predecessors have ended and that wait for a slot, in the order in which they get one: those of first executions, so that
    /// every application comes to its end; then by priority and in program order.
    eligible: BTreeSet<Waiting>,
    /// Applications that have not ended once.
    apps_left: usize,
    /// In a system of several GPUs: which one this is, and what the others have to do with it.
    system: Option<Box<System>>,
    /// The slot whose kernel was served last; it moves when a CTA is bound.
    last_served: usize,
    /// The least `ready_at` not yet reached.
    next_ready: Cycle,
}

/// What the end of a kernel ended besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nothing.
    Kernel,
    /// An execution of its application.
    Application(AppId),
}

impl Streams {
    /// # Panics
    /// When the commands do not launch kernels in ascending order, or a kernel has no CTAs: the front end refuses these.
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
            apps.push(AppState { kernels: app.kernels, again: app.again, priority: app.priority, left, ended: 0, first_end: None });
        }
        let mut streams = Self {
            slots: Vec::new(),
            returned: BTreeMap::new(),
            max_kernels: max_kernels as usize,
            apps_left: apps.iter().filter(|app: &&AppState| app.left > 0).count(),
            apps: apps.into(),
            system: gpu.map(|gpu| Box::new(System::new(workload, gpu, &successors))),
            successors: successors.into(),
            programmatic: programmatic.into(),
            missing: vec![0; predecessors.len()].into(),
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

    /// An execution of an application begins: kernels that wait for none may be launched.
    fn begin(&mut self, app: usize, kernels: Range<u32>) {
        for kernel in kernels.map(KernelIndex) {
            let Some(predecessors) = self.predecessors[kernel.index()] else { continue };
            self.missing[kernel.index()] = predecessors;
            if predecessors == 0 {
                self.becomes_eligible(app, kernel);
            }
        }
    }

    /// A kernel waits for no other any more.
    fn becomes_eligible(&mut self, app: usize, kernel: KernelIndex) {
        match &mut self.system {
            Some(system) if !system.own[kernel.index()] => {}
            Some(system) if system.is_copy[kernel.index()] => system.copies.push_back(kernel),
            _ => {
                let waiting = waiting(&self.apps[app], kernel);
                let arrival = self.arrivals.get(kernel.index()).copied().unwrap_or_default();
                if arrival > Cycle(0) {
                    self.arriving.insert((arrival, waiting));
                } else {
                    self.eligible.insert(waiting);
                }
            }
        }
    }

    /// The next copy that waits for nothing any more. Copies take no slot.
    pub(super) fn next_copy(&mut self) -> Option<KernelIndex> {
        self.system.as_mut()?.copies.pop_front()
    }

    /// Whether a copy waits for nothing any more.
    #[inline]
    pub(super) fn has_copy(&self) -> bool {
        self.system.as_ref().is_some_and(|system| !system.copies.is_empty())
    }

    /// Other GPUs that wait for the end of a kernel of this one.
    pub(super) fn listeners(&self, kernel: KernelIndex) -> &[GpuId] {
        self.system.as_ref().map_or(&[], |system| &system.listeners[kernel.index()])
    }

    /// A kernel of another GPU ended.
    pub(super) fn ended_elsewhere(&mut self, kernel: KernelIndex, app: AppId) {
        self.follow(kernel, app);
    }

    /// Kernels that waited for this one alone may follow.
    fn follow(&mut self, kernel: KernelIndex, app: AppId) {
        for next in 0..self.successors[kernel.index()].len() {
            self.may_follow(self.successors[kernel.index()][next], app);
        }
    }

    /// A kernel waits for one launch less: a predecessor ended, or the launch on which it depends programmatically triggered it.
    pub(super) fn may_follow(&mut self, kernel: KernelIndex, app: AppId) {
        let missing = &mut self.missing[kernel.index()];
        *missing -= 1;
        if *missing == 0 {
            self.becomes_eligible(app.index(), kernel);
        }
    }

    /// By kernel: the launch on which it depends programmatically; empty where no kernel depends on one.
    pub(super) fn programmatic(&self) -> &[Option<KernelIndex>] {
        &self.programmatic
    }

    /// Whether a kernel waits for the binding of CTAs of the launch on which it depends.
    #[inline]
    fn is_behind(&self, slot: &KernelSlot) -> bool {
        slot.behind.is_some_and(|before| self.occupied().any(|other| other.kernel == before && other.unassigned() > 0))
    }

    /// The applications, by [`AppId`].
    pub(super) fn apps(&self) -> &[AppState] {
        &self.apps
    }

    /// Whether a kernel waits only for a slot.
    #[inline]
    pub(super) fn can_admit(&self) -> bool {
        !self.eligible.is_empty() && (self.slots.len() < self.max_kernels || self.slots.iter().any(Option::is_none))
    }

    /// The first arrival among kernels that wait for nothing else.
    #[inline]
    pub(super) fn next_arrival(&self) -> Cycle {
        self.arriving.first().map_or(Cycle::NEVER, |(arrival, _)| *arrival)
    }

    /// Kernels whose CTAs may be bound from `ready_at` on have arrived: they wait for a slot alone.
    pub(super) fn arrive(&mut self, ready_at: Cycle) {
        while self.next_arrival() <= ready_at
            && let Some((_, waiting)) = self.arriving.pop_first()
        {
            self.eligible.insert(waiting);
        }
    }

    /// Gives the next kernel in program order a slot, from `ready_at` on; `None` when none waits or no slot is free.
    pub(super) fn admit(&mut self, workload: &Workload, ready_at: Cycle) -> Option<KernelIndex> {
        if !self.can_admit() {
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
            behind: self.programmatic.get(kernel.index()).copied().flatten(),
        });
        match self.slots.iter_mut().find(|slot| slot.is_none()) {
            Some(free) => *free = taken,
            None => self.slots.push(taken),
        }
        self.next_ready = self.next_ready.min(ready_at);
        Some(kernel)
    }

    /// The kernels whose CTAs may be bound from `now` on and of which that was not said before.
    pub(super) fn newly_ready(&mut self, now: Cycle) -> impl Iterator<Item = KernelIndex> {
        let new = self.slots.iter_mut().flatten().filter(move |slot| slot.ready_at <= now && !slot.announced);
        new.map(|slot| {
            slot.announced = true;
            slot.kernel
        })
    }

    /// The first cycle in which CTAs of a further kernel may be bound.
    #[inline]
    pub(super) fn next_ready(&self) -> Cycle {
        self.next_ready
    }

    /// Whether a kernel becomes ready at `now`; asked once per cycle.
    #[inline]
    pub(super) fn becomes_ready(&mut self, now: Cycle) -> bool {
        if self.next_ready > now {
            return false;
        }
        let later = self.slots.iter().flatten().map(|slot| slot.ready_at).filter(|&at| at > now);
        self.next_ready = later.min().unwrap_or(Cycle::NEVER);
        true
    }

    /// The slot of `kernel`, if it has one.
    #[inline]
    pub(super) fn slot_of(&self, kernel: KernelIndex) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|slot| slot.kernel == kernel))
    }

    /// The slot whose kernel is served next at `now` among those that `may` be: one of the highest priority, among these the one served
    /// last while it has CTAs, then the following ones round robin.
    #[inline]
    pub(super) fn select(&self, now: Cycle, may: impl Fn(usize, &KernelSlot) -> bool) -> Option<usize> {
        let slots = self.slots.len();
        let mut best: Option<(usize, i32)> = None;
        for i in (0..slots).map(|i| (self.last_served + i) % slots) {
            if let Some(slot) = &self.slots[i]
                && slot.has_work(now)
                && !self.is_behind(slot)
                && best.is_none_or(|(_, priority)| slot.priority > priority)
                && may(i, slot)
            {
                best = Some((i, slot.priority));
            }
        }
        best.map(|(slot, _)| slot)
    }

    /// Whether an application has ended and is not started again.
    #[inline]
    pub(super) fn is_over(&self, app: AppId) -> bool {
        self.apps.get(app.index()).is_none_or(|app| app.left == 0)
    }

    /// The kernels that have a slot, by slot.
    pub(super) fn slots(&self) -> &[Option<KernelSlot>] {
        &self.slots
    }

    /// The kernel in a slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Option<&KernelSlot> {
        self.slots[index].as_ref()
    }

    /// All kernels that have a slot.
    pub(super) fn occupied(&self) -> impl Iterator<Item = &KernelSlot> {
        self.slots.iter().flatten()
    }

    /// An SM gave a CTA back.
    pub(super) fn give_back(&mut self, kernel: KernelIndex, cta: CtaIndex) {
        let slot = self.slot_of(kernel).and_then(|slot| self.slots[slot].as_mut());
        slot.unwrap_or_else(|| panic!("grid: {cta} of {kernel} came back after its end")).returned += 1;
        let new = self.returned.entry(kernel).or_default().insert(cta);
        assert!(new, "grid: {cta} of {kernel} came back twice");
    }

    /// Takes the next CTA of the kernel in a slot, first those that SMs gave back. The kernel has one left.
    #[inline]
    pub(super) fn take_cta(&mut self, index: usize) -> CtaIndex {
        let slot = self.slots[index].as_mut().expect("only a kernel in a slot is served");
        debug_assert!(slot.unassigned() > 0, "{} has no CTA left to bind", slot.kernel);
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

    /// The kernel in a slot, and the CTA that [`Streams::take_cta`] would take.
    pub(super) fn next_cta(&self, index: usize) -> Option<(KernelIndex, CtaIndex)> {
        let slot = self.slot(index)?;
        let returned = self.returned.get(&slot.kernel).filter(|_| slot.returned > 0).and_then(BTreeSet::first);
        Some((slot.kernel, returned.copied().unwrap_or(CtaIndex(slot.next))))
    }

    /// Ends a round of bindings.
    #[inline]
    pub(super) fn end_round(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            slot.round = slot.unassigned();
        }
    }

    /// `kernel` ended at `now`: its slot is free, and those that waited for it alone may follow.
    pub(super) fn end(&mut self, kernel: KernelIndex, now: Cycle) -> Ended {
        let slot = self.slot_of(kernel);
        let slot = slot.unwrap_or_else(|| panic!("grid: {kernel} ended without having been launched"));
        let KernelSlot { app, .. } = self.slots[slot].take().unwrap_or_else(|| panic!("grid: {kernel} has no slot"));
        while self.slots.pop_if(|last| last.is_none()).is_some() {}
        self.end_of(kernel, app, now)
    }

    /// A copy of application `app` ended at `now`.
    pub(super) fn end_copy(&mut self, kernel: KernelIndex, app: AppId, now: Cycle) -> Ended {
        self.end_of(kernel, app, now)
    }

    fn end_of(&mut self, kernel: KernelIndex, app: AppId, now: Cycle) -> Ended {
        self.follow(kernel, app);
        let state = &mut self.apps[app.index()];
        state.left -= 1;
        if state.left > 0 {
            return Ended::Kernel;
        }
        state.ended += 1;
        if state.ended == 1 {
            state.first_end = Some(now);
            self.apps_left -= 1;
        }
        if self.apps_left > 0 && !state.again.is_empty() {
            state.left = state.again.len();
            let again = state.again.clone();
            self.begin(app.index(), again);
        }
        Ended::Application(app)
    }

    /// Applications that have not ended once.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.apps_left
    }

    /// Kernels that wait for their arrival alone, with it.
    pub(super) fn arriving(&self) -> impl Iterator<Item = (Cycle, KernelIndex)> {
        self.arriving.iter().map(|(arrival, (.., kernel))| (*arrival, *kernel))
    }

    /// Kernels that wait only for a slot.
    pub(super) fn eligible(&self) -> impl Iterator<Item = KernelIndex> {
        self.eligible.iter().map(|(.., kernel)| *kernel)
    }
}
