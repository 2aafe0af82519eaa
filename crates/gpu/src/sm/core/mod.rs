//! What the stages of an SM share: the clock, the resident CTAs and warps with their scoreboard, and the counters.
//!
//! A stage owns its queues and registers. It changes the warps through a closed set of signals: [`Core::front_changed`],
//! [`Core::register_ready`], [`Core::instruction_done`], [`Core::stores_done`], [`Core::atomics_done`], and those of a warp that begins
//! to wait or ends ([`Core::reach_barrier`], [`Core::reach_fence`], [`Core::reach_atomic`], [`Core::reach_copies`], [`Core::warp_finished`]).

mod buffer;
mod ctas;
mod history;
mod ranges;
mod scoreboard;
mod warps;

use warpshard_base::{Cycle, KernelIndex, LinkId, SmId};
use warpshard_config::machine::{CoreStyle, Sm as Spec};
use warpshard_protocol::{CtaNotice, Outbox, Payload, PeerPacket};
use warpshard_stats::activity::{BesideChange, BesideEvent};
use warpshard_workload::{Beside, Control, OpClass, StaticInst};

use super::counters::SmStats;
use super::kinds::{self, ClassRoute};
use super::peers::Peers;

#[cfg(test)]
pub(super) use buffer::InstBuffer;
pub(super) use buffer::MAX_BUFFER;
pub(super) use ctas::{Ctas, Ended, Resident, Windows};
pub(super) use warps::{MAX_WARPS, NOBODY, Warps, bits, is_in, oldest_of};

use history::History;
use scoreboard::Scoreboard;
pub(super) use scoreboard::{ANONYMOUS, COPIES, COUNTERS, PORT_ONLY};

/// The state that all stages see.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Core {
    pub(super) id: SmId,
    pub(super) now: Cycle,
    #[state(fixed)]
    pub(super) spec: Spec,
    /// Whether a warp ends when its stores have left the L1, and not when they are acknowledged.
    #[state(fixed)]
    ends_before_stores: bool,
    pub(super) routes: [ClassRoute; OpClass::COUNT],
    pub(super) warps: Warps,
    pub(super) scoreboard: Scoreboard,
    pub(super) ctas: Ctas,
    /// The end of the network between the SMs of clusters, where the workload has clusters.
    pub(super) peers: Option<Box<Peers>>,
    pub(super) counters: SmStats,
    /// What became of the last CTAs, for controllers.
    pub(super) history: Box<History>,
    /// Warps of CTAs whose context was saved or restored by traffic, until the preemption stage hears of it.
    pub(super) contexts_moved: u64,
    /// From which cycle on resident warps are not counted.
    residency_since: Cycle,
    /// Cycles with a CTA before the present residency, and the first cycle of it.
    active_before: u64,
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
            ctas: Ctas::new(&spec),
            peers: None,
            history: Box::new(History::new(kernels)),
            counters: SmStats::new(kernels),
            contexts_moved: 0,
            residency_since: Cycle(0),
            active_before: 0,
            active_since: Cycle(0),
            ends_before_stores: spec.style == CoreStyle::ControlWords && !spec.control.waits_for_stores,
            spec,
        }
    }

    /// The kernel of a warp.
    #[inline]
    pub(super) fn kernel_of(&self, warp: usize) -> KernelIndex {
        self.ctas.kernel(self.warps.cta[warp])
    }

    /// The code of a warp's kernel.
    #[inline]
    pub(super) fn code_of(&self, warp: usize) -> &[StaticInst] {
        self.ctas.code(self.warps.cta[warp])
    }

    /// Cycles with a CTA resident before the present one: what rotates with the SM's own clock counts these, because the
    /// reference does not step an SM without CTAs.
    #[inline]
    pub(super) fn active_cycle(&self) -> u64 {
        if self.ctas.resident() > 0 { self.active_before + (self.now.0 - self.active_since.0) } else { self.active_before }
    }

    /// The first CTA starts at the end of this cycle.
    pub(super) fn resume_active(&mut self) {
        self.active_since = self.now.after(1);
    }

    /// Counts the resident warps of the cycles before `until` in which they were not counted yet.
    pub(super) fn count_residency(&mut self, until: Cycle) {
        self.counters.sm.resident_warp_cycles += u64::from(self.warps.live.count_ones()) * (until.0 - self.residency_since.0);
        self.residency_since = until;
    }

    /// A warp has a new front instruction: notes which unit it needs and whether it meets a reserved register.
    // At the end of each issue and each decode.
    #[inline(always)]
    pub(super) fn front_changed(&mut self, warp: usize) {
        let code = &self.ctas.code(self.warps.cta[warp])[self.warps.front(warp).index as usize];
        self.warps.set_kind(warp, self.routes[code.class as usize].kind);
        self.warps.set_hazard(warp, self.scoreboard.hazard(warp, code));
    }

    /// A warp issued an instruction that it had to replay; returns how many follow it.
    #[cold]
    pub(super) fn replayed(&mut self, warp: usize) -> u32 {
        self.counters.sm.replayed_warp_instructions += 1;
        self.warps.left_after_replayed(warp)
    }

    /// The register of a warp was written: its front instruction may go on, or its fence may be over.
    #[inline(never)]
    pub(super) fn register_ready(&mut self, warp: usize, register: u16) {
        self.register_written(warp, register);
    }

    /// The same for results of arithmetic, which are most: in place.
    #[inline(always)]
    pub(super) fn register_written(&mut self, warp: usize, register: u16) {
        debug_assert!(warp < MAX_WARPS, "{}, {}: R{register} is written for a slot without a warp", self.id, self.now);
        if register >= COUNTERS {
            return self.flight_ended(warp, register - COUNTERS);
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

    /// A flight of a warp ended: a dependence counter of it falls.
    // A function of its own, which is rarely called: only cores with control words and copies to shared memory have flights.
    #[inline(never)]
    fn flight_ended(&mut self, warp: usize, flight: u16) {
        if flight == PORT_ONLY {
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

    /// An instruction of the warp, or of nobody, left its pipeline.
    #[inline]
    pub(super) fn instruction_done(&mut self, warp: usize) {
        let Some(in_pipe) = self.warps.in_pipe.get_mut(warp) else { return };
        debug_assert!(*in_pipe > 0, "{}, warp {warp}, {}: no instruction is under way", self.id, self.now);
        *in_pipe -= 1;
        self.check_release(warp);
    }

    /// Stores of a warp to so many sectors were acknowledged, which it had made in a generation of its slot.
    #[inline]
    pub(super) fn stores_done(&mut self, warp: usize, generation: u8, sectors: u32) {
        if self.warps.generation[warp] != generation {
            return;
        }
        debug_assert!(u32::from(self.warps.stores[warp]) >= sectors, "{}, warp {warp}: an acknowledgement of no store", self.id);
        self.warps.stores[warp] -= sectors as u16;
        if self.warps.stores[warp] == 0 {
            self.warps.stores_answered(warp);
        }
        self.check_release(warp);
    }

    /// So many sectors of a warp's stores enter the L1.
    #[inline]
    pub(super) fn stores_enter(&mut self, warp: usize, sectors: u32) {
        self.warps.stores[warp] += sectors as u16;
        if self.ends_before_stores {
            self.warps.unsent[warp] += sectors as u16;
        }
    }

    /// So many of them leave it, or stay in it for good.
    #[inline]
    pub(super) fn stores_leave(&mut self, warp: usize, generation: u8, sectors: u32) {
        if self.ends_before_stores && self.warps.generation[warp] == generation {
            self.warps.unsent[warp] -= sectors as u16;
            self.check_release(warp);
        }
    }

    /// A warp ends; the grid scheduler learns where it leaves stores that are not acknowledged.
    pub(super) fn end_warp(&mut self, warp: usize, to_grid: LinkId, out: &mut Outbox) {
        if self.warps.stores[warp] > 0 && self.warps.leave_stores(warp) {
            out.send(to_grid, self.now, Payload::StoresLeft(self.id));
        }
        self.warps.remove(warp);
    }

    /// Tells the grid scheduler that all stores which ended warps had left are acknowledged.
    pub(super) fn report_answered(&mut self, to_grid: LinkId, out: &mut Outbox) {
        self.warps.answered = false;
        out.send(to_grid, self.now, Payload::StoresAnswered(self.id));
    }

    /// Lanes of an atomic came back; with the last the warp may go on.
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

    /// Notes whether nothing of a finished warp is under way any more.
    #[inline]
    pub(super) fn check_release(&mut self, warp: usize) {
        let warps = &mut self.warps;
        let stores = if self.ends_before_stores { warps.unsent[warp] } else { warps.stores[warp] };
        if warps.finished >> warp & 1 != 0 && warps.in_pipe[warp] == 0 && stores == 0 && self.scoreboard.is_clear(warp) {
            warps.releasable |= 1 << warp;
        }
    }

    /// A warp arrives at its CTA's barrier, which may open.
    pub(super) fn reach_barrier(&mut self, warp: usize) {
        let (all, running) = self.ctas.warps_at_barrier(self.warps.cta[warp]);
        if running >> warp & 1 != 0 {
            self.warps.at_barrier |= 1 << warp;
        }
        self.warps.open_barrier(all, running);
    }

    /// A warp arrives at the barrier of its cluster.
    pub(super) fn arrive_at_cluster(&mut self, warp: usize) {
        let slot = self.warps.cta[warp];
        let (_, running) = self.ctas.warps_at_barrier(slot);
        if let Some(peers) = &mut self.peers {
            peers.arrive(slot, warp, running);
        }
    }

    /// The barrier of a cluster opened: its warps look again.
    pub(super) fn cluster_opened(&mut self, packet: &PeerPacket) {
        if let Some(slot) = self.peers.as_mut().and_then(|peers| peers.opened(packet)) {
            let (all, _) = self.ctas.warps_at_barrier(slot);
            self.warps.touch_others(all);
        }
    }

    /// A warp arrives at a memory fence: it waits until all its registers are written.
    pub(super) fn reach_fence(&mut self, warp: usize) {
        self.warps.at_fence |= 1 << warp;
        if self.scoreboard.is_clear(warp) {
            self.warps.fence_over |= 1 << warp;
        }
    }

    /// A warp issued an atomic of so many lanes and waits for all of them.
    pub(super) fn reach_atomic(&mut self, warp: usize, lanes: u16) {
        self.warps.atomics[warp] += lanes;
        self.warps.at_atomic |= 1 << warp;
    }

    /// A warp issued an instruction that begins a copy to shared memory, closes a group of copies, or waits for groups.
    pub(super) fn reach_copies(&mut self, warp: usize, control: &Control) {
        match control.beside {
            Beside::Copy { .. } => self.scoreboard.begin_flight(warp, COPIES),
            Beside::CopyGroup => self.scoreboard.count_group(warp, control.write_counter().unwrap_or(0)),
            _ => {
                if !self.scoreboard.wait_for_copies(warp, control.at_most.unwrap_or(0)) {
                    self.warps.at_copies |= 1 << warp;
                    self.warps.at_atomic |= 1 << warp;
                }
            }
        }
    }

    /// A warp issued its last instruction: barriers wait for it no longer.
    pub(super) fn warp_finished(&mut self, warp: usize) {
        let slot = self.warps.cta[warp];
        let (all, running) = self.ctas.finish_warp(slot, warp);
        if let Some(peers) = &mut self.peers {
            peers.check(slot, running);
        }
        self.warps.open_barrier(all, running);
    }

    /// A CTA ended in this cycle: counts it and reports it to the grid scheduler.
    pub(super) fn cta_ended(&mut self, ended: Ended, to_grid: LinkId, out: &mut Outbox) {
        let Ended { launch, instructions, started, before } = ended;
        self.history.cta_ended(&launch, instructions, instructions.saturating_sub(before), (started, self.now));
        self.counters.kernels.at(launch.kernel.index()).ctas += 1;
        self.counters.sm.ctas_ended += 1;
        self.counters.sm.ended_cta_instructions += instructions;
        self.cta_left();
        if let Some(peers) = &mut self.peers {
            peers.ended(&launch);
        }
        let notice = CtaNotice { kernel: launch.kernel, cta: launch.cta, sm: self.id };
        out.send(to_grid, self.now, Payload::CtaDone(notice));
    }

    /// Something happens beside the warps of the CTA in a slot, in this cycle; recorded where a recording wants it.
    #[inline]
    pub(super) fn note_beside(&mut self, slot: u8, what: impl FnOnce() -> BesideChange) {
        if let Some(log) = &mut self.history.beside {
            log.push(self.now.0, BesideEvent { at: self.now.0, slot, what: what() });
        }
    }

    /// A CTA left the SM in this cycle.
    pub(super) fn cta_left(&mut self) {
        if self.ctas.resident() == 0 {
            self.active_before += self.now.0 + 1 - self.active_since.0;
        }
    }

    /// Whether nothing is in flight on behalf of the warps of a mask.
    pub(super) fn is_quiet(&self, warps: u64) -> bool {
        bits(self.warps.live & warps).all(|warp| self.warps.is_quiet(warp) && self.scoreboard.is_clear(warp))
    }

    /// Whether the front instruction of a warp waits for the end of the launch before a programmatic dependent one.
    fn is_at_grid_wait(&self, warp: usize) -> bool {
        let inst = &self.code_of(warp)[self.warps.front(warp).index as usize];
        inst.control.beside == Beside::GridWait && self.ctas.waits_for_grid(self.warps.cta[warp])
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
            } else if warps.at_copies & bit != 0 {
                "for copies to shared memory".to_owned()
            } else if warps.at_atomic & bit != 0 {
                format!("for {} lanes of atomics", warps.atomics[warp])
            } else if warps.finished & bit != 0 {
                format!("to drain: {} instructions and {} stores under way", warps.in_pipe[warp], warps.stores[warp])
            } else if warps.hazard & bit != 0 {
                let registers: Vec<_> = self.scoreboard.registers(warp).map(|r| format!("R{r}")).collect();
                format!("for one of {}", registers.join(" "))
            } else if warps.valid & bit != 0 && self.is_at_grid_wait(warp) {
                "for the end of the launch before its own".to_owned()
            } else if warps.valid & bit != 0 {
                "for its unit".to_owned()
            } else {
                "for instructions".to_owned()
            };
            lines.push(format!("warp {warp} waits {what} since {}", warps.last_issue[warp]));
        }
    }
}
