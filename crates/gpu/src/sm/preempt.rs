//! CTAs that are taken away from the SM before they end, and come back to it or another one.
//!
//! In: decisions at cuts. A CTA that has to leave neither fetches nor issues. It is *flushed* (it will start
//! from its beginning, if it has not written to global memory) or *switched*: its registers and shared memory go to memory, in which
//! time its resources stay occupied, and come back before it goes on. That takes the time that they need at the SM's share of the DRAM bandwidth, or
//! is traffic of the load/store unit (`gpu.dispatch.switch`). Out: CTAs given back to the grid scheduler, with the place of each warp where they go on.
//!
//! What the CTA has under way is awaited before, or squashed (`gpu.dispatch.under_way`, `squash.rs`): then a flushed CTA leaves in the cycle of the
//! decision, and one that is switched by time leaves when its time is over.
//!
//! A CTA that was sent to the SM before the decision and has not started is given back at once, or when it arrives; with `Preemption::Drain` nothing else happens.
//!
//! Sources: the techniques are those of Park et al., "Chimera", ASPLOS 2015; the time of a switch is that of Tanasic et al., "Enabling
//! preemptive multiprogramming on GPUs", ISCA 2014: context size over the SM's share of the bandwidth.

use warpshard_base::{CtaIndex, Cycle, KernelIndex, LinkId};
use warpshard_config::machine::{Machine, Switch, UnderWay as OfLeaving};
use warpshard_protocol::{CtaGone, CtaLaunch, CtaNotice, MemOp, Outbox, Payload, Preemption, WarpContext};
use warpshard_workload::Workload;

use super::core::{Core, Resident, bits};
use super::lsu::Lsu;
use super::observers::Observers;
use super::squash::UnderWay;
use super::starts::CtaStage;

/// A CTA that has to leave.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Leaving {
    slot: u8,
    warps: u64,
    how: Preemption,
    /// From when on the time of its context counts: since it stopped issuing where it was named or what it has under way is squashed, else since nothing
    /// of it is under way.
    since: Option<Cycle>,
    saving: Saving,
}

/// How far the saving of a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Saving {
    /// Something of the CTA is under way.
    NotBegun,
    /// By traffic, since this cycle.
    Since(Cycle),
    /// Done from this cycle on.
    Until(Cycle),
}

/// The CTAs that leave the SM and those that are restored.
#[derive(Debug, warpshard_state::State)]
pub(super) struct PreemptStage {
    /// The next cycle in which the stage has something to look at.
    due: Cycle,
    rest: Box<Rest>,
}

/// The parts of the SM that CTAs which leave or come back have to do with.
pub(super) struct Parts<'a> {
    pub(super) under_way: UnderWay<'a>,
    pub(super) starts: &'a mut CtaStage,
    pub(super) observers: &'a mut Observers,
    pub(super) workload: &'a Workload,
}

/// What is looked at only while CTAs come and go so.
#[derive(Debug, warpshard_state::State)]
struct Rest {
    leaving: Vec<Leaving>,
    /// Warps of CTAs that are restored, and until when; [`Cycle::NEVER`] while that is traffic under way.
    restored: Vec<(Cycle, u64)>,
    /// Whether contexts are traffic.
    traffic: bool,
    /// Whether contexts go one after the other.
    in_turn: bool,
    /// The end of the last context that goes so.
    busy_until: Cycle,
    /// Whether what is under way is squashed.
    squashes: bool,
    /// Contexts whose CTA is still to come.
    contexts: Vec<WarpContext>,
    /// CTAs that arrive before were sent before the last decision.
    sent_before: Cycle,
    /// From the grid scheduler to the SM.
    latency: u64,
    /// Core cycles in which a byte of context goes to memory or comes from it.
    cycles_per_byte: f64,
}

impl PreemptStage {
    pub(super) fn new(machine: &Machine) -> Self {
        let (burst_bytes, bursts) = machine.mem.dram.burst();
        let clocks = machine.clocks.dram.0 as f64 / machine.clocks.core.0 as f64;
        let bytes_per_cycle = f64::from(machine.mem.map.partitions) * burst_bytes as f64 * bursts * clocks / f64::from(machine.gpu.sms);
        let rest = Rest {
            leaving: Vec::new(),
            restored: Vec::new(),
            traffic: machine.gpu.dispatch.switch == Switch::Traffic,
            in_turn: machine.gpu.dispatch.switch == Switch::InTurn,
            busy_until: Cycle(0),
            squashes: machine.gpu.dispatch.under_way == OfLeaving::Squashed,
            contexts: Vec::new(),
            sent_before: Cycle(0),
            latency: machine.gpu.dispatch.latency,
            cycles_per_byte: 1.0 / bytes_per_cycle,
        };
        Self { due: Cycle::NEVER, rest: Box::new(rest) }
    }

    /// A warp of the CTA that is bound next goes on where it was.
    pub(super) fn context(&mut self, context: WarpContext) {
        self.rest.contexts.push(context);
    }

    /// The contexts of the CTA that is bound now.
    pub(super) fn take_contexts(&mut self) -> Vec<WarpContext> {
        std::mem::take(&mut self.rest.contexts)
    }

    /// The next cycle in which a CTA may leave or be restored.
    #[inline]
    pub(super) fn next_event(&self, core: &Core) -> Cycle {
        if core.contexts_moved != 0 { core.now } else { self.due }
    }

    /// Cycles that the context of a CTA takes in one direction at the SM's share of the DRAM bandwidth.
    fn context_cycles(&self, cta: &Resident) -> u64 {
        (context_bytes(cta) as f64 * self.rest.cycles_per_byte).ceil() as u64
    }

    /// The end of a context that takes `cycles` and may begin at cycle `from`.
    fn context_end(&mut self, from: Cycle, cycles: u64) -> Cycle {
        if !self.rest.in_turn {
            return from.after(cycles);
        }
        let end = from.max(self.rest.busy_until).after(cycles);
        self.rest.busy_until = end;
        end
    }

    /// All CTAs have to leave, or the `named` one if it is there, from cycle `at`, the present, on. The issue stage hears of it from the caller.
    pub(super) fn begin(&mut self, at: Cycle, named: Option<(KernelIndex, CtaIndex)>, how: Preemption, core: &mut Core) {
        self.rest.sent_before = at.after(self.rest.latency);
        self.due = at;
        if how == Preemption::Drain {
            return;
        }
        let rest = &mut *self.rest;
        for (slot, cta) in core.ctas.iter().filter(|(_, cta)| named.is_none_or(|named| named == (cta.launch.kernel, cta.launch.cta))) {
            if rest.leaving.iter().any(|leaving| leaving.slot == slot) {
                continue;
            }
            if !rest.traffic {
                rest.restored.retain(|(_, restored)| *restored != cta.warps);
            }
            let since = (named.is_some() || rest.squashes).then_some(at);
            rest.leaving.push(Leaving { slot, warps: cta.warps, how, since, saving: Saving::NotBegun });
            core.warps.frozen |= cta.warps;
        }
    }

    /// Whether the CTA in a slot has to leave.
    pub(super) fn is_leaving(&self, slot: u8) -> bool {
        self.rest.leaving.iter().any(|leaving| leaving.slot == slot)
    }

    /// A resumed CTA started: its warps wait until their context is restored.
    pub(super) fn restore(&mut self, warps: u64, core: &mut Core, lsu: &mut Lsu, workload: &Workload) {
        let Some((_, cta)) = core.ctas.iter().find(|(_, cta)| cta.warps == warps) else { return };
        core.warps.frozen |= warps;
        if self.rest.squashes {
            // A warp may have nothing left to do, but its context comes back all the same.
            core.warps.releasable &= !warps;
        }
        if self.rest.traffic && context_bytes(cta) > 0 {
            move_context(MemOp::Read, cta, lsu, workload, core.now);
            self.rest.restored.push((Cycle::NEVER, warps));
            return;
        }
        let cycles = self.context_cycles(cta);
        core.counters.sm.context_cycles += cycles;
        let end = self.context_end(core.now.next(), cycles);
        self.rest.restored.push((end, warps));
        self.due = self.due.min(end);
    }

    /// One cycle: gives back what may leave, and lets restored warps go on. Returns whether warps that may issue changed.
    pub(super) fn tick(&mut self, parts: Parts<'_>, (to_grid, out): (LinkId, &mut Outbox)) -> bool {
        let Parts { mut under_way, starts, observers, workload } = parts;
        let core = &mut *under_way.core;
        let now = core.now;
        self.take_moved(core);
        while let Some((launch, program, contexts)) = starts.take_sent_before(self.rest.sent_before, now, workload) {
            core.counters.sm.ctas_returned += 1;
            workload.kernel(launch.kernel).source.put_back(launch.cta, &program);
            contexts.into_iter().for_each(|context| out.send(to_grid, now, Payload::Context(context)));
            let notice = CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: core.id };
            out.send(to_grid, now, Payload::CtaReturned(notice));
        }
        let before = core.warps.frozen;
        let stays = self.rest.leaving.iter().fold(0, |all, leaving| all | leaving.warps);
        let mut restored = 0;
        self.rest.restored.retain(|(until, warps)| {
            restored |= if *until <= now { *warps & !stays } else { 0 };
            *until > now
        });
        core.warps.frozen &= !restored;
        if self.rest.squashes {
            bits(restored & core.warps.live).for_each(|warp| core.check_release(warp));
        }
        for mut leaving in std::mem::take(&mut self.rest.leaving) {
            match self.progress(&mut leaving, &mut under_way, workload) {
                Progress::Stays => self.rest.leaving.push(leaving),
                Progress::Ended => under_way.core.warps.frozen &= !leaving.warps,
                Progress::Leaves => give_back(leaving.slot, leaving.how, under_way.core, observers, workload, (to_grid, &mut *out)),
            }
        }
        let waits = |leaving: &Leaving| match leaving.saving {
            Saving::NotBegun => now.next(),
            Saving::Since(_) => Cycle::NEVER,
            Saving::Until(saved) => saved,
        };
        let sent = if self.rest.sent_before > now.next() { now.next() } else { Cycle::NEVER };
        let restored = self.rest.restored.iter().map(|(until, _)| *until);
        self.due = self.rest.leaving.iter().map(waits).chain(restored).min().unwrap_or(Cycle::NEVER).min(sent);
        if under_way.core.warps.answered {
            under_way.core.report_answered(to_grid, out);
        }
        under_way.core.warps.frozen != before
    }

    /// How far a CTA that has to leave is.
    fn progress(&mut self, leaving: &mut Leaving, under_way: &mut UnderWay<'_>, workload: &Workload) -> Progress {
        let core = &*under_way.core;
        let Some((_, cta)) = core.ctas.iter().find(|(slot, _)| *slot == leaving.slot) else { return Progress::Ended };
        match leaving.saving {
            Saving::Until(saved) if saved <= core.now => return Progress::Leaves,
            Saving::Until(_) | Saving::Since(_) => return Progress::Stays,
            Saving::NotBegun => {}
        }
        if self.rest.restored.iter().any(|(_, warps)| *warps == leaving.warps) {
            return Progress::Stays;
        }
        let drops = leaving.how == Preemption::Drop || leaving.how == Preemption::Flush && !cta.wrote;
        let stays = if self.rest.squashes { !drops && !under_way.can_be_saved(leaving.warps) } else { !under_way.is_over(leaving.warps) };
        if stays {
            return Progress::Stays;
        }
        if drops {
            if self.rest.squashes {
                under_way.drop_all(leaving.warps);
            }
            return Progress::Leaves;
        }
        if self.rest.squashes {
            under_way.save(leaving.warps);
        }
        leaving.how = Preemption::Switch;
        let UnderWay { core, lsu, .. } = under_way;
        let Some((_, cta)) = core.ctas.iter().find(|(slot, _)| *slot == leaving.slot) else { return Progress::Ended };
        if self.rest.traffic && context_bytes(cta) > 0 {
            move_context(MemOp::Write, cta, lsu, workload, core.now);
            leaving.saving = Saving::Since(core.now);
            return Progress::Stays;
        }
        let cycles = self.context_cycles(cta);
        core.counters.sm.context_cycles += cycles;
        let (now, since) = (core.now, leaving.since.unwrap_or(core.now));
        let saved = self.context_end(since, cycles).max(now);
        leaving.saving = Saving::Until(saved);
        if saved == now { Progress::Leaves } else { Progress::Stays }
    }

    /// Takes the signal that contexts were saved or restored by traffic.
    fn take_moved(&mut self, core: &mut Core) {
        let (moved, now) = (std::mem::take(&mut core.contexts_moved), core.now);
        if moved == 0 {
            return;
        }
        for leaving in self.rest.leaving.iter_mut().filter(|leaving| leaving.warps & moved != 0) {
            if let Saving::Since(begun) = leaving.saving {
                core.counters.sm.context_cycles += now.0 - begun.0;
                leaving.saving = Saving::Until(now);
            }
        }
        for (until, _) in self.rest.restored.iter_mut().filter(|(_, warps)| warps & moved != 0) {
            *until = now;
        }
    }
}

/// Bytes of the registers and the shared memory of a CTA.
fn context_bytes(cta: &Resident) -> u64 {
    4 * u64::from(cta.needs.registers) + u64::from(cta.needs.shared_bytes)
}

/// Begins to save or restore a context by traffic.
fn move_context(op: MemOp, cta: &Resident, lsu: &mut Lsu, workload: &Workload, now: Cycle) {
    let info = &workload.kernel(cta.launch.kernel).info;
    lsu.move_context(op, cta.warps, (&cta.launch, info), context_bytes(cta), now);
}

/// How far a CTA is that has to leave.
enum Progress {
    /// Something of it is under way, or its context is being saved.
    Stays,
    /// It ended by itself while its last instructions were under way.
    Ended,
    /// It may be taken out.
    Leaves,
}

/// Takes a CTA out of its slot and gives it back to the grid scheduler.
fn give_back(
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
    // Warps that left before have executed everything.
    let executed: Vec<u32> =
        streams.map(|(i, stream)| if cta.left >> (first + i) & 1 != 0 { core.warps.executed(first + i) } else { stream.len() }).collect();
    let sum = executed.iter().map(|executed| u64::from(*executed)).sum::<u64>();
    let CtaLaunch { kernel, cta: index, .. } = cta.launch;
    core.history.cta_left(CtaGone { kernel, cta: index, started: cta.started, left: now, executed: sum, how: Some(how) });
    match how {
        Preemption::Switch | Preemption::Drain => {
            core.counters.sm.ctas_switched += 1;
            for (i, executed) in executed.into_iter().enumerate() {
                let at_barrier = core.warps.at_barrier >> (first + i) & 1 != 0;
                let replays = if cta.left >> (first + i) & 1 != 0 { core.warps.owed(first + i) } else { 0 };
                let context = WarpContext { kernel, cta: index, warp: i as u8, at_barrier, wrote: cta.wrote, executed, replays };
                out.send(to_grid, now, Payload::Context(context));
            }
        }
        Preemption::Flush | Preemption::Drop => {
            core.counters.sm.ctas_flushed += 1;
            core.counters.sm.flushed_warp_instructions += sum;
        }
    }
    for warp in bits(cta.left) {
        core.warps.evict(warp);
        observers.warp_ended(warp, now);
    }
    core.warps.frozen &= !cta.warps;
    core.cta_left();
    workload.kernel(cta.launch.kernel).source.put_back(cta.launch.cta, &cta.program);
    let notice = CtaNotice { kernel: cta.launch.kernel, cta: cta.launch.cta, sm: core.id };
    out.send(to_grid, now, Payload::CtaPreempted(notice));
}
