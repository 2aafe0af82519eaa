//! Preemption: CTAs that leave the SM before they end, and resume on this SM or another one.
//!
//! In: decisions at cuts. A CTA that has to leave neither fetches nor issues. It is *flushed* (it will restart from its beginning, if it
//! has not written to global memory) or *switched*: its registers and shared memory are saved to memory, during which its resources stay
//! occupied, and are restored before it resumes. The transfer takes the time that the context needs at the SM's share of the DRAM
//! bandwidth, or is traffic of the load/store unit (`gpu.dispatch.switch`). Out: CTAs returned to the grid scheduler, with the position
//! from which each warp resumes.
//!
//! The outstanding instructions of the CTA are awaited before, or squashed (`gpu.dispatch.under_way`, `squash.rs`): in the second case a
//! flushed CTA leaves in the cycle of the decision, and a CTA switched by time leaves when its time is over.
//!
//! A CTA that was sent to the SM before the decision and has not started is returned immediately, or when it arrives; with
//! `Preemption::Drain` nothing else happens.
//!
//! Sources: the techniques are from Park et al., "Chimera", ASPLOS 2015; the time of a switch, context size over the SM's share of the
//! bandwidth, is from Tanasic et al., "Enabling preemptive multiprogramming on GPUs", ISCA 2014.

use warpshard_base::{CtaIndex, Cycle, KernelIndex, LinkId};
use warpshard_config::machine::{InFlightPolicy as OfLeaving, Machine, Switch};
use warpshard_protocol::{CtaLaunch, CtaNotice, DepartedCta, MemOp, Outbox, Payload, Preemption, WarpContext};
use warpshard_workload::Workload;

use super::core::{Core, ResidentCta, bits};
use super::lsu::Lsu;
use super::observers::Observers;
use super::squash::OutstandingParts;
use super::starts::CtaStage;

/// A CTA that has to leave.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct LeavingCta {
    slot: u8,
    warps: u64,
    how: Preemption,
    /// The cycle from which the time of its context counts: the cycle in which it stopped issuing, if the decision named the CTA or its
    /// outstanding instructions are squashed; else the cycle in which it has no outstanding instruction.
    since: Option<Cycle>,
    saving: SaveProgress,
}

/// Progress of the saving of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum SaveProgress {
    /// The CTA has outstanding instructions.
    NotBegun,
    /// The cycle in which the memory traffic that saves the context began.
    Since(Cycle),
    /// The first cycle in which the context is saved.
    Until(Cycle),
}

/// The stage for CTAs that leave the SM and CTAs that are restored.
#[derive(Debug, warpshard_state::State)]
pub(super) struct PreemptStage {
    /// The next cycle in which the stage has work.
    due: Cycle,
    state: Box<PreemptState>,
}

/// The parts of the SM that preemption and restoration of CTAs affect.
pub(super) struct SmParts<'a> {
    pub(super) under_way: OutstandingParts<'a>,
    pub(super) starts: &'a mut CtaStage,
    pub(super) observers: &'a mut Observers,
    pub(super) workload: &'a Workload,
}

/// State that is used only during preemptions and restorations.
#[derive(Debug, warpshard_state::State)]
struct PreemptState {
    leaving_ctas: Vec<LeavingCta>,
    /// Warps of CTAs that are being restored, and the end of the restoration; [`Cycle::NEVER`] while it is traffic in flight.
    restored_warps: Vec<(Cycle, u64)>,
    /// True if contexts are traffic.
    traffic: bool,
    /// True if contexts are transferred one after the other.
    serial: bool,
    /// The end of the last context of a sequence of transfers.
    busy_until: Cycle,
    /// True if outstanding instructions are squashed.
    squash: bool,
    /// Contexts of a CTA whose launch message has not arrived.
    contexts: Vec<WarpContext>,
    /// CTAs that arrive before this cycle were sent before the last decision.
    sent_before: Cycle,
    /// Latency from the grid scheduler to the SM.
    latency: u64,
    /// Core cycles of the transfer of one byte of context.
    cycles_per_byte: f64,
}

impl PreemptStage {
    pub(super) fn new(machine: &Machine) -> Self {
        let (burst_bytes, bursts) = machine.mem.dram.burst();
        let clocks = machine.clocks.dram.0 as f64 / machine.clocks.core.0 as f64;
        let bytes_per_cycle = f64::from(machine.mem.map.partitions) * burst_bytes as f64 * bursts * clocks / f64::from(machine.gpu.sms);
        let rest = PreemptState {
            leaving_ctas: Vec::new(),
            restored_warps: Vec::new(),
            traffic: machine.gpu.dispatch.switch == Switch::Traffic,
            serial: machine.gpu.dispatch.switch == Switch::InTurn,
            busy_until: Cycle(0),
            squash: machine.gpu.dispatch.under_way == OfLeaving::Squashed,
            contexts: Vec::new(),
            sent_before: Cycle(0),
            latency: machine.gpu.dispatch.latency,
            cycles_per_byte: 1.0 / bytes_per_cycle,
        };
        Self { due: Cycle::NEVER, state: Box::new(rest) }
    }

    /// Adds the context of a warp of the CTA that is bound next.
    pub(super) fn add_context(&mut self, context: WarpContext) {
        self.state.contexts.push(context);
    }

    /// Removes and returns the contexts of the CTA that is bound now.
    pub(super) fn take_contexts(&mut self) -> Vec<WarpContext> {
        std::mem::take(&mut self.state.contexts)
    }

    /// Returns the next cycle in which a CTA may leave or be restored.
    #[inline]
    pub(super) fn next_event(&self, core: &Core) -> Cycle {
        if core.contexts_moved != 0 { core.now } else { self.due }
    }

    /// Returns the cycles of the transfer of the context of a CTA in one direction at the SM's share of the DRAM bandwidth.
    fn context_cycles(&self, cta: &ResidentCta) -> u64 {
        (context_bytes(cta) as f64 * self.state.cycles_per_byte).ceil() as u64
    }

    /// Returns the end of a context transfer of `cycles` cycles that may begin at cycle `from`.
    fn context_end(&mut self, from: Cycle, cycles: u64) -> Cycle {
        if !self.state.serial {
            return from.after(cycles);
        }
        let end = from.max(self.state.busy_until).after(cycles);
        self.state.busy_until = end;
        end
    }

    /// Makes all CTAs leave, or the `named` one if it is resident, from cycle `at`, the present, on. The caller notifies the issue stage.
    pub(super) fn begin(&mut self, at: Cycle, named: Option<(KernelIndex, CtaIndex)>, how: Preemption, core: &mut Core) {
        self.state.sent_before = at.after(self.state.latency);
        self.due = at;
        if how == Preemption::Drain {
            return;
        }
        let rest = &mut *self.state;
        for (slot, cta) in core.ctas.iter().filter(|(_, cta)| named.is_none_or(|named| named == (cta.launch.kernel, cta.launch.cta))) {
            if rest.leaving_ctas.iter().any(|leaving| leaving.slot == slot) {
                continue;
            }
            if !rest.traffic {
                rest.restored_warps.retain(|(_, restored)| *restored != cta.warps);
            }
            let since = (named.is_some() || rest.squash).then_some(at);
            rest.leaving_ctas.push(LeavingCta { slot, warps: cta.warps, how, since, saving: SaveProgress::NotBegun });
            core.warps.frozen |= cta.warps;
        }
    }

    /// Returns true if the CTA in a slot has to leave.
    pub(super) fn is_leaving(&self, slot: u8) -> bool {
        self.state.leaving_ctas.iter().any(|leaving| leaving.slot == slot)
    }

    /// Begins the restoration of a resumed CTA: its warps wait until their context is restored.
    pub(super) fn restore(&mut self, warps: u64, core: &mut Core, lsu: &mut Lsu, workload: &Workload) {
        let Some((_, cta)) = core.ctas.iter().find(|(_, cta)| cta.warps == warps) else { return };
        core.warps.frozen |= warps;
        if self.state.squash {
            // A warp may have no instructions left, but its context is restored all the same.
            core.warps.releasable &= !warps;
        }
        if self.state.traffic && context_bytes(cta) > 0 {
            move_context(MemOp::Read, cta, lsu, workload, core.now);
            self.state.restored_warps.push((Cycle::NEVER, warps));
            return;
        }
        let cycles = self.context_cycles(cta);
        core.counters.sm.context_cycles += cycles;
        let end = self.context_end(core.now.next(), cycles);
        self.state.restored_warps.push((end, warps));
        self.due = self.due.min(end);
    }

    /// Simulates one cycle: returns CTAs that may leave, and resumes restored warps. Returns true if the set of warps that may issue
    /// changed.
    pub(super) fn tick(&mut self, parts: SmParts<'_>, (to_grid, out): (LinkId, &mut Outbox)) -> bool {
        let SmParts { mut under_way, starts, observers, workload } = parts;
        let core = &mut *under_way.core;
        let now = core.now;
        self.handle_moved_contexts(core);
        while let Some((launch, program, contexts)) = starts.take_sent_before(self.state.sent_before, now, workload) {
            core.counters.sm.ctas_returned += 1;
            workload.kernel(launch.kernel).source.return_cta(launch.cta, &program);
            contexts.into_iter().for_each(|context| out.send(to_grid, now, Payload::Context(context)));
            let notice = CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: core.id };
            out.send(to_grid, now, Payload::CtaReturned(notice));
        }
        let before = core.warps.frozen;
        let stays = self.state.leaving_ctas.iter().fold(0, |all, leaving| all | leaving.warps);
        let mut restored = 0;
        self.state.restored_warps.retain(|(until, warps)| {
            restored |= if *until <= now { *warps & !stays } else { 0 };
            *until > now
        });
        core.warps.frozen &= !restored;
        if self.state.squash {
            bits(restored & core.warps.live).for_each(|warp| core.check_release(warp));
        }
        for mut leaving in std::mem::take(&mut self.state.leaving_ctas) {
            match self.progress(&mut leaving, &mut under_way, workload) {
                LeaveProgress::Stays => self.state.leaving_ctas.push(leaving),
                LeaveProgress::Ended => under_way.core.warps.frozen &= !leaving.warps,
                LeaveProgress::Leaves => return_cta(leaving.slot, leaving.how, under_way.core, observers, workload, (to_grid, &mut *out)),
            }
        }
        let waits = |leaving: &LeavingCta| match leaving.saving {
            SaveProgress::NotBegun => now.next(),
            SaveProgress::Since(_) => Cycle::NEVER,
            SaveProgress::Until(saved) => saved,
        };
        let sent = if self.state.sent_before > now.next() { now.next() } else { Cycle::NEVER };
        let restored = self.state.restored_warps.iter().map(|(until, _)| *until);
        self.due = self.state.leaving_ctas.iter().map(waits).chain(restored).min().unwrap_or(Cycle::NEVER).min(sent);
        if under_way.core.warps.answered {
            under_way.core.report_acknowledged(to_grid, out);
        }
        under_way.core.warps.frozen != before
    }

    /// Advances a CTA that has to leave, and returns its progress.
    fn progress(&mut self, leaving: &mut LeavingCta, under_way: &mut OutstandingParts<'_>, workload: &Workload) -> LeaveProgress {
        let core = &*under_way.core;
        let Some((_, cta)) = core.ctas.iter().find(|(slot, _)| *slot == leaving.slot) else { return LeaveProgress::Ended };
        match leaving.saving {
            SaveProgress::Until(saved) if saved <= core.now => return LeaveProgress::Leaves,
            SaveProgress::Until(_) | SaveProgress::Since(_) => return LeaveProgress::Stays,
            SaveProgress::NotBegun => {}
        }
        if self.state.restored_warps.iter().any(|(_, warps)| *warps == leaving.warps) {
            return LeaveProgress::Stays;
        }
        let drops = leaving.how == Preemption::Drop || leaving.how == Preemption::Flush && !cta.wrote;
        let stays = if self.state.squash { !drops && !under_way.can_be_saved(leaving.warps) } else { !under_way.is_empty(leaving.warps) };
        if stays {
            return LeaveProgress::Stays;
        }
        if drops {
            if self.state.squash {
                under_way.drop_all(leaving.warps);
            }
            return LeaveProgress::Leaves;
        }
        if self.state.squash {
            under_way.save(leaving.warps);
        }
        leaving.how = Preemption::Switch;
        let OutstandingParts { core, lsu, .. } = under_way;
        let Some((_, cta)) = core.ctas.iter().find(|(slot, _)| *slot == leaving.slot) else { return LeaveProgress::Ended };
        if self.state.traffic && context_bytes(cta) > 0 {
            move_context(MemOp::Write, cta, lsu, workload, core.now);
            leaving.saving = SaveProgress::Since(core.now);
            return LeaveProgress::Stays;
        }
        let cycles = self.context_cycles(cta);
        core.counters.sm.context_cycles += cycles;
        let (now, since) = (core.now, leaving.since.unwrap_or(core.now));
        let saved = self.context_end(since, cycles).max(now);
        leaving.saving = SaveProgress::Until(saved);
        if saved == now { LeaveProgress::Leaves } else { LeaveProgress::Stays }
    }

    /// Handles the signal that contexts were saved or restored by traffic.
    fn handle_moved_contexts(&mut self, core: &mut Core) {
        let (moved, now) = (std::mem::take(&mut core.contexts_moved), core.now);
        if moved == 0 {
            return;
        }
        for leaving in self.state.leaving_ctas.iter_mut().filter(|leaving| leaving.warps & moved != 0) {
            if let SaveProgress::Since(begun) = leaving.saving {
                core.counters.sm.context_cycles += now.0 - begun.0;
                leaving.saving = SaveProgress::Until(now);
            }
        }
        for (until, _) in self.state.restored_warps.iter_mut().filter(|(_, warps)| warps & moved != 0) {
            *until = now;
        }
    }
}

/// Returns the bytes of the registers and the shared memory of a CTA.
fn context_bytes(cta: &ResidentCta) -> u64 {
    4 * u64::from(cta.needs.registers) + u64::from(cta.needs.shared_bytes)
}

/// Begins to save or restore a context by traffic.
fn move_context(op: MemOp, cta: &ResidentCta, lsu: &mut Lsu, workload: &Workload, now: Cycle) {
    let info = &workload.kernel(cta.launch.kernel).info;
    lsu.move_context(op, cta.warps, (&cta.launch, info), context_bytes(cta), now);
}

/// Progress of a CTA that has to leave.
enum LeaveProgress {
    /// The CTA has outstanding instructions, or its context is being saved.
    Stays,
    /// The CTA completed with its last outstanding instructions.
    Ended,
    /// The CTA can be removed.
    Leaves,
}

/// Removes a CTA from its slot and returns it to the grid scheduler.
fn return_cta(
    slot: u8,
    how: Preemption,
    core: &mut Core,
    observers: &mut Observers,
    workload: &Workload,
    (to_grid, out): (LinkId, &mut Outbox),
) {
    let Some(cta) = core.ctas.take(slot) else { return };
    let now = core.now;
    core.count_residency(now.after(1));
    let first = cta.warps.trailing_zeros() as usize;
    let streams = cta.program.warps.iter().enumerate();
    // Warps that exited before have executed all their instructions.
    let executed: Vec<u32> = streams
        .map(|(i, stream)| if cta.unreleased >> (first + i) & 1 != 0 { core.warps.executed_count(first + i) } else { stream.len() })
        .collect();
    let sum = executed.iter().map(|executed| u64::from(*executed)).sum::<u64>();
    let CtaLaunch { kernel, cta: index, .. } = cta.launch;
    core.history.cta_left(DepartedCta { kernel, cta: index, started: cta.started, left: now, executed: sum, how: Some(how) });
    match how {
        Preemption::Switch | Preemption::Drain => {
            core.counters.sm.ctas_switched += 1;
            for (i, executed) in executed.into_iter().enumerate() {
                let at_barrier = core.warps.at_barrier >> (first + i) & 1 != 0;
                let replays = if cta.unreleased >> (first + i) & 1 != 0 { core.warps.pending_replays(first + i) } else { 0 };
                let context = WarpContext { kernel, cta: index, warp: i as u8, at_barrier, wrote: cta.wrote, executed, replays };
                out.send(to_grid, now, Payload::Context(context));
            }
        }
        Preemption::Flush | Preemption::Drop => {
            core.counters.sm.ctas_flushed += 1;
            core.counters.sm.flushed_warp_instructions += sum;
        }
    }
    for warp in bits(cta.unreleased) {
        core.warps.remove_early(warp);
        observers.warp_ended(warp, now);
    }
    core.warps.frozen &= !cta.warps;
    core.cta_left();
    workload.kernel(cta.launch.kernel).source.return_cta(cta.launch.cta, &cta.program);
    let notice = CtaNotice { kernel: cta.launch.kernel, cta: cta.launch.cta, sm: core.id };
    out.send(to_grid, now, Payload::CtaPreempted(notice));
}
