//! The resident CTAs of an SM: their resources, code, address windows and barrier groups.

use std::sync::Arc;

use warpshard_base::{CtaIndex, Cycle, KernelIndex};
use warpshard_config::machine::{Allocation, Sm as Spec};
use warpshard_protocol::CtaLaunch;
use warpshard_workload::{CtaProgram, StaticInst};

use super::ranges::{RangeAllocator, RangeStarts};
use crate::occupancy::CtaNeeds;

/// A resident CTA.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct ResidentCta {
    pub(in crate::sm) launch: CtaLaunch,
    pub(in crate::sm) needs: CtaNeeds,
    /// The warp slots of the CTA.
    pub(in crate::sm) warps: u64,
    /// Warps that have not been released.
    pub(in crate::sm) unreleased: u64,
    /// Warps that have not issued their last instruction; a barrier waits for these warps.
    pub(in crate::sm) running: u64,
    /// Instructions of all warps of the CTA.
    pub(in crate::sm) instructions: u64,
    pub(in crate::sm) windows: AddressWindows,
    /// Instruction streams and code of the CTA, which another SM needs if the CTA is preempted.
    pub(in crate::sm) program: Arc<CtaProgram>,
    /// True if the CTA has written to global memory or executed an atomic there, so that it may not be restarted.
    pub(in crate::sm) wrote: bool,
    /// The cycle in which the CTA started on this SM.
    pub(in crate::sm) started: Cycle,
    /// Instructions that the CTA had executed before it started on this SM.
    pub(in crate::sm) executed_before: u64,
    /// Start of the registers and of the shared memory of the CTA; zeros if these resources are only counted.
    pub(in crate::sm) place: RangeStarts,
}

/// Address windows of the generic addresses of a kernel, and the layout of its local memory.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct AddressWindows {
    pub(in crate::sm) shared_base: u64,
    pub(in crate::sm) local_base: u64,
    /// Threads of a CTA, padded to whole warps.
    pub(in crate::sm) threads: u64,
    /// CTAs of the kernel that fit on an SM.
    pub(in crate::sm) ctas_per_sm: u64,
    /// Start of the address space of the application.
    pub(in crate::sm) space: u64,
    /// True if loads of the CTA from global memory bypass the L1.
    pub(in crate::sm) past_l1: bool,
}

/// The resident CTAs of an SM.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct ResidentCtas {
    slots: Box<[Option<ResidentCta>]>,
    /// Code by slot. It is separate from the other fields because every issue reads it.
    code: Box<[Arc<[StaticInst]>]>,
    /// Kernel by slot, separate for the same reason as `code`.
    kernel: Box<[KernelIndex]>,
    used_resources: CtaNeeds,
    /// The occupied ranges, unless resources are only counted.
    space: Option<Box<RangeAllocator>>,
    resident: u32,
    /// True if the first bound CTA did not fit and nothing has been freed since.
    pub(in crate::sm) blocked: bool,
    /// True if the last resident CTA ended since the last call of [`ResidentCtas::take_emptied`].
    emptied: bool,
    /// The kernel of all resident CTAs; `None` without CTAs or with CTAs of several kernels.
    only_kernel: Option<KernelIndex>,
}

impl ResidentCtas {
    pub(in crate::sm) fn new(spec: &Spec) -> Self {
        let slots = spec.max_ctas;
        let space = || Box::new(RangeAllocator::new(spec.registers, spec.shared_bytes, slots));
        Self {
            slots: vec![None; slots as usize].into(),
            code: vec![Arc::from([]); slots as usize].into(),
            kernel: vec![KernelIndex(0); slots as usize].into(),
            used_resources: CtaNeeds::default(),
            space: (spec.allocation == Allocation::Ranges).then(space),
            resident: 0,
            blocked: false,
            emptied: false,
            only_kernel: None,
        }
    }

    /// Returns the number of resident CTAs.
    #[inline]
    pub(in crate::sm) fn resident_count(&self) -> u32 {
        self.resident
    }

    /// Returns the number of resident CTAs of a kernel.
    pub(in crate::sm) fn resident_of(&self, kernel: KernelIndex) -> u32 {
        self.slots.iter().flatten().filter(|cta| cta.launch.kernel == kernel).count() as u32
    }

    /// Returns the kernel of all resident CTAs, if they belong to one kernel.
    #[inline]
    pub(in crate::sm) fn only_kernel(&self) -> Option<KernelIndex> {
        self.only_kernel
    }

    fn find_only_kernel(&mut self) {
        let mut kernels = self.slots.iter().flatten().map(|cta| cta.launch.kernel);
        let first = kernels.next();
        self.only_kernel = first.filter(|first| kernels.all(|kernel| kernel == *first));
    }

    /// Returns the number of resident CTAs of a kernel whose loads bypass the L1.
    pub(in crate::sm) fn bypassing_of(&self, kernel: KernelIndex) -> u32 {
        self.slots.iter().flatten().filter(|cta| cta.launch.kernel == kernel && cta.windows.past_l1).count() as u32
    }

    /// Returns true if [`ResidentCtas::take_emptied`] would return true.
    #[inline]
    pub(in crate::sm) fn is_emptied(&self) -> bool {
        self.emptied
    }

    /// Returns true if the last resident CTA ended since the last call.
    #[inline]
    pub(in crate::sm) fn take_emptied(&mut self) -> bool {
        std::mem::take(&mut self.emptied)
    }

    /// Returns the code of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn code(&self, slot: u8) -> &[StaticInst] {
        &self.code[usize::from(slot)]
    }

    /// Returns the resident CTAs with their slots.
    pub(in crate::sm) fn iter(&self) -> impl Iterator<Item = (u8, &ResidentCta)> {
        self.slots.iter().enumerate().filter_map(|(slot, cta)| Some((slot as u8, cta.as_ref()?)))
    }

    /// Records that a warp of the CTA in a slot executes the store or atomic at index `place` of its code, in global memory.
    #[inline]
    pub(in crate::sm) fn record_write(&mut self, slot: u8, place: u32) {
        let cta = self.get_mut(slot);
        cta.wrote = cta.wrote || cta.program.repeatable.binary_search(&place).is_err();
    }

    /// Removes and returns the CTA in a slot.
    pub(in crate::sm) fn take(&mut self, slot: u8) -> Option<ResidentCta> {
        let cta = self.slots[usize::from(slot)].clone()?;
        self.end(slot)?;
        Some(cta)
    }

    /// Returns the kernel of the CTA in each slot.
    #[inline]
    pub(in crate::sm) fn kernels(&self) -> &[KernelIndex] {
        &self.kernel
    }

    /// Returns the kernel of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn kernel(&self, slot: u8) -> KernelIndex {
        self.kernel[usize::from(slot)]
    }

    /// Returns the address windows of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn windows(&self, slot: u8) -> &AddressWindows {
        &self.get(slot).windows
    }

    /// Returns all warps of the CTA in a slot, and the warps for which its barrier waits.
    pub(in crate::sm) fn warps_at_barrier(&self, slot: u8) -> (u64, u64) {
        let cta = self.get(slot);
        (cta.warps, cta.running)
    }

    /// Records that a warp issued its last instruction; returns the same sets as [`ResidentCtas::warps_at_barrier`].
    pub(in crate::sm) fn finish_warp(&mut self, slot: u8, warp: usize) -> (u64, u64) {
        let cta = self.get_mut(slot);
        cta.running &= !(1 << warp);
        (cta.warps, cta.running)
    }

    /// Records that a warp of the CTA in a slot executes `griddepcontrol.launch_dependents`; returns the CTA if the grid scheduler awaits
    /// its trigger.
    pub(in crate::sm) fn trigger(&mut self, slot: u8) -> Option<(KernelIndex, CtaIndex)> {
        let launch = &mut self.get_mut(slot).launch;
        std::mem::take(&mut launch.triggers).then_some((launch.kernel, launch.cta))
    }

    /// Returns true if the warps of the CTA in a slot wait at `griddepcontrol.wait`.
    pub(in crate::sm) fn waits_for_grid(&self, slot: u8) -> bool {
        self.get(slot).launch.waits
    }

    /// Records that the dependency of a launch is met; returns the warps of its CTAs that waited.
    pub(in crate::sm) fn dependency_met(&mut self, kernel: KernelIndex) -> u64 {
        let mut warps = 0;
        for cta in self.slots.iter_mut().flatten().filter(|cta| cta.launch.kernel == kernel) {
            warps |= if std::mem::take(&mut cta.launch.waits) { cta.warps } else { 0 };
        }
        warps
    }

    /// Records that the fetch stage removed a warp from its slot; returns the CTA if this was its last warp.
    pub(in crate::sm) fn release_warp(&mut self, slot: u8, warp: usize) -> Option<EndedCta> {
        let cta = self.get_mut(slot);
        cta.unreleased &= !(1 << warp);
        if cta.unreleased == 0 { self.end(slot) } else { None }
    }

    /// Returns a free CTA slot, the first slot of a free run of warp slots and the ranges of memory, if all resources of a CTA are free; an
    /// `aligned` CTA goes to fixed positions only.
    pub(in crate::sm) fn find_slot(&self, spec: &Spec, needs: &CtaNeeds, aligned: bool) -> Option<(usize, usize, RangeStarts)> {
        let used = &self.used_resources;
        let fits = used.threads + needs.threads <= spec.max_threads
            && used.warps + needs.warps <= spec.warps
            && used.shared_bytes + needs.shared_bytes <= spec.shared_bytes
            && used.registers + needs.registers <= spec.registers;
        if !fits {
            return None;
        }
        let slot = self.slots.iter().position(Option::is_none)?;
        let taken = self.slots.iter().flatten().fold(0, |mask, cta| mask | cta.warps);
        let count = needs.warps.max(1) as usize;
        let run = u64::MAX >> (64 - count);
        let first = (0..=(spec.warps as usize).saturating_sub(count)).step_by(count).find(|first| taken >> first & run == 0)?;
        let place = self.space.as_ref().map_or(Some(RangeStarts::default()), |space| space.find(needs, aligned))?;
        Some((slot, first, place))
    }

    pub(in crate::sm) fn start(&mut self, slot: usize, code: Arc<[StaticInst]>, cta: ResidentCta) {
        let (used, needs) = (&mut self.used_resources, &cta.needs);
        used.threads += needs.threads;
        used.warps += needs.warps;
        used.shared_bytes += needs.shared_bytes;
        used.registers += needs.registers;
        if let Some(space) = &mut self.space {
            space.allocate(cta.place, needs);
        }
        self.resident += 1;
        self.code[slot] = code;
        self.kernel[slot] = cta.launch.kernel;
        self.slots[slot] = Some(cta);
        self.find_only_kernel();
    }

    pub(in crate::sm) fn end(&mut self, slot: u8) -> Option<EndedCta> {
        let ResidentCta { launch, needs, instructions, place, started, executed_before, .. } = self.slots[usize::from(slot)].take()?;
        let used = &mut self.used_resources;
        used.threads -= needs.threads;
        used.warps -= needs.warps;
        used.shared_bytes -= needs.shared_bytes;
        used.registers -= needs.registers;
        if let Some(space) = &mut self.space {
            space.free(place, &needs);
        }
        self.resident -= 1;
        self.blocked = false;
        self.emptied |= self.resident == 0;
        self.find_only_kernel();
        Some(EndedCta { launch, instructions, started, executed_before })
    }

    #[inline]
    fn get(&self, slot: u8) -> &ResidentCta {
        match &self.slots[usize::from(slot)] {
            Some(cta) => cta,
            None => panic!("CTA slot {slot} is empty"),
        }
    }

    #[inline]
    fn get_mut(&mut self, slot: u8) -> &mut ResidentCta {
        match &mut self.slots[usize::from(slot)] {
            Some(cta) => cta,
            None => panic!("CTA slot {slot} is empty"),
        }
    }

    /// Adds a description of the resident CTAs to `lines`, for the deadlock report.
    pub(in crate::sm) fn describe(&self, lines: &mut Vec<String>) {
        for cta in self.slots.iter().flatten() {
            let CtaLaunch { kernel, cta: index, .. } = cta.launch;
            let (left, running) = (cta.unreleased.count_ones(), cta.running.count_ones());
            lines.push(format!("{kernel}, {index}: {left} warps left, {running} of them with instructions"));
        }
    }
}

/// A CTA that ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct EndedCta {
    pub(in crate::sm) launch: CtaLaunch,
    /// Instructions of all warps of the CTA.
    pub(in crate::sm) instructions: u64,
    /// The cycle in which the CTA started on this SM.
    pub(in crate::sm) started: Cycle,
    /// Instructions that the CTA had executed before it started on this SM.
    pub(in crate::sm) executed_before: u64,
}
