//! CTAs on the SM: bound CTAs, residency and resources, barriers, and the end of CTAs.
//!
//! A bound CTA starts at the end of the first cycle in which its threads, warps, registers, shared memory and a CTA slot are
//! free, one per cycle and in the order of binding. Its warps occupy consecutive slots from a multiple of their number.
//! It ends in the cycle in which the fetch stage releases its last warp.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::{Cycle, KernelIndex};
use crate::frontend::{CtaProgram, StaticInst};
use crate::gpu::occupancy::{CtaNeeds, resident_ctas};
use crate::protocol::{CtaLaunch, CtaNotice, Outbox, Payload};

use super::Sm;
use super::warps::bits;

/// A CTA that waits for its resources.
#[derive(Clone, Debug)]
struct Bound {
    at: Cycle,
    launch: CtaLaunch,
    program: Arc<CtaProgram>,
}

/// A resident CTA.
#[derive(Clone, Debug)]
struct Resident {
    launch: CtaLaunch,
    needs: CtaNeeds,
    /// Its slots.
    warps: u64,
    /// Those not yet released.
    left: u64,
    /// Those that have not issued their last instruction: whom a barrier waits for.
    running: u64,
    /// Of all its warps.
    instructions: u64,
    windows: Windows,
}

/// Where the kernel's generic addresses go, and how its local memory is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    pub(super) shared_base: u64,
    pub(super) local_base: u64,
    /// Threads of a CTA, padded to whole warps.
    pub(super) threads: u64,
    /// CTAs of the kernel that fit an SM.
    pub(super) ctas_per_sm: u64,
}

/// The CTAs of an SM.
#[derive(Debug)]
pub(super) struct Ctas {
    bound: VecDeque<Bound>,
    slots: Box<[Option<Resident>]>,
    /// Code and kernel by slot, apart from the rest because every issue reads them.
    code: Box<[Arc<[StaticInst]>]>,
    kernel: Box<[KernelIndex]>,
    used: CtaNeeds,
    resident: u32,
    /// CTAs that may be resident at once, by decision of a controller.
    limit: u32,
    launched: u32,
    last_kernel: Option<KernelIndex>,
    /// The first bound CTA was found not to fit, and nothing was freed since.
    blocked: bool,
    /// No CTA starts: the SM is paused.
    held: bool,
    /// No CTA starts before this cycle: the SM is waking.
    earliest: Cycle,
}

impl Ctas {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            bound: VecDeque::new(),
            slots: vec![None; slots as usize].into(),
            code: vec![Arc::from([]); slots as usize].into(),
            kernel: vec![KernelIndex(0); slots as usize].into(),
            used: CtaNeeds::default(),
            resident: 0,
            limit: u32::MAX,
            launched: 0,
            last_kernel: None,
            blocked: false,
            held: false,
            earliest: Cycle(0),
        }
    }

    /// Binds a CTA from cycle `at` on.
    pub(super) fn bind(&mut self, at: Cycle, launch: CtaLaunch, program: Arc<CtaProgram>) {
        self.bound.push_back(Bound { at, launch, program });
    }

    /// Resident CTAs.
    #[inline]
    pub(super) fn resident(&self) -> u32 {
        self.resident
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.max(1);
        self.blocked = false;
    }

    /// Neither resident nor bound.
    pub(super) fn is_empty(&self) -> bool {
        self.resident == 0 && self.bound.is_empty()
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
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        match self.bound.front() {
            Some(bound) if !self.blocked && !self.held => bound.at.max(self.earliest).max(now),
            _ => Cycle::NEVER,
        }
    }

    /// The code of the CTA in a slot.
    #[inline]
    pub(super) fn code(&self, slot: u8) -> &[StaticInst] {
        &self.code[usize::from(slot)]
    }

    /// The kernel of the CTA in a slot.
    #[inline]
    pub(super) fn kernel(&self, slot: u8) -> KernelIndex {
        self.kernel[usize::from(slot)]
    }

    /// The address windows of the CTA in a slot.
    #[inline]
    pub(super) fn windows(&self, slot: u8) -> &Windows {
        &self.get(slot).windows
    }

    #[inline]
    fn get(&self, slot: u8) -> &Resident {
        match &self.slots[usize::from(slot)] {
            Some(cta) => cta,
            None => panic!("CTA slot {slot} is empty"),
        }
    }

    #[inline]
    fn get_mut(&mut self, slot: u8) -> &mut Resident {
        match &mut self.slots[usize::from(slot)] {
            Some(cta) => cta,
            None => panic!("CTA slot {slot} is empty"),
        }
    }

    /// What waits, for reports of a standstill.
    pub(super) fn describe(&self, lines: &mut Vec<String>) {
        if let Some(bound) = self.bound.front() {
            let CtaLaunch { kernel, cta } = bound.launch;
            lines.push(format!("{} bound CTAs wait, the first ({kernel}, {cta}) since {}", self.bound.len(), bound.at));
        }
        for cta in self.slots.iter().flatten() {
            let CtaLaunch { kernel, cta: index } = cta.launch;
            let (left, running) = (cta.left.count_ones(), cta.running.count_ones());
            lines.push(format!("{kernel}, {index}: {left} warps left, {running} of them with instructions"));
        }
    }
}

impl Sm {
    /// Starts the next bound CTA if there is one and it fits.
    #[inline]
    pub(super) fn start_cta(&mut self, out: &mut Outbox) {
        if self.ctas.next_event(self.now) != self.now {
            return;
        }
        let Some(first) = self.ctas.bound.front() else { return };
        let info = &self.workload.kernel(first.launch.kernel).info;
        let needs = CtaNeeds::of(&self.spec, info);
        let Some((slot, first_warp)) = self.place(&needs) else {
            self.ctas.blocked = true;
            return;
        };
        let windows = Windows {
            shared_base: info.shared_base.0,
            local_base: info.local_base.0,
            threads: u64::from(needs.threads),
            ctas_per_sm: u64::from(resident_ctas(&self.spec, info).unwrap_or(1)),
        };
        let Some(Bound { launch, program, .. }) = self.ctas.bound.pop_front() else { return };
        if self.ctas.resident == 0 {
            self.resume_active();
            if self.ctas.last_kernel != Some(launch.kernel) {
                self.enter_kernel(launch.kernel);
            }
        }
        let mask = (u64::MAX >> (64 - needs.warps)) << first_warp;
        self.count_residency(self.now.after(1));
        let (mut running, mut instructions) = (0, 0);
        for (i, stream) in program.warps.iter().enumerate() {
            let warp = first_warp + i;
            self.warps.start(warp, slot, self.ctas.launched, self.now, stream.clone());
            if let Some(ccws) = &mut self.ccws {
                ccws.start(warp, self.now);
            }
            self.ctas.launched += 1;
            running |= u64::from(!stream.is_empty()) << warp;
            instructions += u64::from(stream.len());
        }
        debug_assert!(program.warps.len() <= needs.warps as usize, "{}: more streams than warps in {}", self.id, launch.cta);
        let mask_started = self.warps.live & mask;
        let ctas = &mut self.ctas;
        ctas.last_kernel = Some(launch.kernel);
        ctas.resident += 1;
        ctas.used.threads += needs.threads;
        ctas.used.warps += needs.warps;
        ctas.used.shared_bytes += needs.shared_bytes;
        ctas.used.registers += needs.registers;
        ctas.code[slot] = Arc::clone(&program.code);
        ctas.kernel[slot] = launch.kernel;
        ctas.slots[slot] = Some(Resident { launch, needs, warps: mask, left: mask_started, running, instructions, windows });
        self.counters.sm.ctas_started += 1;
        self.limit_warps();
        let notice = CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: self.id };
        out.send(self.ports.to_grid, self.now, Payload::CtaStarted(notice));
        if mask_started == 0 {
            // A CTA without a single warp in the trace has nothing to release.
            self.end_cta(slot as u8, out);
        }
    }

    /// A free CTA slot and the first of a free run of warp slots, if everything the CTA needs is free.
    fn place(&self, needs: &CtaNeeds) -> Option<(usize, usize)> {
        let (spec, used) = (&self.spec, &self.ctas.used);
        let fits = self.ctas.resident < self.ctas.limit
            && used.threads + needs.threads <= spec.max_threads
            && used.warps + needs.warps <= spec.warps
            && used.shared_bytes + needs.shared_bytes <= spec.shared_bytes
            && used.registers + needs.registers <= spec.registers;
        if !fits {
            return None;
        }
        let slot = self.ctas.slots.iter().position(Option::is_none)?;
        let taken = self.ctas.slots.iter().flatten().fold(0, |mask, cta| mask | cta.warps);
        let count = needs.warps.max(1) as usize;
        let run = u64::MAX >> (64 - count);
        let first = (0..=(spec.warps as usize).saturating_sub(count)).step_by(count).find(|first| taken >> first & run == 0)?;
        Some((slot, first))
    }

    /// A warp issued its last instruction: barriers wait for it no longer.
    pub(super) fn warp_finished(&mut self, warp: usize) {
        let cta = self.ctas.get_mut(self.warps.cta[warp]);
        cta.running &= !(1 << warp);
        let (all, running) = (cta.warps, cta.running);
        self.open_barrier(all, running);
        if let Some(ccws) = &mut self.ccws {
            ccws.finish(self.now);
        }
        self.limit_warps();
    }

    /// A warp arrives at its CTA's barrier.
    pub(super) fn reach_barrier(&mut self, warp: usize) {
        let cta = self.ctas.get(self.warps.cta[warp]);
        let (all, running) = (cta.warps, cta.running);
        if running >> warp & 1 != 0 {
            self.warps.at_barrier |= 1 << warp;
        }
        self.open_barrier(all, running);
        self.wait_changed();
    }

    #[inline]
    fn open_barrier(&mut self, all: u64, running: u64) {
        if self.warps.at_barrier & all == running && running != 0 {
            self.warps.leave_barrier(all);
        }
    }

    /// Takes a finished warp out of its slot; the CTA ends with its last.
    pub(super) fn release_warp(&mut self, warp: usize, out: &mut Outbox) {
        let slot = self.warps.cta[warp];
        self.count_residency(self.now.after(1));
        self.warps.remove(warp);
        if let Some(ccws) = &mut self.ccws {
            ccws.end(warp);
        }
        let cta = self.ctas.get_mut(slot);
        cta.left &= !(1 << warp);
        if cta.left == 0 {
            self.end_cta(slot, out);
        }
    }

    fn end_cta(&mut self, slot: u8, out: &mut Outbox) {
        let Some(cta) = self.ctas.slots[usize::from(slot)].take() else { return };
        let used = &mut self.ctas.used;
        used.threads -= cta.needs.threads;
        used.warps -= cta.needs.warps;
        used.shared_bytes -= cta.needs.shared_bytes;
        used.registers -= cta.needs.registers;
        self.ctas.resident -= 1;
        self.ctas.blocked = false;
        self.counters.kernels[cta.launch.kernel.index()].ctas += 1;
        self.counters.sm.ctas_ended += 1;
        self.counters.sm.ended_cta_instructions += cta.instructions;
        if self.ctas.resident == 0 {
            self.pause_active();
            self.drained();
        }
        let notice = CtaNotice { kernel: cta.launch.kernel, cta: cta.launch.cta, sm: self.id };
        out.send(self.ports.to_grid, self.now, Payload::CtaDone(notice));
    }

    /// Lets only those warps issue that the limit of warps, the ready queues of two-level schedulers and CCWS admit.
    pub(super) fn limit_warps(&mut self) {
        let limited = match self.warp_limit {
            _ if self.power.is_paused() => 0,
            Some(limit) => self.warps.oldest(limit),
            None => u64::MAX,
        };
        let allowed = limited & self.queues.as_ref().map_or(u64::MAX, |queues| queues.ready());
        let allowed = self.ccws.as_mut().map_or(allowed, |ccws| ccws.admit(allowed));
        self.warps.touch_others((self.warps.allowed ^ allowed) & self.warps.live);
        self.warps.allowed = allowed;
    }

    /// A warp begins or ends to wait at a barrier or for a fence or an atomic, and with it gives away or takes a place under the
    /// limit of warps.
    #[inline]
    pub(super) fn wait_changed(&mut self) {
        if self.warp_limit.is_some() {
            self.limit_warps();
        }
    }

    /// Lines of the standstill report about warps.
    pub(super) fn describe_warps(&self, lines: &mut Vec<String>) {
        let warps = &self.warps;
        for warp in bits(warps.live) {
            let bit = 1u64 << warp;
            let what = if warps.at_barrier & bit != 0 {
                "at a barrier".to_owned()
            } else if warps.at_fence & bit != 0 {
                "at a memory fence".to_owned()
            } else if warps.at_atomic & bit != 0 {
                format!("for {} lanes of atomics", warps.atomics[warp])
            } else if warps.finished & bit != 0 {
                format!("to drain: {} instructions and {} stores under way", warps.in_pipe[warp], warps.stores[warp])
            } else if warps.hazard & bit != 0 {
                let registers: Vec<_> = self.scoreboard.registers(warp).map(|r| format!("R{r}")).collect();
                format!("for one of {}", registers.join(" "))
            } else if warps.valid & bit != 0 {
                "for its unit".to_owned()
            } else {
                "for instructions".to_owned()
            };
            lines.push(format!("warp {warp} waits {what} since {}", warps.last_issue[warp]));
        }
    }
}
