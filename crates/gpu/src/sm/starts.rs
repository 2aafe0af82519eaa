//! The stage that starts CTAs.
//!
//! A bound CTA starts at the end of the first cycle in which its threads, warps, registers, shared memory and a CTA slot are
//! free, one after the other (`gpu.dispatch.cta_interval`) and in the order of binding; where SMs are allocated by ranges, those of applications of more than the least priority first.
//! A kernel of which the SM holds as many CTAs as its share is passed over. It gets the bit by
//! which its loads go past the L1 if fewer resident CTAs of its kernel have it than a controller wants (Liang and Li, "Efficient Kernel
//! Management on GPUs", ACM TECS 16(4), 2017, Section 4.4); one that comes back after a preemption is a CTA that starts, so its SM decides anew. Its warps occupy consecutive slots from a multiple of their number.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Cycle, KernelIndex, LinkId, address_space};
use warpshard_config::machine::{Allocation, Dispatch, Sm as Spec};
use warpshard_protocol::{CtaLaunch, CtaNotice, Outbox, Payload, WarpContext};
use warpshard_workload::{CtaProgram, Workload};

use super::control::as_read;
use super::core::{Core, Ctas, Resident, Windows};
use super::observers::Observers;
use crate::occupancy::{CtaNeeds, resident_ctas};

/// A CTA that waits for its resources.
#[derive(Clone, Debug, warpshard_state::State)]
struct Bound {
    at: Cycle,
    launch: CtaLaunch,
    program: Arc<CtaProgram>,
    /// Where its warps go on, by warp; none where it starts from its beginning.
    contexts: Vec<WarpContext>,
}

/// How many CTAs of each kernel are to bypass the L1; apart from the stage, since few runs have any.
#[derive(Debug, Default, warpshard_state::State)]
struct Wanted(Vec<(KernelIndex, u32)>);

/// The stage that starts CTAs: those bound to the SM, in the order of binding.
#[derive(Debug, warpshard_state::State)]
pub(super) struct CtaStage {
    bound: VecDeque<Bound>,
    /// CTAs that may be resident at once, by decision of a controller.
    limit: u32,
    /// CTAs of kernels that are to bypass the L1, by decision of a controller; none where there never was one.
    bypass: Option<Box<Wanted>>,
    /// Warps started so far: the age of the next.
    launched: u32,
    last_kernel: Option<KernelIndex>,
    /// No CTA starts: the SM is paused.
    held: bool,
    /// No CTA starts before this cycle: the SM is waking, or starts another.
    earliest: Cycle,
    /// Cycles from one start to the next, and more for each warp.
    #[state(fixed)]
    intervals: [u32; 2],
    /// By application: whether its CTAs go first, and to fixed positions; empty where SMs are not allocated by ranges.
    preempting: Box<[bool]>,
}

impl CtaStage {
    pub(super) fn new(spec: &Spec, dispatch: &Dispatch, workload: &Workload) -> Self {
        let preempting = if spec.allocation == Allocation::Ranges { preempting(workload) } else { Box::default() };
        Self {
            bound: VecDeque::new(),
            limit: u32::MAX,
            bypass: None,
            launched: 0,
            last_kernel: None,
            held: false,
            earliest: Cycle(0),
            intervals: [dispatch.cta_interval, dispatch.warp_interval],
            preempting,
        }
    }

    /// Binds a CTA from cycle `at` on, whose warps go on from `contexts`, or from their beginning where there are none.
    pub(super) fn bind(&mut self, at: Cycle, launch: CtaLaunch, program: Arc<CtaProgram>, contexts: Vec<WarpContext>) {
        debug_assert!(contexts.iter().all(|context| (context.kernel, context.cta) == (launch.kernel, launch.cta)));
        self.bound.push_back(Bound { at, launch, program, contexts });
    }

    /// The dependency of a launch is met: the warps of its CTAs will not wait at `griddepcontrol.wait`.
    pub(super) fn dependency_met(&mut self, kernel: KernelIndex) {
        self.bound.iter_mut().filter(|bound| bound.launch.kernel == kernel).for_each(|bound| bound.launch.waits = false);
    }

    /// Takes out the first bound CTA that has arrived and was sent before `cycle`, except CTAs that preempt others.
    pub(super) fn take_sent_before(
        &mut self,
        cycle: Cycle,
        now: Cycle,
        workload: &Workload,
    ) -> Option<(CtaLaunch, Arc<CtaProgram>, Vec<WarpContext>)> {
        let sent = self.bound.iter().take_while(|bound| bound.at < cycle && bound.at <= now);
        let at = sent.enumerate().find(|(_, bound)| !self.goes_first(&bound.launch, workload))?.0;
        let Bound { launch, program, contexts, .. } = self.bound.remove(at)?;
        Some((launch, program, contexts))
    }

    /// Whether a CTA goes before others, and to fixed positions only.
    fn goes_first(&self, launch: &CtaLaunch, workload: &Workload) -> bool {
        !self.preempting.is_empty() && self.preempting.get(workload.kernel(launch.kernel).info.app.index()) == Some(&true)
    }

    /// So many CTAs may be resident at once; at least one.
    pub(super) fn set_limit(&mut self, limit: u32, ctas: &mut Ctas) {
        self.limit = limit.max(1);
        ctas.blocked = false;
    }

    /// So many CTAs of a kernel are to bypass the L1.
    pub(super) fn set_bypass(&mut self, kernel: KernelIndex, ctas: u32) {
        let wanted = &mut self.bypass.get_or_insert_default().0;
        wanted.retain(|(known, _)| *known != kernel);
        wanted.push((kernel, ctas));
    }

    /// Whether a CTA of a kernel that starts now bypasses the L1.
    fn bypasses(&self, kernel: KernelIndex, ctas: &Ctas) -> bool {
        let wanted = self.bypass.as_ref().and_then(|all| all.0.iter().find(|(known, _)| *known == kernel));
        wanted.is_some_and(|(_, wanted)| ctas.bypassing_of(kernel) < *wanted)
    }

    /// Whether no CTA is bound.
    pub(super) fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// Whether no CTA starts for the time being.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// No CTA starts before `cycle`.
    pub(super) fn not_before(&mut self, cycle: Cycle) {
        self.earliest = cycle;
    }

    /// The first cycle at or after `now` at whose end a CTA may start.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, ctas: &Ctas) -> Cycle {
        match self.bound.front() {
            Some(bound) if !ctas.blocked && !self.held => bound.at.max(self.earliest).max(now),
            // One that arrives later may go first where kernels have shares of the SM, and where some preempt others.
            Some(first) if (first.launch.share != u16::MAX || !self.preempting.is_empty()) && !self.held => {
                let next = self.bound.iter().map(|bound| bound.at).find(|at| *at >= now);
                next.map_or(Cycle::NEVER, |at| at.max(self.earliest))
            }
            _ => Cycle::NEVER,
        }
    }

    /// Starts the next bound CTA, if there is one and it fits; returns its kernel.
    #[inline]
    pub(super) fn tick(
        &mut self,
        core: &mut Core,
        observers: &mut Observers,
        workload: &Workload,
        to_grid: LinkId,
        out: &mut Outbox,
    ) -> Option<Started> {
        if self.next_event(core.now, &core.ctas) == core.now { self.start(core, observers, workload, to_grid, out) } else { None }
    }

    /// The first bound CTA that has arrived and whose kernel has not got its share of the SM; its place in the queue, and its kernel.
    fn next_bound(&self, core: &mut Core, workload: &Workload) -> Option<(usize, KernelIndex)> {
        let arrived = || self.bound.iter().take_while(|bound| bound.at <= core.now).enumerate();
        let may = |launch: &CtaLaunch| launch.share == u16::MAX || core.ctas.resident_of(launch.kernel) < u32::from(launch.share);
        let first = || arrived().map(|(at, bound)| (at, bound.launch)).find(|(_, launch)| may(launch));
        let mut preempting = arrived().map(|(at, bound)| (at, bound.launch)).filter(|(_, launch)| self.goes_first(launch, workload));
        let next = if self.preempting.is_empty() { first() } else { preempting.find(|(_, launch)| may(launch)).or_else(first) };
        core.ctas.blocked |= next.is_none();
        next.map(|(at, launch)| (at, launch.kernel))
    }

    fn start(
        &mut self,
        core: &mut Core,
        observers: &mut Observers,
        workload: &Workload,
        to_grid: LinkId,
        out: &mut Outbox,
    ) -> Option<Started> {
        let (at, kernel) = self.next_bound(core, workload)?;
        let info = &workload.kernel(kernel).info;
        let needs = CtaNeeds::of(&core.spec, info);
        let aligned = self.goes_first(&self.bound[at].launch, workload);
        let free = if core.ctas.resident() < self.limit { core.ctas.place(&core.spec, &needs, aligned) } else { None };
        let Some((slot, first_warp, place)) = free else {
            core.ctas.blocked = true;
            return None;
        };
        let windows = Windows {
            shared_base: info.shared_base.0,
            local_base: info.local_base.0,
            threads: u64::from(needs.threads),
            ctas_per_sm: u64::from(resident_ctas(&core.spec, info).unwrap_or(1)),
            space: address_space(info.app),
            past_l1: self.bypasses(kernel, &core.ctas),
        };
        let Bound { launch, program, contexts, .. } = self.bound.remove(at)?;
        let [of_cta, of_warp] = self.intervals;
        self.earliest = self.earliest.max(core.now.after(u64::from(of_cta + of_warp * needs.warps)));
        let alone = core.ctas.resident() == 0;
        if alone {
            core.resume_active();
        }
        let is_new = alone && self.last_kernel != Some(kernel);
        self.last_kernel = Some(kernel);
        core.count_residency(core.now.after(1));
        let mask = (u64::MAX >> (64 - needs.warps)) << first_warp;
        let (mut running, mut instructions) = (0, 0);
        for (i, stream) in program.warps.iter().enumerate() {
            let warp = first_warp + i;
            core.warps.start(warp, slot, self.launched, core.now, stream.clone());
            observers.warp_started(warp, kernel, core.now);
            self.launched += 1;
            let (executed, replays) = contexts.get(i).map_or((0, 0), |context| (context.executed, context.replays));
            if executed > 0 {
                core.warps.skip(warp, executed, replays);
            }
            if contexts.get(i).is_some_and(|context| context.at_barrier) {
                core.warps.at_barrier |= 1 << warp;
            }
            running |= u64::from(stream.len() > executed) << warp;
            instructions += u64::from(stream.len());
        }
        debug_assert!(program.warps.len() <= needs.warps as usize, "{}: more streams than warps in {}", core.id, launch.cta);
        let left = core.warps.live & mask;
        let cta = Resident {
            launch,
            needs,
            warps: mask,
            left,
            running,
            instructions,
            windows,
            program: Arc::clone(&program),
            wrote: contexts.iter().any(|context| context.wrote),
            started: core.now.next(),
            before: contexts.iter().map(|context| u64::from(context.executed)).sum(),
            place,
        };
        core.counters.kernels.at(kernel.index()).ctas_bypassing += u64::from(windows.past_l1);
        core.ctas.start(slot, as_read(&core.spec.control, &program.code), cta);
        if let Some(peers) = &mut core.peers {
            peers.started(slot, &launch, info.cluster_ctas());
        }
        core.counters.sm.ctas_started += 1;
        core.counters.kernels.at(kernel.index()).ctas_begun += 1;
        out.send(to_grid, core.now, Payload::CtaStarted(CtaNotice { kernel, cta: launch.cta, sm: core.id }));
        if left == 0 {
            // A CTA without a single warp in the trace has nothing to release.
            if let Some(ended) = core.ctas.end(slot as u8) {
                core.cta_ended(ended, to_grid, out);
            }
        }
        Some(Started { kernel, is_new, restored: if contexts.is_empty() { 0 } else { mask } })
    }

    /// The bound CTAs, for reports of a standstill.
    pub(super) fn describe(&self, lines: &mut Vec<String>) {
        if let Some(bound) = self.bound.front() {
            let CtaLaunch { kernel, cta, .. } = bound.launch;
            lines.push(format!("{} bound CTAs wait, the first ({kernel}, {cta}) since {}", self.bound.len(), bound.at));
        }
    }
}

/// By application: whether it preempts others, because its priority is above the least.
fn preempting(workload: &Workload) -> Box<[bool]> {
    let apps = workload.applications();
    let least = apps.iter().map(|app| app.priority).min();
    apps.iter().map(|app| Some(app.priority) > least).collect()
}

/// A CTA started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    pub(super) kernel: KernelIndex,
    /// The SM was empty, and its last CTA belonged to another kernel.
    pub(super) is_new: bool,
    /// The warps of a CTA that goes on from its context.
    pub(super) restored: u64,
}
