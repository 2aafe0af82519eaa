//! The stage that starts CTAs.
//!
//! A bound CTA starts at the end of the first cycle in which its threads, warps, registers, shared memory and a CTA slot are free. CTAs
//! start one after the other (`gpu.dispatch.cta_interval`) in the order of binding; if SMs are allocated by ranges, CTAs of applications
//! above the least priority come first. A kernel whose resident CTAs have reached its share of the SM is skipped. The loads of a CTA bypass
//! the L1 if fewer resident CTAs of its kernel do so than a controller requests (Liang and Li, "Efficient Kernel Management on GPUs", ACM
//! TECS 16(4), 2017, Section 4.4); a CTA that resumes after a preemption is also a CTA that starts, so its SM decides again. The warps of a
//! CTA occupy consecutive slots from a multiple of their number.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Cycle, KernelIndex, LinkId, address_space};
use warpshard_config::machine::{Allocation, Dispatch, Sm as Spec};
use warpshard_protocol::{CtaLaunch, CtaNotice, Outbox, Payload, WarpContext};
use warpshard_workload::{CtaProgram, Workload};

use super::control::code_for_core;
use super::core::{AddressWindows, Core, ResidentCta, ResidentCtas};
use super::observers::Observers;
use crate::occupancy::{CtaNeeds, resident_ctas};

/// A CTA that waits for its resources.
#[derive(Clone, Debug, warpshard_state::State)]
struct BoundCta {
    at: Cycle,
    launch: CtaLaunch,
    program: Arc<CtaProgram>,
    /// The contexts from which its warps resume, by warp; empty if the CTA starts from its beginning.
    contexts: Vec<WarpContext>,
}

/// Number of CTAs of each kernel that are to bypass the L1; separate from the stage, since few runs use it.
#[derive(Debug, Default, warpshard_state::State)]
struct BypassLimits(Vec<(KernelIndex, u32)>);

/// The stage that starts CTAs: the CTAs bound to the SM, in the order of binding.
#[derive(Debug, warpshard_state::State)]
pub(super) struct CtaStage {
    bound_ctas: VecDeque<BoundCta>,
    /// Maximum number of resident CTAs, set by a controller.
    limit: u32,
    /// Numbers of CTAs of kernels that are to bypass the L1, set by a controller; `None` if never set.
    bypass: Option<Box<BypassLimits>>,
    /// Number of started warps, which is the age of the next one.
    started_warps: u32,
    last_kernel: Option<KernelIndex>,
    /// True while no CTA starts because the SM is paused.
    starts_held: bool,
    /// The first cycle in which a CTA may start: the SM wakes, or starts another CTA before.
    earliest_start: Cycle,
    /// Cycles from one start to the next, and additional cycles per warp.
    #[state(fixed)]
    intervals: [u32; 2],
    /// True for each application whose CTAs start first, at fixed positions; empty if SMs are not allocated by ranges.
    preempting: Box<[bool]>,
}

impl CtaStage {
    pub(super) fn new(spec: &Spec, dispatch: &Dispatch, workload: &Workload) -> Self {
        let preempting = if spec.allocation == Allocation::Ranges { preempting_apps(workload) } else { Box::default() };
        Self {
            bound_ctas: VecDeque::new(),
            limit: u32::MAX,
            bypass: None,
            started_warps: 0,
            last_kernel: None,
            starts_held: false,
            earliest_start: Cycle(0),
            intervals: [dispatch.cta_interval, dispatch.warp_interval],
            preempting,
        }
    }

    /// Binds a CTA from cycle `at` on, whose warps resume from `contexts`, or start from their beginning if `contexts` is empty.
    pub(super) fn bind(&mut self, at: Cycle, launch: CtaLaunch, program: Arc<CtaProgram>, contexts: Vec<WarpContext>) {
        debug_assert!(contexts.iter().all(|context| (context.kernel, context.cta) == (launch.kernel, launch.cta)));
        self.bound_ctas.push_back(BoundCta { at, launch, program, contexts });
    }

    /// Records that the dependency of a launch is met: the warps of its bound CTAs do not wait at `griddepcontrol.wait`.
    pub(super) fn dependency_met(&mut self, kernel: KernelIndex) {
        self.bound_ctas.iter_mut().filter(|bound| bound.launch.kernel == kernel).for_each(|bound| bound.launch.waits = false);
    }

    /// Removes and returns the first bound CTA that has arrived and was sent before `cycle`, except CTAs that preempt others.
    pub(super) fn take_sent_before(
        &mut self,
        cycle: Cycle,
        now: Cycle,
        workload: &Workload,
    ) -> Option<(CtaLaunch, Arc<CtaProgram>, Vec<WarpContext>)> {
        let sent = self.bound_ctas.iter().take_while(|bound| bound.at < cycle && bound.at <= now);
        let at = sent.enumerate().find(|(_, bound)| !self.preempts_others(&bound.launch, workload))?.0;
        let BoundCta { launch, program, contexts, .. } = self.bound_ctas.remove(at)?;
        Some((launch, program, contexts))
    }

    /// Returns true if a CTA starts before others and at fixed positions only.
    fn preempts_others(&self, launch: &CtaLaunch, workload: &Workload) -> bool {
        !self.preempting.is_empty() && self.preempting.get(workload.kernel(launch.kernel).info.app.index()) == Some(&true)
    }

    /// Limits the number of resident CTAs; at least one.
    pub(super) fn set_limit(&mut self, limit: u32, ctas: &mut ResidentCtas) {
        self.limit = limit.max(1);
        ctas.blocked = false;
    }

    /// Sets the number of CTAs of a kernel that are to bypass the L1.
    pub(super) fn set_bypass(&mut self, kernel: KernelIndex, ctas: u32) {
        let wanted = &mut self.bypass.get_or_insert_default().0;
        wanted.retain(|(known, _)| *known != kernel);
        wanted.push((kernel, ctas));
    }

    /// Returns true if a CTA of a kernel that starts now bypasses the L1.
    fn bypasses_l1(&self, kernel: KernelIndex, ctas: &ResidentCtas) -> bool {
        let wanted = self.bypass.as_ref().and_then(|all| all.0.iter().find(|(known, _)| *known == kernel));
        wanted.is_some_and(|(_, wanted)| ctas.bypassing_of(kernel) < *wanted)
    }

    /// Returns true if no CTA is bound.
    pub(super) fn is_empty(&self) -> bool {
        self.bound_ctas.is_empty()
    }

    /// Holds or releases the starts of CTAs.
    pub(super) fn set_held(&mut self, held: bool) {
        self.starts_held = held;
    }

    /// Delays the starts of CTAs until `cycle`.
    pub(super) fn delay_until(&mut self, cycle: Cycle) {
        self.earliest_start = cycle;
    }

    /// Returns the first cycle at or after `now` at whose end a CTA may start.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, ctas: &ResidentCtas) -> Cycle {
        match self.bound_ctas.front() {
            Some(bound) if !ctas.blocked && !self.starts_held => bound.at.max(self.earliest_start).max(now),
            // A CTA that arrives later may start first if kernels have shares of the SM, or if some applications preempt others.
            Some(first) if (first.launch.share != u16::MAX || !self.preempting.is_empty()) && !self.starts_held => {
                let next = self.bound_ctas.iter().map(|bound| bound.at).find(|at| *at >= now);
                next.map_or(Cycle::NEVER, |at| at.max(self.earliest_start))
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
    ) -> Option<StartedCta> {
        if self.next_event(core.now, &core.ctas) == core.now { self.start(core, observers, workload, to_grid, out) } else { None }
    }

    /// Returns the position in the queue and the kernel of the first bound CTA that has arrived and whose kernel has not reached its share
    /// of the SM.
    fn next_bound(&self, core: &mut Core, workload: &Workload) -> Option<(usize, KernelIndex)> {
        let arrived = || self.bound_ctas.iter().take_while(|bound| bound.at <= core.now).enumerate();
        let may = |launch: &CtaLaunch| launch.share == u16::MAX || core.ctas.resident_of(launch.kernel) < u32::from(launch.share);
        let first = || arrived().map(|(at, bound)| (at, bound.launch)).find(|(_, launch)| may(launch));
        let mut preempting = arrived().map(|(at, bound)| (at, bound.launch)).filter(|(_, launch)| self.preempts_others(launch, workload));
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
    ) -> Option<StartedCta> {
        let (at, kernel) = self.next_bound(core, workload)?;
        let info = &workload.kernel(kernel).info;
        let needs = CtaNeeds::of(&core.spec, info);
        let aligned = self.preempts_others(&self.bound_ctas[at].launch, workload);
        let free = if core.ctas.resident_count() < self.limit { core.ctas.find_slot(&core.spec, &needs, aligned) } else { None };
        let Some((slot, first_warp, place)) = free else {
            core.ctas.blocked = true;
            return None;
        };
        let windows = AddressWindows {
            shared_base: info.shared_base.0,
            local_base: info.local_base.0,
            threads: u64::from(needs.threads),
            ctas_per_sm: u64::from(resident_ctas(&core.spec, info).unwrap_or(1)),
            space: address_space(info.app),
            past_l1: self.bypasses_l1(kernel, &core.ctas),
        };
        let BoundCta { launch, program, contexts, .. } = self.bound_ctas.remove(at)?;
        let [of_cta, of_warp] = self.intervals;
        self.earliest_start = self.earliest_start.max(core.now.after(u64::from(of_cta + of_warp * needs.warps)));
        let alone = core.ctas.resident_count() == 0;
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
            core.warps.start(warp, slot, self.started_warps, core.now, stream.clone());
            observers.warp_started(warp, kernel, core.now);
            self.started_warps += 1;
            let (executed, replays) = contexts.get(i).map_or((0, 0), |context| (context.executed, context.replays));
            if executed > 0 {
                core.warps.resume_at(warp, executed, replays);
            }
            if contexts.get(i).is_some_and(|context| context.at_barrier) {
                core.warps.at_barrier |= 1 << warp;
            }
            running |= u64::from(stream.len() > executed) << warp;
            instructions += u64::from(stream.len());
        }
        debug_assert!(program.warps.len() <= needs.warps as usize, "{}: more streams than warps in {}", core.id, launch.cta);
        let left = core.warps.live & mask;
        let cta = ResidentCta {
            launch,
            needs,
            warps: mask,
            unreleased: left,
            running,
            instructions,
            windows,
            program: Arc::clone(&program),
            wrote: contexts.iter().any(|context| context.wrote),
            started: core.now.next(),
            executed_before: contexts.iter().map(|context| u64::from(context.executed)).sum(),
            place,
        };
        core.counters.kernels.at(kernel.index()).ctas_bypassing += u64::from(windows.past_l1);
        core.ctas.start(slot, code_for_core(&core.spec.control, &program.code), cta);
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
        Some(StartedCta { kernel, is_new, restored: if contexts.is_empty() { 0 } else { mask } })
    }

    /// Adds a description of the bound CTAs to `lines`, for the deadlock report.
    pub(super) fn describe(&self, lines: &mut Vec<String>) {
        if let Some(bound) = self.bound_ctas.front() {
            let CtaLaunch { kernel, cta, .. } = bound.launch;
            lines.push(format!("{} bound CTAs wait, the first ({kernel}, {cta}) since {}", self.bound_ctas.len(), bound.at));
        }
    }
}

/// Returns, for each application, true if it preempts others because its priority is above the least.
fn preempting_apps(workload: &Workload) -> Box<[bool]> {
    let apps = workload.applications();
    let least = apps.iter().map(|app| app.priority).min();
    apps.iter().map(|app| Some(app.priority) > least).collect()
}

/// A CTA that started.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartedCta {
    pub(super) kernel: KernelIndex,
    /// True if the SM was empty and its last CTA belonged to another kernel.
    pub(super) is_new: bool,
    /// The warps of a CTA that resumes from its context; 0 for other CTAs.
    pub(super) restored: u64,
}
