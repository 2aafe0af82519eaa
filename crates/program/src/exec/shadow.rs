//! Checker of a CTA's accesses: it records the accesses to each byte of shared memory, and the bytes that were written.
//!
//! Two warps race if both access a byte of shared memory, one of them writes it, not both accesses are atomic, and no barrier of the CTA
//! orders them. Each warp has a logical clock; a barrier that releases warps gives each of them the clocks of all warps that arrived
//! (Flanagan and Freund, "FastTrack", PLDI 2009). Ordering through atomics and fences is not recognised. A copy from device memory counts
//! as a write of its warp at the start of the copy.

use super::super::isa::{Inst, Op, Space};
use super::access::Memories;
use super::cta::ExecFault;
use super::overwrites::{AccessKind, Overwrites};
use super::races::{self, Races};

/// Maximum warps of a CTA.
const MAX_WARPS: usize = 32;

/// The last write of a byte.
#[derive(Clone, Copy, Debug, Default)]
struct LastWrite {
    /// Clock of the writing warp; 0 if the byte was not written.
    clock: u32,
    place: u32,
    warp: u8,
}

/// The last read of a byte by a warp.
#[derive(Clone, Copy, Debug, Default)]
struct LastRead {
    clock: u32,
    place: u32,
}

/// The recorded accesses of a CTA.
#[derive(Debug, Default)]
pub(in super::super) struct Shadow {
    warps: usize,
    /// Vector clock of each warp.
    clocks: Vec<[u32; MAX_WARPS]>,
    /// Joined clocks of the warps that arrived at each barrier without waiting.
    arrived: Vec<[u32; MAX_WARPS]>,
    /// Joined clocks of the warps that arrived at each barrier in shared memory, by its address.
    met: std::collections::BTreeMap<u32, [u32; MAX_WARPS]>,
    /// Last plain and last atomic write of each byte.
    writes: Vec<[LastWrite; 2]>,
    /// Last read of each byte by each warp.
    reads: Vec<LastRead>,
    /// For each byte of all threads' local memory, `true` if it was written.
    local: Vec<bool>,
    /// Number of reads of unwritten shared and of unwritten local memory, with the instruction index of the first one.
    pub(in super::super) unwritten: [(u64, usize); 2],
    /// Detector of stores that overwrite bytes which their CTA has read; `None` for the other checks, which exclude this one.
    overwrites: Option<Overwrites>,
    /// Accesses of the CTAs of a launch to device memory.
    races: Races,
}

/// An access of a warp.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess<'a> {
    pub(super) inst: &'a Inst,
    pub(super) warp: usize,
    pub(super) place: usize,
    pub(super) mask: u32,
    pub(super) addresses: &'a [u64; 32],
    /// True if the scope of the access is beyond the CTA: `.STRONG.GPU` and similar.
    pub(super) strong: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShadowAccessKind {
    Read,
    Write,
    Atomic,
}

impl Shadow {
    /// Returns a checker that only detects stores to global memory which overwrite bytes that their CTA has read.
    pub(in super::super) fn of_overwrites() -> Self {
        Self { overwrites: Some(Overwrites::default()), ..Self::default() }
    }

    /// Returns the instruction indices of the current CTA's atomics, and of its stores that overwrite bytes which it has read.
    pub(in super::super) fn overwrites(&self) -> impl Iterator<Item = &u32> {
        self.overwrites.iter().flat_map(|overwrites| &overwrites.places)
    }

    /// Resets the state of shared and local memory for CTA `cta` of a launch, which has `warps` warps.
    pub(super) fn begin(&mut self, cta: u32, warps: usize, shared: usize, local: usize) {
        self.races.begin(cta);
        self.warps = warps;
        self.clocks = (0..warps).map(|warp| std::array::from_fn(|other| u32::from(other == warp))).collect();
        self.arrived = vec![[0; MAX_WARPS]; 16];
        self.met.clear();
        self.writes.clear();
        self.writes.resize(shared, Default::default());
        self.reads.clear();
        self.reads.resize(shared * warps, LastRead::default());
        self.local.clear();
        self.local.resize(local, false);
        if let Some(overwrites) = &mut self.overwrites {
            overwrites.begin();
        }
    }

    /// Records a warp's arrival at a barrier without waiting.
    pub(super) fn arrive(&mut self, barrier: usize, warp: usize) {
        join_clocks(&mut self.arrived[barrier], &self.clocks[warp]);
        self.clocks[warp][warp] += 1;
    }

    /// Records a warp's arrival at a barrier in shared memory, or its observation of a completed phase.
    pub(super) fn observe_barrier(&mut self, barrier: u32, warp: usize, arrives: bool) {
        let known = self.met.entry(barrier).or_default();
        if arrives {
            join_clocks(known, &self.clocks[warp]);
        } else {
            join_clocks(&mut self.clocks[warp], known);
        }
        self.clocks[warp][warp] += 1;
    }

    /// Records that a barrier releases warps.
    pub(super) fn release(&mut self, barrier: usize, warps: impl Iterator<Item = usize> + Clone) {
        let mut all = std::mem::take(&mut self.arrived[barrier]);
        warps.clone().for_each(|warp| join_clocks(&mut all, &self.clocks[warp]));
        for warp in warps {
            self.clocks[warp] = all;
            self.clocks[warp][warp] += 1;
        }
    }

    /// Records an access; the error contains the lane and the racing access of another warp.
    pub(super) fn record_access(&mut self, access: WarpAccess<'_>, memories: &mut Memories<'_>) -> Result<(), (usize, ExecFault)> {
        let inst = access.inst;
        let (space, bytes, kind) = match inst.op {
            Op::Load { space, number: super::super::isa::Number::Integer(bytes, _), words } => {
                (space, usize::from(bytes * words), ShadowAccessKind::Read)
            }
            Op::Store { space, bytes } => (space, usize::from(bytes), ShadowAccessKind::Write),
            Op::Atomic { space, kind, .. } => (space, if kind.is_wide() { 8 } else { 4 }, ShadowAccessKind::Atomic),
            Op::LoadMatrix { .. } => (Space::Shared, 16, ShadowAccessKind::Read),
            Op::CopyAsync { bytes } => (Space::Global, usize::from(bytes), ShadowAccessKind::Read),
            _ => return Ok(()),
        };
        let lanes = if let Op::LoadMatrix { count, .. } = inst.op { 8 * usize::from(count) } else { 32 };
        for lane in (0..lanes).filter(|lane| access.mask >> lane & 1 != 0) {
            let (space, at) = memories.resolve(space, access.addresses[lane]);
            if let Some(overwrites) = &mut self.overwrites {
                if space == Space::Global {
                    let does = match kind {
                        ShadowAccessKind::Read => AccessKind::Read,
                        ShadowAccessKind::Write => AccessKind::Write,
                        ShadowAccessKind::Atomic => AccessKind::Atomic,
                    };
                    overwrites.record_access(does, access.place, at, bytes, memories.global);
                }
                continue;
            }
            if space == Space::Global {
                let does = match kind {
                    ShadowAccessKind::Read if !access.strong => races::RaceAccess::Read,
                    ShadowAccessKind::Write if !access.strong => races::RaceAccess::Write,
                    _ => races::RaceAccess::Ordered,
                };
                let bytes = (at, bytes);
                self.races.record_access(does, (lane, access.place), bytes, memories.global).map_err(|fault| (lane, fault))?;
                continue;
            }
            let Ok(at) = usize::try_from(at) else { continue };
            match space {
                Space::Shared => self.check_shared(access, at, bytes, kind).map_err(|fault| (lane, fault))?,
                Space::Local => self.check_local(access, (32 * access.warp + lane) * memories.local_bytes + at, bytes, kind),
                _ => {}
            }
        }
        if kind == ShadowAccessKind::Atomic && self.overwrites.is_none() {
            self.races.fence();
        }
        Ok(())
    }

    /// Records a fence.
    pub(super) fn fence(&mut self) {
        self.races.fence();
    }

    /// Completes the last recorded access after its execution; the error contains the lane of a race.
    pub(super) fn settle(&mut self, memories: &mut Memories<'_>) -> Result<(), (usize, ExecFault)> {
        self.races.settle(memories.global)
    }

    /// Records an access to shared memory; an access beyond its end is reported when it executes.
    pub(super) fn record_copy(&mut self, access: WarpAccess<'_>, at: usize, bytes: usize) -> Result<(), ExecFault> {
        if self.overwrites.is_some() {
            return Ok(());
        }
        self.check_shared(access, at, bytes, ShadowAccessKind::Write)
    }

    fn check_shared(&mut self, access: WarpAccess<'_>, at: usize, bytes: usize, kind: ShadowAccessKind) -> Result<(), ExecFault> {
        let (warp, place) = (access.warp, access.place as u32);
        let mut unwritten = false;
        for byte in at..at.saturating_add(bytes).min(self.writes.len()) {
            let known = &self.clocks[warp];
            let writes = &mut self.writes[byte];
            let race = |other: usize, place: u32| Err(ExecFault::Race { byte, warp: other, place: place as usize });
            // Atomics race neither with each other nor with a load whose value a compare-and-swap checks.
            let rivals = if kind == ShadowAccessKind::Atomic || access.inst.rechecked { &writes[..1] } else { &writes[..] };
            if let Some(write) = rivals.iter().find(|write| write.clock > known[usize::from(write.warp)]) {
                return race(usize::from(write.warp), write.place);
            }
            unwritten |= kind != ShadowAccessKind::Write && writes.iter().all(|write| write.clock == 0);
            let reads = &mut self.reads[byte * self.warps..(byte + 1) * self.warps];
            if access.inst.rechecked {
                continue;
            }
            if kind == ShadowAccessKind::Read {
                reads[warp] = LastRead { clock: known[warp], place };
                continue;
            }
            if let Some(other) = (0..reads.len()).find(|&other| other != warp && reads[other].clock > known[other]) {
                return race(other, reads[other].place);
            }
            writes[usize::from(kind == ShadowAccessKind::Atomic)] = LastWrite { clock: known[warp], place, warp: warp as u8 };
        }
        self.count_unwritten(0, unwritten, access.place);
        Ok(())
    }

    fn check_local(&mut self, access: WarpAccess<'_>, at: usize, bytes: usize, kind: ShadowAccessKind) {
        let end = at.saturating_add(bytes).min(self.local.len());
        let Some(written) = self.local.get_mut(at..end) else { return };
        let unwritten = kind == ShadowAccessKind::Read && written.contains(&false);
        if kind != ShadowAccessKind::Read {
            written.fill(true);
        }
        self.count_unwritten(1, unwritten, access.place);
    }

    fn count_unwritten(&mut self, memory: usize, unwritten: bool, place: usize) {
        let (count, first) = &mut self.unwritten[memory];
        if unwritten {
            if *count == 0 {
                *first = place;
            }
            *count += 1;
        }
    }
}

fn join_clocks(mine: &mut [u32; MAX_WARPS], theirs: &[u32; MAX_WARPS]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}
