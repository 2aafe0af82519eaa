//! The resident CTAs of an SM: their resources, code, address windows and barrier groups.

use std::sync::Arc;

use warpshard_base::{CtaIndex, Cycle, KernelIndex};
use warpshard_config::machine::{Allocation, Sm as Spec};
use warpshard_protocol::CtaLaunch;
use warpshard_workload::{CtaProgram, StaticInst};

use super::ranges::{Place, Space};
use crate::occupancy::CtaNeeds;

/// A resident CTA.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct Resident {
    pub(in crate::sm) launch: CtaLaunch,
    pub(in crate::sm) needs: CtaNeeds,
    /// Its slots.
    pub(in crate::sm) warps: u64,
    /// Those not yet released.
    pub(in crate::sm) left: u64,
    /// Those that have not issued their last instruction: whom a barrier waits for.
    pub(in crate::sm) running: u64,
    /// Of all its warps.
    pub(in crate::sm) instructions: u64,
    pub(in crate::sm) windows: Windows,
    /// Its streams and code, for another SM if it is taken away.
    pub(in crate::sm) program: Arc<CtaProgram>,
    /// It has written to global memory, or done an atomic there, so that it may not be executed anew.
    pub(in crate::sm) wrote: bool,
    /// When it started on this SM.
    pub(in crate::sm) started: Cycle,
    /// Instructions that it had executed before.
    pub(in crate::sm) before: u64,
    /// Where its registers and its shared memory begin; zeros where they are counted only.
    pub(in crate::sm) place: Place,
}

/// Where the kernel's generic addresses go, and how its local memory is laid out.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Windows {
    pub(in crate::sm) shared_base: u64,
    pub(in crate::sm) local_base: u64,
    /// Threads of a CTA, padded to whole warps.
    pub(in crate::sm) threads: u64,
    /// CTAs of the kernel that fit an SM.
    pub(in crate::sm) ctas_per_sm: u64,
    /// Where the address space of the application begins.
    pub(in crate::sm) space: u64,
    /// Whether the CTA's loads from global memory go past the L1.
    pub(in crate::sm) past_l1: bool,
}

/// The resident CTAs of an SM.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct Ctas {
    slots: Box<[Option<Resident>]>,
    /// Code and kernel by slot, apart from the rest because every issue reads them.
    code: Box<[Arc<[StaticInst]>]>,
    kernel: Box<[KernelIndex]>,
    used: CtaNeeds,
    /// The ranges that are taken, where they are not counted only.
    space: Option<Box<Space>>,
    resident: u32,
    /// The first bound CTA was found not to fit, and nothing was freed since.
    pub(in crate::sm) blocked: bool,
    /// The last resident CTA ended since the SM last looked.
    emptied: bool,
    /// The kernel of all resident CTAs; none where there are none, or of several kernels.
    only: Option<KernelIndex>,
}

impl Ctas {
    pub(in crate::sm) fn new(spec: &Spec) -> Self {
        let slots = spec.max_ctas;
        let space = || Box::new(Space::new(spec.registers, spec.shared_bytes, slots));
        Self {
            slots: vec![None; slots as usize].into(),
            code: vec![Arc::from([]); slots as usize].into(),
            kernel: vec![KernelIndex(0); slots as usize].into(),
            used: CtaNeeds::default(),
            space: (spec.allocation == Allocation::Ranges).then(space),
            resident: 0,
            blocked: false,
            emptied: false,
            only: None,
        }
    }

    /// Resident CTAs.
    #[inline]
    pub(in crate::sm) fn resident(&self) -> u32 {
        self.resident
    }

    /// Resident CTAs of a kernel.
    pub(in crate::sm) fn resident_of(&self, kernel: KernelIndex) -> u32 {
        self.slots.iter().flatten().filter(|cta| cta.launch.kernel == kernel).count() as u32
    }

    /// The kernel of all resident CTAs, if they are of one.
    #[inline]
    pub(in crate::sm) fn only_kernel(&self) -> Option<KernelIndex> {
        self.only
    }

    fn find_only_kernel(&mut self) {
        let mut kernels = self.slots.iter().flatten().map(|cta| cta.launch.kernel);
        let first = kernels.next();
        self.only = first.filter(|first| kernels.all(|kernel| kernel == *first));
    }

    /// Resident CTAs of a kernel whose loads go past the L1.
    pub(in crate::sm) fn bypassing_of(&self, kernel: KernelIndex) -> u32 {
        self.slots.iter().flatten().filter(|cta| cta.launch.kernel == kernel && cta.windows.past_l1).count() as u32
    }

    /// Whether [`Ctas::take_emptied`] says so.
    #[inline]
    pub(in crate::sm) fn is_emptied(&self) -> bool {
        self.emptied
    }

    /// Whether the last resident CTA ended since this was last asked.
    #[inline]
    pub(in crate::sm) fn take_emptied(&mut self) -> bool {
        std::mem::take(&mut self.emptied)
    }

    /// The code of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn code(&self, slot: u8) -> &[StaticInst] {
        &self.code[usize::from(slot)]
    }

    /// The resident CTAs, with their slots.
    pub(in crate::sm) fn iter(&self) -> impl Iterator<Item = (u8, &Resident)> {
        self.slots.iter().enumerate().filter_map(|(slot, cta)| Some((slot as u8, cta.as_ref()?)))
    }

    /// A warp of the CTA in a slot executes the store or atomic at a place of its code, in global memory.
    #[inline]
    pub(in crate::sm) fn writes(&mut self, slot: u8, place: u32) {
        let cta = self.get_mut(slot);
        cta.wrote = cta.wrote || cta.program.repeatable.binary_search(&place).is_err();
    }

    /// Takes the CTA in a slot away.
    pub(in crate::sm) fn take(&mut self, slot: u8) -> Option<Resident> {
        let cta = self.slots[usize::from(slot)].clone()?;
        self.end(slot)?;
        Some(cta)
    }

    /// The kernel of the CTA in each slot.
    #[inline]
    pub(in crate::sm) fn kernels(&self) -> &[KernelIndex] {
        &self.kernel
    }

    /// The kernel of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn kernel(&self, slot: u8) -> KernelIndex {
        self.kernel[usize::from(slot)]
    }

    /// The address windows of the CTA in a slot.
    #[inline]
    pub(in crate::sm) fn windows(&self, slot: u8) -> &Windows {
        &self.get(slot).windows
    }

    /// All warps of the CTA in a slot, and those of them that its barrier waits for.
    pub(in crate::sm) fn warps_at_barrier(&self, slot: u8) -> (u64, u64) {
        let cta = self.get(slot);
        (cta.warps, cta.running)
    }

    /// A warp issued its last instruction; returns what [`Ctas::warps_at_barrier`] does.
    pub(in crate::sm) fn finish_warp(&mut self, slot: u8, warp: usize) -> (u64, u64) {
        let cta = self.get_mut(slot);
        cta.running &= !(1 << warp);
        (cta.warps, cta.running)
    }

    /// A warp of the CTA in a slot executes `griddepcontrol.launch_dependents`; returns the CTA if the grid scheduler awaits that.
    pub(in crate::sm) fn trigger(&mut self, slot: u8) -> Option<(KernelIndex, CtaIndex)> {
        let launch = &mut self.get_mut(slot).launch;
        std::mem::take(&mut launch.triggers).then_some((launch.kernel, launch.cta))
    }

    /// Whether the warps of the CTA in a slot wait at `griddepcontrol.wait`.
    pub(in crate::sm) fn waits_for_grid(&self, slot: u8) -> bool {
        self.get(slot).launch.waits
    }

    /// The dependency of a launch is met; returns the warps of its CTAs.
    pub(in crate::sm) fn dependency_met(&mut self, kernel: KernelIndex) -> u64 {
        let mut warps = 0;
        for cta in self.slots.iter_mut().flatten().filter(|cta| cta.launch.kernel == kernel) {
            warps |= if std::mem::take(&mut cta.launch.waits) { cta.warps } else { 0 };
        }
        warps
    }

    /// The fetch stage took a warp out of its slot; returns its CTA if that was the last one.
    pub(in crate::sm) fn release_warp(&mut self, slot: u8, warp: usize) -> Option<Ended> {
        let cta = self.get_mut(slot);
        cta.left &= !(1 << warp);
        if cta.left == 0 { self.end(slot) } else { None }
    }

    /// A free CTA slot, the first of a free run of warp slots and the ranges of memory, if everything that a CTA needs is free; an `aligned`
    /// CTA goes to fixed positions only.
    pub(in crate::sm) fn place(&self, spec: &Spec, needs: &CtaNeeds, aligned: bool) -> Option<(usize, usize, Place)> {
        let used = &self.used;
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
        let place = self.space.as_ref().map_or(Some(Place::default()), |space| space.find(needs, aligned))?;
        Some((slot, first, place))
    }

    pub(in crate::sm) fn start(&mut self, slot: usize, code: Arc<[StaticInst]>, cta: Resident) {
        let (used, needs) = (&mut self.used, &cta.needs);
        used.threads += needs.threads;
        used.warps += needs.warps;
        used.shared_bytes += needs.shared_bytes;
        used.registers += needs.registers;
        if let Some(space) = &mut self.space {
            space.take(cta.place, needs);
        }
        self.resident += 1;
        self.code[slot] = code;
        self.kernel[slot] = cta.launch.kernel;
        self.slots[slot] = Some(cta);
        self.find_only_kernel();
    }

    pub(in crate::sm) fn end(&mut self, slot: u8) -> Option<Ended> {
        let Resident { launch, needs, instructions, place, started, before, .. } = self.slots[usize::from(slot)].take()?;
        let used = &mut self.used;
        used.threads -= needs.threads;
        used.warps -= needs.warps;
        used.shared_bytes -= needs.shared_bytes;
        used.registers -= needs.registers;
        if let Some(space) = &mut self.space {
            space.give(place, &needs);
        }
        self.resident -= 1;
        self.blocked = false;
        self.emptied |= self.resident == 0;
        self.find_only_kernel();
        Some(Ended { launch, instructions, started, before })
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

    /// The resident CTAs, for reports of a standstill.
    pub(in crate::sm) fn describe(&self, lines: &mut Vec<String>) {
        for cta in self.slots.iter().flatten() {
            let CtaLaunch { kernel, cta: index, .. } = cta.launch;
            let (left, running) = (cta.left.count_ones(), cta.running.count_ones());
            lines.push(format!("{kernel}, {index}: {left} warps left, {running} of them with instructions"));
        }
    }
}

/// A CTA that ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Ended {
    pub(in crate::sm) launch: CtaLaunch,
    /// Of all its warps.
    pub(in crate::sm) instructions: u64,
    /// When it started on this SM, and instructions that it had executed before.
    pub(in crate::sm) started: Cycle,
    pub(in crate::sm) before: u64,
}
