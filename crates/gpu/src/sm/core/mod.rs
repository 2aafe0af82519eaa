//! State that the stages of an SM share: the clock, the resident CTAs and warps with their scoreboard, and the counters.
//!
//! A stage owns its queues and registers. It changes the warps through a fixed set of signals: [`Core::front_changed`],
//! [`Core::register_ready`], [`Core::instruction_done`], [`Core::stores_done`], [`Core::atomics_done`], and the signals of a warp that
//! begins to wait or ends ([`Core::reach_barrier`], [`Core::reach_fence`], [`Core::reach_atomic`], [`Core::reach_copies`],
//! [`Core::warp_finished`]).

mod buffer;
mod ctas;
mod history;
mod ranges;
mod scoreboard;
mod warps;

use warpshard_base::{Cycle, KernelIndex, LinkId, SmId};
use warpshard_config::machine::{CoreStyle, Sm as Spec};
use warpshard_protocol::{CtaNotice, Outbox, Payload, PeerPacket};
use warpshard_stats::activity::{AsyncEvent, AsyncEventKind};
use warpshard_workload::{AsyncOp, Control, OpClass, StaticInst};

use super::counters::SmStats;
use super::kinds::{self, ClassRoute};
use super::peers::PeerPort;

#[cfg(test)]
pub(super) use buffer::InstBuffer;
pub(super) use buffer::MAX_BUFFER;
pub(super) use ctas::{AddressWindows, EndedCta, ResidentCta, ResidentCtas};
pub(super) use warps::{MAX_WARPS, NO_WARP, Warps, bits, is_in, oldest_of};

use history::CtaHistory;
use scoreboard::Scoreboard;
pub(super) use scoreboard::{COPY_RESULT, FIRST_ASYNC_RESULT, PORT_ONLY_RESULT, UNCOUNTED_RESULT};

/// The state that all stages share.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Core {
    pub(super) id: SmId,
    pub(super) now: Cycle,
    #[state(fixed)]
    pub(super) spec: Spec,
    /// True if a warp ends when its stores have left the L1, and not when they are acknowledged.
    #[state(fixed)]
    ends_before_stores: bool,
    pub(super) routes: [ClassRoute; OpClass::COUNT],
    pub(super) warps: Warps,
    pub(super) scoreboard: Scoreboard,
    pub(super) ctas: ResidentCtas,
    /// The port to the network between the SMs of clusters, if the workload has clusters.
    pub(super) peers: Option<Box<PeerPort>>,
    pub(super) counters: SmStats,
    /// Outcomes of the last CTAs, for controllers.
    pub(super) history: Box<CtaHistory>,
    /// Warps of CTAs whose context was saved or restored by traffic, until the preemption stage handles them.
    pub(super) contexts_moved: u64,
    /// The first cycle whose resident warps are not counted.
    residency_since: Cycle,
    /// Cycles with a resident CTA before the present span of residency.
    active_before: u64,
    /// The first cycle of the present span of residency.
    active_since: Cycle,
}

impl Core {
    pub(super) fn new(id: SmId, spec: Spec, kernels: usize) -> Self {
        Self {
            id,
            now: Cycle(0),
            routes: kinds::routes(&spec),
            warps: Warps::new(spec.warps as usize),
            scoreboard: Scoreboard::new(),
            ctas: ResidentCtas::new(&spec),
            peers: None,
            history: Box::new(CtaHistory::new(kernels)),
            counters: SmStats::new(kernels),
            contexts_moved: 0,
            residency_since: Cycle(0),
            active_before: 0,
            active_since: Cycle(0),
            ends_before_stores: spec.style == CoreStyle::ControlWords && !spec.control.waits_for_stores,
            spec,
        }
    }

    /// Returns the kernel of a warp.
    #[inline]
    pub(super) fn kernel_of(&self, warp: usize) -> KernelIndex {
        self.ctas.kernel(self.warps.cta[warp])
    }

    /// Returns the code of the kernel of a warp.
    #[inline]
    pub(super) fn code_of(&self, warp: usize) -> &[StaticInst] {
        self.ctas.code(self.warps.cta[warp])
    }

    /// Returns the number of cycles with a resident CTA before the present cycle. Rotations with the clock of the SM use this number,
    /// because the reference does not step an SM without CTAs.
    #[inline]
    pub(super) fn active_cycle(&self) -> u64 {
        if self.ctas.resident_count() > 0 { self.active_before + (self.now.0 - self.active_since.0) } else { self.active_before }
    }

    /// Begins a span of residency: the first CTA starts at the end of this cycle.
    pub(super) fn resume_active(&mut self) {
        self.active_since = self.now.after(1);
    }

    /// Counts the resident warps of the uncounted cycles before `until`.
    pub(super) fn count_residency(&mut self, until: Cycle) {
        self.counters.sm.resident_warp_cycles += u64::from(self.warps.live.count_ones()) * (until.0 - self.residency_since.0);
        self.residency_since = until;
    }

    /// Updates the state of a warp with a new front instruction: records the required unit and any scoreboard hazard.
    // Runs at the end of each issue and each decode.
    #[inline(always)]
    pub(super) fn front_changed(&mut self, warp: usize) {
        let code = &self.ctas.code(self.warps.cta[warp])[self.warps.front(warp).index as usize];
        self.warps.set_kind(warp, self.routes[code.class as usize].kind);
        self.warps.set_hazard(warp, self.scoreboard.hazard(warp, code));
    }

    /// Records that a warp issued a replayed instruction; returns the number of instructions that follow it.
    #[cold]
    pub(super) fn record_replay(&mut self, warp: usize) -> u32 {
        self.counters.sm.replayed_warp_instructions += 1;
        self.warps.left_after_replayed(warp)
    }

    /// Releases a register of a warp: its front instruction may become ready, or its fence may be over.
    #[inline(never)]
    pub(super) fn register_ready(&mut self, warp: usize, register: u16) {
        self.register_written(warp, register);
    }

    /// Releases a register that an arithmetic result wrote; inlined, because most results are arithmetic.
    #[inline(always)]
    pub(super) fn register_written(&mut self, warp: usize, register: u16) {
        debug_assert!(warp < MAX_WARPS, "{}, {}: R{register} is written for a slot without a warp", self.id, self.now);
        if register >= FIRST_ASYNC_RESULT {
            return self.flight_ended(warp, register - FIRST_ASYNC_RESULT);
        }
        self.scoreboard.release(warp, register);
        let warps = &mut self.warps;
        if warps.hazard >> warp & 1 != 0 {
            let code = &self.ctas.code(warps.cta[warp])[warps.front(warp).index as usize];
            warps.set_hazard(warp, self.scoreboard.hazard(warp, code));
        }
        if (warps.at_fence | warps.finished) >> warp & 1 != 0 && self.scoreboard.is_clear(warp) {
            warps.fence_over |= warps.at_fence & 1 << warp;
            self.check_release(warp);
        }
    }

    /// Ends an asynchronous result of a warp, which decrements a dependence counter.
    // Not inlined, because it is rarely called: only cores with control words and copies to shared memory use it.
    #[inline(never)]
    fn flight_ended(&mut self, warp: usize, flight: u16) {
        if flight == PORT_ONLY_RESULT {
            return;
        }
        self.scoreboard.end_flight(warp, flight);
        let warps = &mut self.warps;
        warps.touched |= 1 << warp;
        if warps.at_copies >> warp & 1 != 0 && self.scoreboard.copies_are_over(warp) {
            warps.leave_copies(warp);
        }
        if (warps.at_fence | warps.finished) >> warp & 1 != 0 && self.scoreboard.is_clear(warp) {
            warps.fence_over |= warps.at_fence & 1 << warp;
            self.check_release(warp);
        }
    }

    /// Records that an instruction of the warp, or a squashed one, left its pipeline.
    #[inline]
    pub(super) fn instruction_done(&mut self, warp: usize) {
        let Some(in_pipe) = self.warps.in_pipe.get_mut(warp) else { return };
        debug_assert!(*in_pipe > 0, "{}, warp {warp}, {}: no instruction is outstanding", self.id, self.now);
        *in_pipe -= 1;
        self.check_release(warp);
    }

    /// Records the acknowledgement of `sectors` sectors of the stores that a warp issued in a generation of its slot.
    #[inline]
    pub(super) fn stores_done(&mut self, warp: usize, generation: u8, sectors: u32) {
        if self.warps.generation[warp] != generation {
            return;
        }
        debug_assert!(u32::from(self.warps.stores[warp]) >= sectors, "{}, warp {warp}: an acknowledgement of no store", self.id);
        self.warps.stores[warp] -= sectors as u16;
        if self.warps.stores[warp] == 0 {
            self.warps.stores_acknowledged(warp);
        }
        self.check_release(warp);
    }

    /// Records that `sectors` sectors of the stores of a warp enter the L1.
    #[inline]
    pub(super) fn stores_enter(&mut self, warp: usize, sectors: u32) {
        self.warps.stores[warp] += sectors as u16;
        if self.ends_before_stores {
            self.warps.unsent[warp] += sectors as u16;
        }
    }

    /// Records that `sectors` sectors of the stores of a warp leave the L1 or stay in it permanently.
    #[inline]
    pub(super) fn stores_leave(&mut self, warp: usize, generation: u8, sectors: u32) {
        if self.ends_before_stores && self.warps.generation[warp] == generation {
            self.warps.unsent[warp] -= sectors as u16;
            self.check_release(warp);
        }
    }

    /// Ends a warp; notifies the grid scheduler if the warp has unacknowledged stores.
    pub(super) fn end_warp(&mut self, warp: usize, to_grid: LinkId, out: &mut Outbox) {
        if self.warps.stores[warp] > 0 && self.warps.end_with_stores(warp) {
            out.send(to_grid, self.now, Payload::StoresPending(self.id));
        }
        self.warps.remove(warp);
    }

    /// Notifies the grid scheduler that all stores of ended warps are acknowledged.
    pub(super) fn report_acknowledged(&mut self, to_grid: LinkId, out: &mut Outbox) {
        self.warps.answered = false;
        out.send(to_grid, self.now, Payload::StoresAcknowledged(self.id));
    }

    /// Records the replies to lanes of an atomic; after the last one the warp may continue.
    #[inline]
    pub(super) fn atomics_done(&mut self, warp: usize, lanes: u8) {
        if lanes > 0
            && let Some(atomics) = self.warps.atomics.get_mut(warp)
        {
            *atomics -= u16::from(lanes);
            if *atomics == 0 {
                self.warps.leave_atomic(warp);
            }
        }
    }

    /// Marks a finished warp releasable if none of its operations is outstanding.
    #[inline]
    pub(super) fn check_release(&mut self, warp: usize) {
        let warps = &mut self.warps;
        let stores = if self.ends_before_stores { warps.unsent[warp] } else { warps.stores[warp] };
        if warps.finished >> warp & 1 != 0 && warps.in_pipe[warp] == 0 && stores == 0 && self.scoreboard.is_clear(warp) {
            warps.releasable |= 1 << warp;
        }
    }

    /// Moves a warp to the barrier of its CTA, which may open.
    pub(super) fn reach_barrier(&mut self, warp: usize) {
        let (all, running) = self.ctas.warps_at_barrier(self.warps.cta[warp]);
        if running >> warp & 1 != 0 {
            self.warps.at_barrier |= 1 << warp;
        }
        self.warps.open_barrier(all, running);
    }

    /// Moves a warp to the barrier of its cluster.
    pub(super) fn arrive_at_cluster(&mut self, warp: usize) {
        let slot = self.warps.cta[warp];
        let (_, running) = self.ctas.warps_at_barrier(slot);
        if let Some(peers) = &mut self.peers {
            peers.arrive(slot, warp, running);
        }
    }

    /// Opens the barrier of a cluster: its warps are examined again.
    pub(super) fn cluster_opened(&mut self, packet: &PeerPacket) {
        if let Some(slot) = self.peers.as_mut().and_then(|peers| peers.open_cluster_barrier(packet)) {
            let (all, _) = self.ctas.warps_at_barrier(slot);
            self.warps.touch_others(all);
        }
    }

    /// Moves a warp to a memory fence, where it waits until all its registers are written.
    pub(super) fn reach_fence(&mut self, warp: usize) {
        self.warps.at_fence |= 1 << warp;
        if self.scoreboard.is_clear(warp) {
            self.warps.fence_over |= 1 << warp;
        }
    }

    /// Records that a warp issued an atomic of `lanes` lanes and waits for all of them.
    pub(super) fn reach_atomic(&mut self, warp: usize, lanes: u16) {
        self.warps.atomics[warp] += lanes;
        self.warps.at_atomic |= 1 << warp;
    }

    /// Records that a warp issued an instruction that begins a copy to shared memory, closes a group of copies, or waits for groups.
    pub(super) fn reach_copies(&mut self, warp: usize, control: &Control) {
        match control.async_op {
            AsyncOp::Copy { .. } => self.scoreboard.begin_flight(warp, COPY_RESULT),
            AsyncOp::CopyGroup => self.scoreboard.count_group(warp, control.write_counter().unwrap_or(0)),
            _ => {
                if !self.scoreboard.wait_for_copies(warp, control.at_most.unwrap_or(0)) {
                    self.warps.at_copies |= 1 << warp;
                    self.warps.at_atomic |= 1 << warp;
                }
            }
        }
    }

    /// Records that a warp issued its last instruction: barriers do not wait for it any more.
    pub(super) fn warp_finished(&mut self, warp: usize) {
        let slot = self.warps.cta[warp];
        let (all, running) = self.ctas.finish_warp(slot, warp);
        if let Some(peers) = &mut self.peers {
            peers.check(slot, running);
        }
        self.warps.open_barrier(all, running);
    }

    /// Counts a CTA that ended in this cycle and reports it to the grid scheduler.
    pub(super) fn cta_ended(&mut self, ended: EndedCta, to_grid: LinkId, out: &mut Outbox) {
        let EndedCta { launch, instructions, started, executed_before } = ended;
        self.history.cta_ended(&launch, instructions, instructions.saturating_sub(executed_before), (started, self.now));
        self.counters.kernels.at(launch.kernel.index()).ctas += 1;
        self.counters.sm.ctas_ended += 1;
        self.counters.sm.ended_cta_instructions += instructions;
        self.cta_left();
        if let Some(peers) = &mut self.peers {
            peers.record_cta_end(&launch);
        }
        let notice = CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: self.id };
        out.send(to_grid, self.now, Payload::CtaDone(notice));
    }

    /// Records an event of an asynchronous operation of the CTA in a slot in this cycle, if a recording needs it.
    #[inline]
    pub(super) fn record_async(&mut self, slot: u8, what: impl FnOnce() -> AsyncEventKind) {
        if let Some(log) = &mut self.history.async_log {
            log.push(self.now.0, AsyncEvent { at: self.now.0, slot, what: what() });
        }
    }

    /// Updates the state after a CTA left the SM in this cycle.
    pub(super) fn cta_left(&mut self) {
        if self.ctas.resident_count() == 0 {
            self.active_before += self.now.0 + 1 - self.active_since.0;
        }
    }

    /// Returns true if no operation of `warps` is in flight.
    pub(super) fn is_quiet(&self, warps: u64) -> bool {
        bits(self.warps.live & warps).all(|warp| self.warps.is_quiet(warp) && self.scoreboard.is_clear(warp))
    }

    /// Returns true if the front instruction of a warp waits for the end of the launch on which its programmatic dependent launch depends.
    fn is_at_grid_wait(&self, warp: usize) -> bool {
        let inst = &self.code_of(warp)[self.warps.front(warp).index as usize];
        inst.control.async_op == AsyncOp::GridWait && self.ctas.waits_for_grid(self.warps.cta[warp])
    }

    /// Adds descriptions of the warps to `lines`, for the deadlock report.
    pub(super) fn describe_warps(&self, lines: &mut Vec<String>) {
        let warps = &self.warps;
        for warp in bits(warps.live) {
            let bit = 1u64 << warp;
            let what = if warps.at_barrier & bit != 0 {
                "at a barrier".to_owned()
            } else if warps.at_fence & bit != 0 {
                "at a memory fence".to_owned()
            } else if warps.at_copies & bit != 0 {
                "for copies to shared memory".to_owned()
            } else if warps.at_atomic & bit != 0 {
                format!("for {} lanes of atomics", warps.atomics[warp])
            } else if warps.finished & bit != 0 {
                format!("to drain: {} outstanding instructions and {} outstanding stores", warps.in_pipe[warp], warps.stores[warp])
            } else if warps.hazard & bit != 0 {
                let registers: Vec<_> = self.scoreboard.registers(warp).map(|r| format!("R{r}")).collect();
                format!("for one of the registers {}", registers.join(" "))
            } else if warps.valid & bit != 0 && self.is_at_grid_wait(warp) {
                "for the end of the preceding launch".to_owned()
            } else if warps.valid & bit != 0 {
                "for its unit".to_owned()
            } else {
                "for instructions".to_owned()
            };
            lines.push(format!("warp {warp} waits {what} since {}", warps.last_issue[warp]));
        }
    }
}
