//! What each warp waits for, counted over time: the warp states of "Workload-aware scheduling techniques", Section 5.3.
//!
//! In: the masks of the warps and the full registers before the collectors, at the end of every cycle in which a stage did something. Out:
//! warp cycles by state. The masks do not change in between, so a state counts until the next such cycle.
//!
//! The thesis has eight states. Warps that wait at a barrier, for a fence or an atomic, and those that a limit or CCWS holds back, are none of
//! them; they have states of their own here. The states of a cycle add up to the resident warps.

use crate::base::Cycle;
use crate::stats::counters;

use super::core::Core;
use super::kinds::{ALL_KINDS, UnitKind};
use super::operands::Operands;

counters! {
    /// Warp cycles by state.
    pub struct WarpStateCounters {
        warps_buffer_empty: "warp cycles", "The instruction buffer is empty.";
        warps_scoreboard_alu: "warp cycles", "The next instruction waits for a register that an arithmetic instruction writes.";
        warps_scoreboard_memory: "warp cycles", "The next instruction waits for a register that a memory instruction writes.";
        warps_stall_alu: "warp cycles", "The next instruction is an arithmetic one that could issue, but the register before its unit is full.";
        warps_stall_memory: "warp cycles", "The next instruction is a memory one that could issue, but the register before the load/store unit is full.";
        warps_can_issue_alu: "warp cycles", "An arithmetic instruction can issue.";
        warps_can_issue_memory: "warp cycles", "A memory instruction can issue.";
        warps_completed: "warp cycles", "The warp has issued its last instruction and waits for others or for its stores.";
        warps_waiting: "warp cycles", "The warp waits at a barrier, for a fence or an atomic.";
        warps_held_back: "warp cycles", "A limit of warps, a ready queue or CCWS holds the warp back.";
    }
}

/// Warps by state, and the warp cycles counted so far.
#[derive(Debug, Default)]
pub(super) struct WarpStates {
    pub(super) counters: WarpStateCounters,
    /// Warps in each state from `since` on.
    present: WarpStateCounters,
    since: Cycle,
}

impl WarpStates {
    /// Counts the cycles before `until` that are not counted yet.
    pub(super) fn count(&mut self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.since.0);
        self.since = until;
        let (counted, present) = (&mut self.counters, &self.present);
        counted.warps_buffer_empty += present.warps_buffer_empty * cycles;
        counted.warps_scoreboard_alu += present.warps_scoreboard_alu * cycles;
        counted.warps_scoreboard_memory += present.warps_scoreboard_memory * cycles;
        counted.warps_stall_alu += present.warps_stall_alu * cycles;
        counted.warps_stall_memory += present.warps_stall_memory * cycles;
        counted.warps_can_issue_alu += present.warps_can_issue_alu * cycles;
        counted.warps_can_issue_memory += present.warps_can_issue_memory * cycles;
        counted.warps_completed += present.warps_completed * cycles;
        counted.warps_waiting += present.warps_waiting * cycles;
        counted.warps_held_back += present.warps_held_back * cycles;
    }

    /// The stages have done what they do in the present cycle.
    pub(super) fn see(&mut self, core: &Core, operands: &Operands) {
        self.count(core.now);
        let warps = &core.warps;
        let mut left = warps.live;
        let mut take = |mask: u64| {
            let taken = left & mask;
            left &= !mask;
            u64::from(taken.count_ones())
        };
        let mut full = 0;
        for scheduler in 0..core.spec.schedulers as usize {
            let kinds = operands.full(scheduler);
            let own =
                ALL_KINDS.into_iter().filter(|kind| kinds >> *kind as u8 & 1 != 0).fold(0, |all, kind| all | warps.of_kind[kind as usize]);
            full |= own & warps.of_scheduler(scheduler, core.spec.schedulers);
        }
        let memory = warps.of_kind[UnitKind::Mem as usize];
        self.present = WarpStateCounters {
            warps_completed: take(warps.finished),
            warps_waiting: take(warps.waiting()),
            warps_buffer_empty: take(!warps.valid),
            warps_scoreboard_memory: take(warps.hazard_memory),
            warps_scoreboard_alu: take(warps.hazard),
            warps_held_back: take(!warps.allowed),
            warps_stall_memory: take(full & memory),
            warps_stall_alu: take(full),
            warps_can_issue_memory: take(memory),
            warps_can_issue_alu: take(u64::MAX),
        };
    }
}
